"""Leaving out replicates that repeat others is a selection by scores, and breaks the guarantee."""

import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

pytestmark = pytest.mark.nightly

DESIGN = Design.make(["a", "b"], [f"q{i}" for i in range(100)], blocks="one", method="bb-edge-x", alpha=ALPHA)


def panel(rng: np.random.Generator) -> np.ndarray:
    """Both means are 0.6: one model repeats itself, the other fails as a whole in a quarter of its runs."""
    scores = np.zeros((2, 100))
    scores[0, :60] = 1.0
    if rng.random() < 0.75:
        scores[1] = rng.random(100) < 0.8
    return scores


def false_edges(*, skip: bool, n: int) -> int:
    failures = 0
    for rng in np.random.default_rng(1).spawn(n):
        certifier, seen = Certifier(DESIGN), set()
        for _ in range(40):
            scores = panel(rng)
            if skip and scores.tobytes() in seen:
                continue
            seen.add(scores.tobytes())
            certifier.update(scores)
        failures += bool(certifier.edges().any())
    show(f"skipped-repeats {skip} {failures}/{n}")
    return failures


def test_repetitions_that_count_cost_no_level():
    assert not breaks(false_edges(skip=False, n=60), 60, alpha=ALPHA)


def test_repetitions_that_are_left_out_break_the_guarantee():
    assert breaks(false_edges(skip=True, n=60), 60, alpha=ALPHA)
