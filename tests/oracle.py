"""A second implementation of the statistics, slow and literal, that the tests compare the core with.

Nothing here is shared with the package: plain Python numbers and loops, one direction, block, stake and replicate at
a time, straight from the definitions. Every quantity can be computed in two arithmetics: ``FLOAT`` (float64 with
exactly rounded sums) and ``EXACT`` (60 decimal digits, which next to float64 is as good as exact).

A panel is a list of rows, one per model; a row is a list of scores, or ``None`` for a model that was not run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cache
from typing import Any

DIGITS = 60
CENTRED_LIMIT = 0.95

Panel = Sequence[Sequence[float] | None]


@dataclass(frozen=True)
class Arithmetic:
    """How numbers are made, added up and put through a logarithm."""

    number: Callable[[Any], Any]
    total: Callable[[Iterable[Any]], Any]
    log: Callable[[Any], Any]
    exp: Callable[[Any], Any]


def _high_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        with localcontext(Context(prec=DIGITS)):
            return function(*arguments, **options)

    return wrapped


FLOAT = Arithmetic(number=float, total=math.fsum, log=math.log, exp=math.exp)
EXACT = Arithmetic(
    number=Decimal,
    total=lambda terms: sum(terms, Decimal(0)),
    log=lambda x: x.ln(),
    exp=lambda x: x.exp(),
)


@dataclass(frozen=True)
class Setting:
    """What the oracle has to know of a design: nothing is computed from it but by the formulas below."""

    blocks: tuple[int, ...]
    """Number of the block of each item, counted from 0."""
    tau: float
    kind: str
    prediction: str
    stakes: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def sizes(self) -> list[int]:
        return [sum(1 for b in self.blocks if b == m) for m in range(max(self.blocks) + 1)]


# Stake grids -----------------------------------------------------------------------------------------------------


def paper_grid() -> list[float]:
    return [0.95 * k / 40 for k in range(41)]


def design_grid(sizes: Sequence[int], *, alpha: float, tau: float, directions: int) -> list[float]:
    mu0 = (1 + tau) / 2
    worth = sum((size / max(sizes)) ** 2 for size in sizes)
    grid = []
    for g in range(12):
        kappa = math.exp(math.log(1 / 80) + g / 11 * (math.log(25) - math.log(1 / 80)))
        grid.append(min(0.95 / mu0, math.sqrt(2 * math.log(directions / alpha) / (worth * kappa))))
    return grid


# Evidence --------------------------------------------------------------------------------------------------------


def block_means(row: Sequence[float], blocks: Sequence[int], arithmetic: Arithmetic = FLOAT) -> list[Any]:
    means = []
    for m in range(max(blocks) + 1):
        inside = [arithmetic.number(score) for score, b in zip(row, blocks, strict=True) if b == m]
        means.append(arithmetic.total(inside) / len(inside))
    return means


@cache
def tail_coefficient(b: Any, order: int = 4) -> Decimal:
    """``(-log(1 - b) - sum_{j < order} b^j / j) / b^order``, and its limit ``1 / order`` at zero."""
    with localcontext(Context(prec=2 * DIGITS)):
        b = Decimal(b)
        if b == 0:
            return Decimal(1) / order
        if b < Decimal("0.01"):  # the difference below would cancel; 80 terms of its series leave out b^80
            return sum((b ** (j - order) / j for j in range(order + 1, order + 80)), Decimal(1) / order)
        head = sum((b**j / j for j in range(1, order)), Decimal(0))
        return (-(1 - b).ln() - head) / b**order


def log_factor(kind: str, u: Any, y: Any, p: Any, mu0: Any, b: Any, arithmetic: Arithmetic) -> Any:
    """Log of what one block of one replicate multiplies the evidence of one stake by."""
    x = y - p
    if kind == "hoeffding":
        return u * (y - mu0) - u * u / 8
    if kind == "bernstein":
        psi = -arithmetic.log(1 - u) - u
        return u * (y - mu0) - psi * x * x
    z = u * x
    if kind == "betting":
        return u * (p - mu0) + arithmetic.log(1 + z)
    if kind == "sharp":
        tail = arithmetic.number(tail_coefficient(b))
        return u * (p - mu0) + z - z * z / 2 + z * z * z / 3 - tail * z * z * z * z
    raise ValueError(kind)


def running_mean_prediction(earlier: Sequence[Any], mu0: Any, arithmetic: Arithmetic) -> Any:
    """Mean of the pair's earlier values in this block and of one invented value at the null."""
    return arithmetic.total([mu0, *earlier]) / (len(earlier) + 1)


