"""Staggered e-Holm against every set of directions, one by one; and its state, its batches, its devices."""

import itertools
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from bbedge.core.arrays import numpy_space, to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence import Evidence
from bbedge.core.leaderboard import Certifier
from bbedge.core.staggered import Wealth
from bbedge.core.stakes import EntryGroup, design_entries
from bbedge.errors import DataError


def design(n_models=4, n_items=6, **options):
    models, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)]
    return Design.make(models, items, **({"margin_share": 0.0, "stakes": "design"} | options))


def panels_of(rng, made, looks, means):
    chances = np.array(means)[:, None] + rng.uniform(-0.2, 0.2, len(made.items))
    return (rng.random((looks, len(made.models), len(made.items))) < chances).astype(float)


def setting_of(made):
    labels = list(dict.fromkeys(made.blocks))
    return oracle.Setting(
        blocks=tuple(labels.index(block) for block in made.blocks),
        tau=made.tau,
        kind=made.evidence,
        prediction=made.prediction,
        stakes=made.grid.values,
        weights=made.grid.weights,
    )


def literal(made, panels):
    """What stands after every look, stake by stake and set by set. A panel may leave models out: ``None``."""
    setting, tested = setting_of(made), made.tested
    looks = [
        {
            (a, b): oracle.stake_logs(setting, panels[:r], a, b)
            for a, b in itertools.permutations(range(len(made.models)), 2)
            if tested[a, b]
        }
        for r in range(1, len(panels) + 1)
    ]
    return oracle.staggered(looks, design_entries(made.planned), made.grid.weights, made.certificate_alpha)


def found(look):
    return {(int(a), int(b)) for a, b in np.argwhere(look.edges)}


# The rule --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "n_models", "means", "options"),
    [
        (1, 2, (0.7, 0.4), {}),
        (2, 2, (0.5, 0.5), {"n_items": 1}),
        (3, 3, (0.8, 0.6, 0.3), {}),
        (4, 3, (0.8, 0.6, 0.3), {"evidence": "sharp", "tau": 0.05}),
        (5, 3, (0.9, 0.5, 0.2), {"planned": 12}),
        (6, 3, (0.9, 0.5, 0.2), {"planned": 1}),
        (7, 3, (0.8, 0.5, 0.3), {"margin_share": 0.2}),
        (8, 4, (0.9, 0.6, 0.5, 0.2), {"candidate": ["m0", "m1"]}),
        (9, 4, (0.9, 0.6, 0.5, 0.2), {"newcomer": "m2"}),
    ],
)
def test_every_look_certifies_what_trying_every_set_does(seed, n_models, means, options):
    made = design(n_models, **options)
    panels = panels_of(np.random.default_rng(seed), made, 20, means)
    certifier = Certifier(made)
    wanted = literal(made, panels.tolist())
    assert [found(certifier.update(panel)) for panel in panels] == wanted
    assert bool(wanted[-1]) == (seed != 2)


@pytest.mark.parametrize("seed", [1, 2])
def test_four_models(seed):
    made = design(4, n_items=3)
    panels = panels_of(np.random.default_rng(seed), made, 7, (0.95, 0.7, 0.4, 0.1))
    certifier = Certifier(made)
    wanted = literal(made, panels.tolist())
    assert [found(certifier.update(panel)) for panel in panels] == wanted
    assert wanted[-1]


def test_before_the_first_look_all_is_cash():
    made = design(3)
    shown = Certifier(made).leaderboard()
    np.testing.assert_array_equal(shown.log_e[made.tested], 0.0)
    np.testing.assert_allclose(shown.log_w[made.tested], 0.0, atol=1e-13)
    assert (shown.log_w[made.tested] <= 0.0).all()
    assert not shown.graph.n_edges


