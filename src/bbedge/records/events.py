"""The events of a ledger: a struct for each kind, as the ledger's texts hold them.

An event has the keys of its struct and no others; every one states the version of its keys. What an event says is
admitted by the room whose ledger it is on; here are only keys, types and bounds. What follows from the scores and the
events before has a default in Python, because a proposed event does not state it yet; in a ledger it is always there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from bbedge.errors import BoardError
from bbedge.records.codec import FILE_VERSION
from bbedge.records.notes import Note
from bbedge.records.values import (
    NOT_BLANK,
    Copies,
    Digest,
    Level,
    Name,
    Number,
    Ordinal,
    Seed,
    Stored,
    Strict,
    Target,
    Text,
    Trust,
)


class Opened(Strict, frozen=True, kw_only=True):
    """A claim that an event opens."""

    claim: Stored
    """Its number."""
    level: Number
    """Its share of alpha."""
    newcomer: Name | None
    """The added model, or ``None`` for the stage that opens an epoch."""
    target: Target | UnsetType = UNSET
    """What alone it is about, where the board is about both targets: half of the level is spent."""
    continues: Stored | UnsetType = UNSET
    """The claim about new items that it continues after items were added, and spends nothing for."""
    design_hash: Digest
    """The hash of its statistical design."""


class NewEdge(Strict, frozen=True, kw_only=True):
    """A direction certified for the first time."""

    winner: Name
    """The model certified above."""
    loser: Name
    """The model certified below."""
    log_e: Number
    """Its evidence at that look."""
    claim: Stored
    """The claim whose level it was certified at."""
    replicate: Ordinal
    """The replicate of the look."""


class Tally(Strict, frozen=True, kw_only=True):
    """The counts of a look."""

    edges: Stored
    """Directions certified so far."""
    resolved_pairs: Stored
    """Pairs with a certified direction."""


class ViewOutcome(Strict, frozen=True, kw_only=True):
    """What a look showed in a view."""

    look: Tally
    """What stands after it."""
    current: dict[Stored, bytes]
    """The edges that it certifies, of each claim: the bits of its matrix, row by row."""
    certified: tuple[NewEdge, ...]
    """What is certified for the first time."""


class Outcome(ViewOutcome, frozen=True, kw_only=True):
    """What a look showed, in the headline and in every other view."""

    views: dict[Name, ViewOutcome] = field(default_factory=dict)
    """The same of the other views of the epoch."""

    @classmethod
    def of(cls, event: ReplicateAdded | ModelAdded) -> Outcome:
        """What an event says that its look showed."""
        return cls(**{name: getattr(event, name) for name in cls.__struct_fields__})


class CountedCopy(Strict, frozen=True, kw_only=True):
    """Earlier scores that a replicate repeats, although it was counted."""

    of: Ordinal
    """The replicate that it repeats, pilots included."""
    models: tuple[Name, ...]
    """The models that repeat their scores."""
    whole: bool
    """Whether every model that both replicates have does."""


class Event(Strict, frozen=True, kw_only=True):
    """What every event says."""

    kind: ClassVar[str]
    """What happened, as the ledger calls it."""
    version: Ordinal = FILE_VERSION
    """The version of its keys."""


class NewItems(Event, frozen=True, kw_only=True):
    """What both events say that open an epoch."""

    items: tuple[Name, ...]
    """The items that come with it."""
    blocks: tuple[Name, ...]
    """The block of each."""
    columns: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    """What else the design uses of each, by the name of the column."""
    order_seed: Seed | None = None
    """The seed of the order in which the blocks of its first run come."""
    stages: tuple[Opened, ...] = ()
    """The claims that it opens: none while there is a pilot to come."""
    cache: dict[Stored, Digest] = field(default_factory=dict)
    """The checksum of the saved evidence of each claim."""


class Created(NewItems, frozen=True, kw_only=True):
    """The board was made and its design frozen."""

    kind = "init"
    design: dict[str, Any]
    """The design, as plain values."""
    registration: Digest
    """The hash of the design, models, items, blocks and columns."""
    models: tuple[Name, ...]
    """The models that open the first epoch."""


class _InEpoch(Event, frozen=True, kw_only=True):
    """What every later event says."""

    epoch: Ordinal
    """The benchmark version."""


class _Scored(_InEpoch, frozen=True, kw_only=True):
    """What every event that brings scores says of their origin."""

    files: tuple[Digest, ...] = ()
    """The SHA-256 of each file."""
    copy_rule: Copies
    """What was decided about scores that repeat earlier ones: whether they stop the work, or count."""
    whole_runs: bool
    """Whether models or runs without any score count, by the design's rule for missing scores."""
    copies: tuple[CountedCopy, ...] = ()
    """What was counted although it repeats earlier scores."""
    notes: tuple[Note, ...] = ()
    """What the reader noticed."""
    cache: dict[Stored, Digest] = field(default_factory=dict)
    """The checksum of the saved evidence of each claim that it changes."""


