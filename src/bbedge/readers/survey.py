"""What is in files of scores, before anything is claimed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import polars as pl
from msgspec import structs

from bbedge.errors import Argument, BbedgeError
from bbedge.readers.assemble.missing_refusal import MissingByModel, MissingCellsError
from bbedge.readers.candidates import Proposal, proposed
from bbedge.readers.choices import ChoiceNeededError, Decision
from bbedge.readers.limits import LimitError, limited
from bbedge.readers.logs.fields import field_paths
from bbedge.readers.logs.naming import Differing, differing_arguments, model_in
from bbedge.readers.logs.table import log_of
from bbedge.readers.read_scores import scores_in
from bbedge.readers.sources import Source, find_sources, open_table
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.roles import METRIC, chosen_columns, column_key, find_roles
from bbedge.readers.tables.shaped import ShapedTable, as_wide, with_chosen
from bbedge.records.reading import Reading
from bbedge.text import shown, shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores
    from bbedge.readers.logs.contract import LogRun, LogSample

# Fields of samples that are looked at, and values of a field or column that are counted; more are prompts.
_FIELDS, _VALUES = 60, 5000
# A field of a log with more values is rather a block than a category.
_CATEGORIES = 50
# Rows of a table that are looked at.
_ROWS = 1_000_000
_USUAL = Reading()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One file."""

    path: str
    """Where it is."""
    kind: str
    """What it was recognised as."""
    models: tuple[str, ...]
    """Its models; none for tables, whose rows name them."""
    tasks: tuple[str, ...]
    """Its tasks."""
    samples: int | None
    """How many samples it has; None for tables."""
    repeats: int
    """How many repetitions of a question there are at most."""
    errors: int
    """How many samples ended with an error."""


@dataclass(slots=True, kw_only=True)
class MetricFacts:
    """A metric that could be the score."""

    name: str
    """What the log calls it."""
    tasks: tuple[str, ...] = ()
    """The tasks that have it."""
    samples: int = 0
    """How many samples have a number for it."""
    low: float = float("inf")
    """The smallest number."""
    high: float = float("-inf")
    """The largest number."""
    lower_is_better: bool = False
    """Whether the log says that less is better."""

    @property
    def on_unit_scale(self) -> bool:
        """Whether all numbers lie in [0, 1]."""
        return self.samples > 0 and self.low >= 0.0 and self.high <= 1.0


