"""From paths, folders and patterns to the files in them, each with its kind."""

from __future__ import annotations

import glob
import hashlib
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from bbedge.core.notes import Note
from bbedge.errors import DomainError, FormatError
from bbedge.readers.choices import Choice
from bbedge.readers.limits import LimitError
from bbedge.readers.opening import (
    PIPED,
    STANDARD_INPUT,
    check_path,
    check_regular,
    is_regular,
    naming_errors,
    standard_input,
)
from bbedge.text import listed, quoted, shown_path

if TYPE_CHECKING:
    from bbedge.readers.assemble.coding import Table
    from bbedge.readers.logs.contract import Reader

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
TABLE_FORMATS = ("table", "wide")
"""What ``--format`` calls plain tables: one row per score, or one row per model."""
_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file with samples."""

    path: str
    """Where it is."""
    reader: Reader | None
    """The reader of the log; None for a plain table."""
    called: str | None = None
    """What to call it, if it is not a file that the user has."""

    @property
    def name(self) -> str:
        """What to call it: its path, or what it was read from."""
        return self.called or self.path

    @property
    def kind(self) -> str:
        """What to call its kind."""
        return "table" if self.reader is None else self.reader.title


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All files that were named or found."""

    files: tuple[Source, ...]
    """Those with samples, in the order given; those of a folder in the order of their names."""
    beside: tuple[str, ...] = ()
    """Files that belong to logs and hold no samples, such as summaries."""
    unread: tuple[str, ...] = ()
    """Files of folders that are neither."""

    def notes(self) -> Iterator[Note]:
        """What was passed over."""
        if self.unread:
            names = listed((Path(path).name for path in self.unread), limit=3)
            yield Note(
                kind="files",
                subject=self.unread,
                text=f"{len(self.unread)} files of the folders were not read, because they hold no known scores: "
                f"{names}.",
            )


def find_sources(given: Sequence[str], format: str | None = None) -> Sources:  # noqa: A002 - the word of the option
    """Look into folders and patterns, and recognise every file. ``format`` says what all files are."""
    from bbedge.readers.logs.registry import readers

    if format is not None and format not in (*readers(), *TABLE_FORMATS):
        known = ", ".join((*readers(), *TABLE_FORMATS))
        raise DomainError(Choice("format"), f" {quoted(format)} is not known; choose {known}")
    files: dict[str, Source] = {}
    passed_over: dict[str, list[str]] = {"beside": [], "unread": []}
    for each in given:
        if each in STANDARD_INPUT:
            piped = _piped(format)
            files.setdefault(os.path.realpath(piped.path), piped)
            continue
        paths, searched = _files(each)
        found = False
        for path in paths:
            source = _recognised(path, format, searched=searched)
            if isinstance(source, Source):
                found = True
                # A file that is named twice, or also lies in a folder that is named, is read once.
                files.setdefault(os.path.realpath(path), source)
            else:
                passed_over[source].append(path)
        if not found and searched:
            raise FormatError(
                f"{shown_path(each)}: none of the {len(paths)} files there holds scores that can be recognised; "
                "expected logs or score tables: name the files, and say what they are with ",
                Choice("format"),
            )
    return Sources(
        files=tuple(files.values()), beside=tuple(passed_over["beside"]), unread=tuple(passed_over["unread"])
    )


def _recognised(path: str, format: str | None, *, searched: bool) -> Source | Literal["beside", "unread"]:  # noqa: A002
    """A file with samples, or why a file that was found in a folder is passed over."""
    from bbedge.readers.logs.registry import readers, recognised

    if searched and (not is_regular(path) or not Path(path).stat().st_size):
        return "unread"
    check_regular(path)
    if format is not None and (not searched or format in TABLE_FORMATS):
        return "unread" if searched and not is_table(path) else Source(path=path, reader=readers().get(format))
    reader, what = recognised(path)
    if format is not None and reader is not readers()[format]:
        return "unread"
    if what == "samples":
        return Source(path=path, reader=reader)
    if what == "beside" and searched:
        return "beside"
    if what == "beside" and reader is not None:
        raise FormatError(
            f"{shown_path(path)}: a summary of {reader.title}, without samples; name the file with the samples, or the "
            "whole folder"
        )
    if is_table(path) and (not searched or _has_scores(path)):
        return Source(path=path, reader=None)
    if not searched:
        raise _unknown(path)
    return "unread"


