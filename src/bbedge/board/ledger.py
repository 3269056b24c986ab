"""The ledger: events in order, each covering the one before by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from bbedge.errors import BoardError

EventKind = Literal["init", "pilot", "replicate", "add-model", "add-items", "retire", "note"]

GENESIS = "0" * 64
"""What the first event covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to the board. Make one with :meth:`after`."""

    seq: int
    """Position in the ledger, from 1."""
    kind: EventKind
    """What happened."""
    at: str
    """When, as ISO 8601 in UTC; for people, the statistics do not use it."""
    payload: str
    """The particulars, as canonical JSON."""
    previous: str
    """Hash of the event before."""
    hash: str
    """Hash of this event and, through ``previous``, of all before."""

    @classmethod
    def after(cls, previous: Event | None, kind: EventKind, at: str, content: dict[str, Any]) -> Event:
        """The event that follows another, or the first."""
        seq, before = (previous.seq + 1, previous.hash) if previous else (1, GENESIS)
        payload = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return cls(
            seq=seq, kind=kind, at=at, payload=payload, previous=before, hash=_digest(seq, kind, at, payload, before)
        )

    @property
    def content(self) -> dict[str, Any]:
        """The particulars."""
        return cast("dict[str, Any]", json.loads(self.payload))


def _digest(seq: int, kind: str, at: str, payload: str, previous: str) -> str:
    text = json.dumps([seq, kind, at, payload, previous], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def checked(events: Iterable[Event]) -> Iterator[Event]:
    """The events again, each only after its place and its hash were found right."""
    before, expected = GENESIS, 1
    for event in events:
        if event.seq != expected:
            raise BoardError(f"event {expected} is missing from the ledger: event {event.seq} comes in its place")
        if event.previous != before:
            raise BoardError(f"event {event.seq} does not follow event {expected - 1}: the ledger was edited")
        if event.hash != _digest(event.seq, event.kind, event.at, event.payload, event.previous):
            raise BoardError(f"event {event.seq} ({event.kind}) does not match its hash: it was edited")
        if event.kind not in get_args(EventKind):
            raise BoardError(f"event {event.seq} is of the unknown kind {event.kind!r}")
        before, expected = event.hash, expected + 1
        yield event
