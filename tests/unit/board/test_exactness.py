"""The board's numbers are those of the statistical core, fed by hand."""

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.board.change import replay
from bbedge.core.design import Design
from bbedge.core.family import Spending
from bbedge.core.leaderboard import Certifier, certify_pilot_top_k, run
from bbedge.core.scores import Scores
from unit.board.boards import ITEMS, make, runs, scores, values
from unit.board.recomputed import Record, assert_same

ABC = ("a", "b", "c")
BLOCKS = ("x", "x", "y", "y", "y", "z")


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def level(claim, alpha=0.05):
    return Spending().level(claim, alpha=alpha)


def same_matrices(one, other):
    for name in ("log_e", "log_thresholds", "lower_bounds", "first_certified", "means"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), err_msg=name, rtol=1e-12)
    np.testing.assert_array_equal(one.current_edges, other.current_edges)
    np.testing.assert_array_equal(one.edges, other.edges)
    assert one.looks == other.looks


@pytest.mark.parametrize(
    "options",
    [
        {"method": "bb-edge"},
        {"method": "bb-edge-x"},
        {"method": "bb-edge", "evidence": "hoeffding", "tau": 0.02},
        {"method": "bb-edge-x", "evidence": "sharp", "prediction": "two-way", "tau": 0.05},
    ],
)
def test_the_first_stage_is_a_certifier_at_the_first_level(tmp_path, rng, options):
    board = make(tmp_path, blocks=BLOCKS, **options)
    panels = values(rng, ABC, 12)
    for panel in panels:
        board.add(scores(panel, ABC))
    expected = run(Design.make(ABC, ITEMS, blocks=BLOCKS, alpha=level(0), **options), panels)
    same_matrices(board.leaderboard(), expected)
    same_matrices(Board.open(board.name).leaderboard(), expected)
    if options == {"method": "bb-edge-x"}:
        assert expected.graph.n_edges >= 2


def test_new_edges_are_reported_once_when_they_come(tmp_path, rng):
    board = make(tmp_path)
    panels = values(rng, ABC, 15)
    certifier = Certifier(Design.make(ABC, ITEMS, alpha=level(0), method="bb-edge-x"))
    for number, panel in enumerate(panels, start=1):
        before = certifier.edges()
        look = certifier.update(panel)
        expected = {
            (ABC[a], ABC[b], look.log_e[a, b], 0, number) for a, b in np.argwhere(look.edges & ~before).tolist()
        }
        found = board.add(scores(panel, ABC)).edges
        assert {(e.winner, e.loser, e.log_e, e.claim, e.replicate) for e in found} == expected
    assert board.leaderboard().graph.n_edges == 3


def test_in_one_file_or_one_by_one(tmp_path, rng):
    panels = values(rng, ABC, 8)
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    one, many = make(tmp_path / "one"), make(tmp_path / "many")
    together = one.add(scores(panels, ABC, start=1))
    apart = [edge for r, panel in enumerate(panels) for edge in many.add(scores(panel, ABC, start=r + 1)).edges]
    assert list(together.edges) == apart
    same_matrices(one.leaderboard(), many.leaderboard())


def test_rows_and_columns_in_any_order(tmp_path, rng):
    board = make(tmp_path, blocks=BLOCKS)
    panels = values(rng, ABC, 5)
    models, items = rng.permutation(3), rng.permutation(6)
    turned = panels[:, models][:, :, items]
    board.add(Scores.of(turned, models=[ABC[i] for i in models], items=[ITEMS[i] for i in items]))
    same_matrices(
        board.leaderboard(), run(Design.make(ABC, ITEMS, blocks=BLOCKS, alpha=level(0), method="bb-edge-x"), panels)
    )


