"""The ledger: events in order, each covering the one before by its hash; and score vectors as few bytes.

Scores that are 0 and 1 take one bit each, those of few levels one byte, others a float64. Where scores are missing, a
bit per item says which, and the others follow in one of these forms. Packing is lossless and canonical: the same scores
give the same bytes, so that a checksum of the bytes is a checksum of the scores.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, get_args

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

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


_BITS, _LEVELS, _FLOATS, _GAPS = b"B", b"L", b"F", b"G"
_MOST_LEVELS = 256
_PIECE = 1 << 20  # bytes that are unpacked at a time


def pack_scores(scores: NDArray[np.float64]) -> bytes:
    """The scores as bytes; NaN, of whatever bits, is a missing score.

    >>> len(pack_scores(np.array([0.0, 1.0] * 800)))
    201
    """
    content = _content(scores)
    return content if content[:1] == _BITS else content[:1] + zlib.compress(content[1:], 6)


def _content(scores: NDArray[np.float64]) -> bytes:
    """What is packed, before compression: the same for the same scores whatever the compressor."""
    scores = np.ascontiguousarray(scores, dtype="<f8") + 0.0  # no negative zero
    missing = np.isnan(scores)
    if missing.any():
        return _GAPS + np.packbits(missing).tobytes() + _content(scores[~missing])
    if np.all((scores == 0.0) | (scores == 1.0)):
        return _BITS + np.packbits(scores == 1.0).tobytes()
    levels, codes = np.unique(scores, return_inverse=True)
    if len(levels) <= _MOST_LEVELS:
        head = bytes([len(levels) - 1]) + levels.astype("<f8").tobytes()
        return _LEVELS + head + codes.astype(np.uint8).tobytes()
    return _FLOATS + scores.tobytes()


def _most(count: int) -> int:
    """The most bytes that so many scores are before compression."""
    gaps = 1 + (count + 7) // 8
    return gaps + max(2 + 8 * _MOST_LEVELS + count, 1 + 8 * count)


def _pieces(data: bytes, most: int | None) -> Iterator[bytes]:
    """What was packed, a piece at a time; a few bytes can stand for gigabytes, so no more than ``most`` in all."""
    if data[:1] == _BITS:
        if most is not None and len(data) > most:
            raise ValueError("too long")
        yield data
        return
    yield data[:1]
    stream, total, rest = zlib.decompressobj(), 1, data[1:]
    while True:
        piece = stream.decompress(rest, _PIECE)
        total, rest = total + len(piece), stream.unconsumed_tail
        if most is not None and total > most:
            raise ValueError("too long")
        yield piece
        if stream.eof or not (piece or rest):
            break
    if not stream.eof or stream.unused_data:
        raise ValueError("cut short or followed by something else")


def unpack_scores(data: bytes, count: int) -> NDArray[np.float64]:
    """The scores again; anything but what :func:`pack_scores` wrote for ``count`` scores is refused."""
    try:
        content = b"".join(_pieces(data, _most(count)))
        scores = _scores(content, count)
        if len(scores) != count or _content(scores) != content:
            raise ValueError("not what these scores pack to")
    except (ValueError, IndexError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error
    return scores


def _scores(content: bytes, count: int) -> NDArray[np.float64]:
    """What some content stands for, if it stands for ``count`` scores."""
    kind, body = content[:1], content[1:]
    if kind == _GAPS:
        ends = (count + 7) // 8
        if body[ends : ends + 1] == _GAPS:  # or a few bytes could nest thousands deep
            raise ValueError("missing scores are listed twice")
        missing = np.unpackbits(np.frombuffer(body[:ends], dtype=np.uint8), count=count).astype(np.bool_)
        scores = np.full(count, np.nan)
        scores[~missing] = _scores(body[ends:], int((~missing).sum()))
        return scores
    if kind == _BITS:
        return np.unpackbits(np.frombuffer(body, dtype=np.uint8), count=count).astype(np.float64)
    if kind == _LEVELS:
        n_levels = body[0] + 1
        levels = np.frombuffer(body[1 : 1 + 8 * n_levels], dtype="<f8")
        return levels[np.frombuffer(body[1 + 8 * n_levels :], dtype=np.uint8)].astype(np.float64)
    if kind == _FLOATS:
        return np.frombuffer(body, dtype="<f8").astype(np.float64)
    raise ValueError("unknown packing")


def missing_checksum(count: int) -> str:
    """The checksum of ``count`` scores that are all missing."""
    return checksum(pack_scores(np.full(count, np.nan)))


def checksum(data: bytes, count: int | None = None) -> str:
    """SHA-256 of what is packed, in hexadecimal: of the scores, not of how they were compressed.

    With ``count``, data that stand for more than so many scores are refused before they are unpacked.
    """
    total = hashlib.sha256()
    try:
        for piece in _pieces(data, None if count is None else _most(count)):
            total.update(piece)
    except (ValueError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error
    return total.hexdigest()


def digest(data: bytes) -> str:
    """SHA-256 of the bytes themselves, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
