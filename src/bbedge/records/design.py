"""Designs as they are written: of a certificate, and of the board that it comes from.

The text under each field is its description in the JSON Schema.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from bbedge.records.values import (
    LARGEST,
    Copies,
    Count,
    Digest,
    EvidenceKind,
    FamilyKind,
    Gaps,
    Holm,
    Level,
    Method,
    Name,
    Names,
    NotNegative,
    Number,
    Part,
    Positive,
    PredictionRule,
    Record,
    Seed,
    Share,
    SpendingRule,
    StakeRule,
)


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


class CheckpointsRecord(Record, frozen=True, kw_only=True):
    """Looks inside the first pass, whose blocks are run in a random order."""

    fractions: Annotated[tuple[Level, ...], Meta(min_length=1)]
    """The part of all blocks that is complete at each checkpoint, rising."""
    weights: tuple[Level, ...]
    """The weight of each in the evidence."""
    complete: Level
    """The weight of complete passes."""
    order: Literal["sha256-1"]
    """How the order of the blocks follows from the seed."""
    order_seed: Seed
    """The seed, drawn at random before the first request."""

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.fractions):
            raise ValueError("'checkpoints' has not one weight for each of the fractions")


class DesignRecord(Record, frozen=True, kw_only=True):
    """What was frozen before the first score was seen."""

    alpha: Level
    """Largest allowed probability of any false certificate."""
    tau: Part
    """What a certified difference exceeds, on the [0, 1] scale."""
    method: Method
    """The preset."""
    evidence: EvidenceKind
    """How outcomes become evidence."""
    prediction: PredictionRule
    """How the next score is predicted."""
    stakes: StakeRule | Literal["given"]
    """The rule of the stakes."""
    stake_values: tuple[NotNegative, ...]
    """The stakes."""
    stake_weights: tuple[NotNegative, ...]
    """Their weights."""
    family: FamilyKind
    """Which directions are tested."""
    directions: Positive
    """Number of directions tested."""
    score_range: tuple[Number, Number]
    """The scale of the scores, lower end first."""
    copies: Copies
    """Whether replicates that repeat others score by score count."""
    margin_share: Part
    """The part of alpha that margins spend. With 0, certificates and margins have alpha each."""
    mean_share: Level | UnsetType = UNSET
    """The part of alpha that the intervals of means spend; there are none if it is absent."""
    holm: Holm
    """How evidence becomes edges."""
    planned: Positive | None
    """The number of replicates that the stakes were made for; null if none was stated."""
    share: Share | UnsetType = UNSET
    """The part of alpha that the directions of this view have; all of it, if absent."""
    weights: Weights | UnsetType = UNSET
    """How the items are weighted in the means; if absent, all weigh the same."""
    gaps: Gaps | UnsetType = UNSET
    """What a missing score does; refuse, if absent."""
    checkpoints: CheckpointsRecord | UnsetType = UNSET
    """Looks inside the first pass; only complete passes are looked at, if absent."""
    hash: Digest
    """SHA-256 of the design; of a board, its registration."""
    blocks: Blocks
    """How the items depend on each other."""

    def __post_init__(self) -> None:
        if not 0.0 < self.score_range[1] - self.score_range[0] <= LARGEST:
            raise ValueError("'score_range' is not two numbers, lower first")

    @property
    def certificate_share(self) -> float:
        """The part of alpha that certificates spend."""
        return 1.0 - self.margin_share - (self.mean_share or 0.0)

    @property
    def is_joint(self) -> bool:
        """Whether certificates and margins hold together with probability at least 1 - alpha."""
        return self.margin_share > 0.0

    @property
    def has_memory(self) -> bool:
        """Whether what stands is the answer of every look."""
        return self.method == "bb-edge-x"


class Pilot(Record, frozen=True, kw_only=True):
    """How a pilot-targeted Top-k chose its candidate."""

    k: Positive
    """Number of models that it chose."""
    replicates: Positive
    """Replicates of the pilot, which are not evidence."""
    candidate: Names
    """The models that it chose."""


class BoardHeadline(Record, frozen=True, kw_only=True):
    """The means that the headline of a board compares: over all items, unless a column is named."""

    macro: str | UnsetType = UNSET
    """The column of categories whose means have the same weight."""
    weights: str | UnsetType = UNSET
    """The column with the weight of each item."""
    share: Share | UnsetType = UNSET
    """Its part of every level, beside views."""


class BoardViews(Record, frozen=True, kw_only=True):
    """The rule by which every epoch of a board has views."""

    column: str | UnsetType = UNSET
    """The column of categories, each of which is a view."""
    weights: dict[str, str] | UnsetType = UNSET
    """Views by name, each with the column of its weights."""
    shares: dict[str, Share] | UnsetType = UNSET
    """The part of every level that single views have."""
    others: NotNegative | UnsetType = UNSET
    """What all other views have together, in equal parts."""


class BoardCheckpoints(Record, frozen=True, kw_only=True):
    """The looks inside the first pass of every epoch of a board."""

    fractions: tuple[Level, ...]
    """The part of all blocks that is complete at each checkpoint."""
    weights: tuple[Level, ...]
    """The weight of each in the evidence."""
    complete: Level
    """The weight of complete passes."""


class BoardDesignRecord(Record, frozen=True, kw_only=True):
    """The frozen design of a board; what is not set is absent."""

    alpha: Level
    """Largest allowed probability of any false certificate in the whole life of the board."""
    tau: Part
    """What a certified difference exceeds, on the [0, 1] scale."""
    method: Method
    """The preset."""
    evidence: EvidenceKind | UnsetType = UNSET
    """Overrides the method's evidence."""
    prediction: PredictionRule | UnsetType = UNSET
    """Overrides the method's prediction rule."""
    stakes: StakeRule | UnsetType = UNSET
    """Overrides the method's stakes."""
    score_range: tuple[Number, Number]
    """The scale of the scores."""
    family: Literal["all", "pilot-top-k"]
    """All directions, or those from a candidate that a pilot chooses."""
    k: Positive | UnsetType = UNSET
    """Size of the candidate."""
    pilot: Positive | UnsetType = UNSET
    """Number of pilot replicates, which are not evidence."""
    spending: SpendingRule
    """How alpha is shared out over epochs and added models."""
    shares: Positive | UnsetType = UNSET
    """Number of claims that equal spending pays for."""
    pairing: Literal["all", "first"]
    """With which stored replicates a new model's runs are joined."""
    first: Positive | UnsetType = UNSET
    """How many, for pairing first."""
    copies: Copies
    """Whether replicates that repeat earlier ones score by score count."""
    margin_share: Part | UnsetType = UNSET
    """The part of every level that margins spend."""
    mean_share: Level | UnsetType = UNSET
    """The part of every level that intervals of means spend; there are none, if absent."""
    planned: Positive | UnsetType = UNSET
    """The number of replicates that the stakes are made for."""
    headline: BoardHeadline | UnsetType = UNSET
    """The means that the headline compares; over all items with the same weight, if absent."""
    views: BoardViews | UnsetType = UNSET
    """The rule for other views; none, if absent."""
    incomplete: Literal["refuse", "worst-case", "zero"]
    """What a missing score does: refuse stops the command."""
    checkpoints: BoardCheckpoints | UnsetType = UNSET
    """Looks inside the first pass of every epoch; none, if absent."""


