"""Adds to boards in child processes and kills them: ``board_kills.py moments|statements FOLDER SEED KILLS SECONDS``.

A process of its own, because it forks: the libraries are loaded once and a child is ready in a few milliseconds.
Prints what happened as JSON; anything that is not as promised raises.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.verify.ledger import verify, verify_session

MODELS = ("weak", "middle", "strong")
ITEMS = tuple(f"q{i}" for i in range(16))
KILLS_OF_A_BOARD = 30
CHECK_EVERY = 15


def scores(first: int, models: tuple[str, ...] = MODELS, items: tuple[str, ...] = ITEMS, replicates: int = 1) -> Scores:
    """Replicates with the numbers from ``first``; the same number has the same scores."""
    chances = np.linspace(0.1, 0.9, len(models))[:, None]
    values = [np.random.default_rng(first + r).random((len(models), len(items))) < chances for r in range(replicates)]
    return Scores(
        models=models,
        items=items,
        blocks=items,
        replicates=tuple(str(first + r) for r in range(replicates)),
        values=np.array(values, dtype=np.float64),
    )


def in_child(work: Callable[[int], None]) -> tuple[int, int]:
    """Run in a child that is handed a pipe to report on; its process number and the reading end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(writing)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    return child, reading


def create(path: Path) -> Board:
    return Board.create(path, BoardDesign(), models=MODELS, items=ITEMS)


def kill_at_moments(folder: Path, seed: int, kills: int, seconds: float) -> dict[str, int]:
    """Children add replicate after replicate until they are killed, at any moment."""
    rng = np.random.default_rng(seed)
    deadline = time.monotonic() + seconds
    count = {"kills": 0, "boards": 0, "replicates": 0, "unreported": 0, "journals": 0, "verified": 0}
    while count["kills"] < kills and time.monotonic() < deadline:
        path = folder / f"board{count['boards']}.db"
        count["boards"] += 1
        create(path).close()
        saved = 0
        for turn in range(min(KILLS_OF_A_BOARD, kills - count["kills"])):
            child, reports = in_child(partial(add_forever, path))
            assert os.read(reports, 1) == b"r", "the board does not open after a kill"
            time.sleep(rng.uniform(0.001, 0.060))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status), "the child ended by itself"
            with os.fdopen(reports, "rb") as pipe:
                told = np.frombuffer(pipe.read(), dtype=np.uint8)
            count["kills"] += 1
            count["journals"] += Path(f"{path}-wal").exists()
            reported = saved + len(told)
            held = Board.open(path).state.epoch.replicates
            assert held in (reported, reported + 1), f"{reported} replicates were reported, the board holds {held}"
            count["unreported"] += held - reported
            if held:
                again = Board.open(path).add(scores(held))
                assert (again.replicates, again.already) == ((), (held,)), again
            if turn % CHECK_EVERY == CHECK_EVERY - 1:
                assert verify(Board.open(path).store).vectors == held * len(MODELS)
                count["verified"] += 1
            saved = held
        assert verify(Board.open(path).store).events == saved + 1
        count["verified"] += 1
        count["replicates"] += saved
    return count


def add_forever(path: Path, pipe: int) -> None:
    board = Board.open(path)
    number = board.state.epoch.replicates + 1
    os.write(pipe, b"r")
    while True:
        assert board.add(scores(number)).replicates == (number,)
        os.write(pipe, b"+")
        number += 1


def kill_at_statements(folder: Path) -> dict[str, int]:
    """Every kind of change, killed before each of its SQL statements and commits in turn."""

    def add_two(path: Path) -> None:
        Board.open(path).add(scores(2, replicates=2))

    def add_model(path: Path) -> None:
        Board.open(path).add_model("new", scores(1, models=("new",)))

    def add_items(path: Path) -> None:
        Board.open(path).add_items(["more"])

    def retire(path: Path) -> None:
        Board.open(path).retire("middle")

    def import_archive(path: Path) -> None:
        import_lines(start, path, source="archive", verify=verify_session)

    template = folder / "template.db"
    create(template).add(scores(1))
    start = content(template)
    count = {"kills": 0, "nothing": 0, "everything": 0}
    for change in (create, import_archive, add_two, add_model, add_items, retire):
        makes = change in (create, import_archive)
        whole = None
        # 0: not killed, to see what the whole change is. An import has many statements that are alike.
        for at in range(0, 1000, 4 if change is import_archive else 1):
            path = folder / f"{change.__name__}{at}.db"
            if not makes:
                shutil.copy(template, path)
            before = [] if makes else start
            child, reports = in_child(partial(killed_at, at, partial(change, path)))
            _, status = os.waitpid(child, 0)
            os.close(reports)
            after = content(path)
            if whole is None:
                whole = len(after)
                assert whole > len(before)
                continue
            if not os.WIFSIGNALED(status):
                assert status == 0
                assert at > 4, "the statements were not counted"
                break
            count["kills"] += 1
            if after == before:
                count["nothing"] += 1
                change(path)  # done again, it goes through
            else:
                count["everything"] += 1
                assert len(after) == whole, f"{change.__name__} killed at statement {at} is there in part"
            assert len(content(path)) == whole
            if makes:
                left = [each.name for each in folder.iterdir() if each.name.startswith(f".{path.name}.")]
                assert all(".unfinished-board" in name for name in left), left
            if at % 4 == 0:
                verify(Board.open(path).store)
    return count


def content(path: Path) -> list[str]:
    """The archive; nothing where there is no board. A board that is there in part is an error."""
    try:
        store = Board.open(path).store
    except BoardError as error:
        if "there is no" in str(error):
            return []
        raise
    return list(export_lines(store))


def killed_at(number: int, change: Callable[[], object], _pipe: int) -> None:
    left = number

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    sa.event.listen(sa.Engine, "commit", count)
    change()


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    if kind == "statements":
        counts = kill_at_statements(folder)
    else:
        counts = kill_at_moments(folder, int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()
