"""Logs that are rows with fields: their records, each with its place, and the engine of the tools that are a spec.

What the records of a log have in common, such as the runs in it, may show only when all of them have been seen once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bbedge.errors import Argument, Blank, FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import document, document_beside, entries_under, json_stream, objects, parts_under
from bbedge.readers.logs.contract import Glimpse, Log, LogRun, LogSample, Value
from bbedge.readers.logs.fields import digest, error_text, first_value, kind_of_error, number, settings, text
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

Row = Mapping[str, Any]
Said = Mapping[str, Mapping[str, str]]
"""What records say about their run, by name and key; under one key the last record counts."""
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of a file, one at a time, and what describes them."""

    path: str
    """Where the file is."""
    expected: str
    """What a record should be, for messages: ``a judgment of MT-Bench``."""
    under: tuple[str, ...] | None = None
    """The keys of the arrays that hold the records: none if the file is one array; None for JSON lines."""
    inside: str | None = None
    """The key of an object in the document that may hold these arrays and what is kept."""
    keyed: str | None = None
    """The key of an object whose entries are the records, each with its ``key`` and its ``value``."""
    only: str | None = None
    """The ``key`` of the only record, whose ``value`` is the document."""
    keep: tuple[str, ...] = ()
    """The keys of what else of the document is of use."""
    loose: bool = False
    """Whether a record that is no object is like one without any key; otherwise it is refused."""
    head: dict[str, Any] = field(default_factory=dict)
    """What stands under the keys to keep, known once all records have been read."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """The document beside the file that describes it; empty if there is none."""
    beside: tuple[str, ...] = ()
    """The path of that document, if there is one."""

    def or_array(self) -> Records:
        """The same records, as an array if the file begins like one."""
        with opened(self.path) as file:
            start = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        return replace(self, under=()) if start.startswith(b"[") else self

    @property
    def place(self) -> str:
        """The file, for messages."""
        return shown_path(self.path)

    @property
    def counts(self) -> Literal["line", "sample"]:
        """What the place of a record counts."""
        return "line" if self.under is None and self.keyed is None else "sample"

    def __iter__(self) -> Iterator[LogRecord]:
        """Every record, with its place from 1."""
        for place, found in self._found():
            record = LogRecord(source=self, place=place, found=found)
            if not self.loose and not isinstance(found, dict):
                raise FormatError(f"{record.at}: {quoted(str(found))} is no object; expected {self.expected}")
            yield record

    def _found(self) -> Iterator[tuple[int, Any]]:
        if self.only is not None:
            yield 1, {"key": self.only, "value": document(self.path)}
        elif self.keyed is not None:
            yield from enumerate(entries_under(self.path, self.keyed, keep=self.keep, head=self.head), start=1)
        elif self.under is None:
            yield from objects(self.path)
        elif self.under:
            parts = parts_under(self.path, *self.under, inside=self.inside, keep=self.keep, head=self.head)
            yield from enumerate((found for _, found in parts), start=1)
        else:
            with json_stream(self.path) as stream:
                yield from enumerate(stream.elements(), start=1)

    def lack(self, what: str) -> FormatError:
        """The error of a file without something."""
        return FormatError(f"{self.place}: no {what}; expected {self.expected}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record of a file."""

    source: Records
    """The file."""
    place: int
    """Its line, or its position, from 1."""
    found: Any
    """What stands there."""
    copy: int = 1
    """Which of its group it is, where a spec has groups."""

    @property
    def row(self) -> dict[str, Any]:
        """Its keys and values."""
        return self.found if isinstance(self.found, dict) else {}

    @property
    def at(self) -> str:
        """The file and the place, for messages."""
        return f"{self.source.place}{':' if self.source.counts == 'line' else ': sample '}{self.place}"

    def lacks(self, what: str) -> FormatError:
        """The error of a record without something."""
        return FormatError(f"{self.at}: no {what}; expected {self.source.expected}")

    def name(self, *keys: str) -> str:
        """The name under the first of these keys that is in the record; it must be there."""
        found = text(first_value(self.row, *keys))
        if found is None or not found.strip():
            raise self.lacks(f"{' or '.join(keys)} in this record")
        return found

    def item(self, key: str, *others: str, what: str) -> str:
        """The name under a key; it must be there, and so must the other keys."""
        found = text(self.row.get(key))
        if not found or any(other not in self.row for other in others):
            raise self.lacks(what)
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


