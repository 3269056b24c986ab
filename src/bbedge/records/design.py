"""Designs as they are written: of a certificate, and of a board.

The text under each field is its description in the JSON Schema.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal, TypedDict

from msgspec import UNSET, Meta, UnsetType, field, structs
from msgspec.structs import force_setattr

from bbedge.errors import Argument, DesignError, DomainError
from bbedge.records.options import COPIES_HELP, Options, ResolvedOptions
from bbedge.records.values import (
    HEADLINE,
    Copies,
    Digest,
    FamilyKind,
    Gaps,
    Level,
    Name,
    Names,
    NotNegative,
    Positive,
    Record,
    Seed,
    Share,
    Sparse,
    SpendingRule,
    Strict,
    option,
    sum_at_most_one,
)
from bbedge.text import listed, quoted


class Blocks(Record, frozen=True, kw_only=True):
    """How the items depend on each other."""

    count: Positive
    """Number of blocks."""
    sizes: tuple[Positive, ...]
    """Number of items of every block, largest first; items that weigh nothing are not counted."""


class Weights(Record, frozen=True, kw_only=True):
    """How much the items count in a weighted mean; the hash of the design covers every single weight."""

    items: Positive
    """Items that weigh anything; the others are not part of the mean."""
    largest: Share
    """The largest share that a single item has in the mean."""


FRACTIONS = (0.01, 0.02, 0.04, 0.07, 0.12, 0.20, 0.35, 0.60)
"""The checkpoints unless others are given: fractions of the blocks of the first run."""
COMPLETE = 0.5
"""The weight of complete runs unless another is given."""
_CLOSE = 1e-9  # weights whose sum is this near one are meant to add up to one; so are fractions of blocks
_ROUNDINGS = 2.0**-45  # more than the roundings of the weights can add up to


class CheckpointRule(Strict, frozen=True, kw_only=True):
    """Looks inside the first run of a benchmark version.

    They are valid because the order of the blocks is drawn at random once the items are known. So a rule has no seed: a
    board draws one whenever a version of the benchmark begins, and an event states it.

    >>> CheckpointRule(fractions=(0.1, 0.5), complete=0.6).weights
    (0.2, 0.2)
    """

    fractions: Annotated[tuple[Level, ...], Meta(min_length=1)] = FRACTIONS
    """The part of all blocks that is complete at each checkpoint, rising."""
    weights: tuple[Level, ...] = ()
    """The weight of each in the evidence; equal parts of what complete runs leave, if none are given."""
    complete: Level = COMPLETE
    """The weight of complete runs."""

    def __post_init__(self) -> None:
        if not self.fractions:
            raise DomainError("there are no checkpoints; give at least one fraction, or leave checkpoints out")
        if not all(0.0 < fraction < 1.0 for fraction in self.fractions):
            raise DomainError("a checkpoint is not allowed; checkpoints are fractions of the blocks between 0 and 1")
        if any(later <= earlier for earlier, later in pairwise(self.fractions)):
            raise DomainError("the checkpoints are not in rising order, each once; sort them")
        if not 0.0 < self.complete < 1.0:
            raise DomainError(f"a weight of {self.complete} for complete runs is not allowed; choose 0 < weight < 1")
        # Frozen as numbers: what a later version of bbedge prefers must not change a board.
        given = self.weights or ((1.0 - self.complete) / len(self.fractions),) * len(self.fractions)
        force_setattr(self, "fractions", tuple(map(float, self.fractions)))
        force_setattr(self, "weights", _with_sum_one(tuple(map(float, given)), self.complete, len(self.fractions)))

    def seeded(self, order_seed: int) -> Checkpoints:
        """The checkpoints of a benchmark version whose order has this seed."""
        return Checkpoints(**structs.asdict(self), order_seed=order_seed)


def _with_sum_one(weights: tuple[float, ...], complete: float, count: int) -> tuple[float, ...]:
    if len(weights) != count:
        raise DomainError(f"{count} checkpoints but {len(weights)} weights; give one weight per checkpoint")
    if not all(0.0 < weight < 1.0 for weight in weights):
        raise DomainError("the weight of a checkpoint is not allowed; weights are above 0 and below 1")
    total = math.fsum([complete, *weights])
    if abs(total - 1.0) > _CLOSE:
        raise DomainError(f"the weights of checkpoints and complete runs add up to {total:g}; they must add up to 1")
    shares = list(weights)
    left, given = 1 - Fraction(complete), sum(map(Fraction, shares))
    if given - left > _ROUNDINGS:  # weights that were rounded by hand
        shares = [float(Fraction(share) * left / given) for share in shares]
    return sum_at_most_one(shares, complete)


class Checkpoints(CheckpointRule, frozen=True, kw_only=True):
    """Looks inside the first run, whose blocks are run in a random order; fixed before the first request.

    **Needs:** a seed that was drawn at random once the items and their blocks were known, and not chosen.

    >>> Checkpoints(order_seed=7).complete, Checkpoints(order_seed=7).weights[0]
    (0.5, 0.0625)
    """

    order: Literal["sha256-1"] = "sha256-1"
    """How the order of the blocks follows from the seed; another algorithm would have another name."""
    order_seed: Seed
    """The seed, drawn at random before the first request."""

    def __post_init__(self) -> None:
        if type(self.order_seed) is not int or not 0 <= self.order_seed < 2**63:
            raise DomainError(
                Argument("order_seed", self.order_seed), " is not a whole number from 0 to 2^63 - 1; draw one at random"
            )
        super().__post_init__()

    def planned(self, n_blocks: int) -> dict[int, float]:
        """The blocks that are complete at each checkpoint of a run over so many, rising, and what each weighs.

        >>> Checkpoints(order_seed=7, fractions=(0.1, 0.5)).planned(15)
        {2: 0.25, 8: 0.25}
        """
        weight_of: dict[int, float] = {}
        for fraction, weight in zip(self.fractions, self.weights, strict=True):
            blocks = max(1, math.ceil(fraction * n_blocks - _CLOSE))
            # Of few blocks two fractions may be the same number, which is then one checkpoint with both weights.
            if blocks in weight_of:
                weight = math.nextafter(weight_of[blocks] + weight, 0.0)
            weight_of[blocks] = weight
        return weight_of


class FittedStake(Record, frozen=True, kw_only=True):
    """A stake that was chosen when it entered, from the noise that had been seen by then."""

    newcomer: Name | UnsetType = UNSET
    """The added model whose comparisons it is of; absent for those that opened the benchmark version."""
    horizon: NotNegative
    """For how many replicates it is made."""
    after: Positive
    """The replicate of its comparisons after which it entered."""
    noise: NotNegative
    """The noise of a block up to then, on the scale of half a difference."""
    stake: NotNegative
    """The stake that was chosen."""


class DesignRecord(ResolvedOptions, frozen=True, kw_only=True, forbid_unknown_fields=False, eq=False):
    """What was frozen before the first score was seen."""

    stake_values: tuple[NotNegative, ...]
    """The stakes that are known from the start."""
    stake_weights: tuple[NotNegative, ...]
    """Their weights, then those of the stakes that are fitted to the noise when they enter."""
    family: FamilyKind
    """Which directions are tested."""
    directions: Positive
    """Number of directions tested."""
    share: Share | UnsetType = UNSET
    """The part of alpha that the directions of this view have; all of it, if absent."""
    weights: Weights | UnsetType = UNSET
    """How the items are weighted in the means; if absent, all weigh the same."""
    gaps: Gaps | UnsetType = UNSET
    """What a missing score does; refuse, if absent."""
    checkpoints: Checkpoints | UnsetType = UNSET
    """Looks inside the first run; only complete runs are looked at, if absent."""
    hash: Digest
    """SHA-256 of the design; of a board, its registration."""
    blocks: Blocks
    """How the items depend on each other."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau < 0.0:
            raise ValueError("'tau' is below 0")


