"""What runs cost, and what stopping early saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bbedge.evaluate.spec import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Calls, tokens and seconds; they add up.

    >>> (Usage(calls=1, tokens={"m": (10, 2)}) + Usage(calls=2, tokens={"m": (5, 1)})).tokens
    {'m': (15, 3)}
    """

    calls: int = 0
    """Requests to models that were answered; for a command, items."""
    tokens: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Tokens in and out, by engine model string: a judge's are counted where they were spent."""
    seconds: float = 0.0
    """Time that samples took, added up although they ran side by side."""

    def __add__(self, other: Usage) -> Usage:
        tokens = dict(self.tokens)
        for model, (read, written) in other.tokens.items():
            before = tokens.get(model, (0, 0))
            tokens[model] = (before[0] + read, before[1] + written)
        return Usage(calls=self.calls + other.calls, tokens=tokens, seconds=self.seconds + other.seconds)

    @property
    def total_tokens(self) -> int:
        """All tokens, in and out."""
        return sum(read + written for read, written in self.tokens.values())

    def cost(self, prices: Mapping[str, Price]) -> float | None:
        """The price of it all, or ``None`` if the price of a model is not known."""
        if not self.tokens or any(model not in prices for model in self.tokens):
            return None
        return sum(
            (read * prices[model].input + written * prices[model].output) / 1e6
            for model, (read, written) in self.tokens.items()
        )

    def scaled(self, factor: float) -> Usage:
        """So many times as much."""
        tokens = {model: (round(read * factor), round(out * factor)) for model, (read, out) in self.tokens.items()}
        return Usage(calls=round(self.calls * factor), tokens=tokens, seconds=self.seconds * factor)

    @property
    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "calls": self.calls,
            "tokens": {model: list(pair) for model, pair in self.tokens.items()},
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Usage:
        """The reverse of :attr:`content`."""
        tokens = {str(model): (int(pair[0]), int(pair[1])) for model, pair in content["tokens"].items()}
        return cls(calls=int(content["calls"]), tokens=tokens, seconds=float(content["seconds"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a study has used, beside what its whole budget would have used."""

    replicates: int
    """Replicates that were run."""
    budget: int
    """Replicates that could have been run."""
    used: Usage
    """What was used, failed attempts included."""
    full: Usage
    """What the full budget of all models would have used: each model's mean replicate, as often as there are any."""
    cost: float | None
    """Price of what was used; ``None`` without all prices."""
    full_cost: float | None
    """Price of the full budget."""

    @property
    def saved(self) -> float:
        """The part of the full budget's calls that was not needed."""
        return 1.0 - self.used.calls / self.full.calls if self.full.calls else 0.0


def spent(
    replicates: Iterable[Mapping[str, Usage]], *, budget: int, prices: Mapping[str, Price], unfinished: Usage
) -> Spent:
    """Add up the usage of every replicate and model; ``unfinished`` is what the replicate in progress has used."""
    by_model: dict[str, list[Usage]] = {}
    count = 0
    for replicate in replicates:
        count += 1
        for model, usage in replicate.items():
            by_model.setdefault(model, []).append(usage)
    used, full = unfinished, Usage()
    for usages in by_model.values():
        total = sum(usages, Usage())
        used += total
        full += total.scaled(budget / len(usages))
    return Spent(
        replicates=count,
        budget=budget,
        used=used,
        full=full,
        cost=used.cost(prices),
        full_cost=full.cost(prices),
    )
