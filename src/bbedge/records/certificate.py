"""The one definition of the certificate: every key of the document, its type, and whether it may be absent.

The writer fills these records, the codec converts into them, and the JSON Schema and the messages about a damaged file
are made from them: the text under each field is its description in the schema.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from bbedge.records.board import BoardRecord
from bbedge.records.design import Blocks, DesignRecord, Pilot, Weights
from bbedge.records.notes import Note
from bbedge.records.reading import ReadingRecord
from bbedge.records.values import (
    LARGEST_COUNT,
    Count,
    Digest,
    Group,
    Name,
    Names,
    NotNegative,
    Number,
    Pair,
    Positive,
    Record,
    Share,
    Size,
    Time,
)

Matrix = NDArray[np.float64]
"""Rows and columns in the order of ``models``; null in JSON, NaN here, where a direction is not tested."""
TopSets = dict[Size, Names | None]


def matrix(_: type, rows: object) -> Matrix:
    """A list of rows as an array, for :func:`bbedge.records.codec.convert`; null becomes NaN."""
    if not isinstance(rows, list):
        raise ValueError("is not a list")
    if not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise ValueError("is not a matrix of numbers")
    values = [value for row in rows for value in row]
    if not {type(value) for value in values} <= {int, float, type(None)}:
        raise ValueError("is not a matrix of numbers")
    if any(type(value) is int and abs(value) > LARGEST_COUNT for value in values):
        raise ValueError("has a number that is not finite")
    array = np.array(values, dtype=np.float64)
    if np.isinf(array).any() or np.isnan(array).sum() != values.count(None):
        raise ValueError("has a number that is not finite")
    return array.reshape(len(rows), len(rows[0]) if rows else 0)


class Model(Record, frozen=True, kw_only=True):
    """What may be concluded about a model."""

    name: Name
    """Its name."""
    mean: Number | None
    """Its mean score; null before its first complete replicate."""
    mean_items: Count | UnsetType = UNSET
    """The number of items that the mean is over, if they are not all; such means are not comparable with others."""
    mean_interval: tuple[Number, Number] | UnsetType = UNSET
    """Bounds of its true mean, for all models, views and looks together; absent if the design has no mean_share."""
    rank_interval: tuple[Positive, Positive]
    """The best and the worst rank it can have."""
    tier: Positive
    """Between which certified cuts it is, from 1."""
    certified_above: Count
    """Models this one is certified above."""
    certified_below: Count
    """Models certified above this one."""


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
    first_certified: Count
    """Replicate of the first look that certified it, or that this look was inside of; 0 if it stands from before items
    were added, about new items."""
    first_part: Positive | UnsetType = UNSET
    """The checkpoint of the first replicate at which that look was; absent if it was after a complete replicate."""


class Counts(Record, frozen=True, kw_only=True):
    """How long the lists of pairs are, whether they are written or not."""

    pairs: Positive
    """Pairs of models."""
    resolved_pairs: Count
    """Pairs that an edge or a path decides."""
    edges: Count
    """Edges."""
    current_edges: Count
    """Edges of the last look alone; all of them for a method that takes nothing back."""


class LookRecord(Record, frozen=True, kw_only=True):
    """What was certified after a replicate."""

    replicate: Positive
    """The replicate."""
    edges: Count
    """Edges of this look and all before it."""
    resolved_pairs: Count
    """Pairs that these and their paths decide."""


class PartRecord(Record, frozen=True, kw_only=True):
    """What was certified at a checkpoint of the first replicate."""

    checkpoint: Positive
    """The number of the checkpoint."""
    blocks: Positive
    """Blocks that were complete."""
    models: Positive
    """Models that were running."""
    edges: Count
    """Edges of this look and all before it."""
    resolved_pairs: Count
    """Pairs that these and their paths decide."""


class PositionRecord(Record, frozen=True, kw_only=True):
    """How scores change with the place in the first replicate: the strongest relation of any model."""

    model: str | None
    """The model; null for the mean of all models."""
    correlation: Number
    """Correlation of score and place."""
    p_value: Number
    """The probability of a relation as strong, of any model, if scores do not depend on the place."""
    alarm: bool
    """Whether it is so small that the looks inside the replicate are in doubt: 0.01 or less."""


class FirstRunRecord(Record, frozen=True, kw_only=True):
    """How far the first replicate of a design with checkpoints has come."""

    complete: bool
    """Whether it is complete."""
    checkpoint: Count
    """The last checkpoint that was looked at."""
    checkpoints: Positive
    """How many there are."""
    blocks: Count
    """Blocks in the evidence."""
    of_blocks: Positive
    """All blocks."""
    position: PositionRecord | UnsetType = UNSET
    """Whether scores depend on the place of their block in the replicate; absent if there are too few blocks."""


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
    """What it must reach; of staggered e-Holm, less where a stake has entered after the direction had lost evidence."""
    more_replicates: tuple[Positive, Positive] | None
    """From and to: a forecast without guarantee; null where the evidence does not grow or a model was stopped."""
    within: tuple[Number | None, Number | None]
    """Simultaneous bounds of the difference, ahead minus behind; null where that direction is not tested."""

    def __post_init__(self) -> None:
        if self.log_threshold <= 0.0 and self.log_threshold <= self.log_e:
            raise ValueError("'log_threshold' is not above zero, nor above 'log_e'")
        if self.more_replicates is not None and self.more_replicates[0] > self.more_replicates[1]:
            raise ValueError("'more_replicates' is not a range")


class GapsRecord(Record, frozen=True, kw_only=True):
    """How many scores are missing, and what that costs."""

    cells: Positive
    """Missing scores in all."""
    models: dict[str, Positive]
    """The models that miss scores, and how many over all replicates."""
    resolved_if_means: Count | None
    """Pairs that would be decided if the missing scores had been their models' means; a hint, not a claim. Null if not
    computed."""


class CrossedRecord(Record, frozen=True, kw_only=True):
    """An interval whose lower end is above its upper end, so that no value fits into it."""

    names: Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)]
    """The model whose mean it is of; or two models, whose difference, first minus second, it is of."""
    lower: Number
    """Its largest lower end at any look, in score units."""
    upper: Number
    """Its smallest upper end at any look, in score units."""

    def __post_init__(self) -> None:
        if self.lower <= self.upper:
            raise ValueError("'lower' is not above 'upper'")


class Conclusions(Record, frozen=True, kw_only=True):
    """What may be concluded about the means of one view: the headline's, or those of another view."""

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
    """Everything certified at any look: a certificate, once issued, stands."""
    current_edges: tuple[Pair, ...] | UnsetType | None = UNSET
    """The edges of the last look alone, the winner first; absent for a method that takes nothing back."""
    unresolved: tuple[Pair, ...] | None
    """Pairs that neither an edge nor a path decides."""
    equal: tuple[Pair, ...] | UnsetType | None = UNSET
    """Pairs whose difference the margins bound by the equal_within of the design either way, certified or not; absent
    if the design does not state it."""
    top_k: TopSets | None
    """For every k from 1 to one less than the number of models: the certified set, or null."""
    counts: Counts
    """How long the lists of pairs are, whether they are written or not."""
    certified_k: tuple[Positive, ...]
    """Every k whose Top-k set is certified, smallest first; the set is the first k of models."""
    looks: tuple[LookRecord, ...]
    """Every look after a replicate, first to last."""
    parts: tuple[PartRecord, ...] | UnsetType = UNSET
    """Every look inside the first replicate; absent if the design has no checkpoints."""
    history: HistoryRecord | None
    """Evidence look by look; null with more than 30 models, and from a board where a model was added to the epoch."""
    outlook: tuple[Prospect, ...]
    """At most 200 open pairs, those that may be certified soonest first."""
    contradictions: tuple[Group, ...]
    """Groups of models certified above each other: a false edge or a broken assumption."""
    crossed_intervals: tuple[CrossedRecord, ...] | UnsetType = UNSET
    """Intervals of differences and means that contradict themselves, at most 200 of each; absent if there are none."""
    gaps: GapsRecord | UnsetType = UNSET
    """How many scores are missing; absent if none is."""


