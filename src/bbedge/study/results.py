"""What a study found: means over repetitions with their Monte Carlo error, as rows of a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import DecodeError, json
from scipy.special import betaincinv

from bbedge.core.arrays import Floats
from bbedge.errors import DataError, FormatError
from bbedge.records.values import Strict
from bbedge.study.measures import METRICS
from bbedge.study.study import Study, StudyColumn
from bbedge.text import shown_path

_Z = 1.959963984540054  # two-sided 95 %
_DIGITS = 6
_NUMBERS = ("value", "deviation", "low", "high")


Sums = dict[tuple[str, ...], Floats]
"""All that is kept of repetitions, by contender and metric: how many they are, sum and sum of squares, look by look."""


@dataclass(frozen=True, slots=True)
class StudyNumber:
    """One number of a study."""

    setting: str
    """Name of the setting."""
    method: str
    """Who took part."""
    metric: str
    """Name of the metric."""
    replicate: int | None
    """The look; none for a number that belongs to the whole repetition."""
    value: float
    """Mean over repetitions."""
    deviation: float
    """Standard deviation over repetitions."""
    low: float
    """Lower end of the pointwise 95 % Monte Carlo interval."""
    high: float
    """Upper end of it."""

    @property
    def error(self) -> float:
        """Half the width of the interval, as a standard error."""
        return (self.high - self.low) / (2 * _Z)


@dataclass(frozen=True, kw_only=True)
class StudyResults:
    """All numbers of a study."""

    repetitions: int
    """Repetitions of every setting."""
    rows: tuple[StudyNumber, ...]
    """The numbers."""

    @cached_property
    def _curves(self) -> dict[tuple[str, str, str], list[StudyNumber]]:
        curves: dict[tuple[str, str, str], list[StudyNumber]] = {}
        for row in self.rows:
            curves.setdefault((row.setting, row.method, row.metric), []).append(row)
        return curves

    def settings(self) -> tuple[str, ...]:
        """Names of the settings, in order."""
        return tuple(dict.fromkeys(row.setting for row in self.rows))

    def methods(self, setting: str) -> tuple[str, ...]:
        """Who took part in a setting, in order."""
        return tuple(dict.fromkeys(row.method for row in self.rows if row.setting == setting))

    def curve(self, setting: str, method: str, metric: str) -> list[StudyNumber]:
        """A metric at every look; empty if it was not measured."""
        return self._curves.get((setting, method, metric), [])

    def cell(self, setting: str, method: str, column: StudyColumn) -> StudyNumber | None:
        """The number of a table's column: none if it was not measured, or a level was not reached."""
        curve = self.curve(setting, method, column.metric)
        if not curve:
            return None
        if column.reaches is not None:
            return _first(curve, column.reaches)
        return next((row for row in curve if row.replicate == column.at), None) if column.at else curve[-1]

    def to_csv(self) -> str:
        """The rows as a table, in a fixed number of digits."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([each.name for each in fields(StudyNumber)])
        for setting, method, metric, replicate, *numbers in map(astuple, self.rows):
            writer.writerow([setting, method, metric, replicate or "", *(f"{each:.{_DIGITS}g}" for each in numbers)])
        return buffer.getvalue()

    @classmethod
    def from_csv(cls, text: str, *, repetitions: int) -> StudyResults:
        """Read the table back."""
        reader = csv.DictReader(io.StringIO(text))
        try:
            rows = tuple(
                StudyNumber(
                    setting=line["setting"],
                    method=line["method"],
                    metric=line["metric"],
                    replicate=int(line["replicate"]) if line["replicate"] else None,
                    **{name: float(line[name]) for name in _NUMBERS},
                )
                for line in reader
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"line {reader.line_num}: not a row of study results ({error}); make them again with bbedge study run"
            ) from error
        return cls(repetitions=repetitions, rows=rows)


def summarised(study: Study, sums: Sums) -> StudyResults:
    """The results of all repetitions, from the sums of each (setting, method, metric)."""
    order = {setting.name: place for place, setting in enumerate(study.settings)}
    keys = sorted(sums, key=lambda key: order[key[0]])
    rows = tuple(number for key in keys for number in _numbers(key, sums[key]))
    return StudyResults(repetitions=max((int(each[0, 0]) for each in sums.values()), default=0), rows=rows)


def _numbers(key: tuple[str, ...], sums: Floats) -> Iterable[StudyNumber]:
    (setting, method, metric), count, (_, total, squares) = key, int(sums[0, 0]), sums
    means = total / count
    deviations = np.sqrt(np.maximum(0.0, squares - count * means**2) / max(1, count - 1))
    for look, (mean, deviation) in enumerate(zip(means.tolist(), deviations.tolist(), strict=True), start=1):
        ends = _interval(METRICS[metric].kind, mean, deviation, count)
        yield StudyNumber(setting, method, metric, look if len(means) > 1 else None, mean, deviation, *ends)


def _interval(kind: str, mean: float, deviation: float, count: int) -> tuple[float, float]:
    """Clopper and Pearson's for a share, the normal one for a mean."""
    if kind == "share":
        hits = round(mean * count)
        low = 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, 0.025))
        return low, 1.0 if hits == count else float(betaincinv(hits + 1, count - hits, 0.975))
    half = _Z * deviation / math.sqrt(count)
    return mean - half, mean + half


