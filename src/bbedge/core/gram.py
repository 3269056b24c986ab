"""Polynomial penalties of all pairs at once, through Gram matrices of powers of the residuals.

With ``v`` half a model's residual (less a value common to all models, which no difference sees), a pair's residual
is ``x = v_a - v_b - shift``. Sums over blocks of powers of ``v_a - v_b`` expand into products such as
``<v_a^2, v_b>``, that is into a few matrix products for all pairs; no array over (pair, block) ever exists.

The expansions cancel. Whatever they may have lost is at most a known multiple of the *mass*, the sum of
``(|v_a| + |v_b| + |shift|)^j``, which is split into one number per model and added to the penalty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from bbedge.core.kinds import EvidenceKind
from bbedge.core.penalties import UNIT, Array, Penalty, Rows, State, bernstein_psi, sharp_tail

_CHUNK = 1024  # blocks per matrix product: a short accumulation for the error bound, and small temporaries


def gram_penalty(
    kind: EvidenceKind, stakes: Array, relative_sizes: Array, *, largest: int, n_models: int, reach: float
) -> Penalty:
    """The bernstein or sharp penalty, kept in the smaller of its two forms.

    ``reach`` is the largest possible ``-x``: 1 for any prediction, ``mu0`` for the null value.
    """
    sizes, of_block = np.unique(relative_sizes, return_inverse=True)
    u = stakes[:, None] * sizes
    if kind == "bernstein":
        coefficients = {2: bernstein_psi(u)}
    else:
        coefficients = {2: u**2 / 2, 3: -(u**3) / 3, 4: sharp_tail(u * reach) * u**4}
    form = PenaltyBySize if len(sizes) <= len(stakes) else PenaltyByStake
    return form(coefficients, of_block, largest=largest, n_models=n_models)


def difference_sums(v: Array, weights: Mapping[int, Array | None]) -> dict[int, Array]:
    """``sum_m weight_m (v_a - v_b)^j`` for all pairs and every power ``j`` asked for (1 to 4).

    >>> v = np.array([[1.0, 2.0], [0.0, 0.5]])
    >>> float(difference_sums(v, {3: None})[3][0, 1])
    4.375
    """
    sums: dict[int, Array] = {}
    for j, weight in weights.items():
        weighted = v if weight is None else v * weight
        square = v * v if j > 2 else v
        if j == 1:
            total = weighted.sum(axis=1)
            sums[j] = total[:, None] - total
        elif j == 2:
            cross = weighted @ v.T
            total = cross.diagonal()
            sums[j] = (total[:, None] - cross) + (total - cross.T)
        elif j == 3:
            cross = (weighted * v) @ v.T  # <v_a^2, v_b>
            total = cross.diagonal()
            sums[j] = (total[:, None] - 3 * cross) - (total - 3 * cross.T)
        else:
            cube = (weighted * square) @ v.T  # <v_a^3, v_b>
            middle = (weighted * v) @ square.T  # <v_a^2, v_b^2>
            total = cube.diagonal()
            sums[j] = (total[:, None] - 4 * cube) + (total - 4 * cube.T) + 6 * middle
    return sums


class _Polynomial:
    """What both forms share: the common value, the chunks, the bookkeeping of rounding."""

    def __init__(self, coefficients: Mapping[int, Array], of_block: Rows, *, largest: int) -> None:
        self._coefficients = coefficients
        self._powers = sorted(coefficients)
        self._of_block = of_block
        self._count = 0
        self._arrays: State = {}
        # Rounding of a residual: the sum over a block's items, then a few differences, all of numbers below 1.
        self._residual_error = (largest + 8) * 2 * UNIT

    def _halves(self, residuals: Array) -> Array:
        halves: Array = (residuals - residuals.mean(axis=0)) / 2
        return halves

    def _accumulation_error(self) -> float:
        n_blocks, n_sizes = len(self._of_block), int(self._coefficients[2].shape[1])
        terms = min(_CHUNK, n_blocks) + n_blocks / _CHUNK + self._count
        return (terms + len(self._powers) * 8 + n_sizes + 64) * UNIT

    def _finish(self, penalty: Array, slack: Array, rows: slice) -> Array:
        # Every block's penalty is nonnegative, so a negative sum can only be rounding.
        np.maximum(penalty, 0.0, out=penalty)
        penalty += slack[:, rows, None]
        penalty += slack[:, None, :]
        return penalty

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""
        for name, array in self._arrays.items():
            self._arrays[name] = array[:, rows][:, :, rows] if array.ndim == 3 else array[:, rows]

    def state(self) -> State:
        """See :class:`Penalty`."""
        return self._arrays | {"count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._arrays = {name: state[name] for name in self._arrays}
        self._count = int(state["count"][0])


class PenaltyBySize(_Polynomial):
    """Power sums kept per block size; the stakes come in when the penalty is read."""

    def __init__(self, coefficients: Mapping[int, Array], of_block: Rows, *, largest: int, n_models: int) -> None:
        super().__init__(coefficients, of_block, largest=largest)
        n_sizes = coefficients[2].shape[1]
        self._columns = [np.flatnonzero(of_block == k) for k in range(n_sizes)]
        for j in self._powers:
            self._arrays[f"sums{j}"] = np.zeros((n_sizes, n_models, n_models))
        for j in range(1, self._powers[-1] + 1):
            self._arrays[f"mass{j}"] = np.zeros((n_sizes, n_models))

    def add(self, residuals: Array, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        v = self._halves(residuals)
        for size, columns in enumerate(self._columns):
            for chunk in _chunks(columns):
                self._add_chunk(size, v if len(chunk) == v.shape[1] else v[:, chunk], shift)

    def _add_chunk(self, size: int, v: Array, shift: float) -> None:
        top = self._powers[-1]
        sums = difference_sums(v, dict.fromkeys(range(1, top + 1) if shift else self._powers))
        sums[0] = np.array(float(v.shape[1]))
        for j in self._powers:
            total = self._arrays[f"sums{j}"][size]
            # sum (d - shift)^j by the binomial theorem.
            for i in range(j + 1) if shift else (j,):
                total += math.comb(j, i) * (-shift) ** (j - i) * sums[i]
        reach = np.abs(v) + abs(shift) / 2
        power = np.ones_like(reach)
        for j in range(1, top + 1):
            power *= reach
            self._arrays[f"mass{j}"][size] += 2.0 ** (j - 1) * power.sum(axis=1)

    def values(self, rows: slice) -> Array:
        """See :class:`Penalty`."""
        n_stakes, n_sizes = self._coefficients[2].shape
        n_rows, n_models = self._arrays["sums2"][0, rows].shape
        penalty, slack = np.zeros((n_stakes, n_rows, n_models)), np.zeros((n_stakes, n_models))
        for j in self._powers:
            coefficient = self._coefficients[j]
            sums = self._arrays[f"sums{j}"][:, rows].reshape(n_sizes, -1)
            penalty += (coefficient @ sums).reshape(penalty.shape)
            error = self._accumulation_error() * self._arrays[f"mass{j}"]
            error = error + 2 * j * self._residual_error * self._arrays[f"mass{j - 1}"]
            slack += np.abs(coefficient) @ error
        return self._finish(penalty, slack, rows)


class PenaltyByStake(_Polynomial):
    """The finished penalty kept per stake: the smaller form when block sizes outnumber stakes."""

    def __init__(self, coefficients: Mapping[int, Array], of_block: Rows, *, largest: int, n_models: int) -> None:
        super().__init__(coefficients, of_block, largest=largest)
        n_stakes = len(coefficients[2])
        self._arrays = {
            "sums": np.zeros((n_stakes, n_models, n_models)),
            "mass": np.zeros((n_stakes, n_models)),
            "lower_mass": np.zeros((n_stakes, n_models)),
        }

    def add(self, residuals: Array, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        v = self._halves(residuals)
        for chunk in _chunks(np.arange(v.shape[1])):
            for stake in range(len(self._arrays["sums"])):
                of_block = self._of_block[chunk]
                self._add_chunk(
                    stake, {j: c[stake, of_block] for j, c in self._coefficients.items()}, v[:, chunk], shift
                )

    def _add_chunk(self, stake: int, coefficients: Mapping[int, Array], v: Array, shift: float) -> None:
        # sum_j coefficient_j (d - shift)^j, rewritten in powers of d by the binomial theorem.
        in_d = {
            i: np.add.reduce([c * (math.comb(j, i) * (-shift) ** (j - i)) for j, c in coefficients.items() if j >= i])
            for i in (range(self._powers[-1] + 1) if shift else self._powers)
        }
        total = self._arrays["sums"][stake]
        total += in_d.pop(0).sum() if shift else 0.0
        for part in difference_sums(v, in_d).values():
            total += part
        reach = np.abs(v) + abs(shift) / 2
        for j, coefficient in coefficients.items():
            weight = np.abs(coefficient)
            self._arrays["mass"][stake] += 2.0 ** (j - 1) * (reach**j @ weight)
            self._arrays["lower_mass"][stake] += 2 * j * 2.0 ** (j - 2) * (reach ** (j - 1) @ weight)

    def values(self, rows: slice) -> Array:
        """See :class:`Penalty`."""
        slack = self._accumulation_error() * self._arrays["mass"] + self._residual_error * self._arrays["lower_mass"]
        return self._finish(self._arrays["sums"][:, rows].copy(), slack, rows)


def _chunks(columns: Rows) -> Iterator[Rows]:
    for start in range(0, len(columns), _CHUNK):
        yield columns[start : start + _CHUNK]
