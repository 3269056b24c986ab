"""Many processes at one board place, each recording what it did: ``board_history.py`` with a task as JSON on stdin.

A process of its own, because it forks: the libraries are loaded once. The task is ``{"place", "folder", "seed",
"processes", "operations", "deletes"}``; printed is the history, a list of records as JSON::

    {"process": 3, "operation": "add", "began": 12.1, "ended": 12.2, "outcome": "done", "chain": [...], "new": [...]}

``outcome`` is ``done``, ``refused`` (a message for the user), ``missing`` (there is no board) or ``crashed``. ``chain``
has the hashes of the ledger as the operation saw it, ``new`` those of the events that it acknowledged as its own.

SQLite forbids removing a file that is in use, so that a deletion waits until no other operation is at work. It records
the last chain of the board that it removed. Everything else happens at any moment.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.cli.board import import_
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError
from bbedge.ledger.archive import export_lines
from bbedge.ledger.chain import LedgerEvent

MODELS = ("weak", "middle", "strong")
ITEMS = ("q1", "q2", "q3")
SPREAD = 0.01  # seconds over which the processes start

Answer = tuple[list[str], list[str]]


def replicate(rng: np.random.Generator, items: tuple[str, ...], models: tuple[str, ...], replicates: int = 1) -> Scores:
    return Scores(
        models=models,
        items=items,
        blocks=items,
        replicates=tuple(str(r) for r in range(1, replicates + 1)),
        values=rng.random((replicates, len(models), len(items))),  # never twice the same
        numbered=False,
    )


def chain(board: Board) -> list[str]:
    return [event.hash for event in board.events]


class Process:
    """One of the processes: it does what its own random numbers say."""

    def __init__(self, number: int, task: dict[str, Any]) -> None:
        self.number = number
        self.place = task["place"]
        self.folder = Path(task["folder"])
        self.deletes = task["deletes"]
        self.rng = np.random.default_rng([task["seed"], number])
        self.turn = 0

    def run(self, operations: int) -> Iterator[dict[str, Any]]:
        time.sleep(self.rng.uniform(0.0, SPREAD))
        first: list[Callable[[], Answer]] = [self.init, self.import_, self.bad_import]
        later = [self.add, self.add, self.add_model, self.retire, self.show, self.show, *first]
        for self.turn in range(operations):
            if self.deletes and self.rng.random() < 0.1:
                yield self.record(self.delete, fcntl.LOCK_EX)
            choices = first if self.turn == 0 else later
            yield self.record(choices[self.rng.integers(len(choices))], fcntl.LOCK_SH)

    def record(self, operation: Callable[[], Answer], lock: int) -> dict[str, Any]:
        with (self.folder / "lock").open("ab") as file:
            fcntl.flock(file, lock)
            seen: list[str] = []
            new: list[str] = []
            words = ""
            began = time.monotonic()
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    seen, new = operation()
                outcome = "done"
            except BbedgeError as error:
                words = str(error)
                outcome = "missing" if "there is no" in words else "refused"
            except Exception:
                words = traceback.format_exc()
                outcome = "crashed"
            ended = time.monotonic()
        return {
            "process": self.number,
            "operation": operation.__name__,
            "began": began,
            "ended": ended,
            "outcome": outcome,
            "chain": seen,
            "new": new,
            "words": words,
        }

    def init(self) -> Answer:
        # Events carry the second; with an item of its own a board can be told from the next at the same place.
        own = f"q0-{self.number}-{self.turn}" if self.deletes else "q0"
        items = (*ITEMS, own)
        board = Board.create(self.place, BoardDesign(), models=MODELS, items=items)
        return chain(board), []

    def add(self) -> Answer:
        board = Board.open(self.place)
        board.add(replicate(self.rng, board.state.epoch.items, tuple(board.state.active)))
        return chain(board), chain(board)[-1:]

    def add_model(self) -> Answer:
        board = Board.open(self.place)
        name = f"model-{self.number}-{self.turn}"
        needed = board.state.runs_needed()
        board.add_model(name, replicate(self.rng, board.state.epoch.items, (name,), needed) if needed else None)
        return chain(board), chain(board)[-1:]

    def retire(self) -> Answer:
        board = Board.open(self.place)
        board.retire((board.state.active or ["none"])[-1])
        return chain(board), chain(board)[-1:]

    def show(self) -> Answer:
        return chain(Board.open(self.place)), []

    def import_(self) -> Answer:
        archive = self.folder / f"archive-{self.number}-{self.turn}.jsonl"
        hashes = redated(self.folder / "archive.jsonl", archive, f"2026-01-01T00:{self.number:02}:{self.turn:02}+00:00")
        import_(archive, self.place)
        return hashes, []

    def bad_import(self) -> Answer:
        """An archive whose end is wrong: it must be refused and touch nothing."""
        import_(self.folder / "bad.jsonl", self.place)
        raise AssertionError("a bad archive was imported")

    def delete(self) -> Answer:
        last = chain(Board.open(self.place))
        for ending in ("", "-wal", "-shm", ".heads.jsonl"):
            Path(f"{self.place}{ending}").unlink(missing_ok=True)
        return last, []


def redated(source: Path, archive: Path, at: str) -> list[str]:
    """Write the same archive of another time, so that the board made of it can be told from the next; its hashes."""
    head, *rows, cache = [json.loads(line) for line in source.read_text(encoding="ascii").splitlines()]
    last = None
    for row in rows:
        last = LedgerEvent.after(last, row["kind"], at, row["payload"])
        row |= {"at": at, "previous": last.previous, "hash": last.hash}
    head["head"] = rows[-1]["hash"]
    archive.write_text("".join(json.dumps(row) + "\n" for row in (head, *rows, cache)), encoding="ascii")
    return [row["hash"] for row in rows]


def prepare(folder: Path) -> None:
    """The archive of another board, and a bad one."""
    items = (*ITEMS, "imported")
    board = Board.create(folder / "source.db", BoardDesign(), models=MODELS, items=items)
    board.add(replicate(np.random.default_rng(0), items, MODELS))
    lines = list(export_lines(board.store))
    (folder / "archive.jsonl").write_text("".join(lines), encoding="ascii")
    bad = [*lines[:-2], lines[-2].replace(board.head, "f" * 64), lines[-1]]
    (folder / "bad.jsonl").write_text("".join(bad), encoding="ascii")
    (folder / "lock").touch()


def main() -> None:
    task = json.load(sys.stdin)
    folder = Path(task["folder"])
    prepare(folder)
    children = []
    for number in range(task["processes"]):
        child = os.fork()
        if child == 0:
            try:
                records = list(Process(number, task).run(task["operations"]))
                (folder / f"history-{number}.json").write_text(json.dumps(records), encoding="utf-8")
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0, "a process of the history died"
    histories = [json.loads((folder / f"history-{n}.json").read_text()) for n in range(task["processes"])]
    json.dump([record for history in histories for record in history], sys.stdout)


if __name__ == "__main__":
    main()
