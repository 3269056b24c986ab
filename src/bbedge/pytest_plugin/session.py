"""What a session with a gate does: policy and baseline are read before the tests, the verdict is given after them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bbedge.core.copies import always_repeating, fingerprints
from bbedge.core.scores import Scores
from bbedge.display.gate import render
from bbedge.errors import CopiedReplicateError, DataError, DesignError, FormatError
from bbedge.gate import GateReport, Policy, gate
from bbedge.gate.policy import EVERY
from bbedge.pytest_plugin.scored import CLAIMS, About, Scored, read_stored, store
from bbedge.text import counted, listed, quoted, shown_path

_CANDIDATE, _BASELINE = "this session", "baseline"
_TEST = "test"
_REUSED = (
    "Each verdict against these stored runs is valid by itself if the system that it is about was not tuned on them. "
    "The risks of many such verdicts add up, and the sum bounds the risk of any wrong one only while no system depends "
    "on earlier verdicts against these runs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a session ended."""

    lines: tuple[str, ...]
    """What to show."""
    exit_code: int
    """That of ``bbedge gate``; 0 if there was nothing to decide."""


@dataclass(slots=True, kw_only=True)
class GateSession:
    """Scores of one session, and what they are compared with.

    The claims are those of a policy file or of markers: both are fixed before a test runs.
    """

    policy: Policy | None
    """The policy of a file."""
    baseline: Scored | None
    """The stored scores to compare with."""
    store: Path | None
    """Where to write the scores of this session."""
    _rows: list[tuple[int, str, About, float]] = field(default_factory=list, init=False)
    _scored: Scored = field(default_factory=lambda: Scored(source=_CANDIDATE), init=False)
    _claims: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)

    @classmethod
    def make(cls, *, policy: Path | None, baseline: Path | None, store: Path | None) -> GateSession:
        """Read the policy and the baseline."""
        rules = None if policy is None else _read_policy(policy)
        stored = None if baseline is None else read_stored(baseline)
        if rules is not None and rules.baseline is not None and stored is None and store is None:
            raise DesignError(f"{rules.source} compares with a baseline; name its scores with --gate-baseline FILE")
        return cls(policy=rules, baseline=stored, store=store)

    def add(self, values: Mapping[str, Any]) -> None:
        """Take in what one run of a test recorded."""
        test = values["test"]
        if values["claim"] is not None:
            self._claims[test] = dict(values["claim"])
        for item, block, score in values["scores"]:
            self._rows.append((values["run"], item, About(block=block, test=test), score))

    def finish(self, *, width: int) -> Outcome:
        """Decide, then store."""
        for run, item, about, score in self._rows:
            self._scored.add(run, item, about, score)
        if not self._scored.scores:
            raise DataError("no test recorded a score; use the gate fixture: gate.score(item, value)")
        self._scored.check_complete()
        lines: list[str] = []
        exit_code = 0
        if self.baseline is not None or (self.policy is not None and self.policy.baseline is None):
            report, repeating = self._report()
            lines, exit_code = _shown(report, width), report.exit_code
            lines += [f"{quoted(name)} has the same scores in every run; is there a cache?" for name in repeating]
            if self.baseline is not None and report.policy.baseline is not None:
                lines.append(f"Compared with {self.baseline.source}. {_REUSED}")
        if self.store is not None:
            store(self.store, self._scored)
            runs, items = counted(self._scored.runs, "run"), counted(len(self._scored.items), "item")
            lines.append(f"Stored {runs} of {items} in {shown_path(self.store)}. {_REUSED}")
        return Outcome(lines=tuple(lines), exit_code=exit_code)

    def _report(self) -> tuple[GateReport, tuple[str, ...]]:
        """The report, and the systems that always repeat themselves."""
        policy = self._rules()
        scores = self._scores(policy)
        try:
            scores.check_copies("refuse")
        except CopiedReplicateError as error:
            raise DataError(
                f"{error} Turn off the cache of the system under test; if it always answers alike, use runs=1."
            ) from error
        repeating = always_repeating([fingerprints(scores.models, panel) for panel in scores.values])
        return gate(policy, scores), repeating

    def _rules(self) -> Policy:
        if self.policy is not None:
            if self._claims:
                raise DesignError(
                    f"{self.policy.source} and the markers of {listed(self._claims)} make claims; keep one of them"
                )
            return self.policy
        if not self._claims:
            raise DesignError(
                "no claim; give a marker one, as in gate(runs=5, not_worse_by=0.02), or use --gate-policy"
            )
        tests = {about.test for about in self._scored.items.values()}
        # The only test is the headline itself, which has no view of its own.
        views = len(tests) > 1
        claims = [{**claim, **({"view": test} if views else {})} for test, claim in sorted(self._claims.items())]
        values = {"candidate": _CANDIDATE, "baseline": _BASELINE, "claims": claims}
        return Policy.from_values(values | ({"views": _TEST} if views else {}), source="the markers")

    def _scores(self, policy: Policy) -> Scores:
        """The scores of both systems, which must have the same items and runs."""
        systems = {policy.candidates[0]: self._scored}
        if policy.baseline is not None:
            if self.baseline is None:
                raise DesignError(
                    f"{policy.source} compares with a baseline; name its scores with --gate-baseline FILE"
                )
            _check_alike(self._scored, self.baseline)
            systems[policy.baseline] = self.baseline
        items, runs = sorted(self._scored.items), range(1, self._scored.runs + 1)
        values = np.array(
            [[[system.scores[run, item] for item in items] for system in systems.values()] for run in runs]
        )
        about = [self._scored.items[item] for item in items]
        scores = Scores.of(values, models=tuple(systems), items=items, blocks=[each.block for each in about])
        return replace(scores, columns={_TEST: tuple(each.test for each in about)})


def _read_policy(path: Path) -> Policy:
    name = shown_path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{name}: cannot be read ({error})") from error
    policy = Policy.from_toml(text, source=name)
    if len(policy.candidates) != 1 or policy.candidates == (EVERY,):
        raise DesignError(f"{name}: a session is one candidate; name one")
    if policy.spending != "each-run":
        raise DesignError(f"{name}: a session has no ledger; write spending = 'each-run'")
    strange = sorted({policy.macro, policy.weights, policy.views} - {None, _TEST}, key=str)
    if strange:
        raise DesignError(f"{name}: {listed(map(str, strange))} is not known of a test's items; there is '{_TEST}'")
    if not all(claim.kind in CLAIMS for claim in policy.claims):
        raise DesignError(f"{name}: tests record no costs; use claims with one of {', '.join(CLAIMS)}")
    return policy


def _check_alike(new: Scored, old: Scored) -> None:
    """Refuse what only one of the two has: neither items nor runs are left out."""
    for one, other in ((new, old), (old, new)):
        missing = sorted(set(one.items) - set(other.items))
        if missing:
            raise DataError(
                f"{other.source} has no {listed(missing, limit=3)}; run all tests, or store a baseline that has the "
                "same items"
            )
    if new.runs != old.runs:
        raise DataError(
            f"{new.source} has {counted(new.runs, 'run')} and {old.source} {counted(old.runs, 'run')}; use the same "
            f"number (--gate-runs {old.runs}), or store the baseline again"
        )
    changed = [item for item in new.items if new.items[item].block != old.items[item].block]
    if changed:
        raise DataError(
            f"the block of {listed(changed, limit=3)} is not that of {old.source}; store the baseline again"
        )


def _shown(report: GateReport, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False, color_system=None).print(render(report))
    return [line.rstrip() for line in out.getvalue().splitlines()]