def test_an_added_model_is_a_replay_with_its_directions_at_the_next_level(tmp_path, rng):
    board = make(tmp_path, blocks=BLOCKS)
    old, new, later = values(rng, ABC, 20), values(rng, ("d",), 20), values(rng, (*ABC, "d"), 6)
    board.add(scores(old, ABC))
    before = board.leaderboard()
    added = board.add_model("d", scores(new, ("d",)))
    first = run(Design.make(ABC, ITEMS, blocks=BLOCKS, alpha=level(0), method="bb-edge-x"), old)
    design = Design.make((*ABC, "d"), ITEMS, blocks=BLOCKS, alpha=level(1), method="bb-edge-x", newcomer="d")
    second = Certifier(design)
    for panel in np.concatenate([old, new], axis=1):
        second.update(panel)
    shown = board.leaderboard()
    # What was there before is untouched.
    for name in ("log_e", "log_thresholds", "lower_bounds", "first_certified"):
        np.testing.assert_allclose(getattr(shown, name)[:3, :3], getattr(before, name), rtol=1e-12)
        np.testing.assert_allclose(getattr(shown, name)[:3, :3], getattr(first, name), rtol=1e-12)
        np.testing.assert_allclose(getattr(shown, name)[3], getattr(second.leaderboard(), name)[3], rtol=1e-12)
        np.testing.assert_allclose(getattr(shown, name)[:, 3], getattr(second.leaderboard(), name)[:, 3], rtol=1e-12)
    certified = {(e.winner, e.loser, e.replicate) for e in added.edges}
    numbers = second.leaderboard().first_certified
    assert certified == {(design.models[a], design.models[b], numbers[a, b]) for a, b in np.argwhere(numbers).tolist()}
    assert certified
    assert all("d" in (e.winner, e.loser) and e.claim == 1 for e in added.edges)
    # And both go on with fresh replicates.
    board.add(scores(later, (*ABC, "d")))
    for panel in later:
        second.update(panel)
    first = run(first.design, np.concatenate([old, later[:, :3]]))
    shown = board.leaderboard()
    np.testing.assert_allclose(shown.log_e[:3, :3], first.log_e, rtol=1e-12)
    np.testing.assert_allclose(shown.log_e[3], second.leaderboard().log_e[3], rtol=1e-12)
    np.testing.assert_array_equal(shown.first_certified[:, 3], second.leaderboard().first_certified[:, 3])
    assert shown.design.alpha == 0.05


def test_edges_of_the_first_stage_do_not_depend_on_later_ones(tmp_path, rng):
    panels, d, e = values(rng, ABC, 10), values(rng, ("d",), 10), values(rng, ("e",), 10)
    (tmp_path / "plain").mkdir()
    (tmp_path / "busy").mkdir()
    plain, busy = make(tmp_path / "plain"), make(tmp_path / "busy")
    plain.add(scores(panels, ABC))
    busy.add(scores(panels[:4], ABC))
    busy.add_model("d", scores(d[:4], ("d",)))
    busy.add(scores(np.concatenate([panels[4:7], d[4:7]], axis=1), (*ABC, "d")))
    busy.add_model("e", scores(e[:7], ("e",)))
    busy.retire("d")
    busy.add(scores(np.concatenate([panels[7:], e[7:]], axis=1), (*ABC, "e")))
    for name in ("log_e", "log_thresholds", "lower_bounds", "first_certified"):
        np.testing.assert_array_equal(
            getattr(busy.leaderboard(), name)[:3, :3], getattr(plain.leaderboard(), name), err_msg=name
        )


def test_retiring_is_stopping(tmp_path, rng):
    board = make(tmp_path)
    whole, rest = values(rng, ABC, 3), values(rng, ("a", "c"), 9)
    board.add(scores(whole, ABC))
    board.retire("b")
    frozen = board.leaderboard()
    board.add(scores(rest, ("a", "c")))
    certifier = Certifier(Design.make(ABC, ITEMS, alpha=level(0), method="bb-edge-x"))
    for panel in whole:
        certifier.update(panel)
    certifier.stop(["b"])
    for panel in rest:
        certifier.update(panel)
    same_matrices(board.leaderboard(), certifier.leaderboard())
    np.testing.assert_array_equal(board.leaderboard().log_e[1], frozen.log_e[1])
    np.testing.assert_array_equal(board.leaderboard().lower_bounds[:, 1], frozen.lower_bounds[:, 1])
    assert board.state.active == ["a", "c"]


def test_new_items_start_afresh_at_the_next_level(tmp_path, rng):
    board = make(tmp_path, blocks=BLOCKS)
    board.add(runs(rng, ABC, 10))
    first = board.leaderboard()
    assert first.graph.n_edges > 0
    board.retire("b")
    board.add_items(["n1", "n2", "n3"], ["x", "w", "w"])
    opened = board.leaderboard()
    assert (opened.replicates, opened.design.models, opened.graph.n_edges) == (0, ("a", "c"), 0)
    np.testing.assert_array_equal(opened.log_e[~np.eye(2, dtype=bool)], 0.0)
    items = (*ITEMS, "n1", "n2", "n3")
    fresh = values(rng, ("a", "c"), 7, items)
    board.add(scores(fresh, ("a", "c"), items))
    design = Design.make(("a", "c"), items, blocks=(*BLOCKS, "x", "w", "w"), alpha=level(1), method="bb-edge-x")
    same_matrices(board.leaderboard(), run(design, fresh))
    same_matrices(board.leaderboard(1), first)
    same_matrices(Board.open(board.name).leaderboard(1), first)