@dataclass(slots=True)
class SampleCounts:
    """What the samples of all logs show."""

    metrics: dict[str, MetricFacts] = field(default_factory=dict)
    """The metrics by name."""
    filters: dict[str, Counter[str]] = field(default_factory=dict)
    """The filters of each task, with the number of samples."""
    fields: dict[str, set[str]] = field(default_factory=dict)
    """The values of fields, as far as they are counted."""
    errors: int = 0
    """Samples that ended with an error."""
    first_error: str = ""
    """The first of them."""
    cached: int = 0
    """Samples whose answer came from a cache."""
    runs: list[LogRun] = field(default_factory=list)

    def add(self, sample: LogSample, path: str) -> None:
        """Count one sample."""
        for name, value in sample.scores.items():
            metric = self.metrics.setdefault(name, MetricFacts(name=name))
            if sample.run.task not in metric.tasks:
                metric.tasks += (sample.run.task,)
            metric.lower_is_better |= name in sample.run.lower_is_better
            if value is not None and sample.error is None:
                metric.samples += 1
                metric.low, metric.high = min(metric.low, float(value)), max(metric.high, float(value))
        if sample.filter is not None:
            self.filters.setdefault(sample.run.task, Counter())[sample.filter] += 1
        if sample.error is not None:
            self.errors += 1
            self.first_error = (
                self.first_error or f"{shown_path(path)}: sample {sample.place}: {shown(sample.error, 200)}"
            )
        self.cached += sample.cached
        for name, text in field_paths(sample.fields):
            if name in self.fields or len(self.fields) < _FIELDS:
                values = self.fields.setdefault(name, set())
                if len(values) < _VALUES:
                    values.add(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything found."""

    files: tuple[FileFacts, ...]
    """The files with samples."""
    beside: int
    """How many files belong to logs and have no samples."""
    unread: tuple[str, ...]
    """Files of folders that were not recognised."""
    samples: SampleCounts
    """What the samples of the logs show."""
    metrics: tuple[MetricFacts, ...]
    """The metrics of logs."""
    fields: Mapping[str, int]
    """Fields of samples, with the number of their values; what could name blocks."""
    item_columns: Mapping[str, int]
    """Columns that describe the items, with the number of their values: of tables those with one value for each item,
    of logs fields with few values, ``task`` and ``metric`` if there are several."""
    scores: Scores | None
    """The scores, if they can be read with the choices made."""
    error: BbedgeError | None
    """Why they cannot."""
    to_choose: bool
    """Whether a metric or a filter is to be chosen, with the proposal if there is one."""
    remedy: str | None
    """What ``incomplete`` would have to be, if they cannot because cells are missing."""
    missing: MissingByModel
    """The missing scores by model, if they cannot because of these."""
    differing: tuple[Differing, ...]
    """Arguments in which logs of one model differ, if no field was chosen to name models."""
    proposal: tuple[Argument, ...] = ()
    """Arguments with which they could be read, or would come closer to it; made without the scores."""
    left: BbedgeError | None = None
    """Why they cannot be read even so."""
    decisions: tuple[Decision, ...] = ()
    """What has to be decided before any command is proposed."""

    @property
    def refused(self) -> str:
        """Why the scores cannot be read; empty if they can."""
        return "" if self.error is None else str(self.error)


def survey(
    sources: Sequence[str], reading: Reading = _USUAL, *, progress: Callable[[str], None] | None = None
) -> Survey:
    """Look at all files, and try to read their scores with the choices made.

    A file that cannot be read at all raises, as it would when the scores are read.
    """
    count, files = SampleCounts(), []
    scores, refusal, to_choose, gaps = None, None, False, None
    proposal = Proposal()
    with limited(reading.max_size):
        found = find_sources(sources, reading, collect=True, progress=progress)
        for source in (*found.files, *(Source(path=path, reader=None) for path, _ in found.refused)):
            if progress is not None:
                progress(f"looking at {source.path}")
            files.append(_file_facts(source, reading, count))
        read = partial(scores_in, sources, least_models=1, provenance=False, progress=progress)
        try:
            scores = read(reading)
        except LimitError:
            raise
        except BbedgeError as error:
            refusal = error
            gaps = error if isinstance(error, MissingCellsError) else None
            refused = [Source(path=path, reader=None) for path, _ in found.refused]
            proposal = proposed(error, read, reading, (*found.files, *refused))
            to_choose = isinstance(proposal.left, ChoiceNeededError)
    return Survey(
        files=tuple(files),
        beside=len(found.beside),
        unread=tuple(found.unread),
        samples=count,
        metrics=tuple(count.metrics.values()),
        fields={name: len(values) for name, values in count.fields.items()},
        item_columns=_item_columns(files, count, found.files, reading),
        scores=scores,
        error=refusal,
        to_choose=to_choose,
        remedy=None if gaps is None else gaps.remedy,
        missing={} if gaps is None else gaps.missing,
        differing=() if reading.model_from is not None else differing_arguments(count.runs),
        proposal=proposal.arguments,
        left=proposal.left if proposal.arguments and not (proposal.decisions or to_choose) else None,
        decisions=proposal.decisions,
    )


def _item_columns(
    files: Sequence[FileFacts], count: SampleCounts, sources: Sequence[Source], reading: Reading
) -> dict[str, int]:
    found = ColumnSurvey()
    for source in (each for each in sources if each.reader is None):
        found.add(source, reading)
    several = {
        "task": len({task for file in files for task in file.tasks}),
        "metric": len(count.metrics),
        **{name: len(values) for name, values in count.fields.items()},
    }
    return {name: number for name, number in several.items() if 2 <= number <= _CATEGORIES} | found.counts()


def _file_facts(source: Source, reading: Reading, count: SampleCounts) -> FileFacts:
    if source.reader is None:
        return FileFacts(
            path=source.name,
            kind="wide table" if reading.format == "wide" else source.kind,
            models=(),
            tasks=(),
            samples=None,
            repeats=1,
            errors=0,
        )
    log = log_of(source.reader, source.path, reading)
    errors, samples, repeats = count.errors, 0, set()
    for sample in log.samples():
        samples += 1
        repeats.add(sample.repeat)
        count.add(sample, source.path)
    count.runs += log.runs
    models = (model_in(source.path, run, reading) for run in log.runs)
    return FileFacts(
        path=source.path,
        kind=source.kind,
        models=tuple(dict.fromkeys(model for model in models if model is not None)),
        tasks=tuple(dict.fromkeys(run.task for run in log.runs if run.task)),
        samples=samples,
        repeats=len(repeats),
        errors=count.errors - errors,
    )


@dataclass(slots=True)
class ColumnSurvey:
    """The columns of all tables so far that could describe the items."""

    _of_item: dict[str, dict[str, str]] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _metrics: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        """The number of values of every column that has one for each item; of ``metric`` also if it has several."""
        counts = {name: len(set(values.values())) for name, values in self._of_item.items() if values}
        return counts | ({METRIC: len(self._metrics)} if self._metrics else {})

    def add(self, source: Source, reading: Reading) -> None:
        """Look at the first rows of a table. What cannot be read is left for the reader of its scores to refuse."""
        try:
            chosen = chosen_columns(structs.replace(reading, blocks=None))
            table = with_chosen(open_table(source.path, source.called), chosen)
            if as_wide(table, chosen=chosen, asked=False) is None:
                self._look(table, find_roles(table.columns(), table=table.name, chosen=chosen))
        except LimitError:
            raise
        except BbedgeError:
            return

    def _look(self, table: ShapedTable, roles: Mapping[Role, str]) -> None:
        taken = self._refused.union(column for role, column in roles.items() if role != "block")
        names = [name for name in table.plain.field_names() if name.strip() and name not in taken]
        if not names:
            return
        keys: dict[Role, str] = {"item": roles["item"], **{column_key(name): name for name in names}}
        left = _ROWS
        for whole in table.batches(keys):
            batch = whole.head(left)
            for name in names:
                if name not in self._refused:
                    self._count(name, batch.select("item", column_key(name)).unique())
            left -= batch.height
            if left <= 0:
                return

    def _count(self, name: str, pairs: pl.DataFrame) -> None:
        """Count values of a column, given with their items; drop it if an item has two, or none."""
        values = pairs[column_key(name)]
        blank = values.null_count() or (values.str.strip_chars() == "").any()
        if name == METRIC and not blank:
            self._metrics |= set(values.unique())
            return
        of_item = self._of_item.setdefault(name, {})
        if (
            blank
            or pairs.height > pairs["item"].n_unique()
            or values.n_unique() > _VALUES
            or any(of_item.setdefault(item, value) != value for item, value in pairs.iter_rows())
        ):
            self._refused.add(name)
            del self._of_item[name]
