"""What new scores repeat of those that are stored; see :mod:`bbedge.core.copies`.

Each replicate is compared with those before it, so that the same copies are found when it is added and ever after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.board.epoch import Epoch
from bbedge.board.stage import Panel
from bbedge.board.stored_scores import StoredScores, StoredVector
from bbedge.core.copies import FEW, Copy, described, find_copies, fingerprints, may_be_chance
from bbedge.errors import CopiedReplicateError
from bbedge.records.events import CountedCopy, ModelAdded, PilotAdded, ReplicateAdded

_OF_A_PILOT = "The runs of a pilot choose the candidate and cannot be evidence as well."


def copies_of_replicate(
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
            if completes(panel(other), now, least) and not (least and _may_agree(epoch, scores, other, now)):
                found = (Copy(replicate=position, of=other, models=tuple(now), whole=True),)
                break
    if found and event.copy_rule == "refuse":
        first = found[0].of
        remedy = f"Replicate {first + 1} is on the board: if these are the same runs again, there is nothing to add."
        if first < epoch.pilots <= position:
            remedy += f" {_OF_A_PILOT}"
        raise CopiedReplicateError(described(found, [str(each + 1) for each in range(position + 1)]), remedy=remedy)
    return _counted(found)


def _may_agree(epoch: Epoch, scores: StoredScores, of: int, now: Panel) -> bool:
    """Whether the last replicate of an epoch may agree with another by chance wherever both have scores."""
    panels = [*(scores.panel(epoch, epoch.place_at(at)) for at in range(len(epoch.known) - 1)), now]
    models = [model for model in now if model in panels[of]]
    there = [at for at, panel in enumerate(panels) if set(models) <= panel.keys()]
    runs = np.array([[panels[at][model] for model in models] for at in there])
    return may_be_chance(runs, [there.index(of), len(there) - 1], tests=len(now) + 1, blocks=epoch.blocks)


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
            panels = [*(_of_items(each, models, items) for each in pilots), {model: now[model] for model in models}]
            if not completes(panels[place], now, FEW) or _may_repeat(panels, place, epoch, items):
                continue
            if event.copy_rule == "refuse":
                raise CopiedReplicateError(
                    f"The part has the scores of pilot replicate {place + 1} on every item up to checkpoint "
                    f"{epoch.passed + 1}.",
                    remedy=_OF_A_PILOT,
                )
            return (CountedCopy(of=place + 1, models=tuple(panel), whole=True),)
    return ()


def _of_items(panel: Panel, models: Sequence[str], items: NDArray[np.intp]) -> Panel:
    return {model: panel[model][items] for model in models if model in panel}


def _may_repeat(panels: Sequence[Panel], place: int, epoch: Epoch, items: NDArray[np.intp]) -> bool:
    """Whether the last of these panels may have the scores of the one at a place by chance."""
    there = [at for at, panel in enumerate(panels) if len(panel) == len(panels[-1])]
    runs = np.array([list(panels[at].values()) for at in there])
    blocks = [epoch.blocks[item] for item in items]
    return may_be_chance(runs, (there.index(place), len(there) - 1), blocks=blocks)


def copies_of_model(epoch: Epoch, event: ModelAdded, runs: Sequence[NDArray[np.float64]]) -> tuple[CountedCopy, ...]:
    """The runs of an added model that repeat earlier ones of it; refused if the event's rule says so."""
    prints = [fingerprints((event.model,), run[None]) for run in runs]
    found = find_copies(prints, lambda run, _: runs[run], blocks=epoch.blocks)
    if found and event.copy_rule == "refuse":
        raise CopiedReplicateError(described(found, [str(run + 1) for run in range(len(runs))]))
    return _counted(found)


def _counted(copies: Iterable[Copy]) -> tuple[CountedCopy, ...]:
    return tuple(CountedCopy(of=copy.of + 1, models=copy.models, whole=copy.whole) for copy in copies)


def completes(before: Panel, now: Panel, least: int) -> bool:
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