def test_the_pilot_chooses_and_is_not_evidence(tmp_path, rng):
    board = make(tmp_path, family="pilot-top-k", k=2, pilot=3, models=("c", "b", "a", "d"))
    panels = values(rng, ("c", "b", "a", "d"), 13)
    assert board.add(scores(panels[:2], ("c", "b", "a", "d"))).candidate is None
    assert board.state.stages == []
    chosen = board.add(scores(panels[2:3], ("c", "b", "a", "d"))).candidate
    mean = panels[:3].mean(axis=(0, 2))
    assert set(chosen) == {("c", "b", "a", "d")[i] for i in np.argsort(-mean, kind="stable")[:2]}
    nothing = board.leaderboard()
    assert nothing.replicates == 0
    np.testing.assert_array_equal(nothing.log_e[nothing.design.tested], 0.0)
    board.add(scores(panels[3:], ("c", "b", "a", "d")))
    expected = certify_pilot_top_k(
        Scores.of(panels, models=("c", "b", "a", "d"), items=ITEMS), k=2, pilot=3, alpha=level(0), method="bb-edge-x"
    )
    same_matrices(board.leaderboard(), expected)
    assert expected.graph.n_edges > 0
    assert board.leaderboard().design.family == expected.design.family


def test_equal_pilot_means_go_to_the_model_that_comes_first(tmp_path):
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=1, models=("z", "y", "x"))
    assert board.add(scores(np.ones((1, 3, 6)), ("z", "y", "x"))).candidate == ("z",)


def test_a_model_added_after_a_pilot_meets_the_candidate_alone(tmp_path, rng):
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=1)
    (best,) = board.add(runs(rng, ABC)).candidate
    board.add(runs(rng, ABC, 4))
    board.add_model("d", runs(rng, ("d",), 4))
    stage = board.state.stages[1]
    assert stage.design.n_directions == 1
    assert {(e.winner, e.loser) for e in board.add(runs(rng, (*ABC, "d"), 25)).edges if e.claim == 1} <= {(best, "d")}


def test_pairing_with_the_first_replicates_leaves_out_the_others(tmp_path, rng):
    board = make(tmp_path, pairing="first", first=3)
    old, new, later = values(rng, ABC, 5), values(rng, ("d",), 3), values(rng, (*ABC, "d"), 4)
    board.add(scores(old, ABC))
    board.add_model("d", scores(new, ("d",)))
    board.add(scores(later, (*ABC, "d")))
    design = Design.make((*ABC, "d"), ITEMS, alpha=level(1), method="bb-edge-x", newcomer="d")
    expected = run(design, [*np.concatenate([old[:3], new], axis=1), *later])
    np.testing.assert_array_equal(board.leaderboard().log_e[3], expected.log_e[3])
    np.testing.assert_array_equal(board.leaderboard().lower_bounds[:, 3], expected.lower_bounds[:, 3])
    assert board.leaderboard().means[3] == pytest.approx(np.concatenate([new[:, 0], later[:, 3]]).mean())


def test_the_replicate_of_an_edge_is_the_replicate_of_the_board(tmp_path):
    """Also where the added model has fewer runs than there are replicates."""
    board = make(tmp_path, models=("a", "b"), pairing="first", first=1)
    rng = np.random.default_rng(3)
    board.add(runs(rng, ("a", "b"), 5))
    board.add_model("d", scores(np.zeros((1, 1, 6)), ("d",)))
    edges, number = [], 5
    while not edges and number < 30:
        number += 1
        panel = np.stack([rng.random(6), rng.random(6), np.zeros(6)])
        panel[0] = np.maximum(panel[0], 0.9)
        edges = [edge for edge in board.add(scores(panel, ("a", "b", "d"))).edges if edge.claim == 1]
    assert edges
    assert {edge.replicate for edge in edges} == {number}
    shown = board.leaderboard()
    assert shown.first_certified[0, 2] == number == shown.looks[-1].replicate


