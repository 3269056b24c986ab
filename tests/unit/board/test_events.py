"""Events as frozen classes: the mapping to canonical JSON loses nothing and adds nothing, in both forms."""

import json
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from bbedge.board import BoardDesign
from bbedge.board.archive import export_lines
from bbedge.board.canonical import canonical
from bbedge.board.events import KINDS, Created, ModelAdded, NoteAdded, Origin, from_payload, to_payload
from bbedge.errors import BoardError
from unit.board import forging

GOLDEN = Path(__file__).parents[2] / "golden" / "boards"


def entries(lines):
    return [(row["kind"], row["payload"]) for row in map(json.loads, list(lines)[1:-1])]


@pytest.fixture(scope="module")
def form_1():
    archives = [(GOLDEN / f"{name}.jsonl").read_text(encoding="ascii") for name in ("grown", "pilot")]
    return [each for archive in archives for each in entries(archive.splitlines())]


@pytest.fixture(scope="module")
def form_2(tmp_path_factory):
    lives = [live(tmp_path_factory.mktemp("life")) for live in (forging.whole_life, forging.after_a_pilot)]
    return [each for board in lives for each in entries(export_lines(board.store))]


@pytest.mark.parametrize("form", [1, 2])
def test_every_event_becomes_the_same_text_again(form, request):
    found = request.getfixturevalue(f"form_{form}")
    assert {kind for kind, _ in found} == set(KINDS) - {"part"}  # boards with checkpoints have form 4
    for kind, payload in found:
        content = from_payload(kind, payload)
        assert (content.kind, content.version) == (kind, form)
        assert to_payload(content) == payload


def test_events_are_frozen(form_2):
    for kind, payload in form_2:
        content = from_payload(kind, payload)
        with pytest.raises(FrozenInstanceError):
            content.version = 1
        assert not hasattr(content, "__dict__")


def test_what_form_1_lacks_has_its_default(form_1):
    for kind, payload in form_1:
        content = from_payload(kind, payload)
        if isinstance(content, Created):
            assert (content.registration, len(content.design_hash)) == ("", 64)
        elif "vectors" in {each.name for each in fields(content)}:
            assert (content.runs, content.origin) == ((), Origin())


def test_a_form_is_written_with_its_own_keys():
    content = NoteAdded(epoch=1, about="a", text="t", particulars={"x": 1})
    assert to_payload(content) == '{"about":"a","epoch":1,"particulars":{"x":1},"text":"t","version":2}'
    assert to_payload(replace(content, version=1)) == '{"about":"a","epoch":1,"text":"t","x":1}'


def test_claims_are_ordered_as_texts():
    """Payloads of earlier boards order keys as JSON does, and a claim is a key."""
    cache = dict.fromkeys((10, 2), "0" * 64)
    content = ModelAdded(epoch=1, model="m", vectors=(), stages=(), cache=cache, origin=Origin())
    payload = to_payload(content)
    assert payload.index('"10"') < payload.index('"2"')
    assert from_payload("add-model", payload) == content


@pytest.mark.parametrize("form", [1, 2])
def test_every_key_is_needed_and_no_other_is_known(form, request):
    for kind, payload in request.getfixturevalue(f"form_{form}"):
        content = json.loads(payload)
        is_old_note = (kind, form) == ("note", 1)  # which may have keys of its own
        for key in ("epoch", "about", "text") if is_old_note else content:
            if key != "version":  # without it, the event is of form 1
                with pytest.raises(BoardError, match=r"is missing|is unknown"):
                    from_payload(kind, canonical({each: value for each, value in content.items() if each != key}))
            for wrong in (-1, True, 2**31, 0.5, [7], "\ud800"):
                with pytest.raises(BoardError, match=r"is not what belongs there|is unknown|the board's design"):
                    from_payload(kind, canonical({**content, key: wrong}))
        if not is_old_note:
            with pytest.raises(BoardError, match="the key 'more' is unknown"):
                from_payload(kind, canonical({**content, "more": 1}))


def test_a_look_is_stated_whole_or_not_at_all(form_2):
    content = next(json.loads(payload) for kind, payload in form_2 if kind == "add-model")
    for wrong in ({"look": None}, {"certified": None}, {"current": {"x": ""}}, {"current": {"0": "A"}}):
        with pytest.raises(BoardError, match="is not what belongs there"):
            from_payload("add-model", canonical(content | wrong))
    del content["look"]
    with pytest.raises(BoardError, match="the key 'certified' is unknown"):
        from_payload("add-model", canonical(content))


def test_a_design_that_cannot_be_is_refused_with_its_reason(form_2):
    kind, payload = form_2[0]
    content = json.loads(payload)
    assert from_payload(kind, payload).design == BoardDesign(alpha=0.3, method="bb-edge-x")
    with pytest.raises(BoardError, match="the board's design: alpha"):
        from_payload(kind, canonical(content | {"design": content["design"] | {"alpha": 2.0}}))
