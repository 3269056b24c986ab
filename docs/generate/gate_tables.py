"""The numbers of ``docs/gate.md``: forecasts of the runs that a gate needs, and results of the study ``gates``."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bbedge.core.forecast import PairAssumptions
from bbedge.core.scores import Scores
from bbedge.gate import Claim, Gate, Policy
from bbedge.gate.verdicts import ClaimForecast
from bbedge.study.experiments.gates import chances

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gate.md"
RESULTS = ROOT / "studies" / "gates" / "results.csv"
ITEMS, MARGINS = (200, 1319, 5000), (0.01, 0.02, 0.03, 0.05)
LEVELS = (0.5, 0.8, 0.9)
RIVALS = {
    "bbedge gate": "bbedge gate",
    "t interval against the margin": "t-test gate",
    "McNemar's test": "McNemar gate",
    "threshold on the mean of all runs": "threshold, all runs",
    "threshold on the last run": "threshold, last run",
}
_MEASURED = (("identical systems", "flipped"), ("worse by 0.01", "flipped"), ("worse by 0.02, the margin", "wrong"))


def page() -> str:
    """The page with its numbers made again."""
    text = PAGE.read_text(encoding="utf-8")
    margins = " | ".join(f"{margin:g}" for margin in MARGINS)
    text = _with_rows(text, f"| items | margin {margins} |", _runs_needed())
    text = _with_rows(text, "| share of pipelines | simulated | forecast |", _simulated())
    text = _with_rows(text, "| gate | identical systems: verdict changed |", _rivals())
    fifth = [100.0 * curve("identical systems", name, "passed")[4] for name in ("bbedge gate", "t-test gate")]
    found = f"the bbedge gate passes {fifth[0]:.0f} % of identical systems, the t interval {fifth[1]:.0f} %"
    return re.sub(r"the bbedge gate passes \d+ % of identical systems, the t interval \d+ %", found, text)


def forecast(n_items: int, margin: float) -> ClaimForecast:
    """That two systems are not worse than each other by a margin, with the noise of the systems of the study."""
    scores = Scores.of(np.zeros((1, 2, n_items)), models=["new", "old"], items=[f"q{i}" for i in range(n_items)])
    claim = Claim(kind="not_worse_by", amount=margin)
    both = chances(n_items, 0.0)
    noise = PairAssumptions(noise=float((both * (1.0 - both)).sum(axis=0).mean() / 4.0), unevenness=0.0)
    (found,) = Gate(Policy(candidates=("new",), baseline="old", claims=(claim,)), scores).forecasts(noise)
    return found


def curve(setting: str, method: str, metric: str) -> NDArray[np.float64]:
    """A measure of the study after each run."""
    found = [
        float(row["value"])
        for row in _results()
        if (row["setting"], row["method"], row["metric"]) == (setting, method, metric)
    ]
    return np.array(found)


@cache
def _results() -> tuple[dict[str, str], ...]:
    return tuple(csv.DictReader(RESULTS.read_text(encoding="utf-8").splitlines()))


def _runs_needed() -> Iterable[str]:
    for n_items in ITEMS:
        made = [forecast(n_items, margin) for margin in MARGINS]
        cells = [f"{each.runs_for(0.0, power=0.8)} ({each.runs_for(0.0, power=0.5)})" for each in made]
        yield f"| {n_items:,} | {' | '.join(cells)} |"


def _simulated() -> Iterable[str]:
    simulated = curve("identical systems", "bbedge gate", "passed")
    made = forecast(1319, 0.02).ahead
    foreseen = np.array([made.power(0.0, run) for run in range(1, len(simulated) + 1)])
    for level in LEVELS:
        cells = [_runs_until(shares, level) for shares in (simulated, foreseen)]
        yield f"| {100 * level:g} % | {' | '.join(cells)} |"


def _runs_until(shares: NDArray[np.float64], level: float) -> str:
    """The runs after which a share is reached, counted between runs along a straight line."""
    after = int(np.argmax(shares >= level))
    if shares[after] < level:
        return f"more than {len(shares)}"
    before = shares[after - 1] if after else 0.0
    return f"{after + (level - before) / (shares[after] - before):.1f}"


def _rivals() -> Iterable[str]:
    for words, name in RIVALS.items():
        cells = [f"{100 * curve(setting, name, metric)[-1]:.1f} %" for setting, metric in _MEASURED]
        yield f"| {words} | {' | '.join(cells)} |"


def _with_rows(text: str, head: str, rows: Iterable[str]) -> str:
    """The text with these rows in the table whose first line begins like this."""
    lines = text.splitlines()
    (start,) = (place for place, line in enumerate(lines) if line.startswith(head))
    end = next((place for place in range(start, len(lines)) if not lines[place].startswith("|")), len(lines))
    return "\n".join([*lines[: start + 2], *rows, *lines[end:]]) + "\n"
