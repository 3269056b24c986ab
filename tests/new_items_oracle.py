"""A second implementation of claims about new items, slow and literal, that the tests compare the core with.

Nothing is shared with the package: plain Python numbers and loops, one direction, look, stake and block at a time.
Every choice of k runs is made by itself, and what is certified is found by trying again until nothing is new.

A run is a list of rows, one per model; a row is a list of scores, of which ``None`` is missing, or ``None`` for a model
that had been stopped before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import oracle
from oracle import FLOAT, Arithmetic

Run = Sequence[Sequence[float | None] | None]
Direction = tuple[int, int, int]
"""The number of a view, the model that may be better, and the other one."""


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What has to be known of a design: its views, levels, looks, and what a score is."""

    n_models: int
    blocks: tuple[str, ...]
    views: tuple[tuple[tuple[float, ...], float], ...]
    """For each view the weight of every item, and its share."""
    schedule: dict[int, float]
    alpha_certificates: float
    alpha_margins: float
    tau: float = 0.0
    of_runs: tuple[str, int] = ("all", 1)
    kind: str = "betting"
    newcomer: int | None = None
    stakes: dict[tuple[int, int], Sequence[float]] = field(default_factory=dict)
    """Other stakes than those of the rule, by view and look."""

    @property
    def directions(self) -> list[Direction]:
        pairs = itertools.permutations(range(self.n_models), 2)
        tested = [(a, b) for a, b in pairs if self.newcomer is None or self.newcomer in (a, b)]
        return [(view, a, b) for view in range(len(self.views)) for a, b in tested]

    @property
    def per_view(self) -> int:
        return len(self.directions) // len(self.views)

    def weights(self, view: int) -> dict[str, float]:
        """The weight of every block that has some, in the order of its first item with weight."""
        found: dict[str, list[float]] = {}
        for block, weight in zip(self.blocks, self.views[view][0], strict=True):
            if weight > 0:
                found.setdefault(block, []).append(weight)
        return {block: math.fsum(its) for block, its in found.items()}

    def stakes_of(self, view: int, look: int) -> Sequence[float]:
        """Twelve: what suits one run whose noise is kappa in each block, at the level of the look."""
        if (view, look) in self.stakes:
            return self.stakes[view, look]
        weights = list(self.weights(view).values())
        worth = math.fsum((weight / max(weights)) ** 2 for weight in weights)
        statements = self.per_view / self.views[view][1]
        budget = 2 * math.log(statements / (self.alpha_certificates * self.schedule[look]))
        cap = 0.95 / ((1 + self.tau) / 2)
        return [min(cap, math.sqrt(budget / (worth / 80 * 20 ** (g / 11)))) for g in range(12)]


def schedule_of(planned: int | None, k: int = 1) -> dict[int, float]:
    """The looks where none are stated: four fifths after the last planned run."""
    doubled = [1, 2, 4, 8, 16, 32]
    if planned is None:
        found = dict.fromkeys(doubled, 1 / 6)
    else:
        before = [r for r in doubled if r < planned]
        found = {r: 0.2 / len(before) for r in before} | {planned: 0.8 if before else 1.0}
    return {r: v for r, v in found.items() if r >= k}


def outcome(claims: Claims, runs: Sequence[Run], model: int, item: int, fill: float, arithmetic: Arithmetic) -> Any:
    """What the runs say of a model on an item, with missing scores as a number: the mean over all choices of k runs."""
    row = [run[model][item] for run in runs]
    scores = [arithmetic.number(fill if score is None else score) for score in row]
    what, k = claims.of_runs
    joined = [(min if what == "all" else max)(some) for some in itertools.combinations(scores, k)]
    return arithmetic.total(joined) / len(joined)


def block_differences(
    claims: Claims, runs: Sequence[Run], direction: Direction, arithmetic: Arithmetic
) -> list[tuple[Any, Any]]:
    """For every block its weight and ``Y``; missing scores count against the model that may be better."""
    view, a, b = direction
    weights, number = claims.views[view][0], arithmetic.number
    found = []
    for block in claims.weights(view):
        inside = [i for i, own in enumerate(claims.blocks) if own == block and weights[i] > 0]
        weight = arithmetic.total([number(weights[i]) for i in inside])
        better, worse = (
            arithmetic.total([number(weights[i]) * outcome(claims, runs, model, i, fill, arithmetic) for i in inside])
            / weight
            for model, fill in ((a, 0.0), (b, 1.0))
        )
        found.append((weight, (better - worse + 1) / 2))
    return found


def log_look(
    claims: Claims, runs: Sequence[Run], direction: Direction, *, t: float | None = None, arithmetic: Arithmetic = FLOAT
) -> Any:
    """The logarithm of ``E`` after so many runs; ``t`` moves the null of the linear term only."""
    number = arithmetic.number
    mu0 = (1 + number(claims.tau)) / 2
    moved = mu0 if t is None else (1 + number(t)) / 2
    values = block_differences(claims, runs, direction, arithmetic)
    largest = max(weight for weight, _ in values)
    logs = []
    for stake in claims.stakes_of(direction[0], len(runs)):
        terms = []
        for weight, y in values:
            u = number(stake) * weight / largest
            terms += [oracle.log_factor(claims.kind, u, y, mu0, mu0, u * mu0, arithmetic), u * (mu0 - moved)]
        logs.append(arithmetic.total(terms))
    return oracle.mixture(logs, [number(1) / len(logs)] * len(logs), arithmetic)


