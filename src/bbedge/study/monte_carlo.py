"""Runs a study: repetitions in chunks, each chunk seeded by itself and kept on disk as soon as it is done.

What a repetition draws depends on the seed, the study, the setting and its own number, and on nothing else; sums are
added in the order of the repetitions. Any number of workers, on any backend, interrupted or not, gives the same bytes.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from bbedge._version import __version__
from bbedge.core.arrays import Floats, load_arrays, write_archive
from bbedge.errors import Argument, DataError, DomainError
from bbedge.files import replacing, system_errors
from bbedge.study.results import StudyResults, Sums, summarised
from bbedge.study.study import Contest, Record, RepetitionSeeds, Setting, Study
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
    sources += [here / f"{name}.py" for name in ("contenders", "measures", "study", "synthetic")]
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
