import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbedge.core.paths import closure, unpacked
from bbedge.scale.leaderboard import PackedGraph


@given(st.integers(1, 45), st.sampled_from([0.01, 0.05, 0.2, 0.9]), st.booleans(), st.integers(0, 2**32))
def test_the_closure_is_reached_step_by_step(n, density, has_cycles, seed):
    rng = np.random.default_rng(seed)
    edges = rng.random((n, n)) < density
    if not has_cycles:
        order = rng.permutation(n)
        edges = np.triu(edges, k=1)[np.ix_(order, order)]
    literal = edges.copy()
    while True:
        further = literal | ((literal.astype(int) @ edges.astype(int)) > 0)
        if (further == literal).all():
            break
        literal = further
    np.testing.assert_array_equal(closure(edges), literal)
    np.testing.assert_array_equal(unpacked(PackedGraph.of(edges).reach, n), literal)
    assert PackedGraph.of(edges).has_contradictions == literal.diagonal().any()
