"""The uses of a gate as the lines of its ledger, and what must hold between them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import Any

from bbedge.core.checkpoints import Checkpoints
from bbedge.gate.fingerprint import Fingerprint
from bbedge.gate.policy import Claim, Policy
from bbedge.gate.report import ClaimOutlook, ClaimResult, GateReport, LookResult


def policy_content(policy: Policy) -> dict[str, Any]:
    """What a policy says. What is as by default is left out, so that a later version with further keys says the same.

    >>> claim = Claim(kind="not_worse_by", amount=0.02)
    >>> policy_content(Policy(candidates=("new",), baseline="old", claims=(claim,)))
    {'candidates': ['new'], 'baseline': 'old', 'claims': [{'kind': 'not_worse_by', 'amount': 0.02}]}
    """
    content = _changed(policy)
    content["claims"] = [_changed(claim) for claim in policy.claims]
    content["candidates"] = list(policy.candidates)
    if policy.metric is not None:
        content["metric"] = [policy.metric] if isinstance(policy.metric, str) else list(policy.metric)
    if "metric_ranges" in content:
        content["metric_ranges"] = {name: list(ends) for name, ends in sorted(policy.metric_ranges.items())}
    return content


def policy_hash(policy: Policy) -> str:
    """SHA-256 of the content, in hexadecimal."""
    text = json.dumps(policy_content(policy), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _changed(record: Policy | Claim) -> dict[str, Any]:
    """The fields that count and are not as by default."""
    return {
        each.name: getattr(record, each.name)
        for each in fields(record)
        if each.compare and getattr(record, each.name) != _default(each)
    }


def _default(each: Field[Any]) -> object:
    return each.default if each.default_factory is MISSING else each.default_factory()


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


_MOST_BLOCKS = 2**53
_BEGUN, _LOOKED, _GATED = "begun", "looked", "gated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a gate found, and in which scores."""

    scores: Fingerprint
    """The scores."""
    report: GateReport
    """The verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of the gate: a merge, or whatever it decides about."""

    number: int
    """From 1."""
    level: float
    """Its part of alpha."""
    at: str
    """When it was last recorded, as ISO 8601 in UTC; for people, the statistics do not use it."""
    label: str | None = None
    """What it is called, for instance a commit."""
    study: str | None = None
    """The board of the study that is run for it, by a hash; ``None`` if the scores came from files."""
    checkpoints: Checkpoints | None = None
    """The looks inside the first run that the study plans, and the order of its blocks; ``None`` if there are none."""
    last: Found | None = None
    """What the gate found when it was last applied; ``None`` while the study is running."""
    looked: Found | None = None
    """What it found since then inside the first run of the study, which is still running."""

    @property
    def report(self) -> GateReport | None:
        """The verdicts; ``None`` while the study is running."""
        return None if self.last is None else self.last.report

    @property
    def newest(self) -> Found | None:
        """What was found at the newest look."""
        return self.last if self.looked is None else self.looked

    @property
    def begun(self) -> dict[str, Any]:
        """The line that begins the use of a study."""
        checkpoints = None if self.checkpoints is None else self.checkpoints.content
        return self._line(_BEGUN) | {"study": self.study, "checkpoints": checkpoints}

    def look(self, found: Found) -> dict[str, Any]:
        """The line that says what a look inside the first run found, while the study is running."""
        return self._line(_LOOKED) | _content(found)

    def gated(self, found: Found) -> dict[str, Any]:
        """The line that says what the gate found."""
        return self._line(_GATED) | _content(found)

    def _line(self, kind: str) -> dict[str, Any]:
        return {"kind": kind, "use": self.number, "level": self.level, "at": self.at, "label": self.label}


def _content(found: Found) -> dict[str, Any]:
    return {"scores": found.scores.content, "report": found.report.to_values()}


def use_from(line: Mapping[str, Any], policy: Policy, uses: Sequence[Use]) -> Use:
    """The use that a line begins or says more of, after the uses of the lines before it.

    ``KeyError``, ``TypeError``, ``ValueError`` or an error of a domain if no ledger has such a line.
    """
    number, level, kind = line["use"], line["level"], line["kind"]
    _require(1 <= number <= len(uses) + 1 and level == policy.level(number - 1))
    use = Use(number=number, level=level, at=line["at"], label=line["label"])
    if number > len(uses):
        if kind == _BEGUN:
            planned = line["checkpoints"]
            checkpoints = None if planned is None else _checkpoints_from(planned)
            return replace(use, study=line["study"], checkpoints=checkpoints)
    else:
        use = replace(uses[number - 1], at=use.at, label=use.label)
    _require(kind == _GATED or (kind == _LOOKED and use.checkpoints is not None))
    found = Found(scores=Fingerprint.from_content(line["scores"]), report=report_from(line["report"], policy))
    _require(use.newest is None or found.scores.extends(use.newest.scores))
    if use.checkpoints is None:
        _require(found.scores.parts is None)
    else:
        _check_parts(found, use, use.checkpoints)
        _require(kind == _GATED or not found.scores.runs)
    return replace(use, looked=found) if kind == _LOOKED else replace(use, last=found, looked=None)


def keeps(now: GateReport, before: GateReport) -> bool:
    """Whether every claim that was decided before still has its verdict, since the same look, or is contradicted."""
    return len(now.results) == len(before.results) and all(
        (new.claim, new.candidate) == (old.claim, old.candidate)
        and (old.since is None or new.verdict == "CONTRADICTION" or _decided(new) == _decided(old))
        for new, old in zip(now.results, before.results, strict=True)
    )


def _decided(result: ClaimResult) -> tuple[object, ...]:
    return result.verdict, result.since, result.since_part


def _checkpoints_from(content: Mapping[str, Any]) -> Checkpoints:
    found = Checkpoints(
        order_seed=content["order_seed"],
        fractions=tuple(content["fractions"]),
        weights=tuple(content["weights"]),
        complete=content["complete"],
    )
    _require(found.content == dict(content))
    return found


def _check_parts(found: Found, use: Use, checkpoints: Checkpoints) -> None:
    """Refuse hashes and a report that are not of the looks that the use has planned."""
    parts, runs, report = found.scores.parts, len(found.scores.runs), found.report
    if parts is None or not 0 < parts.of_blocks < _MOST_BLOCKS:
        raise ValueError
    planned, passed = tuple(checkpoints.planned(parts.of_blocks)), len(parts.blocks)
    _require(parts.order_seed == checkpoints.order_seed and parts.blocks == planned[:passed])
    _require(len(parts.hashes) == passed and (passed == len(planned) if runs else passed > 0))
    inside = [(1, blocks / parts.of_blocks) for blocks in parts.blocks]
    looks: list[tuple[int, float | None]] = [*inside, *((run, None) for run in range(1, runs + 1))]
    _require((report.replicates, report.part) == (runs, None if runs else inside[-1][1]))
    _require(report.policy.alpha == use.level)
    for result in report.results:
        _require([(look.replicate, look.part) for look in result.looks] == looks)
        decided = next((look for look in result.looks if look.verdict != "OPEN"), None)
        stands = ("OPEN", None, None) if decided is None else (decided.verdict, decided.replicate, decided.part)
        _require(result.verdict == "CONTRADICTION" or _decided(result) == stands)
    _require(use.newest is None or keeps(report, use.newest.report))


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
