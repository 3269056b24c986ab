"""Archives that were edited by somebody who can compute hashes: refused, or without any effect.

A forged archive must not end in a traceback, leave a file behind, or give a leaderboard that the honest one did not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.certificate.document import plain
from bbedge.certificate.of_board import board_document
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError
from bbedge.ledger.archive import import_lines
from bbedge.ledger.store import Store
from bbedge.records.events import ScoresAdded
from bbedge.verify.ledger import verify, verify_session
from unit.board import forging
from unit.board.boards import runs

LIVES = {
    "life": forging.whole_life,
    "pilot": forging.after_a_pilot,
    "views": forging.with_views_and_gaps,
    "parts": forging.in_parts_with_attempts,
    "targets": forging.of_both_targets,
}
FORGERS = {
    "content": (forging.forge_content, 100),
    "meaning": (forging.forge_meaning, 120),
    "events": (forging.forge_events, 50),
    "vectors": (forging.forge_vectors, 50),
    "cache": (forging.forge_cache, 55),
}  # five times 375 cases


@pytest.fixture(scope="module")
def lives(tmp_path_factory) -> dict[str, tuple[forging.Forged, list[Any]]]:
    made = {}
    for name, live in LIVES.items():
        board = live(tmp_path_factory.mktemp(name))
        archive, before = forging.parsed(board), documents(board)
        board.add(following(board))
        made[name] = archive, [*before, *documents(board)]
    return made


def following(board: Board) -> Scores:
    """The next replicate, always with the same scores."""
    return runs(np.random.default_rng(77), board.state.active, 1, board.state.epoch.items)


def documents(board: Board) -> list[Any]:
    """What the events call copies, and the leaderboards of all epochs.

    Left out is what an honest board with other times, notes, hidden rows and statements of trust would change.
    """
    contents = [event.content for event in board.events]
    found = [[content.copies for content in contents if isinstance(content, ScoresAdded)]]
    for number in range(1, len(board.state.epochs) + 1):
        content = plain(board_document(board, board.leaderboard(number), number))
        content.pop("notes")
        content["provenance"].pop("head")
        for key in ("head", "events", "withdrawn", "trust"):
            content["board"].pop(key, None)
        content["board"]["timeline"] = [step for step in content["board"]["timeline"] if step["kind"] != "withdraw"]
        for step in content["board"]["timeline"]:
            step["event"], step["time"] = None, None
        for announced in content["board"].get("announcements") or ():
            announced["event"] = None
        found.append(content)
    return found


def outcome(forged: forging.Forged, honest: list[Any], place: Path) -> str:
    """What an import makes of it; an error of the program itself is raised."""
    try:
        done = import_lines(forged.lines(), place, source="archive", verify=verify_session)
    except BbedgeError:
        assert list(place.parent.iterdir()) == [], "a refused archive left something behind"
        return "refused"
    assert verify(Store(place)) == done
    board = Board.open(place)
    found = documents(board)
    assert found == honest[: len(found)], "another leaderboard was accepted"
    board.add(following(board))
    assert documents(board) == honest[len(found) :], "the next replicate gave another leaderboard"
    for file in place.parent.iterdir():
        file.unlink()
    return "accepted"


@pytest.mark.parametrize("life", LIVES)
def test_an_archive_that_nobody_touched_is_accepted(lives, life, tmp_path):
    archive, honest = lives[life]
    assert outcome(archive.copy(), honest, tmp_path / "copy.db") == "accepted"


# Every push tries some forgeries of each kind on one life.
@pytest.mark.parametrize(
    ("life", "share"), [("life", 10), *(pytest.param(life, 1, marks=pytest.mark.nightly) for life in LIVES)]
)
@pytest.mark.parametrize("forger", FORGERS)
def test_a_forged_archive_is_refused_or_without_effect(lives, life, share, forger, tmp_path, record_property):
    archive, honest = lives[life]
    forge, cases = FORGERS[forger][0], FORGERS[forger][1] // share
    counts = {"refused": 0, "accepted": 0}
    for case in range(cases):
        rng = np.random.default_rng([sorted(LIVES).index(life), sorted(FORGERS).index(forger), case])
        forged = archive.copy()
        forge(forged, rng)
        folder = tmp_path / str(case)
        folder.mkdir()
        try:
            counts[outcome(forged, honest, folder / "copy.db")] += 1
        except Exception as error:
            raise AssertionError(f"case {case}: {forged.what}") from error
    record_property("forged archives", counts)
    assert counts["refused"] > cases // 3
