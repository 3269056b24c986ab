"""Recorded histories of many processes at one place, compared with what a board promises.

Every acknowledged event is in the ledger once; what anybody saw is a prefix of what is there in the end; an operation
that began after another had ended sees what that one did; and a board, once acknowledged, is never gone unless it was
deleted. The checker itself is shown faults that it must find.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbedge.board import Board
from bbedge.verify.ledger import verify

SCRIPT = Path(__file__).with_name("board_history.py")
Record = dict[str, Any]


def run(place: str, folder: Path, seed: int, *, deletes: bool = False, operations: int = 5) -> list[Record]:
    folder.mkdir()
    task = {
        "place": place,
        "folder": str(folder),
        "seed": seed,
        "processes": 8,
        "operations": operations,
        "deletes": deletes,
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def problems(history: list[Record], last: list[str] | None) -> list[str]:
    """What contradicts the promises. ``last`` is the chain of the board that is there in the end, if there is one."""
    found = [f"crashed: {record['words']}" for record in history if record["outcome"] == "crashed"]
    done = sorted((record for record in history if record["outcome"] == "done"), key=lambda record: record["ended"])
    deletions = [record for record in done if record["operation"] == "delete"]
    final = {record["chain"][0]: record["chain"] for record in deletions}
    if last is not None:
        final[last[0]] = last
    for record in done:
        whole = final.get(record["chain"][0])
        if whole is None:
            found.append(f"{record['operation']} was acknowledged on a board that nobody deleted and that is gone")
        elif whole[: len(record["chain"])] != record["chain"]:
            found.append(f"{record['operation']} saw a history that is not the beginning of the final one")
    own = [event for record in done for event in record["new"]]
    if len(set(own)) < len(own):
        found.append("an event was acknowledged twice")
    began = {tuple(record["chain"]) for record in done if record["operation"] in ("init", "import_")}
    for whole in final.values():
        base = min((len(each) for each in began if list(each) == whole[: len(each)]), default=0)
        if not base:
            found.append("nobody acknowledged making the board")
        if [event for event in whole[base:] if event not in own]:
            found.append("the ledger has an event that nobody acknowledged")
    imports = [record["chain"][0] for record in done if record["operation"] == "import_"]
    if not deletions and len(imports) > 1:
        found.append("two imports into one place were acknowledged")
    return found + _out_of_order(history, done, deletions)


def _out_of_order(history: list[Record], done: list[Record], deletions: list[Record]) -> list[str]:
    """Operations that did not see what had ended before they began; a deletion begins a new life."""
    found = []
    for record in history:
        earlier = [each for each in done if each["ended"] < record["began"]]
        cut = max((each["ended"] for each in earlier if each["operation"] == "delete"), default=float("-inf"))
        seen = max((len(each["chain"]) for each in earlier if each["began"] > cut), default=0)
        overtaken = any(each["ended"] > record["began"] and each["began"] < record["ended"] for each in deletions)
        if seen and not overtaken and record["outcome"] == "missing":
            found.append(f"{record['operation']} found no board after one had been acknowledged: {record['words']}")
        # An import acknowledges the archive, not what others have added since.
        if record["outcome"] == "done" and record["operation"] != "import_" and len(record["chain"]) < seen:
            found.append(f"{record['operation']} saw less than what had been acknowledged before it began")
    return found


def final_chain(place: str) -> list[str]:
    board = Board.open(place)
    verify(board.store)
    return [event.hash for event in board.events]


FIRST = pytest.param(0, marks=pytest.mark.every_push("the contract of processes that use one board together"))
MORE = [pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2)]


@pytest.mark.parametrize("seed", [FIRST, *MORE])
def test_a_history_without_deletions_is_that_of_one_board(new_place, kind, tmp_path, seed):
    place = new_place(kind)
    history = run(place, tmp_path / "work", seed)
    assert problems(history, final_chain(place)) == []
    # The history must have had something to it.
    kinds = {record["operation"] for record in history if record["outcome"] == "done"}
    assert len(kinds) >= 3
    assert any(record["outcome"] == "refused" for record in history)
    own = {Path(place).name, f"{Path(place).name}.heads.jsonl"}
    left = [file for file in tmp_path.iterdir() if not file.is_dir() and file.name not in own]
    assert left == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
def test_a_history_with_deletions_is_one_of_several_boards(new_place, tmp_path, seed):
    place = new_place("sqlite")
    history = run(place, tmp_path / "work", seed, deletes=True, operations=8)
    last = final_chain(place) if Path(place).exists() else None
    assert problems(history, last) == []
    assert any(record["operation"] == "delete" and record["outcome"] == "done" for record in history)


def record(operation: str, began: float, chain: str, new: str = "", outcome: str = "done") -> Record:
    return {
        "process": 1,
        "operation": operation,
        "began": began,
        "ended": began + 0.5,
        "outcome": outcome,
        "chain": list(chain),
        "new": list(new),
        "words": "",
    }


SOUND = [record("init", 0, "a"), record("add", 1, "ab", "b"), record("show", 2, "ab"), record("add", 3, "abc", "c")]

FAULTS: dict[str, tuple[Callable[[], list[Record]], str | None, str]] = {
    "a lost event": (lambda: SOUND, "ab", "not the beginning"),
    "a board that is gone": (lambda: SOUND, None, "is gone"),
    "another board in its place": (lambda: [*SOUND, record("import_", 4, "xy")], "xy", "is gone"),
    "a doubled event": (lambda: [*SOUND, record("add", 4, "abc", "c")], "abc", "twice"),
    "an event of nobody": (lambda: SOUND, "abcd", "nobody acknowledged"),
    "a stale view": (lambda: [*SOUND, record("show", 9, "a")], "abc", "saw less"),
    "a board that is not found": (lambda: [*SOUND, record("add", 9, "", outcome="missing")], "abc", "found no board"),
    "a traceback": (lambda: [*SOUND, record("add", 9, "", outcome="crashed")], "abc", "crashed"),
    "two imports": (
        lambda: [record("import_", 0, "ab"), record("import_", 1, "ab"), record("show", 2, "ab")],
        "ab",
        "two imports",
    ),
    "a deletion that lost what came after": (
        lambda: [*SOUND, record("delete", 4, "ab")],
        None,
        "not the beginning",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_finds_a_planted_fault(fault):
    assert problems(SOUND, list("abc")) == []
    assert problems([*SOUND, record("delete", 4, "abc"), record("init", 5, "x")], ["x"]) == []
    history, last, words = FAULTS[fault]
    assert any(words in each for each in problems(history(), None if last is None else list(last)))