# Keys are written in the order of the fields, and fields that are not keyword-only come before those of the bases: so
# that what a record starts with is defined in the record itself, and what it ends with in its bases.


class ViewRecord(Conclusions, frozen=True):
    """A view besides the headline, with the keys that the document has for the headline.

    Its lists of pairs are null, all of them together, where views times models squared are more than 250,000; so is its
    history, counting every look that it would have.
    """

    name: Name
    """What the view is called."""
    share: Share
    """The part of alpha, or of what its target has of it, that its directions have."""
    weights: Weights
    """How the items are weighted in its means."""
    blocks: Blocks
    """Its blocks: items that weigh nothing are left out."""
    stake_values: tuple[NotNegative, ...]
    """Its stakes."""
    stake_weights: tuple[NotNegative, ...]
    """Their weights."""
    target: Literal["new-items"] | UnsetType = UNSET
    """That it is about new items of the same kind, beside the same view of these items; absent if it is not."""


class SourceRecord(Record, frozen=True, kw_only=True):
    """A file that the scores were read from."""

    name: Name
    """Its path as it was given; of absolute paths, without the folders that they have in common."""
    bytes: Count
    """Its size."""
    sha256: Digest
    """SHA-256 of its bytes."""


class ProvenanceRecord(Record, frozen=True, kw_only=True):
    """What the certificate was made from, by hashes, and when; ``bbedge verify`` checks all of it.

    What is not known is absent: scores that Python code made have no sources, a board has its head instead of both.
    """

    version: Name
    """Version that wrote the document; the same as bbedge."""
    design: Digest
    """SHA-256 of the whole design; the same as design.hash."""
    sources: tuple[SourceRecord, ...] | UnsetType = UNSET
    """The files with the scores and the list of items, if there is one; sorted by name."""
    scores: Digest | UnsetType = UNSET
    """SHA-256 of the scores in one canonical form, which does not depend on the order or format of files and rows."""
    reading: ReadingRecord | UnsetType = UNSET
    """How the files were read; absent if every option had its default."""
    head: Digest | UnsetType = UNSET
    """Of a board: the hash of the last event of its ledger."""
    digest: Digest | UnsetType = UNSET
    """SHA-256 of the document in canonical JSON, without this key and time."""
    time: Time | UnsetType = UNSET
    """When it was written, in UTC, as the writer said; no hash covers it."""


