"""What was run of a table of scores, step by step, where the first run was looked at before it was complete.

A certificate says at which checkpoints it was looked at, the design in which order the blocks were run, and the table
which models ran on: a model that was stopped has no scores after its last step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.shape import Document
from bbedge.core.checkpoints import PassPlan
from bbedge.core.scores import Scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The scores between two looks."""

    replicate: int
    """The place of the replicate in the table, from 0."""
    checkpoint: int
    """The number of the checkpoint that the first replicate comes to; 0 if the replicate is complete after the step."""
    rows: NDArray[np.intp]
    """The models that ran."""
    new: NDArray[np.intp]
    """The places of the items that they ran, in their order."""


def has_steps(document: Document) -> bool:
    """Whether a certificate was looked at inside its first run."""
    return bool(document.design.checkpoints) and (bool(document.parts) or not document.replicates)


def steps(document: Document, values: NDArray[np.float64], plan: PassPlan) -> tuple[Step, ...]:
    """The steps that these replicates of models x items were run in, NaN where there is no score.

    What nothing was concluded from is left out: what was run after the last look at a first run that is not complete.
    A step that no model ran does not exist.
    """
    looks = min(len(document.parts or ()), len(plan.checkpoints))  # a changed certificate may state more
    there = ~np.isnan(values)
    made = [(0, number, plan.new_places(number)) for number in range(1, looks + 1)]
    if document.replicates:
        made.append((0, 0, plan.order[len(plan.places(looks)) :]))
        made += [(replicate, 0, np.arange(there.shape[2])) for replicate in range(1, len(there))]
    running = np.zeros(there.shape[1], dtype=np.bool_)
    found: list[Step] = []
    for replicate, checkpoint, new in reversed(made):
        running = running | there[replicate][:, new].any(axis=1)
        if running.any():
            found.append(Step(replicate=replicate, checkpoint=checkpoint, rows=np.flatnonzero(running), new=new))
    return tuple(reversed(found))


def missing_scores(values: NDArray[np.float64], made: tuple[Step, ...]) -> tuple[int, ...]:
    """How many scores each model lacks in the steps that it ran."""
    counts = np.zeros(values.shape[1], dtype=np.int64)
    for step in made:
        counts[step.rows] += np.isnan(values[step.replicate][np.ix_(step.rows, step.new)]).sum(axis=1)
    return tuple(counts.tolist())


def stated_gaps(document: Document, scores: Scores) -> Scores:
    """The scores with the rule for missing scores of the certificate: without scores is also what was not run."""
    return replace(scores, gaps=document.design.gaps or "refuse", stops=None)


def with_items(
    scores: Scores, items: Sequence[str], blocks: Sequence[str] | None, columns: Mapping[str, Sequence[str]]
) -> Scores:
    """The scores with all of these items: what was not run yet has a place and no score.

    ``blocks`` are those of the items, where they are known, and ``columns`` what else is known of them; the columns
    that the scores have are kept.
    """
    known = set(scores.items)
    added = [place for place, item in enumerate(items) if item not in known]
    if not added:
        return scores
    new = tuple(items[place] for place in added)
    block_of = dict(zip(items, items if blocks is None else blocks, strict=True))
    own = dict(zip(scores.items, scores.blocks, strict=True)) if blocks is None else {}
    every = (*scores.items, *new)
    nothing = np.full((*scores.values.shape[:2], len(new)), np.nan)
    return replace(
        scores,
        items=every,
        blocks=tuple(own.get(item, block_of.get(item, item)) for item in every),
        values=np.concatenate([scores.values, nothing], axis=2),
        columns={name: (*texts, *(columns[name][place] for place in added)) for name, texts in scores.columns.items()},
        notes=tuple(note for note in scores.notes if set(note.subject) != set(new)),
        gaps="worst-case",
        seen=None,
    )