Failed = tuple[str | None, ErrorKind | None]
"""What went wrong in a sample, and what kind of failure that is."""


def failed_with(found: object, otherwise: str = "error") -> Failed:
    """An error of a sample, if there is one, with its kind; ``otherwise`` is what it says if it is no text."""
    error = error_text(found, otherwise)
    return error, kind_of_error(error)


@dataclass(slots=True)
class SeenRun:
    """What the records of one run say together."""

    records: int = 0
    """How many there are."""
    answers: set[str] = field(default_factory=set)
    """Hashes of what they show of the answers that were scored."""
    first: float | None = None
    """The earliest time of a record in seconds, under the key ``tstamp``."""
    said: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def when(self) -> str:
        """The earliest time as text that sorts by time; empty if there is none."""
        return "" if self.first is None else f"{self.first:020.6f}"

    def add(self, record: LogRecord, *, answer: object, said: Said) -> None:
        """Remember one record."""
        self.records += 1
        if answer is not None:
            self.answers.add(digest(answer))
        time = number(record.row.get("tstamp"))
        if time is not None:
            self.first = float(time) if self.first is None else min(self.first, float(time))
        for name, found in said.items():
            self.said.setdefault(name, {}).update(found)


@dataclass(slots=True, kw_only=True)
class SeenLog:
    """A log that is being opened: what its records say together, where a spec looks at all of them first."""

    records: Records
    runs: dict[Any, SeenRun] = field(default_factory=dict)
    """Its runs, by their key."""
    copies: Numbering = field(default_factory=Numbering)
    """The records of every group, in order."""

    def identity(self, model: str | None, task: str = "", *, key: Hashable = "") -> str:
        """The identity of a run, made from its answers: the same answers, also if judged again, are the same run.

        Where there are no answers it is made from the time of the first record, and empty without that, too.
        """
        run = self.runs.get(key) or SeenRun()
        what = sorted(run.answers) or ([run.when] if run.when else [])
        return f"{model} {digest((model, task), what)}" if what and model else ""


