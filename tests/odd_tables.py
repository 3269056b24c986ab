"""Tables of scores as they go wrong: labels swapped between runs, runs and scores missing, odd names and files.

Beside them is what a gate must say of such a table, computed one stake at a time from the definitions alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MODELS = ("new", "old")
LAYOUTS = ("one", "model", "run", "both")
READ_WITH = {
    "one": [],
    "model": ["--model-from", "file"],
    "run": ["--replicate-from", "file"],
    "both": ["--model-from", "path:(new|old)_run", "--replicate-from", r"path:run(\d+)"],
}
"""The options that read each layout."""


@dataclass(frozen=True, kw_only=True)
class OddTable:
    """A table, and how it is written."""

    values: np.ndarray
    """Runs x models x items; NaN where a score is missing."""
    layout: str
    """``one`` file, a file for each ``model``, for each ``run``, or for each model and run (``both``)."""
    is_spaced: bool
    """Whether a name has a space at its end in some runs."""

    def write(self, folder: Path) -> list[str]:
        """Write the files; their names."""
        columns = [name for name in ("model", "replicate", "item", "score") if name not in self._dropped]
        files: dict[str, list[str]] = {}
        for run, model, item in np.argwhere(~np.isnan(self.values)).tolist():
            name = MODELS[model] + (" " if self.is_spaced and run % 2 and model else "")
            cells = {"model": name, "replicate": run + 1, "item": f"q{item}", "score": self.values[run, model, item]}
            file = {"one": "scores", "model": MODELS[model], "run": f"run{run + 1}"}.get(
                self.layout, f"{MODELS[model]}_run{run + 1}"
            )
            files.setdefault(f"{file}.csv", []).append(",".join(str(cells[name]) for name in columns))
        for name, rows in files.items():
            (folder / name).write_text("\n".join([",".join(columns), *rows]) + "\n", encoding="utf-8")
        return sorted(files)

    @property
    def as_read(self) -> np.ndarray:
        """The scores of the two names: what has a space at its end is another model, and missing here."""
        values = self.values.copy()
        if self.is_spaced and "model" not in self._dropped:
            values[1::2, 1] = np.nan
        return values

    @property
    def _dropped(self) -> tuple[str, ...]:
        return {"one": (), "model": ("model",), "run": ("replicate",), "both": ("model", "replicate")}[self.layout]


def odd_table(number: int) -> OddTable:
    """A table by its number; every second one has swapped labels, every third one misses something."""
    rng = np.random.default_rng(number)
    runs, items = int(rng.integers(1, 7)), int(rng.choice([8, 30, 120]))
    chances = rng.choice([[0.9, 0.1], [0.8, 0.5], [0.5, 0.5], [0.2, 0.7]])
    values = (rng.random((runs, 2, items)) < chances[:, None]).astype(float)
    if rng.random() < 0.3:
        values = np.round(0.8 * values + 0.2 * rng.random(values.shape), 2)
    if number % 2 and runs > 1:
        begin = int(rng.integers(1, runs))
        values[begin:] = values[begin:, ::-1]
    if number % 3 == 0:
        fault = rng.choice(["run", "cells", "failures", "model"])
        if fault == "run":
            values[rng.integers(runs), rng.integers(2)] = np.nan
        elif fault == "model":
            values[:, 1, rng.random(items) < 0.6] = np.nan
        else:
            hidden = rng.random(values.shape) < 0.1
            values[hidden & (values < 0.5) if fault == "failures" else hidden] = np.nan
        if np.isnan(values).all(axis=(0, 2)).any():  # a model that is nowhere is no table of two models
            values[0, :, 0] = 1.0
    return OddTable(values=values, layout=str(rng.choice(LAYOUTS)), is_spaced=number % 7 == 1)


# What a gate with one claim must say ------------------------------------------------------------------------------


def _stake_logs(first: np.ndarray, second: np.ndarray, *, tau: float, level: float) -> tuple[list[float], list]:
    """Twelve stakes for a family of one direction, and after each run the log of what each has won."""
    mu0, items = (1.0 + tau) / 2.0, first.shape[1]
    kappas = [math.exp(math.log(1 / 80) + g / 11 * math.log(2000)) for g in range(12)]
    stakes = [min(0.95 / mu0, math.sqrt(2 * math.log(1 / level) / (items * kappa))) for kappa in kappas]
    y = (first - second + 1.0) / 2.0
    logs, seen = np.zeros(12), []
    for run in range(len(y)):
        mean = (mu0 + y[:run].sum(axis=0)) / (run + 1)
        for g, stake in enumerate(stakes):
            p = mean if stake <= 0.95 else np.full(items, mu0)
            logs[g] += float(np.sum(stake * (p - mu0) + np.log(1.0 + stake * (y[run] - p))))
        seen.append(logs.copy())
    return stakes, seen


def _log_mean(logs: np.ndarray) -> float:
    return float(np.logaddexp.reduce(logs)) - math.log(12)


def literal_verdict(values: np.ndarray, margin: float, alpha: float = 0.05) -> str:
    """PASS, FAIL, OPEN or CONTRADICTION of "not worse by more than the margin" after all runs, blocks of one item.

    Missing scores (NaN) count against whichever direction they could help.
    """
    low, high = np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)
    sides = ((low[:, 0], high[:, 1], -margin), (low[:, 1], high[:, 0], margin))
    certified = [False, False]
    bounds = [-1.0, -1.0]  # lower bounds of new less old, and of old less new
    for side, (first, second, tau) in enumerate(sides):
        _, direct = _stake_logs(first, second, tau=tau, level=0.8 * alpha)
        certified[side] = any(_log_mean(logs) >= math.log(1 / (0.8 * alpha)) for logs in direct)
        stakes, plain = _stake_logs(first, second, tau=0.0, level=0.2 * alpha / 2)
        for run, logs in enumerate(plain, 1):
            bounds[side] = max(bounds[side], _bound(stakes, logs, run * first.shape[1], math.log(2 / (0.2 * alpha))))
        if certified[side]:
            bounds[side] = max(bounds[side], tau)
    if all(certified) or bounds[0] > -bounds[1]:
        return "CONTRADICTION"
    return "PASS" if certified[0] else "FAIL" if certified[1] else "OPEN"


def _bound(stakes: list[float], logs: np.ndarray, blocks: int, target: float) -> float:
    """The largest difference at which the evidence, with its null value moved there, reaches the target."""
    slopes = np.array(stakes) * blocks / 2.0
    begin, end = -1.0, 1.0
    if _log_mean(logs - slopes * begin) < target:
        return -1.0
    for _ in range(60):
        middle = (begin + end) / 2.0
        begin, end = (middle, end) if _log_mean(logs - slopes * middle) >= target else (begin, middle)
    return begin
