"""Panels, a strip of models at a time, and what is done for one tile.

A strip is checked, turned into block means and residuals, and laid out for the tiles. To a tile a replicate is added,
the evidence is read, and directions are certified. Tasks share nothing but the folder. Files are written in an order
that makes every step repeatable: what is derived from the state first, the state that says so last.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Floats, numpy_space
from bbedge.core.eholm import shortfall_below
from bbedge.core.mixture import Mixture
from bbedge.core.panels import check_panel
from bbedge.core.penalties import Columns, Directions
from bbedge.core.predictions import RunningMean
from bbedge.core.stakes import CENTRED_MAX
from bbedge.errors import DataError
from bbedge.scale.folder import TiledRun, map_array, out_of_step, run_of, save_array, save_arrays

PanelLike = object
"""A models x items array or what NumPy makes one of, or the path of a ``.npy`` file with it."""


class Panel:
    """A panel of which one strip is held at a time, if it is a file."""

    def __init__(self, run: TiledRun, panel: PanelLike) -> None:
        self._run = run
        if isinstance(panel, str | os.PathLike):
            self._scores = map_array(Path(panel))
        else:
            try:
                self._scores = np.asarray(panel)
            except ValueError as error:
                raise DataError(f"the scores are not a table of numbers with rows of one length ({error})") from error
        shape = (len(run.design.models), len(run.design.items))
        if self._scores.shape != shape:
            raise DataError(
                f"panel of shape {self._scores.shape}; expected {shape[0]} models x {shape[1]} items, "
                "every score present"
            )

    def strip(self, number: int) -> Floats:
        """The scores of a strip of models, checked."""
        design, rows = self._run.design, self._run.strip(number)
        scores: Floats
        scores, _ = check_panel(self._scores[rows], space=numpy_space(), models=design.models[rows], items=design.items)
        return scores

    def digest(self) -> str:
        """SHA-256 of the scores, in hexadecimal, once all are checked."""
        digest = hashlib.sha256()
        for number in range(self._run.n_strips):
            digest.update(self.strip(number).data)
        return digest.hexdigest()


def needs_scores(run: TiledRun) -> bool:
    """Whether some stakes are centred at the null value, and so need the block means themselves."""
    stakes = run.design.grid
    return any(value > CENTRED_MAX and weight > 0 for value, weight in zip(stakes.values, stakes.weights, strict=True))


def add_strip(run: TiledRun, number: int, panel: Panel, replicate: int) -> None:
    """Lay out a strip of a replicate and learn from it; a strip that has it already is left as it is."""
    design, space, file = run.design, numpy_space(), run.strip_file(number, "npz")
    scores = panel.strip(number)
    predictor = RunningMean(space, (len(scores), design.layout.count), design)
    totals = np.zeros(len(scores))
    if replicate > 1 or file.exists():
        with run.loaded(file) as (count, arrays):
            if count == replicate:
                return
            if count != replicate - 1:
                raise out_of_step(file, count, replicate)
            predictor.restore({"sums": arrays["sums"], "count": arrays["count"]})
            totals = arrays["totals"]
    latest, means = scores.mean(axis=-1), design.layout.means(scores, space)
    # First what is made from the sums, then the new sums: a kill in between repeats the first and changes nothing.
    save_array(run.strip_file(number, "residuals.npy"), predictor.residuals(means, slice(0, design.layout.count)))
    if needs_scores(run):
        save_array(run.strip_file(number, "means.npy"), means)
    laid_out = {"totals": totals + latest, "latest": latest, "shift": np.array([predictor.shift])}
    predictor.update(means)
    save_arrays(file, run.stamp(replicate) | {"sums": predictor.state()["sums"], **laid_out})


def strip_means(run: TiledRun, number: int, replicates: int) -> Floats:
    """Mean score of every model of a strip over all replicates; NaN before the first."""
    if not replicates:
        return np.full(len(run.design.models[run.strip(number)]), np.nan)
    return run.read(run.strip_file(number, "npz"), "totals", replicates) / replicates


@dataclass(frozen=True, slots=True)
class TileTask:
    """Work on one tile at one look."""

    folder: Path
    """The folder of the run."""
    digest: str
    """The run that must be there."""
    row: int
    """Number of the strip whose models may be better."""
    col: int
    """Number of the strip that they are compared with."""
    replicate: int
    """The replicate that is added."""
    log_threshold: float = np.nan
    """What certifies, once it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A rectangle of the pair matrix at the last look."""

    rows: slice
    """The models that may be better."""
    cols: slice
    """The models that they are compared with."""
    log_e: Floats
    """Evidence, row against column; NaN where nothing is tested."""
    first_certified: NDArray[np.int32]
    """The replicate at which each direction was first certified; 0 if it never was."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrix products on one thread: more would compete with other tasks and could change a last bit."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(limits=1):
        yield


