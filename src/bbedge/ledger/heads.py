"""The heads of a ledger: number, hash and time of every event, in a text file beside it that only grows.

Whoever has a copy of the file can show later that the ledger was rolled back or rewritten. A head is appended once its
event is on the disk. After a kill in between, the next time that the ledger is opened or changed appends it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from bbedge.errors import BoardError, ForkedError, FormatError, RewrittenError, RolledBackError
from bbedge.files import LockedError, lock, read_text, sync_folder, system_errors
from bbedge.ledger.chain import LedgerEvent
from bbedge.records.codec import FILE_VERSION, check_file_version, convert, parse_json, to_json
from bbedge.records.values import Digest, Ordinal, Strict
from bbedge.text import counted, shown_path

PUBLISHED_NAME = "heads.jsonl"
"""What the file is called in a folder that is published."""

_BESIDE = f".{PUBLISHED_NAME}"
_LONGEST = 4096  # bytes of a line, and more
_SECONDS, _POLL_SECONDS = 30.0, 0.01
_MODE = 0o644


class LedgerHead(Strict, frozen=True, kw_only=True):
    """An event as a line of the file: whoever knows it knows the ledger up to there."""

    version: Ordinal = FILE_VERSION
    """The version of its keys."""
    number: Ordinal
    """The place of the event in the ledger."""
    hash: Digest
    """Its hash, which covers all events before."""
    time: str
    """When it was recorded, as the event says."""

    @classmethod
    def from_event(cls, event: LedgerEvent) -> LedgerHead:
        """The head of a ledger that ends with this event."""
        return cls(number=event.seq, hash=event.hash, time=event.at)

    @property
    def line(self) -> str:
        """The line that stands for it."""
        return f"{to_json(self)}\n"


def heads_beside(ledger: Path) -> Path:
    """The file of the heads of a ledger in a file: two ledgers in one folder have one each."""
    return ledger.with_name(f"{ledger.name}{_BESIDE}")


def read_heads(place: str | os.PathLike[str]) -> list[LedgerHead]:
    """The heads in a file, or in the file of that kind in a folder that was published."""
    path = Path(place)
    path = path / PUBLISHED_NAME if path.is_dir() else path
    lines = read_text(path).splitlines()
    if not lines:
        raise FormatError(f"{shown_path(path)}: not a file of heads: it is empty")
    return [_head(line, f"{shown_path(path)}:{number}") for number, line in enumerate(lines, start=1)]


def _head(line: str | bytes, source: str) -> LedgerHead:
    found = parse_json(line, source=source, what="a head of a ledger")
    if isinstance(found, dict):
        check_file_version(found.get("version"), what=source, kind=FormatError)
    return convert(found, LedgerHead, source=source)


def check_heads(events: Sequence[LedgerEvent], heads: Iterable[LedgerHead]) -> None:
    """Refuse a ledger that is not the one whose heads were published, in whatever order and however often.

    Two different heads of one number, another event in the place of a published one, and events that are missing at the
    end are three kinds of :class:`~bbedge.errors.HistoryError`.
    """
    known: dict[int, LedgerHead] = {}
    for head in heads:
        other = known.setdefault(head.number, head)
        if other.hash != head.hash:
            raise ForkedError(
                f"two heads of number {head.number} were published: {other.hash} at {other.time}, and {head.hash} at "
                f"{head.time}; different readers were shown different histories"
            )
    for number in sorted(known):
        head = known[number]
        if number > len(events):
            last = known[max(known)]
            raise RolledBackError(
                f"the published head of number {last.number} ({last.hash}, {last.time}) is ahead of the ledger, which "
                f"ends with event {len(events)}: it was rolled back, or this is an older copy of it"
            )
        event = events[number - 1]
        if event.hash != head.hash:
            raise RewrittenError(
                f"event {number} has the hash {event.hash}, and the head that was published for it is {head.hash} "
                f"({head.time}): the history was rewritten there or before"
            )
        if event.at != head.time:
            raise BoardError(f"the published head of number {number} has the time {head.time}, its event {event.at}")


class HeadsFile:
    """The file of the heads of one ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether there is one."""
        return self.path.exists()

    def last(self) -> LedgerHead | None:
        """The last head that is complete; ``None`` if there is none."""
        if not self.exists:
            return None
        with system_errors(self.path, "read", kind=BoardError), self.path.open("rb") as file:
            return self._end(file)[0]

    def lacking(self, heads: Callable[[int], list[LedgerHead]]) -> list[LedgerHead]:
        """The heads that the ledger has and the file does not; refused if they do not follow its last one.

        ``heads`` gives those of the ledger from a number on.
        """
        last = self.last()
        if last is None:
            return heads(1)
        there = heads(last.number)
        if not there or there[0].hash != last.hash:
            raise BoardError(
                f"{shown_path(self.path)}: its last head is that of an event {last.number} that the ledger does not "
                "have: the ledger was rolled back or replaced. Nothing was changed. Restore the ledger; or, if it is "
                "right, move this file away, and say so where its copies are published"
            )
        return there[1:]

    def append(self, heads: Sequence[LedgerHead]) -> None:
        """Append those of the heads, which are consecutive, that another process has not appended meanwhile."""
        if not heads:
            return
        is_new = not self.exists
        with system_errors(
            self.path, "written", "; the change was made, and the next one appends its head", kind=BoardError
        ):
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), _MODE)
            with os.fdopen(number, "r+b") as file:
                _wait_for(file, self.path)
                last, end = self._end(file)
                done = 0 if last is None else last.number
                text = "".join(head.line for head in heads if head.number > done).encode("ascii")
                if text:
                    file.seek(end)
                    file.truncate()  # what a kill left of a line
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
        if is_new:
            sync_folder(self.path.parent)

    def _end(self, file: IO[bytes]) -> tuple[LedgerHead | None, int]:
        """The last complete head of the file, and where it ends."""
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - _LONGEST)
        file.seek(start)
        whole = file.read().rpartition(b"\n")[0]
        line = whole.rpartition(b"\n")[2]
        if not line:
            if start:
                raise BoardError(f"{shown_path(self.path)}: not a file of heads; move it away")
            return None, 0
        try:
            return _head(line, shown_path(self.path)), start + len(whole) + 1
        except FormatError as error:
            raise BoardError(f"{error}; move the file away, and say so where its copies are published") from error


def _wait_for(file: IO[bytes], path: Path) -> None:
    """Lock the file as soon as no other process has it."""
    until = time.monotonic() + _SECONDS
    while True:
        try:
            return lock(file)
        except LockedError:
            if time.monotonic() > until:
                raise BoardError(
                    f"{shown_path(path)}: another program kept the file locked for {counted(int(_SECONDS), 'second')}; "
                    "the change was made, and the next one appends its head"
                ) from None
        time.sleep(_POLL_SECONDS)
