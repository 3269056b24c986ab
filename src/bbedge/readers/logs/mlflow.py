"""MLflow: ``eval_results_table.json``, the table that ``mlflow.evaluate`` logs as an artifact.

A row is one question and its answer, with a column ``<metric>/<version>/score`` for each metric. Neither the model nor
the run is named in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, number
from bbedge.readers.logs.files import JsonStream
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

_FILE = "eval_results_table.json"
_SCORE = "/score"
_QUESTION = ("inputs", "input", "request", "question", "questions", "query", "prompt")
_TARGET = ("ground_truth", "targets", "target", "expected_response")
# Of which MLflow itself says that more is not better.
_LOWER = ("toxicity/", "flesch_kincaid_grade_level/", "ari_grade_level/")


class MlFlow:
    """Reads evaluation tables of MLflow 2."""

    name = "mlflow"
    title = "MLflow"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the names of the columns; where these follow the data, by the name of the file."""
        if not glimpse.has("data"):
            return "no"
        columns = glimpse.first.get("columns")
        if columns is None:
            return "samples" if glimpse.name.removesuffix(".gz") == _FILE else "no"
        scored = isinstance(columns, list) and any(isinstance(name, str) and name.endswith(_SCORE) for name in columns)
        return "samples" if scored else "no"

    def open(self, path: str) -> Log:
        """Open a table; it is read once for its columns."""
        columns = _columns(path)
        scored = [name for name in columns if name.endswith(_SCORE)]
        asked = [columns.index(name) for name in (*_QUESTION, *_TARGET) if name in columns]
        if not any(name in columns for name in _QUESTION):
            raise FormatError(
                f"{shown_path(path)}: no column that holds the question, so that items have no name; expected one of "
                f"{listed(_QUESTION, limit=10)}: rename the column of the data that is evaluated"
            )
        run = Run(model=None, lower_is_better=frozenset(name for name in scored if name.startswith(_LOWER)))
        return Log(runs=(run,), samples=lambda: _samples(path, run, columns, asked))


def _columns(path: str) -> list[str]:
    columns: object = None
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        if stream.opens() == "{":
            for key in stream.entries():
                if key == "columns":
                    columns = stream.value()
        stream.end()
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise FormatError(f"{shown_path(path)}: no list of columns; expected a table of MLflow")
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise FormatError(f"{shown_path(path)}: column {listed(repeated)} appears more than once; rename one of them")
    return columns


def _samples(path: str, run: Run, columns: Sequence[str], asked: Sequence[int]) -> Iterator[Sample]:
    for place, row in _rows(path):
        if not isinstance(row, list) or len(row) != len(columns):
            raise FormatError(
                f"{shown_path(path)}: sample {place}: not a row of {len(columns)} values; expected a table of MLflow"
            )
        values = dict(zip(columns, row, strict=True))
        yield Sample(
            run=run,
            item=digest([row[position] for position in asked]),
            # A judge that failed leaves null, and says so in the column of justifications.
            scores={name: _score(values[name], name, path, place) for name in columns if name.endswith(_SCORE)},
            place=place,
            fields={"row": {name: value for name, value in values.items() if not name.endswith(_SCORE)}},
        )


def _score(value: object, name: str, path: str, place: int) -> float | bool | None:
    if value is not None and not isinstance(value, bool | int | float):
        raise FormatError(
            f"{shown_path(path)}: sample {place}: {quoted(name)} is {quoted(str(value))}; expected a number or null"
        )
    return number(value)


def _rows(path: str) -> Iterator[tuple[int, Any]]:
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key == "data" and stream.opens() == "[":
                yield from enumerate(stream.elements(), start=1)
        stream.end()