def test_models_retired_before_a_newcomer_stop_where_they_stopped(tmp_path, rng):
    board = make(tmp_path)
    whole, rest, new, last = (
        values(rng, ABC, 4),
        values(rng, ("a", "c"), 3),
        values(rng, ("d",), 7),
        values(rng, ("c", "d"), 3),
    )
    board.add(scores(whole, ABC))
    board.retire("b")
    board.add(scores(rest, ("a", "c")))
    board.retire("a")
    board.add_model("d", scores(new, ("d",)))
    by_hand = Certifier(Design.make((*ABC, "d"), ITEMS, alpha=level(1), method="bb-edge-x", newcomer="d"))
    for panel, run_ in zip(whole, new[:4], strict=True):
        by_hand.update(np.concatenate([panel, run_]))
    by_hand.stop(["b"])
    for panel, run_ in zip(rest, new[4:], strict=True):
        by_hand.update(np.concatenate([panel, run_]))
    by_hand.stop(["a"])
    np.testing.assert_array_equal(board.leaderboard().log_e[3], by_hand.leaderboard().log_e[3])
    board.add(scores(last, ("c", "d")))
    for panel in last:
        by_hand.update(panel)
    shown, expected = board.leaderboard(), by_hand.leaderboard()
    for name in ("log_e", "lower_bounds", "log_thresholds", "first_certified"):
        np.testing.assert_allclose(getattr(shown, name)[3], getattr(expected, name)[3], rtol=1e-12)
        np.testing.assert_allclose(getattr(shown, name)[:, 3], getattr(expected, name)[:, 3], rtol=1e-12)


def test_the_founders_may_all_retire(tmp_path, rng):
    """Old models leave, new ones stay: the stage of the founders has nobody left to run."""
    board = make(tmp_path, models=("a", "b"))
    record = Record(("a", "b"), ITEMS, method="bb-edge-x")
    for name in ("d", "e"):
        board.add_model(name, Scores.of(np.zeros((0, 1, 6)), models=[name], items=ITEMS))
        record.add_model(name, [])
    four = ("a", "b", "d", "e")
    for panel in values(rng, four, 3):
        board.add(scores(panel, four))
        record.replicate(dict(zip(four, panel, strict=True)))
    for name in ("a", "b"):
        board.retire(name)
        record.retire(name)
    for panel in values(rng, ("d", "e"), 3):
        board.add(scores(panel, ("d", "e")))
        record.replicate({"d": panel[0], "e": panel[1]})
    assert board.state.epoch.replicates == 6
    assert_same(board, record)


def test_the_last_model_may_run_on_alone(tmp_path, rng):
    board = make(tmp_path, models=("a", "b"))
    board.add(runs(rng, ("a", "b"), 2))
    board.retire("b")
    log_e = board.leaderboard().log_e
    board.add(runs(rng, ("a",)))
    np.testing.assert_array_equal(board.leaderboard().log_e, log_e)


def test_a_whole_life_against_a_plain_record(tmp_path, rng):
    board = make(tmp_path, blocks=BLOCKS, tau=0.01)
    record = Record(ABC, ITEMS, BLOCKS, method="bb-edge-x", tau=0.01)

    def replicates(models, n, items):
        for panel in values(rng, models, n, items):
            board.add(scores(panel, models, items))
            record.replicate(dict(zip(models, panel, strict=True)))

    def join(name, n, items):
        array = values(rng, (name,), n, items)
        board.add_model(name, scores(array, (name,), items))
        record.add_model(name, list(array[:, 0]))

    replicates(ABC, 5, ITEMS)
    join("d", 5, ITEMS)
    replicates((*ABC, "d"), 3, ITEMS)
    board.retire("b")
    record.retire("b")
    replicates(("a", "c", "d"), 2, ITEMS)
    join("e", 10, ITEMS)
    replicates(("a", "c", "d", "e"), 2, ITEMS)
    assert_same(board, record)
    board.add_items(["n1", "n2"], ["n", "n"])
    record.add_items(["n1", "n2"], ["n", "n"])
    more = (*ITEMS, "n1", "n2")
    assert_same(board, record)
    replicates(("a", "c", "d", "e"), 6, more)
    join("f", 6, more)
    board.retire("e")
    record.retire("e")
    replicates(("a", "c", "d", "f"), 3, more)
    assert_same(board, record)
    assert board.state.spent == sum(level(claim) for claim in range(5))
    with board.store.read() as session:
        again = replay(session, board.events)
    assert [s.certifier.to_bytes() for s in again.stages] == [s.certifier.to_bytes() for s in board.state.stages]
