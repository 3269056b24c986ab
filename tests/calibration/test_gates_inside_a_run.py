"""Gates that look inside the first run, of systems that are equal in the mean and far apart on every item."""

import numpy as np
import pytest

from bbedge.core.checkpoints import Checkpoints, first_run_plan
from bbedge.core.scores import Scores
from bbedge.gate import Claim, Gate, Policy
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

pytestmark = pytest.mark.nightly

N_ITEMS = 200
CHANCES = np.repeat([[0.9, 0.1], [0.1, 0.9]], N_ITEMS // 2, axis=1)  # listed by category: each system is good at one
POLICY = Policy(candidates=("new",), baseline="old", claims=(Claim(kind="better_by", amount=0.0),), alpha=ALPHA)


def wrong_runs(*, n: int, seed: int, file_order: bool = False) -> int:
    """Pipelines in which the claim was PASS or FAIL at some look, inside the first run or after it."""
    wrong = 0
    for rng in np.random.default_rng(seed).spawn(n):
        panels = (rng.random((2, 2, N_ITEMS)) < CHANCES).astype(float)
        scores = Scores.of(panels, models=["new", "old"], items=[f"q{i}" for i in range(N_ITEMS)])
        checkpoints = Checkpoints(order_seed=int(rng.integers(2**53)))
        made = Gate(POLICY, scores, checkpoints=checkpoints)
        plan = first_run_plan(made._evidence.headline.design)
        for checkpoint in plan.checkpoints:
            places = plan.new_places(checkpoint.number)
            if file_order:
                places = np.arange(checkpoint.items - len(places), checkpoint.items)
            made.update(panels[0][:, places], checkpoint.blocks)
        for panel in () if file_order else panels:
            made.update(panel)
        wrong += any(look.verdict != "OPEN" for look in made.results()[0].looks)
    return wrong


@pytest.mark.parametrize("n", [2000])
def test_verdicts_of_equal_systems_are_rare(n):
    wrong = wrong_runs(n=n, seed=n)
    show(f"any verdict about equal systems, looks inside the first run: {wrong}/{n}")
    assert not breaks(wrong, n, alpha=ALPHA)


def test_the_order_of_the_file_is_caught():
    planted = wrong_runs(n=20, seed=3, file_order=True)
    show(f"looks in the order of the file: {planted}/20")
    assert breaks(planted, 20, alpha=ALPHA)
