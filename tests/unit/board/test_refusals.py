"""What a board refuses: each refusal says what to do, and leaves the board as it was."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, BoardError, CopiedReplicateError, DesignError
from unit.board.boards import ITEMS, make, runs, scores, values

ABC = ("a", "b", "c")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def board(tmp_path, rng):
    """Three models, two replicates."""
    board = make(tmp_path)
    board.add(runs(rng, ABC, 2, start=1))
    return board


@pytest.fixture
def piloting(tmp_path, rng):
    """A pilot of two replicates, one of them there."""
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=2)
    board.add(runs(rng, ABC, 1, start=1))
    return board


class refusal:  # noqa: N801 - reads like pytest.raises
    """The block raises with this message, and neither the board in memory nor the one on disk has changed."""

    def __init__(self, board, message, error=BoardError):
        self.board, self.raises = board, pytest.raises(error, match=message)

    def __enter__(self):
        self.before = self.board.head, len(self.board.events), self.board.state.spent, tuple(self.board.state.active)
        return self.raises.__enter__()

    def __exit__(self, *error):
        handled = self.raises.__exit__(*error)
        for board in (self.board, Board.open(self.board.name)):
            assert (board.head, len(board.events), board.state.spent, tuple(board.state.active)) == self.before
        return handled


# Replicates that are not whole ---------------------------------------------------------------------------------------


def test_a_missing_model(board, rng):
    with refusal(board, "the replicate lacks model 'b'; every active model must be in it .or be retired."):
        board.add(runs(rng, ("a", "c"), start=3))


def test_an_extra_model(board, rng):
    with refusal(board, "model 'z' is not on the board; add it with add-model first"):
        board.add(runs(rng, (*ABC, "z"), start=3))


def test_a_retired_model(board, rng):
    board.retire("b")
    with refusal(board, "model 'b' is retired; leave it out of new replicates"):
        board.add(runs(rng, ABC, start=3))


def test_a_model_that_comes_twice(board, rng):
    with refusal(board, "twice", BbedgeError):
        board.add(runs(rng, ("a", "a", "b", "c"), start=3))


def test_a_missing_item(board, rng):
    with refusal(board, "1 of 6 items of the benchmark are not in the files: 'q5'; a replicate must be complete"):
        board.add(runs(rng, ABC, items=ITEMS[:5], start=3))


def test_an_extra_item(board, rng):
    message = "the files have 2 items that are not part of the benchmark: 'x', 'y'; open a new epoch with add-items"
    with refusal(board, message):
        board.add(runs(rng, ABC, items=(*ITEMS, "y", "x"), start=3))


def test_an_item_that_comes_twice(board, rng):
    with refusal(board, "twice", BbedgeError):
        board.add(runs(rng, ABC, items=(*ITEMS, "q0"), start=3))


@pytest.mark.parametrize("bad", [1.0000001, -0.1, 3.0, np.inf])
def test_scores_out_of_range(board, rng, bad):
    array = values(rng, ABC)
    array[0, 1, 4] = bad
    with refusal(board, r"model 'b' scored .* on item 'q4'; scores lie in \[0, 1\]"):
        board.add(scores(array, ABC, start=3))
    run = values(rng, ("z",), 2)
    run[1, 0, 2] = bad
    with refusal(board, r"model 'z' scored .* on item 'q2'; scores lie in \[0, 1\]"):
        board.add_model("z", scores(run, ("z",)))


def test_scores_that_are_missing(board, rng):
    array = values(rng, ABC)
    array[0, 1, 4] = np.nan
    with refusal(board, "model 'b' has no score on item 'q4'; the design of this board counts no missing scores"):
        board.add(scores(array, ABC, start=3))
    run = values(rng, ("z",), 2)
    run[1, 0, 2] = np.nan
    with refusal(board, "model 'z' has no score on item 'q2'; the design of this board counts no missing scores"):
        board.add_model("z", scores(run, ("z",)))


def test_scores_on_another_scale(board, rng):
    with refusal(board, r"scale \(0.0, 10.0\); the board's is \(0.0, 1.0\)"):
        board.add(replace(runs(rng, ABC, start=3), score_range=(0.0, 10.0)))


def test_runs_of_a_new_model_on_another_scale(board, rng):
    with refusal(board, "scale"):
        board.add_model("z", replace(runs(rng, ("z",), 2), score_range=(0.0, 10.0)))


def test_one_bad_replicate_keeps_out_all_of_them(board, rng):
    array = values(rng, ABC, 3)
    array[2, 0, 0] = 2.0
    with refusal(board, "scores lie in"):
        board.add(scores(array, ABC, start=3))
    assert board.state.epoch.replicates == 2


# The order of replicates ---------------------------------------------------------------------------------------------


def test_a_replicate_left_out(board, rng):
    with refusal(board, "replicate 4 is out of order: the next one is 3. Replicates are added in the order"):
        board.add(runs(rng, ABC, start=4))


@pytest.mark.parametrize("label", ["04", "4.0", "+4"])
def test_a_replicate_left_out_however_the_number_is_written(board, rng, label):
    """The reader of files takes these for the number 4."""
    with refusal(board, "out of order"):
        board.add(replace(runs(rng, ABC, start=4), replicates=(label,)))


def test_numbers_may_be_padded(board, rng):
    board.add(replace(runs(rng, ABC, start=3), replicates=("03",)))
    assert board.state.epoch.replicates == 3


def test_a_number_too_long_to_read(board, rng):
    """It is a name like any other, or it is refused."""
    with contextlib.suppress(BbedgeError):
        board.add(replace(runs(rng, ABC, start=3), replicates=("9" * 5000,)))


def test_other_scores_under_an_old_number(board, rng):
    message = "replicate 1 is on the board already, with other scores; .* number them from 3"
    with refusal(board, message):
        board.add(runs(rng, ABC, start=1))


def test_a_copy_under_a_new_number(tmp_path, rng):
    board = make(tmp_path)
    first = runs(rng, ABC, 2, start=1)
    board.add(first)
    with refusal(board, "Replicates '1', '3' have the same score for every model .* copied file", CopiedReplicateError):
        board.add(replace(first, values=first.values[:1], replicates=("3",)))
    with refusal(board, "Replicates '3', '4' have the same score for every model", CopiedReplicateError):
        board.add(scores(np.repeat(values(rng, ABC), 2, axis=0), ABC, start=3))


def test_a_copy_without_the_model_that_was_retired_since(tmp_path, rng):
    board = make(tmp_path)
    first = values(rng, ABC)
    board.add(scores(first, ABC, start=1))
    board.retire("c")
    with refusal(board, "Replicates '1', '2' have the same score", CopiedReplicateError):
        board.add(scores(first[:, :2], ("a", "b"), start=2))


def test_a_copy_with_the_model_that_was_added_since(tmp_path, rng):
    board = make(tmp_path)
    first, run = values(rng, ABC), values(rng, ("d",))
    board.add(scores(first, ABC, start=1))
    board.add_model("d", scores(run, ("d",)))
    with refusal(board, "Replicates '1', '2' have the same score", CopiedReplicateError):
        board.add(scores(np.concatenate([first, run], axis=1), (*ABC, "d"), start=2))


def test_the_same_replicate_again_changes_nothing(tmp_path, rng):
    board = make(tmp_path)
    two = runs(rng, ABC, 2, start=1)
    assert board.add(two).replicates == (1, 2)
    head = board.head
    again = board.add(two)
    assert (again.already, again.replicates, again.edges) == ((1, 2), (), ())
    # With models and items in another order, too.
    turned = scores(two.values[:, ::-1, ::-1], ABC[::-1], ITEMS[::-1], start=1)
    assert board.add(turned).already == (1, 2)
    assert board.head == head == Board.open(board.name).head


def test_the_same_scores_without_a_number_are_a_question(board, rng):
    again = runs(np.random.default_rng(0), ABC)
    board.add(again)
    with refusal(board, "Replicate 3 is on the board: if these are the same runs again", CopiedReplicateError):
        board.add(again)
    assert board.add(again, copies="allow").replicates == (4,)


def test_the_same_few_scores_without_a_number_are_a_question(tmp_path):
    board = make(tmp_path, items=("q",))
    board.add(scores(np.ones((1, 3, 1)), ABC, ("q",)))
    with refusal(board, "Replicate 1 is on the board", CopiedReplicateError):
        board.add(scores(np.ones((1, 3, 1)), ABC, ("q",)))
    board.add(scores(np.ones((1, 3, 1)), ABC, ("q",), start=2))  # a number says that it is another replicate


def test_the_same_runs_of_logs_again_change_nothing(board, rng):
    first = replace(runs(rng, ABC, 2), runs=(("run-1", "run-2"), ("run-3",)))
    assert board.add(first).replicates == (3, 4)
    head = board.head
    assert board.add(first).already == (3, 4)
    assert board.head == head
    with refusal(board, "replicate 4 is on the board already, with other scores"):
        board.add(replace(runs(rng, ABC), runs=(("run-3",),)))
    with refusal(board, "the run 'run-1' is part of replicate 3 on the board, other runs of the same"):
        board.add(replace(runs(rng, ABC), runs=(("run-1", "run-9"),)))
    with refusal(board, "replicate 5 has the run 'run-3', which is part of replicate 4"):
        board.add(replace(runs(rng, ABC, start=5), runs=(("run-3",),)))
    assert board.add(replace(runs(rng, ABC), runs=(("run-4",),))).replicates == (5,)


def test_a_new_version_of_the_benchmark_needs_new_runs(tmp_path, rng):
    """Which items were added may depend on the old runs, so that these are no evidence about the new version."""
    board = make(tmp_path)
    board.add(replace(runs(rng, ABC), runs=(("run-1",),)))
    board.add_model("d", replace(runs(rng, ("d",)), runs=(("run-2",),)))
    board.add_items(["new"])
    items = (*ITEMS, "new")

    def again(models, run):
        return replace(runs(rng, models, items=items), runs=((run,),))

    for run in ("run-1", "run-2"):
        with refusal(board, f"the run '{run}' was counted in epoch 1; epoch 2 needs new runs of all its items"):
            board.add(again((*ABC, "d"), run))
    assert board.add(again((*ABC, "d"), "run-3")).replicates == (1,)
    with refusal(board, "the run 'run-2' was counted in epoch 1"):
        board.add_model("e", again(("e",), "run-2"))


def test_a_new_model_with_one_run_copied(tmp_path, rng):
    message = "'1', '2', '3', '4', '5' and 7 more have the same score"
    items = tuple(f"q{i}" for i in range(9))
    board = make(tmp_path, items=items)
    board.add(runs(rng, ABC, 12, items, start=1))
    copied = scores(np.repeat(values(rng, ("d",), 1, items), 12, axis=0), ("d",), items)
    with refusal(board, message, CopiedReplicateError):
        board.add_model("d", copied)
    board.add_model("d", copied, copies="allow")
    assert len(board.events[-1].content.copies) == 11


def test_old_and_new_replicates_in_one_file(board, rng):
    three = values(rng, ABC, 2)
    board.add(scores(three[:1], ABC, start=3))
    done = board.add(scores(three, ABC, start=3))
    assert (done.already, done.replicates) == ((3,), (4,))


# Designs that change -------------------------------------------------------------------------------------------------


def test_another_design_over_a_board(board):
    message = "a board with another design .* is here already; a design cannot be changed .* Make a new board elsewhere"
    for design, models, items, blocks in (
        (BoardDesign(method="bb-edge-x", alpha=0.1), ABC, ITEMS, None),
        (board.design, ("a", "b"), ITEMS, None),
        (board.design, ABC, ITEMS[:5], None),
        (board.design, ABC, ITEMS, ("x",) * 6),
    ):
        with refusal(board, message):
            Board.create(board.name, design, models=models, items=items, blocks=blocks)


def test_the_same_design_again_changes_nothing(board):
    head = board.head
    assert Board.create(board.name, board.design, models=ABC, items=ITEMS).head == head
    assert Board.open(board.name).state.epoch.replicates == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ("a",)}, "1 models given"),
        ({"models": ("a", "a")}, "model 'a' is named twice"),
        ({"models": ("a", "")}, "every model needs a name"),
        ({"items": ("q", "q")}, "item 'q' is named twice"),
        ({"items": ()}, "0 items given"),
        ({"blocks": ("x",)}, "6 items but 1 block labels"),
        ({"family": "pilot-top-k", "k": 3, "pilot": 1}, "k = 3 leaves nothing to compare with 3 models"),
    ],
)
def test_boards_that_cannot_be_made_leave_no_file(tmp_path, options, message):
    with pytest.raises(BbedgeError, match=message):
        make(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BoardError, match="the folder does not exist; make it first"):
        make(tmp_path / "no")


def test_a_board_that_is_not_there(tmp_path):
    with pytest.raises(BoardError, match="there is no such board; make one with bbedge board init"):
        Board.open(tmp_path / "no")
    assert list(tmp_path.iterdir()) == []


# The budget ----------------------------------------------------------------------------------------------------------


def test_a_spent_budget(tmp_path, rng):
    board = make(tmp_path, spending="equal", shares=2)
    board.add(runs(rng, ABC, 2))
    board.add_model("d", runs(rng, ("d",), 2))
    assert board.state.next_level() == 0.0
    assert board.state.spent <= 0.05
    with refusal(board, "the error budget is spent: 2 claims have used 0.05 of 0.05, .* for this model; start a new"):
        board.add_model("e", runs(rng, ("e",), 2))
    with refusal(board, "the error budget is spent: .* nothing is left for this benchmark; start a new board"):
        board.add_items(["x"])
    # What has been paid for goes on.
    assert board.add(runs(rng, (*ABC, "d"))).replicates == (3,)


def test_one_share_pays_for_one_claim(tmp_path, rng):
    board = make(tmp_path, spending="equal", shares=1)
    assert board.state.stages[0].level == pytest.approx(0.05)
    with refusal(board, "budget is spent"):
        board.add_items(["x"])


# Items and models ----------------------------------------------------------------------------------------------------


def test_items_that_exist(board):
    with refusal(board, "item 'q3' is on the board already; new items need new names"):
        board.add_items(["x", "q3"])
    board.add_items(["x"])
    with refusal(board, "item 'x' is on the board already"):
        board.add_items(["y", "x"])


@pytest.mark.parametrize(
    ("items", "blocks", "message"),
    [
        (["x", "x"], None, "item 'x' is named twice"),
        ([""], None, "every item needs a name"),
        (["x", "y"], ["b"], "block labels"),
    ],
)
def test_items_that_cannot_be(board, items, blocks, message):
    with refusal(board, message, DesignError):
        board.add_items(items, blocks)


def test_no_new_items_are_no_new_version(board):
    """A version with the same items would spend budget and lose evidence for nothing."""
    with refusal(board, "item", BbedgeError):
        board.add_items([])


def test_a_model_that_exists(board, rng):
    with refusal(board, "model 'b' is on the board already"):
        board.add_model("b", runs(rng, ("b",), 2))
    board.retire("b")
    with refusal(board, "model 'b' is on the board already"):
        board.add_model("b", runs(rng, ("b",), 2))
    board.add_items(["x"])
    assert board.state.active == ["a", "c"]
    with refusal(board, "model 'b' is on the board already"):
        board.add_model("b", Scores.of(np.zeros((0, 1, 7)), models=["b"], items=[*ITEMS, "x"]))


@pytest.mark.parametrize("given", [0, 1, 3, 4])
def test_fewer_or_more_runs_than_the_pairing_rule_joins(board, rng, given):
    with refusal(board, f"{given} runs of 'z' given; the pairing rule of the design joins exactly 2: one with each of"):
        board.add_model("z", runs(rng, ("z",), given))


@pytest.mark.parametrize("given", [1, 3, 5])
def test_pairing_with_the_first_replicates(tmp_path, rng, given):
    board = make(tmp_path, pairing="first", first=2)
    board.add(runs(rng, ABC, 5))
    with refusal(board, f"{given} runs of 'z' given; .* joins exactly 2: one with each of the first replicates"):
        board.add_model("z", runs(rng, ("z",), given))
    board.add_model("z", runs(rng, ("z",), 2))


def test_files_of_another_model(board, rng):
    with refusal(board, "the files hold the scores of 'y'; expected 'z' alone"):
        board.add_model("z", runs(rng, ("y",), 2))
    with refusal(board, "the files hold the scores of 'z', 'y'; expected 'z' alone"):
        board.add_model("z", runs(rng, ("z", "y"), 2))


def test_a_new_model_with_other_items(board, rng):
    with refusal(board, "1 of 6 items of the benchmark are not in the files: 'q5'"):
        board.add_model("z", runs(rng, ("z",), 2, items=ITEMS[:5]))
    with refusal(board, "1 items that are not part of the benchmark: 'x'"):
        board.add_model("z", runs(rng, ("z",), 2, items=(*ITEMS, "x")))


def test_retiring_twice_or_a_stranger(board):
    with refusal(board, "model 'z' is not on the board; the active models are 'a', 'b', 'c'"):
        board.retire("z")
    board.retire("b")
    with refusal(board, "model 'b' is retired already"):
        board.retire("b")
    board.add_items(["x"])
    with refusal(board, "model 'b' is retired already"):
        board.retire("b")


def test_new_items_for_fewer_than_two_models(board):
    board.retire("a")
    board.retire("b")
    with refusal(board, "fewer than two models are active; nothing is left to compare"):
        board.add_items(["x"])


def test_an_epoch_that_is_not_there(board):
    for epoch in (0, 2, -1):
        with pytest.raises(BoardError, match=f"there is no epoch {epoch}; the board has epochs 1 to 1"):
            board.leaderboard(epoch)


# Pilots --------------------------------------------------------------------------------------------------------------


def test_everything_waits_for_the_pilot(piloting, rng):
    with refusal(piloting, "the pilot is not finished; add the model afterwards"):
        piloting.add_model("z", runs(rng, ("z",), 1))
    with refusal(piloting, "the pilot is not finished; add the items afterwards"):
        piloting.add_items(["x"])
    with refusal(piloting, "the pilot is not finished; retire the model afterwards"):
        piloting.retire("a")
    with refusal(piloting, "the replicate lacks model 'c'"):
        piloting.add(runs(rng, ("a", "b"), start=2))


def test_a_pilot_panel_is_not_evidence(tmp_path, rng):
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=2)
    pilot = runs(rng, ABC, 2, start=1)
    board.add(pilot)
    message = "Replicates '2', '3' have the same score .* The runs of a pilot .* cannot be evidence as well"
    with refusal(board, message, CopiedReplicateError):
        board.add(replace(pilot, values=pilot.values[1:], replicates=("3",)))
    assert board.add(pilot).already_pilots == (1, 2)
    assert board.state.epoch.replicates == 0


def test_a_pilot_panel_is_not_evidence_after_a_model_has_left(tmp_path, rng):
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=1)
    pilot = values(rng, ABC)
    board.add(scores(pilot, ABC, start=1))
    board.retire("c")
    with refusal(board, "pilot", CopiedReplicateError):
        board.add(scores(pilot[:, :2], ("a", "b"), start=2))


def test_a_pilot_panel_copied_inside_the_pilot(piloting, rng):
    array = np.repeat(values(rng, ABC), 2, axis=0)
    with refusal(piloting, "Replicates '2', '3' have the same score", CopiedReplicateError):
        piloting.add(scores(array, ABC, start=2))


def test_a_replicate_has_one_number(tmp_path, rng):
    """What was added as a number is known by that number afterwards."""
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=2)
    three = runs(rng, ABC, 3, start=1)
    added = board.add(three)
    again = board.add(three)
    assert (again.already_pilots, again.already) == (added.pilots, added.replicates) == ((1, 2), (1,))


def test_a_candidate_that_has_left(tmp_path, rng):
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=1)
    (best,) = board.add(runs(rng, ABC)).candidate
    board.add(runs(rng, ABC))
    board.retire(best)
    with refusal(board, "every model of the Top-k candidate has been retired; nothing is left to certify"):
        board.add_items(["x"])


def test_names_that_cannot_be_stored(tmp_path, rng):
    """Half a surrogate pair is no text; JSON can spell it."""
    with pytest.raises(BbedgeError):
        make(tmp_path, models=("a", "\udcff")).add(runs(rng, ("a", "\udcff")))
