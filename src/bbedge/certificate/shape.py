"""The one definition of the certificate: every key of the document, its type, and whether it may be absent.

The writer fills these records, the reader converts into them, and the JSON Schema and the messages about a damaged file
are made from them: the text under each field is its description in the schema.
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from numpy.typing import NDArray

from bbedge.core.kinds import Copies, EvidenceKind, FamilyKind, Holm, Method, PredictionRule, SpendingRule, StakeRule

LARGEST_COUNT = 2**53
"""Whole numbers beyond it are not exact in every program that reads JSON."""
LARGEST = sys.float_info.max

Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
NotNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
Level = Annotated[float, Meta(gt=0, lt=1)]
Text = Annotated[str, Meta(min_length=1)]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[str, Meta(pattern="^[1-9][0-9]*$")]
Matrix = NDArray[np.float64]
"""Rows and columns in the order of ``models``; null in JSON, NaN here, where a direction is not tested."""
Names = tuple[str, ...]
Pair = tuple[str, str]
Group = Annotated[tuple[str, ...], Meta(min_length=2)]
TopSets = dict[Size, Names | None]


class Record(Struct, frozen=True, eq=False):
    """A JSON object; unknown keys are ignored, so that later versions may add some."""


class Blocks(Record, frozen=True, kw_only=True):
    """How the items depend on each other."""

    count: Positive
    """Number of blocks."""
    sizes: tuple[Positive, ...]
    """Of every block, largest first."""


class DesignRecord(Record, frozen=True, kw_only=True):
    """What was frozen before the first score was seen."""

    alpha: Level
    """Largest allowed probability of any false certificate."""
    tau: Annotated[float, Meta(ge=0, lt=1)]
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
    copies: Copies | UnsetType = UNSET
    """Whether replicates that repeat others score by score count."""
    edition: Positive | UnsetType = UNSET
    """The edition of the method; the first, if absent."""
    margin_share: Annotated[float, Meta(ge=0, lt=1)] | UnsetType = UNSET
    """The part of alpha that margins spend. With 0, or if absent, certificates and margins have alpha each."""
    holm: Holm | UnsetType = UNSET
    """How evidence becomes edges; direct, if absent."""
    planned: Positive | UnsetType | None = UNSET
    """The number of replicates that the stakes were made for; null if none was stated."""
    hash: Hash
    """SHA-256 of the design; of a board, its registration."""
    blocks: Blocks
    """How the items depend on each other."""

    def __post_init__(self) -> None:
        if not 0.0 < self.score_range[1] - self.score_range[0] <= LARGEST:
            raise ValueError("'score_range' is not two numbers, lower first")

    @property
    def certificate_share(self) -> float:
        """The part of alpha that certificates spend."""
        return 1.0 - (self.margin_share or 0.0)

    @property
    def is_joint(self) -> bool:
        """Whether certificates and margins hold together with probability at least 1 - alpha."""
        return bool(self.margin_share)

    @property
    def has_memory(self) -> bool:
        """Whether what stands is the answer of every look."""
        return self.edition is not UNSET and self.edition > 1


class Pilot(Record, frozen=True, kw_only=True):
    """How a pilot-targeted Top-k chose its candidate."""

    k: Positive
    """Number of models that it chose."""
    replicates: Positive
    """Replicates of the pilot, which are not evidence."""
    candidate: Names
    """The models that it chose."""


class Model(Record, frozen=True, kw_only=True):
    """What may be concluded about a model."""

    name: Text
    """Its name."""
    mean: Number | None
    """Its mean score; null before the first replicate."""
    rank_interval: tuple[Positive, Positive]
    """The best and the worst rank it can have."""
    standing_rank_interval: tuple[Positive, Positive]
    """The same for what stands."""
    tier: Positive
    """Between which certified cuts it is, from 1."""
    certified_above: Count
    """Models this one is certified above."""
    certified_below: Count
    """Models certified above this one."""
    standing_tier: Positive | UnsetType = UNSET
    """The same for what stands."""
    standing_certified_above: Count | UnsetType = UNSET
    """The same for what stands."""
    standing_certified_below: Count | UnsetType = UNSET
    """The same for what stands."""


class Edge(Record, frozen=True, kw_only=True):
    """A certified direction."""

    winner: str
    """The better model."""
    loser: str
    """The worse model."""
    log_e: Number
    """Its evidence."""
    margin: Number
    """The difference is at least this, in score units."""
    path_margin: Number
    """What tau times the longest path of edges implies, in score units."""
    first_certified: Positive
    """Replicate of the first look that certified it."""


class Counts(Record, frozen=True, kw_only=True):
    """How long the lists of pairs are, whether they are written or not."""

    pairs: Positive
    """Pairs of models."""
    resolved_pairs: Count
    """Pairs that an edge or a path of the last look decides."""
    edges: Count
    """Edges of the last look."""
    standing_edges: Count
    """Edges of all looks."""
    standing_resolved_pairs: Count | UnsetType = UNSET
    """Pairs that an edge or a path of what stands decides."""


class LookRecord(Record, frozen=True, kw_only=True):
    """What was certified after a replicate."""

    replicate: Positive
    """The replicate."""
    edges: Count
    """Edges of this look."""
    resolved_pairs: Count
    """Pairs that these and their paths decide."""
    standing_edges: Count | UnsetType = UNSET
    """Edges of this look and all before it."""
    standing_resolved_pairs: Count | UnsetType = UNSET
    """Pairs that these decide."""


class HistoryRecord(Record, frozen=True, kw_only=True):
    """Evidence, or wealth where there is log_w, look by look, rounded to 4 decimals, for figures."""

    replicates: tuple[Positive, ...]
    """Of the looks that were kept: at most 62, the last one among them."""
    log_thresholds: tuple[Number, ...]
    """The threshold of each."""
    log_e: tuple[Matrix, ...] | UnsetType = UNSET
    """The evidence of each; absent where there is log_w."""
    log_w: tuple[Matrix, ...] | UnsetType = UNSET
    """The wealth of each, of staggered e-Holm."""

    def __post_init__(self) -> None:
        if (self.log_e is UNSET) == (self.log_w is UNSET):
            raise ValueError("'history' has not exactly one of 'log_e' and 'log_w'")
        if not len(self.replicates) == len(self.log_thresholds) == len(self.values):
            raise ValueError("'history' has lists of different lengths")

    @property
    def values(self) -> tuple[Matrix, ...]:
        """What is compared with the thresholds."""
        return self.log_e or self.log_w or ()


class Prospect(Record, frozen=True, kw_only=True):
    """An open pair and how far its evidence has come."""

    ahead: str
    """The model with more evidence on its side so far; not a claim."""
    behind: str
    """The other model."""
    log_e: Number
    """The evidence of the model that is ahead."""
    log_threshold: Number
    """What it must reach."""
    more_replicates: tuple[Positive, Positive] | None
    """From and to: a forecast without guarantee; null where the evidence does not grow or a model was stopped."""
    within: tuple[Number | None, Number | None] | UnsetType = UNSET
    """Simultaneous bounds of the difference, ahead minus behind; null where that direction is not tested."""
    stands: bool | UnsetType = UNSET
    """Whether an earlier look decided the pair, and that stands."""

    def __post_init__(self) -> None:
        if not self.log_threshold > 0.0:
            raise ValueError("'log_threshold' is not above zero")
        if self.more_replicates is not None and self.more_replicates[0] > self.more_replicates[1]:
            raise ValueError("'more_replicates' is not a range")


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
    family: Literal["all", "pilot-top-k"] | UnsetType = UNSET
    """All directions, or those from a candidate that a pilot chooses."""
    k: Positive | UnsetType = UNSET
    """Size of the candidate."""
    pilot: Positive | UnsetType = UNSET
    """Number of pilot replicates, which are not evidence."""
    spending: SpendingRule | UnsetType = UNSET
    """How alpha is shared out over epochs and added models."""
    shares: Positive | UnsetType = UNSET
    """Number of claims that equal spending pays for."""
    pairing: Literal["all", "first"] | UnsetType = UNSET
    """With which stored replicates a new model's runs are joined."""
    first: Positive | UnsetType = UNSET
    """How many, for pairing first."""
    copies: Copies | UnsetType = UNSET
    """Whether replicates that repeat earlier ones score by score count."""
    edition: Positive | UnsetType = UNSET
    """The edition of the method; the first, if absent."""
    margin_share: Annotated[float, Meta(ge=0, lt=1)] | UnsetType = UNSET
    """The part of every level that margins spend."""
    planned: Positive | UnsetType = UNSET
    """The number of replicates that the stakes are made for."""


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


