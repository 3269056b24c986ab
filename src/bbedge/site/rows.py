"""Every row that was ever announced or on the leaderboard: when it came, was scored again and went, by which event."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bbedge.board import Board
from bbedge.board.stored_scores import StoredScores
from bbedge.certificate.exports import cell
from bbedge.certificate.numbers import Units
from bbedge.display.ranking import TRUST_WORDS
from bbedge.ledger.chain import LedgerEvent
from bbedge.records.events import (
    AnnouncementClosed,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelAnnounced,
    ModelRetired,
    ModelWithdrawn,
    ReplicateAdded,
    TrustStated,
)
from bbedge.records.site import RowChange, RowEvent
from bbedge.text import counted

HEADS = ("model", "what", "time", "event", "hash", "epoch", "why", "mean", "missing", "scores")
"""The columns of the table; the scores of an event are the SHA-256 of each run's, as the ledger has them."""


def row_changes(board: Board) -> list[RowChange]:
    """What happened to the rows, event by event, in the order of the models of each."""
    with board.store.read() as session:
        runs = _Runs(board, StoredScores(session))
        return [change for event in board.events for change in _changes(event, runs)]


class _Runs:
    """The means of runs."""

    def __init__(self, board: Board, scores: StoredScores) -> None:
        self._epochs, self._scores, self._announced = board.state.epochs, scores, board.state.announced
        self._low, high = board.design.score_range
        self._width = high - self._low

    def means(self, model: str, epoch: int, places: Iterable[int]) -> dict[str, Any]:
        """The mean of each of these runs of a model, and how many scores are missing in them."""
        means, missing = [], 0
        for place in places:
            values = self._scores.panel(self._epochs[epoch - 1], place)[model]
            there = values[~np.isnan(values)]
            missing += len(values) - len(there)
            means.append(self._low + self._width * float(there.mean()) if len(there) else None)
        return {"means": tuple(means), "missing": missing}

    def delivered(self, model: str, count: int) -> str:
        """How many runs a model was added with, and how many of those that were announced did not come."""
        announced = self._announced.get(model)
        if announced is None:
            return counted(count, "run")
        came, withheld = announced.delivered or 0, count - (announced.delivered or 0)
        lacking = f"; {withheld:,} {'was' if withheld == 1 else 'were'} not delivered" if withheld else ""
        return f"{came:,} of {counted(count, 'announced run')}{lacking}"


def _changes(event: LedgerEvent, runs: _Runs) -> Iterator[RowChange]:
    content = event.content
    epoch = 1 if isinstance(content, Created) else content.epoch

    time = event.at.replace("+00:00", "Z")
    about: dict[str, Any] = {"event": event.seq, "hash": event.hash, "time": time, "epoch": epoch}

    def change(model: str, what: RowEvent, why: str, **more: Any) -> RowChange:  # noqa: ANN401 - the other fields
        return RowChange(model=model, what=what, why=why, **about, **more)

    match content:
        case Created():
            for model in content.models:
                yield change(model, "added", "the board began")
        case ItemsAdded():
            why = f"epoch {epoch} began with {counted(len(content.items), 'new item')}: evidence starts again"
            for model in content.models:
                yield change(model, "re-scored", why)
        case ReplicateAdded():
            why = f"run {content.replicate}"
            if content.upto:
                why += f" up to {counted(content.upto, 'block')}"
            for model, digest in content.vectors.items():
                seen = runs.means(model, epoch, [content.place])
                yield change(model, "re-scored", why, scores=(digest,), **seen)
        case ModelAdded(model=model, vectors=vectors):
            seen = runs.means(model, epoch, range(1, len(vectors) + 1))
            yield change(model, "added", f"added with {runs.delivered(model, len(vectors))}", scores=vectors, **seen)
        case ModelRetired(model=model):
            yield change(model, "retired", "it is run no more")
        case ModelWithdrawn(model=model, reason=reason):
            yield change(model, "withdrawn", reason)
        case ModelAnnounced(model=model, runs=announced):
            yield change(model, "announced", f"{counted(announced, 'run')} announced before they are made")
        case AnnouncementClosed(model=model):
            yield change(model, "announcement closed", "what is not delivered with the model counts as missing")
        case TrustStated(model=model, trust=trust, by=by, submission=submission):
            came = f", submission {submission}" if submission else ""
            yield change(model, "trust stated", f"{TRUST_WORDS[trust]}, by {by}{came}")


def rows_csv(changes: Iterable[RowChange], units: Units) -> str:
    """A line for each change. Names are plain ASCII, and no spreadsheet runs them as formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADS)
    for each in changes:
        means = " ".join(map(units.score, each.means))
        about = (each.what, each.time, each.event, each.hash, each.epoch, cell(each.why))
        writer.writerow((cell(each.model), *about, means, each.missing or "", " ".join(each.scores)))
    return text.getvalue()
