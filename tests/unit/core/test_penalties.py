import math
from dataclasses import replace
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

import oracle
from bbedge.core import penalties as bets
from bbedge.core.arrays import numpy_space
from bbedge.core.panels import BlockLayout
from bbedge.core.penalties import BettingPenalty, Directions, HoeffdingPenalty, bernstein_psi, sharp_tail

SPACE = numpy_space()


def layout_of(shares, largest=1):
    """Blocks with these relative weights, the largest of so many items."""
    places = np.arange(len(shares))
    sizes = np.full(len(shares), largest)
    return BlockLayout(order=places, starts=places, sizes=sizes, relative_weights=np.asarray(shares), weight_ratio=1.0)


def values_of(penalty, n_models):
    """The penalties as a look would compute them: stakes x models x models."""
    features = np.concatenate(penalty.features(16)(slice(0, n_models), slice(0, n_models)))
    return (penalty.coefficients @ features.reshape(len(features), -1)).reshape(-1, n_models, n_models)


def betting(stakes, shares, *, n_models, largest=1, space=SPACE):
    return BettingPenalty(
        np.array(stakes), layout_of(shares, largest), space=space, pairs=Directions.all(n_models), reach=1.0
    )


def exact_tail(b: float) -> Decimal:
    """The series in 100 digits, which knows no cancellation."""
    with localcontext(Context(prec=100)):
        b = Decimal(b)
        total, j, power = Decimal(0), 4, Decimal(1)
        while power > Decimal("1e-60"):
            total += power / j
            power *= b
            j += 1
        return total


@pytest.mark.parametrize("b", [0.0, 1e-300, 1e-9, 0.01, 0.1, 0.29, 0.2999999, 0.3, 0.300001, 0.5, 0.9, 0.95])
def test_sharp_tail_is_right_on_both_sides_of_the_switch(b):
    got = float(sharp_tail(np.array(b)))
    assert got == pytest.approx(float(exact_tail(b)), rel=3e-14)
    assert got == pytest.approx(float(oracle.tail_coefficient(b)), rel=3e-14)


def test_sharp_tail_does_not_jump_where_the_series_ends():
    below, above = sharp_tail(np.array([np.nextafter(0.3, 0), 0.3]))
    assert above == pytest.approx(below, rel=3e-14)


def test_sharp_tail_grows_and_is_at_least_a_quarter():
    values = sharp_tail(np.linspace(0, 0.95, 400))
    assert np.all(np.diff(values) > 0)
    assert values[0] == 0.25


@pytest.mark.parametrize("b", [0.05, 0.3, 0.6, 0.95])
def test_the_sharp_polynomial_is_below_the_logarithm_and_touches_it_at_its_reach(b):
    z = np.linspace(-b, 3, 4001)
    polynomial = z - z**2 / 2 + z**3 / 3 - float(sharp_tail(np.array(b))) * z**4
    assert np.all(polynomial <= np.log1p(z) + 1e-15)
    assert polynomial[0] == pytest.approx(math.log1p(-b), abs=1e-14)


def test_bernstein_psi():
    assert bernstein_psi(np.array([0.0, 0.5])).tolist() == [0.0, math.log(2) - 0.5]
    u = np.linspace(0, 0.95, 100)[:, None]
    x = np.linspace(-1, 1, 101)
    assert np.all(u * x - bernstein_psi(u) * x**2 <= np.log1p(u * x) + 1e-15)


def test_hoeffding_by_hand():
    penalty = HoeffdingPenalty(np.array([0.5]), layout_of([1.0, 0.5]), space=SPACE, pairs=Directions.all(3))
    penalty.add(lambda places, out: np.zeros((3, 2)), 0.0)
    penalty.add(lambda places, out: np.ones((3, 2)), 0.1)
    assert penalty.features(4)(slice(0, 2), slice(0, 3))[0].shape == (1, 2, 3)
    np.testing.assert_allclose(values_of(penalty, 3), 2 * 0.25 * 1.25 / 8, rtol=1e-14)


