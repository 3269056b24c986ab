"""A gate's report, the events of its ledger, and its history.

A report has a verdict for each claim, and one for the release. A ledger begins with the policy. A use has a number, a
label that identifies it, and a level; then scores come in, once or several times, and a report is decided.
``gate/admit.py`` says which events may follow which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from math import fsum
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from bbedge.errors import CONTRADICTION_EXIT_CODE
from bbedge.records.codec import to_json
from bbedge.records.design import Checkpoints
from bbedge.records.events import CountedCopy, Event, checkpoint_place
from bbedge.records.notes import Note
from bbedge.records.policy import Claim, Policy
from bbedge.records.values import Digest, Gaps, Name, Number, Ordinal, Stored, Strict

Verdict = Literal["PASS", "FAIL", "OPEN", "CONTRADICTION"]
"""The claim is certified, its opposite is certified, neither is, or both are: then an assumption does not hold."""
Release = Literal["ship", "stop", "undecided", "contradiction"]
"""What the policy says about a candidate."""

EXIT_CODES: dict[Release, int] = {"ship": 0, "stop": 1, "undecided": 3, "contradiction": CONTRADICTION_EXIT_CODE}
"""What a command that ran the gate exits with."""


class LookResult(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """What one look said of a claim."""

    replicate: Ordinal
    """After how many runs; 1 inside the first one."""
    verdict: Verdict
    """At this look alone."""
    lower: Number
    """Lower bound of the difference at this look, in score units."""
    upper: Number
    """Upper bound likewise."""
    difference: Number | None
    """Candidate minus baseline or floor in this run alone, of the scores there are; ``None`` inside the first one."""
    fraction: Number | None = field(name="part", default=None)
    """How much of the first run was there, at a look inside it; ``None`` at a look after a complete run."""


class ClaimOutlook(Strict, frozen=True, kw_only=True):
    """What would likely decide an open claim if the difference stays what it is: a forecast without guarantee.

    Each is enough by itself, with a probability of 80 %.
    """

    more_runs: int | None
    """Further runs of the same items; ``None`` if no number is enough."""
    items: int | None
    """Items in place of those there are, in as many runs; ``None`` if no number is enough."""
    amount: float | None
    """The margin or floor with which as many new runs would PASS; ``None`` if there is none. It is for a later gate:
    that of this one is fixed."""


class ClaimResult(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a claim about a candidate.

    **Guarantee:** with probability at least ``1 - alpha`` every interval and every verdict of the report is right, at
    this and all other looks.
    """

    claim: Claim
    """The claim, about one view."""
    candidate: Name
    verdict: Verdict
    """What stands: the first verdict that was not open, unless something contradicts it."""
    since: Ordinal | None
    """The run after which it was decided; ``None`` while it is open."""
    difference: Number | None
    """Candidate minus baseline, or minus the floor, in score units, of the scores there are; ``None`` if one has
    none."""
    lower: Number
    """Lower bound of the difference over all looks, in score units; not below the bar if the claim is PASS."""
    upper: Number
    """Upper bound likewise; not above the bar if it is FAIL. Below the lower one: a contradiction."""
    bar: Number
    """What the difference must exceed, in score units; of ``equal_within`` it must not exceed the amount either."""
    log_e: Number
    """Evidence for the claim, as a natural logarithm."""
    log_e_against: Number
    """Evidence for its opposite."""
    log_threshold: Number
    """What either must reach."""
    looks: tuple[LookResult, ...]
    """Every look."""
    since_fraction: Number | None = field(name="since_part", default=None)
    """After how much of the first run it was decided, if that was inside it."""
    outlook: ClaimOutlook | None = None
    """Of an open claim: what would decide it. A forecast, which no ledger holds."""

    def to_values(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        outlook = self.outlook
        return {
            "candidate": self.candidate,
            "claim": str(self.claim),
            **values_of(self.claim, "kind", "amount", "view", "tier"),
            **values_of(self, "verdict", "since"),
            "contradicted": self.verdict == "CONTRADICTION",
            "difference": self.difference,
            "bounds": [self.lower, self.upper],
            **values_of(self, "bar", "log_e", "log_e_against", "log_threshold"),
            "more_runs": None if outlook is None else outlook.more_runs,
            "needed_items": None if outlook is None else outlook.items,
            "needed_amount": None if outlook is None else outlook.amount,
            "looks": [
                {
                    **values_of(look, "replicate", "verdict"),
                    "bounds": [look.lower, look.upper],
                    "difference": look.difference,
                    **_given("part", look.fraction),
                }
                for look in self.looks
            ],
            **_given("since_part", self.since_fraction),
        }


class GateReport(Strict, frozen=True, kw_only=True):
    """The result of a gate."""

    policy: Policy
    replicates: int
    """Complete runs of each system."""
    items: int
    results: tuple[ClaimResult, ...]
    """The claims, candidate by candidate, in the order of the policy."""
    notes: tuple[str, ...] = ()
    fraction: float | None = None
    """How much of the first run is there, if it is not complete."""

    def release_of(self, candidate: str) -> Release:
        """What the policy says about a candidate; a contradiction in any claim leaves nothing to say."""
        of_candidate = [each for each in self.results if each.candidate == candidate]
        if any(each.verdict == "CONTRADICTION" for each in of_candidate):
            return "contradiction"
        verdicts = [each.verdict for each in of_candidate if each.claim.tier == "block"]
        if "FAIL" in verdicts:
            return "stop"
        if "OPEN" not in verdicts:
            return "ship"
        return {"pass": "ship", "fail": "stop", "error": "undecided"}[self.policy.when_open]  # type: ignore[return-value]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates, in order."""
        return tuple(dict.fromkeys(each.candidate for each in self.results))

    @property
    def release(self) -> Release:
        """What the policy says about all candidates together: ship only if each may ship."""
        found = [self.release_of(candidate) for candidate in self.candidates]
        worst_first: tuple[Release, ...] = ("contradiction", "stop", "undecided")
        return next((release for release in worst_first if release in found), "ship")

    @property
    def exit_code(self) -> int:
        """0 to ship, 1 to stop, 3 if undecided, 5 if results contradict each other."""
        return EXIT_CODES[self.release]

    @property
    def next_look(self) -> int | None:
        """After how many runs the next look is; ``None`` if none is left, so that further runs change no verdict."""
        return self.policy.next_look(self.replicates)

    @property
    def open_blocks(self) -> tuple[ClaimResult, ...]:
        """Blocking claims that are not decided."""
        return tuple(each for each in self.results if each.claim.tier == "block" and each.verdict == "OPEN")

    @property
    def contradictions(self) -> tuple[ClaimResult, ...]:
        """Claims of which no verdict can be given."""
        return tuple(each for each in self.results if each.verdict == "CONTRADICTION")

    def to_values(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        policy = self.policy
        return {
            "release": self.release,
            "alpha": policy.alpha,
            **values_of(self, "replicates", "items"),
            "baseline": policy.baseline,
            "candidates": {name: self.release_of(name) for name in self.candidates},
            "open": policy.when_open,
            "spending": policy.spending,
            "claims": [each.to_values() for each in self.results],
            "notes": list(self.notes),
            **_given("part", self.fraction),
            **({} if policy.looks_after_every_run else {**policy.question, **values_of(self, "next_look")}),
        }


def values_of(record: Strict, *keys: str) -> dict[str, Any]:
    """Some fields of a record, in this order."""
    return {key: getattr(record, key) for key in keys}


def _given(key: str, value: float | None) -> dict[str, float]:
    """An entry that is there only where there were looks inside the first run."""
    return {} if value is None else {key: value}


def awaited(results: Iterable[ClaimResult]) -> tuple[ClaimResult, ...]:
    """The claims that further runs may decide: the open ones of tier ``block``, or of any tier if none blocks.

    There are none where runs contradict each other: no further run undoes that.
    """
    found = tuple(results)
    if any(each.verdict == "CONTRADICTION" for each in found):
        return ()
    asked = [each for each in found if each.claim.tier == "block"] or found
    return tuple(each for each in asked if each.verdict == "OPEN")


class PolicyFrozen(Event, frozen=True, kw_only=True):
    """A ledger was begun for a policy."""

    kind = "policy"
    policy: Policy


class ItemListing(Strict, frozen=True, kw_only=True):
    """The items of a use. A ledger holds a listing once; later uses with the same items name it by its digest."""

    items: tuple[Name, ...]
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
    scale: tuple[Number, Number] = field(name="score_range")
    """The scale of the scores."""
    gaps: Gaps
    """How missing scores count."""
    study: Digest | None
    """The board of the study that is run for it; ``None`` if the scores come from files."""
    checkpoints: Checkpoints | None
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
        about = {"use": self.use.number, "level": self.use.level, **values_of(self, "alpha", "spent")}
        about |= {"label": self.use.label, "recorded_before": self.is_known, "head": self.head}
        return self.report.to_values() | {"ledger": about}
