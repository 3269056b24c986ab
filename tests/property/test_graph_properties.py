"""What must hold of the conclusions drawn from a certified graph, whatever the graph."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import oracle
from bbedge.core import graph as module
from bbedge.core import paths
from bbedge.core.graph import Graph, Ranks
from bbedge.core.paths import closure
from bbedge.errors import DomainError
from plain_graph import PlainGraph


def examples(count):
    return settings(max_examples=count, derandomize=True, deadline=None)


@st.composite
def ordered_graphs(draw, max_models=7):
    """A graph without cycles, and the true order (best first) that all of its edges respect."""
    count = draw(st.integers(1, max_models))
    order = draw(st.permutations(range(count)))
    density = draw(st.sampled_from([0.2, 0.5, 0.8, 0.95, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = np.zeros((count, count), dtype=bool)
    for i, j in itertools.combinations(range(count), 2):
        edges[order[i], order[j]] = rng.random() < density
    return edges, order


@st.composite
def any_graphs(draw, max_models=8):
    """A graph with or without cycles, never with a loop at a model."""
    count = draw(st.integers(1, max_models))
    density = draw(st.sampled_from([0.1, 0.2, 0.4, 0.7]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return (rng.random((count, count)) < density) & ~np.eye(count, dtype=bool)


graphs = any_graphs() | ordered_graphs(8).map(lambda pair: pair[0])


@examples(150)
@given(graphs)
def test_reach_is_the_closure(edges):
    graph = Graph(edges)
    assert graph.reach.tolist() == oracle.closure(edges.tolist())
    assert graph.above.tolist() == oracle.strictly_above(edges.tolist())
    assert graph.n_edges == int(edges.sum())
    assert graph.n_models == len(edges)


@pytest.mark.parametrize("count", [7, 8, 9, 16, 17, 64, 65])
def test_reach_with_more_models_than_bits_in_a_byte(count):
    chain = np.eye(count, k=1, dtype=bool)
    order = np.random.default_rng(count).permutation(count)
    graph = Graph(chain[np.ix_(order, order)])
    place = order
    assert np.array_equal(graph.reach, place[:, None] < place)
    assert graph.path_lengths.max() == count - 1
    assert np.array_equal(graph.reduction, graph.edges)
    assert [r[0] for r in graph.rank_intervals] == (place + 1).tolist()


@examples(120)
@given(ordered_graphs())
def test_the_reduction_is_the_smallest_part_of_the_edges_with_the_same_order(pair):
    edges, _ = pair
    graph = Graph(edges)
    reduction = graph.reduction
    assert not np.any(reduction & ~edges)
    assert oracle.closure(reduction.tolist()) == graph.reach.tolist()
    for a, b in np.argwhere(reduction):
        without = reduction.copy()
        without[a, b] = False
        assert oracle.closure(without.tolist()) != graph.reach.tolist()


@examples(120)
@given(ordered_graphs())
def test_path_lengths_are_those_of_the_longest_paths(pair):
    edges, _ = pair
    assert Graph(edges).path_lengths.tolist() == oracle.longest_paths(edges.tolist())


@examples(100)
@given(any_graphs())
def test_path_lengths_prove_nothing_within_a_cycle_and_nothing_false_outside(edges):
    graph = Graph(edges)
    if graph.cycles:
        assert np.array_equal(graph.path_lengths > 0, graph.above)
        # A path of d edges exists for every length that is claimed.
        step, walks = np.eye(len(edges), dtype=bool), {0: np.eye(len(edges), dtype=bool)}
        for d in range(1, len(edges) + 1):
            step = (step.astype(int) @ edges.astype(int)) > 0
            walks[d] = step
        within = graph.reach & ~graph.above
        assert not np.any(graph.path_lengths[within])
        for a, b in np.argwhere(graph.above):
            assert any(walks[d][a, b] for d in range(int(graph.path_lengths[a, b]), len(edges) + 1))


@examples(200)
@given(graphs)
def test_rank_intervals(edges):
    assert list(Graph(edges).rank_intervals) == oracle.rank_intervals(edges.tolist())


@examples(120)
@given(ordered_graphs())
def test_rank_intervals_hold_the_true_rank_and_are_as_tight_as_the_graph_allows(pair):
    edges, order = pair
    count = len(order)
    intervals = Graph(edges).rank_intervals
    for rank, model in enumerate(order, start=1):
        best, worst = intervals[model]
        assert best <= rank <= worst
    if count <= 5:
        # Every end of an interval is reached by some order that respects all edges.
        orders = [
            p
            for p in itertools.permutations(range(count))
            if all(p.index(a) < p.index(b) for a, b in np.argwhere(edges))
        ]
        for model in range(count):
            ranks = [p.index(model) + 1 for p in orders]
            assert intervals[model] == (min(ranks), max(ranks))


@examples(200)
@given(graphs)
def test_top_k_is_what_a_search_over_all_subsets_finds(edges):
    graph = Graph(edges)
    for k in range(1, len(edges)):
        found = oracle.top_sets(edges.tolist(), k)
        assert len(found) <= 1
        assert graph.top_k(k) == (found[0] if found else None)
    for k in (-1, 0, len(edges), len(edges) + 1):
        assert graph.top_k(k) is None


@examples(200)
@given(graphs)
def test_tiers_are_the_chains_of_undecided_pairs_in_order(edges):
    graph = Graph(edges)
    undecided = ~(graph.above | graph.above.T)
    count, label = connected_components(undecided, directed=False)
    components = {tuple(np.flatnonzero(label == c).tolist()) for c in range(count)}
    assert set(graph.tiers) == components
    assert len(graph.tiers) == count
    for upper, lower in itertools.combinations(graph.tiers, 2):
        assert all(graph.above[a, b] for a in upper for b in lower)


@examples(200)
@given(graphs)
def test_cycles_are_the_strongly_connected_components_of_two_or_more(edges):
    count, label = connected_components(edges, directed=True, connection="strong")
    components = {tuple(np.flatnonzero(label == c).tolist()) for c in range(count)}
    cycles = Graph(edges).cycles
    assert set(cycles) == {component for component in components if len(component) > 1}
    assert len(set(cycles)) == len(cycles)


@examples(100)
@given(ordered_graphs())
def test_a_graph_that_respects_an_order_has_no_cycle(pair):
    assert Graph(pair[0]).cycles == ()


@examples(150)
@given(graphs)
def test_unresolved_pairs_are_those_without_a_strict_order(edges):
    graph = Graph(edges)
    above = oracle.strictly_above(edges.tolist())
    pairs = list(itertools.combinations(range(len(edges)), 2))
    assert list(graph.unresolved) == [(a, b) for a, b in pairs if not above[a][b] and not above[b][a]]
    assert graph.n_resolved + len(graph.unresolved) == len(pairs)


@examples(80)
@given(graphs, st.data())
def test_relabelling_models_permutes_every_conclusion(edges, data):
    order = data.draw(st.permutations(range(len(edges))))
    graph, other = Graph(edges), Graph(edges[np.ix_(order, order)])
    where = np.ix_(order, order)
    assert np.array_equal(other.reach, graph.reach[where])
    assert np.array_equal(other.reduction, graph.reduction[where])
    assert np.array_equal(other.path_lengths, graph.path_lengths[where])
    assert other.rank_intervals == tuple(graph.rank_intervals[i] for i in order)
    back = {old: new for new, old in enumerate(order)}
    for k in range(1, len(edges)):
        members = graph.top_k(k)
        assert other.top_k(k) == (members and tuple(sorted(back[i] for i in members)))


SIZES = [1, 2, 7, 8, 9, 63, 64, 65, 130]


def thresholded(size, width, rng):
    """What a look certifies: differences of means, plus noise, above a threshold; not closed in places."""
    means = rng.random(size)
    noise = rng.normal(0.0, 0.02, (size, size))
    return means[:, None] - means - np.abs(noise) > width


def kinds_of_graphs(size):
    """Graphs of the kinds that leaderboards have, and the extremes."""
    rng = np.random.default_rng(size)
    order = rng.permutation(size)
    place = np.argsort(order)
    upper = place[:, None] < place
    yield "empty", np.zeros((size, size), dtype=bool)
    yield "complete order", upper
    yield "chain", place[:, None] + 1 == place
    for density in (0.01, 0.05, 0.3, 0.9):
        yield f"random order, {density}", upper & (rng.random((size, size)) < density)
    for width in (0.5, 0.2, 0.05, 0.01):
        yield f"thresholded, {width}", thresholded(size, width, rng)
    for density in (0.01, 0.1):
        yield f"any, {density}", (rng.random((size, size)) < density) & ~np.eye(size, dtype=bool)
    one_back = upper.copy()
    if size > 2:
        one_back[order[-1], order[-2]] = True
    yield "complete order with a cycle at its end", one_back
    tiers = np.minimum(place // 5, 3)
    yield "tiers", tiers[:, None] < tiers


@pytest.mark.parametrize("size", SIZES)
def test_everything_is_as_the_plain_way_finds_it(size):
    for kind, edges in kinds_of_graphs(size):
        graph, plain = Graph(edges), PlainGraph(edges)
        for name in ("reach", "above", "reduction", "path_lengths"):
            fast = getattr(graph, name)
            assert np.array_equal(fast, getattr(plain, name)), (kind, name)
            assert not fast.flags.writeable
        for name in ("cycles", "rank_intervals", "tiers", "unresolved"):
            assert getattr(graph, name) == getattr(plain, name), (kind, name)
        sizes = tuple(np.cumsum([len(tier) for tier in plain.tiers])[:-1].tolist())
        assert graph.cuts == sizes, kind
        assert all(graph.top_k(k) == plain.top_k(k) for k in (1, size // 2, size - 1, *sizes)), kind
        assert graph.n_resolved == plain.above.sum()
        assert graph.n_unresolved == len(plain.unresolved)
        assert [tuple(pair) for pair in graph.unresolved_pairs.tolist()] == list(plain.unresolved)


@pytest.mark.parametrize("size", SIZES[1:])
def test_both_ways_to_longest_paths_agree(size):
    for kind, edges in kinds_of_graphs(size):
        graph = Graph(edges)
        if graph.cycles:
            continue
        lengths = PlainGraph(edges).path_lengths
        heights = lengths.max(axis=1)
        order = np.argsort(-heights, kind="stable")
        window = np.ix_(order, order)
        inside = graph.reduction[window]
        assert np.array_equal(paths._by_child(inside), lengths[window]), kind
        assert np.array_equal(paths._by_level(inside, heights[order]), lengths[window]), kind


def test_undecided_pairs_are_found_strip_by_strip(monkeypatch):
    edges = thresholded(70, 0.2, np.random.default_rng(5))
    whole = Graph(edges).unresolved_pairs
    monkeypatch.setattr(module, "_STRIP", 150)
    assert np.array_equal(Graph(edges).unresolved_pairs, whole)
    assert len(whole) > 300


@examples(150)
@given(graphs)
def test_counts_alone_tell_what_the_order_tells(edges):
    graph = Graph(edges)
    ranks = Ranks(n_better=graph.above.sum(axis=0), n_worse=graph.above.sum(axis=1))
    assert ranks.tiers == graph.tiers
    assert ranks.rank_intervals == graph.rank_intervals
    assert (ranks.n_resolved, ranks.n_unresolved) == (graph.n_resolved, len(graph.unresolved))
    in_a_pair = {model for pair in graph.unresolved for model in pair}
    assert np.flatnonzero(~ranks.settled).tolist() == sorted(in_a_pair)


@examples(60)
@given(graphs)
def test_a_closure_may_be_given(edges):
    graph, given = Graph(edges), Graph(edges, closure(edges))
    assert np.array_equal(given.reach, graph.reach)
    assert np.array_equal(given.reduction, graph.reduction)
    assert given.tiers == graph.tiers
    with pytest.raises(DomainError, match="closure of shape"):
        Graph(edges, np.zeros((len(edges) + 1, len(edges)), dtype=bool))


def test_a_given_closure_is_taken_and_kept():
    edges = np.array([[0, 1], [0, 0]], dtype=bool)
    other = np.zeros((2, 2), dtype=bool)
    graph = Graph(edges, other)
    other[:] = True
    assert not graph.reach.any()
    with pytest.raises(ValueError, match="read-only"):
        graph.reach[0, 1] = True


@examples(60)
@given(graphs)
def test_a_graph_does_not_follow_changes_of_the_array_it_was_made_from(edges):
    mine = edges.copy()
    graph = Graph(mine)
    mine[:] = True
    assert np.array_equal(graph.edges, edges)
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = True
