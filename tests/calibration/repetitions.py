"""Runs a design again and again on fresh synthetic panels and tells how often a conclusion was false."""

from collections.abc import Callable

import numpy as np

from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier, Look
from bbedge.study.synthetic import SyntheticBenchmark

Step = Callable[[Certifier, np.ndarray], Look]


def plain_step(certifier: Certifier, panel: np.ndarray) -> Look:
    return certifier.update(panel)


def union_of_edges(
    design: Design, panels: np.ndarray, *, step: Step = plain_step, false: np.ndarray | None = None
) -> np.ndarray:
    """Everything certified at any look; ends early once an edge of ``false`` is among it."""
    certifier = Certifier(design)
    union = np.zeros((len(design.models),) * 2, dtype=bool)
    for panel in panels:
        union |= step(certifier, panel).edges
        if false is not None and (union & false).any():
            break
    return union


def false_edge_runs(
    benchmark: SyntheticBenchmark, design: Design, *, looks: int, n: int, seed: int, step: Step = plain_step
) -> int:
    """In how many of ``n`` repetitions some look certified an edge that is not true."""
    false = benchmark.null(design.tau)
    failures = 0
    for rng in np.random.default_rng(seed).spawn(n):
        union = union_of_edges(design, benchmark.panels(rng, looks), step=step, false=false)
        failures += bool((union & false).any())
    return failures
