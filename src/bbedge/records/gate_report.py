"""A gate's report: a verdict for each claim, and one for the release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import field

from bbedge.errors import CONTRADICTION_EXIT_CODE
from bbedge.records.policy import Claim, Policy
from bbedge.records.values import Name, Number, Ordinal, Strict

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
    """The candidate."""
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
    """What the difference must exceed, in score units."""
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
    """The policy."""
    replicates: int
    """Complete runs of each system."""
    items: int
    """Number of items."""
    results: tuple[ClaimResult, ...]
    """The claims, candidate by candidate, in the order of the policy."""
    notes: tuple[str, ...] = ()
    """What readers noticed."""
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
            "replicates": self.replicates,
            "items": self.items,
            "baseline": policy.baseline,
            "candidates": {name: self.release_of(name) for name in self.candidates},
            "open": policy.when_open,
            "spending": policy.spending,
            "claims": [each.to_values() for each in self.results],
            "notes": list(self.notes),
            **_given("part", self.fraction),
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