def add_replicate(task: TileTask) -> tuple[float, int]:
    """Add the replicate, write the evidence, and return what e-Holm needs: sum of deficits, directions."""
    run, place = run_of(task.folder, task.digest), (task.row, task.col)
    state, evidence = (run.tile_file(*place, kind) for kind in ("state", "log_e"))
    with one_thread():
        mixture, count = load_mixture(run, *place, fresh=task.replicate == 1)
        if count == task.replicate:
            log_e = run.read(evidence, "log_e", task.replicate)
        elif count == task.replicate - 1:
            _add(run, mixture, task)
            log_e = np.where(run.tested(*place), mixture.log_e(), np.nan)
            save_arrays(evidence, run.stamp(task.replicate) | {"log_e": log_e})
            save_arrays(state, run.stamp(task.replicate) | {"totals": mixture.totals} | mixture.state())
        else:
            raise out_of_step(state, count, task.replicate)
    return float(shortfall_below(log_e, run.design.certificate_alpha)), log_e.size


def certify(task: TileTask) -> tuple[int, int]:
    """Certify what reaches the threshold; how many directions did so now, and how many at any look."""
    run = run_of(task.folder, task.digest)
    evidence, file = (run.tile_file(task.row, task.col, kind) for kind in ("log_e", "certified"))
    edges = run.read(evidence, "log_e", task.replicate) >= task.log_threshold
    count, first = 0, np.zeros(edges.shape, dtype=np.int32)
    if task.replicate > 1 or file.exists():
        with run.loaded(file) as (count, arrays):
            first = arrays["first"]
    if count == task.replicate - 1:
        first = np.where(edges & (first == 0), np.int32(task.replicate), first)
        save_arrays(file, run.stamp(task.replicate) | {"first": first})
    elif count != task.replicate:
        raise out_of_step(file, count, task.replicate)
    return int(np.count_nonzero(edges)), int(np.count_nonzero(first))


def read_tile(run: TiledRun, row: int, col: int, replicate: int) -> Tile:
    """A tile after a replicate that all tiles have."""
    tested = run.tested(row, col)
    if not tested.any() or not replicate:
        log_e, first = np.where(tested, 0.0, np.nan), np.zeros(tested.shape, dtype=np.int32)
    else:
        log_e = run.read(run.tile_file(row, col, "log_e"), "log_e", replicate)
        first = read_first(run, row, col, replicate)
    return Tile(rows=run.strip(row), cols=run.strip(col), log_e=log_e, first_certified=first)


def read_first(run: TiledRun, row: int, col: int, replicate: int) -> NDArray[np.int32]:
    """When each direction of a tile was first certified."""
    return run.read(run.tile_file(row, col, "certified"), "first", replicate)


def load_mixture(run: TiledRun, row: int, col: int, *, fresh: bool) -> tuple[Mixture, int]:
    """The evidence of a tile and how many replicates it has; nothing yet, if it is fresh and has no file."""
    n_rows, n_cols = run.tested(row, col).shape
    pairs = Directions(rows=slice(0, n_rows), cols=slice(n_rows, n_rows + n_cols))
    mixture = Mixture(run.design, numpy_space(), Directions.all(n_rows) if row == col else pairs)
    file = run.tile_file(row, col, "state")
    if fresh and not file.exists():
        return mixture, 0
    with run.loaded(file) as (count, arrays):
        state = {name: arrays[name] for name in arrays.files if "penalty." in name}
        mixture.restore(state, totals=arrays["totals"], count=count)
    return mixture, count


def _add(run: TiledRun, mixture: Mixture, task: TileTask) -> None:
    """Add the replicate, as its strips were laid out; the large arrays are mapped into memory."""
    numbers = dict.fromkeys((task.row, task.col))
    files = [run.strip_file(number, "npz") for number in numbers]

    def columns(kind: str) -> Columns:
        """Some blocks of the models of a tile: rows first, then columns."""
        parts = [map_array(run.strip_file(number, f"{kind}.npy")) for number in numbers]
        return lambda places, out: np.concatenate([part[:, places] for part in parts], out=out)

    residuals = columns("residuals")
    mixture.add(
        columns("means") if needs_scores(run) else residuals,
        residuals,
        shift=float(run.read(files[0], "shift", task.replicate)[0]),
        totals=np.concatenate([run.read(file, "latest", task.replicate) for file in files]),
    )
