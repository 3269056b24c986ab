"""A whole life of a board gives the same ledger and the same numbers wherever it is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.errors import BoardError, CopiedReplicateError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.verify.ledger import verify, verify_session

MODELS = ("weak", "middling ü", "strong '模型'")
ITEMS = tuple(f"q{i}" for i in range(30))
BLOCKS = tuple(f"b{i // 3}" for i in range(30))
MORE = tuple(f"r{i}" for i in range(9))
CHANCES = dict(zip((*MODELS, "newcomer"), (0.1, 0.5, 0.95, 0.02), strict=True))

DESIGNS = {
    "all": BoardDesign(),
    "planned": BoardDesign(planned=60, margin_share=0.5),
    "look by look": BoardDesign(method="bb-edge", evidence="betting", stakes="design"),
    "published": BoardDesign(method="bb-edge"),
    "pilot": BoardDesign(method="bb-edge-x", family="pilot-top-k", k=1, pilot=2, spending="equal", shares=4),
    "both targets": BoardDesign(target="both", looks=(1, 4, 6)),
    "graded": BoardDesign(method="bb-edge-x", tau=0.02, pairing="first", first=2),
}


def scores(models, items, seed, *, replicates=1, first=1, graded=False):
    rng = np.random.default_rng(seed)
    chances = np.array([CHANCES[model] for model in models])[None, :, None]
    values = (rng.random((replicates, len(models), len(items))) < chances).astype(float)
    if graded:
        values = 0.5 * values + 0.5 * rng.random(values.shape)
    return Scores(
        models=tuple(models),
        items=tuple(items),
        blocks=tuple(items),
        replicates=tuple(str(first + r) for r in range(replicates)),
        values=values,
    )


def live(place: str, name: str) -> Board:
    """Replicates, a new model, a retirement, new items, more replicates; through handles opened again and again."""
    design, graded = DESIGNS[name], name == "graded"
    Board.create(place, design, models=MODELS, items=ITEMS, blocks=BLOCKS)
    pilots = design.pilot or 0
    for number in range(1, pilots + 1):
        Board.open(place).add(scores(MODELS, ITEMS, number, first=number))
    Board.open(place).add(scores(MODELS, ITEMS, 10, replicates=4, first=pilots + 1, graded=graded))
    runs = Board.open(place).state.runs_needed()
    Board.open(place).add_model("newcomer", scores(["newcomer"], ITEMS, 20, replicates=runs, graded=graded))
    every = (*MODELS, "newcomer")
    Board.open(place).add(scores(every, ITEMS, 30, replicates=3, first=pilots + 5, graded=graded))
    Board.open(place).retire("middling ü")
    rest = tuple(model for model in every if model != "middling ü")
    Board.open(place).add(scores(rest, ITEMS, 40, first=pilots + 8, graded=graded))
    Board.open(place).add_items(MORE, [f"c{i // 3}" for i in range(9)])
    Board.open(place).add(scores(rest[::-1], (*MORE, *ITEMS), 50, replicates=6, graded=graded))
    return Board.open(place)


def numbers(board: Board) -> list[np.ndarray]:
    """All that the board concludes, over all epochs."""
    found = []
    for epoch in range(1, len(board.state.epochs) + 1):
        leaderboard = board.leaderboard(epoch)
        found += [
            leaderboard.means,
            leaderboard.log_e,
            leaderboard.log_thresholds,
            leaderboard.lower_bounds,
            leaderboard.first_certified,
            leaderboard.current_edges,
            leaderboard.edges,
        ]
    return found


def assert_same_numbers(one: Board, other: Board) -> None:
    for ours, theirs in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


MOSTLY_NIGHTLY = [name if name == "all" else pytest.param(name, marks=pytest.mark.nightly) for name in DESIGNS]


@pytest.mark.parametrize("name", MOSTLY_NIGHTLY)
def test_both_databases_hold_the_same_life(new_place, name):
    file = live(new_place("sqlite"), name)
    server = live(new_place("postgresql"), name)
    contents = [[(e.seq, e.kind, json.loads(e.payload)) for e in board.events] for board in (file, server)]
    assert contents[0] == contents[1]
    assert_same_numbers(file, server)
    assert (file.design, file.state.spent, file.state.active) == (
        server.design,
        server.state.spent,
        server.state.active,
    )
    one, other = verify(file.store), verify(server.store)
    assert (one.events, one.vectors, one.certificates, one.spent) == (
        other.events,
        other.vectors,
        other.certificates,
        other.spent,
    )
    assert one.certificates > 0


@pytest.mark.parametrize("name", MOSTLY_NIGHTLY)
def test_an_archive_moves_a_board_from_one_database_to_the_other_and_back(new_place, name):
    file = live(new_place("sqlite"), name)
    archive = list(export_lines(file.store))
    there, back = new_place("postgresql"), new_place("sqlite")
    assert import_lines(archive, there, source="archive", verify=verify_session).head == file.head
    lines = list(export_lines(Board.open(there).store))
    assert lines == archive
    import_lines(lines, back, source="archive", verify=verify_session)
    for place in (there, back):
        moved = Board.open(place)
        assert_same_numbers(moved, file)
        assert verify(moved.store) == verify(file.store)
    assert list(export_lines(Board.open(back).store)) == archive


def test_a_life_is_verified_and_survives_export_and_import(new_place, kind):
    board = live(new_place(kind), "all")
    checked = verify(board.store, head=board.head)
    assert checked.events == len(board.events) == 18
    archive = list(export_lines(board.store))
    copy = new_place(kind)
    assert import_lines(archive, copy, source="archive", verify=verify_session) == checked
    assert list(export_lines(Board.open(copy).store)) == archive
    with pytest.raises(BoardError, match="a board is here already"):
        import_lines(archive, copy, source="archive", verify=verify_session)
    assert list(export_lines(Board.open(copy).store)) == archive


def test_an_import_that_fails_leaves_a_place_that_can_be_used(new_place, kind):
    archive = list(export_lines(live(new_place(kind), "all").store))
    place = new_place(kind)
    damaged = [line.replace('"kind":"retire"', '"kind":"replicate"') for line in archive]
    assert damaged != archive
    with pytest.raises(BoardError, match="does not match its hash"):
        import_lines(damaged, place, source="archive", verify=verify_session)
    assert import_lines(archive, place, source="archive", verify=verify_session).events == len(archive) - 2


def test_the_same_design_again_changes_nothing_and_another_is_refused(place):
    board = Board.create(place, BoardDesign(), models=MODELS, items=ITEMS, blocks=BLOCKS)
    board.add(scores(MODELS, ITEMS, 1))
    before = list(export_lines(board.store))
    again = Board.create(place, BoardDesign(), models=MODELS, items=ITEMS, blocks=BLOCKS)
    assert again.head == board.head
    for design, models, items, blocks in (
        (BoardDesign(alpha=0.1), MODELS, ITEMS, BLOCKS),
        (BoardDesign(), MODELS[::-1], ITEMS, BLOCKS),
        (BoardDesign(), MODELS, ITEMS[:-1], BLOCKS[:-1]),
        (BoardDesign(), MODELS, ITEMS, ITEMS),
    ):
        with pytest.raises(BoardError, match=r"another design .* is here already"):
            Board.create(place, design, models=models, items=items, blocks=blocks)
    assert list(export_lines(Board.open(place).store)) == before


def test_a_refused_change_leaves_the_board_as_it_was(place):
    board = Board.create(place, BoardDesign(), models=MODELS, items=ITEMS)
    board.add(scores(MODELS, ITEMS, 1, replicates=2))
    before = list(export_lines(board.store))
    for change in (
        lambda: board.add(scores(MODELS, ITEMS, 5, replicates=2, first=3 + 1)),  # leaves one out
        lambda: board.add(scores(MODELS, ITEMS, 5, replicates=2, first=2)),  # the first of the two clashes
        lambda: board.add(scores(MODELS[:2], ITEMS, 5, first=3)),
        lambda: board.add_model("newcomer", scores(["newcomer"], ITEMS, 1)),
        lambda: board.add_model("weak", scores(["weak"], ITEMS, 1, replicates=2)),
        lambda: board.add_items(ITEMS[:1]),
        lambda: board.retire("nobody"),
    ):
        with pytest.raises(BoardError):
            change()
        assert list(export_lines(board.store)) == before
        assert board.head == Board.open(place).head
    assert board.add(scores(MODELS, ITEMS, 6, first=3)).replicates == (3,)


def test_when_a_later_replicate_of_a_batch_is_refused_none_is_kept(place):
    board = Board.create(place, BoardDesign(), models=MODELS, items=ITEMS)
    batch = scores(MODELS, ITEMS, 1, replicates=3)
    batch.values[2] = batch.values[0]  # replicate 3 copies replicate 1
    before = list(export_lines(board.store))
    with pytest.raises(CopiedReplicateError, match="the same score for every model on every item"):
        board.add(batch)
    assert list(export_lines(board.store)) == before
    assert board.leaderboard().replicates == 0