def _unknown(path: str) -> FormatError:
    from bbedge.readers.logs.registry import readers

    known = ", ".join((*SEPARATORS, *JSON_LINES, *PARQUET))
    logs = ", ".join(reader.title for reader in readers().values())
    return FormatError(
        f"{shown_path(path)}: neither its name nor its content is known; expected a table, {known} "
        f"(text also with .gz), or a log of {logs}: rename the file or convert it, or say what it is with ",
        Choice("format"),
    )


def _piped(format: str | None) -> Source:  # noqa: A002
    """Standard input, which takes a table: what belongs to a log beside its file is not known here."""
    from bbedge.readers.logs.registry import recognised

    path = standard_input()
    reader, _ = recognised(path)
    if format not in (None, *TABLE_FORMATS) or (format is None and reader is not None):
        title = reader.title if reader is not None else format
        raise FormatError(f"{PIPED}: a log of {title}; standard input takes a table: name the file of the log")
    return Source(path=path, reader=None, called=PIPED)


def _files(given: str) -> tuple[list[str], bool]:
    """The files of a path, and whether it was searched for them."""
    check_path(given)
    # os.path and not pathlib, which raises on names that are too long.
    if os.path.isdir(given):  # noqa: PTH112
        return files_below(given), True
    if glob.has_magic(given) and not os.path.lexists(given):
        found = files_matching(given)
        if not found:
            raise FormatError(f"{shown_path(given)}: no such file, and none that fits it as a pattern; check the path")
        return found, True
    return [given], False


def is_table(path: str) -> bool:
    """Whether the name is that of a plain table."""
    ending = path.lower().removesuffix(".gz")
    return path.lower().endswith(PARQUET) or ending.endswith((*JSON_LINES, *SEPARATORS))


def open_table(path: str, called: str | None = None) -> Table:
    """Open a plain table by its name; ``called`` is what messages call it, if not its path."""
    from bbedge.readers.tables.delimited import DelimitedFile
    from bbedge.readers.tables.frames import ParquetFile
    from bbedge.readers.tables.json_lines import JsonLinesFile

    ending = path.lower()
    if ending.endswith(PARQUET):
        return ParquetFile(path=path, called=called)
    ending = ending.removesuffix(".gz")
    if ending.endswith(JSON_LINES):
        return JsonLinesFile(path=path, called=called)
    for suffix, separator in SEPARATORS.items():
        if ending.endswith(suffix):
            return DelimitedFile(path=path, separator=separator, called=called)
    raise _unknown(path)


def _has_scores(path: str) -> bool:
    """Whether a table that was found, not named, has the columns of a score table."""
    from bbedge.readers.tables.roles import find_roles

    try:
        find_roles(open_table(path).columns(), table="", chosen={})
    except LimitError:
        raise
    except FormatError:
        return False
    return True


def fingerprint(path: str) -> str:
    """The SHA-256 of a file's bytes."""
    with naming_errors(path), Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_below(folder: str) -> list[str]:
    """All files below a folder, in order; hidden ones are left alone.

    A folder that is reached by its own path and by links is entered by its own path, and by one link otherwise.
    """
    return sorted(_search(folder, (_ANY_DEPTH,)))


def files_matching(pattern: str) -> list[str]:
    """All files that fit a pattern, and all below the folders that fit it, in order."""
    path = PurePath(pattern)
    parts = path.parts[1:] if path.anchor else path.parts
    return sorted(set(_search(path.anchor, (*parts, _ANY_DEPTH))))


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
    if part != _ANY_DEPTH and not glob.has_magic(part):
        path = os.path.join(folder, part)  # noqa: PTH118 - as text, which keeps how the pattern was written
        if os.path.lexists(path):
            yield path
        return
    with naming_errors(folder):
        names = sorted(os.listdir(folder or os.curdir))  # noqa: PTH208
    for name in names:
        hidden = name.startswith(".") and not part.startswith(".")
        if not hidden and (part == _ANY_DEPTH or fnmatchcase(name, part)):
            yield os.path.join(folder, name)  # noqa: PTH118
