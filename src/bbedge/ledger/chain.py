"""The ledger: events in order, each covering the one before by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import get_args

import msgspec

from bbedge.errors import BoardError, FormatError
from bbedge.records.codec import check_file_version, convert, parse_json, to_json
from bbedge.records.events import BoardEvent
from bbedge.text import quoted

GENESIS = "0" * 64
"""What the first event covers."""

TEXTS = ("kind", "at", "payload", "previous", "hash")
"""The texts of an event, which tables and archives hold in this order after its number."""


@dataclass(frozen=True, kw_only=True)
class LedgerEvent:
    """An entry of the ledger. Make one with :meth:`after`."""

    seq: int
    """Position in the ledger, from 1."""
    kind: str
    """What happened."""
    at: str
    """When, as ISO 8601 in UTC; for people, the statistics do not use it."""
    payload: str
    """What the event says, as canonical JSON: the text that the hash covers."""
    previous: str
    """Hash of the event before."""
    hash: str
    """Hash of this event and, through ``previous``, of all before."""

    @classmethod
    def after(cls, previous: LedgerEvent | None, kind: str, at: str, payload: str) -> LedgerEvent:
        """The event that follows another, or the first."""
        seq, before = (previous.seq + 1, previous.hash) if previous else (1, GENESIS)
        return cls(
            seq=seq, kind=kind, at=at, payload=payload, previous=before, hash=_digest(seq, kind, at, payload, before)
        )

    @classmethod
    def now(cls, previous: LedgerEvent | None, kind: str, payload: str) -> LedgerEvent:
        """The event that follows another at this moment; times never run backwards, whatever the clock says."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls.after(previous, kind, at if previous is None else max(at, previous.at), payload)

    @cached_property
    def content(self) -> BoardEvent:
        """What the event says; ``BoardError`` if the payload is not what its kind says."""
        return from_payload(self.kind, self.payload)

    @property
    def called(self) -> str:
        """The event in a message."""
        return f"event {self.seq} ({self.kind})"


def _digest(seq: int, kind: str, at: str, payload: str, previous: str) -> str:
    text = json.dumps([seq, kind, at, payload, previous], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_time(event: LedgerEvent, before: str) -> None:
    """Times have one form, in which their order is that of their texts."""
    try:
        at = datetime.fromisoformat(event.at)
        is_time = at.utcoffset() == timedelta(0) and at.isoformat(timespec="seconds") == event.at
    except ValueError:
        is_time = False
    if not is_time:
        raise BoardError(f"{event.called}: {quoted(event.at)} is not a time in UTC, such as 2026-01-31T09:30:00+00:00")
    if event.at < before:
        raise BoardError(f"{event.called}: its time, {event.at}, is before that of the event before it, {before}")


def checked(events: Iterable[LedgerEvent]) -> Iterator[LedgerEvent]:
    """The events again, each after a check of its place, its hash and its content."""
    before, expected, at = GENESIS, 1, ""
    for event in events:
        if event.seq != expected:
            raise BoardError(f"event {expected} is missing from the ledger: event {event.seq} comes in its place")
        if event.previous != before:
            raise BoardError(f"event {event.seq} does not follow event {expected - 1}: the ledger was edited")
        if event.hash != _digest(event.seq, event.kind, event.at, event.payload, event.previous):
            raise BoardError(f"{event.called} does not match its hash: it was edited")
        _check_time(event, at)
        try:
            _ = event.content
        except BoardError as error:
            raise BoardError(f"event {event.seq}: {error}") from error
        if (event.kind == "init") != (expected == 1):
            raise BoardError(f"{event.called}: a board begins with its design, and has one")
        before, expected, at = event.hash, expected + 1, event.at
        yield event


_KINDS: dict[str, type[BoardEvent]] = {cls.kind: cls for cls in get_args(BoardEvent)}
KINDS = tuple(_KINDS)
"""What ledgers call the kinds of events."""

_MOST_DEPTH = 64  # of the particulars of a note


def from_payload(kind: str, payload: str) -> BoardEvent:
    """The event of a kind that a text stands for; ``BoardError`` says what is wrong with any other text."""
    cls = _KINDS.get(kind)
    if cls is None:
        raise BoardError(f"the kind {quoted(kind)} is unknown")
    try:
        content = parse_json(payload, source="its content", what="an event", depth=_MOST_DEPTH)
        if isinstance(content, dict):
            check_file_version(content.get("version"), what="its content", kind=BoardError)
        event = convert(content, cls, source="its content", error=BoardError)
        msgspec.json.encode(event)  # refuses unpaired surrogates
    except (FormatError, UnicodeEncodeError) as error:
        raise BoardError(str(error)) from error
    # One text for one event: keys in order, numbers as they are written here, nothing left out.
    if to_json(event) != payload:
        raise BoardError("its content is not in the form that bbedge writes")
    return event
