"""The run order: a function of seed and benchmark alone."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from bbedge.core.checkpoints import item_order, run_order
from early_oracle import Setting

ITEMS = tuple(f"q{i}" for i in range(9))
BLOCKS = ("x", "x", "y", "z", "y", "u", "v", "w", "w")


def named(items, blocks, seed):
    return [tuple(sorted(items[i] for i in block)) for block in run_order(items, blocks, seed)]


@given(st.permutations(range(9)), st.integers(0, 2**63 - 1))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_neither_the_order_of_rows_nor_labels_matter(places, seed):
    items, blocks = [ITEMS[i] for i in places], [f"{BLOCKS[i]}-renamed" for i in places]
    assert named(items, blocks, seed) == named(ITEMS, BLOCKS, seed)


def test_the_order_is_this_one_for_ever():
    """Golden: another order would change what a frozen seed means."""
    assert run_order(ITEMS, BLOCKS, seed=2024) == GOLDEN


GOLDEN = ((2, 4), (0, 1), (6,), (3,), (7, 8), (5,))


def test_it_is_the_order_of_the_definition():
    setting = Setting(ITEMS, BLOCKS, 5, (0.5,), (0.5,), 0.5, 0.04, 6)
    assert [tuple(setting.members[block]) for block in setting.order] == list(run_order(ITEMS, BLOCKS, 5))


def test_every_order_is_equally_probable():
    counts = Counter(run_order(["a", "b", "c"], ["a", "b", "c"], seed) for seed in range(6000))
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 1e-6


def test_one_more_item_makes_an_unrelated_order():
    many = [f"q{i}" for i in range(400)]
    first = [i for (i,) in run_order(many, many, 1)]
    second = [i for (i,) in run_order([*many, "more"], [*many, "more"], 1) if i < 400]
    agree = np.corrcoef(np.argsort(first), np.argsort(second))[0, 1]
    assert abs(agree) < 0.25  # five standard deviations of unrelated orders


def test_items_of_a_block_are_run_together():
    places, counts = item_order(ITEMS, BLOCKS, 2024)
    assert sorted(places) == list(range(9))
    assert counts.tolist() == [0, 2, 4, 5, 6, 8, 9]
    assert not places.flags.writeable
