"""The chain of events: every edit, gap or swap is noticed."""

from dataclasses import FrozenInstanceError, replace

import pytest

from bbedge.board.ledger import GENESIS, Event, checked
from bbedge.errors import BoardError


def chain(n=5):
    events = []
    for i in range(n):
        kind = "init" if i == 0 else "replicate"
        events.append(Event.after(events[-1] if events else None, kind, f"2024-01-0{i + 1}T00:00:00+00:00", {"n": i}))
    return events


def test_events_follow_each_other():
    events = chain()
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert [event.previous for event in events] == [GENESIS, *(event.hash for event in events[:-1])]
    assert list(checked(events)) == events
    assert list(checked([])) == []
    assert events[3].content == {"n": 3}


def test_the_hash_is_pinned():
    """A changed way of hashing would make every published head worthless."""
    first = Event.after(None, "init", "2024-01-01T00:00:00+00:00", {"b": [1, 2.5], "a": "é\x1b"})
    assert first.payload == '{"a":"\\u00e9\\u001b","b":[1,2.5]}'
    assert first.hash == "2d459c3ea9048c4ad6045ecf83987c52f28915d07f97cc8f713b3159ebb1d6b5"
    second = Event.after(first, "retire", "2024-01-02T00:00:00+00:00", {"model": "m"})
    assert second.hash == "f96e68dae76223b2230fc298502bddd0e1a8046ca1bba81d585be874987562a0"


def test_the_same_content_gives_the_same_payload():
    one = Event.after(None, "init", "t", {"a": 1, "b": 2})
    other = Event.after(None, "init", "t", {"b": 2, "a": 1})
    assert one == other


def test_what_json_cannot_say_is_refused():
    with pytest.raises(ValueError, match="Out of range"):
        Event.after(None, "init", "t", {"log_e": float("nan")})


def test_events_are_frozen():
    with pytest.raises(FrozenInstanceError):
        chain()[0].payload = "{}"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("payload", '{"n":7}', r"event 3 \(replicate\) does not match its hash: it was edited"),
        ("at", "2020-01-01T00:00:00+00:00", "event 3 .* was edited"),
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
        list(checked(events))


def test_events_before_an_edit_are_still_given():
    events = chain()
    events[2] = replace(events[2], payload="{}")
    seen = []
    with pytest.raises(BoardError):
        seen.extend(checked(events))
    walk = checked(events)
    assert [next(walk), next(walk)] == events[:2]


@pytest.mark.parametrize("removed", [0, 1, 2, 3])
def test_a_removed_event_is_named(removed):
    events = chain()
    del events[removed]
    with pytest.raises(BoardError, match=f"event {removed + 1} is missing"):
        list(checked(events))


def test_an_edit_with_a_new_hash_breaks_the_next_link():
    events = chain()
    events[2] = Event.after(events[1], "replicate", events[2].at, {"n": 99})
    with pytest.raises(BoardError, match="event 4 does not follow event 3"):
        list(checked(events))


def test_swapped_events_are_noticed():
    events = chain()
    events[2], events[3] = events[3], events[2]
    with pytest.raises(BoardError, match="event 3 is missing"):
        list(checked(events))


def test_a_doubled_event_is_noticed():
    events = chain()
    with pytest.raises(BoardError, match="event 4 is missing"):
        list(checked([*events[:3], *events[2:]]))


def test_a_kind_of_the_future_is_refused():
    event = Event.after(None, "teleport", "t", {})
    with pytest.raises(BoardError, match="event 1 is of the unknown kind 'teleport'"):
        list(checked([event]))
