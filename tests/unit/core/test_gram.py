from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bbedge.core.arrays import numpy_space
from bbedge.core.difference_sums import DifferenceSums
from bbedge.core.gram import PenaltyBySize, PenaltyByStake, gram_penalty
from bbedge.core.panels import BlockLayout
from bbedge.core.penalties import Directions

RNG = np.random.default_rng(2)
SPACE = numpy_space()


def layout_of(shares, largest=1):
    """Blocks with these relative weights, the largest of so many items."""
    places = np.arange(len(shares))
    sizes = np.full(len(shares), largest)
    return BlockLayout(order=places, starts=places, sizes=sizes, relative_weights=np.asarray(shares), weight_ratio=1.0)


def added(penalty, residuals, shift):
    """Add a replicate that lies in memory."""
    penalty.add(lambda places, out: residuals[..., places] + 0.0, shift)
    return penalty


def values_of(penalty, rows=None, cols=None, terms=16):
    """The penalties as a look would compute them: stakes x rows x columns."""
    rows, cols = rows or slice(0, penalty._pairs.shape[-2]), cols or slice(0, penalty._pairs.shape[-1])
    features = np.concatenate(penalty.features(terms)(rows, cols))
    return (penalty.coefficients @ features.reshape(len(features), -1)).reshape(-1, *features.shape[1:])


def make(form, powers, of_block, *, largest, n_models, space=SPACE):
    return form(*powers, of_block, largest, space=space, pairs=Directions.all(n_models))


def powers_of(kind, stakes, shares, largest):
    penalty = gram_penalty(kind, stakes, layout_of(shares, largest), space=SPACE, pairs=Directions.all(2), reach=1.0)
    return penalty._powers_of, stakes


