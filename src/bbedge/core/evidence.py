"""Evidence: one e-process per direction, kept as sufficient statistics of all of them together."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bbedge.core.design import Design
from bbedge.core.gram import gram_penalty
from bbedge.core.margins import lower_bounds
from bbedge.core.penalties import UNIT, Array, BettingPenalty, HoeffdingPenalty, Penalty, Rows
from bbedge.core.predictions import predictor_for
from bbedge.core.scores import check_panel
from bbedge.core.stakes import CENTRED_MAX
from bbedge.errors import DataError, DesignError
from bbedge.naming import quoted

_STATE_VERSION = 1
DAMAGED = "the saved evidence is damaged; rebuild it from the panels"
# What NumPy and zipfile raise on bytes that are not an archive they wrote.
_DAMAGE = (ValueError, KeyError, IndexError, OSError, EOFError, RuntimeError, zipfile.BadZipFile)
_TILE = 1 << 21  # numbers in one stakes x rows x models temporary


@dataclass(frozen=True, slots=True)
class _Part:
    """The stakes that are centred alike, and their penalty."""

    centre: Literal["prediction", "null"]
    stakes: Rows
    penalty: Penalty


class Evidence:
    """The e-processes of a design, fed one panel at a time and readable at any look.

    For each stake, ``log E = (lambda / w_max) T - P(lambda)``, where ``T`` sums the benchmark mean of ``Y - mu0`` over
    replicates and ``P`` is the penalty of the evidence kind (:mod:`bbedge.core.penalties`); the evidence of a
    direction is the mixture over stakes. Stakes up to 0.95 are centred at the design's prediction, wider ones at the
    null value, where they stay valid.

    **Guarantee:** for a direction whose null is true, ``exp(log_e)`` never exceeds a nonnegative supermartingale
    that starts at one. Rounding can lower it and never raise it.

    **Needs:** panels that are independent of each other, blocks that are independent within a panel, and a design
    that was fixed without looking at them.

    >>> evidence = Evidence(Design.make(["a", "b"], ["q1", "q2"]))
    >>> evidence.update([[1.0, 1.0], [0.0, 0.0]])
    >>> bool(evidence.log_e()[0, 1] > 0 > evidence.log_e()[1, 0])
    True
    """

    def __init__(self, design: Design) -> None:
        n_models = len(design.models)
        self._design = design
        self._layout = design.layout
        self._tested = design.tested
        self._n_directions = design.n_directions
        self._active: Rows = np.arange(n_models)
        self._count = 0
        self._totals = np.zeros(n_models)
        self._runs = np.zeros(n_models)
        self._frozen_log_e = np.zeros((n_models, n_models))
        self._frozen_bounds = np.full((n_models, n_models), -1.0)
        self._predictor = predictor_for(design)

        weights = np.array(design.stakes.weights)
        stakes = np.array(design.stakes.values)[weights > 0.0]
        self._log_weights = np.log(weights[weights > 0.0])
        self._slopes = stakes * (len(design.items) / self._layout.largest)  # lambda / w_max
        centred, wide = np.flatnonzero(stakes <= CENTRED_MAX), np.flatnonzero(stakes > CENTRED_MAX)
        self._parts: list[_Part] = []
        if centred.size:
            self._parts.append(_Part("prediction", centred, self._penalty(stakes[centred], reach=1.0)))
        if wide.size:
            self._parts.append(_Part("null", wide, self._penalty(stakes[wide], reach=design.mu0)))

    def _penalty(self, stakes: Array, *, reach: float) -> Penalty:
        shares, n_models = self._layout.relative_sizes, len(self._design.models)
        kind, largest = self._design.evidence, self._layout.largest
        if kind == "hoeffding":
            return HoeffdingPenalty(stakes, shares, n_models)
        if kind == "betting":
            return BettingPenalty(stakes, shares, largest=largest, n_models=n_models, reach=reach)
        return gram_penalty(kind, stakes, shares, largest=largest, n_models=n_models, reach=reach)

    @property
    def design(self) -> Design:
        """The design that the evidence follows."""
        return self._design

    @property
    def replicates(self) -> int:
        """Number of panels taken in."""
        return self._count

    @property
    def active(self) -> tuple[str, ...]:
        """The models that have not been stopped: the rows of the next panel."""
        return tuple(self._design.models[i] for i in self._active)

    @property
    def means(self) -> Array:
        """Mean score of every model over the replicates it took part in; NaN before the first."""
        with np.errstate(invalid="ignore"):
            return self._totals / self._runs

    def update(self, panel: ArrayLike) -> None:
        """Take in the next replicate: one row per active model, one column per item, complete, in [0, 1]."""
        if self._active.size == 0:
            raise DataError("every model has been stopped; there is nothing to update")
        scores = check_panel(panel, models=self.active, items=self._design.items)
        means = self._layout.means(scores)
        predicted, shift = self._predictor.predict()
        for part in self._parts:
            if part.centre == "prediction":
                part.penalty.add(means - predicted, shift)
            else:
                part.penalty.add(means, self._design.tau / 2)  # x = Y - mu0
        self._predictor.update(means)
        self._totals[self._active] += scores.mean(axis=1)
        self._runs[self._active] += 1
        self._count += 1

    def log_e(self) -> Array:
        """Natural logarithm of the evidence of every tested direction, row against column; NaN elsewhere."""
        result = self._frozen_log_e.copy()
        if self._count:
            for rows, exponents in self._tiles():
                peak = exponents.max(axis=0)
                value = peak + np.log(np.exp(exponents - peak).sum(axis=0))
                value -= (len(exponents) + 16) * 2 * UNIT + 4 * UNIT * np.abs(value)
                result[np.ix_(self._active[rows], self._active)] = value
        result[~self._tested] = np.nan
        return result

    def lower_bounds(self) -> Array:
        """Simultaneous lower bounds of all tested differences, on the [0, 1] scale; NaN where nothing is tested.

        **Guarantee:** with probability at least ``1 - alpha`` all of them hold, at every look at once.
        """
        result = self._frozen_bounds.copy()
        if self._count:
            threshold = math.log(self._n_directions / self._design.alpha)
            slopes = self._slopes * (self._count / 2)
            for rows, exponents in self._tiles():
                flat = exponents.reshape(len(exponents), -1)
                bounds = lower_bounds(flat, slopes, tau=self._design.tau, log_threshold=threshold)
                result[np.ix_(self._active[rows], self._active)] = bounds.reshape(exponents.shape[1:])
        result[~self._tested] = np.nan
        return result

    def _tiles(self) -> Iterator[tuple[slice, Array]]:
        """Log of weight times evidence, rounded down: stakes x rows x active models, a few rows at a time."""
        n_active, n_stakes = len(self._active), len(self._slopes)
        step = max(1, _TILE // max(1, n_stakes * n_active))
        totals = self._totals[self._active]
        drift = self._count * self._design.tau
        for start in range(0, n_active, step):
            rows = slice(start, min(start + step, n_active))
            exponents = np.empty((n_stakes, rows.stop - start, n_active))
            advantage = ((totals[rows, None] - totals) - drift) / 2
            # Pairwise summation of the items, then one addition a replicate.
            error = (48 + self._count) * UNIT * (totals[rows, None] + totals + drift)
            for part in self._parts:
                slopes = self._slopes[part.stakes, None, None]
                log_weights = self._log_weights[part.stakes, None, None]
                penalty = part.penalty.values(rows)
                size = slopes * np.abs(advantage) + penalty - log_weights
                exponents[part.stakes] = slopes * (advantage - error) + log_weights - penalty - 8 * UNIT * size
            yield rows, exponents

    def stop(self, models: Sequence[str]) -> None:
        """Freeze every direction that touches these models; later panels leave them out.

        **Guarantee:** untouched. A stopped supermartingale is a supermartingale, so the decision may depend on
        everything seen so far.
        """
        unknown = sorted(set(models) - set(self.active))
        if unknown:
            raise DesignError(f"model {quoted(unknown[0])} cannot be stopped: it is not an active model of this design")
        stopped = np.isin(np.array(self._design.models, dtype=object), np.array(list(models), dtype=object))
        touched = stopped[:, None] | stopped
        self._frozen_log_e = np.where(touched & self._tested, self.log_e(), self._frozen_log_e)
        self._frozen_bounds = np.where(touched & self._tested, self.lower_bounds(), self._frozen_bounds)
        rows = np.flatnonzero(~stopped[self._active])
        for part in self._parts:
            part.penalty.keep(rows)
        self._predictor.keep(rows)
        self._active = self._active[rows]

    def to_bytes(self) -> bytes:
        """The whole state, to be resumed by :meth:`from_bytes` with the same design."""
        arrays: dict[str, np.ndarray] = {
            "version": np.array([_STATE_VERSION]),
            "design": np.frombuffer(bytes.fromhex(self._design.hash), dtype=np.uint8),
            "order": np.frombuffer(_order_digest(self._design), dtype=np.uint8),
            "count": np.array([self._count]),
            "active": self._active,
            "totals": self._totals,
            "runs": self._runs,
            "frozen_log_e": self._frozen_log_e,
            "frozen_bounds": self._frozen_bounds,
        }
        arrays |= {f"prediction.{name}": array for name, array in self._predictor.state().items()}
        for part in self._parts:
            arrays |= {f"{part.centre}-penalty.{name}": array for name, array in part.penalty.state().items()}
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, design: Design, state: bytes) -> Evidence:
        """Resume from a saved state. A state of another design, or a damaged one, is refused."""
        arrays = load_arrays(state)
        try:
            version, saved_hash = int(arrays["version"][0]), arrays["design"].tobytes().hex()
            saved_order = arrays["order"].tobytes()
        except _DAMAGE as error:
            raise DataError(DAMAGED) from error
        if version != _STATE_VERSION:
            raise DataError(f"the saved evidence has version {version}; this bbedge reads version {_STATE_VERSION}")
        if saved_hash != design.hash or saved_order != _order_digest(design):
            raise DesignError("the saved evidence belongs to another design; rebuild it from the panels")
        evidence = cls(design)
        try:
            evidence._count = int(arrays["count"][0])
            evidence._active = arrays["active"]
            evidence._totals, evidence._runs = arrays["totals"], arrays["runs"]
            evidence._frozen_log_e, evidence._frozen_bounds = arrays["frozen_log_e"], arrays["frozen_bounds"]
            evidence._predictor.restore(_with_prefix(arrays, "prediction."))
            for part in evidence._parts:
                part.penalty.restore(_with_prefix(arrays, f"{part.centre}-penalty."))
        except _DAMAGE as error:
            raise DataError(DAMAGED) from error
        return evidence


def load_arrays(state: bytes) -> dict[str, np.ndarray]:
    """The arrays of a saved state, or an error that says that it is damaged."""
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _DAMAGE as error:
        raise DataError(DAMAGED) from error


def _order_digest(design: Design) -> bytes:
    # The design's hash does not see the order of models and items; the arrays of a state do.
    return hashlib.sha256(json.dumps([design.models, design.items]).encode("ascii")).digest()


def _with_prefix(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
