"""Looks inside the first run, slow and literal: one direction, order, block, stake and checkpoint at a time.

Nothing here is shared with the package. A panel is a list of rows, one per model; NaN is a missing score, which is 0
for the better model of a direction and 1 for the worse one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setting:
    """What must be known of a design."""

    items: tuple[str, ...]
    blocks: tuple[str, ...]
    seed: int
    fractions: tuple[float, ...]
    shares: tuple[float, ...]
    """The weight of each checkpoint."""
    complete: float
    alpha: float
    """The level of the certificates."""
    directions: float
    """Directions tested, divided by the share of the view."""
    tau: float = 0.0
    weights: tuple[float, ...] | None = None
    kind: str = "betting"
    members: dict[str, list[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for place, block in enumerate(self.blocks):
            self.members.setdefault(block, []).append(place)

    @property
    def item_weights(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.items)

    def weight(self, block: str) -> float:
        return math.fsum(self.item_weights[i] for i in self.members[block])

    @property
    def heaviest(self) -> float:
        return max(self.weight(block) for block in self.members)

    @property
    def order(self) -> list[str]:
        """The blocks by the SHA-256 of the algorithm's name, the seed, the benchmark and the items of the block."""

        def sha(*texts: str) -> str:
            return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()

        names = {block: json.dumps(sorted(self.items[i] for i in places)) for block, places in self.members.items()}
        whole = sha(*sorted(names.values()))
        return sorted(names, key=lambda block: sha("sha256-1", str(self.seed), whole, names[block]))

    @property
    def checkpoints(self) -> list[tuple[int, float]]:
        """Blocks and weight of each checkpoint."""
        found: dict[int, float] = {}
        for fraction, share in zip(self.fractions, self.shares, strict=True):
            n = math.ceil(round(fraction * len(self.members), 6))
            found[n] = found.get(n, 0.0) + share
        return sorted(found.items())

    def stakes(self, n: int, share: float, tau: float | None = None) -> list[float]:
        """Twelve stakes for ``n`` blocks and one run; with another tau, cut to what that allows."""
        worth = sum((self.weight(block) / self.heaviest) ** 2 for block in self.members) * n / len(self.members)
        budget = 2 * math.log(self.directions / (self.alpha * share))
        grid = []
        for g in range(12):
            kappa = (1 / 80) * (0.25 * 80) ** (g / 11)
            stake = min(0.95 / ((1 + self.tau) / 2), math.sqrt(budget / (worth * kappa)))
            grid.append(stake if tau is None else min(stake, 0.95 / max(1e-9, (1 + tau) / 2)))
        return grid

    def mean(self, row: Sequence[float], block: str, missing: float) -> float:
        places = [i for i in self.members[block] if self.item_weights[i] > 0]
        scores = [missing if math.isnan(row[i]) else row[i] for i in places]
        total = math.fsum(self.item_weights[i] for i in places)
        return math.fsum(self.item_weights[i] * score for i, score in zip(places, scores, strict=True)) / total

    def evidence(self, a: Sequence[float], b: Sequence[float], n: int, share: float, tau: float | None = None) -> float:
        """``E_n``: the mean over stakes of the product over the first ``n`` blocks."""
        mu = (1 + (self.tau if tau is None else tau)) / 2
        total = 0.0
        for stake in self.stakes(n, share, tau):
            log = 0.0
            for block in self.order[:n]:
                u = stake * self.weight(block) / self.heaviest
                if u == 0.0:
                    continue
                y = (self.mean(a, block, 0.0) - self.mean(b, block, 1.0) + 1) / 2
                log += self.log_factor(u, y - mu, u * mu)
            total += math.exp(log) / 12
        return total

    def log_factor(self, u: float, x: float, reach: float) -> float:
        z = u * x
        if self.kind == "betting":
            return math.log(1 + z)
        tail = (-math.log(1 - reach) - reach - reach**2 / 2 - reach**3 / 3) / reach**4
        return z - z**2 / 2 + z**3 / 3 - tail * z**4

    def sums(self, a: Sequence[float], b: Sequence[float], tau: float | None = None) -> list[float]:
        """``S`` after each checkpoint."""
        parts = [share * self.evidence(a, b, n, share, tau) for n, share in self.checkpoints]
        return list(itertools.accumulate(parts))


def e_holm(evidence: dict[tuple[int, int], float], alpha: float, q: dict[tuple[int, int], float] | None = None) -> set:
    """Direct e-Holm with weights, straight from its definition."""
    q = q or dict.fromkeys(evidence, 1.0)
    t = 1 / alpha
    lack = sum(q[e] * (t - value) for e, value in evidence.items() if value < t)
    return {f for f, value in evidence.items() if value >= t + lack / q[f]}


def with_memory(evidence: dict, certified: set, alpha: float, entered: float, cash: float) -> set:
    """One look of e-Holm with memory for evidence that all enters at the start, by trying every set of directions.

    ``entered`` is the weight of what has entered, ``cash`` of what has not. What follows by paths is added.
    """
    certified = set(certified)
    while True:
        rest = [e for e in evidence if e not in certified]
        new = set()
        for e in rest:
            others = [f for f in rest if f != e]
            least = min(
                (evidence[e] + sum(evidence[f] for f in some)) / (entered * (1 + len(some)))
                for size in range(len(others) + 1)
                for some in itertools.combinations(others, size)
            )
            if entered * least + cash >= 1 / alpha:
                new.add(e)
        if not new:
            return certified
        certified |= new
        while paths := {(a, d) for a, b in certified for c, d in certified if b == c and a != d} - certified:
            certified |= paths