def _first(curve: list[StudyNumber], level: float) -> StudyNumber | None:
    """The first look at which the mean reaches a level; the interval is where the ends of the band reach it."""
    reached = next((row for row in curve if row.value >= level), None)
    if reached is None or reached.replicate is None:
        return None
    early = next(row.replicate for row in curve if row.high >= level)
    late = next((row.replicate for row in curve if row.low >= level), curve[-1].replicate)
    return replace(
        reached,
        replicate=None,
        value=float(reached.replicate),
        deviation=math.nan,
        low=float(early or 1),
        high=float(late or len(curve)),
    )


class Made(Strict, frozen=True, kw_only=True):
    """How results were made."""

    seed: int
    """Seed of the study."""
    repetitions: int
    """Repetitions of every setting."""
    version: str
    """Version of bbedge."""
    fingerprint: str
    """Stands for the code and the settings."""
    data: tuple[str, ...] = ()
    """Names of the files that were brought to it."""

    def command(self, study: Study) -> str:
        """The line that makes it again."""
        data = "".join(f" --data {name}" for name in self.data)
        return f"bbedge study run {study.name} --repetitions {self.repetitions} --seed {self.seed}{data}"

    def sentence(self) -> str:
        """The same in words."""
        return f"{self.repetitions} repetitions, seed {self.seed}, bbedge {self.version}, code {self.fingerprint}."


def read_made(folder: Path) -> Made | None:
    """How the results in a folder were made; ``None`` if it has none."""
    file = folder / "run.json"
    try:
        return json.decode(file.read_bytes(), type=Made)
    except FileNotFoundError:
        return None
    except (OSError, DecodeError) as error:
        raise FormatError(f"{shown_path(file)}: not a record of a run ({error}); run the study again") from error


def read_results(folder: Path, study: Study) -> tuple[StudyResults, Made]:
    """The results of a study in a folder, and how they were made."""
    made, file = read_made(folder), folder / "results.csv"
    if made is None:
        raise DataError(f"{shown_path(folder)}: no results of {study.name}; run: bbedge study run {study.name}")
    try:
        return StudyResults.from_csv(file.read_text(encoding="utf-8"), repetitions=made.repetitions), made
    except OSError as error:
        raise DataError(f"{shown_path(file)}: cannot be read ({error.strerror}); run the study again") from error
    except FormatError as error:
        raise FormatError(f"{shown_path(file)}: {error}") from error
