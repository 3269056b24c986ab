"""Panels, a strip of models at a time: checked, turned into block means and residuals, laid out for the tiles."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import numpy_space
from bbedge.core.panels import check_panel
from bbedge.core.predictions import RunningMean
from bbedge.core.stakes import CENTRED_MAX
from bbedge.errors import DataError
from bbedge.scale.run import Run, loaded, map_array, save_array, save_arrays

PanelLike = object
"""A models x items array or what NumPy makes one of, or the path of a ``.npy`` file with it."""


class Panel:
    """A panel of which one strip is held at a time, if it is a file."""

    def __init__(self, run: Run, panel: PanelLike) -> None:
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

    def strip(self, number: int) -> NDArray[np.float64]:
        """The scores of a strip of models, checked."""
        design, rows = self._run.design, self._run.strip(number)
        scores: NDArray[np.float64]
        scores, _ = check_panel(self._scores[rows], space=numpy_space(), models=design.models[rows], items=design.items)
        return scores

    def digest(self) -> str:
        """SHA-256 of the scores, in hexadecimal, once all are checked."""
        digest = hashlib.sha256()
        for number in range(self._run.n_strips):
            digest.update(self.strip(number).data)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A strip of one replicate, as tiles need it; the large arrays are mapped into memory."""

    residuals: NDArray[np.float64]
    """Block means less their predictions: models x blocks."""
    means: NDArray[np.float64] | None
    """Block means, if some stakes are centred at the null value."""
    totals: NDArray[np.float64]
    """Mean score of each model in this replicate."""
    shift: float
    """What is added to every pair's prediction."""


def needs_scores(run: Run) -> bool:
    """Whether some stakes are centred at the null value, and so need the block means themselves."""
    stakes = run.design.stakes
    return any(value > CENTRED_MAX and weight > 0 for value, weight in zip(stakes.values, stakes.weights, strict=True))


def add_strip(run: Run, number: int, panel: Panel, replicate: int) -> None:
    """Lay out a strip of a replicate and learn from it; a strip that has it already is left as it is."""
    design, space = run.design, numpy_space()
    rows, file = run.strip(number), run.strip_file(number, "npz")
    n_models, n_blocks = rows.stop - rows.start, design.layout.count
    predictor = RunningMean(space, (n_models, n_blocks), tau=design.tau)
    totals = np.zeros(n_models)
    if replicate > 1 or file.exists():
        with loaded(file) as arrays:
            count = run.count_of(arrays, file)
            if count == replicate:
                return
            if count != replicate - 1:
                raise run.out_of_step(file, count, replicate)
            predictor.restore({"sums": arrays["sums"], "count": arrays["count"]})
            totals = arrays["totals"]
    scores = panel.strip(number)
    latest = scores.mean(axis=-1)
    means = design.layout.means(scores, space)
    # First what is made from the sums, then the new sums: a kill in between repeats the first and changes nothing.
    save_array(run.strip_file(number, "residuals.npy"), predictor.residuals(means, slice(0, n_blocks)))
    if needs_scores(run):
        save_array(run.strip_file(number, "means.npy"), means)
    shift = predictor.shift
    predictor.update(means)
    save_arrays(
        file,
        run.stamp(replicate)
        | {
            "sums": predictor.state()["sums"],
            "totals": totals + latest,
            "latest": latest,
            "shift": np.array([shift]),
        },
    )


def read_strip(run: Run, number: int, replicate: int) -> Strip:
    """A strip as :func:`add_strip` laid it out."""
    with run.at(run.strip_file(number, "npz"), replicate) as arrays:
        latest, shift = arrays["latest"], float(arrays["shift"][0])
    return Strip(
        residuals=map_array(run.strip_file(number, "residuals.npy")),
        means=map_array(run.strip_file(number, "means.npy")) if needs_scores(run) else None,
        totals=latest,
        shift=shift,
    )


def strip_means(run: Run, number: int, replicates: int) -> NDArray[np.float64]:
    """Mean score of every model of a strip over all replicates; NaN before the first."""
    rows = run.strip(number)
    if not replicates:
        return np.full(rows.stop - rows.start, np.nan)
    with run.at(run.strip_file(number, "npz"), replicates) as arrays:
        totals: NDArray[np.float64] = arrays["totals"]
    return totals / replicates
