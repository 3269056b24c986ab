"""Kills a judged study between two judgements of an answer, and runs it to the end: ``judged_kills.py FOLDER``.

A process of its own, because it forks. The child dies just before or just after a judgement is journaled, and another
one runs the same study to the end: the board must be, byte for byte, that of a study that was never killed, and a
judgement that was in the journal must not be asked for again. Prints what was asked again, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bbedge.ledger.chain
import fake_judge
from bbedge.board import Board
from bbedge.evaluate.engines.inspect import InspectEngine
from bbedge.evaluate.journal import ReplicateFile
from bbedge.evaluate.runner import evaluate
from bbedge.ledger.archive import export_lines
from bbedge.records.journal import Judged
from bbedge.verify.ledger import verify


class Clock(datetime):
    """A clock that stands still, so that the ledgers of two studies can be equal."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)


class Written(list[fake_judge.Request]):
    """Requests that are also in a file, which outlives the process that made them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = path.open("a")

    def append(self, request: fake_judge.Request) -> None:
        super().append(request)
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()


def die_at(moment: str, nth: int) -> None:
    """Die before or after the nth judgement is journaled."""
    add, seen = ReplicateFile.add, 0

    def dying(page: ReplicateFile, what: Any) -> None:
        nonlocal seen
        seen += isinstance(what, Judged)
        now = isinstance(what, Judged) and seen == nth
        if now and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        add(page, what)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)

    ReplicateFile.add = dying  # type: ignore[method-assign]


def run_in_child(folder: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Run the study in a child; the status that it ended with."""
    child = os.fork()
    if child == 0:
        prepare()
        run_in(folder)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def run_in(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    fake_judge.script.asked = Written(folder / "asked.jsonl")
    study = fake_judge.judged_study(folder, benchmark={"judge_repeats": 2})
    spent = evaluate(study, InspectEngine(study)).spent
    (folder / "spent.json").write_text(json.dumps([spent.used.calls, spent.useful, spent.failed, spent.lost]))


def board_in(folder: Path) -> bytes:
    with Board.open(folder / "study.bbedge") as board:
        verify(board.store)
        return "".join(export_lines(board.store)).encode()


def asked_in(folder: Path) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(json.loads(line)) for line in (folder / "asked.jsonl").open())


def main(folder: Path) -> None:
    bbedge.ledger.chain.datetime = Clock
    run_in(folder / "whole")  # here, so that the children need not import everything again
    assert threading.active_count() == 1, threading.enumerate()  # or a fork could hang
    whole, asked = board_in(folder / "whole"), asked_in(folder / "whole")
    again = {}
    for moment, nth in (("before", 2), ("after", 3)):
        killed = folder / f"{moment} {nth}"
        assert os.WIFSIGNALED(run_in_child(killed, lambda moment=moment, nth=nth: die_at(moment, nth)))
        (page,) = killed.rglob("replicate-*.jsonl")
        kept = [json.loads(line) for line in page.open() if '"judgement"' in line]
        assert len(kept) == (nth if moment == "after" else nth - 1)
        judged = sum(model == "judge" for model, *_ in asked_in(killed))
        assert run_in_child(killed) == 0
        assert board_in(killed) == whole, f"another board after a kill {moment} judgement {nth}"
        now = asked_in(killed)
        assert now.keys() == asked.keys()
        repeated = Counter(model for (model, *_), times in now.items() if times > 1)
        assert repeated["judge"] == judged - len(kept)
        used, useful, failed, lost = json.loads((killed / "spent.json").read_text())
        assert (useful, failed, used) == (asked.total(), 0, asked.total() + lost)
        assert lost >= now.total() - asked.total()
        again[f"{moment} {nth}"] = repeated
    sys.stdout.write(json.dumps(again))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
