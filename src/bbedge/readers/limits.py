"""How much a file may unpack to, and how long a line, a value or a name in it may be.

A file is never refused for its own size. The limits are for what a small file can turn into.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields

from bbedge.errors import Argument, Blank, DomainError, FormatError, Part
from bbedge.text import quoted

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
RATIO = 200
"""Up to so many times its own size a compressed file may unpack to, whatever that is."""


class LimitError(FormatError):
    """An input exceeds a limit that can be raised."""


class UnpackedLimitError(LimitError):
    """A compressed file unpacks to more than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of what is read.

    >>> Limits.up_to(2**33).line_bytes, Limits.up_to(1).line_bytes
    (8589934592, 67108864)
    """

    unpacked_bytes: int = 1 << 30
    """What a compressed file may unpack to, if that is also more than ``RATIO`` times its size."""
    line_bytes: int = 64 << 20
    """One line of a text file, one value of a JSON document, one summary beside a log."""
    name_bytes: int = 1 << 20
    """One name of a model, item, replicate or block."""
    piped_bytes: int = 16 << 30
    """What is read from standard input."""
    pair_bytes: int = 64 << 30
    """The arrays that hold a number for every pair of models; beyond it, the pairs are cut into tiles."""

    @classmethod
    def up_to(cls, size: int) -> Limits:
        """The usual limits, with every one that is lower raised to ``size`` bytes."""
        if size < 1:
            raise DomainError(f"limits of {size} bytes; expected a size of at least 1 byte")
        usual = cls()
        return cls(**{field.name: max(getattr(usual, field.name), size) for field in fields(cls)})

    @classmethod
    def of_text(cls, size: str) -> Limits:
        """The limits for a size such as 8G.

        >>> Limits.of_text("1.5k").line_bytes, Limits.of_text("2GiB").unpacked_bytes
        (67108864, 2147483648)
        """
        return cls.up_to(bytes_of(size, "max_size"))

    def most_unpacked(self, packed: int) -> int:
        """What a file of ``packed`` bytes may unpack to."""
        return max(self.unpacked_bytes, RATIO * packed)

    def check_unpacked(self, unpacked: int, *, packed: int, name: str) -> None:
        """Raise if a file of ``packed`` bytes unpacks to too much."""
        if unpacked > self.most_unpacked(packed):
            raise UnpackedLimitError(
                f"{name}: {packed:,} bytes that unpack to more than {size_words(self.unpacked_bytes)}, over {RATIO} "
                "times as much; unpack the file if you trust it, or ",
                *HOW_TO_RAISE,
            )

    def check_line(self, length: int, *, place: str, what: str = "a line") -> None:
        """Raise if a line or a value is too long."""
        if length > self.line_bytes:
            raise LimitError(
                f"{place}: {what} does not end for {size_words(self.line_bytes)}; check that the file is what its "
                "name says, or ",
                *HOW_TO_RAISE,
            )


HOW_TO_RAISE: tuple[Part, ...] = ("raise the limits with ", Argument("max_size", Blank("SIZE")))
"""The end of a message about a limit."""

# Not an argument of every function on the way: readers of other packages are opened with a path alone.
_IN_FORCE: ContextVar[Limits | None] = ContextVar("limits", default=None)
_USUAL = Limits()


def limits_in_force() -> Limits:
    """The limits of the call that is reading."""
    return _IN_FORCE.get() or _USUAL


@contextmanager
def limited(limits: Limits | str | None) -> Iterator[None]:
    """Read with these limits, or with those for a size such as 8G; None keeps those in force."""
    token = _IN_FORCE.set(Limits.of_text(limits) if isinstance(limits, str) else limits or _IN_FORCE.get())
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


def bytes_of(size: str, argument: str) -> int:
    """The number of bytes that a text such as 8G says.

    >>> bytes_of("1.5k", "memory")
    1536
    """
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise DomainError(
            Argument(argument), f" {quoted(size)} is not a size; write a number and K, M, G or T, such as 8G"
        )
    return int(float(found[1]) * 1024 ** " KMGT".index((found[2] or " ").upper()))


def size_words(size: int) -> str:
    """A number of bytes for people.

    >>> size_words(64 << 20), size_words(3 << 29), size_words(1000)
    ('64 MiB', '1.5 GiB', '1000 bytes')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
