from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from bbedge.errors import FormatError
from bbedge.records.codec import canonical, convert, parse_json, parse_toml, to_json
from bbedge.records.notes import Note
from bbedge.records.values import LARGEST, Name, Ordinal, Strict, Text


class Inner(Strict, frozen=True, kw_only=True):
    name: Name
    count: Ordinal = 1


class Outer(Strict, frozen=True, kw_only=True):
    inner: tuple[Inner, ...] = ()
    of_claims: dict[int, bytes] = msgspec.field(default_factory=dict)
    share: float | None = None


class Wide(Outer, frozen=True, kw_only=True):
    choice: Ordinal | Text | None = None
    several: Annotated[tuple[Name | Inner, ...], msgspec.Meta(min_length=1)] | None = None
    bounded: Annotated[float, msgspec.Meta(gt=0, le=LARGEST)] | None = None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"iner": []}, "unknown key 'iner'; did you mean 'inner'"),
        ({"inner": [{"name": "a", "cuont": 2}]}, "unknown key 'cuont' in 'inner[0]'; did you mean 'count'"),
        ({"inner": [{"name": ""}]}, "'name' = '' is not a text with a character in 'inner[0]'"),
        ({"inner": [{"name": "a"}, {"name": "b", "count": 0}]}, "'count' = 0 is not a whole number of at least 1"),
        ({"inner": [{}]}, "'name' is missing in 'inner[0]'"),
        ({"inner": {}}, "'inner' is not a list of records"),
        ({"share": True}, "'share' = True is not a number"),
        ({"choice": 1.5}, "'choice' = 1.5 is not a whole number of at least 1 or a text with a character"),
        ({"choice": " "}, "'choice' = ' ' is not a whole number of at least 1 or a text with a character"),
        ({"several": []}, "'several' is not a list of texts or records with at least one entry"),
        ({"several": [{"nam": "a"}]}, "unknown key 'nam' in 'several[0]'; did you mean 'name'"),
        ({"bounded": float("inf")}, "'bounded' = inf is not a finite number"),
        ({"bounded": "password=hunter2"}, "'bounded' = 'password=***' is not a number above 0"),
        ({"of_claims": {"0": "!"}}, "'of_claims' is not bytes in base64"),
        ([], "'the whole' is not a record"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(given, words):
    with pytest.raises(FormatError) as refusal:
        convert(given, Wide, source="a.json")
    assert str(refusal.value).startswith("a.json: ")
    assert words in str(refusal.value)


def test_records_come_back():
    record = Outer(inner=(Inner(name="é"),), of_claims={3: b"\x00\xff"}, share=1.0)
    text = to_json(record)
    assert text == '{"inner":[{"count":1,"name":"\\u00e9"}],"of_claims":{"3":"AP8="},"share":1.0}'
    assert convert(parse_json(text, source="a"), Outer, source="a") == record


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', "[" * 20 + "]" * 20, "NaN", "1e999", "[" * 100_000, "9" * 10_000, "{", b"\xff"]
)
def test_json_that_no_program_should_write_is_refused(text):
    with pytest.raises(FormatError, match=r"^a\.json: not a thing"):
        parse_json(text, source="a.json", what="a thing")


def test_toml_that_is_none():
    assert parse_toml("a = 1", source="a.toml") == {"a": 1}
    for text in ("a = ", "a = " + "9" * 10_000, "a = " + "[" * 100_000):
        with pytest.raises(FormatError, match=r"^a\.toml: not a TOML file"):
            parse_toml(text, source="a.toml")


def test_notes_are_records():
    note = Note(kind="seed", text="a", subject=("m",))
    assert convert(parse_json(to_json(note), source="n"), Note, source="n") == note
    assert canonical({"b": [1.5, None], "a": "x"}) == '{"a":"x","b":[1.5,null]}'
