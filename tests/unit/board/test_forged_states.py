"""What is saved for speed cannot say anything else than the scores: a forged state never passes ``verify``."""

import io
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.core.arrays import load_arrays, write_archive
from bbedge.errors import BoardError
from bbedge.ledger.chain import digest
from bbedge.verify.ledger import verify
from unit.board.boards import ITEMS, make, runs
from unit.board.forging import event_after

ABC = ("a", "b", "c")


def packed(arrays):
    buffer = io.BytesIO()
    write_archive(buffer, arrays.items())
    return buffer.getvalue()


def changed(name, array):
    """The array with other content of the same kind."""
    if name == "first_certified":
        return np.ascontiguousarray(array.T)  # the opposite ranking
    if array.dtype == bool:
        return ~array
    if array.dtype.kind == "f":
        return array + 1e-3
    return array + 1


def forged(state, name):
    """The state with one array changed, which may be one of the evidence inside."""
    arrays = load_arrays(state)
    if name in arrays and name != "evidence":
        return packed(arrays | {name: changed(name, arrays[name])})
    inner = load_arrays(arrays["evidence"].tobytes())
    inner[name] = changed(name, inner[name])
    return packed(arrays | {"evidence": np.frombuffer(packed(inner), dtype=np.uint8)})


@pytest.fixture
def board(tmp_path):
    board = make(tmp_path)
    board.add(runs(np.random.default_rng(0), ABC, 4, start=1))
    assert board.leaderboard().graph.n_edges
    return board


def names():
    """Every array of a saved state, of the evidence too."""
    from bbedge.core.design import Design
    from bbedge.core.leaderboard import Certifier

    certifier = Certifier(Design.make(ABC, ITEMS, method="bb-edge-x"))
    for panel in runs(np.random.default_rng(0), ABC, 4).values:
        certifier.update(panel)
    outer = load_arrays(certifier.to_bytes())
    inner = load_arrays(outer["evidence"].tobytes())
    return sorted({*outer, *inner} - {"evidence"})


def forge(board, content, *, state=None, append=None):
    """Write the last event anew, or append one, with right hashes; and the saved state."""
    events = board.events
    event = event_after(events[-1], append, "t", content) if append else None
    if event is None:
        event = event_after(events[-2], events[-1].kind, events[-1].at, content)
    row = (event.seq, event.kind, event.at, event.payload, event.previous, event.hash)
    with closing(sqlite3.connect(board.name)) as database, database:
        database.execute("INSERT OR REPLACE INTO bbedge_events VALUES (?, ?, ?, ?, ?, ?)", row)
        database.execute("UPDATE bbedge_meta SET value = ? WHERE key = 'head'", (event.hash,))
        if state is not None:
            database.execute("UPDATE bbedge_cache SET state = ? WHERE claim = 0", (state,))


def said(board):
    """What the last event says, as JSON."""
    return json.loads(board.events[-1].payload)


def saved(board):
    with board.store.read() as session:
        return session.cache()[0]


def test_the_state_has_the_evidence_at_the_entries_that_have_passed():
    assert {name for name in names() if name.startswith("entry_")} == {"entry_1", "entry_2"}


@pytest.mark.parametrize("name", names())
def test_a_forged_array_with_right_checksums_does_not_pass(board, name):
    """The last event names the forged state by its checksum, as the software would."""
    state = forged(saved(board), name)
    forge(board, said(board) | {"cache": {"0": digest(state)}}, state=state)
    with pytest.raises(BoardError, match="saved evidence of claim 0"):
        verify(board.store)


def test_a_note_with_a_state_leaves_no_published_head_valid(board):
    """A note appended after the published head used to replace the ranking that is shown."""
    published = board.head
    state = forged(saved(board), "first_certified")
    content = {"epoch": 1, "about": "x", "text": "y", "particulars": {}, "cache": {"0": digest(state)}}
    forge(board, content, state=state, append="note")
    for check in (lambda: verify(board.store, head=published), lambda: Board.open(board.name)):
        with pytest.raises(BoardError, match="event 6"):
            check()


@pytest.mark.parametrize("missing", ["current", "look", "certified", "cache", "vectors", "notes", "version"])
def test_an_event_that_lacks_a_key_is_refused(board, missing):
    content = {key: value for key, value in said(board).items() if key != missing}
    if missing == "version":
        content["version"] = None
    forge(board, content)
    with pytest.raises(BoardError, match="event 5"):
        verify(board.store)


@pytest.mark.parametrize(
    "edit",
    [
        {"epoch": 2},
        {"replicate": 3},
        {"certified": [{"winner": "c", "loser": "a", "log_e": 9.0, "claim": 0, "replicate": 4}]},
        {"look": {"edges": 6, "resolved_pairs": 3}},
        {"cache": {}},
        {"current": {}},
    ],
    ids=str,
)
def test_what_an_event_says_is_what_came_of_it(board, edit):
    content = said(board) | edit
    assert content != said(board)
    forge(board, content)
    with pytest.raises(BoardError, match=r"event 5|epoch"):
        verify(board.store)
