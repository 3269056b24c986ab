"""The folder of a tiled run: its files and its lock, the frozen design, the strips of models, the journal of looks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.core.arrays import DAMAGE, Mask, write_archive
from bbedge.core.design import Design
from bbedge.core.family import Family
from bbedge.errors import BbedgeError, DataError, DesignError, DomainError
from bbedge.files import UNFINISHED, LockedError, lock, replacing, system_errors, write_whole
from bbedge.records.codec import FILE_VERSION, check_file_version, convert, plain
from bbedge.text import shown_path

_DESIGN, _JOURNAL = "design.json", "journal.json"
_INCOMPLETE = (
    "; the folder of the run must be complete, and on a cluster it must be on a file system that all machines share"
)


def save_array(file: Path, array: np.ndarray) -> None:
    """Write an array that :func:`map_array` can map into memory."""
    with replacing(file) as stream:
        np.save(stream, array, allow_pickle=False)


def save_arrays(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays with their checksums."""
    with replacing(file) as stream:
        write_archive(stream, arrays.items())


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process was writing."""
    for file in folder.rglob(f"*{UNFINISHED}"):
        with suppress(FileNotFoundError):
            file.unlink()


@contextmanager
def errors_naming(file: Path, advice: str = "") -> Iterator[None]:
    """Name the file of a run that is missing, or that is not what was written."""
    try:
        with system_errors(file, "read", advice):
            yield
    except BbedgeError:
        raise
    except (*DAMAGE, TypeError) as error:
        raise damaged(file) from error


def damaged(file: Path) -> DataError:
    """The error that says that a file is not what was written."""
    return DataError(f"{shown_path(file)}: damaged; restore the folder from a copy, or make the run again")


def map_array(file: Path) -> np.ndarray:
    """An array mapped into memory: what is not looked at is not read."""
    try:
        with system_errors(file, "read"):
            return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except DAMAGE as error:
        raise DataError(f"{shown_path(file)}: not an array that NumPy saved as .npy ({error})") from error


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other processes out, where the file system has locks. A killed process leaves no lock behind."""
    with system_errors(file, "written", "; make it writable and run the command again"):
        stream = file.open("ab")
    with stream:
        try:
            lock(stream)
        except LockedError as error:
            raise DataError(
                f"{shown_path(file.parent)}: another process is updating this run; wait until it is done"
            ) from error
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class TiledLook:
    """What one look at all tiles showed."""

    replicate: int
    """The replicate after which the look was taken."""
    edges: int
    """Directions certified at this or an earlier look."""
    current_edges: int
    """Directions certified at this look; in a design with memory, all of them."""
    log_threshold: float
    """What the evidence had to reach, as a natural logarithm."""
    panel: str
    """SHA-256 of the panel, in hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiledProgress:
    """The looks so far, and the replicate that was begun."""

    looks: tuple[TiledLook, ...] = ()
    """One for each replicate that all tiles have."""
    begun: str | None = None
    """SHA-256 of the panel of the next replicate, once tiles may have it."""


@dataclass(frozen=True, kw_only=True)
class TiledRun:
    """What never changes about a tiled run, and where its files are."""

    folder: Path
    """The folder."""
    design: Design
    """The frozen design."""
    tile: int
    """Models on a side of a tile."""
    digest: str
    """SHA-256 of the design and the tile: marks every file as this run's."""

    @classmethod
    def create(cls, folder: Path, design: Design, tile: int) -> TiledRun:
        """Begin a run in a folder that holds none."""
        if tile < 1:
            raise DomainError(f"tiles of {tile} models are not possible; choose at least 1, for instance 2000")
        if design.holm == "staggered":
            raise DesignError(
                "staggered e-Holm sorts the evidence of all pairs, which a tiled run never holds at once; make the "
                'design with holm="direct"'
            )
        if design.prediction != "running-mean":
            raise DesignError(
                f"{design.prediction} predictions are fitted to all models at once, which a tiled run never holds "
                "together; use prediction running-mean"
            )
        for what, given in (
            ("item weights", design.weights is not None),
            ("views", bool(design.views)),
            ("missing scores", design.gaps != "refuse"),
            ("intervals of means", bool(design.mean_share)),
            ("checkpoints", design.checkpoints is not None),
            ("claims about new items", design.target),
            ("scores that several runs make", design.of_runs),
        ):
            if given:
                raise DesignError(f"tiled runs do not support {what}; make the design without them")
        if (folder / _DESIGN).exists():
            raise DesignError(f"{shown_path(folder)}: already holds a tiled run; open it, or choose another folder")
        with system_errors(folder, "made", "; choose another"):
            for part in (folder, folder / "strips", folder / "tiles"):
                part.mkdir(parents=True, exist_ok=True)
        run = cls(folder=folder, design=design, tile=tile, digest=_digest(_content(design, tile)))
        run.write(TiledProgress())
        write_whole(folder / _DESIGN, json.dumps({"digest": run.digest, **_content(design, tile)}))
        return run

    @classmethod
    def open(cls, folder: Path) -> TiledRun:
        """The run of a folder."""
        file = folder / _DESIGN
        with errors_naming(file):
            if not file.exists():
                raise DataError(
                    f"{shown_path(folder)}: no tiled run here; create one. On a cluster the folder must be on a file "
                    "system that all machines share"
                )
            content = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(content, dict):
                raise damaged(file)
            check_file_version(content.get("version"), what=f"{shown_path(file)}: the run", kind=DataError)
            if content.pop("digest", None) != _digest(content):
                raise damaged(file)
        design = convert(
            content["design"],
            Design,
            source="this version of bbedge cannot use the design of the run",
            error=DesignError,
        )
        return cls(folder=folder, design=design, tile=content["tile"], digest=_digest(content))

    @property
    def n_strips(self) -> int:
        """How many strips the models are cut into."""
        return -(-len(self.design.models) // self.tile)

    def strip(self, number: int) -> slice:
        """The models of a strip."""
        return slice(number * self.tile, min((number + 1) * self.tile, len(self.design.models)))

    def tested(self, row: int, col: int) -> Mask:
        """The tested directions of a tile."""
        return self.design.family.mask(self.design.models, self.strip(row), self.strip(col))

    def tiles(self) -> list[tuple[int, int]]:
        """Row and column strip of every tile in which something is tested."""
        is_whole = self.design.family == Family()  # then every tile beside the diagonal is tested
        places = product(range(self.n_strips), repeat=2)
        return [(row, col) for row, col in places if (is_whole and row != col) or self.tested(row, col).any()]

    def strip_file(self, number: int, kind: str) -> Path:
        """Where something of a strip is."""
        return self.folder / "strips" / f"{number:04d}.{kind}"

    def tile_file(self, row: int, col: int, kind: str) -> Path:
        """Where something of a tile is."""
        return self.folder / "tiles" / f"{row:04d}-{col:04d}.{kind}.npz"

    def stamp(self, replicate: int) -> dict[str, np.ndarray]:
        """What every file records: its run, and how many replicates it has."""
        return {"run": np.frombuffer(bytes.fromhex(self.digest), dtype=np.uint8), "count": np.array([replicate])}

    @contextmanager
    def loaded(self, file: Path) -> Iterator[tuple[int, Any]]:
        """How many replicates a file of this run has, and its arrays, each read when it is asked for."""
        with (
            errors_naming(file, _INCOMPLETE),
            file.open("rb") as stream,
            np.load(stream, allow_pickle=False) as arrays,
        ):
            if arrays["run"].tobytes().hex() != self.digest:
                raise DesignError(
                    f"{shown_path(file)}: belongs to a run with another design; restore this run's own file"
                )
            yield int(arrays["count"][0]), arrays

    @contextmanager
    def at(self, file: Path, replicate: int) -> Iterator[Any]:
        """The arrays of a file, which must have exactly this many replicates."""
        with self.loaded(file) as (count, arrays):
            if count != replicate:
                raise out_of_step(file, count, replicate)
            yield arrays

    def read(self, file: Path, name: str, replicate: int) -> np.ndarray:
        """An array of a file, which must have exactly this many replicates."""
        with self.at(file, replicate) as arrays:
            return np.asarray(arrays[name])

    def progress(self) -> TiledProgress:
        """The looks so far, and what was begun."""
        file = self.folder / _JOURNAL
        with errors_naming(file):
            content = json.loads(file.read_text(encoding="utf-8"))
            return TiledProgress(looks=tuple(TiledLook(**look) for look in content["looks"]), begun=content["begun"])

    def write(self, progress: TiledProgress) -> None:
        """Replace the progress."""
        write_whole(self.folder / _JOURNAL, json.dumps(asdict(progress)))


def out_of_step(file: Path, count: int, replicate: int) -> DataError:
    """The error for a file that cannot take in a replicate."""
    return DataError(
        f"{shown_path(file)}: has {count} replicates where replicate {replicate} is added; restore the "
        "folder from a copy, or make the run again"
    )


@lru_cache(maxsize=2)
def run_of(folder: Path, digest: str) -> TiledRun:
    """The run of a task: read once by every worker."""
    run = TiledRun.open(folder)
    if run.digest != digest:
        raise DesignError(f"{shown_path(folder)}: holds another run on this machine; all machines must share it")
    return run


def _content(design: Design, tile: int) -> dict[str, Any]:
    return {"version": FILE_VERSION, "tile": tile, "design": plain(design)}


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()
