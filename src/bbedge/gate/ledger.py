"""The ledger of a gate: every use of a policy over months, under one error budget or with one each.

A file of JSON lines, each chained to the one before by SHA-256 (:mod:`bbedge.chain`): first the policy, then for every
use its level and its report. A line is on the disk before its verdict is shown, so that a crash loses nothing that
was reported. :mod:`bbedge.gate.use` has the lines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from typing import IO, Any

from bbedge.chain import Chain, append, damaged, read_chain
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.scores import Scores
from bbedge.errors import DataError, DesignError, DomainError, FormatError
from bbedge.files import LockedError, lock, sync_folder
from bbedge.gate.fingerprint import Fingerprint
from bbedge.gate.first_run import FirstRun
from bbedge.gate.gate import Gate, applied, candidates_of, checked
from bbedge.gate.policy import Policy
from bbedge.gate.report import GateReport
from bbedge.gate.use import Found, Use, keeps, policy_content, policy_from, use_from
from bbedge.text import shown_path

_WAIT_SECONDS = 30.0  # for another process that records a use
_REMEDY = "restore the file from a copy, or begin a new ledger"


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
                    **({} if use.checkpoints is None else {"checkpoints": use.checkpoints.content}),
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


def record(
    path: Path,
    policy: Policy,
    scores: Scores,
    *,
    label: str | None = None,
    use: int | None = None,
    first_run: FirstRun | None = None,
) -> Recorded:
    """Apply a policy to scores at the level of the next use, and record what was found.

    The same scores again, or fewer of their runs, return what is recorded. The same scores with further runs are
    another look at the same use, and need no level of their own. ``use`` is one that :func:`reserve` made,
    for a study whose board has checked its runs. ``first_run`` is what the study has looked at inside the first run, if
    :func:`reserve` was given its checkpoints.
    """
    scores = checked(policy if use is None else replace(policy, copies="allow"), scores)
    if not len(scores.values) and (first_run is None or not first_run.parts):
        raise DataError("the gate has no runs yet; add at least one")
    Gate(policy, scores)  # what is wrong with the policy or the scores is found before there is a ledger
    systems = _systems(policy, scores)
    with _locked(path, policy) as file:
        use_of = _same(file.ledger, scores, systems) if use is None else file.ledger.uses[use - 1]
        if use_of is None:
            use_of = Use(number=len(file.ledger.uses) + 1, level=_next_level(file.ledger, path), at="")
        found = _applied(use_of, policy, scores, first_run, path)
        if found is use_of.last:
            return Recorded(ledger=file.ledger, use=use_of, report=found.report, is_known=True)
        made = replace(use_of, at=_now(), label=label or use_of.label)
        file.add(made.gated(found))
        return Recorded(ledger=file.ledger, use=file.ledger.uses[made.number - 1], report=found.report, is_known=False)


def record_look(path: Path, policy: Policy, scores: Scores, first_run: FirstRun, *, use: int) -> GateReport:
    """Record a look inside the first run of a study that is running, and return what stands.

    The study ends with :func:`record`. Until then the ledger has no verdict of the use to show, but it knows which
    scores it has seen, and what they have decided.
    """
    scores = checked(replace(policy, copies="allow"), scores)
    if len(scores.values) or not first_run.parts:
        raise DataError("this is not a look inside the first run: it is complete, or has not reached a checkpoint")
    with _locked(path, policy) as file:
        use_of = file.ledger.uses[use - 1]
        found = _applied(use_of, policy, scores, first_run, path)
        if found is not use_of.newest:
            file.add(replace(use_of, at=_now()).look(found))
        return found.report


def reserve(
    path: Path, policy: Policy, study: str, *, label: str | None = None, checkpoints: Checkpoints | None = None
) -> Use:
    """The use of a study that is about to run, by the hash of its board: the same one when the study continues.

    It has its level before the first look, so that uses that end meanwhile cannot take it. ``checkpoints`` are the
    looks that its board plans inside the first run.
    """
    with _locked(path, policy) as file:
        for each in file.ledger.uses:
            if each.study == study:
                if each.checkpoints != checkpoints:
                    raise DesignError(
                        f"{shown_path(path)}: use {each.number} of this study began with other checkpoints, or another "
                        "order of blocks; begin a new study, with a new board"
                    )
                return each
        number = len(file.ledger.uses) + 1
        level = _next_level(file.ledger, path)
        made = Use(number=number, level=level, at=_now(), label=label, study=study, checkpoints=checkpoints)
        file.add(made.begun)
        return made


def _systems(policy: Policy, scores: Scores) -> tuple[str, ...]:
    baseline = () if policy.baseline is None else (policy.baseline,)
    return (*candidates_of(policy, scores.models), *baseline)


def _applied(use: Use, policy: Policy, scores: Scores, first_run: FirstRun | None, path: Path) -> Found:
    """What the gate finds at the level of a use; what is recorded if that is of these scores, and maybe more."""
    if first_run is not None and first_run.checkpoints != use.checkpoints:
        raise DesignError(
            f"{shown_path(path)}: use {use.number} has not reserved its level for these looks inside the first run"
        )
    inside = None
    if use.checkpoints is not None:
        inside = (first_run or FirstRun(checkpoints=use.checkpoints, parts=())).completed(scores)
    prints, newest = Fingerprint.of(scores, _systems(policy, scores), inside), use.newest
    if newest is not None and newest.scores.extends(prints):
        return newest
    if newest is not None and not prints.extends(newest.scores):
        raise DataError(
            f"{shown_path(path)}: use {use.number} has seen other scores than these, and a use keeps the runs that it "
            "began with; restore them, or begin a new study, with a new board"
        )
    report = applied(replace(policy, alpha=use.level), scores, inside).report()
    if newest is not None and inside is not None and not keeps(report, newest.report):
        raise DataError(
            f"{shown_path(path)}: use {use.number} has given a verdict on the first of these runs that this version of "
            "bbedge does not repeat; the recorded one stands"
        )
    return Found(scores=prints, report=report)


def _same(ledger: Ledger, scores: Scores, systems: Sequence[str]) -> Use | None:
    """The use that saw these runs, or some of them, or more of them."""
    prints = Fingerprint.of(scores, systems)
    for use in ledger.uses:
        if use.newest is None:
            continue
        seen = replace(use.newest.scores, parts=None)
        if not (seen.extends(prints) or prints.extends(seen)):
            continue
        if use.checkpoints is None or seen.runs:
            return use
        whole = FirstRun.of_complete(use.checkpoints, scores)
        if Fingerprint.of(scores, systems, whole).extends(use.newest.scores):
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
            new.insert(0, {"kind": "opened", "policy": policy_content(self.ledger.policy)})
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
    """The ledger that the lines make; every line must be one that a ledger writes."""
    uses: list[Use] = []
    policy: Policy | None = None
    for place, line in enumerate(lines, start=1):
        try:
            if policy is None:
                if line["kind"] != "opened":
                    raise ValueError
                policy = policy_from(line["policy"], source=shown_path(path))
            else:
                use = use_from(line, policy, uses)
                uses[use.number - 1 :] = [use, *uses[use.number :]]
        except (KeyError, TypeError, ValueError, IndexError, DomainError, DesignError) as error:
            raise damaged(path, place, _REMEDY, FormatError) from error
    if policy is None:
        raise damaged(path, 1, _REMEDY, FormatError)
    return Ledger(policy=policy, uses=tuple(uses))
