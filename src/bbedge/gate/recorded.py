"""Reports of gates as a ledger keeps them: from plain values back to records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bbedge.gate.policy import Claim, Policy
from bbedge.gate.report import ClaimOutlook, ClaimResult, GateReport, LookResult


def policy_from(content: Mapping[str, Any], *, source: str) -> Policy:
    """The policy whose content a ledger keeps; ``KeyError``, ``TypeError`` or ``ValueError`` if it is damaged."""
    values = dict(content)
    values["metric_ranges"] = {name: (worst, best) for name, (worst, best) in values.get("metric_ranges", {}).items()}
    if isinstance(values.get("metric"), list):
        values["metric"] = tuple(values["metric"])
    claims = tuple(Claim(**claim) for claim in values.pop("claims"))
    return Policy(candidates=tuple(values.pop("candidates")), claims=claims, **values, source=source)


def report_from(values: Mapping[str, Any], policy: Policy) -> GateReport:
    """The report of a use of the policy; ``KeyError``, ``TypeError`` or ``ValueError`` if the values are damaged."""
    part = values.get("part")
    return GateReport(
        policy=replace(policy, alpha=float(values["alpha"])),
        replicates=values["replicates"],
        items=values["items"],
        results=tuple(_result(each, has_outlook=part is None) for each in values["claims"]),
        notes=tuple(values["notes"]),
        part=part,
    )


def _result(values: Mapping[str, Any], *, has_outlook: bool) -> ClaimResult:
    """A claim; an open one has an outlook unless the first run is not complete."""
    lower, upper = values["bounds"]
    outlook = None
    if values["since"] is None and has_outlook:
        outlook = ClaimOutlook(
            more_runs=values["more_runs"], items=values["needed_items"], amount=values["needed_amount"]
        )
    return ClaimResult(
        claim=Claim(kind=values["kind"], amount=values["amount"], view=values["view"], tier=values["tier"]),
        outlook=outlook,
        lower=lower,
        upper=upper,
        looks=tuple(
            LookResult(
                replicate=look["replicate"],
                verdict=look["verdict"],
                lower=look["bounds"][0],
                upper=look["bounds"][1],
                difference=look["difference"],
                part=look.get("part"),
            )
            for look in values["looks"]
        ),
        since_part=values.get("since_part"),
        **{key: values[key] for key in _SAME},
    )


_SAME = ("candidate", "verdict", "since", "difference", "bar", "log_e", "log_e_against", "log_threshold")
