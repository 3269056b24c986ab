"""Runs a study, and what it found: means over repetitions with their Monte Carlo error.

Repetitions are run in chunks, each seeded by itself and kept on disk as soon as it is done. What a repetition draws
depends on the seed, the study, the setting and its own number, and on nothing else; sums are added in the order of the
repetitions. Any number of workers, on any backend, interrupted or not, gives the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import numpy as np
from msgspec import DecodeError, json
from scipy.special import betaincinv

from bbedge._version import __version__
from bbedge.core.arrays import Floats, load_arrays, write_archive
from bbedge.errors import Argument, DataError, DomainError, FormatError
from bbedge.files import csv_text, replacing, system_errors
from bbedge.records.values import Strict, grouped
from bbedge.study.contenders import METRICS
from bbedge.study.study import Contest, Record, RepetitionSeeds, Setting, Study, StudyColumn
from bbedge.text import shown_path
from bbedge.workers import Crew

CHUNK = 10
"""Repetitions that are kept together: what a crash can cost a worker."""

SIDE_BY_SIDE = 1 << 28
"""Scores of alike settings that a device takes at a time, more or less: two gigabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionChunk:
    """Some repetitions of one setting."""

    setting: Setting
    """What is repeated."""
    place: int
    """Number of the setting in the study."""
    seeds: tuple[RepetitionSeeds, ...]
    """Those of each repetition."""

    @property
    def file(self) -> str:
        """Where its sums are kept. The names are in the order in which sums are added."""
        return f"{self.place:02d}-{self.seeds[0].repetition:06d}-{len(self.seeds):02d}.npz"


def run_study(
    study: Study,
    *,
    repetitions: int,
    seed: int,
    keep: Path,
    crew: Crew,
    device: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> StudyResults:
    """Run what is not yet kept under ``keep`` and summarise everything.

    ``progress`` is called with the repetitions done so far and their total. A ``device`` computes the evidence of
    many repetitions side by side, in this process; settings of other kinds run on the cores as always.
    """
    if repetitions < 1:
        raise DomainError(f"{repetitions} repetitions: at least 1 is needed")
    folder = keep / study.name / f"seed-{seed}-{fingerprint(study)}"
    with system_errors(folder, "made", "; choose another ", Argument("keep")):
        folder.mkdir(parents=True, exist_ok=True)
    chunks = [
        RepetitionChunk(
            setting=setting,
            place=place,
            seeds=tuple(
                RepetitionSeeds(seed=seed, place=f"{study.name}/{setting.name}", repetition=number)
                for number in range(first, min(first + CHUNK, repetitions))
            ),
        )
        # Setting by setting would leave the slowest to the end; this way the time left can be estimated early.
        for first in range(0, repetitions, CHUNK)
        for place, setting in enumerate(study.settings)
    ]
    kept = {chunk.file: _load(folder / chunk.file) for chunk in chunks}
    missing = [chunk for chunk in chunks if not kept[chunk.file]]
    total = repetitions * len(study.settings)
    done = total - sum(len(chunk.seeds) for chunk in missing)
    progress(done, total)
    together = [chunk for chunk in missing if device is not None and isinstance(chunk.setting, Contest)]
    alone = [chunk for chunk in missing if chunk not in together]
    with crew if alone else nullcontext():
        for chunk, sums in chain(run_on_device(together, device or ""), crew.map_unordered(run_chunk, alone)):
            with replacing(folder / chunk.file) as stream:
                write_archive(stream, (("\n".join(key), each) for key, each in sums.items()))
            kept[chunk.file] = sums
            done += len(chunk.seeds)
            progress(done, total)
    by_setting = (
        {(chunk.setting.name, *key): each for key, each in kept[chunk.file].items()}
        for chunk in sorted(chunks, key=lambda each: each.file)
    )
    return summarised(study, _added(by_setting))


def run_chunk(chunk: RepetitionChunk) -> tuple[RepetitionChunk, Sums]:
    """Run one chunk, on one thread: more would compete with the other workers and could change a last bit."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return chunk, _summed(map(chunk.setting.repeat, chunk.seeds))


def run_on_device(chunks: Iterable[RepetitionChunk], device: str) -> Iterator[tuple[RepetitionChunk, Sums]]:
    """Run chunks of contests on a device: those with the same evidence to compute side by side, if they fit."""
    groups: dict[Hashable, list[tuple[Contest, RepetitionChunk]]] = {}
    scores: Counter[Hashable] = Counter()
    for chunk in chunks:
        if isinstance(chunk.setting, Contest):
            alike, shape = chunk.setting.alike, chunk.setting.drawn_shape
            scores[alike] += len(chunk.seeds) * int(np.prod(shape))
            groups.setdefault((alike, scores[alike] // SIDE_BY_SIDE), []).append((chunk.setting, chunk))
    for group in groups.values():
        jobs = [(contest, seeds) for contest, chunk in group for seeds in chunk.seeds]
        first, (replicates, *of_one) = group[0][0], group[0][0].drawn_shape
        panels = np.empty((replicates, len(jobs), *of_one))
        with ThreadPoolExecutor() as pool:
            for place, drawn in enumerate(pool.map(lambda job: job[0].panels(job[1]), jobs)):
                panels[:, place] = drawn
        edges = first.edges_together(panels, device)
        records = (
            contest.record(panels[:, place], seeds, {name: found[:, place] for name, found in edges.items()})
            for place, (contest, seeds) in enumerate(jobs)
        )
        for _, chunk in group:
            yield chunk, _summed(islice(records, len(chunk.seeds)))


def _summed(records: Iterable[Record]) -> Sums:
    """How often each metric was measured, its sum and its sum of squares, look by look."""
    return _added(
        {key: np.stack([np.ones_like(values), values, values**2]) for key, values in record.items()}
        for record in records
    )


def _added(parts: Iterable[Mapping[tuple[str, ...], Floats]]) -> Sums:
    """The sums of all parts, added in their order."""
    sums: Sums = {}
    for part in parts:
        for key, values in part.items():
            sums[key] = sums[key] + values if key in sums else values
    return sums


def fingerprint(study: Study) -> str:
    """Stands for everything that decides the numbers: the settings, the version and the code that is run."""
    digest = hashlib.sha256(f"{__version__}\n{CHUNK}\n{study.settings!r}".encode())
    here = Path(__file__).parent
    sources = [each for room in ("core", "baselines", "gate") for each in sorted((here.parent / room).glob("*.py"))]
    sources += [here / f"{name}.py" for name in ("contenders", "study", "synthetic")]
    sources += sorted({Path(inspect.getfile(type(setting))) for setting in study.settings})
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def _load(file: Path) -> Sums:
    """The sums of a kept chunk; none if it is not there or damaged, and is to be run again."""
    try:
        return {tuple(name.split("\n")): each for name, each in load_arrays(file.read_bytes()).items()}
    except (OSError, DataError):
        return {}


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
        return grouped(((row.setting, row.method, row.metric), row) for row in self.rows)

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
        rows = (
            (setting, method, metric, replicate or "", *(f"{each:.{_DIGITS}g}" for each in numbers))
            for setting, method, metric, replicate, *numbers in map(astuple, self.rows)
        )
        return csv_text([each.name for each in fields(StudyNumber)], rows)

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
