"""The certificate of a board computed again from a table of its scores, where the board itself is not at hand.

The certificate has the frozen design, the seed of the order and the models that were retired; the table shows when each
of these stopped. That is everything that happened, unless models or items were added. A board is made again from both,
in a folder that is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.board_certificate import board_certificate
from bbedge.certificate.document import plain
from bbedge.core.checkpoint_evidence import plan_of
from bbedge.core.checkpoints import FirstRunPlan
from bbedge.core.scores import Scores
from bbedge.errors import BoardError, DomainError
from bbedge.records.certificate import Document
from bbedge.records.design import BoardRecord
from bbedge.verify.recompute import Step, blocked, steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What follows from a table."""

    document: Document
    """The certificate; what only the ledger of the board says is as stated."""
    is_same_design: bool
    """Whether the claim has the design that the certificate states."""


def board_of(document: Document) -> BoardRecord:
    """What a certificate says of its board, if it can be computed again from a table of scores."""
    record = document.board
    if not record:
        raise ValueError("not the certificate of a board")
    if not record.design.checkpoints:
        raise DomainError("the certificate of a board; give the board, not score files")
    others = (
        ("items were added to", record.epochs > 1),
        ("models were added to", len(record.claims) > 1),
        ("a pilot chose the candidate of", bool(record.design.pilot)),
    )
    for what, is_so in others:
        if is_so:
            raise DomainError(
                f"the certificate of a board, and {what} this board: only its ledger says in which order that was; "
                "give the board, not score files"
            )
    return record


def item_columns(document: Document) -> tuple[str, ...]:
    """The columns of the items that the design of a certificate's board uses."""
    return _design(board_of(document)).columns


def rebuilt_board(document: Document, scores: Scores) -> Again:
    """The certificate of a board that was given these scores under the design of the certificate."""
    record = board_of(document)
    # The scores with the blocks of the certificate, as far as a rule makes them; as they are, if no rule does.
    candidates = list(blocked(document, _in_board_order(document, record, _with_retired(record, scores))))
    for fitted in candidates:
        with _board(document, _design(record), fitted) as board:
            if _is_of(board, record):
                return Again(document=_ran(board, document, record, fitted), is_same_design=True)
    with _board(document, _design(record), candidates[0]) as board:
        return Again(document=_ran(board, document, record, candidates[0]), is_same_design=False)


def _is_of(board: Board, record: BoardRecord) -> bool:
    """Whether a board has the design of the claim that a certificate states."""
    made = board_certificate(board, 1).content.board
    return {claim.design_hash for claim in (made or record).claims} <= {claim.design_hash for claim in record.claims}


def _ran(board: Board, document: Document, record: BoardRecord, scores: Scores) -> Document:
    """The certificate of the board after everything that the scores show."""
    plan = plan_of(board.leaderboard(1).design)
    rule = None if board.design.incomplete == "refuse" else board.design.incomplete
    for step in steps(document, scores.values, plan):
        ran = [scores.models[row] for row in step.rows]
        _retire(board, [model for model in record.retired if model not in ran])
        board.add(_of_step(scores, step, plan), upto=step.upto, copies="allow", incomplete=rule)
    _retire(board, record.retired)
    return _as_stated(board_certificate(board, 1).content, document, record)


def _with_retired(record: BoardRecord, scores: Scores) -> Scores:
    """The scores with a row for every retired model: one that never ran is in no file."""
    absent = tuple(model for model in record.retired if model not in scores.models)
    if not absent:
        return scores
    replicates, _, items = scores.values.shape
    values = np.concatenate([scores.values, np.full((replicates, len(absent), items), np.nan)], axis=1)
    return replace(scores, models=(*scores.models, *absent), values=values, seen=None)


def _in_board_order(document: Document, record: BoardRecord, scores: Scores) -> Scores:
    """The scores with the models in an order that the certificate allows: pairs of names in it follow the board's."""
    before: dict[str, set[str]] = {model: set() for model in scores.models}
    chains: list[Sequence[str]] = [record.active]
    for part in (document, *(document.views or ())):
        chains += [*(part.unresolved or ()), *(each.names for each in part.crossed_intervals or ())]
    for chain in chains:
        for first, second in pairwise(chain):
            if first in before and second in before:
                before[second].add(first)
    try:
        order = tuple(TopologicalSorter(before).static_order())
    except CycleError:  # these lists contradict each other: the comparison finds it
        return scores
    rows = [scores.models.index(model) for model in order]
    return replace(scores, models=order, values=scores.values[:, rows], seen=None)


def _design(record: BoardRecord) -> BoardDesign:
    return BoardDesign.from_values(plain(record.design), source="the design of the board")


@contextmanager
def _board(document: Document, design: BoardDesign, scores: Scores) -> Iterator[Board]:
    given = document.design.checkpoints
    if not given:
        raise BoardError("the design of the board has checkpoints, and that of the certificate has none")
    with (
        TemporaryDirectory(prefix="bbedge-") as folder,
        Board.create(
            Path(folder) / "board",
            design,
            models=scores.models,
            items=scores.items,
            blocks=scores.blocks,
            columns=scores.columns,
            order_seed=given.order_seed,
        ) as board,
    ):
        yield board


def _of_step(scores: Scores, step: Step, plan: FirstRunPlan) -> Scores:
    """The scores of a step; of a complete replicate all of them, those that were seen before included."""
    columns = step.new if step.upto or step.replicate else plan.order
    return replace(
        Scores.of(
            scores.values[step.replicate][step.rows][:, columns],
            models=[scores.models[row] for row in step.rows],
            items=[scores.items[place] for place in columns],
        ),
        score_range=scores.score_range,
        gaps="worst-case",
    )


def _retire(board: Board, models: Sequence[str]) -> None:
    for model in models:
        if model in board.state.active:
            board.retire(model)


def _as_stated(computed: Document, stated: Document, record: BoardRecord) -> Document:
    """With what no table of scores says: the ledger, and the order of names in it."""
    board = computed.board
    assert board  # it comes from one
    return msgspec.structs.replace(
        computed,
        design=msgspec.structs.replace(computed.design, hash=stated.design.hash),
        board=msgspec.structs.replace(
            board,
            design_hash=record.design_hash,
            head=record.head,
            events=record.events,
            attempts=record.attempts,
            active=_in_order(board.active, record.active),
            retired=_in_order(board.retired, record.retired),
        ),
    )


def _in_order(found: tuple[str, ...], stated: tuple[str, ...]) -> tuple[str, ...]:
    return stated if sorted(found) == sorted(stated) else found
