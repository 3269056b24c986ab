"""Every rival against a slow version written straight from its definition, on small random panels."""

from __future__ import annotations

import math
import sys
from itertools import permutations

import numpy as np
import pytest
from scipy import special, stats

from bbedge.baselines import METHODS, method
from bbedge.baselines.e_values import VARIANTS
from bbedge.baselines.means import holm
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.errors import BbedgeError

L, R = 4, 6


def design(n_items: int = 8, block: int = 2, tau: float = 0.0) -> Design:
    return Design.make(
        [f"m{i}" for i in range(L)],
        [f"q{i}" for i in range(n_items)],
        blocks=[f"b{i // block}" for i in range(n_items)],
        tau=tau,
        method="bb-edge",
    )


def panels(seed: int, n_items: int = 8, *, graded: bool = True, spread: float = 0.25) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = np.linspace(0.15, 0.85, L)[None, :, None]
    if graded:
        return np.clip(means + spread * rng.standard_normal((R, L, n_items)), 0.0, 1.0)
    return (rng.random((R, L, n_items)) < means).astype(float)


def directions():
    return list(permutations(range(L), 2))


def literal_holm(p: dict, alpha: float) -> set:
    rejected = set()
    for step, (key, value) in enumerate(sorted(p.items(), key=lambda entry: entry[1])):
        if value > alpha / (len(p) - step):
            break
        rejected.add(key)
    return rejected


def found(result: np.ndarray, look: int) -> set:
    return {(int(a), int(b)) for a, b in np.argwhere(result[look])}


def run(name: str, d: Design, x: np.ndarray, seed: int = 0) -> np.ndarray:
    return METHODS[name].run(d, x, np.random.default_rng(seed))


@pytest.mark.parametrize("tau", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_emr(seed, tau):
    x = panels(seed, graded=False)
    result = run("EMR", design(tau=tau), x)
    for look in range(R):
        means = x[: look + 1].mean(axis=(0, 2))
        assert found(result, look) == {(a, b) for a, b in directions() if means[a] - means[b] > tau + 1e-12}


def test_emr_takes_equal_sums_for_ties():
    x = np.zeros((1, L, 10))
    x[0, 0, :3] = 1.0
    x[0, 1, 7:] = 1.0
    result = run("EMR", design(10, 1), x)
    assert not result[0, 0, 1]
    assert not result[0, 1, 0]
    assert result[0, 0, 2]


@pytest.mark.parametrize("tau", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_t_holm(seed, tau):
    x = panels(seed)
    result = run("t-Holm", design(tau=tau), x)
    assert not result[0].any()
    certified = 0
    for look in range(1, R):
        means = x[: look + 1].mean(axis=2)
        p = {
            (a, b): stats.ttest_1samp(means[:, a] - means[:, b], tau, alternative="greater").pvalue
            for a, b in directions()
        }
        assert found(result, look) == literal_holm(p, 0.05)
        certified += len(literal_holm(p, 0.05))
    assert certified


@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_beb_holm(tau):
    x = panels(3, n_items=300, spread=0.05)
    d = design(300, 2, tau)
    result = run("BEB-Holm", d, x)
    blocks = x.reshape(R, L, 150, 2).mean(axis=3)
    for look in range(R):
        p = {}
        for a, b in directions():
            pooled = (blocks[: look + 1, a] - blocks[: look + 1, b]).ravel()
            n, mean, var = len(pooled), pooled.mean(), pooled.var(ddof=1)
            p[a, b] = 1.0
            if mean > tau:
                # The smallest level whose lower bound exceeds tau, by bisection on log(4 / level).
                low, high = 0.0, 1e6
                for _ in range(200):
                    mid = (low + high) / 2
                    if mean - math.sqrt(2 * var * mid / n) - 16 * mid / (3 * (n - 1)) > tau:
                        low = mid
                    else:
                        high = mid
                p[a, b] = min(1.0, 4 * math.exp(-low))
        assert found(result, look) == literal_holm(p, 0.05)
    assert result[-1].any()


def test_beb_holm_refuses_uneven_blocks():
    d = Design.make(["a", "b"], ["p", "q", "r"], blocks=["x", "x", "y"])
    with pytest.raises(BbedgeError, match="blocks of one size"):
        run("BEB-Holm", d, np.zeros((1, 2, 3)))


@pytest.mark.parametrize("tau", [0.0, 0.05])
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (1, 3, 1, 3)])
def test_bb_edge_pi(sizes, tau):
    blocks = [f"b{m}" for m, size in enumerate(sizes) for _ in range(size)]
    d = Design.make([f"m{i}" for i in range(L)], [f"q{i}" for i in range(8)], blocks=blocks, tau=tau)
    x = np.concatenate([panels(s, spread=0.02) for s in range(3)])
    result = run("BB-EDGE-PI", d, x)
    mu0, top = (1 + tau) / 2, max(sizes)
    starts = np.cumsum([0, *sizes])
    log_e = np.zeros((len(x), L, L))
    for a, b in directions():
        total, seen, sum_y, sum_sq = 0.0, 0, 0.0, 0.0
        history = [[] for _ in sizes]
        for r, panel in enumerate(x):
            mean = (mu0 + sum_y) / (1 + seen)
            variance = (0.25 + sum_sq) / (1 + seen)
            stake = min(0.95, 0.5 * max(0.0, mean - mu0) / variance)
            for m, size in enumerate(sizes):
                cells = slice(starts[m], starts[m + 1])
                y = (panel[a, cells].mean() - panel[b, cells].mean() + 1) / 2
                guess = (mu0 + sum(history[m])) / (r + 1)
                u = stake * size / top
                total += u * (y - mu0) - (-math.log(1 - u) - u) * (y - guess) ** 2
                history[m].append(y)
                sum_y, sum_sq, seen = sum_y + y, sum_sq + (y - guess) ** 2, seen + 1
            log_e[r, a, b] = total
    np.einsum("rii->ri", log_e)[:] = np.nan
    for look in range(len(x)):
        np.testing.assert_array_equal(result[look], e_holm(log_e[look], alpha=0.05))
    assert result.any()


