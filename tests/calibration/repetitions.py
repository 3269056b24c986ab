"""Runs designs again and again on fresh synthetic panels and counts the runs in which a conclusion was false."""

from collections.abc import Callable

import numpy as np

from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier
from bbedge.study.synthetic import SyntheticBenchmark

ALPHA = 0.05

Step = Callable[[Certifier, np.ndarray], np.ndarray]
"""Feeds a panel to a certifier and returns the edges that the look certified."""

METHODS: dict[str, dict[str, str]] = {
    f"{evidence}-{prediction}-{stakes}": {
        "method": "bb-edge",
        "evidence": evidence,
        "prediction": prediction,
        "stakes": stakes,
    }
    for evidence, stakes in (
        ("bernstein", "paper"),
        ("hoeffding", "paper"),
        ("sharp", "paper"),
        ("sharp", "design"),
        ("betting", "paper"),
        ("betting", "design"),
    )
    for prediction in ("running-mean", "two-way")
}

SOME_METHODS = ["bernstein-running-mean-paper", "sharp-two-way-paper", "betting-running-mean-design"]

# On every push the one that is the first to fail; the long runs of the night have all.
FIRST_TO_FAIL = ["betting-running-mean-design"]


def long_run(method: str, n: int) -> int:
    """Repetitions of a long check: all of ``n`` for betting, a quarter for the others.

    With the same stakes and predictions betting certifies whatever sharp and bernstein do, path by path, so it is
    the one to fail first.
    """
    return n if method.startswith("betting") else n // 4


# One answer per replicate, two models, no help from averaging: betting with wide stakes is then nearly a martingale,
# and nearly all of alpha is used. A program that exceeds alpha anywhere has the best chance to show it here.
TIGHT = SyntheticBenchmark(means=(0.5, 0.5), n_items=1, offset=0.0, kappa_item=0.0)


def show(text: str) -> None:
    """Tell a measured rate to whoever runs pytest with -s or -rP."""
    print(f"RATE {text}")  # noqa: T201


def plain(certifier: Certifier, panel: np.ndarray) -> np.ndarray:
    return certifier.update(panel).edges


def standing_edges(design: Design, panels: np.ndarray, false: np.ndarray, *, step: Step = plain) -> np.ndarray:
    """Everything certified at any look, up to the first look that certifies an edge of ``false``."""
    certifier = Certifier(design)
    union = np.zeros((len(design.models),) * 2, dtype=bool)
    for panel in panels:
        union |= step(certifier, panel)
        if (union & false).any():
            break
    return union


def false_edge_runs(
    benchmark: SyntheticBenchmark, design: Design, *, looks: int, n: int, seed: int, step: Step = plain
) -> int:
    """In how many of ``n`` repetitions an edge that is not true was certified at some look."""
    false = benchmark.null(design.tau)
    generators = np.random.default_rng(seed).spawn(n)
    unions = (standing_edges(design, benchmark.panels(rng, looks), false, step=step) for rng in generators)
    return sum(bool((union & false).any()) for union in unions)
