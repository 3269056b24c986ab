"""A gate's ledger in its store: every use of a policy over months, under one error budget or with one each.

A use is known by its label. Its level, its scores and its report are on the disk before a verdict is shown, and every
verdict that is shown is computed from the stored scores.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints
from bbedge.core.scores import Scores
from bbedge.errors import Argument, Blank, BoardError, DataError, DesignError, FormatError, NoBoardError
from bbedge.gate.admit import admit, admitted, confirmed_gate, copies_by_run
from bbedge.gate.first_run import FirstRun
from bbedge.gate.gate import Gate, usable_scores
from bbedge.gate.uses import GateState, UseState, scores_of_systems
from bbedge.ledger.chain import LedgerEvent, check_head
from bbedge.ledger.store import Session, Store, Vector
from bbedge.ledger.vectors import checksum, pack
from bbedge.records.codec import convert, to_json
from bbedge.records.events import PARTS, Created
from bbedge.records.gate import (
    GateEvent,
    GateHistory,
    GateUse,
    ItemListing,
    PlannedCheckpoints,
    PolicyFrozen,
    RecordedUse,
    UseBegun,
    UseDecided,
    UseLooked,
)
from bbedge.records.gate_report import GateReport
from bbedge.records.policy import Policy
from bbedge.text import counted, shown_path

Place = str | os.PathLike[str]
_WHAT = "gate ledger"


def read_ledger(
    place: Place, *, policy: Policy | None = None, head: str | None = None, forecasts: bool = True
) -> GateHistory:
    """Every use of a gate, with reports that are computed again from the stored scores.

    A ``policy`` that is not that of the ledger is refused, and so is a ledger without the published ``head``.
    ``forecasts`` of what would decide open claims take most of the time.
    """
    try:
        store = Store(place, what=_WHAT)
        if problems := store.problems():
            raise BoardError(f"{store.name}: the ledger is damaged: {problems[0]}; restore it from a copy")
        with store.read() as session, _named(store):
            ledger = _Ledger.of(store, session, head)
            if policy is not None:
                ledger.check_policy(policy)
            return ledger.history(forecasts=forecasts)
    except NoBoardError as error:
        name = shown_path(place) if "://" not in os.fspath(place) else "the database"
        lost = "" if head is None else ", and a head of one was published; restore it from a copy"
        raise FormatError(f"{name}: there is no ledger here yet; the first use of a gate makes it{lost}") from error


def record(
    place: Place,
    policy: Policy,
    scores: Scores,
    *,
    label: str | None,
    study: str | None = None,
    first_run: FirstRun | None = None,
    head: str | None = None,
) -> RecordedUse:
    """Apply a policy to scores, and record the use that the label identifies.

    Another label is another use, at the next level. The same label must come with the runs that are recorded for it,
    and maybe further ones: another look at the same use, which spends nothing. ``study`` is the hash of the board of a
    study, for which :func:`reserve` took a level and which has checked its runs; ``first_run`` is what it has looked at
    inside its first run. ``head`` is a hash that was published earlier.
    """
    given = _Given.of(policy, scores, first_run, copies="allow" if study else policy.copies)
    if not len(given.scores.values) and (first_run is None or not first_run.parts):
        raise DataError("the gate has no runs yet; add at least one")
    with _writing(place, policy, head) as ledger:
        use = ledger.use(given.scores, label, study, None if first_run is None else first_run.checkpoints)
        ledger.look(use, given, part_is_enough=False)
        is_known = use.is_decided
        if not is_known:
            ledger.decide(use)
        report = ledger.confirmed(use, forecasts=True)
        assert ledger.last is not None  # the use has begun
        return RecordedUse(
            use=_shown(use, report),
            alpha=policy.alpha,
            spent=ledger.state.spent,
            head=ledger.last.hash,
            is_known=is_known,
        )


def reserve(
    place: Place,
    policy: Policy,
    scores: Scores,
    *,
    label: str | None,
    study: str,
    checkpoints: Checkpoints | None = None,
    head: str | None = None,
) -> GateUse:
    """The use of a study that is about to run: the same one when the study continues.

    It has its level before the first look, so that uses that end meanwhile cannot take it. ``scores`` say what the
    study is about, whether it has runs or not; ``checkpoints`` are the looks that its board plans inside the first run.
    """
    given = _Given.of(policy, scores, None, copies="allow")
    with _writing(place, policy, head) as ledger:
        return _shown(ledger.use(given.scores, label, study, checkpoints), None)


def record_look(
    place: Place, policy: Policy, scores: Scores, first_run: FirstRun, *, label: str | None, study: str
) -> GateReport:
    """Record a look inside the first run of a study that is running, and return what it says.

    The study ends with :func:`record`. Until then the ledger has no report of the use to show, but the scores that it
    has seen. A study that was set back may repeat looks with the same scores.
    """
    if len(scores.values) or not first_run.parts:
        raise DataError("this is not a look inside the first run: it is complete, or has not reached a checkpoint")
    given = _Given.of(policy, scores, first_run, copies="allow")
    with _writing(place, policy, None) as ledger:
        use = ledger.use(given.scores, label, study, first_run.checkpoints)
        ledger.look(use, given, part_is_enough=True)
        return ledger.state.gate(use, ledger.session, runs=0, parts=len(first_run.parts)).report()


def _shown(use: UseState, report: GateReport | None) -> GateUse:
    begun = use.begun
    return GateUse(
        number=begun.use,
        level=begun.level,
        at=use.at,
        label=begun.label,
        checkpoints=begun.checkpoints,
        report=report,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """Scores that are to be recorded, of the systems of the policy."""

    scores: Scores
    runs: tuple[dict[str, bytes], ...]
    """Complete runs, packed, by system."""
    parts: tuple[dict[str, bytes], ...]
    """What came with each checkpoint of a first run that is not complete."""

    @classmethod
    def of(cls, policy: Policy, scores: Scores, first_run: FirstRun | None, *, copies: str) -> _Given:
        """Refuse what the gate cannot use before there is a ledger."""
        own = scores_of_systems(policy, scores)
        Gate(policy, usable_scores(policy.changed(copies=copies), own))
        rows = [scores.models.index(name) for name in own.models]
        parts: Sequence[NDArray[np.float64]] = ()
        if first_run is not None:
            first_run = replace(first_run, parts=tuple(part[rows] for part in first_run.parts))
            first_run.passed(own)
            parts = first_run.completed(own).parts if not len(own.values) else ()
        packed = [
            tuple({name: pack(row) for name, row in zip(own.models, panel, strict=True)} for panel in panels)
            for panels in (own.values, parts)
        ]
        return cls(scores=own, runs=packed[0], parts=packed[1])


@dataclass(slots=True, kw_only=True)
class _Ledger:
    """A ledger inside one transaction."""

    name: str
    session: Session
    state: GateState
    last: LedgerEvent | None

    @classmethod
    def of(cls, store: Store, session: Session, head: str | None, policy: Policy | None = None) -> _Ledger:
        """The ledger that is there, in order; a new one of the policy, if there is none."""
        events = session.events()
        if events and events[0].kind == Created.kind:
            raise DesignError("this is a board, not the ledger of a gate; name another place")
        state = admitted(events)
        if events and session.head() != events[-1].hash:
            raise BoardError("the end of the ledger is missing or was edited: its last event is not the recorded head")
        check_head(events, head)
        if state is not None:
            return cls(name=store.name, session=session, state=state, last=events[-1])
        if policy is None:
            raise NoBoardError(store.name)
        made = cls(name=store.name, session=session, state=GateState(policy=policy), last=None)
        made.add(PolicyFrozen(policy=policy))
        return made

    def add(self, content: GateEvent, vectors: Sequence[Vector] = ()) -> None:
        """Append an event with its scores, and admit it as it is stored."""
        event = LedgerEvent.now(self.last, content.kind, to_json(content))
        _ = event.fact  # refuses names that cannot be written
        self.session.append(event)
        self.session.put_vectors(event.seq, list(vectors))
        self.state = admit(None if self.last is None else self.state, event, self.session)
        self.last = event

    def use(self, scores: Scores, label: str | None, study: str | None, checkpoints: Checkpoints | None) -> UseState:
        """The use of a label; begun if it is not there."""
        if not label or not label.strip():
            raise DesignError(
                "a use in a ledger is known by its label; give the commit, or whatever it decides about: ",
                Argument("label", Blank("TEXT")),
            )
        columns = {name: tuple(texts) for name, texts in scores.columns.items()}
        listing = ItemListing(items=scores.items, blocks=scores.blocks, columns=columns)
        planned = None
        if checkpoints is not None:
            planned = convert(checkpoints.content, PlannedCheckpoints, source="the checkpoints")
        low, high = scores.score_range
        begun = UseBegun(
            use=len(self.state.uses) + 1,
            label=label,
            level=self.state.next_level,
            systems=scores.models,
            items=listing.digest,
            listing=UNSET if listing.digest in self.state.listings else listing,
            score_range=(float(low), float(high)),
            gaps=scores.gaps,
            study=study,
            checkpoints=planned,
        )
        if label in self.state.labels:
            self._check_same(self.state.labels[label], begun)
        else:
            if not begun.level > 0.0:
                raise DesignError(
                    f"{self.name}: all {self.state.policy.shares} shares of alpha are spent; begin a new ledger, whose "
                    "uses then have an alpha of their own"
                )
            self.add(begun)
        return self.state.labels[label]

    def _check_same(self, use: UseState, given: UseBegun) -> None:
        """Refuse scores that are about something else than those that a label began with."""
        if use.begun.study != given.study:
            whose = "of score files" if use.begun.study is None else "of another study"
            raise DesignError(
                f"{self.name}: {use.called} is {whose if given.study else 'of a study'}; choose another label for this "
                "one, which is then a use of its own"
            )
        names = {
            "systems": "the systems",
            "items": "the items, their blocks or columns",
            "score_range": "the score range",
            "gaps": "the rule for missing scores",
            "checkpoints": "the checkpoints or the order of blocks",
        }
        changed = [words for key, words in names.items() if getattr(use.begun, key) != getattr(given, key)]
        if changed:
            raise DesignError(
                f"{self.name}: {use.called} began with other scores: {', '.join(changed)} differ; restore them, or "
                "choose another label, which is then a use of its own"
            )

    def look(self, use: UseState, given: _Given, *, part_is_enough: bool) -> None:
        """Record what is new; scores that do not begin with the recorded ones are refused."""
        inside = not use.runs and not given.runs
        recorded, packed = (use.parts, given.parts) if inside else (use.runs, given.runs)
        what = "look inside the first run" if inside else "run"
        sums = [{name: checksum(data) for name, data in each.items()} for each in packed]
        both = min(len(recorded), len(sums))
        if sums[:both] != recorded[:both]:
            raise DataError(
                f"{self.name}: {use.called} has seen other scores than these, and a use keeps the runs that it began "
                "with; restore them, or choose another label, which is then a use of its own"
            )
        if len(sums) < len(recorded) and not (part_is_enough and inside):
            raise DataError(
                f"{self.name}: {use.called} has {counted(len(recorded), what)} recorded, and these are "
                f"{len(sums)} of them; a verdict that was reached with more is not one about fewer. Give all of them, "
                "or choose another label, which is then a use of its own"
            )
        new = range(len(recorded), len(sums))
        if not new:
            return
        copies = {} if inside else copies_by_run(given.scores)
        places = {number + 1: sums[number] for number in new}
        event = UseLooked(
            use=use.begun.use,
            parts=places if inside else {},
            runs={} if inside else places,
            copies={run: each for run, each in copies.items() if run in places},
            files=given.scores.files,
            notes=given.scores.notes,
        )
        vectors = [
            Vector(epoch=use.begun.use, replicate=-PARTS - number - 1 if inside else number + 1, model=name, data=data)
            for number in new
            for name, data in packed[number].items()
        ]
        self.add(event, vectors)

    def decide(self, use: UseState) -> None:
        """Record what the gate says of all scores of a use."""
        results = self.state.gate(use, self.session).results()
        self.add(UseDecided(use=use.begun.use, runs=len(use.runs), parts=len(use.parts), results=results))

    def confirmed(self, use: UseState, *, forecasts: bool) -> GateReport:
        """The recorded report of a use, computed again."""
        return confirmed_gate(self.state, use, self.session).report(forecasts=forecasts)

    def history(self, *, forecasts: bool) -> GateHistory:
        """Every use, with its report if it has one."""
        reports = [None if use.decided is None else self.confirmed(use, forecasts=forecasts) for use in self.state.uses]
        return GateHistory(
            policy=self.state.policy,
            uses=tuple(map(_shown, self.state.uses, reports)),
            next_level=self.state.next_level,
            head="" if self.last is None else self.last.hash,
        )

    def check_policy(self, policy: Policy) -> None:
        """Refuse another policy than the one that the ledger began with."""
        was = self.state.policy
        keys = zip(Policy.__struct_fields__, Policy.__struct_encode_fields__, strict=True)
        words = [
            f"{key} is {_words(was, name)} there and {_words(policy, name)} now"
            for name, key in keys
            if getattr(was, name) != getattr(policy, name)
        ]
        if words:
            raise DesignError(
                f"{policy.source}: not the policy that the ledger {self.name} began with: {'; '.join(words)}. Restore "
                "it, or begin a new ledger"
            )


def _words(policy: Policy, name: str) -> str:
    value = getattr(policy, name)
    if name == "claims":
        return ", ".join(f"'{claim}' ({claim.tier})" for claim in policy.claims)
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)


@contextmanager
def _named(store: Store) -> Iterator[None]:
    """Name the ledger in what is wrong with it."""
    try:
        yield
    except NoBoardError:
        raise
    except BoardError as error:
        raise BoardError(f"{store.name}: {error}") from error


@contextmanager
def _writing(place: Place, policy: Policy, head: str | None) -> Iterator[_Ledger]:
    """The ledger at a place, made if it is not there, and of this policy; all that is added is kept, or nothing."""
    store = Store(place, create=True, what=_WHAT)
    if problems := store.problems():
        raise BoardError(f"{store.name}: the ledger is damaged: {problems[0]}; restore it from a copy")
    with store.write() as session, _named(store):
        ledger = _Ledger.of(store, session, head, policy)
        ledger.check_policy(policy)
        yield ledger
