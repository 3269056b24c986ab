"""Other array libraries give the numbers of NumPy, through the same code."""

import itertools
import sys
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

from bbedge.core import arrays
from bbedge.core.arrays import numpy_space, space_of, space_on, to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm, log_threshold
from bbedge.core.evidence import Evidence
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier
from bbedge.core.paths import closure
from bbedge.errors import DesignError, DomainError

BLOCKS = [str(i) for i, size in enumerate([1, 2, 3, 1, 1, 5] * 2) for _ in range(size)]
ITEMS = [f"i{k}" for k in range(len(BLOCKS))]
CASES = [
    ("hoeffding", 0.0, "paper", "running-mean"),
    ("bernstein", 0.0, "paper", "running-mean"),
    ("bernstein", 0.03, [0.2, 0.7], "two-way"),  # fewer stakes than block sizes
    ("sharp", 0.0, "design", "running-mean"),  # wide stakes
    ("sharp", 0.03, [0.4, 1.2], "two-way"),
    ("betting", 0.0, "design", "two-way"),
    ("betting", 0.03, "paper", "running-mean"),
]


def library(name):
    """A function that makes an array of the library."""
    if name == "strict":
        return array_api_strict.asarray
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.asarray


@pytest.mark.parametrize("name", ["strict", "torch"])
@pytest.mark.parametrize(("kind", "tau", "stakes", "rule"), CASES)
def test_every_library_gives_the_same_leaderboard(name, kind, tau, stakes, rule):
    asarray = library(name)
    rng = np.random.default_rng(5)
    models = list("abcdef")
    design = Design.make(
        models,
        ITEMS,
        blocks=BLOCKS,
        evidence=kind,
        tau=tau,
        **{"stakes" if isinstance(stakes, str) else "grid": stakes},
        prediction=rule,
        alpha=0.2,
        method="bb-edge",
    )
    lift = np.linspace(0, 0.5, 6)[:, None]
    panels = [np.clip(0.5 * rng.random((6, len(ITEMS))) + lift, 0, 1) for _ in range(6)]
    here, there = Certifier(design), Certifier(design)
    for panel in panels:
        one, other = here.update(panel), there.update(asarray(panel))
        np.testing.assert_allclose(other.log_e, one.log_e, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(other.edges, one.edges)
    if kind in ("sharp", "betting"):
        assert one.edges.any()
    board, twin = here.leaderboard(), there.leaderboard()
    np.testing.assert_allclose(twin.lower_bounds, board.lower_bounds, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(twin.first_certified, board.first_certified)
    assert twin.graph.rank_intervals == board.graph.rank_intervals
    assert twin.looks == board.looks
    assert isinstance(twin.log_e, np.ndarray)
    # What was saved on one device is resumed on another.
    resumed = Certifier.from_bytes(design, there.to_bytes())
    for certifier in (here, resumed, there):
        certifier.stop(["a"])
        certifier.update(asarray(panels[0][1:]) if certifier is there else panels[0][1:])
    for certifier in (resumed, there):
        np.testing.assert_allclose(certifier.leaderboard().log_e, here.leaderboard().log_e, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["strict", "torch"])
@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
def test_every_library_reads_many_tiles(monkeypatch, name, kind):
    asarray, make = library(name), arrays._accelerated
    monkeypatch.setattr(arrays, "_accelerated", lambda xp, place: replace(make(xp, place), tile=1 << 15))
    rng = np.random.default_rng(6)
    panels = [(rng.random((60, 40)) < rng.permutation(60)[:, None] / 60).astype(float) for _ in range(2)]
    design = Design.make([f"m{i}" for i in range(60)], [f"q{i}" for i in range(40)], evidence=kind, method="bb-edge")
    here, there = Evidence(design), Evidence(design)
    for panel in panels:
        here.update(panel)
        there.update(asarray(panel))
    np.testing.assert_allclose(to_numpy(there.log_e()), here.log_e(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(to_numpy(there.lower_bounds()), here.lower_bounds(), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["strict", "torch"])
@pytest.mark.parametrize("rule", ["running-mean", "two-way"])
def test_every_library_bounds_means(name, rule):
    asarray, rng = library(name), np.random.default_rng(9)
    design = Design.make(list("abcd"), ITEMS, blocks=BLOCKS, prediction=rule, gaps="worst-case", mean_share=0.1)
    here, there = Evidence(design), Evidence(design)
    for number in range(9):
        panel = np.round(rng.random((4, len(ITEMS)))) * np.linspace(1.0, 0.2, 4)[:, None]
        panel = np.where((rng.random(panel.shape) < 0.1) & (number > 2), np.nan, panel)
        if number == 5:
            here.stop(["d"])
            there.stop(["d"])
        rows = panel if number < 5 else panel[:3]
        here.update(rows)
        there.update(asarray(rows))
    assert np.all(np.diff(here.mean_bounds()) < 1.0)
    np.testing.assert_allclose(there.mean_bounds(), here.mean_bounds(), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["strict", "torch"])
@pytest.mark.parametrize("kind", ["sharp", "betting"])
def test_every_library_has_views_and_gaps(name, kind):
    asarray, rng = library(name), np.random.default_rng(8)
    views = {"first": [1.0] * 3 + [0.0] * (len(ITEMS) - 3), "last": [0.0] * 3 + [1.0] * (len(ITEMS) - 3)}
    design = Design.make(list("abcd"), ITEMS, blocks=BLOCKS, evidence=kind, views=views, gaps="worst-case", tau=0.01)
    here, there = Certifier(design), Certifier(design)
    for number in range(4):
        panel = np.round(rng.random((4, len(ITEMS)))) * np.linspace(1.0, 0.2, 4)[:, None]
        panel = np.where((rng.random(panel.shape) < 0.1) & (number > 0), np.nan, panel)
        here.update(panel)
        there.update(asarray(panel))
        for one, other in zip(here.last_looks, there.last_looks, strict=True):
            np.testing.assert_allclose(one.log_w, other.log_w, rtol=0, atol=1e-8)
            np.testing.assert_array_equal(one.edges, other.edges)
    for one, other in zip(here.views, there.views, strict=True):
        np.testing.assert_allclose(to_numpy(other.lower_bounds()), one.lower_bounds(), rtol=0, atol=1e-8)
        np.testing.assert_allclose(other.means, one.means)


@pytest.mark.parametrize("kind", ["hoeffding", "bernstein", "sharp", "betting"])
@pytest.mark.parametrize("rule", ["running-mean", "two-way"])
def test_a_batch_is_its_members(kind, rule):
    design = Design.make(list("abcd"), ITEMS, blocks=BLOCKS, evidence=kind, prediction=rule, tau=0.01, method="bb-edge")
    panels = np.random.default_rng(6).random((5, 2, 3, 4, len(ITEMS)))
    batch = Evidence(design, batch=(2, 3))
    alone = {place: Evidence(design) for place in itertools.product(range(2), range(3))}
    for panel in panels:
        batch.update(panel)
        for place, evidence in alone.items():
            evidence.update(panel[place])
    log_e, bounds, means = batch.log_e(), batch.lower_bounds(), batch.means
    edges = e_holm(log_e - 2.0, alpha=0.5, batch=2)
    for place, evidence in alone.items():
        np.testing.assert_allclose(log_e[place], evidence.log_e(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(bounds[place], evidence.lower_bounds(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(means[place], evidence.means, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(edges[place], e_holm(log_e[place] - 2.0, alpha=0.5))
        assert log_threshold(log_e, 0.5, batch=2)[place] == pytest.approx(log_threshold(log_e[place], 0.5), rel=1e-14)


def test_a_batch_cannot_stop_models():
    with pytest.raises(DesignError, match="one by one"):
        Evidence(Design.make(["a", "b"], ["q"], method="bb-edge"), batch=(2,)).stop(["a"])


@pytest.mark.parametrize("name", ["strict", "torch"])
def test_the_closure_by_products_is_the_one_by_bits(name):
    rng = np.random.default_rng(7)
    for density in (0.0, 0.05, 0.2, 0.9):
        edges = rng.random((40, 40)) < density
        np.testing.assert_array_equal(to_numpy(closure(library(name)(edges))), Graph(edges).reach)


def test_lists_and_tables_are_numpy():
    assert space_of([[1.0]]) is space_of(np.zeros(1)) is space_on("cpu") is numpy_space()


def test_a_device_that_is_not_there_is_named(monkeypatch):
    with pytest.raises(DomainError, match=r"the device 'warp:9' .*use cpu"):
        space_on("warp:9")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DomainError, match="needs PyTorch, which is not installed"):
        space_on("cuda")
