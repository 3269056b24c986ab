"""Numbers of a certificate: bounds rounded outward, means, and about how many runs are still needed."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.certificate.derive import PairTable
from bbedge.core.graph import Graph
from bbedge.records.certificate import Prospect
from bbedge.text import counted

if TYPE_CHECKING:
    from bbedge.certificate.certificate import Certificate


class Units(NamedTuple):
    """How numbers of one leaderboard are written.

    >>> Units.of(1.0).at_least(0.12349), Units.of(100.0).score(7.125)
    ('0.1234', '7.12')
    >>> Units.of(2.0).score(-0.0001)
    '0.000'
    """

    decimals: int
    """As many as the width of the score range deserves."""

    @classmethod
    def of(cls, width: float) -> Units:
        """The units of a score range of this width."""
        return cls(min(100, max(0, 4 - math.ceil(math.log10(width)))))

    def score(self, value: float | None) -> str:
        """A mean, in score units; before the first replicate there is none."""
        if value is None or math.isnan(value):
            return "-"
        return f"{round(value, self.decimals) + 0.0:.{self.decimals}f}"  # no -0.0

    def difference(self, value: float) -> str:
        """A difference, with its sign; where one of two means is not known there is none."""
        return "-" if math.isnan(value) else f"{round(value, self.decimals) + 0.0:+.{self.decimals}f}"  # no -0.0

    def at_least(self, value: float, sign: str = "") -> str:
        """A lower bound, rounded down."""
        return "-" if math.isnan(value) else self._whole(math.floor(value * 10.0**self.decimals), sign)

    def at_most(self, value: float, sign: str = "") -> str:
        """An upper bound, rounded up."""
        return "-" if math.isnan(value) else self._whole(math.ceil(value * 10.0**self.decimals), sign)

    def lead(self, margin: float, known: float) -> str:
        """A certified difference: at least its margin, or above what certified edges prove where that says more.

        >>> Units.of(1.0).lead(0.0312, 0.02), Units.of(1.0).lead(-0.01, 0.02)
        ('≥ 0.0312', '> 0.0200')
        """
        # e-Holm may certify a direction before its simultaneous margin passes tau; then tau is what is known.
        if margin > known and self.at_least(margin) != self.at_least(known):
            return f"≥ {self.at_least(margin)}"
        return f"> {self.at_least(known) if known else 0}"

    def _whole(self, value: int, sign: str) -> str:
        return f"{value / 10.0**self.decimals:{sign}.{self.decimals}f}"


def rank(interval: tuple[int, int]) -> str:
    """A rank interval, short.

    >>> rank((2, 4)), rank((3, 3))
    ('2-4', '3')
    """
    best, worst = interval
    return str(best) if best == worst else f"{best}-{worst}"


def n_items(certificate: Certificate) -> int:
    """Number of items that weigh anything."""
    weights = certificate.content.design.weights
    return weights.items if weights else certificate.content.items


def mean_items(certificate: Certificate) -> tuple[int, ...]:
    """The number of items that the mean of each model is over, in the order shown."""
    found = (certificate.content.models[i].mean_items for i in certificate.order)
    whole = n_items(certificate)
    return tuple(whole if count is UNSET else count for count in found)


def is_over_all(certificate: Certificate, model: int) -> bool:
    """Whether the mean of a model is known and over all items."""
    return certificate.means[model] is not None and _is_whole(certificate, model)


def comparable(certificate: Certificate) -> list[int]:
    """The models whose means may be compared with each other."""
    return [model for model in range(len(certificate.names)) if is_over_all(certificate, model)]


def has_partial(certificate: Certificate, models: Sequence[int] | None = None) -> bool:
    """Whether the mean of one of these models, or of any, is over some of the items only."""
    asked = range(len(certificate.names)) if models is None else models
    return not all(_is_whole(certificate, model) for model in asked)


def difference(certificate: Certificate, a: int, b: int) -> float | None:
    """The mean of ``a`` minus that of ``b``, in score units; ``None`` if they may not be compared."""
    first, second = certificate.means[a], certificate.means[b]
    if first is None or second is None or not (_is_whole(certificate, a) and _is_whole(certificate, b)):
        return None
    return first - second


def over(certificate: Certificate, model: int) -> str:
    """What the mean of a model is over, such as ``160 of 949 items``; empty if that is all of them."""
    if certificate.means[model] is None or _is_whole(certificate, model):
        return ""
    found = certificate.content.models[certificate.order[model]].mean_items
    return f"{found or 0:,} of {counted(n_items(certificate), 'item')}"


def runs_of_means(certificate: Certificate) -> dict[str, str]:
    """The models whose mean is over fewer runs than there are, by name, such as ``5 of 8 runs``.

    A model that was stopped has no later runs, and one that was added to a board may have joined with the first alone.
    """
    whole = (certificate.headline or certificate).content
    if not (board := whole.board):
        return {name: _of_runs(count, whole.replicates) for name, count in (whole.stopped or {}).items()}
    announced = {each.model: each.event for each in board.announcements or ()}
    runs, last, lacks = list[int](), dict[str, int](), dict[str, int]()
    for step in (step for step in board.timeline if step.epoch == board.epoch):
        if step.kind == "replicate" and not step.checkpoint:
            runs.append(step.event)
        for name in step.names or ():
            if step.kind == "retire":
                last[name] = len(runs)
            elif step.kind == "add-model":
                lacks[name] = len(runs) - min(
                    bisect(runs, announced.get(name, step.event)), board.design.first or len(runs)
                )
    own = {name: last.get(name, len(runs)) - lacks.get(name, 0) for name in (*last, *lacks)}
    return {name: _of_runs(count, len(runs)) for name, count in own.items() if count < len(runs)}


def _of_runs(count: int, runs: int) -> str:
    return f"{count:,} of {counted(runs, 'run')}"


def _is_whole(certificate: Certificate, model: int) -> bool:
    return certificate.content.models[certificate.order[model]].mean_items is UNSET


MOST_PAIRS = 200
"""So many open pairs are looked at, the most promising first."""

_STRIP = 1 << 20  # pairs looked at together: thousands of models have millions
_UNSURE = 2.0  # evidence grows by fits and starts: half or twice as many replicates are no surprise


Floats = NDArray[np.float64]
Forecast = tuple[NDArray[np.integer[Any]], Floats, Floats, Floats]


def outlook(
    table: PairTable, *, replicates: int, stopped: Collection[str] = (), most: int = MOST_PAIRS
) -> tuple[Prospect, ...]:
    """The tested open pairs, those that would be certified soonest first.

    ``more_replicates`` carries the average growth of ``log_e`` per replicate on to the threshold of the last look and
    widens the result to half and twice, rounded outward to one digit. It is ``None`` where the evidence does not
    grow, or where a model has been stopped and no more is coming. ``within`` is where the difference lies, in score
    units; an end is ``None`` where that direction is not tested. Models that are ``stopped`` get no more replicates.
    """
    if not replicates:
        return ()
    # The first of every strip, then the first of these: the same as of all, since sorting keeps the order of equals.
    strips = [_first(*_forecast(table, pairs, replicates, stopped), most=most) for pairs in _strips(table.graph)]
    merged = (np.concatenate([strip[part] for strip in strips]) for part in range(4))
    return _prospects(table, *_first(*merged, most=most))


def outlook_on(
    pairs: NDArray[np.integer[Any]], table: PairTable, *, replicates: int, stopped: Collection[str]
) -> tuple[Prospect, ...]:
    """The same for these pairs, one a row, as far as they are tested and open."""
    above = table.graph.above
    a, b = pairs[:, 0], pairs[:, 1]
    is_open = (a != b) & ~(above[a, b] | above[b, a])
    return _prospects(table, *_forecast(table, pairs[is_open], replicates, stopped))


def _prospects(table: PairTable, pairs: NDArray[np.integer[Any]], *numbers: Floats) -> tuple[Prospect, ...]:
    names, margins = table.names, table.margins
    return tuple(
        Prospect(
            ahead=names[a],
            behind=names[b],
            log_e=best,
            log_threshold=limit,
            more_replicates=_range(needed),
            within=(_end(margins[a, b]), _end(-margins[b, a])),
        )
        for (a, b), best, limit, needed in zip(pairs.tolist(), *(each.tolist() for each in numbers), strict=True)
    )


def _end(value: float) -> float | None:
    return None if value != value else float(value)


def _strips(graph: Graph) -> Iterator[NDArray[np.int32]]:
    """The open pairs, a bounded number at a time; at least one strip, which may be empty.

    Pairs of a cycle are certified both ways: what contradicts itself is not open, and no run will decide it.
    """
    pairs = graph.unresolved_pairs
    if graph.cycles:
        pairs = pairs[~graph.reach[pairs[:, 0], pairs[:, 1]]]
    for start in range(0, max(1, len(pairs)), _STRIP):
        yield pairs[start : start + _STRIP]


def _forecast(table: PairTable, pairs: NDArray[np.integer[Any]], replicates: int, stopped: Collection[str]) -> Forecast:
    """The leading direction of each tested pair, its evidence, its threshold and the replicates still needed."""
    still = np.array([name not in stopped for name in table.names], dtype=np.bool_)
    forward, backward = (
        np.nan_to_num(table.log_e[pairs[:, i], pairs[:, 1 - i]], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        for i in (0, 1)
    )
    pairs = np.where((backward > forward)[:, None], pairs[:, ::-1], pairs)
    best = np.maximum(forward, backward)
    limit = table.log_thresholds[pairs[:, 0], pairs[:, 1]]
    hopeful = (best > 0.0) & still[pairs].all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(hopeful, replicates * (limit - best) / best, np.inf)
    tested = np.isfinite(best)
    return pairs[tested], best[tested], limit[tested], needed[tested]


def _first(pairs: NDArray[np.integer[Any]], best: Floats, limit: Floats, needed: Floats, *, most: int) -> Forecast:
    """Those that need the fewest replicates, then those with most evidence."""
    if len(pairs) > most:
        # Sorting millions of pairs takes seconds: drop first what cannot be among the chosen.
        last = np.partition(needed, most - 1)[most - 1]
        near = needed <= last
        if np.isinf(last):
            hopeless = np.isinf(needed)
            few = min(most, int(hopeless.sum()))
            near = ~hopeless | (best >= np.partition(best[hopeless], -few)[-few])
        pairs, best, limit, needed = pairs[near], best[near], limit[near], needed[near]
    chosen = np.lexsort((-best, needed))[:most]
    return pairs[chosen], best[chosen], limit[chosen], needed[chosen]


def _range(needed: float) -> tuple[int, int] | None:
    """Half to twice as many, rounded outward to one digit.

    >>> _range(7.3), _range(0.2), _range(float("inf"))
    ((3, 20), (1, 1), None)
    """
    if not needed < 1e15:
        return None
    low, high = needed / _UNSURE, needed * _UNSURE
    return max(1, math.floor(low / _unit(low)) * _unit(low)), max(1, math.ceil(high / _unit(high)) * _unit(high))


def _unit(value: float) -> int:
    """The place of the first digit; ones for what is below ten."""
    return int(10 ** math.floor(math.log10(max(value, 1.0))))
