"""From paths, folders and patterns to the files in them, each with its kind."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.choices import NAMED, OpenChoiceError, name_origin, skip_pattern
from bbedge.readers.json_files import ZIP, unpacked
from bbedge.readers.limits import LimitError, UnpackedLimitError
from bbedge.readers.logs.contract import Glimpse
from bbedge.readers.opening import (
    PIPED,
    STANDARD_INPUT,
    check_regular,
    files_of,
    is_pointer,
    is_regular,
    naming_errors,
    standard_input,
)
from bbedge.readers.tables import HEAD, JSON, JSON_LINES, PARQUET, SEPARATORS, PlainTable
from bbedge.readers.tables.delimited import SHEETS, DelimitedFile, SheetFile, separator_of
from bbedge.readers.tables.frames import ParquetFile
from bbedge.readers.tables.json_rows import (
    JsonLinesFile,
    NoRecordsError,
    RecordsFile,
    are_scores,
    kind_of_json,
    record_list,
)
from bbedge.readers.tables.roles import chosen_columns, usual_columns
from bbedge.readers.tools import readers, recognised
from bbedge.records.notes import Note, files_beside
from bbedge.records.reading import Reading
from bbedge.text import counted, listed, quoted, shown, shown_path

if TYPE_CHECKING:
    from bbedge.readers.logs.contract import Reader

_OLD_SPREADSHEETS = (".xls", ".ods")
# Files that may have scores although they are no plain tables by their names.
_WITH_SCORES = (".eval", ZIP, *_OLD_SPREADSHEETS)
TABLE_FORMATS = ("table", "wide")
"""What ``--format`` calls plain tables: one row per score, or one row per model."""
# Keys under which documents have their results; a list under another key is a setting as often.
_RESULTS = ("results", "data", "rows", "records", "samples", "scores")
# Names in a note, and refusals in a message: beyond these their number says enough.
_MOST_SKIPPED, _MOST_REFUSED = 100, 5


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


@dataclass(slots=True, kw_only=True)
class Sources:
    """All files that were named or found."""

    files: tuple[Source, ...] = ()
    """Those with samples, in the order given; those of a folder in the order of their names."""
    beside: list[str] = field(default_factory=list)
    """Files that belong to logs and hold no samples, such as summaries."""
    unread: list[str] = field(default_factory=list)
    """Files of folders that are neither."""
    skipped: dict[str, list[str]] = field(default_factory=dict)
    """The files that were left out on purpose, by the pattern that they fit."""
    refused: list[tuple[str, FormatError]] = field(default_factory=list)
    """Paths, and why files of folders that look like scores cannot be read, where that does not stop the search."""

    def notes(self) -> Iterator[Note]:
        """What was passed over, and what was left out on purpose."""
        for pattern, paths in self.skipped.items():
            yield Note(
                kind="files",
                subject=tuple(Path(path).name for path in paths[:_MOST_SKIPPED]),
                text=f"Left out on purpose, by the pattern {quoted(pattern)}: {counted(len(paths), 'file')}, "
                f"{listed((Path(path).name for path in paths), limit=10)}.",
            )
        if self.unread:
            yield files_beside([Path(path).name for path in self.unread])


def find_sources(
    given: Sequence[str],
    reading: Reading,
    *,
    collect: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Sources:
    """Look into folders and patterns, and recognise every file but the list of items.

    A file that looks like scores and cannot be read stops the search; where refusals are to be ``collect``-ed, only if
    no choice would help.
    """
    format = reading.format  # noqa: A001 - the word of the option
    if format is not None and format not in (*readers(), *TABLE_FORMATS):
        known = ", ".join((*readers(), *TABLE_FORMATS))
        raise DomainError(Argument("format"), f" {quoted(format)} is not known; choose {known}")
    for role in reversed(NAMED):
        name_origin(reading, role)  # refuses what cannot be understood
    search = _Search(reading=reading, report=progress or (lambda _: None))
    for each in given:
        if each in STANDARD_INPUT:
            search.add(_piped(format))
        else:
            search.look(each)
    return search.done(collect=collect)


@dataclass(slots=True, kw_only=True)
class _Search:
    """What was found so far."""

    reading: Reading
    report: Callable[[str], None]
    found: Sources = field(default_factory=Sources)
    files: dict[str, Source] = field(default_factory=dict)

    def add(self, source: Source) -> None:
        # A file that is named twice, or also lies in a folder that is named, is read once.
        self.files.setdefault(os.path.realpath(source.path), source)

    def look(self, given: str) -> None:
        """Look at a file, or at all files of a folder or pattern."""
        paths, searched = files_of(_unpacked(given))
        found, items = False, self.reading.items
        for path in paths:
            pattern = skip_pattern(self.reading, path)
            if pattern is not None:
                self.found.skipped.setdefault(pattern, []).append(path)
                found = True
                continue
            if not searched or items is None or os.path.realpath(path) != os.path.realpath(items):
                found |= self._recognise(path, searched=searched)
        if found or not searched:
            return
        # Where a folder has nothing else, its tables are what was meant; what they lack is said of each.
        tables = [path for path in paths if path in self.found.unread and is_table(path) and _has_rows(path)]
        self.found.unread = [path for path in self.found.unread if path not in tables]
        for path in tables:
            self.add(Source(path=path, reader=None))
        if not paths:
            raise FormatError(f"{shown_path(given)}: no files there; name hidden files, which are left alone")
        if not tables:
            seen = "".join(f"\n{shown_path(path)}{_seen(path)}" for path in paths[:_MOST_REFUSED])
            raise FormatError(
                f"{shown_path(given)}: none of the {len(paths)} files there holds scores that can be recognised; "
                f"expected logs, or tables with columns for model, item and score, and found{seen}\n"
                "Name the files, and say what they are with ",
                Argument("format"),
            )

    def _recognise(self, path: str, *, searched: bool) -> bool:
        """Put a file where it belongs; whether it may have scores."""
        self.report(f"looking at {path}")
        try:
            source = _recognised(path, self.reading, searched=searched)
        except LimitError:
            raise
        except FormatError as error:
            if not searched:
                raise
            self.found.refused.append((path, error))
            return True
        if isinstance(source, Source):
            self.add(source)
            return True
        (self.found.beside if source == "beside" else self.found.unread).append(path)
        return False

    def done(self, *, collect: bool) -> Sources:
        """Everything, unless a pattern fits nothing or a file is refused."""
        refused, skipped = self.found.refused, self.found.skipped
        for pattern in self.reading.skip:
            if pattern not in skipped:
                raise DomainError(
                    Argument("skip", (shown(pattern),)), ": no file fits the pattern; correct it or leave it out"
                )
        if refused and not (collect and all(isinstance(error, OpenChoiceError) for _, error in refused)):
            raise _refusal(refused)
        if not self.files and not refused and skipped:
            raise FormatError("no file is left: all files fit a pattern of ", Argument("skip", self.reading.skip))
        self.found.files = tuple(self.files.values())
        return self.found


def _refusal(refused: Sequence[tuple[str, FormatError]]) -> FormatError:
    """One error for all files of folders that look like scores and cannot be read: each with its own reason."""
    from bbedge.readers.assemble.pairing import with_runs

    paths = [path for path, _ in refused]
    refused = [(path, with_runs(error, paths)) for path, error in refused]
    path, first = refused[0]
    leave_out = ("; or leave it out on purpose with ", Argument("skip", (shown_path(path),)))
    if len(refused) == 1:
        parts = (*first.args, *leave_out)
    else:
        shown_first = refused[:_MOST_REFUSED]
        more = len(refused) - len(shown_first)
        parts = (
            f"{len(refused)} files look like scores and cannot be read:",
            *(part for _, error in shown_first for part in ("\n", *error.args)),
            f"\nand {more} more" if more else "",
            "\nFix them, or leave files out on purpose with ",
            Argument("skip", (Blank("PATTERN"),)),
        )
    if not isinstance(first, OpenChoiceError):
        return FormatError(*parts)
    error = OpenChoiceError.proposing(first.proposal, *parts)
    error.by_columns, error.decision = first.by_columns, first.decision
    return error


def _recognised(path: str, reading: Reading, *, searched: bool) -> Source | Literal["beside", "unread"]:
    """A file with samples, or why a file that was found in a folder is passed over."""
    format = reading.format  # noqa: A001 - the word of the option
    may_be_empty = not is_table(path) or is_document(path)
    if searched and (not is_regular(path) or (may_be_empty and not Path(path).stat().st_size)):
        return "unread"
    if searched and not is_table(path) and not path.lower().endswith(_WITH_SCORES) and is_pointer(path):
        return "unread"
    check_regular(path)
    if format is not None and not searched:
        return Source(path=path, reader=readers().get(format))
    if format in TABLE_FORMATS:
        return _found_table(path, reading) if is_table(path) else "unread"
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
    if path.lower().endswith(_OLD_SPREADSHEETS):
        raise _spreadsheet(path)
    if searched:
        return _found_table(path, reading) if is_table(path) else "unread"
    if not is_table(path) or (is_document(path) and _records_of(path) == "none"):
        raise _unknown(path)
    return Source(path=path, reader=None)


def _unpacked(given: str) -> str:
    """The folder of an archive, unless that is the log of a tool; any other path as it is."""
    if not given.lower().endswith(ZIP) or not os.path.isfile(given):  # noqa: PTH113 - false where pathlib raises
        return given
    check_regular(given)
    return given if recognised(given)[0] is not None else unpacked(given)


def _found_table(path: str, reading: Reading) -> Source | Literal["unread"]:
    """A table in a folder that is one of scores, or that is none; one that only looks like scores is refused."""
    from bbedge.readers.assemble.shaping import Described, Shaping
    from bbedge.readers.candidates import looks_like_scores

    records = _records_of(path) if is_document(path) else "rows"
    if records == "none":
        return "unread"
    source = Source(path=path, reader=None)
    if records != "scores" and not looks_like_scores(open_table(path), reading, by_name=records == "inside"):
        return "unread"
    # Blocks in another table, or in the list of items, do not decide whether this one has scores.
    alone = structs.replace(reading, blocks=None)
    shaping = Shaping(chosen=chosen_columns(reading), reading=alone, described=Described(), scales=None)
    shaping.roles(shaping.opened(source), ())
    return source


def _records_of(path: str) -> Literal["rows", "scores", "inside", "none"]:
    """What a JSON document has: results, scores under keys, what may be either, or nothing. A broken one is refused."""
    kind = kind_of_json(path, shown_path(path))
    if kind != "object":
        return "none" if kind == "other" else "rows"
    try:
        found = record_list(path, shown_path(path))
    except UnpackedLimitError:
        raise
    except (NoRecordsError, LimitError):
        # One value of more than the limit is no record.
        return "none"
    if found.form not in ("list", "objects"):
        return "scores" if are_scores(RecordsFile(path=path).head(HEAD)) else "inside"
    return "rows" if found.key in _RESULTS or found.form == "objects" else "inside"


def _has_rows(path: str) -> bool:
    """Whether a table has rows: not one of the summaries and settings that are JSON documents, and not empty."""
    return Path(path).stat().st_size > 0 and (not is_document(path) or _records_of(path) == "rows")


def _spreadsheet(path: str) -> FormatError:
    return FormatError(
        f"{shown_path(path)}: a spreadsheet of a kind that is not read; save the sheet as CSV (in UTF-8), with one "
        "header line and no merged cells, or as .xlsx, and name that file"
    )


def _unknown(path: str) -> FormatError:
    known = ", ".join((*SEPARATORS, *JSON_LINES, JSON, *PARQUET, *SHEETS))
    logs = ", ".join(reader.title for reader in readers().values())
    return FormatError(
        f"{shown_path(path)}{_seen(path)}neither its name nor its content is known; expected a table, {known} "
        f"(text also with .gz), or a log of {logs}: rename the file or convert it, or say what it is with ",
        Argument("format"),
    )


def _seen(path: str) -> str:
    """The keys that a file begins with, or else its first characters, for a message."""
    if not is_regular(path):
        return ": "
    seen = Glimpse.of(path)
    if path.lower().endswith(ZIP):
        return ": an archive, which is read if it is named itself; "
    if seen.first:
        one = usual_columns(tuple(seen.first), "item") and usual_columns(tuple(seen.first), "score")
        advice = "a single record; write the records of all files into one list, or as JSON lines; " if one else ""
        return f" with the keys {listed(seen.first, limit=12)}: {advice}"
    return f": begins with {quoted(shown(seen.head[:60].decode(errors='replace'), 40))}; "


def _piped(format: str | None) -> Source:  # noqa: A002
    """Standard input, which takes a table: what belongs to a log beside its file is not known here."""
    path = standard_input()
    reader, _ = recognised(path)
    if format not in (None, *TABLE_FORMATS) or (format is None and reader is not None):
        title = reader.title if reader is not None else format
        raise FormatError(f"{PIPED}: a log of {title}; standard input takes a table: name the file of the log")
    return Source(path=path, reader=None, called=PIPED)


def is_table(path: str) -> bool:
    """Whether the name is that of a plain table."""
    ending = path.lower().removesuffix(".gz")
    return path.lower().endswith((*PARQUET, *SHEETS)) or ending.endswith((*JSON_LINES, JSON, *SEPARATORS))


def is_document(path: str) -> bool:
    """Whether the name is that of a JSON document, which may hold anything."""
    return path.lower().removesuffix(".gz").endswith(JSON)


def open_table(path: str, called: str | None = None) -> PlainTable:
    """Open a plain table by its name; ``called`` is what messages call it, if not its path."""
    ending = path.lower()
    if ending.endswith(PARQUET):
        return ParquetFile(path=path, called=called)
    if ending.endswith(SHEETS):
        return SheetFile(path=path, called=called)
    ending = ending.removesuffix(".gz")
    if ending.endswith((*JSON_LINES, JSON)):
        whole = kind_of_json(path, called or shown_path(path)) in ("list", "object")
        return (RecordsFile if whole else JsonLinesFile)(path=path, called=called)
    for suffix, separator in SEPARATORS.items():
        if ending.endswith(suffix):
            found = separator_of(path, called or shown_path(path), separator) if separator == "," else separator
            return DelimitedFile(path=path, separator=found, called=called)
    raise _spreadsheet(path) if path.lower().endswith(_OLD_SPREADSHEETS) else _unknown(path)


def fingerprint(path: str) -> str:
    """The SHA-256 of a file's bytes."""
    with naming_errors(path), Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
