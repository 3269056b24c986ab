"""What a certificate says of the design: the definition of its keys, as in :mod:`bbedge.certificate.shape`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from bbedge.certificate.values import LARGEST, Hash, Level, Names, NotNegative, Number, Positive, Record, Share
from bbedge.core.kinds import Copies, EvidenceKind, FamilyKind, Gaps, Holm, Method, PredictionRule, StakeRule


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
    order_seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    """The seed, drawn at random before the first request."""

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.fractions):
            raise ValueError("'checkpoints' has not one weight for each of the fractions")


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
    copies: Copies
    """Whether replicates that repeat others score by score count."""
    margin_share: Annotated[float, Meta(ge=0, lt=1)]
    """The part of alpha that margins spend. With 0, certificates and margins have alpha each."""
    mean_share: Annotated[float, Meta(gt=0, lt=1)] | UnsetType = UNSET
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
