"""The chain of events: every edit, gap or swap is noticed."""

import json

import pytest
from msgspec.structs import replace

from bbedge.errors import BoardError
from bbedge.ledger.chain import GENESIS, _digest, checked_events
from bbedge.records.events import NoteAdded
from unit.board.forging import event_after

INIT = {
    "design": {},
    "registration": "0" * 64,
    "models": ["a", "b"],
    "items": ["q"],
    "blocks": ["q"],
    "columns": {},
    "order_seed": None,
    "stages": [],
    "cache": {},
}


def note(text):
    return {"epoch": 1, "about": "test", "text": str(text), "particulars": {}}


def chain(n=5):
    events = []
    for i in range(n):
        kind, content = ("note", note(i)) if i else ("init", INIT)
        events.append(event_after(events[-1] if events else None, kind, f"2024-01-0{i + 1}T00:00:00+00:00", content))
    return events


def test_events_follow_each_other():
    events = chain()
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert [event.previous for event in events] == [GENESIS, *(event.hash for event in events[:-1])]
    assert list(checked_events(events)) == events
    assert list(checked_events([])) == []
    assert json.loads(events[3].payload) == {"version": 1, **note(3)}
    assert events[3].content == NoteAdded(version=1, **note(3))


def test_the_hash_is_pinned():
    """A changed way of hashing would make every published head worthless."""
    first = event_after(None, "init", "2024-01-01T00:00:00+00:00", {"b": [1, 2.5], "a": "é\x1b"})
    assert first.payload == '{"a":"\\u00e9\\u001b","b":[1,2.5],"version":1}'
    assert first.hash == "c9ec48120850a59ff508e4fbd53297f167b2ed7577ada65dbfc9a3f49777b032"
    second = event_after(first, "retire", "2024-01-02T00:00:00+00:00", {"model": "m"})
    assert second.hash == "c018ba4543c90bfa090134967a7eb37bc418bbed1e09d2bf5120022b0ba872f6"


def test_the_same_content_gives_the_same_payload():
    one = event_after(None, "init", "t", {"a": 1, "b": 2})
    other = event_after(None, "init", "t", {"b": 2, "a": 1})
    assert one == other


def test_what_json_cannot_say_is_refused():
    with pytest.raises(ValueError, match="Out of range"):
        event_after(None, "init", "t", {"log_e": float("nan")})


def test_events_are_frozen():
    with pytest.raises(AttributeError, match="immutable"):
        chain()[0].payload = "{}"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("payload", '{"n":7}', r"event 3 \(note\) does not match its hash: it was edited"),
        ("at", "2024-01-05T00:00:00+00:00", "event 3 .* was edited"),
        ("kind", "retire", r"event 3 \(retire\) does not match its hash"),
        ("hash", "0" * 64, "event 3 .* does not match its hash"),
        ("previous", "0" * 64, "event 3 does not follow event 2: the ledger was edited"),
        ("seq", 7, "event 3 is missing from the ledger: event 7 comes in its place"),
    ],
)
def test_an_edited_event_is_named(field, value, message):
    events = chain()
    events[2] = replace(events[2], **{field: value})
    with pytest.raises(BoardError, match=message):
        list(checked_events(events))


def test_events_before_an_edit_are_still_given():
    events = chain()
    events[2] = replace(events[2], payload="{}")
    seen = []
    with pytest.raises(BoardError):
        seen.extend(checked_events(events))
    walk = checked_events(events)
    assert [next(walk), next(walk)] == events[:2]


@pytest.mark.parametrize("removed", [0, 1, 2, 3])
def test_a_removed_event_is_named(removed):
    events = chain()
    del events[removed]
    with pytest.raises(BoardError, match=f"event {removed + 1} is missing"):
        list(checked_events(events))


def test_an_edit_with_a_new_hash_breaks_the_next_link():
    events = chain()
    events[2] = event_after(events[1], "note", events[2].at, note(99))
    with pytest.raises(BoardError, match="event 4 does not follow event 3"):
        list(checked_events(events))


def test_swapped_events_are_noticed():
    events = chain()
    events[2], events[3] = events[3], events[2]
    with pytest.raises(BoardError, match="event 3 is missing"):
        list(checked_events(events))


def test_a_doubled_event_is_noticed():
    events = chain()
    with pytest.raises(BoardError, match="event 4 is missing"):
        list(checked_events([*events[:3], *events[2:]]))


def test_a_kind_of_the_future_is_refused():
    event = event_after(None, "teleport", "2024-01-01T00:00:00+00:00", {})
    with pytest.raises(BoardError, match="event 1: the kind 'teleport' is unknown"):
        list(checked_events([event]))


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("note", note("x") | {"cache": {"0": "0" * 64}}, "unknown key 'cache'"),
        ("note", {"epoch": 1, "about": "x", "text": "y"}, "not in the form that bbedge writes"),
        ("note", note("x") | {"epoch": 0}, "'epoch' = .* is not a whole number"),
        ("note", note("x") | {"epoch": True}, "'epoch' = .* is not a whole number"),
        ("note", note("x") | {"epoch": 2**40}, "'epoch' = .* is not a whole number"),
        ("note", note("\ud800"), ".*surrogates"),
        ("retire", {"epoch": 1, "model": "a"}, "not in the form that bbedge writes"),
        ("retire", {"epoch": 1, "model": "", "cache": {}}, "'model' = '' is not a text"),
        (
            "retire",
            {"epoch": 1, "model": "a", "cache": {"00": "0" * 64}},
            "not in the form|'cache' is not",
        ),
        ("replicate", {"epoch": 1, "replicate": 1, "vectors": {}, "cache": {}}, "'copy_rule' is missing"),
        ("init", INIT, "a board begins with its design, and has one"),
        ("note", note("x") | {"version": 2}, "its content is of version 2, and this bbedge reads version 1"),
        ("note", note("x") | {"version": None}, "its content states no version"),
    ],
)
def test_every_event_says_what_its_kind_must_say_and_nothing_else(kind, content, message):
    (first,) = chain(1)
    with pytest.raises(BoardError, match=f"event 2.*: .*({message})"):
        list(checked_events([first, event_after(first, kind, first.at, content)]))


@pytest.mark.parametrize("payload", ['{"a":1,"a":2}', '{"a": 1}', "[" * 100_000, "NaN", '{"a":1e999}', "7", "\x00"])
def test_a_payload_that_bbedge_does_not_write_is_refused(payload):
    event = replace(chain(1)[0], payload=payload)
    event = replace(event, hash=_digest(event.seq, event.kind, event.at, payload, event.previous))
    with pytest.raises(BoardError, match="event 1: its content"):
        list(checked_events([event]))
