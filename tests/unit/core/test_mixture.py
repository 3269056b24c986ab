"""Many tiles of directions: sorted, with the stakes that do not matter left out, and put back where they belong."""

from dataclasses import replace

import numpy as np
import pytest

import oracle
from bbedge.core import mixture as mixture_module
from bbedge.core import view_evidence as view_evidence_module
from bbedge.core.arrays import numpy_space
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.mixture import Mixture
from bbedge.core.penalties import Directions

N_MODELS, N_ITEMS = 60, 150


def panels():
    """Two replicates of models far apart and in no order."""
    rng = np.random.default_rng(3)
    ability = rng.permutation(np.linspace(0.1, 0.9, N_MODELS))
    return [(rng.random((N_MODELS, N_ITEMS)) < ability[:, None]).astype(np.float64) for _ in range(2)]


def fed(monkeypatch, tile, **options):
    """Evidence of the panels, read in tiles of so many exponents."""
    monkeypatch.setattr(view_evidence_module, "space_on", lambda name: replace(numpy_space(), tile=tile))
    design = Design.make(
        [f"m{i}" for i in range(N_MODELS)], [f"q{i}" for i in range(N_ITEMS)], **({"method": "bb-edge"} | options)
    )
    evidence = Evidence(design, device="cpu")
    for panel in panels():
        evidence.update(panel)
    return evidence


def rows_used(monkeypatch):
    """How many stakes each tile uses; small tiles are sifted like large ones."""
    monkeypatch.setattr(mixture_module, "_FEW", 0)
    used, sift = [], Mixture._adding

    def spy(self, features):
        matrix = sift(self, features)
        used.append(len(matrix))
        return matrix

    monkeypatch.setattr(Mixture, "_adding", spy)
    return used


@pytest.mark.parametrize(
    ("kind", "tau"),
    [
        pytest.param("sharp", 0.05, marks=pytest.mark.every_push("tiles against the definition")),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (("bernstein", 0.0), ("bernstein", 0.05), ("sharp", 0.0))
        ),
    ],
)
def test_evidence_in_many_tiles_is_the_definition(monkeypatch, kind, tau):
    used = rows_used(monkeypatch)
    evidence = fed(monkeypatch, 1 << 14, evidence=kind, tau=tau)
    log_e, bounds, design = evidence.log_e(), evidence.lower_bounds(), evidence.design
    assert len(used) > 4
    assert min(used) < len(design.grid.values) / 2
    setting = oracle.Setting(
        blocks=tuple(range(N_ITEMS)),
        tau=tau,
        kind=kind,
        prediction=design.prediction,
        stakes=design.grid.values,
        weights=design.grid.weights,
    )
    rng, given = np.random.default_rng(4), [panel.tolist() for panel in panels()]
    for _ in range(4):
        a, b = (int(i) for i in rng.choice(N_MODELS, 2, replace=False))
        exact = oracle.log_evidence(setting, given, a, b)
        assert exact - 1e-9 * max(1.0, abs(exact)) <= log_e[a, b] <= exact
        bound = oracle.lower_bound(setting, given, a, b, directions=design.n_directions, alpha=design.alpha)
        assert bound - 1e-8 <= bounds[a, b] <= bound + 1e-13


@pytest.mark.parametrize("kind", ["bernstein", "sharp", pytest.param("betting", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("blocks", [None, [f"b{i // 3}" if i < 75 else f"c{i}" for i in range(N_ITEMS)]])
def test_tiles_of_any_size_give_the_same(monkeypatch, kind, blocks):
    options = {"evidence": kind, "blocks": blocks or "item"}
    whole = fed(monkeypatch, 1 << 26, **options)
    log_e, bounds = whole.log_e(), whole.lower_bounds()
    for tile in (1 << 12, 1 << 15, 1 << 17):
        tiled = fed(monkeypatch, tile, **options)
        # A product of another shape adds up in another order; the evidence is rounded down by far more.
        np.testing.assert_allclose(tiled.log_e(), log_e, rtol=1e-13 if kind == "betting" else 1e-14, atol=1e-12)
        np.testing.assert_allclose(tiled.lower_bounds(), bounds, rtol=0, atol=1e-9)


def test_a_rectangle_of_pairs_is_sorted_both_ways(monkeypatch):
    used = rows_used(monkeypatch)
    whole = fed(monkeypatch, 1 << 26, evidence="bernstein")
    space = replace(numpy_space(), tile=1 << 13)
    mixture = Mixture(whole.design, space, Directions(rows=slice(0, 25), cols=slice(25, N_MODELS)))
    twin = Evidence(whole.design)
    for panel in panels():
        residuals = panel - twin._predictor._sums / (twin.replicates + 1)
        mixture.add(
            lambda places, out, panel=panel: panel[:, places] + 0.0,
            lambda places, out, residuals=residuals: residuals[:, places] + 0.0,
            shift=0.0,
            totals=panel.mean(axis=1),
        )
        twin.update(panel)
    used.clear()
    found = mixture.log_e()
    assert min(used) < 35
    np.testing.assert_allclose(found, whole.log_e()[:25, 25:], rtol=1e-13, atol=1e-11)
    bounds = mixture.lower_bounds(whole.design.n_directions)
    np.testing.assert_allclose(bounds, whole.lower_bounds()[:25, 25:], rtol=0, atol=1e-9)
