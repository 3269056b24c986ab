"""The events of a gate's ledger, and its history.

A ledger begins with the policy. A use has a number, a label that identifies it, and a level; then scores come in, once
or several times, and a report is decided. ``gate/admit.py`` says which events may follow which.
"""

from __future__ import annotations

import hashlib
from math import fsum
from typing import Any

from msgspec import UNSET, UnsetType, field

from bbedge.records.codec import to_json
from bbedge.records.design import CheckpointsRecord
from bbedge.records.events import CountedCopy, Event, checkpoint_place
from bbedge.records.gate_report import ClaimResult, GateReport, values_of
from bbedge.records.notes import Note
from bbedge.records.policy import Policy
from bbedge.records.values import Digest, Gaps, Name, Number, Ordinal, Stored, Strict


class PolicyFrozen(Event, frozen=True, kw_only=True):
    """A ledger was begun for a policy."""

    kind = "policy"
    policy: Policy
    """The policy of every use."""


class ItemListing(Strict, frozen=True, kw_only=True):
    """The items of a use. A ledger holds a listing once; later uses with the same items name it by its digest."""

    items: tuple[Name, ...]
    """The items."""
    blocks: tuple[Name, ...]
    """The block of each."""
    columns: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    """What else the policy uses of each item, by the name of the column."""

    @property
    def digest(self) -> str:
        """SHA-256 of the listing, in hexadecimal."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()


class _OfUse(Event, frozen=True, kw_only=True):
    """What every event after the policy says."""

    use: Ordinal
    """The number of the use, from 1."""


class UseBegun(_OfUse, frozen=True, kw_only=True):
    """A use has a level from here on, whatever becomes of it."""

    kind = "begun"
    label: Name
    """What identifies the use, for instance a commit."""
    level: Number
    """Its part of alpha."""
    systems: tuple[Name, ...]
    """The candidates, then the baseline if there is one."""
    items: Digest
    """The digest of its items."""
    listing: ItemListing | UnsetType = UNSET
    """These items, if no use before has them."""
    score_range: tuple[Number, Number]
    """The scale of the scores."""
    gaps: Gaps
    """How missing scores count."""
    study: Digest | None
    """The board of the study that is run for it; ``None`` if the scores come from files."""
    checkpoints: CheckpointsRecord | None
    """The looks inside the first run of the study; ``None`` if there are none."""


class UseLooked(_OfUse, frozen=True, kw_only=True):
    """Scores came in."""

    kind = "looked"
    inside: dict[Ordinal, dict[Name, Digest]] = field(name="parts")
    """By the blocks before a checkpoint of the first run: the checksum of what came with it, of each system, in the
    order of the run."""
    runs: dict[Ordinal, dict[Name, Digest]]
    """By number of the run: the checksum of the scores of each system."""
    copies: dict[Ordinal, tuple[CountedCopy, ...]]
    """By number of the run: which earlier runs of the use it repeats, although it counts."""
    files: tuple[Digest, ...]
    """The SHA-256 of each file that was read, if they are known. They do not identify the use."""
    notes: tuple[Note, ...]
    """What the reader noticed, in these and all earlier runs of the use."""

    @property
    def vectors(self) -> dict[int, dict[str, str]]:
        """The checksums by the number under which scores are stored: that of a run, or below that of any pilot."""
        return {checkpoint_place(upto): sums for upto, sums in self.inside.items()} | self.runs


class UseDecided(_OfUse, frozen=True, kw_only=True):
    """The gate was applied to all scores of the use, and this was found."""

    kind = "decided"
    runs: Stored
    """The complete runs."""
    checkpoints: Stored = field(name="parts")
    """The checkpoints of the first run that had been seen before it was complete."""
    results: tuple[ClaimResult, ...]
    """The verdicts, bounds and looks, without forecasts."""


GateEvent = PolicyFrozen | UseBegun | UseLooked | UseDecided


class GateUse(Strict, frozen=True, kw_only=True):
    """One use of the gate: a merge, or whatever it decides about."""

    number: int
    """From 1."""
    level: float
    """Its part of alpha."""
    at: str
    """When it was last recorded, as ISO 8601 in UTC; for people, the statistics do not use it."""
    label: str
    """What it is called, for instance a commit."""
    checkpoints: dict[str, Any] | None = None
    """The looks inside the first run that the study plans, and the seed of the order of its blocks."""
    report: GateReport | None = None
    """What the stored scores say; ``None`` while the study is running."""

    def to_values(self) -> dict[str, Any]:
        """The use as plain values, for JSON."""
        return {
            **values_of(self, "number", "level", "at", "label"),
            "release": None if self.report is None else self.report.release,
            "report": None if self.report is None else self.report.to_values(),
            **({} if self.checkpoints is None else {"checkpoints": self.checkpoints}),
        }


class GateHistory(Strict, frozen=True, kw_only=True):
    """The uses of a gate in a ledger, in order.

    **Guarantee:** with ``spending = "ledger"`` every verdict of every use, at every look, is right with probability at
    least ``1 - alpha``; with ``each-run`` the verdicts of each use are.

    **Needs:** every use of the gate is recorded, and none is left out because of its scores.
    """

    policy: Policy
    """The policy, which is the same for every use."""
    uses: tuple[GateUse, ...]
    """The uses."""
    next_level: float
    """The level of the next use; 0 when nothing is left."""
    head: str
    """The hash of the last event: it covers the whole ledger."""

    @property
    def spent(self) -> float:
        """The sum of the levels."""
        return fsum(use.level for use in self.uses)

    def to_values(self) -> dict[str, Any]:
        """The history as plain values, for JSON."""
        return {
            "policy": self.policy.content,
            **values_of(self.policy, "alpha", "spending"),
            **values_of(self, "spent", "next_level", "head"),
            "uses": [use.to_values() for use in self.uses],
        }


class RecordedUse(Strict, frozen=True, kw_only=True):
    """A use of the gate that is on the disk."""

    use: GateUse
    """The use, with its report."""
    alpha: float
    """That of the policy."""
    spent: float
    """The sum of the levels of all uses so far."""
    head: str
    """The hash of the last event of the ledger."""
    is_known: bool
    """Whether these scores had been recorded under this label before, so that nothing was spent."""

    @property
    def report(self) -> GateReport:
        """What the gate found."""
        assert self.use.report is not None  # it was just computed
        return self.use.report

    def to_values(self) -> dict[str, Any]:
        """The report as plain values, with its place in the ledger."""
        ledger = {
            "use": self.use.number,
            "level": self.use.level,
            **values_of(self, "alpha", "spent"),
            "label": self.use.label,
            "recorded_before": self.is_known,
            "head": self.head,
        }
        return self.report.to_values() | {"ledger": ledger}
