"""Bytes of text files, read in pieces, with one sentence for every way in which opening can fail."""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from bbedge.errors import FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.text import shown_path

# Large enough that polars parses a piece on all threads, small next to the files that it is for.
PIECE = 16 << 20
_WHITE = (b"\n", b"\r", b" ", b"\t", b"\f", b"\v")
_FILLED = re.compile(rb"\S")
_UTF8_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextmanager
def told(path: str, name: str | None = None) -> Iterator[None]:
    """Turn the errors of opening and reading a file into a :class:`FormatError` that names it."""
    name = name or shown_path(path)
    try:
        yield
    except FileNotFoundError:
        if Path(path).is_symlink():
            raise FormatError(
                f"{name}: a link to a file that does not exist; restore the file or remove the link"
            ) from None
        raise FormatError(f"{name}: no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(f"{name}: a directory, not a file; name the files in it one by one") from None
    except PermissionError:
        raise FormatError(f"{name}: permission denied; make it readable for this user") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FormatError(f"{name}: not a complete gzip file ({error}); write it again") from None
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror or error}); check the file") from None


def check_path(path: str) -> None:
    """Raise if no file can have this path."""
    if "\0" in path:
        raise FormatError(f"{shown_path(path)}: a path cannot hold a NUL character; check the path")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise FormatError(f"{shown_path(path)}: an unpaired surrogate in the path; check the path") from None


def is_regular(path: str) -> bool:
    """Whether a path that exists is a regular file; reading a pipe or a device may never end."""
    with told(path):
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - the same for links to files


def check_regular(path: str, *, expected: str = "a table with model, item and score") -> None:
    """Raise unless there is a readable regular file with something in it: what is expected."""
    name = shown_path(path)
    check_path(path)
    with told(path):
        found = os.stat(path)  # noqa: PTH116 - the same for links to files
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(found.st_mode):
            kind = next((kind for is_kind, kind in _KINDS if is_kind(found.st_mode)), "something else")
            raise FormatError(
                f"{name}: {kind}, not a regular file; write its content to a file, or pipe a table into the command "
                "and name it -"
            )
        with Path(path).open("rb"):
            pass
    if found.st_size == 0:
        raise FormatError(f"{name}: the file is empty (0 bytes); expected {expected}")


class Bytes(Protocol):
    """A file that is open for reading."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""

    def __enter__(self) -> Bytes:
        """Open until the block ends."""

    def __exit__(self, *error: object) -> None:
        """Close."""


class _Unpacked:
    """A gzip file, unpacked while it is read, up to the limit."""

    def __init__(self, path: str, name: str) -> None:
        self._file = gzip.open(path, "rb")  # noqa: SIM115 - closed by __exit__
        self._packed, self._name, self._size = Path(path).stat().st_size, name, 0

    def __enter__(self) -> _Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        self._size += len(data)
        limits_in_force().check_unpacked(self._size, packed=self._packed, name=self._name)
        return data


def opened(path: str, name: str | None = None) -> IO[bytes] | Bytes:
    """The bytes of a file, unpacked while they are read if it is gzipped."""
    return _Unpacked(path, name or shown_path(path)) if path.lower().endswith(".gz") else Path(path).open("rb")


def pieces(path: str, name: str | None = None) -> Iterator[bytes]:
    """The bytes of a file, unpacked if it is gzipped, without the byte-order mark."""
    name = name or shown_path(path)
    with told(path, name), opened(path, name) as file:
        piece = file.read(PIECE)
        for bom, encoding in _OTHER_BOMS.items():
            if piece.startswith(bom):
                raise FormatError(f"{name}: the text is {encoding}, expected UTF-8; save it as UTF-8")
        piece = piece.removeprefix(_UTF8_BOM)
        while piece:
            yield piece
            piece = file.read(PIECE)


def lines(path: str, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines with something in them, each with its end and its number from 1; split at line feeds only.

    Blank lines are passed over in bulk, because a small gzip file can hold a billion of them.
    """
    number, begun, length = 1, [], 0
    for piece in pieces(path, name):
        at = piece.find(b"\n") + 1
        begun.append(piece[:at] if at else piece)
        length += len(begun[-1])
        limits_in_force().check_line(length, place=f"{name or shown_path(path)}:{number}")
        if not at:
            continue
        line = b"".join(begun)
        if not line.isspace():
            yield number, line
        number += 1
        filled = _FILLED.search(piece, at)
        while filled is not None:
            number += piece.count(b"\n", at, filled.start())
            begin = max(at, piece.rfind(b"\n", at, filled.start()) + 1)
            end = piece.find(b"\n", filled.start()) + 1
            if not end:
                at = begin
                break
            yield number, piece[begin:end]
            number, at = number + 1, end
            filled = _FILLED.search(piece, at)
        else:
            number += piece.count(b"\n", at)
            at = max(at, piece.rfind(b"\n") + 1)
        begun, length = [piece[at:]], len(piece) - at
    line = b"".join(begun)
    if line and not line.isspace():
        yield number, line


def lines_if_plain(chunk: bytes, *, quote: bytes | None = None) -> int | None:
    """The number of lines of a piece without blank lines and, where one is given, without quotes; otherwise None."""
    if quote is not None and quote in chunk:
        return None
    # A line that begins with white space may be blank; a search for fixed bytes is much faster than a pattern.
    if chunk.startswith(_WHITE) or any(b"\n" + white in chunk for white in _WHITE):
        return None
    return chunk.count(b"\n") + (not chunk.endswith(b"\n"))


def decoded(line: bytes, *, place: str) -> str:
    """The text of a line, or an error that says where it is not UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{place}: byte 0x{line[error.start]:02x} is not valid UTF-8; save the file as UTF-8"
        ) from None
