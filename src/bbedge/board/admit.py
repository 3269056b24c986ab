"""What may enter a board's ledger: a state, an event and the stored scores give the next state, or a refusal.

Everything passes here: what is added, imported, verified or computed again. Nothing else decides: what an event needs
besides the state and the scores, it states. Each replicate is compared with those before it, so that the same copies
are found when it is added and ever after; see :mod:`bbedge.core.copies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from bbedge.board.design import BoardDesign
from bbedge.board.epoch import Epoch
from bbedge.board.sequence import check_place
from bbedge.board.stage import Found, Panel, Stage, join_found
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores, StoredVector, called
from bbedge.core.copies import FEW, Copy, described, find_copies, fingerprints, may_be_chance
from bbedge.errors import Argument, BoardError, CopiedReplicateError, refuse_unless
from bbedge.records.events import (
    BoardEvent,
    CountedCopy,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelAnnounced,
    ModelRetired,
    Opened,
    PilotAdded,
    ReplicateAdded,
)
from bbedge.text import quoted

_E = TypeVar("_E", bound=BoardEvent)


def create(event: Created) -> tuple[BoardState, Created]:
    """The state of a new board, and its first event as it is written."""
    design = BoardDesign.from_values(event.design, source="the board's design")
    state = BoardState(design, event)
    return state, replace(
        event,
        design=design.content,
        registration=registration(event),
        columns=state.epoch.columns,
        stages=_opened(state.epoch.stages),
    )


def registration(event: Created) -> str:
    """The hash of everything that was frozen when a board was made."""
    design = BoardDesign.from_values(event.design, source="the board's design")
    return design.registration(event.models, event.items, event.blocks, event.columns, order_seed=event.order_seed)


def follow(state: BoardState, event: BoardEvent) -> None:
    """Change the structure of a state as an event says; what contradicts the events before is refused.

    The evidence stays as it is: it follows from the stored scores, by :func:`admit`, or from what was saved of it.
    """
    check_place(state, event)
    state.follow(event)
    state.follow_look(event)


def admit(state: BoardState, event: _E, scores: StoredScores) -> _E:
    """Change a state as an event says, with the scores that came with it, and return the event as it is written.

    What follows from the state and the scores is computed, whatever the event says of it. After a refusal, discard the
    state.
    """
    check_place(state, event)
    written: BoardEvent = event
    match event:
        case PilotAdded():
            written = _admit_pilot(state, event, scores)
        case ReplicateAdded():
            written = _admit_replicate(state, event, scores)
        case ModelAdded():
            written = _admit_model(state, event, scores)
        case ModelAnnounced(model=model):
            state.follow(event)
            announced = state.announced[model]
            written = replace(event, claim=announced.claim, level=announced.level)
        case ItemsAdded():
            state.follow(event)
            written = replace(event, models=tuple(state.epoch.models), stages=_opened(state.epoch.stages))
        case ModelRetired(model=model):
            state.follow(event)
            for stage in state.epoch.stages:
                stage.stop([model], is_inside=state.epoch.is_inside_first_run)
        case _:
            state.follow(event)
    state.follow_look(written)
    return written  # type: ignore[return-value]  # of the same kind


def changed_stages(state: BoardState, event: BoardEvent) -> Sequence[Stage]:
    """The stages whose evidence the last event of a state has changed."""
    match event:
        case ModelAdded():
            return [stage for stage in state.epoch.stages if stage.newcomer == event.model]
        case Created() | PilotAdded() | ReplicateAdded() | ItemsAdded() | ModelRetired():
            return state.epoch.stages
    return ()


def _opened(stages: Sequence[Stage]) -> tuple[Opened, ...]:
    return tuple(stage.opened for stage in stages)


def _admit_pilot(state: BoardState, event: PilotAdded, scores: StoredScores) -> PilotAdded:
    epoch, is_last = state.epoch, event.pilot == state.design.pilot
    vectors, panel = _scores_of_run(state, event, scores)
    earlier = (scores.panel(epoch, -pilot) for pilot in range(1, event.pilot))
    event = replace(event, gaps=missing_scores(panel), candidate=state.chosen([*earlier, panel]) if is_last else None)
    state.follow(event)
    copies = _copies_of_replicate(epoch, event, vectors, scores)
    return replace(event, copies=copies, stages=_opened(epoch.stages))


def _admit_replicate(state: BoardState, event: ReplicateAdded, scores: StoredScores) -> ReplicateAdded:
    epoch, upto = state.epoch, event.upto or None
    vectors, panel = _scores_of_run(state, event, scores)
    event = replace(event, gaps=missing_scores(panel))
    state.follow(event)
    event = replace(event, copies=_copies_of_replicate(epoch, event, vectors, scores))
    return _looked(state, event, (stage.add_and_look(panel, event.replicate, upto) for stage in epoch.stages))


def _admit_model(state: BoardState, event: ModelAdded, scores: StoredScores) -> ModelAdded:
    """Join the runs of a model with the stored replicates, in order, and test its directions.

    Only complete replicates count, also where the first one was looked at inside: a direction against a model that was
    stopped inside it has no evidence. The evidence of an announced model ends with the first run that lacks a score.
    """
    epoch, name, runs = state.epoch, event.model, list[NDArray[np.float64]]()
    for (at, replicate), digest in zip(state.joined_places(name), event.vectors, strict=True):
        vector = scores.vectors(at, replicate, [name])[name]
        _check_vector(state, vector, digest, called(at.number, replicate, name), name, at.items)
        runs.append(vector.scores)
    empty = [run for run in runs if np.isnan(run).all()]
    check_whole_runs(state, [name] * len(empty), whole_runs=event.whole_runs and len(empty) < len(runs))
    copies = _copies_of_model(epoch, event, runs)
    event = replace(event, gaps=tuple(int(np.isnan(run).sum()) for run in runs), copies=copies)
    state.follow(event)
    found = list[Found]()
    # What is missing of announced runs may depend on all of them. All directions of this claim then end together, with
    # the first run that lacks a score; in the claim of another model, only no evidence is sure to be no choice.
    here = {model: each for model, each in state.announced.items() if each.epoch == epoch.number and model != name}
    lacking = {model for model, each in here.items() if each.lacks_scores}

    def feed(stage: Stage, at: Epoch) -> None:
        models, called_here = set(stage.design.models), dict(zip(stage.views, views_of[stage.target], strict=True))
        stage.stop((model for model in at.partial if model in models), is_inside=True)
        stage.certifier.stop(sorted(lacking & models), forfeit=True)
        for replicate in stage.places[len(stage.places) - stage.runs :]:
            stored = scores.panel(at, replicate)
            there = {model: stored[model] for model in stored if model in models and model not in lacking}
            looked = stage.add_and_look(there, replicate)
            found.append({called_here[view]: edges for view, edges in looked.items()})
            if name in state.announced and np.isnan(stored[name]).any():
                stage.stop([name])
                break

    opened = changed_stages(state, event)
    views_of = {stage.target: stage.views for stage in opened}
    for stage in opened:
        if stage.batches:
            stage.certifier = state.from_first_version(stage.opened, feed).certifier
        else:
            feed(stage, epoch)
        stage.stop(state.retired)
    event = replace(event, stages=_opened(opened))
    return _looked(state, event, found) if event.vectors else event


_Looked = TypeVar("_Looked", ReplicateAdded, ModelAdded)


def _looked(state: BoardState, event: _Looked, found: Iterable[Found]) -> _Looked:
    """The event with what its look showed."""
    return replace(event, **asdict(state.epoch.outcome(join_found(found))))


def check_whole_runs(state: BoardState, absent: Sequence[str], *, whole_runs: bool) -> None:
    """Refuse models without any score, unless they count."""
    if absent and not whole_runs:
        raise BoardError(
            f"model {quoted(absent[0])} has no score at all in this replicate, which stays incomplete until the run of "
            "the model is there. If it will never come, retire the model, or count the whole run as missing: ",
            Argument("incomplete", state.design.incomplete),
        )


def _scores_of_run(
    state: BoardState, event: PilotAdded | ReplicateAdded, scores: StoredScores
) -> tuple[dict[str, StoredVector], Panel]:
    """The scores that came with an event, by the names of the models in order; a complete run has some."""
    epoch, is_complete = state.epoch, not (isinstance(event, ReplicateAdded) and event.upto)
    items = epoch.items if is_complete else epoch.next_items
    vectors = scores.vectors(epoch, event.place, sorted(event.vectors))
    for model, each in vectors.items():
        which = called(epoch.number, event.place, model)
        _check_vector(state, each, event.vectors[model], which, model, items)
    if is_complete:
        empty = [model for model, each in vectors.items() if not each.print.size]
        check_whole_runs(state, empty, whole_runs=event.whole_runs and len(empty) < len(vectors))
    return vectors, {model: each.scores for model, each in vectors.items()}


def _check_vector(
    state: BoardState, vector: StoredVector, digest: str, which: str, model: str, items: Sequence[str]
) -> None:
    """Refuse scores that are not those of the event, or that no run can have."""
    refuse_unless(vector.print.digest == digest, f"the scores of {which} were changed")
    scores = vector.scores
    what = "the benchmark" if len(items) == len(state.epoch.items) else "this part of the first run"
    refuse_unless(
        scores.shape == (len(items),),
        f"model {quoted(model)} has {scores.size} scores; {what} has {len(items)} items",
    )
    allowed = (scores >= 0.0) & (scores <= 1.0)
    if state.design.incomplete == "worst-case":
        allowed |= np.isnan(scores)
    if not allowed.all():
        place = int(np.flatnonzero(~allowed)[0])
        score, item = scores[place], quoted(items[place])
        if np.isnan(score):
            raise BoardError(
                f"model {quoted(model)} has no score on item {item}; the design of this board counts no missing "
                "scores, so that a replicate stays incomplete until every score is there"
            )
        raise BoardError(f"model {quoted(model)} scored {score} on item {item}; scores lie in [0, 1]")


def missing_scores(panel: Panel) -> dict[str, int]:
    """How many scores each model lacks, of those that lack any."""
    counts = {model: int(np.isnan(scores).sum()) for model, scores in panel.items()}
    return {model: count for model, count in counts.items() if count}


_OF_A_PILOT = "The runs of a pilot choose the candidate and cannot be evidence as well."


def _copies_of_replicate(
    epoch: Epoch, event: PilotAdded | ReplicateAdded, vectors: Mapping[str, StoredVector], scores: StoredScores
) -> tuple[CountedCopy, ...]:
    """What the last replicate of an epoch repeats; refused if the event's rule says so.

    Where only its scores distinguish it from stored ones, because it is not named, every repetition is a question.
    """
    if isinstance(event, ReplicateAdded) and event.upto:
        return _copies_of_pilot(epoch, event, {model: each.scores for model, each in vectors.items()}, scores)
    position, least = len(epoch.known) - 1, FEW if event.named else 0

    def panel(other: int) -> Panel:
        return scores.panel(epoch, epoch.place_at(other))

    prints = {model: each.print for model, each in vectors.items() if each.print.digest != epoch.nothing}
    found = epoch.copies.copies(position, prints, lambda other, model: panel(other)[model], least=least)
    if not found:
        now = {model: each.scores for model, each in vectors.items()}
        gapped = [known.has_gaps for known in epoch.known]
        others = [other for other in range(position) if gapped[position] or gapped[other]]
        for other in scores.agreeing(epoch, position, now, others) if others else ():
            if not _is_same_run_with_other_gaps(panel(other), now, least):
                continue
            if least and _may_agree([*map(panel, range(position)), now], other, epoch.blocks, tests=len(now) + 1):
                continue
            found = (Copy(replicate=position, of=other, models=tuple(now), whole=True),)
            break
    if found and event.copy_rule == "refuse":
        first = found[0].of
        remedy = f"Replicate {first + 1} is on the board: if these are the same runs again, there is nothing to add."
        if first < epoch.pilots <= position:
            remedy += f" {_OF_A_PILOT}"
        raise CopiedReplicateError(described(found, [str(each + 1) for each in range(position + 1)]), remedy=remedy)
    return _counted(found)


def _may_agree(panels: Sequence[Panel], of: int, blocks: Sequence[str], *, tests: int = 1) -> bool:
    """Whether the last of these panels may agree with another by chance wherever both have scores."""
    models = [model for model in panels[-1] if model in panels[of]]
    there = [at for at, panel in enumerate(panels) if set(models) <= panel.keys()]
    runs = np.array([[panels[at][model] for model in models] for at in there])
    return may_be_chance(runs, (there.index(of), len(there) - 1), tests=tests, blocks=blocks)


def _copies_of_pilot(
    epoch: Epoch, event: ReplicateAdded, panel: Panel, scores: StoredScores
) -> tuple[CountedCopy, ...]:
    """The pilot replicate that the panel up to a checkpoint repeats, by itself or with all that came before it.

    The pilot chose what is tested. Its scores are no evidence, and a look at a checkpoint does not wait until the
    complete run is compared with them.
    """
    pilots = [scores.panel(epoch, -pilot) for pilot in range(1, epoch.pilots + 1)]
    seen, new = scores.seen(epoch), epoch.next_places
    whole = {model: np.concatenate([seen.get(model, row[:0]), row]) for model, row in panel.items()}
    for place, pilot in enumerate(pilots):
        models = [model for model in panel if model in pilot]
        for items, now in ((new, panel), (np.concatenate([epoch.seen_places, new]), whole)):
            panels = [{model: each[model][items] for model in models if model in each} for each in pilots]
            blocks = [epoch.blocks[item] for item in items]
            if not _is_same_run_with_other_gaps(panels[place], now, FEW) or _may_agree([*panels, now], place, blocks):
                continue
            if event.copy_rule == "refuse":
                raise CopiedReplicateError(
                    f"The part has the scores of pilot replicate {place + 1} on every item up to checkpoint "
                    f"{epoch.passed + 1}.",
                    remedy=_OF_A_PILOT,
                )
            return (CountedCopy(of=place + 1, models=tuple(panel), whole=True),)
    return ()


def _copies_of_model(epoch: Epoch, event: ModelAdded, runs: Sequence[NDArray[np.float64]]) -> tuple[CountedCopy, ...]:
    """The runs of an added model that repeat earlier ones of it; refused if the event's rule says so.

    Those that join runs of earlier versions have fewer items, which are the first of all.
    """
    count = min((len(run) for run in runs), default=0)
    shared = [run[:count] for run in runs]
    prints = [fingerprints((event.model,), run[None]) for run in shared]
    found = find_copies(prints, lambda run, _: shared[run], blocks=epoch.blocks[:count])
    if found and event.copy_rule == "refuse":
        raise CopiedReplicateError(described(found, [str(run + 1) for run in range(len(runs))]))
    return _counted(found)


def _counted(copies: Iterable[Copy]) -> tuple[CountedCopy, ...]:
    return tuple(CountedCopy(of=copy.of + 1, models=copy.models, whole=copy.whole) for copy in copies)


def _is_same_run_with_other_gaps(before: Panel, now: Panel, least: int) -> bool:
    """Whether these are the scores of a stored replicate with other gaps: every score that both have is the same.

    Scores of models that solve everything, or nothing, say little; of the others there must be at least ``least``.
    """
    shared, there = [model for model in now if model in before], 0
    for model in shared:
        both = before[model][~np.isnan(before[model]) & ~np.isnan(now[model])]
        there += len(both) if not least or (len(both) and both.min() < both.max()) else 0
    return there >= max(1, least) and agree(before, now, shared)


def agree(before: Panel, now: Panel, models: Iterable[str]) -> bool:
    """Whether these models have the same scores in both panels, wherever both have any."""
    return all(
        bool(np.all((before[model] == now[model]) | np.isnan(before[model]) | np.isnan(now[model]))) for model in models
    )
