"""Logs that are rows with fields: their records, each with its place, and a log that is a spec over them.

What the records of such a log have in common, the runs in it, shows only when all of them have been seen once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bbedge.errors import FormatError
from bbedge.readers.json_files import json_stream, objects, parts_under
from bbedge.readers.logs.contract import Glimpse, Log, LogRun, LogSample, Recognition
from bbedge.readers.logs.fields import digest, number, settings, text
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

Row = Mapping[str, Any]
Said = str | tuple[str, str]
"""What a record says about its run: a key with a value, or a text that is its own key."""
Key = tuple[str, str]
"""A run of a log: the model, and the task."""
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of a file, one at a time."""

    path: str
    """Where the file is."""
    expected: str
    """What a record should be, for messages: ``a judgment of MT-Bench``."""
    under: tuple[str, ...] | None = None
    """The keys of the arrays that hold the records: none if the file is one array; None for JSON lines."""
    inside: str | None = None
    """The key of an object in the document that may hold these arrays and what is kept."""
    keep: tuple[str, ...] = ()
    """The keys of what else of the document is of use."""
    head: dict[str, Any] = field(default_factory=dict)
    """What stands under them, known once all records have been read."""

    @classmethod
    def of(
        cls, path: str, *, expected: str, otherwise: tuple[str, ...] | None = None, keep: tuple[str, ...] = ()
    ) -> Records:
        """Look at how a file begins: a file that is no array is read as ``otherwise`` says."""
        with opened(path) as file:
            start = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        return cls(path=path, expected=expected, under=() if start.startswith(b"[") else otherwise, keep=keep)

    @property
    def counts(self) -> Literal["line", "sample"]:
        """What the place of a record counts."""
        return "line" if self.under is None else "sample"

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Every value where a record should be, with its place from 1."""
        if self.under is None:
            yield from objects(self.path)
        elif self.under:
            parts = parts_under(self.path, *self.under, inside=self.inside, keep=self.keep, head=self.head)
            yield from enumerate((row for _, row in parts), start=1)
        else:
            with json_stream(self.path) as stream:
                yield from enumerate(stream.elements(), start=1)

    def __iter__(self) -> Iterator[LogRecord]:
        """Every record; a value that is no object is refused."""
        for record in self.loose():
            if not isinstance(record.found, dict):
                raise FormatError(f"{record.at}: {quoted(str(record.found))} is no object; expected {self.expected}")
            yield record

    def loose(self) -> Iterator[LogRecord]:
        """Every record, where one that is no object is like one without any key."""
        for place, row in self.rows():
            yield LogRecord(source=self, place=place, found=row)

    def lack(self, what: str) -> FormatError:
        """The error of a file without something."""
        return FormatError(f"{shown_path(self.path)}: no {what}; expected {self.expected}")


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of a file."""

    source: Records
    """The file."""
    place: int
    """Its line, or its position, from 1."""
    found: Any
    """What stands there."""

    @property
    def row(self) -> dict[str, Any]:
        """Its keys and values."""
        return self.found if isinstance(self.found, dict) else {}

    @property
    def at(self) -> str:
        """The file and the place, for messages."""
        return f"{shown_path(self.source.path)}{':' if self.source.under is None else ': sample '}{self.place}"

    def lacks(self, what: str) -> FormatError:
        """The error of a record without something."""
        return FormatError(f"{self.at}: no {what}; expected {self.source.expected}")

    def name(self, *keys: str) -> str:
        """The name under the first of these keys that is in the record; it must be there."""
        found = next((text(self.row[key]) for key in keys if self.row.get(key) is not None), None)
        if found is None or not found.strip():
            raise self.lacks(f"{' or '.join(keys)} in this record")
        return found

    def named(self, *keys: str) -> dict[str, str]:
        """Those of the values that are a text with something in it."""
        return {key: value for key in keys if (value := text(self.row.get(key)))}


def holds_no_score(glimpse: Glimpse, *known: str) -> bool:
    """Whether nothing in the first record could be a score; ``known`` are keys that are not, whatever they hold.

    A file that stands beside logs is passed over, so that a table of scores with the same keys must not look like one.
    """
    return all(
        value is None or isinstance(value, str | list) for key, value in glimpse.first.items() if key not in known
    )


@dataclass(slots=True)
class Numbering:
    """Which of its group something is, by an order of their own: the order in the file may change."""

    unique: bool = False
    """Whether what comes twice takes one number."""
    _groups: dict[Hashable, list[Any]] = field(default_factory=dict)

    def add(self, group: Hashable, value: object) -> None:
        """Remember one of a group; all of them are known before any is numbered."""
        values = self._groups.setdefault(group, [])
        if not (self.unique and value in values):
            insort(values, value)

    def number(self, group: Hashable, value: object) -> int:
        """Its number, from 1; equal ones have the same."""
        return bisect_left(self._groups[group], value) + 1

    def groups(self) -> Iterator[tuple[Any, int]]:
        """Every group with the number of those in it."""
        return ((group, len(values)) for group, values in self._groups.items())


