"""From paths, folders and patterns to bytes, read in pieces, with one message for every way in which it can fail."""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import stat
import sys
import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path, PurePath
from shutil import rmtree
from typing import Any, BinaryIO, Protocol
from weakref import finalize

from bbedge.errors import FormatError
from bbedge.readers.limits import HOW_TO_RAISE, LimitError, limits_in_force, size_words
from bbedge.records.codec import unique_keys
from bbedge.text import quoted, shown_path

# Large enough that polars parses a piece on all threads, small next to the files that it is for.
PIECE = 16 << 20
_WHITE = (b"\n", b"\r", b" ", b"\t", b"\f", b"\v")
_FILLED = re.compile(rb"\S")
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_POINTER = b"version https://git-lfs.github.com/spec/"
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0")
"""The paths that mean standard input."""
PIPED = "standard input"
"""What to call it in messages."""
_HEAD = 1 << 16
# What a byte of gzip data unpacks to at most: two bits for a match of 258 bytes.
_MOST_DEFLATED = 1032
_PART = 1 << 20
_ANY_DEPTH = "**"


@contextmanager
def naming_errors(path: str, name: str | None = None) -> Iterator[None]:
    """Turn the errors of opening and reading a file into a :class:`FormatError` that names it."""
    name = name or shown_path(path)
    try:
        yield
    except FileNotFoundError:
        link = "a link to a file that does not exist; restore the file or remove the link"
        raise FormatError(f"{name}: {link if Path(path).is_symlink() else 'no such file; check the path'}") from None
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
    with naming_errors(path):
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - the same for links to files


def check_regular(path: str, *, expected: str = "a table with model, item and score") -> None:
    """Raise unless there is a readable regular file with something in it: what is expected."""
    name = shown_path(path)
    check_path(path)
    with naming_errors(path):
        found = os.stat(path)  # noqa: PTH116 - the same for links to files
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(found.st_mode):
            kind = next((kind for is_kind, kind in _KINDS if is_kind(found.st_mode)), "something else")
            raise FormatError(
                f"{name}: {kind}, not a regular file; write its content to a file, or pipe a table into the command "
                "and name it -"
            )
    if is_pointer(path):
        raise FormatError(
            f"{name}: a Git LFS pointer, which stands in the place of the file; fetch the file with git lfs pull, or "
            "download it"
        )
    if found.st_size == 0:
        raise FormatError(f"{name}: the file is empty (0 bytes); expected {expected}")


def is_pointer(path: str) -> bool:
    """Whether a file only says where Git LFS has its content."""
    with naming_errors(path), Path(path).open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER


class Readable(Protocol):
    """A file that is open for reading, or a member of an archive."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""


@contextmanager
def opened(path: str, name: str | None = None) -> Iterator[Readable]:
    """A file, unpacked while it is read if it is gzipped; errors of opening and reading name it."""
    name, packed = name or shown_path(path), path.lower().endswith(".gz")
    with naming_errors(path, name), closing(gzip.open(path, "rb") if packed else Path(path).open("rb")) as file:
        yield _Unpacked(file, path, name) if packed else file


class _Unpacked:
    """A gzip file, unpacked while it is read.

    Reading rows takes many times as long as unpacking them. So before more than a first part is read, a file that may
    be beyond the limit is unpacked once without being read.
    """

    def __init__(self, file: Readable, path: str, name: str) -> None:
        self._file, self._path, self._name, self._size = file, path, name, 0

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        self._size += len(data)
        if self._size > PIECE:
            limits, found = limits_in_force(), Path(self._path).stat()
            unpacked = self._size
            if found.st_size * _MOST_DEFLATED > limits.unpacked_bytes:
                unpacked = max(
                    unpacked, _unpacked_size(self._path, limits.most_unpacked(found.st_size), found.st_mtime_ns)
                )
            limits.check_unpacked(unpacked, packed=found.st_size, name=self._name)
        return data


# A file is read several times: for its columns, its rows and the place of a row.
@lru_cache(maxsize=256)
def _unpacked_size(path: str, most: int, _changed: int) -> int:
    """What a gzip file unpacks to, or a size above ``most`` if that is more."""
    size = 0
    with closing(gzip.open(path, "rb")) as packed:
        while size <= most and (piece := packed.read(_PART)):
            size += len(piece)
    return size


def pieces(path: str, name: str | None = None) -> Iterator[bytes]:
    """The bytes of a file, unpacked if it is gzipped, without the byte-order mark."""
    with opened(path, name) as file:
        piece = file.read(PIECE)
        if piece.startswith(_UTF16_BOMS):
            raise FormatError(f"{name or shown_path(path)}: the text is UTF-16, expected UTF-8; save it as UTF-8")
        piece = piece.removeprefix(_UTF8_BOM)
        while piece:
            yield piece
            piece = file.read(PIECE)


def whole_pieces(
    parts: Iterable[bytes], *, first_line: int, end_in: Callable[[bytes], int], check: Callable[[bytes, int], None]
) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file in pieces that end with a row, each with its first line.

    ``end_in`` finds the end of the last row in some bytes, 0 if none ends there; ``check`` then refuses what is too
    long.
    """
    line, rest = first_line, b""
    for part in parts:
        rest += part
        end = end_in(rest)
        if end:
            yield line, rest[:end]
            line += rest.count(b"\n", 0, end)
            rest = rest[end:]
        else:
            check(rest, line)
    if rest:
        yield line, rest


