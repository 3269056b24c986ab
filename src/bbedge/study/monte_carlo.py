"""Runs a study: repetitions in chunks, each chunk seeded by itself and kept on disk as soon as it is done.

What a repetition draws depends on the seed, the study, the setting and its own number, and on nothing else; sums are
added in the order of the repetitions. Any number of workers, on any backend, interrupted or not, gives the same bytes.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import zipfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from bbedge._version import __version__
from bbedge.core.arrays import write_archive
from bbedge.errors import Argument, DataError, DomainError
from bbedge.files import replacing
from bbedge.study.results import StudyResults, Sums, summarised
from bbedge.study.study import Contest, Record, RepetitionSeeds, Setting, Study
from bbedge.text import shown_path
from bbedge.workers import Backend, map_unordered

CHUNK = 10
"""Repetitions that are kept together: what a crash can cost a worker."""

TOGETHER = 50
"""Chunks of one setting that a device computes side by side."""

SIDE_BY_SIDE = 1 << 28
"""Scores of alike settings that it takes at a time, more or less: two gigabytes."""

ChunkSums = dict[tuple[str, str], Sums]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionChunk:
    """Some repetitions of one setting."""

    study: str
    """Name of the study."""
    setting: Setting
    """What is repeated."""
    place: int
    """Number of the setting in the study."""
    first: int
    """The first repetition."""
    count: int
    """How many."""
    seed: int
    """Seed of the study."""


def run_study(
    study: Study,
    *,
    repetitions: int,
    seed: int,
    keep: Path,
    backend: Backend = "joblib",
    workers: int | None = None,
    address: str | None = None,
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{shown_path(folder)}: cannot be made ({error.strerror}); choose another ", Argument("keep")
        ) from error
    chunks = [
        RepetitionChunk(
            study=study.name,
            setting=setting,
            place=place,
            first=first,
            count=min(CHUNK, repetitions - first),
            seed=seed,
        )
        # Setting by setting would leave the slowest to the end; this way the time left can be estimated early.
        for first in range(0, repetitions, CHUNK)
        for place, setting in enumerate(study.settings)
    ]
    missing = [chunk for chunk in chunks if not _is_whole(folder / _file(chunk))]
    total = sum(chunk.count for chunk in chunks)
    done = total - sum(chunk.count for chunk in missing)
    progress(done, total)
    together = [chunk for chunk in missing if device is not None and isinstance(chunk.setting, Contest)]
    alone = [chunk for chunk in missing if chunk not in together]
    results = chain(
        _work_together(together, device or ""),
        map_unordered(run_chunk, alone, backend=backend, workers=workers, address=address) if alone else (),
    )
    for chunk, sums in results:
        _save(folder / _file(chunk), sums)
        done += chunk.count
        progress(done, total)
    return summarised(study, _added(chunks, folder))


def run_chunk(chunk: RepetitionChunk) -> tuple[RepetitionChunk, ChunkSums]:
    """Run one chunk, on one thread: more would compete with the other workers and could change a last bit."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return chunk, _summed([chunk.setting.repeat(seeds) for seeds in _seeds(chunk)])


def _work_together(chunks: Sequence[RepetitionChunk], device: str) -> Iterator[tuple[RepetitionChunk, ChunkSums]]:
    """Run chunks on a device, as many repetitions of a setting at a time as its memory should hold."""
    groups: list[list[RepetitionChunk]] = []
    for place in sorted({chunk.place for chunk in chunks}):
        own = [chunk for chunk in chunks if chunk.place == place]
        groups += [own[start : start + TOGETHER] for start in range(0, len(own), TOGETHER)]
    jobs = [
        (group[0].setting, [seeds for chunk in group for seeds in _seeds(chunk)])
        for group in groups
        if isinstance(group[0].setting, Contest)
    ]
    for group, records in zip(groups, repeated_on_device(jobs, device), strict=True):
        for chunk in group:
            yield chunk, _summed(list(islice(records, chunk.count)))


Job = tuple[Contest, Sequence[RepetitionSeeds]]
"""Repetitions of a setting."""


