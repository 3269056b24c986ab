from fractions import Fraction

import numpy as np
import pytest

from bbedge.core import gram
from bbedge.core.gram import PenaltyBySize, PenaltyByStake, difference_sums, gram_penalty

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_difference_sums_by_hand(power, weighted):
    v = RNG.standard_normal((4, 6))
    weight = RNG.random(6) if weighted else None
    got = difference_sums(v, {power: weight})[power]
    factor = np.ones(6) if weight is None else weight
    for a in range(4):
        for b in range(4):
            assert got[a, b] == pytest.approx(sum(factor * (v[a] - v[b]) ** power), abs=1e-12)


@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
@pytest.mark.parametrize("shift", [0.0, 0.02])
def test_both_forms_and_any_chunking_agree(kind, shift, monkeypatch):
    sizes = RNG.integers(1, 4, 30)
    shares = sizes / sizes.max()
    panels = [RNG.uniform(-1, 1, (4, 30)) for _ in range(3)]
    stakes = np.array([0.2, 0.6, 0.95])

    def values(form):
        _, of_block = np.unique(shares, return_inverse=True)
        source = gram_penalty(kind, stakes, shares, largest=3, n_models=4, reach=1.0)
        penalty = form(source._coefficients, of_block, largest=3, n_models=4)
        for panel in panels:
            penalty.add(panel, shift)
        return penalty.values(slice(0, 4))

    by_size, by_stake = values(PenaltyBySize), values(PenaltyByStake)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(by_stake[:, off], by_size[:, off], rtol=0, atol=1e-11)
    monkeypatch.setattr(gram, "_CHUNK", 4)
    np.testing.assert_allclose(values(PenaltyBySize)[:, off], by_size[:, off], rtol=0, atol=1e-11)
    np.testing.assert_allclose(values(PenaltyByStake)[:, off], by_size[:, off], rtol=0, atol=1e-11)


def test_the_smaller_form_is_chosen():
    def form(n_sizes, n_stakes):
        shares = np.arange(1, n_sizes + 1) / n_sizes
        stakes = np.linspace(0.1, 0.9, n_stakes)
        return type(gram_penalty("sharp", stakes, shares, largest=9, n_models=2, reach=1.0))

    assert form(3, 3) is PenaltyBySize
    assert form(2, 3) is PenaltyBySize
    assert form(4, 3) is PenaltyByStake


@pytest.mark.parametrize("form", [PenaltyBySize, PenaltyByStake])
def test_a_value_common_to_all_models_changes_nothing(form):
    shares = np.array([1.0, 0.5])
    coefficients = gram_penalty("sharp", np.array([0.9]), shares, largest=2, n_models=3, reach=1.0)._coefficients
    residuals = RNG.uniform(-0.5, 0.5, (3, 2))

    def values(panel):
        penalty = form(coefficients, np.array([1, 0]), largest=2, n_models=3)
        penalty.add(panel, 0.01)
        return penalty.values(slice(0, 3))[0][~np.eye(3, dtype=bool)]

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
    coefficients = gram_penalty(kind, stakes, shares, largest=2, n_models=3, reach=1.0)._coefficients
    for _ in range(10):
        penalty = form(coefficients, of_block, largest=2, n_models=3)
        far = rng.uniform(0.5, 1.0, 40)
        residuals = np.stack([far, far + rng.uniform(-1e-7, 1e-7, 40), -far])
        penalty.add(residuals, shift)
        values = penalty.values(slice(0, 3))
        for a, b in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)):
            for g in range(2):
                exact = Fraction(0)
                for m in range(40):
                    x = (Fraction(residuals[a, m]) - Fraction(residuals[b, m])) / 2 - Fraction(shift)
                    exact += sum(Fraction(c[g, of_block[m]]) * x**j for j, c in coefficients.items())
                assert Fraction(values[g, a, b]) >= exact
                assert values[g, a, b] == pytest.approx(float(exact), abs=1e-10)
