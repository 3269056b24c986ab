"""Polynomial penalties of all pairs at once, through Gram matrices of powers of the residuals.

With ``v`` a model's residual (less a value common to all models, which no difference sees), a pair's residual
is ``x = (v_a - v_b) / 2 - shift``. Sums over blocks of powers of ``v_a - v_b`` expand into products such as
``<v_a^2, v_b>``, that is into a few matrix products for all pairs; no array over (pair, block) ever exists.

The expansions cancel. Whatever they may have lost is at most a known multiple of the *mass*, the sum of
``(|v_a| / 2 + |v_b| / 2 + |shift|)^j``, which is split into one number per model and added to the penalty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Places, Rows, Space
from bbedge.core.difference_sums import DifferenceSums
from bbedge.core.panels import BlockLayout
from bbedge.core.penalties import Bound, Columns, Directions, Features, Penalty, bernstein_psi, error_sign, sharp_tail
from bbedge.core.stakes import Stakes
from bbedge.records.values import EvidenceKind

_SOME = 64  # models whose mean stands for that of all
_EXACT = 1 << 24  # up to here single precision has every whole number
_UP = 1.0 + 2.0**-40  # more than the roundings of a mass, which is only ever a bound


def gram_penalty(
    kind: EvidenceKind,
    stakes: Floats,
    layout: BlockLayout,
    *,
    space: Space,
    pairs: Directions,
    reach: float,
    has_common_sums: bool | None = None,
) -> GramPenalty:
    """The bernstein or sharp penalty, kept in the smaller of its two forms.

    ``reach`` is the largest possible ``-x``: 1 for any prediction, ``mu0`` for the null value. Where more stakes are to
    come, ``has_common_sums`` says whether it is kept per block size.
    """
    sizes, of_block = np.unique(layout.relative_weights, return_inverse=True)
    powers = partial(_powers, kind, sizes, reach)
    by_size = len(sizes) <= len(stakes) if has_common_sums is None else has_common_sums
    form = PenaltyBySize if by_size else PenaltyByStake
    return form(powers, stakes, of_block, layout.roundings, space=space, pairs=pairs)


def has_common_sums(kind: EvidenceKind, layout: BlockLayout, stakes: Stakes, pairs: Directions) -> bool:
    """Whether sums that no stake changes tell what stakes pay that are chosen while replicates come in."""
    sizes = len(np.unique(layout.relative_weights))
    return kind in ("bernstein", "sharp") and (bool(pairs.batch) or sizes <= len(stakes.weights))


def _powers(kind: EvidenceKind, sizes: Floats, reach: float, stakes: Floats) -> dict[int, Floats]:
    """What powers of residuals are paid with: (batch x) stakes x sizes."""
    u = np.moveaxis(stakes, 0, -1)[..., None] * sizes
    if kind == "bernstein":
        return {2: bernstein_psi(u)}
    return {2: u**2 / 2, 3: -(u**3) / 3, 4: sharp_tail(u * reach) * u**4}


class GramPenalty(Penalty):
    """What both forms share: the common value, the chunks, the bookkeeping of rounding."""

    def __init__(
        self,
        powers: Callable[[Floats], dict[int, Floats]],
        stakes: Floats,
        of_block: Rows,
        largest: int,
        *,
        space: Space,
        pairs: Directions,
    ) -> None:
        super().__init__(space, pairs)
        self.unit = 0
        """Residuals that are whole multiples of one over this stay so, which makes products cheap; 0 if none are."""
        self._powers_of = powers
        self._powers = powers(stakes)
        self.is_symmetric = 3 not in self._powers
        self._top = max(self._powers)
        self._of_block = of_block
        self._n_sources = 0  # penalties that hand on sums, each an addition
        self._buffer: Array | None = None
        # Rounding of a residual: the sum over a block's items, then a few differences, all of numbers below 1.
        self._residual_error = (largest + 8) * 2 * UNIT

    def _chunks(
        self, residuals: Columns, places: Rows, *, unit: int = 0
    ) -> Iterator[tuple[Rows, Array, Array, Array, bool]]:
        """The places some at a time, with their residuals: of all models, of the rows, of the columns.

        The mean over models is taken off where it is large, as it adds to the mass; that of some models is near enough.
        What is a whole multiple of one over the unit everywhere is given as that number, and that is the last value:
        its sums are whole numbers and lose nothing.
        """
        xp, step, n_models = self._space.xp, self._space.chunk, self._pairs.n_models
        shape = (*self._pairs.batch, n_models, min(step, len(self._of_block)))
        if self._space.is_numpy and (self._buffer is None or self._buffer.shape != shape):
            self._buffer = self._space.empty(*shape)  # to fill it again is faster than to ask for memory again
        for start in range(0, len(places), step):
            chunk = places[start : start + step]
            out = None if self._buffer is None else self._buffer[..., : len(chunk)]
            v = residuals(_side_by_side(chunk), out)
            counts = self._counts(v, unit) if unit else None
            if counts is None and unit > 1:  # which may have overwritten them
                v = residuals(_side_by_side(chunk), out)
            few = v[..., :: max(1, n_models // _SOME), :]
            common = xp.mean(few, axis=-2, keepdims=True)
            if counts is not None:
                v = counts
            elif n_models < _SOME or float(xp.mean(common * common)) > float(xp.mean(few * few)) / 4:
                v -= common
            if self._pairs.is_square:
                yield chunk, v, v, v, counts is not None
            else:
                yield chunk, v, v[..., self._pairs.rows, :], v[..., self._pairs.cols, :], counts is not None

    def _counts(self, v: Array, unit: int) -> Array | None:
        """The numbers in units, if all are whole; in single precision, where that adds up their fourth powers.

        The numbers may be overwritten. Of numbers that are not all whole, a few usually show it.
        """
        xp = self._space.xp
        if unit == 1:
            if not all(bool(xp.all(some * some == some)) for some in (v[..., :1, :], v)):
                return None
            return v.astype(np.float32) if self._space.is_numpy else v
        few = v[..., :1, :] * unit
        if not self._space.is_numpy or unit**4 * self._space.chunk > _EXACT or not np.array_equal(few, np.round(few)):
            return None
        v *= unit
        counts = v.astype(np.float32)
        np.round(counts, out=counts)
        return counts if np.array_equal(counts, v) else None

    def _accumulation_error(self) -> float:
        n_blocks, n_sizes = len(self._of_block), int(self._powers[2].shape[-1])
        terms = min(self._space.chunk, n_blocks) + n_blocks / self._space.chunk + self._count + self._n_sources
        return (terms + len(self._powers) * 8 + n_sizes + 64) * UNIT

    def _reader(self, kept: list[tuple[Array, Array]]) -> Features:
        """Features from sums per direction and error bounds per model, of which a direction has two."""
        parts = [(sums, error[..., self._pairs.rows], error[..., self._pairs.cols]) for sums, error in kept]

        def read(rows: Places, cols: Places) -> list[Array]:
            return [
                self._space.take_pairs(sums, rows, cols)
                + (self._space.take(of_rows, rows)[..., :, None] + self._space.take(of_cols, cols)[..., None, :])
                for sums, of_rows, of_cols in parts
            ]

        return read


class PenaltyBySize(GramPenalty):
    """Power sums kept per block size; the stakes come in when the penalty is read."""

    def __init__(
        self,
        powers: Callable[[Floats], dict[int, Floats]],
        stakes: Floats,
        of_block: Rows,
        largest: int,
        *,
        space: Space,
        pairs: Directions,
    ) -> None:
        super().__init__(powers, stakes, of_block, largest, space=space, pairs=pairs)
        self.coefficients = np.concatenate(list(self._powers.values()), axis=-1)
        n_sizes = self._powers[2].shape[-1]
        self.places: list[Rows] = [np.flatnonzero(of_block == size) for size in range(n_sizes)]
        """The blocks of each size."""
        self._rest = list(self.places)
        self._feeds: dict[int, tuple[PenaltyBySize, int]] = {}
        self._fed: dict[int, DifferenceSums] = {}
        for j in self._powers:
            self._arrays[f"sums{j}"] = space.zeros(n_sizes, *pairs.shape)
        for j in range(1, self._top + 1):
            self._arrays[f"mass{j}"] = space.zeros(n_sizes, *pairs.batch, pairs.n_models)

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        wanted = dict.fromkeys(range(1, self._top + 1) if shift else self._powers)
        for size, places in enumerate(self.places):
            sums = self._fed.pop(size, None) or DifferenceSums(self._space)
            for _, _, rows, cols, whole in self._chunks(residuals, self._rest[size], unit=self.unit):
                if whole and self.unit == 1:
                    sums.add_binary(rows, cols)
                elif whole:
                    sums.add_whole(rows, cols, wanted, self.unit)
                else:
                    sums.add(rows, cols, wanted)
            for j in self._powers:
                total = self._arrays[f"sums{j}"]
                # sum (d - shift)^j by the binomial theorem.
                for i in range(1, j + 1) if shift else (j,):
                    part = sums.of(i)
                    total[size, ...] += part if i == j else math.comb(j, i) * (-shift) ** (j - i) * part
                if shift:
                    total[size, ...] += (-shift) ** j * len(places)
            self._add_mass(size, sums, len(places), abs(shift) / 2)
            if size in self._feeds:
                target, of_target = self._feeds[size]
                target._fed.setdefault(of_target, DifferenceSums(self._space)).join(sums)

    def feed(self, size: int, target: PenaltyBySize, of_target: int, places: Rows) -> None:
        """Hand the sums of a size on, replicate by replicate, instead of letting another penalty compute them again.

        These blocks must have the same residuals here and there, where they are those at the given places; here the
        replicate must be added first.
        """
        self._feeds[size] = target, of_target
        target._rest[of_target] = np.setdiff1d(target._rest[of_target], places)
        target._n_sources += 1

    def bet(self, stakes: Floats) -> None:
        """Pay for these stakes from now on, from the same sums: stakes x (batch)."""
        self._powers = self._powers_of(stakes)
        self.coefficients = np.concatenate(list(self._powers.values()), axis=-1)

    @property
    def is_needed(self) -> bool:
        """Whether there are stakes, or penalties of other views that hand sums on or are handed them."""
        return bool(self.coefficients.size) or bool(self._feeds) or self._n_sources > 0

    def _add_mass(self, size: int, sums: DifferenceSums, n: int, reach: float) -> None:
        """``sum (|v| + reach)^j``, or a little more: odd powers are bounded by their even neighbours."""
        xp = self._space.xp

        def moment(j: int) -> Array:
            of_rows, of_cols = sums.moments(j)
            return of_rows if self._pairs.is_square else xp.concat([of_rows, of_cols], axis=-1)

        absolute = {2: moment(2)}
        absolute[1] = xp.sqrt(n * absolute[2])
        if self._top > 2:
            absolute[4] = moment(4)
            absolute[3] = xp.sqrt(absolute[2] * absolute[4])
        for j in range(1, self._top + 1):
            power = absolute[j] + 0.0
            if reach:
                for i in range(1, j):
                    power += math.comb(j, i) * reach ** (j - i) * absolute[i]
                power += n * reach**j
            self._arrays[f"mass{j}"][size, ...] += power * (2.0 ** (j - 1) * _UP)

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        kept: list[tuple[Array, Array]] = []
        for j in self._powers:
            error = (self._accumulation_error() + 2 * terms * UNIT) * self._arrays[f"mass{j}"]
            error += 2 * j * self._residual_error * self._arrays[f"mass{j - 1}"]
            sign = -error_sign(bound) if j == 3 else error_sign(bound)  # the penalty falls as the third sum grows
            kept.append((self._arrays[f"sums{j}"], sign * error))
        return self._reader(kept)


class PenaltyByStake(GramPenalty):
    """The finished penalty kept per stake: the smaller form when block sizes outnumber stakes."""

    def __init__(
        self,
        powers: Callable[[Floats], dict[int, Floats]],
        stakes: Floats,
        of_block: Rows,
        largest: int,
        *,
        space: Space,
        pairs: Directions,
    ) -> None:
        super().__init__(powers, stakes, of_block, largest, space=space, pairs=pairs)
        n_stakes = len(self._powers[2])
        self._places = range(n_stakes)
        self.coefficients = np.eye(n_stakes)
        self._arrays = {
            "sums": space.zeros(n_stakes, *pairs.shape),
            "mass": space.zeros(n_stakes, *pairs.batch, pairs.n_models),
            "lower_mass": space.zeros(n_stakes, *pairs.batch, pairs.n_models),
        }

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        n_stakes = len(self._powers[2])
        sums = [DifferenceSums(self._space) for _ in range(n_stakes)]
        for chunk, v, rows, cols, _ in self._chunks(residuals, np.arange(len(self._of_block))):
            of_block = self._of_block[chunk]
            for stake in range(n_stakes):
                in_d = _in_powers_of_difference({j: c[stake, of_block] for j, c in self._powers.items()}, shift)
                self._arrays["sums"][stake, ...] += float(in_d.pop(0, np.zeros(1)).sum())
                sums[stake].add(rows, cols, {i: self._space.asarray(weight) for i, weight in in_d.items()})
            self._add_mass(v, of_block, abs(shift) / 2)
        for stake, held in enumerate(sums):
            for i in range(1, self._top + 1) if shift else self._powers:
                self._arrays["sums"][stake, ...] += held.of(i)

    def _add_mass(self, v: Array, of_block: Rows, half_shift: float) -> None:
        xp = self._space.xp
        reach = xp.abs(v) / 2 + half_shift
        for j, coefficients in self._powers.items():
            weights = self._space.asarray(np.abs(coefficients[:, of_block]).T)  # blocks x stakes
            for name, power, factor in (
                ("mass", j, 2.0 ** (j - 1)),
                ("lower_mass", j - 1, 2 * j * 2.0 ** (j - 2)),
            ):
                self._arrays[name] += factor * _UP * xp.moveaxis(reach**power @ weights, -1, 0)

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        error = (self._accumulation_error() + 2 * terms * UNIT) * self._arrays["mass"]
        error += self._residual_error * self._arrays["lower_mass"]
        return self._reader([(self._arrays["sums"], error_sign(bound) * error)])


def _in_powers_of_difference(weights: Mapping[int, Floats], shift: float) -> dict[int, Floats]:
    """``sum_j weight_j (d - shift)^j`` as weights of the powers of ``d``, by the binomial theorem."""
    if not shift:
        return dict(weights)
    return {
        i: np.add.reduce([c * (math.comb(j, i) * (-shift) ** (j - i)) for j, c in weights.items() if j >= i])
        for i in range(max(weights) + 1)
    }


def _side_by_side(places: Rows) -> Places:
    """As a slice where the places lie side by side, which costs no copy."""
    whole = slice(int(places[0]), int(places[-1]) + 1)
    return whole if whole.stop - whole.start == len(places) else places