@pytest.mark.parametrize("rectangle", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_difference_sums_by_hand(power, weighted, rectangle):
    v = RNG.standard_normal((4, 6))
    weight = RNG.random(6) if weighted else None
    rows, cols = (v[:2], v[2:]) if rectangle else (v, v)
    sums = DifferenceSums(SPACE)
    for chunk in (slice(0, 4), slice(4, 6)):
        weights = {power: None if weight is None else weight[chunk]}
        left = rows[:, chunk]
        sums.add(left, cols[:, chunk] if rectangle else left, weights)
    got = sums.of(power)
    assert got.shape == (len(rows), len(cols))
    factor = np.ones(6) if weight is None else weight
    for a in range(len(rows)):
        for b in range(len(cols)):
            assert got[a, b] == pytest.approx(sum(factor * ((rows[a] - cols[b]) / 2) ** power), abs=1e-12)


@pytest.mark.parametrize("rectangle", [False, True])
@pytest.mark.parametrize("unit", [1, 2, 5])
@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
def test_multiples_of_a_unit_are_added_up_as_whole_numbers(kind, unit, rectangle):
    """As they would be otherwise; and so is a panel that is not all multiples, in which only the last number tells."""
    pairs = Directions.of_sides(3) if rectangle else Directions.all(6)
    for last in (0.0, 0.123):
        panel = RNG.integers(0, unit + 1, (6, 5000)) / unit
        panel[-1, -1] = last
        found = []
        for given in (0, unit):
            penalty = gram_penalty(
                kind, np.array([0.2, 0.6]), layout_of(np.ones(5000), 1), space=SPACE, pairs=pairs, reach=1.0
            )
            penalty.unit = given
            penalty.add(lambda places, out, panel=panel: panel[:, places] + 0.0, 0.01)
            rows, cols = (slice(0, side) for side in pairs.shape)
            found.append(np.concatenate(penalty.features(10)(rows, cols)))
        off = np.broadcast_to(~np.eye(found[0].shape[-1], dtype=bool) | rectangle, found[0].shape)
        np.testing.assert_allclose(found[1][off], found[0][off], rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
@pytest.mark.parametrize("shift", [0.0, 0.02])
def test_both_forms_and_any_chunking_agree(kind, shift):
    sizes = RNG.integers(1, 4, 30)
    shares = sizes / sizes.max()
    panels = [RNG.uniform(-1, 1, (4, 30)) for _ in range(3)]
    stakes = np.array([0.2, 0.6, 0.95])

    def values(form, space=SPACE):
        _, of_block = np.unique(shares, return_inverse=True)
        penalty = make(form, powers_of(kind, stakes, shares, 3), of_block, largest=3, n_models=4, space=space)
        for panel in panels:
            added(penalty, panel, shift)
        return values_of(penalty)

    by_size, by_stake = values(PenaltyBySize), values(PenaltyByStake)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(by_stake[:, off], by_size[:, off], rtol=0, atol=1e-11)
    chunked = replace(SPACE, chunk=4)
    np.testing.assert_allclose(values(PenaltyBySize, chunked)[:, off], by_size[:, off], rtol=0, atol=1e-11)
    np.testing.assert_allclose(values(PenaltyByStake, chunked)[:, off], by_size[:, off], rtol=0, atol=1e-11)


@pytest.mark.parametrize("form", [PenaltyBySize, PenaltyByStake])
@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
@pytest.mark.parametrize("shift", [0.0, 0.02])
def test_a_rectangle_is_a_part_of_the_square(form, kind, shift):
    shares = RNG.choice([1.0, 0.5], 12)
    _, of_block = np.unique(shares, return_inverse=True)
    powers = powers_of(kind, np.array([0.3, 0.9]), shares, 2)
    square = make(form, powers, of_block, largest=2, n_models=5)
    tile = form(*powers, of_block, space=SPACE, pairs=Directions(rows=slice(0, 2), cols=slice(2, 5)), largest=2)
    for _ in range(2):
        residuals = RNG.uniform(-1, 1, (5, 12))
        added(square, residuals, shift)
        added(tile, residuals, shift)
    whole = values_of(square)
    np.testing.assert_allclose(values_of(tile), whole[:, :2, 2:], rtol=0, atol=1e-11)
    np.testing.assert_allclose(values_of(square, slice(1, 3), slice(0, 4)), whole[:, 1:3, :4], rtol=0, atol=1e-13)


@pytest.mark.parametrize("form", [PenaltyBySize, PenaltyByStake])
def test_a_batch_is_its_members(form):
    shares = RNG.choice([1.0, 0.5], 8)
    _, of_block = np.unique(shares, return_inverse=True)
    powers = powers_of("sharp", np.array([0.3, 0.9]), shares, 2)
    batch = form(*powers, of_block, space=SPACE, pairs=Directions.all(3, (2,)), largest=2)
    residuals = RNG.uniform(-1, 1, (2, 3, 8))
    added(batch, residuals, 0.01)
    for member in range(2):
        alone = added(make(form, powers, of_block, largest=2, n_models=3), residuals[member], 0.01)
        np.testing.assert_allclose(values_of(batch)[:, member], values_of(alone), rtol=0, atol=1e-13)


def test_the_smaller_form_is_chosen():
    def form(n_sizes, n_stakes):
        shares = np.arange(1, n_sizes + 1) / n_sizes
        stakes = np.linspace(0.1, 0.9, n_stakes)
        return type(
            gram_penalty("sharp", stakes, layout_of(shares, 9), space=SPACE, pairs=Directions.all(2), reach=1.0)
        )

    assert form(3, 3) is PenaltyBySize
    assert form(2, 3) is PenaltyBySize
    assert form(4, 3) is PenaltyByStake


@pytest.mark.parametrize("form", [PenaltyBySize, PenaltyByStake])
def test_a_value_common_to_all_models_changes_nothing(form):
    shares = np.array([1.0, 0.5])
    powers = powers_of("sharp", np.array([0.9]), shares, 2)
    residuals = RNG.uniform(-0.5, 0.5, (3, 2))

    def values(panel):
        penalty = added(make(form, powers, np.array([1, 0]), largest=2, n_models=3), panel, 0.01)
        return values_of(penalty)[0][~np.eye(3, dtype=bool)]

    np.testing.assert_allclose(values(residuals + np.array([0.4, -0.3])), values(residuals), rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", [PenaltyBySize, PenaltyByStake])
@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
@pytest.mark.parametrize("shift", [0.0, 0.015])
def test_a_penalty_is_never_below_its_exact_value(form, kind, shift):
    # Two models that nearly agree, far from the third: the expansions cancel almost completely.
    rng = np.random.default_rng(6)
    shares = np.array([1.0] * 20 + [0.5] * 20)
    _, of_block = np.unique(shares, return_inverse=True)
    stakes = np.array([0.3, 0.95])
    powers = powers_of(kind, stakes, shares, 2)
    for _ in range(10):
        penalty = make(form, powers, of_block, largest=2, n_models=3)
        far = rng.uniform(0.5, 1.0, 40)
        residuals = np.stack([far, far + rng.uniform(-1e-7, 1e-7, 40), -far])
        values = values_of(added(penalty, residuals, shift))
        for a, b in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)):
            for g in range(2):
                exact = Fraction(0)
                for m in range(40):
                    x = (Fraction(residuals[a, m]) - Fraction(residuals[b, m])) / 2 - Fraction(shift)
                    exact += sum(Fraction(c[g, of_block[m]]) * x**j for j, c in powers[0](powers[1]).items())
                assert Fraction(values[g, a, b]) >= exact
                assert values[g, a, b] == pytest.approx(float(exact), abs=1e-10)