@pytest.mark.parametrize("planned", [None, 2])
@pytest.mark.parametrize("after", [0, 2, 5])
def test_a_stopped_model_keeps_its_evidence(after, planned):
    """Two planned replicates: every stake enters at the start."""
    made = design(3, planned=planned)
    assert (len(made.entry_groups) == 1) == (planned == 2)
    panels = panels_of(np.random.default_rng(11), made, 12, (0.8, 0.55, 0.3))
    certifier, looks = Certifier(made), []
    for r, panel in enumerate(panels):
        if r == after:
            certifier.stop(["m1"])
        looks.append(found(certifier.update(panel if r < after else panel[[0, 2]])))
    shown = [p.tolist() if r < after else [p[0].tolist(), None, p[2].tolist()] for r, p in enumerate(panels)]
    assert looks == literal(made, shown)


logs = st.lists(st.floats(-800.0, 800.0), min_size=12, max_size=12)


@given(logs, logs, st.lists(st.booleans(), min_size=6, max_size=6))
def test_the_least_ratio_is_that_of_all_sets(now, then, certified):
    """Six directions of three models, two groups: one that entered at the start and one with evidence at entry."""
    groups = (EntryGroup(after=0, stakes=(0,), weight=0.25), EntryGroup(after=1, stakes=(1,), weight=0.75))
    mask = ~np.eye(3, dtype=bool)
    entry, log_groups = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    log_groups[:, mask] = np.reshape(now, (2, 6))
    entry[1, mask] = then[:6]
    entry[0] = np.log(0.25)
    evidence = SimpleNamespace(
        space=numpy_space(),
        groups=groups,
        run=2,
        at_entry=lambda count: entry[:count],
        tested=mask,
    )
    sure = np.zeros((3, 3), dtype=bool)
    sure[mask] = certified
    got = Wealth([evidence], [log_groups]).log([sure])[0][mask]
    rest = [i for i in range(6) if not certified[i]]
    for e in range(6):
        others = [i for i in rest if i != e]
        total = -np.inf
        for j, weight in enumerate((0.25, 0.75)):
            x, d = log_groups[j][mask], entry[j][mask]
            least = min(
                np.logaddexp.reduce(x[[e, *some]]) - np.logaddexp.reduce(d[[e, *some]])
                for size in range(len(others) + 1)
                for some in itertools.combinations(others, size)
            )
            total = np.logaddexp(total, least + np.log(weight))
        assert got[e] <= total
        assert got[e] == pytest.approx(total, abs=1e-9)


def test_one_group_is_e_holm_that_leaves_out_what_it_has_certified():
    made = design(3, planned=1)
    assert [group.after for group in made.entry_groups] == [0]
    first = np.array([[1.0] * 6, [0.5] * 6, [0.0] * 6])
    certifier = Certifier(made)
    while not certifier.update(first).edges[0, 2]:
        pass
    log_e, sure = certifier.evidence.log_e(), certifier.edges()
    for a, b in np.argwhere(sure):
        assert log_e[a, b] > np.log(20)
    board = certifier.leaderboard()
    np.testing.assert_allclose(board.log_e - board.log_thresholds, board.log_w - np.log(20), atol=1e-9)


def test_the_entries_follow_the_planned_replicates():
    for planned in (None, 1, 3, 12, 30, 40, 99, 100, 400):
        assert list(design_entries(planned)) == oracle.entry_times(planned)


# Bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", ["sharp", "betting"])
@pytest.mark.parametrize("tau", [0.0, 0.07])
@pytest.mark.parametrize("blocks", ["item", ["a", "a", "a", "b", "c", "c"]])
def test_the_exact_evidence_lies_between_the_bounds(evidence, tau, blocks):
    made = design(3, evidence=evidence, tau=tau, blocks=blocks)
    rng = np.random.default_rng(5)
    panels = np.round(rng.random((3, 3, 6)), 2)
    current = Evidence(made)
    for panel in panels:
        current.update(panel)
    setting = setting_of(made)
    lower, upper = current.log_groups(), current.log_groups("upper")
    for a, b in itertools.permutations(range(3), 2):
        exact = oracle.exact_stake_logs(setting, panels.tolist(), a, b)
        for place, group in enumerate(current.groups):
            value = oracle.exact_mixture([exact[g] for g in group.stakes], [setting.weights[g] for g in group.stakes])
            assert lower[place, a, b] <= value <= upper[place, a, b]
            assert upper[place, a, b] - lower[place, a, b] < 1e-10


