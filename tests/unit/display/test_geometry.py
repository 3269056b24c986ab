"""The drawing has every model once and every edge of the reduced graph, and is the same every time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bbedge.core.graph import Graph
from bbedge.display.geometry import can_draw, layered


def random_graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 25))
    order = rng.permutation(size)
    edges = np.triu(rng.random((size, size)) < 0.5 * rng.random(), 1)
    return Graph(edges[np.ix_(order, order)])


@pytest.mark.parametrize("seed", range(60))
def test_all_is_drawn_and_runs_downward(seed):
    graph = random_graph(seed)
    layout = layered(graph)
    assert set(layout.routes) == {(int(a), int(b)) for a, b in np.argwhere(graph.reduction)}
    assert set(layout.places) | set(layout.alone) == set(range(graph.n_models))
    assert not set(layout.places) & set(layout.alone)
    for (winner, loser), points in layout.routes.items():
        assert points[0] == layout.places[winner]
        assert points[-1] == layout.places[loser]
        assert all(after[1] == before[1] + 1 for before, after in pairwise(points))
    where = sorted(layout.places.values())
    assert len(set(where)) == len(where)
    for (x, layer), (other, other_layer) in pairwise(sorted(where, key=lambda place: (place[1], place[0]))):
        assert layer != other_layer or other - x > 0.99  # boxes of a layer do not overlap
    assert all(0.0 <= x <= layout.width and 0 <= layer < layout.layers for x, layer in where)
    assert all(layered(graph) == layout for _ in range(3))


def test_nothing_certified_nothing_drawn():
    layout = layered(Graph(np.zeros((3, 3), dtype=bool)))
    assert layout.places == {}
    assert layout.alone == (0, 1, 2)
    assert (layout.width, layout.layers) == (0.0, 0)


def test_what_cannot_be_drawn_in_layers(monkeypatch):
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert can_draw(Graph(chain))
    assert not can_draw(Graph(chain | chain.T))
    assert not can_draw(Graph(np.zeros((41, 41), dtype=bool)))
    monkeypatch.setattr("bbedge.display.geometry.find_spec", lambda name: None)
    assert not can_draw(Graph(chain))
