import numpy as np
import pytest

from bbedge.core.graph import Graph


def graph(count, *edges):
    mask = np.zeros((count, count), dtype=bool)
    for a, b in edges:
        mask[a, b] = True
    return Graph(mask)


def test_no_edges_conclude_nothing():
    empty = graph(3)
    assert empty.rank_intervals == ((1, 3),) * 3
    assert empty.tiers == ((0, 1, 2),)
    assert empty.cycles == ()
    assert empty.unresolved == ((0, 1), (0, 2), (1, 2))
    assert (empty.n_edges, empty.n_resolved) == (0, 0)
    assert empty.top_k(1) is None
    assert not empty.path_lengths.any()


def test_a_chain_with_a_shortcut():
    chain = graph(3, (2, 0), (0, 1), (2, 1))
    assert chain.rank_intervals == ((2, 2), (3, 3), (1, 1))
    assert chain.tiers == ((2,), (0,), (1,))
    assert chain.top_k(1) == (2,)
    assert chain.top_k(2) == (0, 2)
    assert np.argwhere(chain.reduction).tolist() == [[0, 1], [2, 0]]
    assert chain.path_lengths.tolist() == [[0, 1, 0], [0, 0, 0], [1, 2, 0]]


def test_a_path_certifies_what_no_edge_says():
    path = graph(3, (0, 1), (1, 2))
    assert path.reach[0, 2]
    assert path.n_resolved == 3
    assert path.n_edges == 2


def test_better_and_worse_models_are_counted_from_the_view_of_each_model():
    ranks = graph(4, (0, 1), (1, 2))  # 0 beats 1 beats 2; 3 is open against all
    assert ranks.n_better.tolist() == [0, 1, 2, 0]
    assert ranks.n_worse.tolist() == [2, 1, 0, 0]


def test_two_tiers():
    two = graph(4, (0, 2), (0, 3), (1, 2), (1, 3))
    assert two.tiers == ((0, 1), (2, 3))
    assert two.top_k(2) == (0, 1)
    assert two.top_k(1) is None
    assert two.unresolved == ((0, 1), (2, 3))


def test_a_cycle_is_reported_and_orders_nobody_on_it():
    loop = graph(4, (0, 1), (1, 2), (2, 0), (0, 3))
    assert loop.cycles == ((0, 1, 2),)
    assert not loop.above[:3, :3].any()
    assert loop.above[:, 3].tolist() == [True, True, True, False]
    assert loop.rank_intervals == ((1, 3), (1, 3), (1, 3), (4, 4))
    assert np.array_equal(loop.reduction, loop.edges)
    assert loop.path_lengths.tolist() == [[0, 0, 0, 1]] * 3 + [[0, 0, 0, 0]]


def test_two_directions_of_a_pair_are_a_cycle():
    assert graph(3, (0, 1), (1, 0)).cycles == ((0, 1),)


@pytest.mark.parametrize("name", ["edges", "reach", "above", "reduction", "path_lengths"])
def test_no_array_of_a_graph_can_be_changed(name):
    chain = graph(3, (0, 1), (1, 2))
    with pytest.raises(ValueError, match="read-only"):
        getattr(chain, name)[0, 1] = 0