def numbered(name: str, copy: int) -> str:
    """The name of an item whose content comes several times: the second gets a number."""
    return name if copy == 1 else f"{name}#{copy}"


@dataclass(slots=True)
class _SeenRun:
    """What the records of one run say together."""

    answers: set[str] = field(default_factory=set)
    first: float | None = None
    said: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, *, answer: object, when: object, said: Mapping[str, Said]) -> None:
        if answer is not None:
            self.answers.add(digest(answer))
        time = number(when)
        if time is not None:
            self.first = float(time) if self.first is None else min(self.first, float(time))
        for name, found in said.items():
            key, value = found if isinstance(found, tuple) else (found, found)
            self.said.setdefault(name, {})[key] = value

    def run(self, key: Key, protocol: Mapping[str, object]) -> LogRun:
        """The run. Its identity is made from its answers: the same answers, also if judged again, are the same run.

        Where there are no answers it is made from the time of the first record, and empty without that, too.
        """
        when = "" if self.first is None else f"{self.first:020.6f}"
        what = sorted(self.answers) or ([when] if when else [])
        return LogRun(
            model=key[0],
            task=key[1],
            identity=f"{key[0]} {digest(key, what)}" if what else "",
            when=when,
            protocol=settings(protocol),
        )


def joined(values: Iterable[str]) -> str:
    """Names in one text, in order."""
    return ", ".join(sorted(values))


@dataclass(frozen=True, kw_only=True)
class RecordLog:
    """Reads the logs of a tool that are a list of records, each of which names its model."""

    name: str
    title: str
    expected: str
    """What a record is, for messages."""
    recognises: Callable[[Glimpse], Recognition]
    samples: Callable[[LogRecord, LogRun, int], Iterable[LogSample]]
    """The samples of a record of a run, which is the first, second ... of those with the same ``group``."""
    model: str = "model"
    """The key of the model."""
    task: str | None = None
    """The key of the task, if there are tasks."""
    when: str | None = "tstamp"
    """The key of the time in seconds, if records have one."""
    check: Callable[[LogRecord], object] = field(default=lambda _: None)
    """Refuses a record that gives no score."""
    answer: Callable[[Row], object] = field(default=lambda _: None)
    """What a record shows of the answer that was scored."""
    said: Callable[[LogRecord], Mapping[str, Said]] = field(default=lambda _: {})
    """What a record says about its run, by name and key; under one key the last record counts."""
    protocol: Callable[[Mapping[str, Mapping[str, str]]], Mapping[str, object]] = field(default=lambda _: {})
    """Settings that all runs should have in common, from what the records of a run say."""
    group: Callable[[LogRecord], tuple[Hashable, str]] | None = None
    """What may come several times in a run, and what distinguishes its copies."""
    usual_metric: str | None = None
    usual_blocks: str | None = None

    def open(self, path: str) -> Log:
        """Open records; they are read once to see which runs there are."""
        records = Records.of(path, expected=self.expected)
        seen: dict[Key, _SeenRun] = {}
        copies = Numbering()
        for record in records:
            self.check(record)
            key, row = self._key(record), record.row
            when = row.get(self.when) if self.when else None
            seen.setdefault(key, _SeenRun()).add(answer=self.answer(row), when=when, said=self.said(record))
            if self.group is not None:
                group, value = self.group(record)
                copies.add((key, group), value)
        if not seen:
            raise records.lack("records in the file")
        runs = {key: of_run.run(key, self.protocol(of_run.said)) for key, of_run in seen.items()}

        def samples() -> Iterator[LogSample]:
            for record in records:
                key = self._key(record)
                copy = 1
                if self.group is not None:
                    group, value = self.group(record)
                    copy = copies.number((key, group), value)
                yield from self.samples(record, runs[key], copy)

        own = sorted(model for (model, _), of_run in seen.items() if model in of_run.said.get("judge", ()))
        judged = f"the judge of {listed(own)} is the model itself, which may favour its own answers."
        return Log(
            runs=tuple(runs.values()),
            samples=samples,
            counts=records.counts,
            usual_metric=self.usual_metric,
            usual_blocks=self.usual_blocks,
            notes=(f"{shown_path(path)}: {judged}",) if own else (),
        )

    def _key(self, record: LogRecord) -> Key:
        return record.name(self.model), record.name(self.task) if self.task else ""
