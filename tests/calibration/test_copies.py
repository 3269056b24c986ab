"""Independent runs are rarely called copies, from two models and eight items up; copies are found."""

from collections.abc import Callable

import numpy as np
import pytest

from bbedge.core.copies import COINCIDENCE
from bbedge.core.scores import Scores
from calibration.binomial_rule import breaks
from calibration.clean_scores import clean_scores
from calibration.repetitions import show

SHAPES = ((2, 8), (5, 8), (2, 20), (3, 40))  # models and items
RUNS = (2, 3, 5, 10, 45)

Chances = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
"""The probability of a right answer of every model to every item."""

KINDS: dict[str, Chances] = {
    "even": lambda rng, shape: np.full(shape, 0.5),
    "good": lambda rng, shape: np.full(shape, 0.95),
    "mixed": lambda rng, shape: rng.uniform(0.05, 0.95, shape),
    "steady": lambda rng, shape: rng.beta(0.1, 0.1, shape),  # most items are nearly always or never solved
}


def named(values: np.ndarray) -> Scores:
    models, items = ([f"{name}{i}" for i in range(size)] for name, size in zip("mq", values.shape[1:], strict=True))
    return Scores.of(values, models=models, items=items)


def runs(rng: np.random.Generator, kind: str, shape: tuple[int, int], n_runs: int) -> np.ndarray:
    return (rng.random((n_runs, *shape)) < KINDS[kind](rng, shape)).astype(float)


def differ(values: np.ndarray) -> bool:
    """Whether there are two runs that differ. Where there are none, certify asks, whatever the reason."""
    return bool((values != values[0]).any())


def repeats(values: np.ndarray) -> bool:
    """What a copy would be without any regard to chance: a run with the scores of another, not all of them alike."""
    rows = [row.tobytes() for row in values if any(model.min() < model.max() for model in row)]
    return len(set(rows)) < len(rows)


def check_honest(kind: str, n_runs: int, n: int) -> None:
    for shape in SHAPES:
        called = naive = 0
        for rng in np.random.default_rng([n_runs, *shape]).spawn(n):
            values = runs(rng, kind, shape, n_runs)
            called += differ(values) and bool(named(values).copies)
            naive += repeats(values)
        show(f"copies {kind} {shape[0]}x{shape[1]}x{n_runs} {called}/{n}; naive {naive}/{n}")
        assert not breaks(called, n, alpha=COINCIDENCE)
        if (kind, n_runs, shape) == ("good", 45, (2, 8)):  # a rule without regard to chance must be caught
            assert breaks(naive, n, alpha=COINCIDENCE)


@pytest.mark.parametrize("n_runs", [3, 10])
@pytest.mark.parametrize("kind", ["good", "mixed"])
def test_independent_runs_are_rarely_copies(kind, n_runs):
    check_honest(kind, n_runs, n=60)


@pytest.mark.nightly
@pytest.mark.parametrize("n_runs", RUNS)
@pytest.mark.parametrize("kind", KINDS)
def test_independent_runs_are_rarely_copies_in_the_long_run(kind, n_runs):
    check_honest(kind, n_runs, n=1000)


@pytest.mark.nightly
def test_dependence_inside_blocks_makes_no_copies():
    called, n = 0, 2000
    for rng in np.random.default_rng(8).spawn(n):
        scores = clean_scores(rng, models=6, items=50, replicates=10)
        called += differ(scores.values) and bool(scores.copies)
    show(f"copies in blocks {called}/{n}")
    assert not breaks(called, n, alpha=COINCIDENCE)


def file_given_twice(values: np.ndarray) -> None:
    values[-1] = values[0]


def cache_after_the_first_run(values: np.ndarray) -> None:
    values[2:] = values[1]


def run_of_a_model_given_twice(values: np.ndarray) -> None:
    values[-1, 1] = values[0, 1]


FAULTS = {
    "two-runs": (file_given_twice, 2),
    "three-runs": (file_given_twice, 3),
    "ten-runs": (file_given_twice, 10),
    "cache": (cache_after_the_first_run, 10),
    "one-model": (run_of_a_model_given_twice, 6),
}


@pytest.mark.parametrize("shape", [(2, 40), (5, 100)])
@pytest.mark.parametrize("fault", FAULTS)
def test_copies_are_found(fault, shape):
    make, n_runs = FAULTS[fault]
    found, n = 0, 50
    for rng in np.random.default_rng(9).spawn(n):
        values = runs(rng, "mixed", shape, n_runs)
        make(values)
        found += any(copy.replicate == n_runs - 1 for copy in named(values).copies)
    show(f"copies-power {fault} {shape[0]}x{shape[1]} {found}/{n}")
    assert found >= 0.95 * n
