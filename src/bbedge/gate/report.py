"""What a gate found: a verdict for each claim, and one for the release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bbedge.gate.policy import Claim, Policy

Verdict = Literal["PASS", "FAIL", "OPEN"]
"""The claim is certified, its opposite is certified, or neither is."""
Release = Literal["ship", "stop", "undecided"]
"""What the policy says about a candidate."""

EXIT_CODES: dict[Release, int] = {"ship": 0, "stop": 1, "undecided": 3}
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
    part: float | None = None
    """The part of the first run that was there, at a look inside it; ``None`` at a look after a complete run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What could be seen, and what is likely needed: a forecast without guarantee."""

    resolvable: float | None
    """The smallest distance from the claim's margin that is seen with 80 % probability; ``None`` if none is."""
    more_runs: int | None
    """Further runs that are likely needed if the difference stays what it is; ``None`` if no number is enough."""


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
    """What stands: the first verdict that was not open."""
    since: int | None
    """The run after which it was decided; ``None`` while it is open."""
    difference: float
    """Candidate minus baseline, or minus the floor, in score units, of the scores there are; NaN if one has none."""
    lower: float
    """Lower bound of the difference over all looks, in score units."""
    upper: float
    """Upper bound likewise."""
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
    outlook: Outlook | None = None
    """Of an open claim: what could be seen and what is needed."""

    @property
    def is_contradicted(self) -> bool:
        """Whether a later look certified the opposite of what stands: an assumption fails, or this is an error.

        Bounds that were found inside the first run are kept at later looks, whose verdict they then repeat.
        """
        return self.upper < self.bar < self.lower or any(
            look.verdict not in ("OPEN", self.verdict) for look in self.looks
        )


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
        """What the policy says about a candidate."""
        verdicts = [each.verdict for each in self.results if each.candidate == candidate and each.claim.tier == "block"]
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
        return "stop" if "stop" in found else "undecided" if "undecided" in found else "ship"

    @property
    def exit_code(self) -> int:
        """0 to ship, 1 to stop, 3 if undecided."""
        return EXIT_CODES[self.release]

    @property
    def open_blocks(self) -> tuple[ClaimResult, ...]:
        """Blocking claims that are not decided."""
        return tuple(each for each in self.results if each.claim.tier == "block" and each.verdict == "OPEN")

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
        "contradicted": result.is_contradicted,
        "difference": None if math.isnan(result.difference) else result.difference,
        "bounds": [result.lower, result.upper],
        "bar": result.bar,
        "log_e": result.log_e,
        "log_e_against": result.log_e_against,
        "log_threshold": result.log_threshold,
        "resolvable": None if outlook is None else outlook.resolvable,
        "more_runs": None if outlook is None else outlook.more_runs,
        "looks": [
            {"replicate": look.replicate, "verdict": look.verdict, "bounds": [look.lower, look.upper]}
            | _given("part", look.part)
            for look in result.looks
        ],
        **_given("since_part", result.since_part),
    }


def _given(key: str, value: float | None) -> dict[str, float]:
    """An entry that is there only where there were looks inside the first run."""
    return {} if value is None else {key: value}