def two_way_predictions(history: Sequence[Sequence[Sequence[Any]]], arithmetic: Arithmetic) -> list[list[Any]]:
    """Predicted block means of every model, from ``history[replicate][model][block]``; at least one replicate."""
    one = arithmetic.number(1)
    n, n_models, n_blocks = len(history), len(history[0]), len(history[0][0])
    models, blocks = range(n_models), range(n_blocks)
    mean = [[arithmetic.total([h[a][m] for h in history]) / n for m in blocks] for a in models]
    grand = arithmetic.total([mean[a][m] for a in models for m in blocks]) / (n_models * n_blocks)
    model = [arithmetic.total(mean[a]) / n_blocks for a in models]
    block = [arithmetic.total([mean[a][m] for a in models]) / n_models - grand for m in blocks]
    rest = [[mean[a][m] - model[a] - block[m] for m in blocks] for a in models]
    share = one / 2
    if n >= 2:
        spread = arithmetic.total([rest[a][m] ** 2 for a in models for m in blocks]) / (n_models * n_blocks)
        within = [
            arithmetic.total([(h[a][m] - mean[a][m]) ** 2 for h in history]) / (n - 1) for a in models for m in blocks
        ]
        noise = arithmetic.total(within) / (n_models * n_blocks)
        # A spread made of rounding alone stands for zero; the interaction is then as small, whatever the share.
        share = min(one, max(0 * one, 1 - noise * (1 - one / n_models) / (n * spread))) if spread > 1e-30 else 0 * one
    return [[min(one, max(0 * one, model[a] + block[m] + share * rest[a][m])) for m in blocks] for a in models]


def stake_logs(
    setting: Setting, panels: Sequence[Panel], a: int, b: int, t: float | None = None, arithmetic: Arithmetic = FLOAT
) -> list[Any]:
    """Log evidence of ``a -> b`` after all panels, stake by stake; ``t`` moves the null of the linear term only."""
    number = arithmetic.number
    mu0 = (1 + number(setting.tau)) / 2
    moved = mu0 if t is None else (1 + number(t)) / 2
    means = [[row if row is None else block_means(row, setting.blocks, arithmetic) for row in p] for p in panels]
    sizes = setting.sizes

    # What is predicted for the pair, per replicate and block, whatever the stake.
    predictions: list[list[Any] | None] = []
    values: list[list[Any] | None] = []
    for r, rows in enumerate(means):
        if rows[a] is None or rows[b] is None:
            predictions.append(None)
            values.append(None)
            continue
        values.append([(rows[a][m] - rows[b][m] + 1) / 2 for m in range(len(sizes))])
        if setting.prediction == "running-mean":
            predictions.append(
                [running_mean_prediction([values[s][m] for s in range(r)], mu0, arithmetic) for m in range(len(sizes))]
            )
        elif r == 0:
            predictions.append([number(1) / 2] * len(sizes))
        else:
            here = [i for i, row in enumerate(rows) if row is not None]
            predicted = two_way_predictions([[means[s][i] for i in here] for s in range(r)], arithmetic)
            of_a, of_b = predicted[here.index(a)], predicted[here.index(b)]
            predictions.append([(of_a[m] - of_b[m] + 1) / 2 for m in range(len(sizes))])

    logs = []
    for stake in setting.stakes:
        wide = stake > CENTRED_LIMIT
        terms = []
        for r in range(len(panels)):
            if values[r] is None:
                continue
            for m, size in enumerate(sizes):
                u = number(stake) * size / max(sizes)
                p = mu0 if wide else predictions[r][m]
                reach = u * mu0 if wide else u
                terms.append(log_factor(setting.kind, u, values[r][m], p, mu0, reach, arithmetic))
                terms.append(u * (mu0 - moved))
        logs.append(arithmetic.total(terms))
    return logs


def mixture(logs: Sequence[Any], weights: Sequence[float], arithmetic: Arithmetic = FLOAT) -> Any:
    """Log of the weighted sum of exponentials."""
    shifted = [arithmetic.log(arithmetic.number(w)) + x for x, w in zip(logs, weights, strict=True) if w > 0]
    top = max(shifted)
    return top + arithmetic.log(arithmetic.total([arithmetic.exp(x - top) for x in shifted]))


def log_evidence(setting: Setting, panels: Sequence[Panel], a: int, b: int, t: float | None = None) -> float:
    return mixture(stake_logs(setting, panels, a, b, t), setting.weights)


@_high_precision
def exact_log_evidence(setting: Setting, panels: Sequence[Panel], a: int, b: int) -> Decimal:
    return mixture(stake_logs(setting, panels, a, b, arithmetic=EXACT), setting.weights, EXACT)


@_high_precision
def exact_stake_logs(setting: Setting, panels: Sequence[Panel], a: int, b: int) -> list[Decimal]:
    return stake_logs(setting, panels, a, b, arithmetic=EXACT)


@_high_precision
def exact_mixture(logs: Sequence[Decimal], weights: Sequence[float]) -> Decimal:
    return mixture(logs, weights, EXACT)


