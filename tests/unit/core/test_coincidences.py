"""How many equal runs chance gives: against a count of all orders of the runs, unit by unit."""

from itertools import combinations, permutations, product
from math import comb, prod

import numpy as np
import pytest

from bbedge.core.copies import COINCIDENCE, may_be_chance


def expected_by_counting(contents, size):
    """The mean number of sets of equal runs over all orders, separately for every unit."""
    orders = list(permutations(range(len(contents))))
    total = 0
    for choice in product(orders, repeat=contents.shape[1]):
        shuffled = np.stack([contents[list(order), unit] for unit, order in enumerate(choice)], axis=1)
        total += sum(
            bool((shuffled[list(some)] == shuffled[some[0]]).all()) for some in combinations(range(len(contents)), size)
        )
    return total / len(orders) ** contents.shape[1]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_expected_is_the_mean_over_all_orders(size, seed):
    runs = np.random.default_rng(seed).integers(0, 2, (4, 1, 3)).astype(float)
    runs[size - 1 :, 0, 0] = [0.0] * (5 - size)  # something agrees
    shares = [
        sum(len(set(runs[list(some), 0, unit])) == 1 for some in combinations(range(4), size)) / comb(4, size)
        for unit in range(3)
    ]
    expected = expected_by_counting(runs[:, 0], size)
    assert comb(4, size) * prod(shares) == pytest.approx(expected)
    searches = COINCIDENCE / (expected * size * (size - 1)) if expected else np.inf
    if 1.0 <= searches < np.inf:
        assert not may_be_chance(runs, range(size), tests=int(searches))
        assert may_be_chance(runs, range(size), tests=int(searches) + 1)
    elif expected:
        assert may_be_chance(runs, range(size))


def test_units_are_blocks_where_there_are_enough_of_them():
    rng = np.random.default_rng(1)
    scores = np.repeat(rng.integers(0, 2, (6, 2, 8)), 5, axis=2).astype(float)  # a block has one answer
    scores[5] = scores[0]
    blocks = [str(i // 5) for i in range(40)]
    assert not may_be_chance(scores, (0, 5), tests=1000)
    assert may_be_chance(scores, (0, 5), tests=1000, blocks=blocks)
    assert not may_be_chance(scores, (0, 5), tests=1000, blocks=["one"] * 40)  # too few blocks to say anything


def test_a_missing_score_agrees_with_everything():
    rng = np.random.default_rng(2)
    runs = rng.integers(0, 2, (5, 1, 20)).astype(float)
    runs[4] = runs[0]
    assert not may_be_chance(runs, (0, 4))
    runs[1:4, 0, 3:] = np.nan
    assert may_be_chance(runs, (0, 4))


def test_many_runs_and_large_sets_do_not_overflow():
    runs = np.ones((2100, 1, 30))
    runs[1050:] = np.random.default_rng(3).integers(0, 2, (1050, 1, 30))
    assert not may_be_chance(runs, range(1050), tests=5)


def test_if_nothing_varies_the_scores_themselves_say_how_likely_a_repetition_is():
    nearly = np.ones((2, 2, 8))
    nearly[:, 0, 0] = 0.0
    assert not may_be_chance(np.repeat(nearly[:1], 3, axis=0), range(3))
    assert may_be_chance(np.ones((2, 2, 8)), range(2))
    half = np.tile([0.0, 1.0], (2, 2, 4))
    assert not may_be_chance(half, range(2))
