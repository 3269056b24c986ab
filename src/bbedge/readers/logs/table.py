"""A log as a table of scores: the chosen metric under the chosen filter, and nothing averaged, dropped or invented."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Argument, Blank, DataError, FormatError
from bbedge.readers.choices import ERROR_KINDS, OTHER_BLOCKS, ChoiceNeededError, name_origin
from bbedge.readers.lists import read_items
from bbedge.readers.logs.contract import Log, LogRun, LogSample, Reader, Value, open_log
from bbedge.readers.logs.fields import field_at, field_paths
from bbedge.readers.logs.naming import AskedQuestion, check_found, model_in, model_named_by_log
from bbedge.readers.logs.runs import Repetition, Watch
from bbedge.readers.logs.stated import RunTally
from bbedge.readers.metrics import EveryMetric, MetricScales, check_direction, with_usage
from bbedge.readers.tables.columns import Role, failing, names_from_objects
from bbedge.readers.tables.roles import METRIC, ORIGINAL, column_key, metric_item
from bbedge.records.reading import Reading
from bbedge.text import listed, quoted, shown, shown_path

_ROWS = 1 << 16
_OWN_BLOCKS = (None, "item", "one")


class LogTable:
    """A log that is read like a long table."""

    text_scores = False
    wide = None

    def __init__(
        self,
        path: str,
        reader: Reader,
        *,
        reading: Reading,
        watch: Watch,
        described: Sequence[str] = (),
        scales: MetricScales | None = None,
    ) -> None:
        self.path, self.reader, self.reading = path, reader, reading
        self.name = shown_path(path)
        self.log: Log = with_usage(log_of(reader, path, reading), reading, name=self.name)
        self.usual_range = self.log.usual_range
        own = self.log.usual_blocks if reading.blocks is None else None
        self.blocks = own if reading.blocks in _OWN_BLOCKS else reading.blocks
        self._unit = reading.score_range == (0.0, 1.0)
        self._watch = watch
        self._places, self._failed, self._kinds = array("Q"), array("Q"), array("B")
        self._metric: str | None = None
        self._filter: str | None = None
        self._models: dict[LogRun, str] = {}
        self._scales = scales
        self._every = EveryMetric(self.log, reading, name=self.name) if METRIC in described else None
        self.described = tuple(self._described(described)) if described else ()

    def columns(self) -> tuple[str, ...]:
        """The roles that a log fills."""
        return tuple(self.roles())

    def roles(self) -> dict[Role, str]:
        """Every role is a column of its own name."""
        roles: tuple[Role, ...] = ("model", "item", "replicate", "score", *(("block",) if self.blocks else ()))
        of_metric = (ORIGINAL,) if self._every is not None else ()
        return {role: role for role in (*roles, *of_metric, *map(column_key, self.described))}

    def field_names(self) -> list[str]:
        """The fields of the first sample and of the header that could describe its item."""
        first = itertools.islice(self.log.samples(), 1)
        return [name for sample in first for name, _ in field_paths({**sample.fields, **_header(sample.run)})]

    def _described(self, names: Sequence[str]) -> Iterator[str]:
        """Those of the item columns that the log has, by its first sample."""
        first = next(iter(self.log.samples()), None)
        return (name for name in names if name == METRIC or (first is not None and _field(first, name) is not None))

    def models(self) -> list[tuple[str, str | None]]:
        """The path with what the log calls each of its models."""
        return [(self.path, model_named_by_log(run, self.reading)) for run in self.log.runs]

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The samples, some at a time."""
        self._places, self._failed, self._kinds = array("Q"), array("Q"), array("B")
        columns: dict[Role, list[str | float | bool | None]] = {role: [] for role in roles}
        tally = RunTally()
        for sample in self.log.samples():
            tally.add(sample)
            if not self._counts(sample):
                continue
            self._watch.add(sample, self._model(sample), self._at)
            for row in self._rows(sample):
                self._places.append(sample.place)
                for role, values in columns.items():
                    values.append(row[role])
                if row["score"] is None:
                    self._failed.append(len(self._places) - 1)
                    self._kinds.append(ERROR_KINDS.index(sample.kind_of_failure))
            if len(columns["item"]) >= _ROWS:
                yield self._frame(columns)
                columns = {role: [] for role in roles}
        self._watch.stated[self.path] = list(
            tally.check(
                self.log,
                self.path,
                metrics=self._read_metrics(),
                chosen=self._filter,
                subset=self.reading.subset,
            )
        )
        if columns["item"]:
            yield self._frame(columns)
        elif not self._places:
            raise self._no_samples()

    def asked(self) -> Iterator[AskedQuestion]:
        """The questions of the samples, for comparing them with those of other logs."""
        return (
            AskedQuestion(path=self.path, model=self._model(sample), place=self._at(sample), sample=sample)
            for sample in self.log.samples()
        )

    def _read_metrics(self) -> tuple[str, ...]:
        if self._every is not None:
            return self._every.names()
        return () if self._metric is None else (self._metric,)

    def location_of_row(self, row: int) -> str:
        """Where row ``row`` (from 0) stands."""
        return self._place(self._places[row])

    def failures(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """What failed in rows that have no score: positions in ``ERROR_KINDS``."""
        return np.array(self._kinds, dtype=np.uint8)[np.searchsorted(np.array(self._failed, dtype=np.int64), rows)]

    def _frame(self, columns: Mapping[Role, list[str | float | bool | None]]) -> pl.DataFrame:
        fail = failing(self.location_of_row, len(self._places) - len(columns["item"]))
        return pl.DataFrame(
            {
                role: pl.Series(role, values, dtype=pl.Float64)
                if role == "score"
                else names_from_objects(values, role=role, fail=fail)
                for role, values in columns.items()
            }
        )

    def _rows(self, sample: LogSample) -> Iterator[dict[Role, str | float | None]]:
        """The row of a sample, or a row for each of its metrics."""
        model = self._model(sample)
        row: dict[Role, str | float | None] = {
            "model": model,
            "item": sample.item,
            "replicate": self._watch.book.code(
                Repetition(model, self.path, sample.run, sample.repeat, self._label(sample))
            ),
        }
        if self.blocks:
            row["block"] = self._block(sample, self.blocks)
        for name in self.described:
            if name != METRIC:
                row[column_key(name)] = self._column(sample, name)
        if self._every is None:
            yield {**row, "score": self._score(sample)}
            return
        block = row.get("block", sample.item)
        for metric in self._every.of(sample, self._chosen):
            check_direction(metric, sample.run, self._scales, name=self.name, reading=self.reading)
            of_metric: dict[Role, str | float | None] = {
                "item": metric_item(sample.item, metric),
                "score": self._number(sample, metric, sample.scores.get(metric)),
                "block": block,
                ORIGINAL: sample.item,
                column_key(METRIC): metric,
            }
            yield {**row, **of_metric}

    def _column(self, sample: LogSample, name: str) -> str:
        value = _field(sample, name)
        if value is None or not value.strip():
            raise DataError(
                f"{self._at(sample)}: no field {quoted(name)}, which the first sample of the log has; every item needs "
                "a value: choose another field, or list the items and their values with ",
                Argument("items", Blank("FILE")),
            )
        return value

    def _counts(self, sample: LogSample) -> bool:
        """Whether the sample was scored under the filter that counts."""
        if sample.filter is None:
            return True
        wanted = self.reading.filter or (() if self.log.usual_filter is None else (self.log.usual_filter,))
        if wanted and sample.filter not in wanted:
            if not self.reading.filter:
                self._watch.filtered[sample.filter] += 1
            return False
        self._filter = self._filter or sample.filter
        if sample.filter != self._filter:
            found = list(dict.fromkeys(each.filter for each in self.log.samples() if each.filter))
            raise ChoiceNeededError(
                f"{self._at(sample)}: every answer was scored under several filters, {listed(found)}; choose one with ",
                Argument("filter", (shown(found[0]),)),
            )
        return True

    def _score(self, sample: LogSample) -> float | None:
        if sample.error is not None or not sample.scores:
            return self._number(sample, "", None)
        if self._metric is None:
            self._metric = self._chosen(sample)
        if self._metric not in sample.scores:
            raise DataError(
                f"{self._at(sample)}: no metric {quoted(self._metric)} in this sample, which has "
                f"{listed(sample.scores)}; choose one that all samples have with ",
                Argument("metric"),
            )
        return self._number(sample, self._metric, sample.scores[self._metric])

    def _number(self, sample: LogSample, metric: str, value: Value) -> float | None:
        if sample.error is not None or value is None:
            self._watch.unscored += sample.error is None
            return None
        value = self._among_numbers(sample, metric, value)
        if self._scales is not None:
            return self._scales.mapped(metric, value, place=lambda: self._at(sample))
        if isinstance(value, bool) and not self._unit:
            raise DataError(
                f"{self._at(sample)}: metric {quoted(metric)} is right or wrong, which fits no other "
                "scale than 0 to 1; leave ",
                Argument("score_range"),
                " out",
            )
        return float(value)

    def _among_numbers(self, sample: LogSample, metric: str, value: float | bool) -> float | bool:
        """A score; a wrong answer in a metric of numbers on another scale is 0, as the tools count it."""
        if self._unit or not isinstance(value, bool) or metric not in self._of_numbers:
            return value
        if value:
            raise DataError(
                f"{self._at(sample)}: the metric {quoted(metric)} has numbers, and here right or wrong; right is no "
                "number on their scale: score the log again with numbers alone"
            )
        self._watch.wrong[metric] += 1
        return 0.0

    @cached_property
    def _of_numbers(self) -> set[str]:
        """The metrics with another number than what tools write for answers that are partly right, or that are none."""
        found = (each for sample in self.log.samples() for each in sample.scores.items())
        return {metric for metric, value in found if not isinstance(value, bool | None) and value not in (0.0, 0.5)}

    def _chosen(self, sample: LogSample) -> str:
        found = [name for name in self.reading.metric if name in sample.scores]
        if self.reading.metric and len(found) != 1:
            what = f"metrics {listed(found)} are both in it" if found else "no such metric in it"
            raise FormatError(
                f"{self._at(sample)}: ",
                Argument("metric", tuple(map(shown, self.reading.metric))),
                f": {what}; it has {listed(sample.scores, limit=12)}: name exactly one of them",
            )
        found = found or [name for name in sample.scores if name == self.log.usual_metric]
        if not found and len(sample.scores) > 1:
            raise ChoiceNeededError(
                f"{self._at(sample)}: {len(sample.scores)} metrics, {listed(sample.scores)}; choose one with ",
                Argument("metric", (Blank("NAME"),)),
                ": bbedge inspect-scores lists them",
            )
        metric = found[0] if found else next(iter(sample.scores))
        check_direction(metric, sample.run, self._scales, name=self.name, reading=self.reading)
        return metric

    def _model(self, sample: LogSample) -> str:
        model = self._models.get(sample.run) or model_in(self.path, sample.run, self.reading)
        if model is not None:
            self._models[sample.run] = model
            return model
        # Only the sample may know, and the next one may know another.
        return check_found(model_in(self.path, sample.run, self.reading, sample), self.path, sample.run, self.reading)

    def _label(self, sample: LogSample) -> str | None:
        origin = name_origin(self.reading, "replicate")
        if origin is None:
            return None
        label = sample.run.seed if origin.kind == "seed" else origin.in_path(self.path, "replicate")
        if origin.kind == "field":
            label = field_at(sample.fields, origin.text)
        if not label:
            raise DataError(
                f"{self._at(sample)}: nothing there for ",
                Argument("replicate_from", shown(self.reading.replicate_from or "")),
                f"; the fields of the sample are {listed(dict(field_paths(sample.fields)), limit=12) or 'none'}",
            )
        return label

    def _block(self, sample: LogSample, path: str) -> str:
        block = field_at(sample.fields, path)
        if block is None or not block.strip():
            raise DataError(
                f"{self._at(sample)}: no field {quoted(path)} to take the block from; the fields of the sample are "
                f"{listed(dict(field_paths(sample.fields)), limit=12) or 'none'}: correct ",
                Argument("blocks"),
                ", or pass ",
                *OTHER_BLOCKS,
            )
        # The same label in two tasks is not the same block.
        return f"{sample.run.task}/{block}" if sample.run.task else block

    def _no_samples(self) -> FormatError:
        filters = list(dict.fromkeys(each.filter for each in self.log.samples() if each.filter))
        if filters:
            return FormatError(
                f"{self.name}: no sample was scored under the filter {listed(self.reading.filter)}; the log has "
                f"{listed(filters)}: correct ",
                Argument("filter"),
            )
        return FormatError(f"{self.name}: the log has no samples; let the run end, and log its samples")

    def _at(self, sample: LogSample) -> str:
        return self._place(sample.place)

    def _place(self, number: int) -> str:
        return f"{self.name}:{number}" if self.log.counts == "line" else f"{self.name}: sample {number}"


def log_of(reader: Reader, path: str, reading: Reading) -> Log:
    """The log of a file, with the items that the user declares where it does not list all."""
    log = open_log(reader, path)
    if log.of_items is None or reading.items is None:
        return log
    return replace(log, samples=partial(log.of_items, read_items(reading.items).items))


def _field(sample: LogSample, name: str) -> str | None:
    """A field of the sample, or of the header of its log."""
    found = field_at(sample.fields, name)
    return field_at(_header(sample.run), name) if found is None else found


def _header(run: LogRun) -> dict[str, Any]:
    return {**run.fields, **({"task": run.task} if run.task else {})}