class BoardRecord(Record, frozen=True, kw_only=True):
    """The board that the leaderboard comes from; only from ``bbedge board``."""

    design: BoardDesignRecord
    """The frozen design."""
    design_hash: Hash
    """The registration: SHA-256 of the design, the first models, items and blocks."""
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


class Document(Record, frozen=True, kw_only=True):
    """What ``bbedge certify --json`` and ``bbedge board show --json`` write.

    A key that starts with standing is about everything certified at any look, the key without it about the last look
    alone; from the second edition of bb-edge-x on they are the same. Means and margins are in score units; log_e and
    log_w are natural logarithms. With more than 500 models log_e, log_w, margins, edges, standing_edges, unresolved,
    standing_unresolved, top_k and standing_top_k are null, all of them together; counts and certified_k are always
    there. Keys that are not required are absent from certificates of earlier versions, from those of a method that
    does not have them, or from those that are not of a board.
    """

    bbedge: str
    """Version that wrote the document."""
    design: DesignRecord
    """What was frozen before the first score was seen."""
    pilot: Pilot | None
    """How a pilot-targeted Top-k chose its candidate; null for the full graph."""
    items: Positive
    """Number of items."""
    replicates: Count
    """Replicates in the evidence; a pilot's are not."""
    models: Annotated[tuple[Model, ...], Meta(extra_json_schema={"minItems": 2})]
    """In the order of the leaderboard, which is the order of the matrices."""
    log_threshold: Number | None
    """What log_e had to reach at the last look, at most; null before anything is tested."""
    log_e: Matrix | None
    """Evidence that the row's model beats the column's; null where not tested."""
    log_w: Matrix | UnsetType | None = UNSET
    """The wealth that staggered e-Holm compares with one over the level of certificates; absent for direct e-Holm."""
    margins: Matrix | None
    """Simultaneous lower bounds of row minus column; null where not tested."""
    edges: tuple[Edge, ...] | None
    """The graph at the last look."""
    standing_edges: tuple[Edge, ...] | None
    """Everything certified at any look."""
    unresolved: tuple[Pair, ...] | None
    """Pairs that neither an edge nor a path of the last look decides."""
    standing_unresolved: tuple[Pair, ...] | UnsetType | None = UNSET
    """Pairs that nothing that stands decides."""
    top_k: TopSets | None
    """For every k from 1 to one less than the number of models: the certified set, or null."""
    standing_top_k: TopSets | UnsetType | None = UNSET
    """The same for what stands."""
    counts: Counts | UnsetType = UNSET
    """How long the lists of pairs are, whether they are written or not."""
    certified_k: tuple[Positive, ...] | UnsetType = UNSET
    """Every k whose Top-k set is certified at the last look, smallest first; the set is the first k of models."""
    standing_certified_k: tuple[Positive, ...] | UnsetType = UNSET
    """The same for what stands."""
    looks: tuple[LookRecord, ...]
    """Every look, first to last."""
    history: HistoryRecord | UnsetType | None = UNSET
    """Evidence look by look; null with more than 30 models, and from a board where a model was added to the epoch."""
    outlook: tuple[Prospect, ...] | UnsetType = UNSET
    """At most 200 open pairs, those that may be certified soonest first."""
    contradictions: tuple[Group, ...]
    """Groups of models certified above each other: a false edge or a broken assumption."""
    notes: tuple[str, ...]
    """What a reader of the leaderboard should know besides its numbers."""
    board: BoardRecord | UnsetType = UNSET
    """The board that the leaderboard comes from."""
