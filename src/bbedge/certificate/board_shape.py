"""What a certificate says of its board: the definition of its keys, as in :mod:`bbedge.certificate.shape`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from bbedge.certificate.values import Count, Hash, Level, Names, NotNegative, Number, Positive, Record, Share, Text
from bbedge.core.kinds import Copies, EvidenceKind, Method, PredictionRule, SpendingRule, StakeRule


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
    tau: Annotated[float, Meta(ge=0, lt=1)]
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
    margin_share: Annotated[float, Meta(ge=0, lt=1)] | UnsetType = UNSET
    """The part of every level that margins spend."""
    mean_share: Annotated[float, Meta(gt=0, lt=1)] | UnsetType = UNSET
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
    newcomer: Text | None
    """The added model; null for the first models of an epoch."""
    level: Level
    """The share of alpha that it spends."""
    directions: Positive
    """Directions that it tests."""
    design_hash: Hash
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
    design_hash: Hash
    """The registration: SHA-256 of the design, the first models, items and blocks, and the seed of their order."""
    head: Hash
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
