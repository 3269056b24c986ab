"""What a page has besides the certificate: what the user knows of the models, and scores of single items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bbedge.errors import DomainError

if TYPE_CHECKING:
    from bbedge.board import Board
    from bbedge.certificate.certificate import Certificate
    from bbedge.core.scores import Scores
    from bbedge.display.page.items import ItemScores
    from bbedge.display.page.model_info import ModelInfo


def model_info(path: Path | None, models: Collection[str]) -> ModelInfo | None:
    """What the file of ``--model-info`` says, if there is one."""
    if path is None:
        return None
    from bbedge.display.page.model_info import ModelInfo
    from bbedge.readers.lists import read_model_info

    table = read_model_info(path, models)
    return ModelInfo.of(table.columns, table.rows)


def item_scores(
    certificate: Certificate,
    scores: Scores,
    *,
    pilot: int = 0,
    addresses: Mapping[tuple[str, str], str] | None = None,
) -> ItemScores:
    """The scores of single items behind a certificate; those of a pilot are not part of it."""
    from bbedge.display.page.items import ItemScores

    whole = certificate.headline or certificate
    weights = {
        "" if view.name is None else view.name: view.leaderboard.design.weights
        for view in (whole, *whole.views)
        if view.leaderboard is not None
    }
    counted = replace(scores, values=scores.values[pilot:], replicates=scores.replicates[pilot:]) if pilot else scores
    return ItemScores.of(counted, certificate.names, weights=weights, addresses=addresses)


def board_items(certificate: Certificate, board: Board, number: int) -> ItemScores:
    """The scores of single items on a board, of its current epoch and the models that are still run."""
    from bbedge.board.scores import stored_scores

    epoch = board.state.epoch
    if number != epoch.number:
        raise DomainError(f"--with-items is for the current epoch, {epoch.number}; leave it out for epoch {number}")
    return item_scores(
        certificate, stored_scores(board, [model for model in epoch.models if model in board.state.active])
    )