def test_betting_over_many_runs_and_tiles(monkeypatch):
    # Few factors per logarithm and few pairs per tile: the seams must not show.
    rng = np.random.default_rng(1)
    residuals = rng.uniform(-1, 1, (5, 23))
    shares = rng.uniform(0.1, 1, 23)
    stakes = np.array([0.1, 0.95, 0.1])

    def values(tile):
        penalty = betting(stakes, shares, n_models=5, largest=3, space=replace(SPACE, tile=tile))
        penalty.add(lambda places, out: residuals[:, places], 0.01)
        return values_of(penalty, 5)

    whole = values(1 << 20)
    monkeypatch.setattr(bets, "_RUN", 4)
    for tile in (1, 20, 40, 90):
        np.testing.assert_allclose(values(tile), whole, rtol=0, atol=1e-11)
    z = 0.95 * shares * ((residuals[0] - residuals[3]) / 2 - 0.01)
    assert whole[1, 0, 3] == pytest.approx(float(np.sum(z - np.log1p(z))), abs=1e-11)
    assert np.array_equal(whole[0], whole[2])


def test_betting_survives_a_thousand_losing_factors_in_a_row():
    # 0.05^1000 is far below the smallest float64.
    penalty = betting([0.95], np.ones(1000), n_models=2)
    residuals = np.array([[-1.0], [1.0]]) * np.ones(1000)
    penalty.add(lambda places, out: residuals[:, places], 0.0)
    assert values_of(penalty, 2)[0, 0, 1] == pytest.approx(1000 * (-0.95 - math.log(0.05)), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-5, 1e-2, 1.0])
def test_a_betting_penalty_is_never_below_its_exact_value(scale):
    # Small bets: the factors lie so close to one that most of what they say is lost in forming them.
    rng = np.random.default_rng(7)
    shares = rng.choice([1.0, 0.5, 0.25], 60)
    for _ in range(6):
        penalty = betting([0.2, 0.95], shares, n_models=2, largest=4)
        residuals = scale * rng.uniform(-1, 1, (2, 60))
        penalty.add(lambda places, out, residuals=residuals: residuals[:, places], 0.0)
        values = values_of(penalty, 2)
        for g, stake in enumerate((0.2, 0.95)):
            for a, b in ((0, 1), (1, 0)):
                with localcontext(Context(prec=50)):
                    exact = Decimal(0)
                    for m, share in enumerate(shares):
                        difference = (Decimal(residuals[a, m]) - Decimal(residuals[b, m])) / 2
                        z = Decimal(stake) * Decimal(share) * difference
                        exact += z - (1 + z).ln()
                assert Decimal(values[g, a, b]) >= exact
                assert values[g, a, b] == pytest.approx(float(exact), abs=1e-10)


def test_a_rectangle_of_bets_is_a_part_of_the_square():
    rng = np.random.default_rng(9)
    residuals, shares = rng.uniform(-1, 1, (5, 40)), rng.choice([1.0, 0.5], 40)
    square = betting([0.3, 0.9], shares, n_models=5, largest=2)
    pairs = Directions(rows=slice(0, 2), cols=slice(2, 5))
    tile = BettingPenalty(np.array([0.3, 0.9]), layout_of(shares, 2), space=SPACE, pairs=pairs, reach=1.0)
    for penalty in (square, tile):
        penalty.add(lambda places, out: residuals[:, places], 0.02)
    got = np.concatenate(tile.features(16)(slice(0, 2), slice(0, 3)))
    np.testing.assert_allclose(got, values_of(square, 5)[:, :2, 2:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("tile", [1, 30, 100, 333, 1000, 5000, 1 << 20])
@pytest.mark.parametrize("n_stakes", [1, 2, 5, 12, 41])
@pytest.mark.parametrize("shift", [0.0, 0.03])
def test_betting_is_its_definition_for_any_stakes_and_tiles(tile, n_stakes, shift):
    rng = np.random.default_rng(n_stakes)
    stakes, shares = np.linspace(0.01, 0.95, n_stakes), rng.choice([0.25, 0.5, 1.0], 11)
    residuals = rng.uniform(-1.0, 1.0, (4, 11))
    penalty = betting(stakes, shares, n_models=4, largest=1, space=replace(SPACE, tile=tile))
    penalty.add(lambda places, out: residuals[:, places], shift)
    x = (residuals[:, None, :] - residuals[None, :, :]) / 2 - shift
    z = stakes[:, None, None, None] * shares * x
    exact = (z - np.log1p(z)).sum(axis=-1)
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(values_of(penalty, 4)[:, apart], exact[:, apart], rtol=1e-12, atol=1e-11)