def whole_lines(path: str, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file in pieces that end with a line, each with the number of its first line."""
    name = name or shown_path(path)
    return whole_pieces(
        pieces(path, name),
        first_line=1,
        end_in=lambda data: data.rfind(b"\n") + 1,
        check=lambda rest, line: limits_in_force().check_line(len(rest), place=f"{name}:{line}"),
    )


def lines(path: str, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines with something in them, each with its end and its number from 1; split at line feeds only."""
    for number, piece in whole_lines(path, name):
        # Only the first line of a piece can have begun in earlier ones.
        limits_in_force().check_line(piece.find(b"\n") + 1 or len(piece), place=f"{name or shown_path(path)}:{number}")
        yield from filled_lines(piece, number)


def filled_lines(piece: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece with something in them, each with its end and its number; the first has this ``number``.

    Blank lines are passed over in bulk, because a small gzip file can hold a billion of them.
    """
    at = 0
    while filled := _FILLED.search(piece, at):
        begin = max(at, piece.rfind(b"\n", at, filled.start()) + 1)
        number += piece.count(b"\n", at, begin)
        at = piece.find(b"\n", filled.start()) + 1 or len(piece)
        yield number, piece[begin:at]
        number += 1


def lines_if_plain(chunk: bytes, *, quote: bytes | None = None) -> int | None:
    """The number of lines of a piece without blank lines and, where one is given, without quotes; otherwise None."""
    if (
        (quote is not None and quote in chunk)
        # A line that begins with white space may be blank; a search for fixed bytes is much faster than a pattern.
        or chunk.startswith(_WHITE)
        or any(b"\n" + white in chunk for white in _WHITE)
    ):
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


def json_object(line: bytes, *, place: str, expected: str, cut_off: str) -> dict[str, Any]:
    """The JSON object of a line or a small document; ``cut_off`` says what to do if the file was cut off."""
    try:
        value = json.loads(decoded(line, place=place), object_pairs_hook=partial(unique_keys, place=lambda: place))
    except json.JSONDecodeError as error:
        raise FormatError(f"{place}: not valid JSON ({error.msg} at character {error.colno}); {cut_off}") from None
    except RecursionError:
        raise FormatError(f"{place}: JSON nested too deeply; expected {expected}") from None
    except FormatError:
        raise
    except ValueError as error:
        # Integers of thousands of digits, which Python refuses to convert.
        raise FormatError(f"{place}: not readable JSON ({error}); expected {expected}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{place}: a JSON {type(value).__name__}, {quoted(repr(value))}; expected {expected}")
    return value


def standard_input() -> str:
    """The path of a file with what standard input holds, whose ending says what kind of table it is."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise FormatError(f"{PIPED}: closed; pipe a table into the command, or name a file instead of -")
    return _spooled(stream)


# A stream can be read only once, and a survey reads its sources twice.
@lru_cache(maxsize=1)
def _spooled(stream: BinaryIO) -> str:
    from bbedge.readers.assemble.grid import spool_folder

    try:
        folder = Path(tempfile.mkdtemp(prefix="bbedge-", dir=spool_folder()))
        finalize(stream, rmtree, folder, ignore_errors=True)
        most, size = limits_in_force().piped_bytes, 0
        with (folder / "piped").open("wb") as file:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > most:
                    raise LimitError(f"{PIPED}: more than {size_words(most)}; write it to a file, or ", *HOW_TO_RAISE)
                file.write(piece)
    except OSError as error:
        raise FormatError(
            f"{PIPED}: cannot be kept in {spool_folder()} ({error.strerror or error}); set TMPDIR to a folder on a "
            "disk with more room, or write it to a file"
        ) from None
    if not size:
        raise FormatError(f"{PIPED}: empty; pipe a table with model, item and score into the command")
    return str(_with_ending(folder / "piped"))


def _with_ending(path: Path) -> Path:
    """The file, given an ending by its content."""
    with path.open("rb") as file:
        head, packed = file.read(_HEAD), ""
    if head.startswith(b"\x1f\x8b"):
        with naming_errors(str(path), PIPED), gzip.open(path) as unpacked:
            head, packed = unpacked.read(_HEAD), ".gz"
    return path.rename(path.with_name(f"piped{_ending(head)}{packed}"))


def _ending(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        raise FormatError(f"{PIPED}: an archive; standard input takes a table: name the file of a log instead")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return ".jsonl"
    first = start.partition(b"\n")[0]
    return ".tsv" if first.count(b"\t") > first.count(b",") else ".csv"


def files_of(given: str) -> tuple[list[str], bool]:
    """The files of a path, and whether it was searched for them.

    A folder is searched for all files below it, a pattern for those that fit; hidden ones are left alone. A folder that
    is reached by its own path and by links is entered by its own path, and by one link otherwise.
    """
    check_path(given)
    # os.path and not pathlib, which raises on names that are too long.
    if os.path.isdir(given):  # noqa: PTH112
        return sorted(_search(given, (_ANY_DEPTH,))), True
    if glob.has_magic(given) and not os.path.lexists(given):
        found = files_matching(given)
        if not found:
            raise FormatError(f"{shown_path(given)}: no such file, and none that fits it as a pattern; check the path")
        return found, True
    return [given], False


def files_matching(pattern: str) -> list[str]:
    """All files that fit a pattern, and all below the folders that fit it, in order."""
    path = PurePath(pattern)
    return sorted(set(_search(path.anchor, (*(path.parts[1:] if path.anchor else path.parts), _ANY_DEPTH))))


def _search(start: str, parts: Sequence[str]) -> Iterator[str]:
    """The files whose path below ``start`` fits the parts, the last of which stands for everything below.

    A folder is entered once for each part, so that links in a circle come to an end. Links wait until all other folders
    have been entered.
    """
    last = len(parts) - 1
    waiting, links = deque([(start, 0)]), deque[tuple[str, int]]()
    seen: set[tuple[int, int, int]] = set()
    while waiting or links:
        folder, at = (waiting or links).popleft()
        with naming_errors(folder):
            place = os.stat(folder or os.curdir)  # noqa: PTH116 - of where a link points to
        if (place.st_dev, place.st_ino, at) in seen:
            continue
        seen.add((place.st_dev, place.st_ino, at))
        deep = parts[at] == _ANY_DEPTH
        if deep and at < last:
            waiting.append((folder, at + 1))
        for path in _fitting(folder, parts[at]):
            if os.path.isdir(path):  # noqa: PTH112 - false where pathlib raises
                queue = links if os.path.islink(path) else waiting  # noqa: PTH114
                queue.append((path, at if deep else at + 1))
            elif at == last or (not deep and at + 1 == last):
                yield path


def _fitting(folder: str, part: str) -> Iterator[str]:
    """The entries of a folder that fit one part of a pattern, in order."""
    # Paths are joined as text, which keeps how the pattern was written.
    if part == _ANY_DEPTH or glob.has_magic(part):
        with naming_errors(folder):
            names = sorted(os.listdir(folder or os.curdir))  # noqa: PTH208
    else:
        names = [part] if os.path.lexists(os.path.join(folder, part)) else []  # noqa: PTH118
    for name in names:
        hidden = name.startswith(".") and not part.startswith(".")
        if not hidden and (part == _ANY_DEPTH or fnmatchcase(name, part)):
            yield os.path.join(folder, name)  # noqa: PTH118
