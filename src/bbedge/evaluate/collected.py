"""What the journal holds of a replicate, as the board takes it: scores by model and item, and hashes of answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from bbedge.board import Board
from bbedge.board.replay import stored_parts
from bbedge.board.seen import seen_scores
from bbedge.board.state import BoardState
from bbedge.core.scores import Scores
from bbedge.evaluate.engine import Sample
from bbedge.evaluate.journal import Page
from bbedge.evaluate.spec import EvaluationSpec


def collected_scores(
    page: Page,
    study: EvaluationSpec,
    state: BoardState,
    samples: Sequence[Sample],
    items: Sequence[str],
    seen: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> Scores:
    """The scores of the active models on these items, of which the samples have every one.

    ``seen`` is what the board has of them, by model and item. It stands in for samples that the journal has lost: run
    again they might score otherwise.
    """
    epoch = state.epoch
    block = dict(zip(epoch.items, epoch.blocks, strict=True))
    values = np.empty((1, len(state.active), len(items)))
    for row, model in enumerate(state.active):
        scores = dict(seen.get(model, {}))
        for sample in samples:
            done = page.done.get((model, sample.name))
            scores |= {} if done is None else done.scores
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


def seen_on(board: Board) -> dict[str, dict[str, float]]:
    """What the board has of a first pass that is not complete, by model and item."""
    epoch = board.state.epoch
    if not epoch.is_inside_pass:
        return {}
    with board.store.read() as session:
        seen = seen_scores(stored_parts(session, epoch))
    items = [epoch.items[place] for place in epoch.seen_places]
    return {
        model: dict(zip(items, row.tolist(), strict=False)) for model, row in seen.items()
    }  # a stopped one has less


def collected_traces(page: Page, samples: Sequence[Sample]) -> dict[str, str]:
    """A hash of all answers of every model that has run all samples and whose answers the engine sees."""
    traces = {}
    for model in sorted({model for model, _ in page.done}):
        found = [page.done.get((model, sample.name)) for sample in samples]
        parts = [None if done is None else done.trace for done in found]
        if all(part is not None for part in parts):
            traces[model] = hashlib.sha256("".join(map(str, parts)).encode()).hexdigest()
    return traces