@dataclass(frozen=True, kw_only=True)
class RecordLog:
    """How the logs of a tool are read that are a list of records: where they are, and what their fields mean."""

    records: Callable[[str], Records]
    """The records of a file, without the document beside it."""
    described_by: Callable[[Path], Path | None] = field(default=lambda _: None)
    """The document beside a file that describes it, if there is one."""
    undescribed: str = ""
    """What a file has not, and what that would say, if there is no such document."""
    key: Callable[[LogRecord], Hashable] = field(default=lambda _: "")
    """Which of the runs a record belongs to."""
    said: Callable[[LogRecord], Said] | None = None
    """What a record says about its run; needed also where it says nothing that a run is made from."""
    answer: Callable[[Row], object] = field(default=lambda _: None)
    """What a record shows of the answer that was scored."""
    group: Callable[[LogRecord], tuple[Hashable, object]] | None = None
    """What may come several times in a run, and the order of its copies."""
    runs: Callable[[SeenLog], LogRun | Mapping[Any, LogRun]]
    """The run of a log, or its runs by their key."""
    parts: Callable[[LogRecord], Iterable[LogRecord]] = field(default=lambda record: (record,))
    """What is scored in a record, where that is not the record."""
    item: Callable[[LogRecord, LogRun], str]
    scores: Callable[[LogRecord], Mapping[str, Value]]
    repeat: Callable[[LogRecord], str | None] = field(default=lambda _: None)
    filter: Callable[[LogRecord, SeenLog], str | None] = field(default=lambda *_: None)
    failed: Callable[[Row], Failed] = field(default=lambda _: (None, None))
    fields: Callable[[LogRecord], Mapping[str, Any]] = field(default=lambda _: {})
    content: Callable[[LogRecord], str | None] = field(default=lambda _: None)
    prompt: Callable[[Row], str | None] = field(default=lambda _: None)
    notes: Callable[[SeenLog, Callable[[], Iterator[LogSample]]], Iterable[str]] = field(default=lambda *_: ())
    """What a user should know, from the samples and what is stated about them; refuses samples that are not those."""
    usual_filter: Callable[[Records], str | None] = field(default=lambda _: None)
    usual_metric: str | Callable[[SeenLog], str | None] | None = None
    usual_blocks: str | None = None
    usual_range: tuple[float, float] | None = None

    def open(self, path: str) -> Log:
        """Open a log; its records are read once where they say something about their runs, or are numbered."""
        said, beside = document_beside(self.described_by(Path(path)))
        records = replace(self.records(path), said=said, beside=beside)
        seen = SeenLog(records=records)
        for record in records if self.said or self.group else ():
            run = seen.runs.setdefault(self.key(record), SeenRun())
            run.add(record, answer=self.answer(record.row), said=self.said(record) if self.said else {})
            if self.group:
                seen.copies.add(*self.group(record))
        found = self.runs(seen)
        runs: Mapping[Any, LogRun] = found if isinstance(found, Mapping) else {"": found}

        def samples() -> Iterator[LogSample]:
            for record in records:
                run = runs[self.key(record)]
                copy = seen.copies.number(*self.group(record)) if self.group else 1
                for part in self.parts(replace(record, copy=copy)):
                    yield self._sample(part, run, seen)

        missing = (f"{records.place} has no {self.undescribed}.",) if self.undescribed and not beside else ()
        log = Log(
            runs=tuple(runs.values()),
            samples=samples,
            counts=records.counts,
            usual_blocks=self.usual_blocks,
            usual_range=self.usual_range,
        )
        return replace(
            log,
            usual_metric=usual(seen) if callable(usual := self.usual_metric) else usual,
            usual_filter=self.usual_filter(records),
            beside=beside,
            notes=(*missing, *self.notes(seen, samples)),
        )

    def _sample(self, record: LogRecord, run: LogRun, seen: SeenLog) -> LogSample:
        error, kind = self.failed(record.row)
        return LogSample(
            run=run,
            item=self.item(record, run),
            scores=self.scores(record),
            place=record.place,
            repeat=self.repeat(record),
            filter=self.filter(record, seen),
            error=error,
            failure=kind,
            fields=self.fields(record),
            content=self.content(record),
            prompt=self.prompt(record.row),
        )


def judged_runs(
    seen: SeenLog, protocol: Callable[[Said], Mapping[str, object]] = lambda _: {}
) -> dict[tuple[str, str], LogRun]:
    """The runs of judged answers, by model and task; the protocol follows from what the records of a run say."""
    if not seen.runs:
        raise seen.records.lack("records in the file")
    return {
        key: LogRun(
            model=key[0],
            task=key[1],
            identity=seen.identity(*key, key=key),
            when=run.when,
            protocol=settings(protocol(run.said)),
        )
        for key, run in seen.runs.items()
    }


def refused_without_items(said: str) -> Iterator[LogSample]:
    """The samples of a log that does not list every item, where the user declares none: a refusal."""
    raise FormatError(f"{said}, or declare all items with ", Argument("items", Blank("FILE")))
    yield


def own_judge_notes(seen: SeenLog, _: object) -> Iterator[str]:
    """A note about models that judged their own answers."""
    own = sorted(model for (model, _), run in seen.runs.items() if model in run.said.get("judge", ()))
    if own:
        judged = f"the judge of {listed(own)} is the model itself, which may favour its own answers."
        yield f"{seen.records.place}: {judged}"


def joined(values: Iterable[str]) -> str:
    """Names in one text, in order."""
    return ", ".join(sorted(values))
