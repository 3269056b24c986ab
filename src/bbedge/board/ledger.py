"""The ledger: events in order, each covering the one before by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from bbedge.board.events import Content, Created, PartAdded, from_payload
from bbedge.errors import BoardError

GENESIS = "0" * 64
"""What the first event covers."""

TEXTS = ("kind", "at", "payload", "previous", "hash")
"""The texts of an event, which tables and archives hold in this order after its number."""


@dataclass(frozen=True, kw_only=True)
class Event:
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
    def after(cls, previous: Event | None, kind: str, at: str, payload: str) -> Event:
        """The event that follows another, or the first."""
        seq, before = (previous.seq + 1, previous.hash) if previous else (1, GENESIS)
        return cls(
            seq=seq, kind=kind, at=at, payload=payload, previous=before, hash=_digest(seq, kind, at, payload, before)
        )

    @cached_property
    def content(self) -> Content:
        """What the event says; ``BoardError`` if the payload is not what its kind says."""
        return from_payload(self.kind, self.payload)

    @property
    def called(self) -> str:
        """The event in a message."""
        return f"event {self.seq} ({self.kind})"


def _digest(seq: int, kind: str, at: str, payload: str, previous: str) -> str:
    text = json.dumps([seq, kind, at, payload, previous], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def checked(events: Iterable[Event]) -> Iterator[Event]:
    """The events again, each after a check of its place, its hash and its content."""
    before, expected, has_checkpoints = GENESIS, 1, False
    for event in events:
        if event.seq != expected:
            raise BoardError(f"event {expected} is missing from the ledger: event {event.seq} comes in its place")
        if event.previous != before:
            raise BoardError(f"event {event.seq} does not follow event {expected - 1}: the ledger was edited")
        if event.hash != _digest(event.seq, event.kind, event.at, event.payload, event.previous):
            raise BoardError(f"{event.called} does not match its hash: it was edited")
        try:
            content = event.content
        except BoardError as error:
            raise BoardError(f"event {event.seq}: {error}") from error
        if (event.kind == "init") != (expected == 1):
            raise BoardError(f"{event.called}: a board begins with its design, and has one")
        if isinstance(content, Created):
            has_checkpoints = content.design.checkpoints is not None
        if isinstance(content, PartAdded) and not has_checkpoints:
            raise BoardError(f"{event.called}: the design of the board has no checkpoints")
        before, expected = event.hash, expected + 1
        yield event
