"""Claims about new items on benchmarks that grow because of what was seen: anything false at any look; planted bugs."""

import numpy as np
import pytest

from bbedge.core.arrays import Array
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.new_items import NewItemsEvidence
from calibration.binomial_rule import breaks, fewest_that_break
from calibration.growing import GROWING, false_lives
from calibration.repetitions import ALPHA, show

N = 10_000
TIGHT = "twelve items of one run, up to eight times, where nearly certified"
CHASED = "a hundred items of one run, then ten up to seven times, where not far behind"
AGAIN = "six items of one run, up to eight times, where nobody is ahead"


@pytest.mark.nightly
@pytest.mark.parametrize("name", GROWING)
def test_nothing_false_is_said_of_equal_models(name):
    failed, grew, found = false_lives(GROWING[name], n=N, seed=40)
    show(f"growing, {name}: {failed}/{N} false, {grew} have grown, {found} with a true edge")
    assert grew > 50
    assert not breaks(failed, N, alpha=ALPHA)


def test_nothing_false_is_said_in_a_few_repetitions():
    failed, grew, _ = false_lives(GROWING[TIGHT], n=500, seed=41)
    assert grew > 10
    assert not breaks(failed, 500, alpha=ALPHA)


def judge(bug: str, name: str, monkeypatch, owner: type, method: str, planted) -> None:
    honest, _, _ = false_lives(GROWING[name], n=N, seed=42)
    monkeypatch.setattr(owner, method, planted)
    failed, _, _ = false_lives(GROWING[name], n=N, seed=42)
    show(f"bug {bug}: honest {honest}/{N}, planted {failed}/{N}, caught from {fewest_that_break(N, alpha=ALPHA)} on")
    assert not breaks(honest, N, alpha=ALPHA)
    assert breaks(failed, N, alpha=ALPHA)


@pytest.mark.nightly
def test_old_items_among_the_new_ones_are_caught(monkeypatch):
    """The mean of an added batch is over all items, as in a version of the benchmark that begins again."""

    def over_all_items(self: EvidenceSet, scores: Array) -> None:
        stop = 0
        for design, batch in zip(self._batches, self._of_batches, strict=False):
            count = len(design.items)
            stop += count
            means = [scores[..., place:stop:count].mean(axis=-1) for place in range(count)]
            batch.add(np.stack(means, axis=-1), self.space)

    judge("old items in the new mean", CHASED, monkeypatch, EvidenceSet, "_add_to_batches", over_all_items)


@pytest.mark.nightly
def test_evidence_that_begins_again_is_caught(monkeypatch):
    """Where earlier items have gone against a direction, they are forgotten."""
    log_e = NewItemsEvidence.log_e

    def at_most_forgotten(self: NewItemsEvidence) -> Array:
        kept = [each.log_s for each in self.batches]
        for each in self.batches[:-1]:
            each.log_s = np.maximum(each.log_s, 0.0)
        found = log_e(self)
        for each, before in zip(self.batches, kept, strict=True):
            each.log_s = before
        return found

    judge("evidence that begins again", AGAIN, monkeypatch, NewItemsEvidence, "log_e", at_most_forgotten)
