"""What the journal holds of a replicate, as the board takes it: scores by model and item, and hashes of answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from bbedge.board.state import BoardState
from bbedge.core.scores import Scores
from bbedge.evaluate.engine import Sample
from bbedge.evaluate.journal import Page
from bbedge.evaluate.spec import EvaluationSpec


def collected_scores(
    page: Page, study: EvaluationSpec, state: BoardState, samples: Sequence[Sample], items: Sequence[str]
) -> Scores:
    """The scores of the active models on these items, of which the samples have every one."""
    epoch = state.epoch
    block = dict(zip(epoch.items, epoch.blocks, strict=True))
    values = np.empty((1, len(state.active), len(items)))
    for row, model in enumerate(state.active):
        scores: dict[str, float] = {}
        for sample in samples:
            scores |= page.done[model, sample.name].scores
        values[0, row] = [scores[item] for item in items]
    return Scores(
        models=tuple(state.active),
        items=tuple(items),
        blocks=tuple(block[item] for item in items),
        replicates=(str(page.replicate),),
        values=values,
        score_range=study.design.score_range,
        gaps="worst-case" if study.on_error == "worst-case" else "refuse",
    )


def collected_traces(page: Page, samples: Sequence[Sample]) -> dict[str, str]:
    """A hash of all answers of every model that has run all samples and whose answers the engine sees."""
    traces = {}
    for model in sorted({model for model, _ in page.done}):
        found = [page.done.get((model, sample.name)) for sample in samples]
        parts = [None if done is None else done.trace for done in found]
        if all(part is not None for part in parts):
            traces[model] = hashlib.sha256("".join(map(str, parts)).encode()).hexdigest()
    return traces
