"""A board in words and plain values: for the terminal, for CSV, and for publishing."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from bbedge.text import listed

if TYPE_CHECKING:
    from bbedge.board import Board
    from bbedge.board.ledger import Event
    from bbedge.display.ledger import ClaimRow


def claims(board: Board) -> list[ClaimRow]:
    """The level and the certificates of each claim."""
    from bbedge.display.ledger import ClaimRow

    return [
        ClaimRow(
            claim=stage.claim,
            what=f"epoch {epoch.number}: "
            + (
                f"model {stage.newcomer}"
                if stage.newcomer
                else "all pairs"
                if not stage.design.family.candidate
                else "candidate set against the others"
            ),
            level=stage.level,
            directions=stage.design.n_directions,
            standing=int(stage.certifier.standing_edges().sum()),
        )
        for epoch in board.state.epochs
        for stage in epoch.stages
    ]


def particulars(event: Event) -> str:
    """An event in a line."""
    from bbedge.board import events

    match event.content:
        case events.Created() as made:
            registration = made.computed_registration[:16]
            return f"{len(made.models)} models, {len(made.items)} items, registration {registration}"
        case events.PilotAdded() as added:
            chosen = f", chose {', '.join(added.candidate)}" if added.candidate else ""
            return f"epoch {added.epoch}, pilot replicate {added.pilot}{chosen}"
        case events.ReplicateAdded() as added:
            edges = f"{added.outcome.look.edges} certificates, {len(added.outcome.certified)} new"
            return f"epoch {added.epoch}, replicate {added.replicate}: {edges}"
        case events.ModelAdded() as added:
            new = 0 if added.outcome is None else len(added.outcome.certified)
            return f"{added.model}: {len(added.vectors)} runs, {new} new certificates"
        case events.ItemsAdded() as added:
            return f"epoch {added.epoch}: {len(added.items)} new items"
        case events.NoteAdded() as note:
            return f"{note.about}: {note.text}"
        case events.ModelRetired() as retired:
            return retired.model


def graph_csv(board: Board) -> str:
    """Everything that stands, as a table of edges. Names are plain ASCII, and no spreadsheet runs them as formulas."""
    from bbedge.display.exports import cell

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["epoch", "winner", "loser", "log_e", "margin", "first_certified", "current"])
    low, high = board.design.score_range
    for epoch in board.state.epochs:
        leaderboard = board.leaderboard(epoch.number)
        names = [cell(name) for name in leaderboard.design.models]
        for a, b in zip(*(ends.tolist() for ends in leaderboard.standing.edges.nonzero()), strict=True):
            writer.writerow(
                [
                    epoch.number,
                    names[a],
                    names[b],
                    repr(float(leaderboard.log_e[a, b])),
                    repr(float(leaderboard.lower_bounds[a, b]) * (high - low)),
                    int(leaderboard.first_certified[a, b]),
                    int(leaderboard.current.edges[a, b]),
                ]
            )
    return text.getvalue()


def announcement(board: Board) -> str:
    """The text to publish before the first run."""
    design, epoch = board.design, board.state.epoch
    family = "all ordered pairs of models"
    if design.family == "pilot-top-k":
        family = f"the {design.k} models that {design.pilot} pilot replicates will choose, against all others"
    spending = (
        f"equal shares for {design.shares} claims" if design.spending == "equal" else "6/(pi^2 (v+1)^2) for claim v"
    )
    pairing = "every stored replicate" if design.pairing == "all" else f"the first {design.first} stored replicates"
    parts = [
        f"We will compare {len(epoch.models)} models ({listed(epoch.models, limit=10)}) on {len(epoch.items):,} items "
        f"in {len(set(epoch.blocks)):,} blocks, with complete replicates.",
        f"Method {design.method} (bbedge), tau {design.tau:g}, scores from {design.score_range[0]:g} to "
        f"{design.score_range[1]:g}; tested: {family}.",
        f"The probability that any certificate of this board is ever false, over all looks, is at most "
        f"{design.alpha:g}; error spending: {spending}; a new model's runs are paired with {pairing}, in order.",
        f"Registration {board.registration} (design, models, items and blocks)",
        f"Ledger {board.head}",
    ]
    return "\n".join(parts)
