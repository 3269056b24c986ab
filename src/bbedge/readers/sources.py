"""From paths, folders and patterns to the files in them, each with its kind."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bbedge.core.notes import Note
from bbedge.errors import DomainError, FormatError
from bbedge.readers.choices import Choice
from bbedge.readers.limits import LimitError
from bbedge.readers.opening import check_path, check_regular, is_regular, told
from bbedge.readers.piped import NAME, STANDARD_INPUT, standard_input
from bbedge.readers.searching import files_below, files_matching
from bbedge.text import listed, quoted, shown_path

if TYPE_CHECKING:
    from bbedge.readers.assemble.coding import Table
    from bbedge.readers.logs.contract import Reader

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
TABLE_FORMATS = ("table", "wide")
"""What ``--format`` calls plain tables: one row per score, or one row per model."""


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
    beside: list[str] = []
    unread: list[str] = []
    for each in given:
        if each in STANDARD_INPUT:
            piped = _piped(format)
            files.setdefault(os.path.realpath(piped.path), piped)
            continue
        paths, searched = _files(each)
        found = False
        for path in paths:
            source = _recognised(path, format, beside, unread, searched=searched)
            if source is not None:
                found = True
                # A file that is named twice, or also lies in a folder that is named, is read once.
                files.setdefault(os.path.realpath(path), source)
        if not found and searched:
            raise FormatError(
                f"{shown_path(each)}: none of the {len(paths)} files there holds scores that can be recognised; "
                "expected logs or score tables: name the files, and say what they are with ",
                Choice("format"),
            )
    return Sources(files=tuple(files.values()), beside=tuple(beside), unread=tuple(unread))


def _recognised(
    path: str,
    format: str | None,  # noqa: A002
    beside: list[str],
    unread: list[str],
    *,
    searched: bool,
) -> Source | None:
    from bbedge.readers.logs.registry import readers, recognised

    if searched and (not is_regular(path) or not Path(path).stat().st_size):
        unread.append(path)
        return None
    check_regular(path)
    if format is not None and (not searched or format in TABLE_FORMATS):
        if searched and not is_table(path):
            unread.append(path)
            return None
        return Source(path=path, reader=readers().get(format))
    reader, what = recognised(path)
    if format is not None and reader is not readers()[format]:
        unread.append(path)
        return None
    if what == "samples":
        return Source(path=path, reader=reader)
    if what == "beside" and searched:
        beside.append(path)
        return None
    if what == "beside" and reader is not None:
        raise FormatError(
            f"{shown_path(path)}: a summary of {reader.title}, without samples; name the file with the samples, or the "
            "whole folder"
        )
    if is_table(path) and (not searched or _has_scores(path)):
        return Source(path=path, reader=None)
    if not searched:
        raise _unknown(path)
    unread.append(path)
    return None


def _unknown(path: str) -> FormatError:
    from bbedge.readers.logs.registry import readers

    known = ", ".join((*SEPARATORS, *JSON_LINES, *PARQUET))
    logs = ", ".join(reader.title for reader in readers().values())
    return FormatError(
        f"{shown_path(path)}: the kind of file cannot be told from its name or content; expected a table, {known} "
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
        raise FormatError(f"{NAME}: a log of {title}; standard input takes a table: name the file of the log")
    return Source(path=path, reader=None, called=NAME)


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
    from bbedge.readers.tables.columns import find_roles

    try:
        find_roles(open_table(path).columns(), table="", chosen={})
    except LimitError:
        raise
    except FormatError:
        return False
    return True


def fingerprint(path: str) -> str:
    """The SHA-256 of a file's bytes."""
    with told(path), Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