# State -----------------------------------------------------------------------------------------------------------


def test_a_resumed_certifier_goes_on_bit_by_bit():
    made = design(3, margin_share=0.2)
    panels = panels_of(np.random.default_rng(3), made, 19, (0.7, 0.6, 0.4))
    straight, resumed = Certifier(made), Certifier(made)
    for r, panel in enumerate(panels):
        if r == 6:
            straight.stop(["m2"])
            resumed.stop(["m2"])
        shown = panel if r < 6 else panel[:2]
        one, other = straight.update(shown), resumed.update(shown)
        np.testing.assert_array_equal(one.edges, other.edges)
        np.testing.assert_array_equal(one.log_e, other.log_e)
        np.testing.assert_array_equal(one.log_w, other.log_w)
        assert straight.to_bytes() == resumed.to_bytes()
        resumed = Certifier.from_bytes(made, resumed.to_bytes())
        a, b = straight.leaderboard(), resumed.leaderboard()
        np.testing.assert_array_equal(a.log_w, b.log_w)
        np.testing.assert_array_equal(a.lower_bounds, b.lower_bounds)


def test_a_state_without_an_entry_that_has_passed_is_refused():
    made = design(2)
    current = Evidence(made)
    for panel in panels_of(np.random.default_rng(1), made, 3, (0.6, 0.5)):
        current.update(panel)
    current._entries.pop(1)
    with pytest.raises(DataError, match="damaged"):
        Evidence.from_bytes(made, current.to_bytes())


@pytest.mark.parametrize("library", [np, array_api_strict])
def test_a_batch_is_its_members(library):
    made = design(3)
    rng = np.random.default_rng(8)
    runs = np.stack([panels_of(rng, made, 10, (0.8, 0.6, 0.3)) for _ in range(4)], axis=1)
    together, procedure = Evidence(made, batch=(4,)), Procedure(made, batch=(4,))
    alone = [Certifier(made) for _ in range(4)]
    for panels in runs:
        together.update(library.asarray(panels))
        look = procedure.look(together)
        for each, certifier in enumerate(alone):
            one = certifier.update(panels[each])
            np.testing.assert_array_equal(look.edges[each], one.edges)
            np.testing.assert_allclose(look.log_w[each], one.log_w, atol=1e-9)
    assert to_numpy(procedure.first).any()


def test_another_library_gives_the_same():
    made = design(4)
    ours, theirs = Certifier(made), Certifier(made)
    for panel in panels_of(np.random.default_rng(2), made, 12, (0.9, 0.7, 0.4, 0.2)):
        one, other = ours.update(panel), theirs.update(array_api_strict.asarray(panel))
        np.testing.assert_array_equal(one.edges, other.edges)
    assert one.edges.any()


# What it means -----------------------------------------------------------------------------------------------------


def test_what_is_certified_stands_and_is_closed_under_paths():
    made = design(4)
    certifier, before = Certifier(made), np.zeros((4, 4), dtype=bool)
    for panel in panels_of(np.random.default_rng(4), made, 25, (0.8, 0.65, 0.5, 0.2)):
        look = certifier.update(panel)
        assert not (before & ~look.edges).any()
        before = look.edges
    board = certifier.leaderboard()
    np.testing.assert_array_equal(board.current_edges, board.edges)
    np.testing.assert_array_equal(board.graph.reach, board.edges)
    open_ = made.tested & ~before
    assert (board.log_e[open_] < board.log_thresholds[open_]).all()
    assert (board.log_w[open_] < np.log(20)).all()


def test_direct_e_holm_of_bb_edge_x_shows_what_stands():
    made = design(2, holm="direct")
    certifier = Certifier(made)
    ahead, behind = [[1.0] * 6, [0.0] * 6], [[0.0] * 6, [1.0] * 6]
    while not certifier.update(ahead).edges.any():
        pass
    for _ in range(8):
        look = certifier.update(behind)
    assert look.edges[0, 1]
    assert certifier.leaderboard().log_w is None
