import numpy as np
import pytest

from bbedge.core.graph import Graph
from bbedge.core.paths import closure_by_products
from bbedge.study.contenders import (
    edge_measures,
    rank_intervals,
    rank_measures,
    resolved_measures,
    top_k_alone,
    top_k_measures,
)
from bbedge.study.synthetic import SyntheticBenchmark


def random_graphs(n: int, n_models: int, seed: int) -> np.ndarray:
    """Some with cycles, some nearly complete orders, some nearly empty."""
    rng = np.random.default_rng(seed)
    order = np.triu(np.ones((n_models, n_models), dtype=bool), k=1)
    graphs = []
    for share in rng.uniform(0.1, 1.0, n):
        shuffled = rng.permutation(n_models)
        edges = order[np.ix_(shuffled, shuffled)] & (rng.random((n_models, n_models)) < share)
        if rng.random() < 0.2:
            edges |= rng.random((n_models, n_models)) < 0.05
        np.fill_diagonal(edges, False)
        graphs.append(edges)
    return np.array(graphs)


def test_all_looks_at_once_agree_with_one_graph_at_a_time():
    graphs = random_graphs(300, 6, 1)
    reach, intervals, resolved = (
        closure_by_products(graphs),
        rank_intervals(graphs),
        resolved_measures(graphs)["resolved"],
    )
    for look, edges in enumerate(graphs):
        graph = Graph(edges)
        np.testing.assert_array_equal(reach[look], graph.reach)
        assert tuple(map(tuple, intervals[look].tolist())) == graph.rank_intervals
        assert resolved[look] == graph.n_resolved


@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_top_k_certificates_are_those_of_the_graph(k):
    means = np.array([0.9, 0.7, 0.7, 0.5, 0.4, 0.2])
    null = means[:, None] - means <= 0.0
    issued = wrong = 0
    for edges in random_graphs(400, 6, k):
        measured = top_k_measures(edges[None], null, k)
        found = Graph(edges).top_k(k)
        false = found is not None and min(means[list(found)]) <= max(np.delete(means, found))
        assert measured["certified"][0] == (found is not None)
        assert measured["fcp"][0] == false
        issued += found is not None
        wrong += false
    assert issued > 20
    assert wrong > 5


def test_certificates_are_dated_by_the_first_look_and_censored_at_the_last():
    null = np.array([[True, False, False], [True, True, False], [True, True, True]])
    nothing = np.zeros((3, 3), dtype=bool)
    best = np.array([[False, True, True], [False] * 3, [False] * 3])
    measured = top_k_measures(np.array([nothing, best, nothing, nothing]), null, 1)
    assert measured["cr"].tolist() == [2.0]
    assert measured["certified"].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert top_k_measures(np.array([nothing] * 5), null, 1)["cr"].tolist() == [5.0]


def test_a_false_edge_counts_from_its_look_on_and_power_only_while_it_lasts():
    null = np.array([[True, False], [True, True]])
    looks = np.zeros((4, 2, 2), dtype=bool)
    looks[1, 1, 0] = True
    looks[2, 0, 1] = True
    measured = edge_measures(looks, null)
    assert measured["fwer"].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert measured["power"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert measured["standing power"].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_repetitions_side_by_side_are_measured_one_by_one():
    null = np.tri(5, dtype=bool)
    looks = np.stack([random_graphs(7, 5, seed) for seed in (1, 2, 3)], axis=1)
    together = edge_measures(looks, null)
    for place in range(3):
        for metric, values in edge_measures(looks[:, place], null).items():
            np.testing.assert_array_equal(together[metric][:, place], values)


def test_what_stands_adds_the_edges_of_earlier_looks():
    # Neither look has a path from the first model to the third; both together have.
    null = np.tri(3, dtype=bool)
    looks = np.zeros((3, 3, 3), dtype=bool)
    looks[0, 0, 1] = True
    looks[1, 1, 2] = True
    assert resolved_measures(looks)["resolved"].tolist() == [1.0, 1.0, 0.0]
    assert resolved_measures(looks)["standing resolved"].tolist() == [1.0, 3.0, 3.0]
    measured = top_k_measures(looks, null, 1)
    assert measured["certified"].tolist() == [0.0, 0.0, 0.0]
    assert measured["cr"].tolist() == [3.0]
    assert measured["standing certified"].tolist() == [0.0, 1.0, 1.0]
    assert measured["standing cr"].tolist() == [2.0]


def test_looks_that_are_alone_do_not_add_up():
    null = np.array([[True, False, False], [True, True, False], [True, True, True]])
    nothing = np.zeros((3, 3), dtype=bool)
    best = np.array([[False, True, True], [False] * 3, [False] * 3])
    worst = np.array([[False] * 3, [False] * 3, [True, True, False]])
    measured = top_k_alone(np.array([nothing, best, nothing, worst]), null, 1)
    assert {metric: values.tolist() for metric, values in measured.items()} == {
        "certified": [0.0, 1.0, 0.0, 1.0],
        "fcp": [0.0, 0.0, 0.0, 1.0],
    }


def test_a_rank_interval_that_misses_once_has_missed_for_good():
    benchmark = SyntheticBenchmark(means=(0.6, 0.6, 0.4))
    held = [[1, 3], [1, 2], [3, 3]]
    missed = [[1, 1], [2, 2], [3, 3]]  # the tied models share rank 1
    measured = rank_measures(np.array([held, missed, held]), benchmark.differences)
    assert measured["coverage"].tolist() == [1.0, 0.0, 0.0]
    assert measured["width"].tolist() == [1.0, 0.0, 1.0]
