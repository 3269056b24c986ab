"""Several real processes at one board: no replicate is lost or doubled, and readers are never disturbed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbedge.board import Board, BoardDesign
from bbedge.verify.ledger import verify

SCRIPT = Path(__file__).with_name("board_writer.py")
_spec = importlib.util.spec_from_file_location("board_writer", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
writer = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(writer)


class Writer:
    """A process with the board open."""

    def __init__(self, place: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, label: str | None, seed: int, **options: bool) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"label": label, "seed": seed, **options}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, object]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture
def board(place) -> Board:
    return Board.create(place, BoardDesign(), models=writer.MODELS, items=writer.ITEMS)


@pytest.fixture
def writers(board, place) -> Iterator[tuple[Writer, Writer]]:
    pair = Writer(place), Writer(place)
    for each in pair:
        assert each.answer() == {"ready": True}
    yield pair
    for each in pair:
        each.close()


def at_once(board: Board, writers: tuple[Writer, Writer], tasks: list[tuple[str | None, int]]) -> list[dict]:
    """Both write at the same moment: they are made to wait behind a transaction, which is then let go."""
    answers: list[dict] = [{}, {}]

    def receive(index: int) -> None:
        answers[index] = writers[index].answer()

    threads = [threading.Thread(target=receive, args=(index,)) for index in range(2)]
    with board.store.write():
        for each, task in zip(writers, tasks, strict=True):
            each.ask(*task)
        for thread in threads:
            thread.start()
            thread.join(0.4)
        assert answers == [{}, {}], "a writer did not wait for the one before"
    for thread in threads:
        thread.join(60)
    return answers


def seeds(place: str) -> list[dict[str, str]]:
    return [dict(event.content.vectors) for event in Board.open(place).events[1:]]


@pytest.mark.nightly
def test_two_that_want_the_same_number_with_other_scores(board, place, writers):
    answers = at_once(board, writers, [("1", 1), ("1", 2)])
    assert sorted(map(sorted, answers)) == [["added", "already"], ["error"]]
    told = next(answer["error"] for answer in answers if "error" in answer)
    assert "replicate 1 is on the board already, with other scores" in told
    assert [event.kind for event in Board.open(place).events] == ["init", "replicate"]
    assert verify(board.store).vectors == 3


@pytest.mark.every_push("the contract of two writers")
def test_two_that_bring_the_same_replicate(board, place, writers):
    answers = at_once(board, writers, [("1", 1), ("1", 1)])
    assert sorted(answers, key=str) == [{"added": [1], "already": []}, {"added": [], "already": [1]}]
    assert Board.open(place).leaderboard().replicates == 1
    assert verify(board.store).vectors == 3


@pytest.mark.nightly
def test_two_that_bring_this_one_and_the_next(board, place, writers):
    first, second = at_once(board, writers, [("1", 1), ("2", 2)])
    assert first == {"added": [1], "already": []}
    if "error" in second:
        assert "replicate 2 is out of order: the next one is 1" in second["error"]
        writers[1].ask("2", 2)
        second = writers[1].answer()
    assert second == {"added": [2], "already": []}
    assert verify(board.store).events == 3


@pytest.mark.nightly
def test_two_without_numbers_both_find_a_place(board, place, writers):
    answers = at_once(board, writers, [(None, 1), (None, 2)])
    assert sorted(answer["added"] for answer in answers) == [[1], [2]]
    assert verify(board.store).vectors == 6


@pytest.mark.nightly
def test_two_that_take_turns_while_others_read(board, place, writers):
    """The leaderboard is read, checked and exported all the time; every reader finds a board that is in order."""
    total = 24
    for number in range(1, total + 1):
        writers[number % 2].ask(str(number), number, until_in_order=True)
    done = threading.Event()

    def receive() -> None:
        for number in range(1, total + 1):
            assert writers[number % 2].answer() == {"added": [number], "already": []}
        done.set()

    thread = threading.Thread(target=receive)
    thread.start()
    seen = [0]
    while thread.is_alive():
        reader = Board.open(place)
        verify(reader.store)
        seen.append(reader.leaderboard().replicates)
        assert len(reader.events) == seen[-1] + 1
    thread.join()
    assert done.is_set()
    assert seen == sorted(seen)
    alone = Board.open(place)
    assert alone.leaderboard().replicates == total
    assert verify(alone.store).vectors == 3 * total


def test_a_board_that_was_opened_before_another_wrote_still_appends_behind(board, place):
    early = Board.open(place)
    board.add(writer.replicate("1", 1))
    assert early.leaderboard().replicates == 0
    assert early.add(writer.replicate("2", 2)).replicates == (2,)
    assert early.leaderboard().replicates == 2


@pytest.mark.nightly
def test_two_that_make_the_board_at_once(place):
    """One of them makes it; for the other it is there already, with the same design."""
    script = (
        "import sys\n"
        "from bbedge.board import Board, BoardDesign\n"
        "sys.stdin.readline()\n"
        "print(Board.create(sys.argv[1], BoardDesign(), models=['a', 'b'], items=['q']).head)\n"
    )
    pair = [
        subprocess.Popen(
            [sys.executable, "-c", script, place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    results = [process.communicate("go\n", timeout=60) for process in pair]
    assert [error for _, error in results] == [""] * 4
    assert {head.strip() for head, _ in results} == {Board.open(place).head}
    assert len(Board.open(place).events) == 1
