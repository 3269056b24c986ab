"""A gate's ledger in its store: every use of a policy over months, under one error budget or with one each.

A use is known by its label. Its level, its scores and its report are on the disk before a verdict is shown, and every
verdict that is shown is computed from the stored scores.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints
from bbedge.core.scores import Scores
from bbedge.errors import Argument, Blank, BoardError, DataError, DesignError, NoBoardError
from bbedge.gate.admit import admit, admitted, confirmed_gate, copies_by_run
from bbedge.gate.gate import FirstRun, Gate, usable_scores
from bbedge.gate.uses import GateState, UseState, scores_of_systems
from bbedge.ledger.chain import LedgerEvent, check_head, checksum, pack_scores
from bbedge.ledger.store import Session, Store, Vector
from bbedge.records.codec import plain, to_json
from bbedge.records.events import checkpoint_place
from bbedge.records.gate import (
    GateEvent,
    GateHistory,
    GateReport,
    GateUse,
    ItemListing,
    PolicyFrozen,
    RecordedUse,
    UseBegun,
    UseDecided,
    UseLooked,
)
from bbedge.records.policy import Policy
from bbedge.records.values import Copies
from bbedge.text import counted

Place = str | os.PathLike[str]


def read_ledger(
    place: Place, *, policy: Policy | None = None, head: str | None = None, forecasts: bool = True
) -> GateHistory:
    """Every use of a gate, with reports that are computed again from the stored scores.

    A ``policy`` that is not that of the ledger is refused, and so is a ledger without the published ``head``.
    ``forecasts`` of what would decide open claims take most of the time.
    """
    with _opened(place, policy, head, create=False) as ledger:
        return ledger.history(forecasts=forecasts)


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
    own, inside = _own(policy, scores, first_run, policy.copies if study is None else "allow")
    if not len(own.values) and not inside:
        raise DataError("the gate has no runs yet; add at least one")
    with _opened(place, policy, head) as ledger:
        use = ledger.use(own, label, study, None if first_run is None else first_run.checkpoints)
        ledger.look(use, own, inside)
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
    own, _ = _own(policy, scores, None, "allow")
    with _opened(place, policy, head) as ledger:
        return _shown(ledger.use(own, label, study, checkpoints), None)


def record_look(
    place: Place, policy: Policy, scores: Scores, first_run: FirstRun, *, label: str | None, study: str
) -> GateReport:
    """Record a look inside the first run of a study that is running, and return what it says.

    The study ends with :func:`record`. Until then the ledger has no report of the use to show, but the scores that it
    has seen. A study that was set back may repeat looks with the same scores.
    """
    if len(scores.values) or not first_run.panels:
        raise DataError("this is not a look inside the first run: it is complete, or has not reached a checkpoint")
    own, inside = _own(policy, scores, first_run, "allow")
    with _opened(place, policy, None) as ledger:
        use = ledger.use(own, label, study, first_run.checkpoints)
        ledger.look(use, own, inside, may_repeat=True)
        return ledger.state.gate(use, ledger.session, (0, len(inside))).report()


def _shown(use: UseState, report: GateReport | None) -> GateUse:
    begun = use.begun
    return GateUse(
        number=begun.use,
        level=begun.level,
        at=use.at,
        label=begun.label,
        checkpoints=plain(begun.checkpoints),
        report=report,
    )


def _own(
    policy: Policy, scores: Scores, first_run: FirstRun | None, copies: Copies
) -> tuple[Scores, Mapping[int, NDArray[np.float64]]]:
    """What is to be recorded: the systems of the policy, and the panels of a first run that is not complete.

    What the gate cannot use is refused before there is a ledger.
    """
    own = scores_of_systems(policy, scores)
    Gate(policy, usable_scores(policy.changed(copies=copies), own))
    if first_run is None:
        return own, {}
    rows = [scores.models.index(name) for name in own.models]
    inside = replace(first_run, panels={upto: panel[rows] for upto, panel in first_run.panels.items()})
    inside.check_panels(own)
    inside.completed(own)
    return own, {} if len(own.values) else inside.panels


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
        state = admitted(events)
        if events and session.head() != events[-1].hash:
            raise BoardError("the end of the ledger is missing or was edited: its last event is not the recorded head")
        check_head(events, head)
        if state is not None:
            return cls(name=store.name, session=session, state=state, last=events[-1])
        if policy is None:
            raise store.missing()
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
        listing = ItemListing(items=scores.items, blocks=scores.blocks, columns=dict(scores.columns))
        low, high = scores.score_range
        begun = UseBegun(
            use=len(self.state.uses) + 1,
            label=label,
            level=self.state.next_level,
            systems=scores.models,
            items=listing.digest,
            listing=UNSET if listing.digest in self.state.listings else listing,
            scale=(float(low), float(high)),
            gaps=scores.gaps,
            study=study,
            checkpoints=checkpoints,
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
        was, now = plain(use.begun), plain(given)
        changed = [words for key, words in names.items() if was[key] != now[key]]
        if changed:
            raise DesignError(
                f"{self.name}: {use.called} began with other scores: {', '.join(changed)} differ; restore them, or "
                "choose another label, which is then a use of its own"
            )

    def look(
        self, use: UseState, scores: Scores, panels: Mapping[int, NDArray[np.float64]], *, may_repeat: bool = False
    ) -> None:
        """Record what is new; scores that do not begin with the recorded ones are refused.

        With ``may_repeat`` a study that was set back may look again at fewer checkpoints than are recorded.
        """
        inside = not use.runs and not len(scores.values)
        recorded, what = (use.inside, "checkpoint") if inside else (dict(enumerate(use.runs, start=1)), "run")
        packed = {
            number: {name: pack_scores(row) for name, row in zip(scores.models, panel, strict=True)}
            for number, panel in (panels.items() if inside else enumerate(scores.values, start=1))
        }
        sums = {number: {name: checksum(data) for name, data in each.items()} for number, each in packed.items()}
        other = "choose another label, which is then a use of its own"
        if any(sums.get(number, seen) != seen for number, seen in recorded.items()):
            raise DataError(
                f"{self.name}: {use.called} has seen other scores than these, and a use keeps the runs that it began "
                f"with; restore them, or {other}"
            )
        if len(sums) < len(recorded) and not (may_repeat and inside):
            raise DataError(
                f"{self.name}: {use.called} has {counted(len(recorded), what)} recorded, and these are {len(sums)} of "
                f"them; a verdict that was reached with more is not one about fewer. Give all of them, or {other}"
            )
        looked = {number: sums[number] for number in sums if number not in recorded}
        if not looked:
            return
        copies = {} if inside else copies_by_run(scores)
        event = UseLooked(
            use=use.begun.use,
            inside=looked if inside else {},
            runs={} if inside else looked,
            copies={run: each for run, each in copies.items() if run in looked},
            files=scores.files,
            notes=scores.notes,
        )
        vectors = [
            Vector(epoch=use.begun.use, replicate=checkpoint_place(number) if inside else number, model=name, data=data)
            for number in looked
            for name, data in packed[number].items()
        ]
        self.add(event, vectors)

    def decide(self, use: UseState) -> None:
        """Record what the gate says of all scores of a use."""
        results = self.state.gate(use, self.session).results()
        runs, passed = use.seen
        self.add(UseDecided(use=use.begun.use, runs=runs, checkpoints=passed, results=results))

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
    if value is UNSET:
        return "left out"
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)


@contextmanager
def _opened(place: Place, policy: Policy | None, head: str | None, *, create: bool = True) -> Iterator[_Ledger]:
    """The ledger at a place; what is wrong with it names it.

    With ``create`` it is made if it is not there, and all that is added is kept, or nothing. A ``policy`` that is not
    that of the ledger is refused.
    """
    store = Store(place, create=create, what="gate ledger")
    store.check_whole()
    with store.write() if create else store.read() as session:
        try:
            ledger = _Ledger.of(store, session, head, policy if create else None)
            if policy is not None:
                ledger.check_policy(policy)
            yield ledger
        except NoBoardError:
            raise
        except BoardError as error:
            raise BoardError(f"{store.name}: {error}") from error
