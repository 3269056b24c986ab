"""Runs a study in child processes that kill themselves inside its first run: ``first_run_kills.py FOLDER KILLS``.

A process of its own, because it forks. A moment to die is just before and just after a sample is journaled, an event is
written in a transaction of the board, a change is committed, and a replicate is finished in the journal. Every child
begins from the same frozen board, and its study is then run to the end: the board must be, byte for byte, that of a
study that was never killed, and no sample may be finished twice. Prints the moments as JSON; anything else raises.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bbedge.ledger.chain
from bbedge.board import Board
from bbedge.evaluate.events import Dropped, Looked
from bbedge.evaluate.journal import Journal, ReplicateFile
from bbedge.evaluate.runner import evaluate
from bbedge.ledger.archive import export_lines
from bbedge.ledger.store import Session
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

# The first and the last model are decided inside the run, and the two others are open after it.
MODELS = SyntheticBenchmark(means=(0.97, 0.5, 0.48, 0.03), n_items=200, offset=0.0)
PLACES = ((ReplicateFile, "add"), (Session, "append"), (Board, "retire"), (Board, "add"))


class Clock(datetime):
    """A clock that stands still, so that the ledgers of two studies can be equal."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)


def hooked(moment: Callable[[str], None]) -> None:
    """Call this at every moment to die."""
    for owner, name in (*PLACES, (Journal, "finish")):
        method = getattr(owner, name)

        def calling(*args: Any, _method: Any = method, _name: str = f"{owner.__name__}.{name}", **options: Any) -> Any:
            called = f"{_name} upto" if options.get("upto") else _name
            moment(f"before {called}")
            result = _method(*args, **options)
            moment(f"after {called}")
            return result

        setattr(owner, name, calling)


def study_in(folder: Path, engine: FakeEngine, watch: Any = None, **options: Any) -> None:
    evaluate(fake_study(folder, MODELS, budget=2), engine, watch=watch, sleep=lambda _: None, **options)


def board_in(folder: Path) -> bytes:
    with Board.open(folder / "study.bbedge") as board:
        verify(board.store)
        return "".join(export_lines(board.store)).encode()


def killed(folder: Path, at: int) -> None:
    """Run the study in a child that dies at a moment."""
    child = os.fork()
    if child == 0:
        count = 0

        def die(_: str) -> None:
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

        hooked(die)
        study_in(folder, FakeEngine(MODELS, announces=True))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"moment {at} never came"


def moments_of(base: Path, folder: Path) -> tuple[list[str], list[int], bytes]:
    """Every moment of a study that is not killed, those that are near a look, and its board."""
    shutil.copytree(base, folder)
    child, (reading, writing) = 0, os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        seen: list[str] = []
        hooked(seen.append)
        events: list[object] = []
        study_in(folder, FakeEngine(MODELS, announces=True), watch=events.append)
        looks = [event for event in events if isinstance(event, Looked)]
        assert [event.checkpoint is not None for event in looks] == [True] * 8 + [False] * 2
        assert any(isinstance(event, Dropped) for event in events[: events.index(looks[8])])
        with os.fdopen(writing, "w") as file:
            json.dump(seen, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        seen = json.load(file)
    os.waitpid(child, 0)
    inside = seen[: seen.index("after Board.add") + 1]
    return inside, [place for place, name in enumerate(inside, 1) if "ReplicateFile" not in name], board_in(folder)


def main(folder: Path, kills: int) -> None:
    bbedge.ledger.chain.datetime = Clock
    base = folder / "base"
    base.mkdir(parents=True)
    study_in(base, FakeEngine(MODELS), at_most=0)
    moments, near, whole = moments_of(base, folder / "whole")
    others = [place for place in range(1, len(moments) + 1) if place not in near]
    of_looks = [near[i * len(near) // (kills // 2)] for i in range(kills // 2)]
    rest = kills - len(of_looks)
    of_samples = [others[i * (len(others) - 1) // rest + i % 2] for i in range(rest)]  # before and after
    for at in sorted({*of_looks, *of_samples}):
        shutil.copytree(base, folder / "killed")
        killed(folder / "killed", at)
        done = [line for page in (folder / "killed").rglob("replicate-*.jsonl") for line in page.open()]
        kept = sum('"scores"' in line for line in done)
        engine = FakeEngine(MODELS, announces=True)
        study_in(folder / "killed", engine)
        assert board_in(folder / "killed") == whole, f"another board after a kill {moments[at - 1]}, moment {at}"
        assert len(engine.ran) == len(set(engine.ran))
        usage = [json.loads(line) for line in (folder / "killed" / "study.run" / "usage.jsonl").open()]
        total = sum(line["samples"] for line in usage)
        assert kept + len(engine.ran) == total, (moments[at - 1], kept, len(engine.ran), total)
        shutil.rmtree(folder / "killed")
    sys.stdout.write(json.dumps([moments[at - 1] for at in sorted({*of_looks, *of_samples})]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
