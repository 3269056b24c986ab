"""The ledger of a gate: every use of a policy over months, under one error budget or with one each.

A file of JSON lines, each chained to the one before by SHA-256 (:mod:`bbedge.chain`): first the policy, then for every
use its level and its report. A line is on the disk before its verdict is shown, so that a crash loses nothing that
was reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from typing import IO, Any

from bbedge.chain import Chain, append, damaged, read_chain
from bbedge.core.scores import Scores
from bbedge.errors import DataError, DesignError, DomainError, FormatError
from bbedge.files import LockedError, lock, sync_folder
from bbedge.gate.content import policy_content
from bbedge.gate.fingerprint import Fingerprint
from bbedge.gate.gate import Gate, candidates_of, checked
from bbedge.gate.policy import Policy
from bbedge.gate.recorded import policy_from, report_from
from bbedge.gate.report import GateReport
from bbedge.text import shown_path

_FORM = 1
_WAIT_SECONDS = 30.0  # for another process that records a use
_REMEDY = "restore the file from a copy, or begin a new ledger"


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
    scores: Fingerprint | None = None
    """The scores; ``None`` while the study is running."""
    report: GateReport | None = None
    """What the gate found; ``None`` while the study is running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a ledger holds.

    **Guarantee:** with ``spending = "ledger"`` every verdict of every use, at every look, is right with probability at
    least ``1 - alpha``; with ``each-run`` the verdicts of each use are.

    **Needs:** every use of the gate is recorded, and none is left out because of its scores.
    """

    policy: Policy
    """The policy, which is the same for every use."""
    uses: tuple[Use, ...] = ()
    """The uses, in order."""
    head: str = ""
    """The checksum of the last line: it covers the whole file."""

    @property
    def spent(self) -> float:
        """The sum of the levels."""
        return fsum(use.level for use in self.uses)

    @property
    def next_level(self) -> float:
        """The level of the next use; 0 when nothing is left."""
        return self.policy.level(len(self.uses))

    def to_values(self) -> dict[str, Any]:
        """The history as plain values, for JSON."""
        return {
            "policy": policy_content(self.policy),
            "alpha": self.policy.alpha,
            "spending": self.policy.spending,
            "spent": self.spent,
            "next_level": self.next_level,
            "head": self.head,
            "uses": [
                {
                    "number": use.number,
                    "level": use.level,
                    "at": use.at,
                    "label": use.label,
                    "release": None if use.report is None else use.report.release,
                    "report": None if use.report is None else use.report.to_values(),
                }
                for use in self.uses
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A use of the gate that is on the disk."""

    ledger: Ledger
    """The ledger, with it."""
    use: Use
    """The use."""
    report: GateReport
    """What the gate found."""
    is_known: bool
    """Whether these scores had been recorded before, so that nothing was computed or spent."""

    def to_values(self) -> dict[str, Any]:
        """The report as plain values, with its place in the ledger."""
        ledger = {
            "use": self.use.number,
            "level": self.use.level,
            "alpha": self.ledger.policy.alpha,
            "spent": self.ledger.spent,
            "label": self.use.label,
            "recorded_before": self.is_known,
            "head": self.ledger.head,
        }
        return self.report.to_values() | {"ledger": ledger}


def read_ledger(path: Path) -> Ledger:
    """Read a ledger and check it; one that was only begun or does not exist is refused."""
    ledger, _ = _read(path)
    if ledger is None:
        raise FormatError(f"{shown_path(path)}: there is no ledger here yet; the first use of a gate makes it")
    return ledger


def record(path: Path, policy: Policy, scores: Scores, *, label: str | None = None, use: int | None = None) -> Recorded:
    """Apply a policy to scores at the level of the next use, and record what was found.

    The same scores again, or fewer of their runs, return what is recorded. The same scores with further runs are
    another look at the same use, and need no level of their own. ``use`` is one that :func:`reserve` made,
    for a study whose board has checked its runs.
    """
    scores = checked(policy if use is None else replace(policy, copies="allow"), scores)
    if not len(scores.values):
        raise DataError("the gate has no runs yet; add at least one")
    Gate(policy, scores)  # what is wrong with the policy or the scores is found before there is a ledger
    with _locked(path, policy) as file:
        baseline = () if policy.baseline is None else (policy.baseline,)
        prints = Fingerprint.of(scores, (*candidates_of(policy, scores.models), *baseline))
        found = file.ledger.uses[use - 1] if use is not None else _same(file.ledger, prints)
        if found is not None and found.report is not None and found.scores is not None and found.scores.extends(prints):
            return Recorded(ledger=file.ledger, use=found, report=found.report, is_known=True)
        if found is None:
            found = Use(number=len(file.ledger.uses) + 1, level=_next_level(file.ledger, path), at="")
        gate = Gate(replace(policy, alpha=found.level), scores)
        for panel in scores.values:
            gate.update(panel)
        report = gate.report()
        made = replace(found, at=_now(), label=label or found.label)
        file.add({**_line("gated", made), "scores": prints.content, "report": report.to_values()})
        return Recorded(ledger=file.ledger, use=file.ledger.uses[made.number - 1], report=report, is_known=False)


def reserve(path: Path, policy: Policy, study: str, *, label: str | None = None) -> Use:
    """The use of a study that is about to run, by the hash of its board: the same one when the study continues.

    It has its level before the first look, so that uses that end meanwhile cannot take it.
    """
    with _locked(path, policy) as file:
        for each in file.ledger.uses:
            if each.study == study:
                return each
        number = len(file.ledger.uses) + 1
        made = Use(number=number, level=_next_level(file.ledger, path), at=_now(), label=label, study=study)
        file.add(_line("begun", made) | {"study": study})
        return made