class _OfAllModels(_Scored, frozen=True, kw_only=True):
    """What every event says that brings a run of all active models."""

    named: bool
    """Whether a number or identities of runs distinguish it from stored replicates, and not only its scores."""
    vectors: dict[Name, Digest]
    """The checksum of the scores of each model."""
    gaps: dict[Name, Ordinal] = field(default_factory=dict)
    """The number of missing scores of each model that lacks any."""
    runs: tuple[Name, ...] = ()
    """The identities of its runs."""


class PilotAdded(_OfAllModels, frozen=True, kw_only=True):
    """A pilot replicate was added."""

    kind = "pilot"
    pilot: Ordinal
    """Its number."""
    candidate: tuple[Name, ...] | None = None
    """The Top-k candidate, if this was the last pilot replicate."""
    stages: tuple[Opened, ...] = ()
    """The claims that it opens."""

    @property
    def place(self) -> int:
        """Where its scores are stored: pilots are counted down from -1."""
        return -self.pilot


MOST_PILOTS = 2**30 - 1
"""Pilots are stored as replicates -1, -2 and so on, and further below what came with each checkpoint."""


def checkpoint_place(upto: int) -> int:
    """Where the scores before a checkpoint are stored, in the place of a replicate's number."""
    return -MOST_PILOTS - 1 - upto


def upto_at(place: int) -> int | None:
    """The blocks before the checkpoint whose scores are stored at a place; ``None`` for a replicate or a pilot."""
    return -MOST_PILOTS - 1 - place if place < -MOST_PILOTS - 1 else None


class ReplicateAdded(_OfAllModels, frozen=True, kw_only=True):
    """A replicate was added to the evidence, or what came of the first one up to a checkpoint."""

    kind = "replicate"
    replicate: Ordinal
    """Its number."""
    upto: Ordinal | UnsetType = UNSET
    """The blocks before the checkpoint that the first replicate has come to; its vectors then have the items since the
    checkpoint before, in the order in which they are run. Absent for a complete replicate."""
    look: Tally = Tally(edges=0, resolved_pairs=0)
    """What stands after the look."""
    current: dict[Stored, bytes] = field(default_factory=dict)
    """The edges that it certifies, of each claim: the bits of its matrix, row by row."""
    certified: tuple[NewEdge, ...] = ()
    """What is certified for the first time."""
    views: dict[Name, ViewOutcome] = field(default_factory=dict)
    """The same of the other views of the epoch."""

    @property
    def outcome(self) -> Outcome:
        """What the look showed."""
        return Outcome.of(self)

    @property
    def place(self) -> int:
        """Where its scores are stored."""
        return checkpoint_place(self.upto) if self.upto else self.replicate


class ModelAdded(_Scored, frozen=True, kw_only=True):
    """A model joined the stored replicates."""

    kind = "add-model"
    model: Name
    """The model."""
    vectors: tuple[Digest, ...]
    """The checksum of its scores in the first replicates, in order."""
    order_seed: Seed | UnsetType = UNSET
    """What the order of announced runs follows from, drawn when they came; absent if they were not announced."""
    stages: tuple[Opened, ...] = ()
    """The claim that it opens."""
    gaps: tuple[Stored, ...] = ()
    """The number of missing scores in each of these."""
    runs: tuple[tuple[Name, ...], ...] = ()
    """The identities of these runs."""
    look: Tally | UnsetType = UNSET
    """What stands after the look, if there were replicates to look at."""
    current: dict[Stored, bytes] | UnsetType = UNSET
    """The edges that it certifies, of each claim."""
    certified: tuple[NewEdge, ...] | UnsetType = UNSET
    """What is certified for the first time."""
    views: dict[Name, ViewOutcome] | UnsetType = UNSET
    """The same of the other views of the epoch."""

    def __post_init__(self) -> None:
        if len({self.look is UNSET, self.current is UNSET, self.certified is UNSET, self.views is UNSET}) > 1:
            raise BoardError("a part of its look is missing")

    @property
    def outcome(self) -> Outcome | None:
        """What the look showed, if there were replicates to look at."""
        return None if self.look is UNSET else Outcome.of(self)