def log_evidence_matrix(setting: Setting, panels: Sequence[Panel]) -> list[list[float]]:
    """Every direction; NaN on the diagonal."""
    models = range(len(panels[0]))
    return [[math.nan if a == b else log_evidence(setting, panels, a, b) for b in models] for a in models]


def lower_bound(setting: Setting, panels: Sequence[Panel], a: int, b: int, *, directions: int, alpha: float) -> float:
    """``inf{t in [-1, 1] : E^(t) < H / alpha}`` by bisection."""
    goal = math.log(directions / alpha)
    at_zero = stake_logs(setting, panels, a, b, t=0.0)
    at_one = stake_logs(setting, panels, a, b, t=1.0)

    def enough(t: float) -> bool:
        # The null enters every term linearly, so two values of t give all others.
        return mixture([x0 + t * (x1 - x0) for x0, x1 in zip(at_zero, at_one, strict=True)], setting.weights) >= goal

    low, high = -1.0, 1.0
    if not enough(low):
        return low
    if enough(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


# Direct e-Holm ---------------------------------------------------------------------------------------------------


def e_holm(values: Sequence[Any], alpha: Any) -> tuple[list[bool], Any]:
    """Which e-values reach the bar, and the bar; ``values`` and ``alpha`` are exact numbers."""
    t = 1 / alpha
    bar = t
    for value in values:
        if value < t:
            bar += t - value
    return [value >= bar for value in values], bar


@_high_precision
def e_holm_of_logs(logs: Sequence[float], alpha: float) -> tuple[list[bool], Decimal]:
    """The same for logarithms that are float64 numbers; also the logarithm of the bar."""
    certified, bar = e_holm([Decimal(x).exp() for x in logs], Decimal(alpha))
    return certified, bar.ln()


# Graphs ----------------------------------------------------------------------------------------------------------

Edges = Sequence[Sequence[bool]]


def closure(edges: Edges) -> list[list[bool]]:
    """Where one can walk to in one step or more, by walking."""
    reach = []
    for start in range(len(edges)):
        seen: set[int] = set()
        todo = [b for b in range(len(edges)) if edges[start][b]]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += [b for b in range(len(edges)) if edges[node][b]]
        reach.append([b in seen for b in range(len(edges))])
    return reach


def strictly_above(edges: Edges) -> list[list[bool]]:
    reach = closure(edges)
    return [[reach[a][b] and not reach[b][a] for b in range(len(edges))] for a in range(len(edges))]


def longest_paths(edges: Edges) -> list[list[int]]:
    """Edges of the longest path between any two nodes of a graph without cycles, by walking every path."""
    lengths = [[0] * len(edges) for _ in edges]

    def walk(start: int, node: int, length: int) -> None:
        for b in range(len(edges)):
            if edges[node][b]:
                lengths[start][b] = max(lengths[start][b], length + 1)
                walk(start, b, length + 1)

    for start in range(len(edges)):
        walk(start, start, 0)
    return lengths


def rank_intervals(edges: Edges) -> list[tuple[int, int]]:
    above = strictly_above(edges)
    n = len(edges)
    return [(1 + sum(above[b][a] for b in range(n)), n - sum(above[a][b] for b in range(n))) for a in range(n)]


def top_sets(edges: Edges, k: int) -> list[tuple[int, ...]]:
    """Every set of k models whose members all stand strictly above all other models."""
    above = strictly_above(edges)
    found = []
    for members in itertools.combinations(range(len(edges)), k):
        others = [b for b in range(len(edges)) if b not in members]
        if all(above[a][b] for a in members for b in others):
            found.append(members)
    return found


# Staggered e-Holm ------------------------------------------------------------------------------------------------


def entry_times(planned: int | None = None) -> list[int]:
    most = 25 if planned is None else min(25, planned / 4)
    return [
        math.floor(0.7 * math.exp(math.log(1 / 80) + g / 11 * (math.log(most) - math.log(1 / 80))) + 1e-9)
        for g in range(12)
    ]


def staggered(
    looks: Sequence[dict[tuple[int, ...], Sequence[float]]],
    entries: Sequence[int],
    weights: Sequence[float],
    alpha: float,
    shares: Sequence[float] = (1.0,),
) -> list[set[tuple[int, ...]]]:
    """What stands after every look, by trying every set of directions that are not certified.

    ``looks`` holds, per replicate and direction, the logarithm of the evidence of every stake. A direction is two
    models, or the number of a view, whose share is its weight in every sum, and two models.
    """

    def share(e: tuple[int, ...]) -> float:
        return shares[e[0]] if len(e) == 3 else 1.0

    times = sorted(set(entries))
    rho = {k: math.fsum(w for w, e in zip(weights, entries, strict=True) if e == k) for k in times}

    def group(logs: Sequence[float], k: int) -> float:
        inside = [math.exp(x) * w for x, w, e in zip(logs, weights, entries, strict=True) if e == k]
        return math.fsum(inside) / rho[k]

    certified: set[tuple[int, ...]] = set()
    history = []
    for r, now in enumerate(looks, start=1):
        while True:
            rest = sorted(set(now) - certified)
            left_side = dict.fromkeys(rest, math.fsum(rho[k] for k in times if k >= r))
            for k in (k for k in times if k < r):
                x = [share(e) * group(now[e], k) for e in rest]
                d = [share(e) * (1.0 if k == 0 else group(looks[k - 1][e], k)) for e in rest]
                least = dict.fromkeys(rest, math.inf)
                for chosen in range(1, 1 << len(rest)):
                    inside = [i for i in range(len(rest)) if chosen >> i & 1]
                    ratio = sum(x[i] for i in inside) / sum(d[i] for i in inside)
                    for i in inside:
                        least[rest[i]] = min(least[rest[i]], ratio)
                for e in rest:
                    left_side[e] += rho[k] * least[e]
            new = {e for e in rest if left_side[e] >= 1 / alpha}
            if not new:
                break
            certified |= new
            models = range(1 + max(max(e[-2:]) for e in now))
            for view in {e[:-2] for e in now}:
                reach = closure([[(*view, a, b) in certified for b in models] for a in models])
                certified |= {e for e in now if e[:-2] == view and reach[e[-2]][e[-1]]}
        history.append(set(certified))
    return history


# Fitted stakes ---------------------------------------------------------------------------------------------------


def fitted_weights() -> list[float]:
    return [1 / 15] * 5 + [2 / 21] * 7


def horizons(planned: int | None = None) -> list[float]:
    last = 225 if planned is None else 1.5 * planned
    first = min(9, last)
    return [first * (last / first) ** (g / 6) for g in range(7)]


def fitted_entry_times(planned: int | None = None) -> list[int]:
    return [0] * 5 + [min(13, max(2, math.floor(0.06 * horizon + 1e-9))) for horizon in horizons(planned)]


def block_noise(
    means: Sequence[Sequence[Sequence[float] | None]], weights: Sequence[float], tested: Iterable[tuple[int, int]]
) -> float:
    """The noise of a block in ``means[replicate][model][block]``, as far as the two models of a direction ran."""
    terms, count = [], 0
    for r in range(1, len(means)):
        for a, b in tested:
            if means[r][a] is None or means[r][b] is None:
                continue
            count += 1
            for m, weight in enumerate(weights):
                y = [(means[s][a][m] - means[s][b][m] + 1) / 2 for s in range(r + 1)]
                earlier = math.fsum(y[:r]) / r
                terms.append(weight**2 * (y[r] - earlier) ** 2 * r / (r + 1))
    total = math.fsum(weight**2 for weight in weights)
    return math.fsum(terms) / (count * total) if count else 0.0


def stake_for(kappa: float, *, alpha: float, tau: float, directions: float, worth: float) -> float:
    """Capped where it would be too wide for the null value; without noise it always would."""
    cap = 0.95 / ((1 + tau) / 2)
    return cap if kappa == 0 else min(cap, math.sqrt(2 * math.log(directions / alpha) / (worth * kappa)))


def fitted_grid(noises: Callable[[int], float], runs: int, *, planned: int | None = None, **size: float) -> list[float]:
    """The stakes after so many replicates: 0 where one has not entered, which wins and loses nothing."""
    early = [stake_for(1 / 80 * 48 ** (g / 4), **size) for g in range(5)]
    late = zip(horizons(planned), fitted_entry_times(planned)[5:], strict=True)
    return early + [stake_for(noises(k) * horizon, **size) if k <= runs else 0.0 for horizon, k in late]


def own_evidence(
    logs: Sequence[Sequence[float]], at: Sequence[float], at_entry: Callable[[int, int], float], planned: int | None
) -> float:
    """The logarithm of what a direction has by itself.

    ``logs`` are those of every stake by replicate, at the null; ``at`` those after all replicates at some difference,
    and ``at_entry`` gives the same for a stake and the replicates before its entry.
    """
    entries, weights, runs = fitted_entry_times(planned), fitted_weights(), len(logs)
    terms = [w * math.exp(x) for w, x, k in zip(weights, at, entries, strict=True) if k == 0]
    for k in sorted(set(entries) - {0}):
        group = [g for g in range(12) if entries[g] == k]
        if k > runs:
            terms += [weights[g] for g in group]
            continue
        then = [weights[g] * math.exp(logs[k - 1][g]) for g in group]
        won = [d * math.exp(at[g] - at_entry(g, k)) for d, g in zip(then, group, strict=True)]
        terms.append(math.fsum(weights[g] for g in group) * math.fsum(won) / math.fsum(then))
    return math.log(math.fsum(terms))