def _line(kind: str, use: Use) -> dict[str, Any]:
    return {"kind": kind, "use": use.number, "level": use.level, "at": use.at, "label": use.label}


def _same(ledger: Ledger, prints: Fingerprint) -> Use | None:
    """The use that saw these runs, or some of them, or more of them."""
    for use in ledger.uses:
        if use.scores is not None and (use.scores.extends(prints) or prints.extends(use.scores)):
            return use
    return None


def _next_level(ledger: Ledger, path: Path) -> float:
    level = ledger.next_level
    if not level > 0.0:
        raise DesignError(
            f"{shown_path(path)}: all {ledger.policy.shares} shares of alpha are spent; begin a new ledger, whose uses "
            "then have an alpha of their own"
        )
    return level


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(slots=True, kw_only=True)
class _File:
    """A ledger that this process alone may write to."""

    path: Path
    file: IO[bytes]
    ledger: Ledger
    chain: Chain
    _lines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, content: Mapping[str, Any]) -> None:
        """Write a line; it survives a crash when this returns."""
        new = [dict(content)]
        if not self.chain.lines and not self._lines:
            new.insert(0, {"kind": "opened", "form": _FORM, "policy": policy_content(self.ledger.policy)})
        ledger, head = _fold((*self.chain.lines, *self._lines, *new), self.path), self.ledger.head
        for line in new:
            head = append(self.file, head, line, durable=True, kind=DataError)
        sync_folder(self.path.absolute().parent)
        self._lines += new
        self.ledger = replace(ledger, head=head)


@contextmanager
def _locked(path: Path, policy: Policy) -> Iterator[_File]:
    """The ledger at a path, made if it is not there, and of this policy."""
    try:
        with path.open("a+b") as file:
            _wait(file, path)
            ledger, chain = _read(path)
            file.truncate(chain.end)  # the rest is a line that a crash tore
            if ledger is None:
                ledger = Ledger(policy=policy, head=chain.head)
            check_policy(ledger, policy, path)
            yield _File(path=path, file=file, ledger=ledger, chain=chain)
    except OSError as error:
        raise DataError(f"{shown_path(path)}: cannot be written ({error.strerror}); choose another place") from error


def _wait(file: IO[bytes], path: Path) -> None:
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            return lock(file)
        except LockedError:
            if time.monotonic() > until:
                raise DataError(f"{shown_path(path)}: another process is using the ledger; try again later") from None
            time.sleep(0.05)


def check_policy(ledger: Ledger, policy: Policy, path: Path) -> None:
    """Refuse another policy than the one that a ledger began with."""
    was, now = policy_content(ledger.policy), policy_content(policy)
    keys = [key for key in dict.fromkeys((*was, *now)) if was.get(key) != now.get(key)]
    if keys:
        words = "; ".join(f"{key} is {_words(ledger.policy, key)} there and {_words(policy, key)} now" for key in keys)
        raise DesignError(
            f"{policy.source}: not the policy that the ledger {shown_path(path)} began with: {words}. Restore it, or "
            "begin a new ledger"
        )


def _words(policy: Policy, key: str) -> str:
    value = getattr(policy, key)
    if key == "claims":
        return ", ".join(f"'{claim}' ({claim.tier})" for claim in policy.claims)
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)


def _read(path: Path) -> tuple[Ledger | None, Chain]:
    try:
        with path.open("rb") as file:
            first = file.read(1)
    except FileNotFoundError:
        first = b""
    except OSError as error:
        raise FormatError(f"{shown_path(path)}: cannot be read ({error.strerror})") from error
    if first not in (b"", b"{"):
        raise FormatError(f"{shown_path(path)}: not the ledger of a gate; name another file")
    chain = read_chain(path, remedy=_REMEDY, kind=FormatError)
    return (replace(_fold(chain.lines, path), head=chain.head) if chain.lines else None), chain


def _fold(lines: tuple[dict[str, Any], ...], path: Path) -> Ledger:
    """The ledger that the lines make; every line must be one that this or an earlier version writes."""
    uses: list[Use] = []
    policy: Policy | None = None
    for place, line in enumerate(lines, start=1):
        try:
            if policy is None:
                if line["kind"] != "opened" or line["form"] != _FORM:
                    raise ValueError
                policy = policy_from(line["policy"], source=shown_path(path))
            else:
                use = _use(line, policy, uses)
                uses[use.number - 1 :] = [use, *uses[use.number :]]
        except (KeyError, TypeError, ValueError, IndexError, DomainError, DesignError) as error:
            raise damaged(path, place, _REMEDY, FormatError) from error
    if policy is None:
        raise damaged(path, 1, _REMEDY, FormatError)
    return Ledger(policy=policy, uses=tuple(uses))


def _use(line: Mapping[str, Any], policy: Policy, uses: list[Use]) -> Use:
    """The use that a line begins, or says more of."""
    number, level = line["use"], line["level"]
    if not 1 <= number <= len(uses) + 1 or level != policy.level(number - 1):
        raise ValueError
    before = uses[number - 1] if number <= len(uses) else None
    made = Use(number=number, level=level, at=line["at"], label=line["label"])
    if line["kind"] == "begun" and before is None:
        return replace(made, study=line["study"])
    prints = Fingerprint(about=line["scores"]["about"], runs=tuple(line["scores"]["runs"]))
    if line["kind"] != "gated" or (before and before.scores and not prints.extends(before.scores)):
        raise ValueError
    return replace(
        made,
        study=None if before is None else before.study,
        scores=prints,
        report=report_from(line["report"], policy),
    )
