"""The lines of an archive, read from a file that anybody may have written: each is what it should be, or refused."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any, cast, get_args

from bbedge.board.contents import EventKind, parsed
from bbedge.board.ledger import Event
from bbedge.board.session import Vector
from bbedge.errors import FormatError
from bbedge.text import shown

FORMAT = 1
"""The format that is written and read."""

LONGEST_LINE = 1 << 30
"""Bytes of a line. Lines are read whole, and without a bound a single one could take all memory."""

_HASH = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[ -~]{1,64}")
_LARGEST = (1 << 31) - 1  # what an integer column of PostgreSQL holds
_HEAD_KEYS = frozenset({"bbedge-board", "events", "head"})
_ROW_KEYS = frozenset({"seq", "kind", "at", "payload", "previous", "hash", "vectors"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first line."""

    events: int
    """How many events follow."""
    hash: str | None
    """The hash of the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The line of an event."""

    event: Event
    """The event; whether it can have happened is for the ledger to say."""
    vectors: tuple[Vector, ...]
    """The scores that came with it."""
    new_items: int | None
    """How many items it adds, if it opens an epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The last line."""

    states: dict[int, bytes]
    """The saved evidence by claim."""


class _LineError(ValueError):
    """A line that is not what it should be; the message says how."""


def read_head(line: str, source: str) -> Head:
    """The first line of an archive."""
    try:
        row = _object(line)
    except _LineError as error:
        raise FormatError(f"{source}: not a board archive ({error}); make one with bbedge board export") from error
    if row.get("bbedge-board") != FORMAT or isinstance(row["bbedge-board"], bool) or set(row) != _HEAD_KEYS:
        raise FormatError(f"{source}: not a board archive of format {FORMAT}; make one with bbedge board export")
    try:
        events = _integer(row, "events", least=1)
        return Head(events=events, hash=_text(row, "head", _HASH))
    except _LineError as error:
        raise FormatError(f"{source}:1: {error}; the file was edited") from error


def read_row(line: str, where: str, *, seq: int) -> Row:
    """The line of the event with that number."""
    try:
        row = _object(line)
        _check_keys(row, _ROW_KEYS)
        if _integer(row, "seq", least=1) != seq:
            raise _LineError(f"event {row['seq']} in the place of event {seq}")
        kind = _text(row, "kind", re.compile("|".join(get_args(EventKind))))
        content = _payload(_text(row, "payload", re.compile(r"[ -~]*")))
        event = Event(
            seq=seq,
            kind=cast("EventKind", kind),
            at=_text(row, "at", _TIME),
            payload=row["payload"],
            previous=_text(row, "previous", _HASH),
            hash=_text(row, "hash", _HASH),
        )
        return Row(event=event, vectors=_vectors(row["vectors"]), new_items=_new_items(kind, content))
    except _LineError as error:
        raise FormatError(f"{where}: not an event: {error}; the file is damaged or was edited") from error


def read_cache(line: str, where: str) -> Saved:
    """The last line, with the saved evidence."""
    try:
        row = _object(line)
        _check_keys(row, frozenset({"cache"}))
        if not isinstance(row["cache"], dict):
            raise _LineError("'cache' is not an object")
        states = {}
        for claim, text in row["cache"].items():
            if not re.fullmatch(r"0|[1-9][0-9]{0,8}", claim):
                raise _LineError(f"'{shown(claim)}' is not the number of a claim")
            states[int(claim)] = _bytes(text)
    except _LineError as error:
        raise FormatError(f"{where}: not the saved evidence: {error}; the file is damaged or was edited") from error
    return Saved(states=states)


def _object(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise _LineError(f"not JSON ({error})") from error
    except RecursionError as error:
        raise _LineError("JSON that is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits, or what the hooks refuse
        raise _LineError(str(error)) from error
    if not isinstance(row, dict):
        raise _LineError("not a JSON object")
    return row


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _LineError(f"the key '{shown(next(name for name in names if names.count(name) > 1))}' comes twice")
    return found


def _constant(name: str) -> Any:  # noqa: ANN401 - never returns
    raise _LineError(f"{name} is not a JSON number")


def _payload(text: str) -> dict[str, Any]:
    try:
        content = parsed(text)
    except ValueError as error:
        raise _LineError(f"'payload' is not what bbedge writes ({error})") from error
    if not isinstance(content, dict):
        raise _LineError("'payload' is not a JSON object")
    return content


def _check_keys(row: dict[str, Any], expected: frozenset[str]) -> None:
    for key in sorted(expected - set(row)):
        raise _LineError(f"'{key}' is missing")
    for key in sorted(set(row) - expected):
        raise _LineError(f"'{shown(key)}' is not known")


def _integer(row: dict[str, Any], key: str, *, least: int) -> int:
    value = row[key]
    if type(value) is not int or not least <= value <= _LARGEST:
        raise _LineError(f"'{key}' is not a whole number from {least} to {_LARGEST}")
    return value


def _text(row: dict[str, Any], key: str, form: re.Pattern[str]) -> str:
    value = row[key]
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _LineError(f"'{key}' is not {_FORMS[key]}")
    return value


_FORMS = {
    "head": "a hash of 64 digits",
    "previous": "a hash of 64 digits",
    "hash": "a hash of 64 digits",
    "kind": "a kind of event",
    "at": "a time",
    "payload": "a text in ASCII",
}


def _vectors(found: object) -> tuple[Vector, ...]:
    if not isinstance(found, list):
        raise _LineError("'vectors' is not a list")
    vectors = []
    for each in found:
        if not isinstance(each, list) or len(each) != 4:
            raise _LineError("an entry of 'vectors' is not a list of epoch, replicate, model and scores")
        epoch, replicate, model, data = each
        if type(epoch) is not int or not 1 <= epoch <= _LARGEST:
            raise _LineError("the epoch of an entry of 'vectors' is not a whole number from 1")
        if type(replicate) is not int or not 1 <= abs(replicate) <= _LARGEST:
            raise _LineError("the replicate of an entry of 'vectors' is not a whole number")
        if not isinstance(model, str):
            raise _LineError("the model of an entry of 'vectors' is not a name")
        if any("\ud800" <= character <= "\udfff" for character in model):
            raise _LineError(f"the name of model '{shown(model)}' has an unpaired surrogate")
        vectors.append(Vector(epoch=epoch, replicate=replicate, model=model, data=_bytes(data)))
    places = {(vector.epoch, vector.replicate, vector.model) for vector in vectors}
    if len(places) < len(vectors):
        raise _LineError("the scores of a model come twice")
    return tuple(vectors)


def _bytes(text: object) -> bytes:
    if not isinstance(text, str):
        raise _LineError("bytes are not given as base64 text")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _LineError(f"bytes are not base64 ({error})") from error


def _new_items(kind: str, content: dict[str, Any]) -> int | None:
    if kind not in ("init", "add-items"):
        return None
    items = content.get("items")
    if not isinstance(items, list):
        raise _LineError("'items' of the payload is not a list")
    return len(items)
