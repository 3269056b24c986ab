"""Checkpoints of a design: what is frozen, hashed and refused."""

import math
from fractions import Fraction

import pytest

from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints, first_run_plan
from bbedge.core.design import Design
from bbedge.errors import DesignError, DomainError
from bbedge.records.design import FRACTIONS

MODELS = ["a", "b"]
ITEMS = [f"q{i}" for i in range(200)]


def test_the_default_is_half_for_complete_runs_and_equal_parts():
    given = Checkpoints(order_seed=3)
    assert given.fractions == FRACTIONS == (0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.35, 0.6)
    assert given.weights == (1 / 16,) * 8
    assert given.complete == 0.5


@pytest.mark.parametrize("count", [3, 6, 7, 11])
def test_weights_never_add_up_to_more_than_one(count):
    given = Checkpoints(order_seed=3, fractions=tuple((k + 1) / 20 for k in range(count)), complete=0.3)
    assert sum(map(Fraction, given.weights)) + Fraction(given.complete) <= 1
    assert math.isclose(sum(given.weights), 0.7)


@pytest.mark.parametrize(
    ("weights", "complete"), [((0.1666666667,) * 3, 0.5), ((0.1, 0.2, 0.2 + 9e-10), 0.5), ((1e-11,) * 3, 1.0 - 2**-52)]
)
def test_weights_that_were_rounded_by_hand_add_up_to_one(weights, complete):
    given = Checkpoints(order_seed=3, fractions=(0.1, 0.2, 0.3), weights=weights, complete=complete)
    left = 1 - Fraction(complete)
    assert left * (1 - Fraction(1, 2**50)) <= sum(map(Fraction, given.weights)) <= left
    assert all(now <= before for now, before in zip(given.weights, weights, strict=True))


def test_a_checkpoint_has_at_least_one_block():
    given = Checkpoints(order_seed=1, fractions=(1e-12, 0.5))
    assert given.planned(4) == {1: 0.25, 2: 0.25}
    certifier = Certifier(Design.make(MODELS, ITEMS[:4], checkpoints=given))
    certifier.update([[1.0], [0.0]], certifier.next_checkpoint.blocks)
    assert certifier.next_items


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order_seed": -1}, "order_seed=-1 is not a whole number"),
        ({"order_seed": 2**63}, "is not a whole number from 0"),
        ({"order_seed": True}, "is not a whole number"),
        ({"fractions": ()}, "there are no checkpoints"),
        ({"fractions": (0.0, 0.5)}, "between 0 and 1"),
        ({"fractions": (0.5, 1.0)}, "between 0 and 1"),
        ({"fractions": (float("nan"),)}, "between 0 and 1"),
        ({"fractions": (0.5, 0.2)}, "not in rising order"),
        ({"fractions": (0.2, 0.2)}, "not in rising order"),
        ({"complete": 0.0}, "0 < weight < 1"),
        ({"complete": 1.0}, "0 < weight < 1"),
        ({"fractions": (0.5,), "weights": (0.25, 0.25)}, "1 checkpoints but 2 weights"),
        ({"fractions": (0.5,), "weights": (0.6,)}, "add up to 1.1"),
        ({"fractions": (0.2, 0.5), "weights": (-0.1, 0.6)}, "above 0"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(DomainError, match=message):
        Checkpoints(**({"order_seed": 1} | options))


def test_the_plan_counts_blocks_of_the_design():
    plan = first_run_plan(Design.make(MODELS, ITEMS, checkpoints=Checkpoints(order_seed=1)))
    assert [each.blocks for each in plan.checkpoints] == [2, 4, 8, 14, 24, 40, 70, 120]
    assert [each.number for each in plan.checkpoints] == list(range(1, 9))
    assert [len(plan.new_places(k)) for k in range(1, 9)] == [2, 2, 4, 6, 10, 16, 30, 50]
    assert plan.checkpoints[-1].fraction == 0.6


def test_checkpoints_at_the_same_block_are_one():
    plan = first_run_plan(Design.make(MODELS, ITEMS[:20], checkpoints=Checkpoints(order_seed=1)))
    assert [each.blocks for each in plan.checkpoints] == [1, 2, 3, 4, 7, 12]
    assert math.isclose(plan.checkpoints[0].weight, 3 / 16)
    assert sum(Fraction(each.weight) for each in plan.checkpoints) <= Fraction(1, 2)


def test_blocks_that_a_view_does_not_weigh_count_for_checkpoints():
    weights = [1.0] * 50 + [0.0] * 150
    design = Design.make(MODELS, ITEMS, weights=weights, checkpoints=Checkpoints(order_seed=1))
    assert first_run_plan(design).checkpoints[-1].blocks == 120


def test_too_few_blocks_are_refused():
    with pytest.raises(DesignError, match=r"a checkpoint at 0.6 of 1 block leaves no block after it"):
        Design.make(MODELS, ITEMS, blocks="one", checkpoints=Checkpoints(order_seed=1))
    with pytest.raises(DesignError, match="2 blocks leaves no block"):
        Design.make(MODELS, ITEMS[:2], checkpoints=Checkpoints(order_seed=1))


def test_methods_that_have_none_refuse_them():
    with pytest.raises(DesignError, match="checkpoints are not part of bb-edge"):
        Design.make(MODELS, ITEMS, checkpoints=Checkpoints(order_seed=1), method="bb-edge")


def test_the_hash_of_a_design_without_checkpoints_says_that_there_are_none():
    design = Design.make(MODELS, ITEMS)
    assert design.content["checkpoints"] is None


def test_everything_about_checkpoints_is_in_the_hash():
    designs = [
        Design.make(MODELS, ITEMS, checkpoints=given)
        for given in (
            None,
            Checkpoints(order_seed=1),
            Checkpoints(order_seed=2),
            Checkpoints(order_seed=1, complete=0.6),
            Checkpoints(order_seed=1, fractions=(0.1, 0.5)),
            Checkpoints(order_seed=1, fractions=(0.1, 0.5), weights=(0.2, 0.3)),
        )
    ]
    assert len({design.hash for design in designs}) == len(designs)
    assert first_run_plan(designs[0]) is None