def repeated_on_device(jobs: Sequence[Job], device: str) -> Iterator[Iterator[Record]]:
    """The records of every job. Jobs with the same evidence to compute run side by side."""
    groups: dict[Hashable, list[int]] = {}
    scores: Counter[Hashable] = Counter()
    for place, (contest, many) in enumerate(jobs):
        scores[contest.alike] += contest.looks * len(many) * len(contest.benchmark.means) * contest.benchmark.n_items
        groups.setdefault((contest.alike, scores[contest.alike] // SIDE_BY_SIDE), []).append(place)
    waiting: dict[int, Iterator[Record]] = {}
    following = 0
    for places in groups.values():
        ends = np.cumsum([0] + [len(jobs[place][1]) for place in places]).tolist()
        replicates, *of_one = jobs[places[0]][0].drawn_shape
        panels = np.empty((replicates, ends[-1], *of_one))
        for place, some in zip(places, map(slice, ends, ends[1:]), strict=True):
            jobs[place][0].draw_together(jobs[place][1], panels[:, some])
        edges = jobs[places[0]][0].edges_together(panels, device)
        for place, some in zip(places, map(slice, ends, ends[1:]), strict=True):
            contest, many = jobs[place]
            own = {name: each[:, some] for name, each in edges.items()}
            waiting[place] = contest.records_together(many, panels[:, some], own)
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _seeds(chunk: RepetitionChunk) -> list[RepetitionSeeds]:
    place = f"{chunk.study}/{chunk.setting.name}"
    return [
        RepetitionSeeds(seed=chunk.seed, place=place, repetition=chunk.first + number) for number in range(chunk.count)
    ]


def _summed(records: Sequence[Record]) -> ChunkSums:
    sums: ChunkSums = {}
    for record in records:
        for key, values in record.items():
            once = Sums(count=1, total=values, squares=values**2)
            sums[key] = sums[key].plus(once) if key in sums else once
    return sums


def fingerprint(study: Study) -> str:
    """Stands for everything that decides the numbers: the settings, the version and the code that is run."""
    digest = hashlib.sha256(f"{__version__}\n{CHUNK}\n{study.settings!r}".encode())
    package = Path(__file__).parent.parent
    here = package / "study"
    sources = [source for room in ("core", "baselines", "gate") for source in sorted((package / room).glob("*.py"))]
    sources += [here / f"{name}.py" for name in ("contenders", "measures", "study", "synthetic")]
    sources += sorted({Path(inspect.getfile(type(setting))) for setting in study.settings})
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def _file(chunk: RepetitionChunk) -> str:
    return f"{chunk.place:02d}-{chunk.first:06d}-{chunk.count:02d}.npz"


def _save(file: Path, sums: ChunkSums) -> None:
    names = np.array([f"{method}\n{metric}" for method, metric in sums])
    arrays = {f"{i}": np.stack([each.total, each.squares]) for i, each in enumerate(sums.values())}
    counts = np.array([each.count for each in sums.values()])
    with replacing(file) as stream:
        write_archive(stream, {"names": names, "counts": counts, **arrays}.items())


def _load(file: Path) -> ChunkSums:
    # Read whole first: NumPy leaves a damaged file open.
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
        sums = {}
        for i, (name, count) in enumerate(zip(arrays["names"].tolist(), arrays["counts"].tolist(), strict=True)):
            method, metric = name.split("\n")
            total, squares = arrays[f"{i}"]
            sums[(method, metric)] = Sums(count=count, total=total, squares=squares)
    return sums


def _is_whole(file: Path) -> bool:
    """Whether a kept chunk can be used; a damaged one is run again."""
    try:
        return bool(_load(file))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return False


def _added(chunks: Sequence[RepetitionChunk], folder: Path) -> dict[tuple[str, str, str], Sums]:
    added: dict[tuple[str, str, str], Sums] = {}
    for chunk in sorted(chunks, key=lambda each: (each.place, each.first)):
        for (method, metric), sums in _load(folder / _file(chunk)).items():
            key = (chunk.setting.name, method, metric)
            added[key] = added[key].plus(sums) if key in added else sums
    return added
