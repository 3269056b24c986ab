"""The ledger: events in order, each covering the one before by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, get_args

import msgspec
from msgspec import Meta

from bbedge.errors import BoardError, DesignError, DomainError, FormatError, raise_first
from bbedge.records.codec import check_file_version, convert, parse_json, to_json
from bbedge.records.events import BoardEvent, Created
from bbedge.records.gate import GateEvent, PolicyFrozen
from bbedge.records.values import Digest, Ordinal, Strict
from bbedge.text import quoted

GENESIS = "0" * 64
"""What the first event covers."""


class LedgerEvent(Strict, frozen=True, kw_only=True, dict=True):
    """An entry of the ledger, as tables and archives hold it. Make one with :meth:`after`."""

    seq: Ordinal
    """Position in the ledger, from 1."""
    kind: str
    """What happened."""
    at: Annotated[str, Meta(pattern="^[ -~]*$", max_length=64)]
    """When, as ISO 8601 in UTC; for people, the statistics do not use it."""
    payload: Annotated[str, Meta(pattern="^[ -~]*$")]
    """What the event says, as canonical JSON: the text that the hash covers."""
    previous: Digest
    """Hash of the event before."""
    hash: Digest
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
    def fact(self) -> BoardEvent | GateEvent:
        """What the event says; ``BoardError`` if the payload is not what its kind says."""
        return from_payload(self.kind, self.payload)

    @property
    def content(self) -> BoardEvent:
        """What an event of a board says; ``BoardError`` if it is one of a gate."""
        if isinstance(self.fact, GateEvent):
            raise BoardError(f"{self.called} is one of a gate, not of a board")
        return self.fact

    @property
    def called(self) -> str:
        """The event in a message."""
        return f"event {self.seq} ({self.kind})"


def _digest(seq: int, kind: str, at: str, payload: str, previous: str) -> str:
    text = json.dumps([seq, kind, at, payload, previous], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _is_time(text: str) -> bool:
    """Whether a time has the one form in which the order of times is that of their texts."""
    try:
        at = datetime.fromisoformat(text)
        return at.utcoffset() == timedelta(0) and at.isoformat(timespec="seconds") == text
    except ValueError:
        return False


def checked_events(events: Iterable[LedgerEvent]) -> Iterator[LedgerEvent]:
    """The events again, each after a check of its place, its hash and its content."""
    number, before, at = 0, GENESIS, ""
    family: tuple[str, ...] = ()
    for event in events:
        raise_first(
            BoardError,
            (
                event.seq != number + 1,
                f"event {number + 1} is missing from the ledger: event {event.seq} comes in its place",
            ),
            (
                event.previous != before,
                f"event {event.seq} does not follow event {number}: the ledger was edited",
            ),
            (
                event.hash != _digest(event.seq, event.kind, event.at, event.payload, event.previous),
                f"{event.called} does not match its hash: it was edited",
            ),
            (
                not _is_time(event.at),
                f"{event.called}: {quoted(event.at)} is not a time in UTC, such as 2026-01-31T09:30:00+00:00",
            ),
            (
                event.at < at,
                f"{event.called}: its time, {event.at}, is before that of the event before it, {at}",
            ),
        )
        try:
            _ = event.fact
        except BoardError as error:
            raise BoardError(f"event {event.seq}: {error}") from error
        family = family if number else _FAMILIES.get(event.kind, ())
        if event.kind not in family or (event.kind in _FAMILIES) != (number == 0):
            raise BoardError(f"{event.called}: a board begins with its design, and has one; a gate with its policy")
        number, before, at = event.seq, event.hash, event.at
        yield event


def check_head(events: Sequence[LedgerEvent], head: str | None) -> None:
    """Refuse a ledger in which no event has a hash that was published earlier, if one is given."""
    if head is not None and len(head) < _HEAD_DIGITS:
        raise DomainError(
            f"a published hash of {len(head)} digits proves little; give at least {_HEAD_DIGITS} of its 64"
        )
    if head is not None and not any(event.hash.startswith(head.lower()) for event in events):
        raise BoardError(
            f"no event has the published hash {head[:64]}: the history was rewritten, or this is an older copy of it"
        )


_HEAD_DIGITS = 16
_KINDS: dict[str, type[BoardEvent | GateEvent]] = {cls.kind: cls for cls in get_args(BoardEvent | GateEvent)}
KINDS = tuple(_KINDS)
"""What ledgers call the kinds of events."""
_FAMILIES = {
    Created.kind: tuple(cls.kind for cls in get_args(BoardEvent)),
    PolicyFrozen.kind: tuple(cls.kind for cls in get_args(GateEvent)),
}
"""By the kind of the first event: the kinds of a board, and those of a gate."""

_MOST_DEPTH = 64  # of the particulars of a note


def from_payload(kind: str, payload: str) -> BoardEvent | GateEvent:
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
    except (FormatError, DesignError, DomainError, UnicodeEncodeError) as error:
        raise BoardError(str(error)) from error
    # One text for one event: keys in order, numbers as they are written here, nothing left out.
    if to_json(event) != payload:
        raise BoardError("its content is not in the form that bbedge writes")
    return event
