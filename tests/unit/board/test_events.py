"""Events as frozen classes: the mapping to canonical JSON loses nothing and adds nothing."""

import json
from dataclasses import FrozenInstanceError

import pytest

from bbedge.board import BoardDesign
from bbedge.board.archive import export_lines
from bbedge.board.codec import canonical
from bbedge.board.events import KINDS, ModelAdded, NoteAdded, Origin, from_payload, to_payload
from bbedge.errors import BoardError
from unit.board import forging, passes


def entries(lines):
    return [(row["kind"], row["payload"]) for row in map(json.loads, list(lines)[1:-1])]


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    lives = (forging.whole_life, forging.after_a_pilot, forging.with_views_and_gaps)
    boards = [live(tmp_path_factory.mktemp("life")) for live in lives]
    boards.append(passes.life(tmp_path_factory.mktemp("life") / "board.db"))
    return [each for board in boards for each in entries(export_lines(board.store))]


def test_every_event_becomes_the_same_text_again(events):
    assert {kind for kind, _ in events} == set(KINDS)
    for kind, payload in events:
        content = from_payload(kind, payload)
        assert (content.kind, content.version) == (kind, 1)
        assert to_payload(content) == payload


def test_events_are_frozen(events):
    for kind, payload in events:
        content = from_payload(kind, payload)
        with pytest.raises(FrozenInstanceError):
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
    content = ModelAdded(epoch=1, model="m", vectors=(), stages=(), cache=cache, origin=Origin())
    payload = to_payload(content)
    assert payload.index('"10"') < payload.index('"2"')
    assert from_payload("add-model", payload) == content


def test_every_key_is_needed_and_no_other_is_known(events):
    for kind, payload in events:
        content = json.loads(payload)
        for key in content:
            with pytest.raises(BoardError, match=r"is missing|is unknown|states no version"):
                from_payload(kind, canonical({each: value for each, value in content.items() if each != key}))
            for wrong in (-1, True, 2**31, 0.5, [-7], "\ud800"):
                if (key, wrong) == ("order_seed", 2**31):  # a seed has 63 bits
                    continue
                with pytest.raises(BoardError, match=r"is not what belongs there|of version|the board's design"):
                    from_payload(kind, canonical({**content, key: wrong}))
        with pytest.raises(BoardError, match="the key 'more' is unknown"):
            from_payload(kind, canonical({**content, "more": 1}))


def test_a_look_is_stated_whole_or_not_at_all(events):
    content = next(json.loads(payload) for kind, payload in events if kind == "add-model")
    for wrong in ({"look": None}, {"certified": None}, {"current": {"x": ""}}, {"current": {"0": "A"}}):
        with pytest.raises(BoardError, match="is not what belongs there"):
            from_payload("add-model", canonical(content | wrong))
    del content["look"]
    with pytest.raises(BoardError, match="the key 'certified' is unknown"):
        from_payload("add-model", canonical(content))


def test_a_design_that_cannot_be_is_refused_with_its_reason(events):
    kind, payload = events[0]
    content = json.loads(payload)
    assert from_payload(kind, payload).design == BoardDesign(alpha=0.3, method="bb-edge-x")
    with pytest.raises(BoardError, match="the board's design: alpha"):
        from_payload(kind, canonical(content | {"design": content["design"] | {"alpha": 2.0}}))
