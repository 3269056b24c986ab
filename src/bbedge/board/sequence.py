"""Which events may follow those before, whatever their scores are."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import UNSET

from bbedge.board.state import BoardState
from bbedge.errors import Argument, BoardError, Part, refuse_unless
from bbedge.records.events import (
    AnnouncementClosed,
    AttemptBegun,
    AttemptEnded,
    BoardEvent,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelAnnounced,
    ModelRetired,
    ModelWithdrawn,
    PilotAdded,
    ReplicateAdded,
    TrustStated,
)
from bbedge.text import folded, listed, quoted


def check_place(state: BoardState, event: BoardEvent) -> None:
    """Refuse an event that does not follow the events before it, whatever its scores are."""
    assert not isinstance(event, Created)  # the first one of a ledger, and only that
    expected = state.epoch.number + isinstance(event, ItemsAdded)
    refuse_unless(event.epoch == expected, f"it names epoch {event.epoch}, the board was in epoch {expected}")
    match event:
        case PilotAdded() | ReplicateAdded():
            _check_replicate(state, event)
        case ModelAdded():
            _check_model(state, event)
        case ItemsAdded():
            _check_items(state, event)
        case ModelRetired(model=model):
            _check_retired(state, model)
        case ModelWithdrawn(model=model):
            there = any(model in epoch.models for epoch in state.epochs)
            refuse_unless(there, f"model {quoted(model)} is not on the board; {_models_are(state)}")
            refuse_unless(model not in state.withdrawn, f"model {quoted(model)} is withdrawn already")
        case ModelAnnounced():
            _check_announced(state, event)
        case AnnouncementClosed(model=model):
            refuse_unless(model in state.announced, f"no runs of model {quoted(model)} were announced")
            refuse_unless(state.announced[model].is_open, f"the announcement of {quoted(model)} is closed already")
        case TrustStated(model=model):
            there = any(model in epoch.models for epoch in state.epochs)
            refuse_unless(there, f"model {quoted(model)} is not on the board; {_models_are(state)}")
            refuse_unless(
                state.trust.get(model) != event, f"that is what the board states of model {quoted(model)} already"
            )
        case AttemptBegun() | AttemptEnded():
            _check_attempt(state, event)


def _check_replicate(state: BoardState, event: PilotAdded | ReplicateAdded) -> None:
    epoch = state.epoch
    if isinstance(event, PilotAdded):
        number, is_next = event.pilot, state.in_pilot and event.pilot == epoch.pilots + 1
    else:
        number, is_next = event.replicate, event.replicate == epoch.replicates + 1
        if event.upto:
            state.upcoming(event.upto)
        refuse_unless(not state.in_pilot, "the pilot is not finished; its replicates are not evidence")
    refuse_unless(is_next, f"number {number} is not the next one")
    _check_rule(state, whole_runs=event.whole_runs)
    check_running(state, event.vectors)
    _check_runs(state, event.runs, len(epoch.known) + 1)


def _check_newcomer(state: BoardState, name: str) -> None:
    refuse_unless(not state.in_pilot, "the pilot is not finished; add the model afterwards")
    refuse_unless(
        all(name not in epoch.models for epoch in state.epochs), f"model {quoted(name)} is on the board already"
    )
    refuse_unless(
        not state.epoch.is_inside_first_run,
        f"the first run has come to checkpoint {state.epoch.passed}; add {quoted(name)} once it is complete",
    )


def _check_announced(state: BoardState, event: ModelAnnounced) -> None:
    name, needed = event.model, state.runs_needed()
    _check_newcomer(state, name)
    refuse_unless(name not in state.announced, f"runs of model {quoted(name)} were announced already")
    refuse_unless(
        state.design.incomplete == "worst-case",
        "what is announced and not delivered counts as missing, and the design of this board does not count missing "
        "scores in the worst case",
    )
    refuse_unless(
        state.design.runs_of_score == 1,
        "several runs make a score of this board, and announced runs come in a random order; add the model with runs "
        "that were not announced",
    )
    refuse_unless(
        not state.design.target or len(state.epochs) == 1,
        "items were added to this board, and a model joins the runs of every version; add it with runs that were not "
        "announced",
    )
    refuse_unless(needed > 0, f"there is no complete replicate that {quoted(name)} could join; add it without runs")
    refuse_unless(
        event.runs == needed,
        f"{event.runs} runs announced; the pairing rule of the design joins exactly {needed} now",
    )


def _check_delivered(state: BoardState, event: ModelAdded) -> None:
    """Refuse an announced model of which runs are missing and may still come, or whose runs are in another order."""
    announced, name = state.announced.get(event.model), quoted(event.model)
    is_ordered = event.order_seed is not UNSET
    refuse_unless((announced is not None) == is_ordered, f"the runs of {name} are drawn in order if they are announced")
    if announced is None or event.order_seed is UNSET:
        return
    refuse_unless(
        announced.epoch == state.epoch.number, f"the runs of {name} were announced in epoch {announced.epoch}"
    )
    delivered = sum(digest != state.epoch.nothing for digest in event.vectors)
    refuse_unless(delivered > 0, f"no run of {name} was delivered; the model has nothing to be added with")
    refuse_unless(
        announced.is_closed or delivered == announced.runs,
        f"{delivered} of {announced.runs} announced runs of {name} are given; deliver the others, or close the "
        "announcement: what is not delivered then counts as missing",
    )
    drawn = tuple(event.vectors[place] for place in drawn_order(event.order_seed, event.vectors))
    refuse_unless(drawn == event.vectors, f"the runs of {name} are not in the order that was drawn")


def drawn_order(seed: int, digests: Sequence[str]) -> list[int]:
    """The places of some runs in an order that follows from the seed, so that it cannot be chosen without it.

    It depends on the scores and the seed alone, and not on the order in which the runs are given.
    """
    seen: Counter[str] = Counter()
    keys = []
    for place, digest in enumerate(digests):
        seen[digest] += 1
        keys.append((hashlib.sha256(f"{seed} {digest} {seen[digest]}".encode("ascii")).digest(), place))
    return [place for _, place in sorted(keys)]


def _check_model(state: BoardState, event: ModelAdded) -> None:
    name, runs, needed = event.model, event.runs, state.runs_needed(event.model)
    _check_newcomer(state, name)
    refuse_unless(
        len(event.vectors) == needed,
        f"{len(event.vectors)} runs of {quoted(name)} given; the pairing rule of the design joins exactly {needed}: "
        f"one with each of the {'stored' if state.design.pairing == 'all' else 'first'} replicates, in order"
        + (", of all versions" if state.design.target and len(state.epochs) > 1 else ""),
    )
    between = state.next_looks(state.epoch.replicates - 1).get("benchmark")
    refuse_unless(
        state.runs_joined(state.epoch) == state.epoch.replicates or between in (None, state.epoch.replicates),
        f"{quoted(name)} joins with the first runs, and later ones make scores of several; add it after run {between}",
    )
    _check_rule(state, whole_runs=event.whole_runs)
    _check_delivered(state, event)
    refuse_unless(
        len(runs) in (0, needed),
        f"{len(runs)} of {needed} runs of {quoted(name)} have identities; give all of them or none",
    )
    known: set[str] = set()
    for each in runs:
        if not known.isdisjoint(each):
            raise BoardError(f"the run {quoted(min(known & set(each)))} is given twice; a run counts once")
        known.update(each)
    _check_versions(state, known)


def _check_items(state: BoardState, event: ItemsAdded) -> None:
    refuse_unless(not state.in_pilot, "the pilot is not finished; add the items afterwards")
    refuse_unless(bool(event.items), "no items given; an epoch needs at least one new item")
    waiting = [model for model, each in state.announced.items() if each.is_open]
    refuse_unless(not waiting, f"runs of {listed(waiting)} are announced; close the announcement first")
    lacking = [model for model, each in state.announced.items() if each.delivered is None or each.lacks_scores]
    refuse_unless(
        not (lacking and state.design.target),
        f"announced runs of {listed(lacking)} were not delivered, and evidence about new items would go on with those "
        "that were; make a new board of the new items alone",
    )
    known = set(state.epoch.items)
    again = [item for item in event.items if item in known]
    if again:
        raise BoardError(f"item {quoted(again[0])} is on the board already; new items need new names")
    refuse_unless(len(state.active) > 1, "fewer than two models are active; nothing is left to compare")


def _check_retired(state: BoardState, model: str) -> None:
    refuse_unless(not state.in_pilot, "the pilot is not finished; retire the model afterwards")
    refuse_unless(model not in state.retired, f"model {quoted(model)} is retired already")
    refuse_unless(
        model in state.active,
        f"model {quoted(model)} is not on the board; {_models_are(state)}",
    )


def _models_are(state: BoardState) -> str:
    return f"the active models are {listed(state.active)}"


def _check_attempt(state: BoardState, event: AttemptBegun | AttemptEnded) -> None:
    attempts = state.epoch.attempts.get(event.replicate, [])
    which = f"attempt {event.attempt} at replicate {event.replicate}"
    if isinstance(event, AttemptBegun):
        following = len(attempts) + 1
        refuse_unless(event.attempt == following, f"{which} is out of order: the next one is attempt {following}")
        if attempts and attempts[-1] != "abandoned":
            raise BoardError(f"{which} cannot begin: {_became(event.attempt - 1, attempts[-1])}")
        return
    refuse_unless(event.attempt <= len(attempts), f"{which} cannot end: it has not begun")
    outcome = attempts[event.attempt - 1]
    refuse_unless(outcome is None, f"{which} cannot end again: {_became(event.attempt, outcome)}")
    is_added, is_finished = event.replicate <= len(state.epoch.known), event.outcome == "finished"
    refuse_unless(
        is_added or not is_finished, f"{which} is not finished: its scores are not on the board; add them first"
    )
    refuse_unless(is_finished or not is_added, f"{which} is not abandoned: scores of the replicate are on the board")


def _became(attempt: int, outcome: str | None) -> str:
    return f"attempt {attempt} " + ("has not ended" if outcome is None else f"was {outcome}")


def check_known(state: BoardState, models: Iterable[str]) -> None:
    """Refuse a model that the epoch never had."""
    for model in models:
        if model not in state.epoch.models and model not in state.retired:
            raise BoardError(
                f"model {quoted(model)} is not on the board; ",
                *_other_spelling(model, state.epoch.models),
                f"add it with add-model first, from runs of that model alone (it needs {state.runs_needed()} of "
                "them now)",
            )


def _other_spelling(model: str, models: Iterable[str]) -> tuple[Part, ...]:
    """What to do about a model whose name may be another spelling of one of these; in ASCII, as not all can be seen."""
    known = next((each for each in models if folded(each) == folded(model)), None)
    if known is None:
        return ()
    other = f"if {model!a} is another spelling of {known!a}, read it with "
    return other, Argument("merge_names", value=True), "; otherwise "


def check_running(state: BoardState, models: Iterable[str]) -> None:
    """Refuse a replicate that is not of exactly the active models."""
    there = set(models)
    check_known(state, sorted(there))
    stopped = [model for model in state.retired if model in there]
    if stopped:
        raise BoardError(f"model {quoted(stopped[0])} is retired; leave it out of new replicates")
    missing = [model for model in state.active if model not in there]
    if missing:
        raise BoardError(
            f"the replicate lacks model {quoted(missing[0])}; every active model must be in it (or be retired)"
        )


def _check_runs(state: BoardState, runs: Iterable[str], following: int) -> None:
    """Refuse runs that are part of a stored replicate; ``following`` is the number of the new one."""
    given = set(runs)
    _check_versions(state, given)
    for place, each in enumerate(state.epoch.known, start=1):
        if not each.runs.isdisjoint(given):
            raise BoardError(
                f"replicate {following} has the run {quoted(min(each.runs & given))}, which is part of replicate "
                f"{place} on the board; a run counts once"
            )


def _check_versions(state: BoardState, given: set[str]) -> None:
    """Refuse runs that an earlier version of the benchmark has counted: its new items may have been chosen by them."""
    for epoch in state.epochs[:-1]:
        for runs in (epoch.runs_inside, *(each.runs for each in epoch.known)):
            if not runs.isdisjoint(given):
                raise BoardError(
                    f"the run {quoted(min(runs & given))} was counted in epoch {epoch.number}; epoch "
                    f"{state.epoch.number} needs new runs of all its items, because which items were added may depend "
                    "on the runs before"
                )


def _check_rule(state: BoardState, *, whole_runs: bool) -> None:
    """Refuse to count whole runs as missing where the design counts no missing scores."""
    refuse_unless(
        not whole_runs or state.design.incomplete != "refuse",
        Argument("incomplete", "worst-case"),
        " is not part of this board's design, which is frozen: a replicate stays incomplete until every score is there",
    )