class ItemsAdded(NewItems, frozen=True, kw_only=True):
    """More items opened an epoch."""

    kind = "add-items"
    epoch: Ordinal
    """The benchmark version that they open."""
    models: tuple[Name, ...] = ()
    """The models of the epoch."""


class _OfModel(_InEpoch, frozen=True, kw_only=True):
    """What every event says that is about one model and brings no scores."""

    model: Name
    """The model."""


class ModelRetired(_OfModel, frozen=True, kw_only=True):
    """A model was stopped."""

    kind = "retire"
    cache: dict[Stored, Digest] = field(default_factory=dict)
    """The checksum of the saved evidence of each claim of the epoch."""


LONGEST_REASON = 1_000
"""Characters of the reason for which a model was withdrawn."""


class ModelWithdrawn(_OfModel, frozen=True, kw_only=True):
    """The row of a model was hidden from tables. What is stored, certified and tested stays as it is."""

    kind = "withdraw"
    reason: Annotated[str, Meta(pattern=NOT_BLANK, max_length=LONGEST_REASON)]
    """Why, for readers of the board."""


class ModelAnnounced(_OfModel, frozen=True, kw_only=True):
    """Runs of a model that is to be added were announced, before they are made."""

    kind = "announce"
    runs: Ordinal
    """How many: they join the first replicates of the epoch."""
    claim: Stored = 0
    """The claim that is reserved for the model, whether its runs come or not."""
    level: Level = 0.0
    """The share of alpha that the claim spends."""


class AnnouncementClosed(_OfModel, frozen=True, kw_only=True):
    """No more announced runs of a model are waited for: what is not delivered with it counts as missing."""

    kind = "close-announcement"


class NoteAdded(_InEpoch, frozen=True, kw_only=True):
    """Something that readers of the board should know was written down."""

    kind = "note"
    about: str
    """What it is about, for programs."""
    text: str
    """The sentence to show."""
    particulars: Mapping[str, object] = field(default_factory=dict)
    """Anything else."""


class TrustStated(_OfModel, frozen=True, kw_only=True):
    """How far the scores of a model can be trusted was written down; it counts until the next statement."""

    kind = "trust"
    trust: Trust
    """How far."""
    by: Text
    """Who handed the scores in, or who says so."""
    submission: Digest | UnsetType = UNSET
    """The SHA-256 of the submission that the scores came with."""


class _OfAttempt(_InEpoch, frozen=True, kw_only=True):
    """What every event says of an attempt at a run."""

    replicate: Ordinal
    """The run, counted from 1, pilots included."""
    attempt: Ordinal
    """The number of the try at it, from 1."""


class AttemptBegun(_OfAttempt, frozen=True, kw_only=True):
    """A run is about to make its first request."""

    kind = "attempt"
    seed: Seed
    """What the seeds of its requests follow from."""
    protocol: Digest
    """The hash of everything that determines what is asked."""


AttemptOutcome = Literal["finished", "abandoned"]
"""Whether the scores of an attempt are on the board, or it was given up."""
AbandonReason = Literal["journal-missing", "journal-replaced"]
"""The journal of the attempt is not there, or is that of another attempt: it cannot be continued."""


class AttemptEnded(_OfAttempt, frozen=True, kw_only=True):
    """What became of an attempt."""

    kind = "attempt-ended"
    outcome: AttemptOutcome
    """How it ended."""
    reason: AbandonReason | None = None
    """Why it was given up."""


ScoresAdded = PilotAdded | ReplicateAdded | ModelAdded
"""The events that scores come with."""
_AboutModels = ModelWithdrawn | TrustStated | ModelAnnounced | AnnouncementClosed
WithoutEvidence = NoteAdded | _AboutModels | AttemptBegun | AttemptEnded
"""The events that leave all evidence as it is, so that they name none that was saved."""
BoardEvent = Created | PilotAdded | ReplicateAdded | ModelAdded | ItemsAdded | ModelRetired | WithoutEvidence
