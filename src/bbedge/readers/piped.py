"""Standard input as a source: a table, kept in a temporary file because tables are read more than once."""

from __future__ import annotations

import gzip
import sys
import tempfile
import zlib
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from typing import BinaryIO
from weakref import finalize

from bbedge.errors import FormatError
from bbedge.readers.limits import HOW_TO_RAISE, LimitError, limits_in_force, size_words
from bbedge.readers.opening import PIECE

STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0")
"""The paths that mean standard input."""
NAME = "standard input"
"""What to call it."""
_HEAD = 1 << 16


def standard_input() -> str:
    """The path of a file with what standard input holds, whose ending says what kind of table it is."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise FormatError(f"{NAME}: closed; pipe a table into the command, or name a file instead of -")
    return _spooled(stream)


# A stream can be read only once, and a survey reads its sources twice.
@lru_cache(maxsize=1)
def _spooled(stream: BinaryIO) -> str:
    from bbedge.readers.assemble.spool import spool_folder

    try:
        folder = Path(tempfile.mkdtemp(prefix="bbedge-", dir=spool_folder()))
        finalize(stream, rmtree, folder, ignore_errors=True)
        with (folder / "piped").open("wb") as file:
            _copy(stream, file)
    except OSError as error:
        raise FormatError(
            f"{NAME}: cannot be kept in {spool_folder()} ({error.strerror or error}); set TMPDIR to a folder on a disk "
            "with more room, or write it to a file"
        ) from None
    return str(_named(folder / "piped"))


def _copy(stream: BinaryIO, file: BinaryIO) -> None:
    most, size = limits_in_force().piped_bytes, 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if size > most:
            raise LimitError(f"{NAME}: more than {size_words(most)}; write it to a file, or ", *HOW_TO_RAISE)
        file.write(piece)
    if not size:
        raise FormatError(f"{NAME}: empty; pipe a table with model, item and score into the command")


def _named(path: Path) -> Path:
    """The file, given an ending by its content."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    packed = ""
    if head.startswith(b"\x1f\x8b"):
        packed = ".gz"
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FormatError(f"{NAME}: not a complete gzip file ({error}); write it again") from None
    return path.rename(path.with_name(f"piped{_ending(head)}{packed}"))


def _ending(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        raise FormatError(f"{NAME}: an archive; standard input takes a table: name the file of a log instead")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return ".jsonl"
    first = start.partition(b"\n")[0]
    return ".tsv" if first.count(b"\t") > first.count(b",") else ".csv"
