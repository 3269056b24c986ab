"""What a reader of logs is: it recognises files from a glimpse, and opens one as runs and samples.

A reader parses; it decides nothing. Which metric counts, which items are dependent and which runs are replicates of
each other is settled in one place for all of them: :mod:`bbedge.readers.logs.table` and
:mod:`bbedge.readers.logs.runs`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from bbedge.errors import FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import JsonStream, member_names
from bbedge.readers.opening import naming_errors, opened
from bbedge.text import shown_path

Recognition = Literal["samples", "beside", "no"]
"""A log with samples; a file that such logs have beside them, such as a summary; neither."""

Value = float | bool | None
"""What a metric says about one sample: a number, right or wrong, or nothing."""
_HEAD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogRun:
    """One run of one model on one task, as its log describes it."""

    model: str | None
    """What the log calls the model, if it says."""
    task: str = ""
    """What the log calls the task; empty if it has no tasks."""
    identity: str = ""
    """A name that no other run has; empty if the log gives none."""
    when: str = ""
    """When it was made, as text that sorts by time; empty if the log does not say."""
    seed: str | None = None
    """The seed that was sent with the requests, if the log says."""
    protocol: Mapping[str, str] = field(default_factory=dict)
    """Settings that all runs of a task should have in common, such as the number of examples in the prompt."""
    sampling: Mapping[str, str] = field(default_factory=dict)
    """Settings that all runs of one model should have in common, such as the temperature."""
    lower_is_better: frozenset[str] = frozenset()
    """Metrics of which the log says that less is better."""
    higher_is_better: frozenset[str] = frozenset()
    """Metrics of which the log says that more is better, whatever their names suggest."""
    graders: frozenset[str] = frozenset()
    """The models that graded the answers, as far as the log says."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What else the header of the log says, by name and key: ``{"eval": {"task_args": {"subject": "law"}}}``."""

    def item(self, name: str) -> str:
        """What to call an item of the run: the same name in two tasks is not the same item."""
        return f"{self.task}/{name}" if self.task else name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogSample:
    """One scored answer."""

    run: LogRun
    """The run that it belongs to."""
    item: str
    """The name of the item, the same in every run: from its content where the log has a hash of it."""
    scores: Mapping[str, Value]
    """All metrics that are one number; None where the log has no number."""
    place: int
    """Its line, or its position in the log, from 1."""
    repeat: str | None = None
    """Which repetition within the run, where a run asks every question several times."""
    filter: str | None = None
    """The way in which the answer was extracted, where a log scores each answer in several ways."""
    error: str | None = None
    """What went wrong; such a sample has no score, whatever the log says."""
    failure: ErrorKind | None = None
    """What kind of failure left the sample without a score, if it has none and the log says; without a word from the
    log, an error is of an unknown kind, and where there is no error either, the scorer gave no number."""
    cached: bool = False
    """Whether the answer was taken from a cache."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """What the answer took, by name (tokens, seconds, cost), as far as the log says: metrics only where named."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What else is known, by name and key: ``{"metadata": {"dialogue_id": 7}}``."""
    label: str | None = None
    """What the log calls the item, where its name is made from its content."""
    content: str | None = None
    """A hash of the question, to see whether it changed between runs. What may differ although the question is the
    same, such as drawn examples or the order of choices, must not enter it."""
    as_sent: bool = False
    """Whether the content is a hash of what was sent, which a wrapper of a model may change in every question."""
    prompt: str | None = None
    """A hash of all that was sent, to see whether the examples in it changed between runs."""
    question: str | None = None
    """The text of the question, for people who compare answers."""
    answer: str | None = None
    """The text of the answer, likewise."""

    @property
    def kind_of_failure(self) -> ErrorKind:
        """The kind of failure, where the sample has no score."""
        return self.failure or ("judge" if self.error is None else "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAggregate:
    """What a log states about its own samples, to compare them with."""

    where: str
    """The path of the file that states it."""
    metric: str | None = None
    """The metric whose plain mean is stated; None where only a count is."""
    mean: float | None = None
    """The mean over all samples that have a number for the metric."""
    count: int | None = None
    """How many samples there are, scored or not."""
    published: bool = False
    """Whether logs are published with a part of these samples, which the user may declare."""
    least: int | None = None
    """How many samples there are at least, where only those that did not fail are counted."""
    run: LogRun | None = None
    """The run that it is about; None if it is about all runs of the log."""
    filter: str | None = None
    """The filter that it is about; None if samples have none, or for the samples of every filter alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log that is open for reading."""

    runs: tuple[LogRun, ...]
    """The runs in it, known before any sample is read."""
    samples: Callable[[], Iterator[LogSample]]
    """Reads all samples, one at a time; may be called again."""
    of_items: Callable[[Sequence[str]], Iterator[LogSample]] | None = None
    """Reads all samples of a log that does not list every item, given the items that the user declares; without them
    its samples are refused."""
    counts: Literal["line", "sample"] = "sample"
    """What the place of a sample counts."""
    usual_metric: str | None = None
    """The metric that the tool itself calls the score, if there is one such."""
    usual_filter: str | None = None
    """The filter that counts if there are several and none is asked for; what the others scored is noted."""
    usual_blocks: str | None = None
    """The field that names the blocks unless others are chosen, where items depend on each other by construction, such
    as the turns of one question."""
    usual_range: tuple[float, float] | None = None
    """The score range that the tool always has, for messages: it is declared like any other."""
    beside: tuple[str, ...] = ()
    """Paths of other files that were read for this one."""
    notes: tuple[str, ...] = ()
    """What a user should know about the log, such as that the run was cut off."""
    stated: Callable[[], Iterable[StatedAggregate]] = tuple
    """The means and counts that the log itself states; asked for after all samples were read."""


class Reader(Protocol):
    """Reads the logs of one tool. Other packages add readers under the entry point ``bbedge.readers``."""

    @property
    def name(self) -> str:
        """What ``--format`` calls it."""

    @property
    def title(self) -> str:
        """What people call the tool."""

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """Whether a file is such a log, from its beginning; must not raise on any content."""

    def open(self, path: str) -> Log:
        """Open a log; raises :class:`~bbedge.errors.FormatError` where it is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReader:
    """A reader that is made of functions."""

    name: str
    title: str
    has_samples: Callable[[Glimpse], object]
    """Whether a file is a log with samples; one that must be refused by name is such a log, too."""
    stands_beside: Callable[[Glimpse], object] = field(default=lambda _: False)
    """Whether another file is one that such logs have beside them."""
    open: Callable[[str], Log]

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """Whether a file is such a log, or stands beside one."""
        if self.has_samples(glimpse):
            return "samples"
        return "beside" if self.stands_beside(glimpse) else "no"


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """What shows without reading a whole file. Nothing here raises on strange content."""

    path: str
    """Where the file is."""
    head: bytes = field(repr=False)
    """Its first bytes, unpacked if it is gzipped."""

    @classmethod
    def of(cls, path: str) -> Glimpse:
        """Look at a file that exists."""
        try:
            with opened(path) as file:
                head = file.read(_HEAD)
        except FormatError:
            # Not the gzip file that its name says; the reader that opens it says so.
            with naming_errors(path), Path(path).open("rb") as file:
                head = file.read(_HEAD)
        return cls(path=path, head=head.removeprefix(b"\xef\xbb\xbf"))

    @property
    def name(self) -> str:
        """The file's own name."""
        return Path(self.path).name

    @cached_property
    def members(self) -> frozenset[str]:
        """The names in a zip archive; empty if it is none."""
        return member_names(self.path) if self.head.startswith(b"PK") else frozenset()

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of a Parquet file; empty if it is none."""
        if not self.head.startswith(b"PAR1"):
            return frozenset()
        from bbedge.readers.tables.frames import ParquetFile

        try:
            return frozenset(ParquetFile(path=self.path).columns())
        except FormatError:
            return frozenset()

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first object: of a JSON file, of JSON lines or of an array. What did not fit has the value None."""
        if not self.head[:64].lstrip().startswith((b"{", b"[")):
            return {}
        # A key that comes twice is for the reader to refuse: a log that is not recognised would be passed over.
        stream = JsonStream(io.BytesIO(self.head.lstrip().removeprefix(b"[")), "the beginning", unique=False)
        found: dict[str, Any] = {}
        try:
            for key in stream.entries():
                found[key] = None
                found[key] = stream.value()
        except (FormatError, json.JSONDecodeError):
            # The head ends somewhere in the object, or it is no JSON after all.
            pass
        return found

    def has(self, *keys: str) -> bool:
        """Whether the first object has all these keys."""
        return all(key in self.first for key in keys)


def open_log(reader: Reader, path: str) -> Log:
    """Open a log. What is nested so deeply that Python cannot follow is refused, wherever the reader meets it."""
    refusal = FormatError(f"{shown_path(path)}: nested too deeply; expected a log of {reader.title}")
    try:
        log = reader.open(path)
    except RecursionError:
        raise refusal from None

    def samples() -> Iterator[LogSample]:
        try:
            yield from log.samples()
        except RecursionError:
            raise refusal from None

    return replace(log, samples=samples)
