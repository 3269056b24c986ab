"""The first pass of a board in parts: what a design plans, the seed of the order, and where parts are stored.

Looks inside a pass are valid because the order of its blocks was drawn at random once the items were known. So a design
has no seed. The board draws one whenever a version of the benchmark begins, and its first event states it.
"""

from __future__ import annotations

import secrets

from msgspec.structs import force_setattr

from bbedge.core.checkpoints import COMPLETE, FRACTIONS, Checkpoints
from bbedge.records.events import PARTS
from bbedge.records.values import Strict

_SEEDS = 2**53
"""Seeds are below this, so that programs that read JSON numbers as floats see them as they are."""

MOST_PILOTS = PARTS
"""A pilot beside checkpoints has at most as many replicates."""


class CheckpointRule(Strict, frozen=True, kw_only=True):
    """The looks inside the first pass of every version of the benchmark.

    >>> CheckpointRule(fractions=(0.1, 0.5), complete=0.6).weights
    (0.2, 0.2)
    """

    fractions: tuple[float, ...] = FRACTIONS
    """The part of all blocks that is complete at each checkpoint, rising."""
    weights: tuple[float, ...] = ()
    """The weight of each checkpoint in the evidence; equal parts of what complete passes leave, if none are given."""
    complete: float = COMPLETE
    """The weight of complete passes. With those of the checkpoints it adds up to 1."""

    def __post_init__(self) -> None:
        # Frozen as numbers: what a later version of bbedge prefers must not change a board.
        stated = self.seeded(0)
        force_setattr(self, "fractions", stated.fractions)
        force_setattr(self, "weights", stated.weights)

    def seeded(self, order_seed: int) -> Checkpoints:
        """The checkpoints of a version whose order has this seed."""
        return Checkpoints(
            order_seed=order_seed, fractions=self.fractions, weights=self.weights, complete=self.complete
        )


def drawn_seed() -> int:
    """A new seed, from the operating system's source of randomness."""
    return secrets.randbelow(_SEEDS)


def part_place(checkpoint: int) -> int:
    """Where the scores of a part are stored, in the place of a replicate's number."""
    return -PARTS - checkpoint


def part_number(place: int) -> int | None:
    """The checkpoint whose part is stored at a place; ``None`` where that is a replicate or a pilot."""
    return -PARTS - place if place < -PARTS else None