class Claim(Record, frozen=True, kw_only=True):
    """An epoch or an added model, as something that spends a share of alpha."""

    claim: Count
    """Its place in the spending sequence."""
    epoch: Positive
    """Its epoch."""
    newcomer: Name | None
    """The added model; null for the first models of an epoch."""
    level: Level
    """The share of alpha that it spends."""
    directions: Positive
    """Directions that it tests."""
    design_hash: Digest
    """SHA-256 of its design."""


class Attempts(Record, frozen=True, kw_only=True):
    """Attempts at the runs of an epoch: each is recorded before its first request."""

    begun: Positive
    """Attempts that have begun."""
    runs: Positive
    """Runs that they are attempts at, the one in progress included."""
    abandoned: Count
    """Attempts that were given up: their scores, if any were seen, are not on the board."""


class BoardRecord(Record, frozen=True, kw_only=True):
    """The board that the leaderboard comes from; only from ``bbedge board``."""

    design: BoardDesignRecord
    """The frozen design."""
    design_hash: Digest
    """The registration: SHA-256 of the design, the first models, items and blocks, and the seed of their order."""
    head: Digest
    """The hash of the last event, which covers the whole history."""
    events: Positive
    """Number of events in the ledger."""
    epoch: Positive
    """The epoch of this certificate."""
    epochs: Positive
    """Number of epochs."""
    active: Names
    """Models that get more replicates."""
    retired: Names
    """Models that get no more replicates."""
    alpha_spent: NotNegative
    """The part of alpha that the claims spend."""
    next_level: NotNegative
    """The level of the next claim; 0 if nothing is left."""
    claims: tuple[Claim, ...]
    """Every claim, first to last."""
    attempts: Attempts | UnsetType = UNSET
    """Attempts at the runs of the epoch, if ``bbedge evaluate`` has run it."""
