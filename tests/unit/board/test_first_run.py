"""Looks inside the first run of a board: recorded, computed again, verified, and never in the order of a file."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.checkpoints import first_run_plan
from bbedge.core.leaderboard import Certifier
from bbedge.errors import BoardError, CopiedReplicateError, DataError, DesignError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.ledger.chain import pack_scores
from bbedge.records.design import CheckpointRule
from bbedge.records.events import ReplicateAdded, checkpoint_place, upto_at
from bbedge.verify.ledger import verify_session
from unit.board.first_runs import ITEMS, MODELS, RULE, add_checkpoint, add_upto, complete, drawn, life, make, some
from unit.board.forging import parsed


def test_a_board_without_checkpoints_has_no_order_and_takes_no_parts(tmp_path):
    assert "checkpoints" not in BoardDesign().content
    board = Board.create(tmp_path / "plain.db", BoardDesign(), models=MODELS, items=ITEMS)
    assert (board.next_checkpoint, board.next_items, board.events[0].content.order_seed) == (None, (), None)
    with pytest.raises(BoardError, match="has no checkpoints; add complete replicates"):
        add_upto(board, some(drawn(1), MODELS, ITEMS[:6]))
    with pytest.raises(BoardError, match="order_seed"):
        Board.create(tmp_path / "other.db", BoardDesign(), models=MODELS, items=ITEMS, order_seed=1)


def test_a_file_states_checkpoints_as_numbers():
    design = BoardDesign.from_toml("[checkpoints]\nfractions = [0.1, 0.5]\ncomplete = 0.6")
    assert design.content["checkpoints"] == {"fractions": [0.1, 0.5], "weights": [0.2, 0.2], "complete": 0.6}
    assert BoardDesign.from_values(design.content) == design
    assert BoardDesign.from_toml("[checkpoints]").checkpoints == CheckpointRule()
    assert design.hash != BoardDesign().hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[checkpoints]\norder_seed = 1", "unknown key 'order_seed' in 'checkpoints'"),
        ("[checkpoints]\nfractions = 0.1", "is not a list of numbers"),
        ("[checkpoints]\nfractions = [0.5, 0.1]", "not in rising order"),
        ("[checkpoints]\nfractions = [0.5]\nweights = [0.1]", "must add up to 1"),
        ('method = "bb-edge"\n[checkpoints]', "not part of bb-edge"),
        ("checkpoints = true", "is not a record"),
    ],
)
def test_checkpoints_that_are_refused(text, message):
    with pytest.raises(DesignError if "method" in text or "fractions = [" in text else Exception, match=message):
        BoardDesign.from_toml(text)


def test_the_board_draws_the_order_and_registers_it(tmp_path):
    boards = [make(tmp_path / f"{n}.db", order_seed=None) for n in range(3)]
    seeds = {board.events[0].content.order_seed for board in boards}
    assert len(seeds) == len({board.registration for board in boards}) == len({b.next_items for b in boards}) == 3
    again = make(tmp_path / "0.db", order_seed=None)
    assert again.head == boards[0].head
    with pytest.raises(BoardError, match="a board with another design"):
        make(tmp_path / "0.db", order_seed=5)
    boards[0].add_items(["r1"])
    assert boards[0].events[-1].content.order_seed not in (None, boards[0].events[0].content.order_seed)


def test_items_come_in_the_order_of_the_seed(tmp_path):
    board, panel, seen = make(tmp_path / "board.db"), drawn(1), []
    while board.next_checkpoint is not None:
        seen += board.next_items
        add_checkpoint(board, panel)
    seen += board.next_items
    plan = first_run_plan(board.state.epoch.stages[0].design)
    assert seen == [ITEMS[place] for place in plan.order] != list(ITEMS)
    complete(board, panel)
    assert board.next_items == ()
    with pytest.raises(BoardError, match="the first run is complete"):
        add_upto(board, some(panel, MODELS, ITEMS[:6]))


def test_a_board_says_what_a_certifier_says(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    certifier = Certifier(board.state.epoch.stages[0].design)
    for number in (1, 2, 3):
        active = board.state.active
        columns = [ITEMS.index(item) for item in certifier.next_items]
        assert certifier.next_items == board.next_items
        added = add_checkpoint(board, panel)
        certifier.update(np.stack([panel[model][columns] for model in active]), certifier.next_checkpoint.blocks)
        assert added.checkpoint.number == number
        if number == 2:
            board.retire("d")
            certifier.stop(["d"])
        board = Board.open(tmp_path / "board.db")  # from what is saved
        ours, theirs = board.leaderboard(), certifier.leaderboard()
        for name in ("log_e", "log_w", "lower_bounds", "first_certified"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True)
        assert np.array_equal(ours.early.first_certified, theirs.early.first_certified)
        assert ours.early.looks == theirs.early.looks
        assert np.isnan(ours.means).all()  # of a part of the items
    assert ours.graph.n_edges > 0
    complete(board, panel)
    certifier.update(np.stack([panel[model] for model in ("a", "b", "c")]))
    ours, theirs = board.leaderboard(), certifier.leaderboard()
    assert np.array_equal(ours.log_e, theirs.log_e, equal_nan=True)
    assert np.isnan(ours.means).tolist() == [False, False, False, True]


def test_a_new_model_gets_complete_runs_only(tmp_path):
    """Who made it may know the order, so that a look inside the run would not be at random blocks."""
    board, panel = make(tmp_path / "board.db"), drawn(1)
    for stop in (None, "d", None):
        add_checkpoint(board, panel)
        if stop:
            board.retire(stop)
    with pytest.raises(BoardError, match="has come to checkpoint 3; add 'e' once it is complete"):
        board.add_model("e")
    complete(board, panel)
    for name, seed in (("e", 2), ("f", 3)):
        board.add_model(name, some(drawn(seed, (name,)), (name,), ITEMS))
    for stage, name, run in ((1, "e", drawn(2, ("e",))), (2, "f", drawn(3, ("f",)))):
        whole = {**panel, **drawn(2, ("e",)), **run}
        design = board.state.epoch.stages[stage].design
        assert design.checkpoints is None
        certifier = Certifier(design)
        certifier.stop(["d"], forfeit=True)
        certifier.update(np.stack([whole[model] for model in certifier.evidence.active]))
        found, expected = (each.leaderboard() for each in (board.state.epoch.stages[stage].certifier, certifier))
        np.testing.assert_array_equal(found.log_e, expected.log_e, err_msg=name)
        np.testing.assert_array_equal(found.lower_bounds, expected.lower_bounds, err_msg=name)
        np.testing.assert_array_equal(found.edges, expected.edges, err_msg=name)
    made = board.leaderboard()
    e, d = made.design.models.index("e"), made.design.models.index("d")
    # A model that stopped inside the run has no complete one, and could have stopped because of its scores in it.
    assert made.log_e[e, d] < -100.0 > made.log_e[d, e]
    assert not made.early.first_certified[e].any()
    assert not made.early.first_certified[:, e].any()
    assert made.edges[made.design.models.index("a"), e]
    assert board.verify().certificates > 0
    assert json.loads(board.certificate().to_json())


def test_the_complete_run_has_the_scores_that_were_seen(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    first = board.next_items[0]
    add_checkpoint(board, panel)
    other = {model: row.copy() for model, row in panel.items()}
    other["b"][ITEMS.index(first)] = 1.0 - other["b"][ITEMS.index(first)]
    with pytest.raises(DataError, match=f"model 'b' on item '{first}' differs from what was seen at a checkpoint"):
        complete(board, other)
    assert Board.open(tmp_path / "board.db").state.epoch.replicates == 0
    complete(board, panel)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b, p: some(p, MODELS, ITEMS), "54 items are not among those up to the next checkpoint"),
        (lambda b, p: some(p, MODELS, b.next_items[1:]), "1 of the 6 items up to the next checkpoint"),
        (lambda b, p: some(p, MODELS[:3], b.next_items), "lacks model 'd'"),
        (lambda b, p: some({**p, "x": p["a"]}, (*MODELS, "x"), b.next_items), "model 'x' is not on the board"),
        (lambda b, p: some({**p, "a": p["a"] + 2.0}, MODELS, b.next_items), "scores lie in"),
        (lambda b, p: some({**p, "a": p["a"] * np.nan}, MODELS, b.next_items), "has no score on item"),
    ],
)
def test_parts_that_are_refused(tmp_path, change, message):
    board = make(tmp_path / "board.db")
    with pytest.raises(BoardError, match=message):
        add_upto(board, change(board, drawn(1)))
    assert len(board.events) == len(Board.open(tmp_path / "board.db").events) == 1


def test_missing_scores_of_a_part_are_final_and_counted_once(tmp_path):
    board, panel = make(tmp_path / "board.db", incomplete="worst-case"), drawn(1)
    gap = ITEMS.index(board.next_items[0])
    gapped = {**panel, "b": np.where(np.arange(60) == gap, np.nan, panel["b"])}
    add_checkpoint(board, gapped)
    assert Board.open(tmp_path / "board.db").leaderboard().gaps.of_models == (0, 1, 0, 0)
    assert board.certificate().content.gaps.models == {"b": 1}
    with pytest.raises(DataError, match="differs from what was seen"):
        complete(board, panel)
    complete(board, gapped)
    assert Board.open(tmp_path / "board.db").leaderboard().gaps.of_models == (0, 1, 0, 0)
    board.verify()


def test_what_gaps_have_cost_counts_what_was_certified_inside_the_run(tmp_path):
    board, panel = make(tmp_path / "board.db", incomplete="worst-case"), drawn(1)
    gapped = {**panel, "b": np.where(np.arange(60) == ITEMS.index(board.next_items[0]), np.nan, panel["b"])}
    for _ in RULE.fractions:
        add_checkpoint(board, gapped)
    board.retire("d")
    certified = board.leaderboard().graph.n_resolved
    assert certified > 0
    assert board.resolved_if_means() is None
    complete(board, gapped)
    assert board.resolved_if_means() >= board.leaderboard().graph.n_resolved >= certified


def test_a_missing_score_may_be_defined_as_the_lowest(tmp_path):
    board, panel = make(tmp_path / "board.db", incomplete="zero"), drawn(1)
    gap = ITEMS.index(board.next_items[0])
    gapped = {**panel, "b": np.where(np.arange(60) == gap, np.nan, panel["b"])}
    add_checkpoint(board, gapped)
    complete(board, gapped)
    board.verify()


def test_a_run_of_the_pilot_is_no_part_of_the_run(tmp_path):
    board = make(tmp_path / "board.db", family="pilot-top-k", k=1, pilot=1)
    panel = drawn(1)
    assert board.next_checkpoint is None
    with pytest.raises(BoardError, match="the pilot is not finished"):
        add_upto(board, some(panel, MODELS, ITEMS[:6]))
    board.add(replace(some(panel, MODELS, ITEMS), runs=(("run-1",),)))
    part = some(panel, MODELS, board.next_items)
    with pytest.raises(BoardError, match="'run-1', which is part of replicate 1"):
        add_upto(board, replace(part, runs=(("run-1",),)))
    add_upto(board, replace(some(drawn(2), MODELS, board.next_items), runs=(("run-2",),)))
    board.add(replace(some(drawn(2), MODELS, ITEMS), runs=(("run-3",),)))
    with pytest.raises(BoardError, match="replicate 2 is on the board already, with other scores"):
        board.add(replace(some(drawn(3), MODELS, ITEMS), runs=(("run-2",),)))


@pytest.mark.parametrize("lost", [False, True])
def test_a_part_that_repeats_the_pilot_is_refused(tmp_path, lost):
    """The pilot has chosen the candidate, so that its scores must not be evidence at any look."""
    options = {"family": "pilot-top-k", "k": 1, "pilot": 2, "incomplete": "worst-case"}
    board, pilots = make(tmp_path / "board.db", **options), (drawn(1), drawn(2))
    for panel in pilots:
        complete(board, panel)
    again = {model: row.copy() for model, row in pilots[1].items()}
    if lost:
        again["b"][ITEMS.index(board.next_items[0])] = np.nan
    with pytest.raises(CopiedReplicateError, match="scores of pilot replicate 2 on every item up to checkpoint 1"):
        add_checkpoint(board, again)
    assert not Board.open(tmp_path / "board.db").state.epoch.passed
    add_checkpoint(board, drawn(3))
    with pytest.raises(CopiedReplicateError, match="scores of pilot replicate 1 on every item up to checkpoint 2"):
        add_checkpoint(board, pilots[0])
    add_upto(board, some(pilots[0], MODELS, board.next_items), copies="allow")
    counted = "because copies were allowed when they were added: part 2 of replicate 1."
    assert any(counted in note.text for note in board.certificate().content.notes)
    board.verify()
    allowed = make(tmp_path / "allowed.db", **options, copies="allow")
    for panel in (*pilots, pilots[0]):
        complete(allowed, panel) if allowed.state.in_pilot else add_checkpoint(allowed, panel)
    allowed.verify()


def test_a_few_scores_as_in_the_pilot_are_a_coincidence(tmp_path):
    board = make(tmp_path / "board.db", family="pilot-top-k", k=1, pilot=1, models=("a", "d"))
    panel = drawn(1, ("a", "d"))
    complete(board, panel)
    add_checkpoint(board, panel)
    with pytest.raises(CopiedReplicateError, match="up to checkpoint 2"):
        add_checkpoint(board, panel)


def test_an_archive_is_the_same_board_again(tmp_path):
    board = life(tmp_path / "board.db")
    lines = list(export_lines(board.store))
    assert import_lines(lines, tmp_path / "again.db", source="archive", verify=verify_session).head == board.head
    again = Board.open(tmp_path / "again.db")
    assert again.certificate().to_json() == board.certificate().to_json()
    assert list(export_lines(again.store)) == lines


def test_without_saved_evidence_a_board_is_the_same(tmp_path):
    board = life(tmp_path / "board.db")
    expected = [board.certificate(epoch).to_json() for epoch in (1, 2)]
    with closing(sqlite3.connect(tmp_path / "board.db")) as connection, connection:
        connection.execute("DELETE FROM bbedge_cache")
    again = Board.open(tmp_path / "board.db")
    assert [again.certificate(epoch).to_json() for epoch in (1, 2)] == expected


@pytest.mark.nightly
def test_every_prefix_of_the_ledger_is_a_board(tmp_path):
    """A crash between two events leaves the events before it, from which everything is computed again."""
    board = life(tmp_path / "board.db")
    whole = parsed(board)
    for count in range(1, len(board.events) + 1):
        forged = whole.copy()
        forged.rows, forged.cache = forged.rows[:count], {}
        verified = import_lines(forged.lines(), tmp_path / f"{count}.db", source="archive", verify=verify_session)
        past = board.as_of(board.events[count - 1].hash)
        assert verified.head == past.head
        found = Board.open(tmp_path / f"{count}.db").state.leaderboard()
        assert np.array_equal(found.log_e, past.state.leaderboard().log_e, equal_nan=True)


def forge_part(rows, change):
    for row in rows:
        if "upto" in row["content"]:
            change(row["content"], row)
            return


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c, _: c.update(upto=18), "a look after 18 blocks is not planned; the next checkpoint is after 6"),
        (lambda c, _: c.update(upto=7), "a look after 7 blocks is not planned; the next checkpoint is after 6"),
        (lambda c, _: c.update(replicate=2), "number 2 is not the next one"),
        (lambda c, _: c.pop("upto"), "the scores of model 'd' in replicate 1 of epoch 1 are missing"),
        (lambda c, _: c["vectors"].pop("a"), "lacks model 'a'"),
        (
            lambda c, _: c.update(look={"edges": 9, "resolved_pairs": 9}),
            "its look.edges is 9",
        ),
        (lambda c, _: c.update(current={"0": "//8="}), "its current.0 is"),
        (lambda c, row: row.update(kind="pilot"), "is missing|unknown key"),
    ],
)
def test_a_forged_part_is_found(tmp_path, change, message):
    forged = parsed(life(tmp_path / "board.db"))
    forge_part(forged.rows, change)
    with pytest.raises(BoardError, match=message):
        import_lines(forged.lines(), tmp_path / "forged.db", source="archive", verify=verify_session)


def test_a_part_that_was_left_out_is_found(tmp_path):
    forged = parsed(life(tmp_path / "board.db"))
    del forged.rows[1]
    with pytest.raises(BoardError, match="a look after 18 blocks is not planned; the next checkpoint is after 6"):
        import_lines(forged.lines(), tmp_path / "forged.db", source="archive", verify=verify_session)


def test_a_part_belongs_to_a_board_with_checkpoints(tmp_path):
    part = next(row for row in parsed(life(tmp_path / "board.db")).rows if "upto" in row["content"])
    forged = parsed(Board.create(tmp_path / "plain.db", BoardDesign(), models=MODELS, items=ITEMS))
    part["content"]["views"], part["at"] = {}, forged.rows[0]["at"]
    forged.rows.append(part)
    with pytest.raises(BoardError, match="the design of this board has no checkpoints"):
        import_lines(forged.lines(), tmp_path / "forged.db", source="archive", verify=verify_session)


def test_another_order_is_found(tmp_path):
    """The seed is frozen: another one would be another order of the same items."""
    forged = parsed(life(tmp_path / "board.db"))
    forged.rows[0]["content"]["order_seed"] = 7
    with pytest.raises(BoardError, match="its registration is"):
        import_lines(forged.lines(), tmp_path / "forged.db", source="archive", verify=verify_session)


def test_a_changed_score_of_a_part_is_found(tmp_path):
    board = life(tmp_path / "board.db")
    changed = pack_scores(1.0 - np.ones(6))
    with closing(sqlite3.connect(tmp_path / "board.db")) as connection, connection:
        place = checkpoint_place(6)
        connection.execute(
            "UPDATE bbedge_vectors SET data = ? WHERE replicate = ? AND model = 'a' AND epoch = 1", (changed, place)
        )
    with pytest.raises(BoardError, match="'a' in the first run up to 6 blocks of epoch 1 were changed"):
        board.verify()


def test_places_of_parts():
    places = (checkpoint_place(1), checkpoint_place(8), 1, -1, -(2**30))
    assert [upto_at(place) for place in places] == [1, 8, None, None, None]


def test_keys_of_a_part(tmp_path):
    board = life(tmp_path / "board.db")
    first = next(event.content for event in board.events if isinstance(event.content, ReplicateAdded))
    assert (first.replicate, first.upto, first.place) == (1, 6, checkpoint_place(6))


def test_models_may_be_stopped_until_nothing_is_left(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    add_checkpoint(board, panel)
    for model in MODELS:
        board.retire(model)
    board = Board.open(tmp_path / "board.db")
    board.verify()
    assert board.certificate().content.first_pass.checkpoint == 1
    assert RULE.fractions[0] == board.leaderboard().early.progress


def test_a_model_that_comes_before_the_first_part_waits_for_the_complete_run(tmp_path):
    board = make(tmp_path / "board.db")
    board.add_model("e")
    panel = drawn(1, (*MODELS, "e"))
    for _ in range(3):
        add_checkpoint(board, panel)
    board = Board.open(tmp_path / "board.db")
    assert [look.models for look in board.leaderboard().early.looks] == [5, 5, 5]
    assert board.certificate().content.first_pass.blocks == 36
    assert np.array_equal(board.leaderboard().log_e[4, :4], np.zeros(4))
    assert board.leaderboard().early.first_certified[0].any()
    complete(board, panel)
    assert board.verify().events == 6
    made = board.leaderboard()
    assert not made.early.first_certified[4].any()
    assert not made.early.first_certified[:, 4].any()
    assert made.log_e[0, 4] > 0.0


def test_a_model_that_stops_inside_the_run_forfeits_what_it_has_against_a_new_one(tmp_path):
    board = make(tmp_path / "board.db")
    board.add_model("e")
    panel = drawn(1, (*MODELS, "e"))
    add_checkpoint(board, panel)
    board.retire("d")
    made = board.leaderboard()
    assert made.log_e[4, 3] < -100.0 > made.log_e[3, 4]
    add_checkpoint(board, panel)
    complete(board, panel)
    made = Board.open(tmp_path / "board.db").leaderboard()
    assert made.log_e[4, 3] < -100.0 > made.log_e[3, 4]
    assert made.lower_bounds[4, 3] == -1.0
    board.verify()
    assert board.certificate().to_json()


def test_on_a_board_without_checkpoints_a_model_that_stops_keeps_its_evidence(tmp_path):
    board = Board.create(tmp_path / "plain.db", BoardDesign(), models=MODELS, items=ITEMS)
    board.retire("d")
    board.add_model("e")
    assert np.array_equal(board.leaderboard().log_e[4, :4], np.zeros(4))


def test_items_may_come_inside_the_run_whose_certificates_stand(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    for _ in range(3):
        add_checkpoint(board, panel)
    edges = board.leaderboard().graph.n_edges
    board.add_items(["r1"])
    board = Board.open(tmp_path / "board.db")
    board.verify()
    assert board.certificate().content.board.epoch == 1  # the new one has no runs
    assert board.leaderboard(1).graph.n_edges == edges > 0
    assert len(board.next_items) == 7


@pytest.mark.nightly
def test_checkpoints_that_were_passed_by_are_part_of_the_complete_run(tmp_path):
    panel, found = drawn(1), []
    for looks in range(4):
        board = make(tmp_path / f"{looks}.db")
        for _ in range(looks):
            add_checkpoint(board, panel)
        complete(board, panel)
        found.append(board.leaderboard().log_e)
    for log_e in found[1:]:
        assert np.allclose(log_e, found[0], equal_nan=True, rtol=1e-12)
