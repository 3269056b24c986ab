"""Claims about new items: anything false, in any view, at any look of the schedule; power; breaks; planted bugs."""

import numpy as np
import pytest

from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.new_items import NewItemsEvidence
from calibration.binomial_rule import breaks, fewest_that_break
from calibration.new_items import BROKEN, EQUAL, THREE_CHANCES, Population, false_runs, independent
from calibration.repetitions import ALPHA, show

N = 10_000


@pytest.mark.nightly
@pytest.mark.parametrize("name", EQUAL)
def test_nothing_false_is_said_of_equal_models(name):
    population = EQUAL[name]
    failed, _ = false_runs(population, population.design(), n=N, seed=30)
    show(f"new items, {name}: {failed}/{N}")
    assert not breaks(failed, N, alpha=ALPHA)


def test_nothing_false_is_said_of_opposing_items_in_a_few_repetitions():
    population = EQUAL["opposing items, looks of its own"]
    failed, _ = false_runs(population, population.design(), n=500, seed=31)
    assert not breaks(failed, 500, alpha=ALPHA)


# Power -----------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("planned", "runs", "least"), [(1, 1, 0.4), (10, 10, 0.95), (None, 16, 0.9)], ids=["one run", "ten runs", "no plan"]
)
def test_a_difference_in_the_population_is_certified(planned, runs, least):
    """Of 0.1 with 500 items whose effects are 0.3: no more than the items allow, and not much less."""
    population = Population(
        chances=independent(500, (0.5, 0.85, 0.45), (0.5, 0.25, 0.45)), n_items=500, runs=runs, means=(0.1, 0.0)
    )
    design = population.design(**({} if planned is None else {"planned": planned}))
    failed, found = false_runs(population, design, n=1000, seed=32)
    show(f"new items, a difference of 0.1, planned {planned}: {found}/1000 certified, {failed}/1000 false")
    assert found >= least * 1000
    assert not breaks(failed, 1000, alpha=ALPHA)


# What breaks it --------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("name", BROKEN)
def test_what_the_guarantee_needs_is_needed(name):
    """The rates are in docs/guarantees.md: readers must know what they have to see to."""
    population = BROKEN[name]
    failed, _ = false_runs(population, population.design(copies="allow"), n=2000, seed=33)
    show(f"new items, {name}: {failed}/2000")
    assert breaks(failed, 2000, alpha=ALPHA)


# Planted bugs ----------------------------------------------------------------------------------------------------


def judge(bug: str, honest: int, planted: int, n: int) -> None:
    show(f"bug {bug}: honest {honest}/{n}, planted {planted}/{n}, caught from {fewest_that_break(n, alpha=ALPHA)} on")
    assert not breaks(honest, n, alpha=ALPHA)
    assert breaks(planted, n, alpha=ALPHA)


@pytest.mark.nightly
def test_evidence_of_complete_runs_is_caught():
    """Evidence about these items, with the claims about new ones: it is right about the items, and grows."""
    population = EQUAL["opposing items, ten planned runs"]
    honest, _ = false_runs(population, population.design(), n=1000, seed=34)
    design = population.design(target="benchmark")
    planted = 0
    rng = np.random.default_rng(34)
    for _ in range(2):
        answers, _ = population.answers(rng, 500)
        evidence, procedure = EvidenceSet(design, batch=(500,)), Procedure(design, batch=(500,))
        for number, panel in enumerate(answers, start=1):
            evidence.update(panel)
            edges = procedure.looks(evidence.views, run=number)[0].edges
        planted += int(edges.any(axis=(1, 2)).sum())
    judge("evidence of complete runs", honest, planted, 1000)


@pytest.mark.nightly
def test_looks_at_full_level_are_caught(monkeypatch):
    honest, _ = false_runs(THREE_CHANCES, THREE_CHANCES.design(), n=N, seed=35)
    take_look = NewItemsEvidence.take_look
    monkeypatch.setattr(NewItemsEvidence, "take_look", lambda self, _, *rest: take_look(self, 1.0, *rest))
    planted, _ = false_runs(THREE_CHANCES, THREE_CHANCES.design(), n=N, seed=35)
    judge("every look at full level", honest, planted, N)


@pytest.mark.nightly
def test_items_of_a_block_taken_for_draws_are_caught():
    population = EQUAL["blocks that answer as one"]
    honest, _ = false_runs(population, population.design(), n=1000, seed=36)
    planted, _ = false_runs(population, population.design(blocks="item"), n=1000, seed=36)
    judge("items of a block as draws", honest, planted, 1000)
