"""Ledgers of gates: studies that are looked at inside their first run, and commits whose first runs are equal."""

from itertools import pairwise

import numpy as np
import pytest

from bbedge.core.checkpoints import Checkpoints
from bbedge.core.scores import Scores
from bbedge.gate import Claim, Policy
from bbedge.gate.gate import FirstRun
from bbedge.gate.ledger import record, record_look, reserve
from bbedge.gate.verdicts import ClaimForecast
from bbedge.records.gate import ClaimOutlook
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

pytestmark = pytest.mark.nightly

N_ITEMS, USES = 200, 2
CHANCES = np.repeat([[0.9, 0.1], [0.1, 0.9]], N_ITEMS // 2, axis=1)  # listed by category: each system is good at one
POLICY = Policy(
    candidates=("new",),
    baseline="old",
    claims=(Claim(kind="better_by", amount=0.0),),
    alpha=ALPHA,
    spending="ledger",
    shares=USES,
)
ITEMS = tuple(f"q{i}" for i in range(N_ITEMS))


@pytest.fixture(autouse=True)
def no_forecasts(monkeypatch):
    """Forecasts change no verdict and take most of the time."""
    none = ClaimOutlook(more_runs=None, items=None, amount=None)
    monkeypatch.setattr(ClaimForecast, "outlook", lambda *_: none)


def wrong_ledgers(folder, *, n: int, seed: int, file_order: bool = False) -> int:
    """Ledgers with a PASS or a FAIL at any look of any use, inside the first run or after it."""
    wrong = 0
    for place, rng in enumerate(np.random.default_rng(seed).spawn(n)):
        path, found = folder / f"{place}.bbedge", []
        for use in range(1, USES + 1):
            panels = (rng.random((1, 2, N_ITEMS)) < CHANCES).astype(float)
            whole = Scores.of(panels, models=["new", "old"], items=ITEMS)
            none = Scores.of(panels[:0], models=["new", "old"], items=ITEMS)
            checkpoints = Checkpoints(order_seed=int(rng.integers(2**53)), fractions=(0.04, 0.2, 0.6))
            first = FirstRun.of_complete(checkpoints, whole)
            about = {"label": str(use), "study": f"{use:064x}"}
            reserve(path, POLICY, none, checkpoints=checkpoints, **about)
            if file_order:
                ends = np.cumsum([0, *(panel.shape[1] for panel in first.panels.values())])
                in_order = (panels[0][:, begin:end] for begin, end in pairwise(ends))
                first = FirstRun(checkpoints=checkpoints, panels=dict(zip(first.panels, in_order, strict=True)))
                found.append(record_look(path, POLICY, none, first, **about))
            else:
                found.append(record(path, POLICY, whole, first_run=first, **about).report)
        wrong += any(look.verdict != "OPEN" for report in found for look in report.results[0].looks)
    return wrong


@pytest.mark.parametrize("n", [2000])
def test_verdicts_of_equal_systems_are_rare_in_all_uses_together(tmp_path, n):
    wrong = wrong_ledgers(tmp_path, n=n, seed=n)
    show(f"any verdict about equal systems in a ledger of {USES} uses, looks inside the first run: {wrong}/{n}")
    assert not breaks(wrong, n, alpha=ALPHA)


def test_the_order_of_the_file_is_caught(tmp_path):
    planted = wrong_ledgers(tmp_path, n=10, seed=3, file_order=True)
    show(f"looks in the order of the file: {planted}/10")
    assert breaks(planted, 10, alpha=ALPHA)


SUITE, REGRESSION = 40, 0.05
GATE = Policy(
    candidates=("new",),
    baseline="old",
    claims=(Claim(kind="not_worse_by", amount=0.02),),
    alpha=0.105,
    spending="ledger",
    shares=21,  # of which each has a level of .005
    copies="allow",
)


def suite(rng: np.random.Generator, *, runs: int, regression: float) -> Scores:
    """A near-perfect suite: the current system solves everything, the new one fails now and then."""
    values = np.ones((runs, 2, SUITE))
    values[:, 0] = rng.random((runs, SUITE)) >= regression
    return Scores.of(values, models=["new", "old"], items=[f"q{i}" for i in range(SUITE)])


def false_passes(folder, *, ledgers: int, seed: int) -> tuple[int, int, int]:
    """Regressions that pass, and the number of them whose first run is that of a commit that passed before, of all."""
    wrong = equal = total = 0
    for place, rng in enumerate(np.random.default_rng(seed).spawn(ledgers)):
        path = folder / f"{place}.bbedge"
        good = suite(rng, runs=60, regression=0.0)
        assert record(path, GATE, good, label="good").report.release == "ship"
        for use in range(GATE.shares - 1):
            scores = suite(rng, runs=1, regression=REGRESSION)
            found = record(path, GATE, scores, label=f"commit {use}")
            assert found.use.level <= 0.005
            wrong += found.report.release == "ship"
            equal += bool((scores.values[0] == good.values[0]).all())
            total += 1
    return wrong, equal, total


@pytest.mark.parametrize("ledgers", [500])
def test_a_regression_whose_first_run_is_that_of_a_good_commit_does_not_pass(tmp_path, ledgers):
    wrong, equal, total = false_passes(tmp_path, ledgers=ledgers, seed=ledgers)
    show(f"regressions that pass: {wrong}/{total}; {equal} have the first run of a commit that passed")
    assert total == 20 * ledgers
    assert not breaks(wrong, total, alpha=0.005)
    assert breaks(equal, total, alpha=0.005), "scores that identify a use would be caught"
