"""What a certificate says of the board that it comes from: its claims, its history, and what it hides."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import UNSET, UnsetType

from bbedge.records.design import BoardOptions
from bbedge.records.values import (
    Count,
    Digest,
    Level,
    Name,
    Names,
    NotNegative,
    Positive,
    Record,
    Target,
    Text,
    Time,
    Trust,
)


class StageRecord(Record, frozen=True, kw_only=True):
    """An epoch or an added model, as something that spends a share of alpha."""

    claim: Count
    """Its number."""
    epoch: Positive
    """Its epoch."""
    newcomer: Name | None
    """The added model; null for the first models of an epoch."""
    target: Target | UnsetType = UNSET
    """What alone it is about, where the board is about both: it spends half of its level."""
    continues: Count | UnsetType = UNSET
    """The claim about new items that it continues after items were added, and spends nothing for."""
    level: Level
    """The share of alpha that it is tested at."""
    directions: Positive
    """Directions that it tests."""
    design_hash: Digest
    """SHA-256 of its design."""

    @property
    def spends(self) -> float:
        """What it spends of alpha."""
        return 0.0 if self.continues is not UNSET else self.level / (2 if self.target else 1)


class Attempts(Record, frozen=True, kw_only=True):
    """Attempts at the runs of an epoch: each is recorded before its first request."""

    begun: Positive
    """Attempts that have begun."""
    runs: Positive
    """Runs that they are attempts at, the one in progress included."""
    abandoned: Count
    """Attempts that were given up: their scores, if any were seen, are not on the board."""


StepKind = Literal["init", "pilot", "replicate", "add-model", "add-items", "retire", "withdraw"]


class StepRecord(Record, frozen=True, kw_only=True):
    """An event of the board that changed its models, its items, its evidence or its table; the headline's numbers."""

    event: Positive
    """Its place in the ledger."""
    time: Time
    """When it was recorded."""
    kind: StepKind
    """What happened, as the ledger calls it."""
    epoch: Positive
    """The epoch that it is part of, or that it began."""
    names: Names | UnsetType = UNSET
    """The models that came, were retired or withdrawn; of an epoch that began, all of its models; absent of runs."""
    items: Positive | UnsetType = UNSET
    """How many items are new."""
    kept: Count | UnsetType = UNSET
    """Edges between its models that stand when items are added; absent if they begin again."""
    run: Positive | UnsetType = UNSET
    """The number of the replicate, or of the pilot replicate."""
    checkpoint: Positive | UnsetType = UNSET
    """The checkpoint of the first replicate that was looked at; absent of a complete replicate."""
    edges: Count | UnsetType = UNSET
    """Edges after its look and all before it; absent if there was nothing to look at."""
    resolved_pairs: Count | UnsetType = UNSET
    """Pairs that these and their paths decide."""
    ranks: dict[Name, tuple[Positive, Positive]] | UnsetType = UNSET
    """The rank intervals that it changed or began with, by model; of the certificate's epoch, up to 500 models."""

    @property
    def has_look(self) -> bool:
        """Whether the board was looked at."""
        return self.edges is not UNSET


class WithdrawnRecord(Record, frozen=True, kw_only=True):
    """A model whose row tables do not show. It counts in every rank and comparison, as before."""

    model: Name
    """The model."""
    event: Positive
    """The event that withdrew it."""
    reason: Text
    """Why."""


class AnnouncementRecord(Record, frozen=True, kw_only=True):
    """Runs of a model that were announced before they were made. Of models without one, no runs were announced."""

    model: Name
    """The model."""
    event: Positive
    """The event that announced them."""
    epoch: Positive
    """The epoch that they are runs of."""
    announced: Positive
    """How many were announced."""
    delivered: Count
    """How many came with the model; the others count as missing once the announcement is closed."""
    open: bool
    """Whether its runs are waited for."""
    claim: Count
    """The claim that is reserved for the model, whether its runs come or not."""
    level: Level
    """The share of alpha that the claim spends."""


class TrustRecord(Record, frozen=True, kw_only=True):
    """How far the scores of a model can be trusted, as the board states it."""

    model: Name
    """The model."""
    event: Positive
    """The event that states it."""
    trust: Trust
    """How far."""
    by: Text
    """Who handed the scores in, or who says so."""
    sha256: Digest | UnsetType = UNSET
    """That of the submission that they came with."""


class BoardRecord(Record, frozen=True, kw_only=True):
    """The board that the leaderboard comes from; only from ``bbedge board``."""

    design: BoardOptions
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
    withdrawn: tuple[WithdrawnRecord, ...] | UnsetType = UNSET
    """Models whose rows tables do not show, in the order of their events; absent if there are none."""
    announcements: tuple[AnnouncementRecord, ...] | UnsetType = UNSET
    """Runs that were announced, in the order of their events; absent if there are none."""
    trust: tuple[TrustRecord, ...] | UnsetType = UNSET
    """How far scores can be trusted, for the models of which the board states it; absent if there are none."""
    alpha_spent: NotNegative
    """The part of alpha that the claims spend, those reserved for announced models included."""
    next_level: NotNegative
    """The level of the next claim; 0 if nothing is left."""
    claims: tuple[StageRecord, ...]
    """Every claim, first to last."""
    earlier_runs: tuple[Count, ...] | UnsetType = UNSET
    """Where items were added: how many runs each earlier batch of items had had before the epoch, in their order. The
    evidence about new items is the product over all batches."""
    attempts: Attempts | UnsetType = UNSET
    """Attempts at the runs of the epoch, if ``bbedge evaluate`` has run it."""
    timeline: tuple[StepRecord, ...]
    """What happened to the board, first to last: when models came and went, and what each look changed."""

    @property
    def spent(self) -> float:
        """What all claims spend, those of announced models that were not added included."""
        reserved = (each.level for each in self.announcements or () if not each.delivered)
        return math.fsum([*(claim.spends for claim in self.claims), *reserved])