def test_asymp_cs_bonf():
    x = panels(1)
    result = run("AsympCS-Bonf", design(tau=0.02), x)
    a_level = 0.05 / (L * (L - 1))
    rho2 = (-2 * math.log(2 * a_level) + math.log(-2 * math.log(2 * a_level)) + 1) / 10
    assert not result[0].any()
    for look in range(1, R):
        r = look + 1
        means = x[:r].mean(axis=2)
        expected = set()
        for a, b in directions():
            d = means[:, a] - means[:, b]
            width = math.sqrt(
                2 * (r * rho2 + 1) / (r**2 * rho2) * math.log(1 + math.sqrt(r * rho2 + 1) / (2 * a_level))
            )
            if d.mean() - d.std(ddof=1) * width > 0.02:
                expected.add((a, b))
        assert found(result, look) == expected
    assert result.any()


def literal_serpant(k: int, n: int, p0: float) -> float:
    """The uniform mixture over (p0, 1) by its integral."""
    tail = stats.beta.sf(p0, k + 1, n - k + 1)
    return special.beta(k + 1, n - k + 1) * tail / (1 - p0) / (p0**k * (1 - p0) ** (n - k))


@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_serpant_and_serpant_r(tau):
    x, d = panels(4), design(tau=tau)
    every, at_replicates = run("SERPANT", d, x), run("SERPANT-R", d, x)
    p0, stood = (1 + tau) / 2, np.zeros((L, L), dtype=bool)
    wins, n = np.zeros((L, L)), 0
    for look in range(R):
        for item in range(8):
            n += 1
            for a, b in directions():
                assert x[look, a, item] != x[look, b, item] or x[look, a, item] in (0.0, 1.0)
                wins[a, b] += x[look, a, item] > x[look, b, item]
            log_e = np.full((L, L), np.nan)
            for a, b in directions():
                log_e[a, b] = math.log(literal_serpant(int(wins[a, b]), n, p0))
            certified = e_holm(log_e, alpha=0.05)
            stood |= certified
        np.testing.assert_array_equal(every[look], stood)
        np.testing.assert_array_equal(at_replicates[look], certified)
    assert every[-1].any()


