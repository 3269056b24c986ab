"""Events as frozen classes: the mapping to canonical JSON loses nothing and adds nothing."""

import json
from typing import get_args

import pytest
from msgspec.structs import replace

from bbedge.board import BoardDesign
from bbedge.board.admit import create
from bbedge.errors import BoardError, FormatError
from bbedge.ledger.archive import export_lines
from bbedge.ledger.chain import LedgerEvent, checked_events, from_payload
from bbedge.records.codec import canonical
from bbedge.records.codec import to_json as to_payload
from bbedge.records.events import BoardEvent, ModelAdded, NoteAdded
from unit.board import first_runs, forging


def entries(lines):
    return [(row["kind"], row["payload"]) for row in map(json.loads, list(lines)[1:-1])]


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    lives = (forging.whole_life, forging.after_a_pilot, forging.with_views_and_gaps, forging.of_both_targets)
    boards = [live(tmp_path_factory.mktemp("life")) for live in lives]
    boards.append(first_runs.life(tmp_path_factory.mktemp("life") / "board.db"))
    return [each for board in boards for each in entries(export_lines(board.store))]


def test_every_event_becomes_the_same_text_again(events):
    assert {kind for kind, _ in events} == {cls.kind for cls in get_args(BoardEvent)} - {"attempt", "attempt-ended"}
    for kind, payload in events:
        content = from_payload(kind, payload)
        assert (content.kind, content.version) == (kind, 1)
        assert to_payload(content) == payload


def test_events_are_frozen(events):
    for kind, payload in events:
        content = from_payload(kind, payload)
        with pytest.raises(AttributeError, match="immutable"):
            content.version = 1
        assert not hasattr(content, "__dict__")


def test_an_event_states_its_version():
    content = NoteAdded(epoch=1, about="a", text="t", particulars={"x": 1})
    assert to_payload(content) == '{"about":"a","epoch":1,"particulars":{"x":1},"text":"t","version":1}'


@pytest.mark.parametrize("version", [0, 2, 7, True, 1.0, "1", [1]])
def test_other_versions_are_refused(events, version):
    for kind, payload in events:
        with pytest.raises(BoardError, match=r"its content is of version .*, and this bbedge reads version 1; use the"):
            from_payload(kind, canonical(json.loads(payload) | {"version": version}))


def test_claims_are_ordered_as_texts():
    """A claim is a key, and keys are ordered as JSON orders them."""
    cache = dict.fromkeys((10, 2), "0" * 64)
    content = ModelAdded(epoch=1, model="m", copy_rule="refuse", whole_runs=False, vectors=(), cache=cache)
    payload = to_payload(content)
    assert payload.index('"10"') < payload.index('"2"')
    assert from_payload("add-model", payload) == content


def test_every_key_is_needed_and_no_other_is_known(events):
    for kind, payload in events:
        content = json.loads(payload)
        for key in content:
            # Without it, it is a complete replicate, whose scores are not there; or a model that was not announced.
            if key == "upto" or (kind, key) == ("add-model", "order_seed"):
                continue
            with pytest.raises(BoardError, match=r"is missing|not in the form|states no version"):
                from_payload(kind, canonical({each: value for each, value in content.items() if each != key}))
            for wrong in (-1, True, 2**31, 0.5, [-7], "\ud800"):
                # A seed has 63 bits, a level is below one, and some keys are true or false.
                if (key, wrong) in (("order_seed", 2**31), ("level", 0.5)) or (
                    wrong is True and type(content[key]) is bool
                ):
                    continue
                with pytest.raises(BoardError, match=r" is not |of version|surrogate|not in the form"):
                    from_payload(kind, canonical({**content, key: wrong}))
        with pytest.raises(BoardError, match="unknown key 'more'"):
            from_payload(kind, canonical({**content, "more": 1}))


def test_a_look_is_stated_whole_or_not_at_all(events):
    content = next(json.loads(payload) for kind, payload in events if kind == "add-model")
    for wrong in ({"look": None}, {"certified": None}, {"current": {"x": ""}}, {"current": {"0": "A"}}):
        with pytest.raises(BoardError, match=" is not "):
            from_payload("add-model", canonical(content | wrong))
    del content["look"]
    with pytest.raises(BoardError, match="a part of its look is missing"):
        from_payload("add-model", canonical(content))


def test_a_design_that_cannot_be_is_refused_with_its_reason(events):
    kind, payload = events[0]
    made = from_payload(kind, payload)
    assert create(made)[0].design == BoardDesign(alpha=0.3, method="bb-edge-x")
    with pytest.raises(FormatError, match=r"the board.s design: .alpha. = 2.0"):
        create(replace(made, design=made.design | {"alpha": 2.0}))


def forged(event, at):
    return [event, LedgerEvent.after(event, "note", at, to_payload(NoteAdded(epoch=1, about="a", text="t")))]


@pytest.mark.parametrize(
    "at", ["yesterday", "<script>", "", "2026-01-31T09:30:00", "2026-01-31T09:30:00Z", "2026-01-31T10:30:00+01:00"]
)
def test_times_have_one_form(events, at):
    first = LedgerEvent.after(None, *("init", "2026-01-31T09:30:00+00:00"), events[0][1])
    with pytest.raises(BoardError, match="is not a time in UTC"):
        list(checked_events(forged(first, at)))


def test_times_never_run_backwards(events):
    first = LedgerEvent.after(None, *("init", "2026-01-31T09:30:00+00:00"), events[0][1])
    assert len(list(checked_events(forged(first, first.at)))) == 2
    with pytest.raises(BoardError, match="is before that of the event before it"):
        list(checked_events(forged(first, "1999-01-31T09:30:00+00:00")))
    future = LedgerEvent.after(None, *("init", "2999-01-31T09:30:00+00:00"), events[0][1])
    assert LedgerEvent.now(future, "note", "{}").at == future.at
