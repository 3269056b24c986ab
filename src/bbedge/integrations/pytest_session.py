"""A session with a gate: policy and baseline are read before the tests, verdict and stored scores come after."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from bbedge.core.copies import always_repeating, fingerprints
from bbedge.core.scores import Scores
from bbedge.display.gate import render
from bbedge.errors import CopiedReplicateError, DataError, DesignError, FormatError
from bbedge.files import csv_text, write_whole
from bbedge.gate import GateReport, Policy, gate
from bbedge.integrations import read_policy
from bbedge.integrations.pytest_plugin import CLAIMS
from bbedge.records.policy import EVERY
from bbedge.text import counted, listed, quoted, shown_path

_CANDIDATE, _BASELINE = "this session", "baseline"
_TEST = "test"
_COLUMNS = ("model", "item", "block", "test", "replicate", "score")
_REUSED = (
    "Each verdict against these stored runs is valid by itself if the system that it is about was not tuned on them. "
    "The risks of many such verdicts add up, and the sum bounds the risk of any wrong one only while no system depends "
    "on earlier verdicts against these runs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredItem:
    """What is known of an item."""

    block: str
    test: str
    """The test that scores it, without parameters."""


@dataclass(slots=True, kw_only=True)
class Scored:
    """The scores of one system: every item in every run."""

    source: str
    """Where they come from, for messages."""
    items: dict[str, ScoredItem] = field(default_factory=dict)
    scores: dict[tuple[int, str], float] = field(default_factory=dict)
    """The score of a run and an item."""

    def add(self, run: int, item: str, about: ScoredItem, score: float) -> None:
        """Take in a score; a second one is refused, because choosing between them would be a choice by scores."""
        if self.items.setdefault(item, about) != about:
            raise DataError(f"{self.source}: item {quoted(item, 120)} is in two blocks")
        if (run, item) in self.scores:
            raise DataError(
                f"{self.source}: item {quoted(item, 120)} has two scores in run {run}; run every test once per run "
                "(do not rerun tests that scored)"
            )
        self.scores[run, item] = score

    @property
    def runs(self) -> int:
        """The number of runs."""
        return max((run for run, _ in self.scores), default=0)

    def check_complete(self) -> None:
        """Refuse missing scores: nothing may be read into them."""
        every = product(range(1, self.runs + 1), self.items)
        missing = [f"{item} (run {run})" for run, item in every if (run, item) not in self.scores]
        if missing:
            raise DataError(
                f"{self.source}: no score of {listed(missing, limit=3)}; every item needs a score in each of "
                f"{self.runs} runs: give all tests the same number of runs, and let none end before it has scored"
            )


class GateSession:
    """Scores of one session, and what they are compared with.

    The claims are those of a policy file or of markers: both are fixed before a test runs. The scores of the session
    are written to ``store``, those in ``baseline`` are what it is compared with.
    """

    def __init__(self, *, policy: Path | None, baseline: Path | None, store: Path | None) -> None:
        self._policy = None if policy is None else _session_policy(policy)
        self._baseline = None if baseline is None else read_stored(baseline)
        self._store, self._scored = store, Scored(source=_CANDIDATE)
        self._claims: dict[str, dict[str, Any]] = {}
        if self._policy is not None and self._policy.baseline is not None and baseline is None and store is None:
            raise DesignError(
                f"{self._policy.source} compares with a baseline; name its scores with --gate-baseline FILE"
            )

    def finish(self, recorded: Iterable[Mapping[str, Any]], *, width: int) -> tuple[list[str], int]:
        """Decide on what the runs of tests recorded, then store it.

        Returns what to show, and the exit code of ``bbedge gate``, 0 if there is nothing to decide.
        """
        for values in recorded:
            if values["claim"] is not None:
                self._claims[values["test"]] = dict(values["claim"])
            for item, block, score in values["scores"]:
                self._scored.add(values["run"], item, ScoredItem(block=block, test=values["test"]), score)
        if not self._scored.scores:
            raise DataError("no test recorded a score; use the gate fixture: gate.score(item, value)")
        self._scored.check_complete()
        lines, exit_code = list[str](), 0
        if self._baseline is not None or (self._policy is not None and self._policy.baseline is None):
            report, repeating = self._report()
            lines, exit_code = _shown(report, width), report.exit_code
            lines += [f"{quoted(name)} has the same scores in every run; is there a cache?" for name in repeating]
            if self._baseline is not None and report.policy.baseline is not None:
                lines.append(f"Compared with {self._baseline.source}. {_REUSED}")
        if self._store is not None:
            store(self._store, self._scored)
            runs, items = counted(self._scored.runs, "run"), counted(len(self._scored.items), "item")
            lines.append(f"Stored {runs} of {items} in {shown_path(self._store)}. {_REUSED}")
        return lines, exit_code

    def _report(self) -> tuple[GateReport, tuple[str, ...]]:
        """The report, and the systems that always repeat themselves."""
        policy = self._rules()
        scores = self._scores(policy)
        try:
            if not policy.repeats_are_harmless:
                scores.check_copies("refuse")
        except CopiedReplicateError as error:
            raise DataError(
                f"{error} Turn off the cache of the system under test; if it always answers alike, use runs=1."
            ) from error
        return gate(policy, scores), always_repeating([fingerprints(scores.models, panel) for panel in scores.values])

    def _rules(self) -> Policy:
        if self._policy is not None:
            if self._claims:
                raise DesignError(
                    f"{self._policy.source} and the markers of {listed(self._claims)} make claims; keep one of them"
                )
            return self._policy
        if not self._claims:
            raise DesignError(
                "no claim; give a marker one, as in gate(runs=5, not_worse_by=0.02), or use --gate-policy"
            )
        tests = {about.test for about in self._scored.items.values()}
        # The only test is the headline itself, which has no view of its own.
        views = len(tests) > 1
        claims = [{**claim, **({"view": test} if views else {})} for test, claim in sorted(self._claims.items())]
        values = {
            "candidate": _CANDIDATE,
            "baseline": _BASELINE,
            "claims": claims,
            **({"views": _TEST} if views else {}),
        }
        return Policy.from_values(values, source="the markers")

    def _scores(self, policy: Policy) -> Scores:
        """The scores of both systems, which must have the same items and runs."""
        systems = {policy.candidates[0]: self._scored}
        if policy.baseline is not None:
            if self._baseline is None:
                raise DesignError(
                    f"{policy.source} compares with a baseline; name its scores with --gate-baseline FILE"
                )
            _check_alike(self._scored, self._baseline)
            systems[policy.baseline] = self._baseline
        items, runs = sorted(self._scored.items), range(1, self._scored.runs + 1)
        values = [[[system.scores[run, item] for item in items] for system in systems.values()] for run in runs]
        about = [self._scored.items[item] for item in items]
        scores = Scores.of(values, models=tuple(systems), items=items, blocks=[each.block for each in about])
        return replace(scores, columns={_TEST: tuple(each.test for each in about)})


def _session_policy(path: Path) -> Policy:
    name, policy = shown_path(path), read_policy(path)
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


def store(path: Path, scored: Scored) -> None:
    """Write scores as a table that every command of bbedge reads, too."""
    rows = (
        (_BASELINE, item, scored.items[item].block, scored.items[item].test, run, repr(scored.scores[run, item]))
        for run, item in sorted(scored.scores)  # an order that does not depend on which worker was first
    )
    write_whole(path, csv_text(_COLUMNS, rows))


def read_stored(path: Path) -> Scored:
    """Read what :func:`store` wrote."""
    name = shown_path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(
            f"there is no baseline {name}; run the tests of the baseline system once with --gate-store {name}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{name}: cannot be read ({error})") from error
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    found = Scored(source=name)
    try:
        if tuple(rows.fieldnames or ()) != _COLUMNS:
            raise FormatError(f"{name}: not a file that --gate-store wrote; expected the columns {', '.join(_COLUMNS)}")
        for row in rows:
            run, score = _numbers(row, f"{name}:{rows.line_num}")
            found.add(run, row["item"], ScoredItem(block=row["block"], test=row["test"]), score)
    except csv.Error as error:
        raise FormatError(f"{name}:{rows.line_num}: not valid CSV ({error})") from error
    if not found.scores:
        raise FormatError(f"{name}: has no scores; write it again with --gate-store {name}")
    found.check_complete()
    return found


def _numbers(row: Mapping[str | None, Any], place: str) -> tuple[int, float]:
    if None in row or None in row.values():
        raise FormatError(f"{place}: expected {len(_COLUMNS)} values")
    try:
        run, score = int(row["replicate"]), float(row["score"])
    except ValueError:
        run, score = 0, math.nan
    if run < 1 or not 0.0 <= score <= 1.0:
        raise FormatError(f"{place}: expected a replicate of 1 or more and a score from 0 to 1")
    return run, score