class Pilot(Record, frozen=True, kw_only=True):
    """How a pilot-targeted Top-k chose its candidate."""

    k: Positive
    """Number of models that it chose."""
    replicates: Positive
    """Replicates of the pilot, which are not evidence."""
    candidate: Names
    """The models that it chose."""


class Headline(Sparse, frozen=True, kw_only=True):
    """The means that the headline of a board compares: over all items, unless a column is named."""

    macro: Name | None = None
    """The column of categories whose means have the same weight, however many items each has."""
    weights: Name | None = None
    """The column with the weight of each item, which also counts inside categories."""
    share: Share | None = None
    """Its part of every level, beside views; it also has what is meant for views that a version does not have."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""
        return tuple(name for name in (self.macro, self.weights) if name is not None)


class Views(Sparse, frozen=True, kw_only=True):
    """The rule by which every benchmark version of a board has views: other means under the same alpha."""

    column: Name | None = None
    """The column of categories, each of which is a view."""
    weights: dict[str, Name] = field(default_factory=dict)
    """Views by name, each with the column of its weights."""
    shares: dict[str, Share] = field(default_factory=dict)
    """The part of every level that single views have; a version without such a view leaves it to the headline."""
    others: NotNegative | None = None
    """What all other views have together, in equal parts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.column is None and not self.weights:
            raise DesignError("views need a column, whose values they are, or weights, a column for each of them")
        for name, share in self.shares.items():
            if name == HEADLINE:
                raise DesignError(f"{HEADLINE} is no view among others; state its share with the headline")
            if self.column is None and name not in self.weights:
                raise DesignError(f"there is no view {quoted(name)} to have a share; there is {listed(self.weights)}")
            if not 0.0 < share < 1.0:
                raise DomainError(f"a share of {share} for {quoted(name)} is not allowed; choose 0 < share < 1")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that they need."""
        return (*(() if self.column is None else (self.column,)), *self.weights.values())


BoardFamily = Literal["all", "pilot-top-k"]
Pairing = Literal["all", "first"]
IncompleteRule = Literal["refuse", "worst-case", "zero"]
"""What a missing score does: it stops the command, counts against whichever model it could help, or is a failure."""


class BoardOptions(Options, frozen=True, kw_only=True):
    """The design of a board: the options, and what only a leaderboard that grows has to declare."""

    family: BoardFamily = "all"
    """All directions, or those from a Top-k candidate that a pilot chooses."""
    k: Positive | UnsetType = UNSET
    """Size of the candidate of pilot-top-k."""
    pilot: Positive | UnsetType = UNSET
    """Number of pilot replicates of pilot-top-k; they choose the candidate and never become evidence."""
    spending: SpendingRule = "open-ended"
    """How alpha is shared out over epochs and added models."""
    shares: Positive | UnsetType = UNSET
    """Number of claims that equal spending pays for."""
    pairing: Pairing = "all"
    """With which stored replicates a new model's runs are joined, in order: all of them, or the first few."""
    first: Positive | UnsetType = UNSET
    """How many, for pairing first."""
    headline: Headline | UnsetType = UNSET
    """The means that the headline compares; over all items with the same weight, if absent."""
    views: Views | UnsetType = UNSET
    """The rule for other views; none, if absent."""
    incomplete: Annotated[
        IncompleteRule,
        option(
            "What a missing score does. refuse: it stops the command. worst-case: it counts against whichever model it "
            "could help, whatever made it missing. zero: it is a failure. Part of the design: decide it before the "
            "first run."
        ),
    ] = "refuse"
    """What a missing score does: refuse stops the command, zero defines it as the lowest score."""
    checkpoints: CheckpointRule | UnsetType = UNSET
    """Looks inside the first run of every epoch; none, if absent."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.__struct_fields__:
            if getattr(self, name) is None:  # in Python, None may say that something is not set
                force_setattr(self, name, UNSET)


class Counting(TypedDict, total=False):
    """What counts of the scores that are added, where a design or a policy has rules already; the ledger states it."""

    copies: Annotated[Copies | None, option(COPIES_HELP, default="refuse")]
    incomplete: Annotated[
        IncompleteRule | None,
        option(
            "Count runs that are missing altogether by the rule of the design, which this repeats. Without it, a "
            "replicate stays incomplete until every active model has run, and a part that lacks scores is refused "
            "(refuse). Missing scores are final."
        ),
    ]
