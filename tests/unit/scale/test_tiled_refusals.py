"""What a tiled run refuses, and how it says so."""

import errno
import json
import shutil

import numpy as np
import pytest

from bbedge.errors import DataError, DesignError, DomainError
from bbedge.scale import TiledLeaderboard
from bbedge.scale.folder import locked
from unit.scale.runs import a_design, contents, panels

DESIGN = a_design(6, 10)
FIRST, SECOND, THIRD = panels(DESIGN, 3)


@pytest.fixture
def board(tmp_path):
    board = TiledLeaderboard.create(tmp_path / "run", DESIGN, tile=4)
    board.update(FIRST)
    return board


def changed(panel, row, col, value):
    panel = panel.copy()
    panel[row, col] = value
    return panel


@pytest.mark.parametrize(
    ("panel", "told"),
    [
        (FIRST[:, :9], "expected 6 models x 10 items"),
        (FIRST[:5], "expected 6 models x 10 items"),
        (changed(FIRST, 5, 3, np.nan), "nan of model 'm5' on item 'q3'"),
        (changed(FIRST, 4, 9, 1.5), "1.5 of model 'm4' on item 'q9'"),
        ([["a"] * 10] * 6, "not a table of numbers"),
        ([[1.0], [1.0, 0.0]], "rows of one length"),
        ("absent.npy", "absent.npy: cannot be read"),
    ],
)
def test_a_wrong_panel_changes_nothing(board, tmp_path, panel, told):
    before = contents(tmp_path / "run")
    with pytest.raises(DataError, match=told):
        board.update(panel)
    assert contents(tmp_path / "run") == before
    assert board.update(SECOND).replicate == 2


