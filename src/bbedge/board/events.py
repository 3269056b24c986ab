"""The events of a board: a frozen class for each kind, and the mapping between these classes and the ledger's texts.

Every event states the version of its keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, ClassVar, get_args

from bbedge.board.codec import (
    FLAT,
    Bits,
    ClaimKey,
    Codec,
    Count,
    Digest,
    Json,
    Name,
    Number,
    Ordinal,
    Seed,
    canonical,
    parsed,
    read_fields,
    written,
)
from bbedge.board.design import BoardDesign
from bbedge.board.passes import part_place
from bbedge.errors import BoardError
from bbedge.files import FILE_VERSION, check_file_version
from bbedge.records.notes import Note
from bbedge.text import quoted


def _read_design(values: Mapping[str, object]) -> BoardDesign:
    return BoardDesign.from_values(values, source="the board's design")


FrozenDesign = Annotated[BoardDesign, Codec(lambda value: isinstance(value, dict), _read_design, attrgetter("content"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A claim that an event opens."""

    claim: Count
    """Its place in the spending sequence."""
    level: Number
    """Its share of alpha."""
    newcomer: Name | None
    """The added model, or ``None`` for the stage that opens an epoch."""
    design_hash: Digest
    """The hash of its statistical design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEdge:
    """A direction certified for the first time."""

    winner: Name
    """The model certified above."""
    loser: Name
    """The model certified below."""
    log_e: Number
    """Its evidence at that look."""
    claim: Count
    """The claim whose level it was certified at."""
    replicate: Ordinal
    """The replicate of the look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The counts of a look."""

    edges: Count
    """Directions certified so far."""
    resolved_pairs: Count
    """Pairs with a certified direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOutcome:
    """What a look showed in a view."""

    look: Tally
    """What stands after it."""
    current: Mapping[ClaimKey, Bits]
    """The edges that it certifies, of each claim: the bits of its matrix, row by row."""
    certified: tuple[NewEdge, ...]
    """What is certified for the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a look showed, in the headline and in every other view."""

    look: Tally
    """What stands after it."""
    current: Mapping[ClaimKey, Bits]
    """The edges that it certifies, of each claim: the bits of its matrix, row by row."""
    certified: tuple[NewEdge, ...]
    """What is certified for the first time."""
    views: Mapping[Name, ViewOutcome] = field(default_factory=dict)
    """The same of the other views of the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCopy:
    """Earlier scores that a replicate repeats, although it was counted."""

    of: Ordinal
    """The replicate that it repeats, pilots included."""
    models: tuple[Name, ...]
    """The models that repeat their scores."""
    whole: bool
    """Whether every model that both replicates have does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where scores come from."""

    files: tuple[Digest, ...] = ()
    """The SHA-256 of each file."""
    copies: tuple[CountedCopy, ...] = ()
    """What was counted although it repeats earlier scores."""
    notes: tuple[Note, ...] = ()
    """What the reader noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What every event says."""

    kind: ClassVar[str]
    """What happened, as the ledger calls it."""
    version: Ordinal = FILE_VERSION
    """The version of its keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created(_Content):
    """The board was made and its design frozen."""

    kind = "init"
    design: FrozenDesign
    """The design."""
    registration: Digest
    """The hash of the design, models, items, blocks and columns."""
    models: tuple[Name, ...]
    """The models that open the first epoch."""
    items: tuple[Name, ...]
    """Its items."""
    blocks: tuple[Name, ...]
    """The block of each item."""
    columns: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    """What else the design uses of each item, by the name of the column."""
    order_seed: Seed | None = None
    """The seed of the order in which the blocks of the first pass are run."""
    stages: tuple[Opened, ...]
    """The claims that it opens: none while there is a pilot to come."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of each claim."""

    @property
    def computed_registration(self) -> str:
        """The registration, computed from what is frozen."""
        return self.design.registration(self.models, self.items, self.blocks, self.columns, order_seed=self.order_seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _InEpoch(_Content):
    """What every later event says."""

    epoch: Ordinal
    """The benchmark version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotAdded(_InEpoch):
    """A pilot replicate was added."""

    kind = "pilot"
    pilot: Ordinal
    """Its number."""
    vectors: Mapping[Name, Digest]
    """The checksum of the scores of each model."""
    candidate: tuple[Name, ...] | None
    """The Top-k candidate, if this was the last pilot replicate."""
    stages: tuple[Opened, ...]
    """The claims that it opens."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of each claim."""
    gaps: Mapping[Name, Ordinal] = field(default_factory=dict)
    """The number of missing scores of each model that lacks any."""
    runs: tuple[Name, ...] = ()
    """The identities of its runs."""
    origin: Origin = field(metadata=FLAT)
    """Where the scores come from."""

    @property
    def place(self) -> int:
        """Where its scores are stored: pilots are counted down from -1."""
        return -self.pilot


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAdded(_InEpoch):
    """The first pass came to a checkpoint."""

    kind = "part"
    checkpoint: Ordinal
    """The number of the checkpoint."""
    blocks: Ordinal
    """The blocks that are complete at it."""
    items: Ordinal
    """The items that were run since the checkpoint before."""
    vectors: Mapping[Name, Digest]
    """The checksum of the scores of each model on these items, in the order in which they are run."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of each claim."""
    outcome: Outcome = field(metadata=FLAT)
    """What the look showed."""
    gaps: Mapping[Name, Ordinal]
    """The number of missing scores of each model that lacks any."""
    runs: tuple[Name, ...] = ()
    """The identities of its runs."""
    origin: Origin = field(metadata=FLAT)
    """Where the scores come from."""

    @property
    def place(self) -> int:
        """Where its scores are stored."""
        return part_place(self.checkpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicateAdded(_InEpoch):
    """A replicate was added to the evidence."""

    kind = "replicate"
    replicate: Ordinal
    """Its number."""
    vectors: Mapping[Name, Digest]
    """The checksum of the scores of each model."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of each claim."""
    outcome: Outcome = field(metadata=FLAT)
    """What the look showed."""
    gaps: Mapping[Name, Ordinal] = field(default_factory=dict)
    """The number of missing scores of each model that lacks any."""
    runs: tuple[Name, ...] = ()
    """The identities of its runs."""
    origin: Origin = field(metadata=FLAT)
    """Where the scores come from."""

    @property
    def place(self) -> int:
        """Where its scores are stored."""
        return self.replicate


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAdded(_InEpoch):
    """A model joined the stored replicates."""

    kind = "add-model"
    model: Name
    """The model."""
    vectors: tuple[Digest, ...]
    """The checksum of its scores in the first replicates, in order."""
    stages: tuple[Opened, ...]
    """The claim that it opens."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of that claim."""
    outcome: Outcome | None = field(default=None, metadata=FLAT)
    """What the look showed, if there were replicates to look at."""
    gaps: tuple[Count, ...] = ()
    """The number of missing scores in each of these."""
    runs: tuple[tuple[Name, ...], ...] = ()
    """The identities of these runs."""
    origin: Origin = field(metadata=FLAT)
    """Where the scores come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsAdded(_InEpoch):
    """More items opened an epoch."""

    kind = "add-items"
    items: tuple[Name, ...]
    """The new items."""
    blocks: tuple[Name, ...]
    """The block of each."""
    columns: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    """What else the design uses of each, by the name of the column."""
    order_seed: Seed | None = None
    """The seed of the order in which the blocks of its first pass are run."""
    models: tuple[Name, ...]
    """The models of the epoch."""
    stages: tuple[Opened, ...]
    """The claim that it opens."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of that claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetired(_InEpoch):
    """A model was stopped."""

    kind = "retire"
    model: Name
    """The model."""
    cache: Mapping[ClaimKey, Digest]
    """The checksum of the saved evidence of each claim of the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAdded(_InEpoch):
    """Something that readers of the board should know was written down."""

    kind = "note"
    about: str
    """What it is about, for programs."""
    text: str
    """The sentence to show."""
    particulars: Json = field(default_factory=dict)
    """Anything else."""


Content = Created | PilotAdded | PartAdded | ReplicateAdded | ModelAdded | ItemsAdded | ModelRetired | NoteAdded
_KINDS: dict[str, type[Content]] = {cls.kind: cls for cls in get_args(Content)}
KINDS = tuple(_KINDS)
"""What the ledger calls the kinds of events."""


def to_payload(content: Content) -> str:
    """An event as canonical JSON."""
    return canonical(written(content))


def from_payload(kind: str, payload: str) -> Content:
    """The event of a kind that a text stands for; ``BoardError`` says what is wrong with any other text."""
    content, cls = parsed(payload), _KINDS.get(kind)
    if cls is None:
        raise BoardError(f"the kind {quoted(kind)} is unknown")
    check_file_version(content.get("version"), what="its content", kind=BoardError)
    values, used = read_fields(cls, content)
    unknown = sorted(content.keys() - used)
    if unknown:
        raise BoardError(f"the key {quoted(unknown[0])} is unknown")
    return cls(**values)