def test_serpant_with_many_items_uses_a_tail_that_joins_the_exact_one():
    from bbedge.baselines.e_values import log_evidence

    for n in (290, 300, 301, 310, 900):
        k = np.arange(n // 3, n - n // 5)
        values = log_evidence(k, np.full(k.shape, n), 0.5)
        exact = [
            (n + 1) * math.log(2) + special.betaln(j + 1, n - j + 1) + math.log(stats.binom.cdf(j, n + 1, 0.5))
            for j in k
        ]
        near = np.array(exact) > -3.0  # where evidence can matter
        assert near.any()
        np.testing.assert_allclose(values[near], np.array(exact)[near], atol=2e-3)


@pytest.mark.parametrize("mu0", [0.5, 0.515])
def test_serpant_has_no_evidence_for_a_model_that_loses(mu0):
    from bbedge.baselines.e_values import log_evidence

    for n in (301, 1000, 20000):
        k = np.arange(0, int(n * mu0), max(1, n // 500))
        values = log_evidence(k, np.full(k.shape, n), mu0)
        with np.errstate(divide="ignore"):
            exact = np.log(stats.binom.cdf(k, n + 1, mu0))
        exact += special.betaln(k + 1, n - k + 1) - k * math.log(mu0) - (n - k + 1) * math.log(1 - mu0)
        assert (values < 0.0).all()
        known = np.isfinite(exact)
        np.testing.assert_allclose(values[known], exact[known], atol=0.2)


def test_serpant_breaks_ties_by_fair_complementary_coins():
    x = np.ones((1, 2, 4000))
    d = Design.make(["a", "b"], [f"q{i}" for i in range(4000)])
    from bbedge.baselines.e_values import _wins

    wins = _wins(d, x, np.random.default_rng(0))
    assert abs(wins[-1, 0] - 2000) < 200
    np.testing.assert_array_equal(wins.sum(axis=1), np.arange(1, 4001))


@pytest.mark.parametrize("mu0", [0.5, 0.515])
def test_fewest_wins_is_where_the_evidence_first_reaches_the_threshold(mu0):
    from bbedge.baselines.e_values import fewest_wins, log_evidence

    found = fewest_wins(400, mu0, 6.7)
    for n in (1, 2, 9, 10, 57, 299, 300, 301, 400):
        values = log_evidence(np.arange(n + 1), np.full(n + 1, n), mu0)
        assert found[n - 1] == (int(np.argmax(values >= 6.7)) if (values >= 6.7).any() else n + 1)


def test_serpant_skips_only_items_at_which_nothing_could_be_certified():
    from bbedge.baselines.e_values import _wins, log_evidence
    from bbedge.study.synthetic import SyntheticBenchmark

    benchmark = SyntheticBenchmark(heterogeneity=0.2, n_items=40, means=(0.3, 0.3, 0.5, 0.6))
    d, x = benchmark.design(), benchmark.panels(np.random.default_rng(3), 12)
    wins = _wins(d, x, np.random.default_rng(1))
    stood = np.zeros(d.n_directions, dtype=bool)
    for n in range(1, len(wins) + 1):
        stood |= e_holm(log_evidence(wins[n - 1], np.full(d.n_directions, n), 0.5), alpha=0.05)
        if n % 40 == 0:
            np.testing.assert_array_equal(run("SERPANT", d, x, seed=1)[n // 40 - 1][d.tested], stood)
    assert 0 < stood.sum() < d.n_directions // 2 + 1


@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_cbtl(tau):
    x, d = panels(2, spread=0.1), design(tau=tau)
    result = run("CBTL", d, x, seed=5)
    draws = np.random.default_rng(5).standard_normal((R, 200))
    place, grid = (np.arange(8) + 0.5) / 8, np.linspace(0, 1, 21)
    for look in range(R):
        r = look + 1
        for a, b in directions():
            curves = np.empty((r, 21))
            for s in range(r):
                for g, at in enumerate(grid):
                    kernel = np.exp(-0.5 * ((at - place) / 0.2) ** 2)
                    preference = (x[s, a] - x[s, b] + 1) / 2
                    curves[s, g] = (kernel * preference).sum() / kernel.sum()
            mean = curves.mean(axis=0)
            gap = np.log(mean / (1 - mean))
            sups = sorted(
                max(((curves - mean) * draws[:r, draw][:, None]).sum(axis=0) / r / (mean * (1 - mean)))
                for draw in range(200)
            )
            q = sups[189]
            assert result[look, a, b] == (gap.min() - q > math.log((1 + tau) / (1 - tau)))
    assert result.any()


def test_tlrci():
    x = panels(6)
    result = run("TLRCI", design(), x)
    assert result[0].tolist() == [[1, L]] * L
    for look in range(1, R):
        means = x[: look + 1].mean(axis=2)
        p = {(a, b): stats.ttest_rel(means[:, a], means[:, b]).pvalue for a in range(L) for b in range(a + 1, L)}
        differ = literal_holm(p, 0.05)
        average = means.mean(axis=0)
        for m in range(L):
            others = [o for o in range(L) if (min(m, o), max(m, o)) in differ]
            better = sum(average[o] > average[m] for o in others)
            worse = sum(average[o] < average[m] for o in others)
            assert result[look, m].tolist() == [1 + better, L - worse]


def test_mb_rank():
    x = panels(7)
    result = run("MB-Rank", design(), x, seed=9)
    draws = np.random.default_rng(9).standard_normal((R, 200))
    assert result[0].tolist() == [[1, L]] * L
    for look in range(1, R):
        r = look + 1
        means = x[:r].mean(axis=2)
        largest = np.zeros(200)
        statistic = {}
        for a, b in directions():
            d = means[:, a] - means[:, b]
            sd = d.std(ddof=1)
            statistic[a, b] = math.sqrt(r) * d.mean() / sd
            swing = np.abs(((d - d.mean())[:, None] * draws[:r]).sum(axis=0)) / math.sqrt(r) / sd
            largest = np.maximum(largest, swing)
        bar = sorted(largest)[189]
        for m in range(L):
            better = sum(statistic[o, m] > bar for o in range(L) if o != m)
            worse = sum(statistic[m, o] > bar for o in range(L) if o != m)
            assert result[look, m].tolist() == [1 + better, L - worse]


@pytest.mark.parametrize("seed", range(5))
def test_holm_at_every_look(seed):
    rng = np.random.default_rng(seed)
    p = rng.random((3, L, L)) ** 4
    tested = ~np.eye(L, dtype=bool)
    result = holm(p, tested, 0.2)
    for look in range(3):
        assert found(result, look) == literal_holm({(a, b): p[look, a, b] for a, b in directions()}, 0.2)
    assert result.any()


def test_the_kinds_of_bb_edge_are_nested():
    x = np.concatenate([panels(s, graded=False) for s in range(8)])
    d = design()
    published, sharp, betting = (run(name, d, x) for name in ("BB-EDGE", "BB-EDGE-sharp", "BB-EDGE-betting"))
    assert (published <= sharp).all()
    assert (sharp <= betting).all()
    assert betting.any()
    assert run("BB-EDGE-X", d, x).any()
    assert not (run("CR-EDGE", d, x) & ~betting).any()
    assert run("BFH-e-Holm", d, x).shape == betting.shape


@pytest.mark.parametrize("name", METHODS)
def test_the_contract(name):
    each = METHODS[name]
    x, d = panels(0), design()
    result = each.run(d, x, np.random.default_rng(1))
    again = each.run(d, x, np.random.default_rng(1))
    np.testing.assert_array_equal(result, again)
    if each.claims == "edges":
        assert result.shape == (R, L, L)
        assert result.dtype == bool
        assert not np.einsum("rii->ri", result).any()
    else:
        assert result.shape == (R, L, 2)
        assert (result[..., 0] <= result[..., 1]).all()
    assert each.assumes
    # The kinds of BB-EDGE are documented together, in their module; every other method in its function.
    documented = sys.modules["bbedge.baselines.e_values"] if name in VARIANTS else each.run
    assert "Repeated looks:" in documented.__doc__
    assert method(name.upper()) is each


def test_an_unknown_method_is_refused():
    with pytest.raises(BbedgeError, match="choose from BB-EDGE"):
        method("magic")


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_that_of_statsmodels(seed, monkeypatch):
    from statsmodels.stats.multitest import multipletests

    from bbedge.baselines.means import holm

    monkeypatch.setattr("gc.collect", lambda: 0)  # which multipletests does before it begins, for a third of a second
    rng = np.random.default_rng(seed)
    tested = ~np.eye(5, dtype=bool)
    p = rng.beta(0.3, 2.0, (6, 5, 5)).round(3)  # rounded, so that there are ties
    found = holm(p, tested, 0.05)
    for look in range(6):
        expected = multipletests(p[look][tested], alpha=0.05, method="holm")[0]
        np.testing.assert_array_equal(found[look][tested], expected)
    assert not found[:, ~tested].any()