def test_a_file_that_is_no_array_is_named(board, tmp_path):
    (tmp_path / "panel.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match=r"panel\.npy: not an array"):
        board.update(tmp_path / "panel.npy")


@pytest.mark.parametrize("kind", ["state", "log_e", "certified"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone"])
def test_a_damaged_tile_is_named_and_nothing_is_certified_from_it(board, tmp_path, kind, damage):
    file = tmp_path / "run" / "tiles" / f"0001-0000.{kind}.npz"
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") - 1] ^= 0xFF  # the last number, just before the list of contents
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes({"cut": content[: len(content) // 3], "flipped": content, "empty": b""}[damage])
    # The evidence is made anew by every update, and read between updates.
    use = (lambda: board.tile(1, 0)) if kind == "log_e" else (lambda: board.update(SECOND))
    with pytest.raises(DataError, match=rf"0001-0000\.{kind}\.npz"):
        use()
    assert board.replicates == 1


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_strip_is_named(board, tmp_path, damage):
    file = tmp_path / "run" / "strips" / "0001.npz"
    content = file.read_bytes()
    file.unlink() if damage == "gone" else file.write_bytes(content[:-9])
    with pytest.raises(DataError, match=r"0001\.npz"):
        board.update(SECOND)


def test_a_tile_of_an_earlier_look_is_out_of_step(board, tmp_path):
    file = tmp_path / "run" / "tiles" / "0000-0001.state.npz"
    old = file.read_bytes()
    board.update(SECOND)
    file.write_bytes(old)
    with pytest.raises(DataError, match=r"0000-0001\.state\.npz: has 1 replicates where replicate 3"):
        board.update(THIRD)
    file.write_bytes(old)
    with pytest.raises(DataError, match="replicate 3 is not complete"):
        board.lower_bounds(0, 1)


def test_a_file_of_another_design_is_refused(board, tmp_path):
    other = TiledLeaderboard.create(tmp_path / "other", a_design(6, 10, tau=0.01), tile=4)
    other.update(FIRST)
    name = "tiles/0000-0001.state.npz"
    (tmp_path / "run" / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.raises(DesignError, match="another design"):
        board.update(SECOND)


def test_opening_with_another_design_is_refused(board, tmp_path):
    assert TiledLeaderboard.open(tmp_path / "run", DESIGN).replicates == 1
    for other in (a_design(6, 10, alpha=0.01), a_design(6, 11)):
        with pytest.raises(DesignError, match="another design"):
            TiledLeaderboard.open(tmp_path / "run", other)
    with pytest.raises(DesignError, match="already holds"):
        TiledLeaderboard.create(tmp_path / "run", DESIGN)


def test_opening_what_is_no_run_or_was_edited_is_refused(board, tmp_path):
    with pytest.raises(DataError, match="no tiled run here"):
        TiledLeaderboard.open(tmp_path)
    file = tmp_path / "run" / "design.json"
    content = json.loads(file.read_text())
    for edited in ({**content, "tile": 3}, {**content, "design": {**content["design"], "alpha": 0.5}}, []):
        file.write_text(json.dumps(edited))
        with pytest.raises(DataError, match=r"design\.json: damaged"):
            TiledLeaderboard.open(tmp_path / "run")


def test_a_damaged_journal_is_named(board, tmp_path):
    for text in ("", "{}", '{"looks": [{"replicate": 1}], "begun": null}'):
        (tmp_path / "run" / "journal.json").write_text(text)
        with pytest.raises(DataError, match=r"journal\.json: damaged"):
            board.update(SECOND)


def test_designs_and_tiles_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(DesignError, match=r"all models at once.*running-mean"):
        TiledLeaderboard.create(tmp_path / "run", a_design(prediction="two-way"))
    with pytest.raises(DesignError, match="item weights"):
        TiledLeaderboard.create(tmp_path / "run", a_design(weights=range(40)))
    with pytest.raises(DesignError, match="do not support views"):
        TiledLeaderboard.create(tmp_path / "run", a_design(views={"first": [1.0] + [0.0] * 39}))
    with pytest.raises(DesignError, match="missing scores"):
        TiledLeaderboard.create(tmp_path / "run", a_design(gaps="worst-case"))
    with pytest.raises(DomainError, match="at least 1"):
        TiledLeaderboard.create(tmp_path / "run", DESIGN, tile=0)
    assert not (tmp_path / "run").exists()


def test_what_is_not_there_is_not_given(board):
    with pytest.raises(DomainError, match="from 0 to 1"):
        board.tile(0, 2)
    with pytest.raises(DomainError, match="from 0 to 1"):
        board.lower_bounds(-1, 0)
    with pytest.raises(DomainError, match="serial, joblib, ray"):
        board.update(SECOND, backend="dask")


def test_a_replicate_that_is_in_is_not_taken_in_again(board, tmp_path):
    look = board.update(SECOND, replicate=2)
    before = contents(tmp_path / "run")
    assert board.update(SECOND, replicate=2) == look
    assert board.update(FIRST, replicate=1) == board.looks[0]
    assert contents(tmp_path / "run") == before
    with pytest.raises(DataError, match="replicate 1 was added with another panel"):
        board.update(SECOND, replicate=1)
    for number in (0, 4):
        with pytest.raises(DataError, match="the next is 3"):
            board.update(THIRD, replicate=number)
    with pytest.raises(DataError, match=r"replicate 2 again.*replicate=3"):
        board.update(SECOND)
    assert contents(tmp_path / "run") == before
    assert board.update(SECOND, replicate=3).replicate == 3


def test_a_replicate_that_has_begun_is_finished_with_its_own_panel(board, tmp_path, monkeypatch):
    def fails(task):
        raise DataError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("bbedge.scale.leaderboard.certify", fails)
        with pytest.raises(DataError, match="the disk is full"):
            board.update(SECOND)
    for read in (board.means, board.graph, board.current_graph, board.rank_intervals, lambda: board.tile(0, 0)):
        with pytest.raises(DataError, match="replicate 2 is not complete"):
            read()
    with pytest.raises(DataError, match="finish it with that panel"):
        board.update(THIRD)
    board.update(SECOND)
    whole = TiledLeaderboard.create(tmp_path / "whole", DESIGN, tile=4)
    for panel in (FIRST, SECOND):
        whole.update(panel)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_two_processes_do_not_update_at_once(board, tmp_path):
    with locked(tmp_path / "run" / "lock"), pytest.raises(DataError, match="another process is updating"):
        board.update(SECOND)
    board.update(SECOND)


def test_a_file_system_without_locks_is_used_without(board, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOSYS, "not implemented")

    monkeypatch.setattr("fcntl.flock", no_locks)
    assert board.update(SECOND).replicate == 2


def test_a_folder_that_is_gone_is_named(board, tmp_path):
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(DataError, match="lock: cannot be written"):
        board.update(SECOND)