class Closing(Conclusions, frozen=True, kw_only=True):
    """What the document ends with."""

    contradicted: bool | UnsetType = UNSET
    """True if anything in any view contradicts something else: then nothing here is reliable. Absent if nothing does.
    Either one of the errors that alpha allows has happened, or an assumption does not hold, or labels were swapped
    between replicates."""
    notes: tuple[Note, ...]
    """What a reader of the leaderboard should know besides its numbers."""
    board: BoardRecord | UnsetType = UNSET
    """The board that the leaderboard comes from."""
    stopped: dict[str, Count] | UnsetType = UNSET
    """Models that were stopped before the last replicate, and how many replicates each has; of a board, see retired."""
    view: Name | UnsetType = UNSET
    """The view that this is about, if it was taken out of a certificate by itself; its headline, if absent."""
    views: tuple[ViewRecord, ...] | UnsetType = UNSET
    """The other views, under the same alpha."""
    provenance: ProvenanceRecord | UnsetType = UNSET
    """What it was made from, by hashes; absent where nothing is known."""


class Document(Closing, frozen=True):
    """What ``bbedge certify --json`` and ``bbedge board show --json`` write.

    All conclusions are about everything certified at any look; current_edges is what the last look alone certifies.
    Means and margins are in score units; log_e and log_w are natural logarithms. With more than 500 models log_e,
    log_w, margins, edges, current_edges, unresolved, equal and top_k are null, all of them together. Keys that are not
    required are absent where a method or design does not have them, and where there is no board, no other view or no
    missing score.

    What is not inside views is about the headline. Everything together keeps alpha: the threshold of direct e-Holm
    follows from the evidence of all views.
    """

    version: Literal[1]
    """The version of the document's keys and their meaning."""
    bbedge: str
    """The version of bbedge that wrote the document."""
    design: DesignRecord
    """What was frozen before the first score was seen."""
    pilot: Pilot | None
    """How a pilot-targeted Top-k chose its candidate; null for the full graph."""
    items: Positive
    """Number of items."""
    replicates: Count
    """Complete replicates in the evidence; a pilot's are not."""
    first_pass: FirstRunRecord | UnsetType = UNSET
    """How far the first replicate has come; absent if the design has no checkpoints."""
