"""Question files: a path or a web address becomes rows whose fields are checked when they are read.

A benchmark is fixed by its questions, so nothing in them is guessed: a field that is missing or of another type is an
error that names the file and the line.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import polars as pl

from bbedge.credentials import redacted, without_credentials
from bbedge.errors import FormatError
from bbedge.text import quoted, shown_path

_WEB = ("https://", "http://")
_SECONDS = 60.0
# The largest published file, MMLU-Pro as JSON lines, has about 15 MB.
_LARGEST = 256 << 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """One row of a question file, with typed access whose errors name the file and the line."""

    place: str
    """File and line, for messages."""
    fields: Mapping[str, object]
    """The fields as they stand in the file."""

    def text(self, key: str) -> str:
        """A field that holds text that is not blank."""
        return self._typed(key, str, "some text", lambda value: bool(value.strip()))

    def whole(self, key: str) -> int:
        """A field that holds a whole number."""
        return self._typed(key, int, "a whole number", lambda value: not isinstance(value, bool))

    def texts(self, key: str) -> tuple[str, ...]:
        """A field that holds a list of strings."""
        return tuple(self._typed(key, list, "a list of strings", lambda value: _all_are(str, value)))

    def mappings(self, key: str) -> tuple[Mapping[str, object], ...]:
        """A field that holds one object, or a list of them."""
        value = self.fields.get(key)
        entries = value if isinstance(value, list) else [value]
        if not entries or not _all_are(dict, entries):
            self._refuse(key, "an object or a list of objects")
        return tuple(entries)

    def _typed(self, key: str, kind: type[T], wanted: str, allowed: Callable[[T], bool]) -> T:
        value = self.fields.get(key)
        if not isinstance(value, kind) or not allowed(value):
            self._refuse(key, wanted)
        return value

    def _refuse(self, key: str, wanted: str) -> NoReturn:
        given = type(self.fields[key]).__name__ if key in self.fields else "nothing"
        raise FormatError(
            f"{self.place}: {quoted(key)} should hold {wanted}, not {given}; is this the published question file?"
        )


def _all_are(kind: type, values: Iterable[object]) -> bool:
    return all(isinstance(value, kind) for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFile:
    """A question file."""

    rows: tuple[QuestionRow, ...]
    """Its rows, in order."""
    sha256: str
    """Hash of its bytes: a record of which questions were asked."""


def read_rows(where: str) -> QuestionFile:
    """Read JSON lines, a JSON list or Parquet from a path or a web address."""
    name = without_credentials(where) if where.startswith(_WEB) else shown_path(where)
    content = _fetched(where, name) if where.startswith(_WEB) else _read(where, name)
    found = _parquet(content, name) if content.startswith(b"PAR1") else _json(content, name)
    rows = tuple(QuestionRow(place=f"{name}:{line}", fields=fields) for line, fields in found)
    if not rows:
        raise FormatError(f"{name}: no rows; is this the published question file?")
    return QuestionFile(rows=rows, sha256=hashlib.sha256(content).hexdigest())


def beside(folder: str, *names: str) -> str:
    """The address of a file in a folder, on disk or on the web."""
    return "/".join((folder.rstrip("/"), *names)) if folder.startswith(_WEB) else str(Path(folder, *names))


def refuse_repeats(ids: Sequence[str], what: str) -> None:
    """Raise if an item comes twice: its scores would overwrite each other."""
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise FormatError(f"{what}: {quoted(twice)} appears more than once; every question must appear once")


def _read(path: str, name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FormatError(f"{name}: cannot be read ({reason}); give the path of the question file") from None


def _fetched(address: str, name: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as reply:
            content: bytes = reply.read(_LARGEST + 1)
            announced = "" if reply.headers.get("Transfer-Encoding") else reply.headers.get("Content-Length", "")
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise FormatError(
            f"{name}: cannot be fetched ({redacted(str(error))}); download the file and give its path"
        ) from None
    if len(content) > _LARGEST:
        raise FormatError(f"{name}: larger than {_LARGEST >> 20} MiB; this is not a question file")
    # A read with a size returns what came before the connection was closed, and raises nothing.
    if announced.isdecimal() and int(announced) != len(content):
        raise FormatError(
            f"{name}: the connection was closed after {len(content):,} of {int(announced):,} bytes; run the same "
            "command again, or download the file and give its path"
        )
    return content


def _parquet(content: bytes, name: str) -> list[tuple[int, dict[str, object]]]:
    try:
        return list(enumerate(pl.read_parquet(io.BytesIO(content)).iter_rows(named=True), start=1))
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{name}: not a complete Parquet file ({error}); download it again") from None


def _json(content: bytes, name: str) -> list[tuple[int, dict[str, object]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 text ({error.reason}); expected JSON lines, JSON or Parquet") from None
    if text.lstrip().startswith("["):
        entries = _parsed(text, f"{name}:1")
        found = list(enumerate(entries if isinstance(entries, list) else [entries], start=1))
    else:
        # Only \n ends a line: JSON text may hold other line separators as they are.
        lines = enumerate(text.split("\n"), start=1)
        found = [(line, _parsed(piece, f"{name}:{line}")) for line, piece in lines if piece.strip()]
    for line, entry in found:
        if not isinstance(entry, dict):
            raise FormatError(f"{name}:{line}: not a JSON object; is this the published question file?")
    return found


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{place}: not JSON ({error}); is this the published question file?") from None
