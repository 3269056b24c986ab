"""MLflow: ``eval_results_table.json``, the table that ``mlflow.evaluate`` logs as an artifact.

A row is one question and its answer, with a column ``<metric>/<version>/score`` for each metric. Neither the model nor
the run is named in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bbedge.errors import FormatError
from bbedge.readers.json_files import json_stream
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Value
from bbedge.readers.logs.fields import array, digest, number
from bbedge.readers.logs.record_log import Records
from bbedge.text import listed, quoted, shown_path

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
            return "samples" if glimpse.name.removesuffix(".gz") == "eval_results_table.json" else "no"
        scored = any(isinstance(name, str) and name.endswith(_SCORE) for name in array(columns))
        return "samples" if scored else "no"

    def open(self, path: str) -> Log:
        """Open a table; it is read once for its columns."""
        records = Records(path=path, expected="a table of MLflow", under=("data",))
        columns = _columns(records)
        if not any(name in columns for name in _QUESTION):
            raise FormatError(
                f"{shown_path(path)}: no column that holds the question, so that items have no name; expected one of "
                f"{listed(_QUESTION, limit=10)}: rename the column of the data that is evaluated"
            )
        lower = frozenset(name for name in columns if name.endswith(_SCORE) and name.startswith(_LOWER))
        run = Run(model=None, lower_is_better=lower)
        return Log(runs=(run,), samples=lambda: _samples(records, run, columns))


def _columns(records: Records) -> list[str]:
    columns: object = None
    with json_stream(records.path) as stream:
        if stream.opens() == "{":
            for key in stream.entries():
                if key == "columns":
                    columns = stream.value()
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise records.lack("list of columns")
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise FormatError(
            f"{shown_path(records.path)}: column {listed(repeated)} appears more than once; rename one of them"
        )
    return columns


def _samples(records: Records, run: Run, columns: Sequence[str]) -> Iterator[Sample]:
    asked = [name for name in (*_QUESTION, *_TARGET) if name in columns]
    for record in records.loose():
        if not isinstance(record.found, list) or len(record.found) != len(columns):
            raise FormatError(f"{record.at}: not a row of {len(columns)} values; expected {record.source.expected}")
        values = dict(zip(columns, record.found, strict=True))
        yield Sample(
            run=run,
            item=digest([values[name] for name in asked]),
            # A judge that failed leaves null, and says so in the column of justifications.
            scores={name: _score(value, name, record.at) for name, value in values.items() if name.endswith(_SCORE)},
            place=record.place,
            fields={"row": {name: value for name, value in values.items() if not name.endswith(_SCORE)}},
        )


def _score(value: object, name: str, where: str) -> Value:
    if value is not None and not isinstance(value, bool | int | float):
        raise FormatError(f"{where}: {quoted(name)} is {quoted(str(value))}; expected a number or null")
    return number(value)
