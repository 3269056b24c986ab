"""What a gate found: a verdict for each claim, and one for the release."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from bbedge.errors import CONTRADICTION_EXIT_CODE
from bbedge.gate.policy import Claim, Policy

Verdict = Literal["PASS", "FAIL", "OPEN", "CONTRADICTION"]
"""The claim is certified, its opposite is certified, neither is, or both are: then an assumption does not hold."""
Release = Literal["ship", "stop", "undecided", "contradiction"]
"""What the policy says about a candidate."""

EXIT_CODES: dict[Release, int] = {"ship": 0, "stop": 1, "undecided": 3, "contradiction": CONTRADICTION_EXIT_CODE}
"""What a command that ran the gate exits with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookResult:
    """What one look said of a claim."""

    replicate: int
    """After how many runs; 1 inside the first one."""
    verdict: Verdict
    """At this look alone."""
    lower: float
    """Lower bound of the difference at this look, in score units."""
    upper: float
    """Upper bound likewise."""
    difference: float | None
    """Candidate minus baseline or floor in this run alone, of the scores there are; ``None`` inside the first one."""
    part: float | None = None
    """The part of the first run that was there, at a look inside it; ``None`` at a look after a complete run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOutlook:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """What is known of a claim about a candidate.

    **Guarantee:** with probability at least ``1 - alpha`` every interval and every verdict of the report is right, at
    this and all other looks.
    """

    claim: Claim
    """The claim, about one view."""
    candidate: str
    """The candidate."""
    verdict: Verdict
    """What stands: the first verdict that was not open, unless something contradicts it."""
    since: int | None
    """The run after which it was decided; ``None`` while it is open."""
    difference: float
    """Candidate minus baseline, or minus the floor, in score units, of the scores there are; NaN if one has none."""
    lower: float
    """Lower bound of the difference over all looks, in score units; not below the bar if the claim is PASS."""
    upper: float
    """Upper bound likewise; not above the bar if it is FAIL. Below the lower one: a contradiction."""
    bar: float
    """What the difference must exceed, in score units."""
    log_e: float
    """Evidence for the claim, as a natural logarithm."""
    log_e_against: float
    """Evidence for its opposite."""
    log_threshold: float
    """What either must reach."""
    looks: tuple[LookResult, ...]
    """Every look."""
    since_part: float | None = None
    """The part of the first run after which it was decided, if that was inside it."""
    outlook: ClaimOutlook | None = None
    """Of an open claim: what would decide it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
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
    part: float | None = None
    """The part of the first run that is there, if it is not complete."""

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
            "claims": [_values(each) for each in self.results],
            "notes": list(self.notes),
            **_given("part", self.part),
        }


def awaited(results: Iterable[ClaimResult]) -> tuple[ClaimResult, ...]:
    """The claims that further runs may decide: the open ones of tier ``block``, or of any tier if none blocks.

    There are none where runs contradict each other: no further run undoes that.
    """
    found = tuple(results)
    if any(each.verdict == "CONTRADICTION" for each in found):
        return ()
    asked = [each for each in found if each.claim.tier == "block"] or found
    return tuple(each for each in asked if each.verdict == "OPEN")


def _values(result: ClaimResult) -> dict[str, Any]:
    outlook = result.outlook
    return {
        "candidate": result.candidate,
        "claim": str(result.claim),
        "kind": result.claim.kind,
        "amount": result.claim.amount,
        "view": result.claim.view,
        "tier": result.claim.tier,
        "verdict": result.verdict,
        "since": result.since,
        "contradicted": result.verdict == "CONTRADICTION",
        "difference": None if math.isnan(result.difference) else result.difference,
        "bounds": [result.lower, result.upper],
        "bar": result.bar,
        "log_e": result.log_e,
        "log_e_against": result.log_e_against,
        "log_threshold": result.log_threshold,
        "more_runs": None if outlook is None else outlook.more_runs,
        "needed_items": None if outlook is None else outlook.items,
        "needed_amount": None if outlook is None else outlook.amount,
        "looks": [
            {
                "replicate": look.replicate,
                "verdict": look.verdict,
                "bounds": [look.lower, look.upper],
                "difference": look.difference,
            }
            | _given("part", look.part)
            for look in result.looks
        ],
        **_given("since_part", result.since_part),
    }


def _given(key: str, value: float | None) -> dict[str, float]:
    """An entry that is there only where there were looks inside the first run."""
    return {} if value is None else {key: value}
