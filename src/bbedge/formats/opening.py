"""Bytes of text files, read in pieces, with every way in which opening can fail told in one sentence."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from bbedge.errors import FormatError
from bbedge.naming import shown_path

# Large enough that polars parses a piece on all threads, small next to the files that it is for.
PIECE = 16 << 20
_WHITE = (b"\n", b"\r", b" ", b"\t", b"\f", b"\v")
_UTF8_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn the errors of opening and reading a file into a :class:`FormatError` that names it."""
    name = shown_path(path)
    try:
        yield
    except FileNotFoundError:
        raise FormatError(f"{name}: no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(f"{name}: a directory, not a file; name the files in it one by one") from None
    except PermissionError:
        raise FormatError(f"{name}: permission denied; make the file readable for this user") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FormatError(f"{name}: not a complete gzip file ({error}); write it again") from None
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror or error}); check the file") from None


def check_regular(path: str) -> None:
    """Raise unless there is a readable file with something in it."""
    name = shown_path(path)
    if "\0" in path:
        raise FormatError(f"{name}: a path cannot hold a NUL character; check the path")
    with told(path):
        if Path(path).is_dir():
            raise IsADirectoryError
        size = Path(path).stat().st_size
        with Path(path).open("rb"):
            pass
    if size == 0:
        raise FormatError(f"{name}: the file is empty (0 bytes); expected a table with model, item and score")


def pieces(path: str) -> Iterator[bytes]:
    """The bytes of a file, unpacked if it is gzipped, without the byte-order mark."""
    with told(path), opened(path) as file:
        piece = file.read(PIECE)
        for bom, encoding in _OTHER_BOMS.items():
            if piece.startswith(bom):
                raise FormatError(f"{shown_path(path)}: the text is {encoding}, expected UTF-8; save it as UTF-8")
        piece = piece.removeprefix(_UTF8_BOM)
        while piece:
            yield piece
            piece = file.read(PIECE)


def lines(path: str) -> Iterator[bytes]:
    """The lines of a file with their ends, split at line feeds only."""
    rest = b""
    for piece in pieces(path):
        # A comprehension over split() and not splitlines(): that one also splits at form feeds and lone CRs.
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


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


def opened(path: str) -> IO[bytes]:
    """The bytes of a file, unpacked while they are read if it is gzipped."""
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.lower().endswith(".gz") else Path(path).open("rb")