def looks_of(claims: Claims, runs: Sequence[Run], direction: Direction) -> list[int]:
    """After how many runs there was a look at these two models."""
    there = sum(run[direction[1]] is not None and run[direction[2]] is not None for run in runs)
    return [r for r in claims.schedule if r <= there]


def log_s(
    claims: Claims, runs: Sequence[Run], direction: Direction, *, t: float | None = None, arithmetic: Arithmetic = FLOAT
) -> Any:
    """The logarithm of ``S`` after these runs; minus infinity before the first look."""
    looks = looks_of(claims, runs, direction)
    if not looks:
        return -math.inf
    logs = [log_look(claims, runs[:r], direction, t=t, arithmetic=arithmetic) for r in looks]
    return oracle.mixture(logs, [claims.schedule[r] for r in looks], arithmetic)


def margin(claims: Claims, runs: Sequence[Run], direction: Direction) -> float:
    """The largest ``t`` whose evidence reaches its threshold, by bisection; -1 without any."""
    looks = looks_of(claims, runs, direction)
    if not looks:
        return -1.0
    goal = math.log(claims.per_view / claims.views[direction[0]][1] / claims.alpha_margins)
    # The null enters every exponent linearly, so two values of t give all others.
    parts = []
    for r in looks:
        values = block_differences(claims, runs[:r], direction, FLOAT)
        largest, mu0 = max(weight for weight, _ in values), (1 + claims.tau) / 2
        for stake in claims.stakes_of(direction[0], r):
            us = [stake * weight / largest for weight, _ in values]
            bets = [
                oracle.log_factor(claims.kind, u, y, mu0, mu0, u * mu0, FLOAT)
                for u, (_, y) in zip(us, values, strict=True)
            ]
            parts.append((math.log(claims.schedule[r] / 12) + math.fsum(bets), math.fsum(us)))

    def enough(t: float) -> bool:
        return oracle.mixture([x + u * (claims.tau - t) / 2 for x, u in parts], [1.0] * len(parts)) >= goal

    low, high = -1.0, 1.0
    if not enough(low):
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


Batches = Sequence[tuple[Claims, Sequence[Run]]]
"""For each batch of items that was begun the claims, whose blocks and weights are those of its items, and its runs."""


def took_part(runs: Sequence[Run], direction: Direction) -> bool:
    """Whether the first run of a batch has both models: else they had been stopped before, and it counts 1 for them."""
    return runs[0][direction[1]] is not None and runs[0][direction[2]] is not None


def log_product(batches: Batches, direction: Direction, *, arithmetic: Arithmetic = FLOAT) -> Any:
    """The logarithm of the product over batches of the ``S`` of each; minus infinity without any."""
    logs = [
        log_s(claims, runs, direction, arithmetic=arithmetic) for claims, runs in batches if took_part(runs, direction)
    ]
    return arithmetic.total(logs) if logs and all(each > -math.inf for each in logs) else -math.inf


def product_margin(batches: Batches, direction: Direction) -> float:
    """The largest ``t`` at which the product reaches its threshold, by bisection; -1 without any."""
    claims, _ = batches[0]
    goal = math.log(claims.per_view / claims.views[direction[0]][1] / claims.alpha_margins)
    its = [(each, runs) for each, runs in batches if took_part(runs, direction)]
    if not its or any(not looks_of(each, runs, direction) for each, runs in its):
        return -1.0

    def enough(t: float) -> bool:
        return math.fsum(log_s(each, runs, direction, t=t) for each, runs in its) >= goal

    low, high = -1.0, 1.0
    if not enough(low):
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def standing(claims: Claims, runs: Sequence[Run]) -> list[set[Direction]]:
    """What stands after every run of one batch."""
    return standing_in([[(claims, runs[:r])] for r in range(1, len(runs) + 1)])


def standing_in(moments: Sequence[Batches]) -> list[set[Direction]]:
    """What stands at each of these moments, by trying everything again until nothing is new."""
    if not moments:
        return []
    claims, _ = moments[0][0]
    share = {view: each[1] / claims.per_view for view, each in enumerate(claims.views)}
    goal, stands, history = 1 / claims.alpha_certificates, set[Direction](), []
    for batches in moments:
        evidence = {e: math.exp(min(700.0, log_product(batches, e))) for e in claims.directions}
        while True:
            rest = [e for e in claims.directions if e not in stands]
            short = math.fsum(share[e[0]] * (goal - evidence[e]) for e in rest if evidence[e] < goal)
            new = {e for e in rest if evidence[e] >= goal + short / share[e[0]]}
            if not new:
                break
            stands |= new
            for view in range(len(claims.views)):
                models = range(claims.n_models)
                reach = oracle.closure([[(view, a, b) in stands for b in models] for a in models])
                stands |= {e for e in claims.directions if e[0] == view and reach[e[1]][e[2]]}
        history.append(set(stands))
    return history
