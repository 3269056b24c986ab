import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbedge.core.graph import Graph
from bbedge.scale import PackedGraph


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = rng.random((n, n)) < draw(st.sampled_from([0.02, 0.1, 0.5, 1.0]))
    np.fill_diagonal(edges, False)
    if draw(st.booleans()):  # no cycle
        order = rng.permutation(n)
        edges = np.triu(edges)[np.ix_(order, order)]
    return edges


@given(graphs())
def test_bits_conclude_what_the_graph_concludes(edges):
    graph, packed = Graph(edges), PackedGraph.of(edges)
    np.testing.assert_array_equal(packed.unpacked_edges(), edges)
    np.testing.assert_array_equal(PackedGraph(packed.reach).unpacked_edges(), graph.reach)
    assert packed.rank_intervals == graph.rank_intervals
    assert packed.n_resolved == graph.n_resolved
    assert packed.n_edges == graph.n_edges
    assert packed.has_contradictions == bool(graph.cycles)
    assert packed.n_models == graph.n_models


def test_more_rows_than_are_unpacked_at_once():
    rng = np.random.default_rng(5)
    order = rng.permutation(700)
    edges = np.triu(rng.random((700, 700)) < 0.02, k=1)[np.ix_(order, order)]
    assert PackedGraph.of(edges).rank_intervals == Graph(edges).rank_intervals
