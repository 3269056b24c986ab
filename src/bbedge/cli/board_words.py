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
    from bbedge.board.replay import registration_of

    content = event.content
    if event.kind == "init":
        registration = registration_of(event)[:16]
        return f"{len(content['models'])} models, {len(content['items'])} items, registration {registration}"
    if event.kind == "pilot":
        chosen = f", chose {', '.join(content['candidate'])}" if content["candidate"] else ""
        return f"epoch {content['epoch']}, pilot replicate {content['pilot']}{chosen}"
    if event.kind == "replicate":
        look = content["look"]
        edges = f"{look['edges']} certificates, {len(content['certified'])} new"
        return f"epoch {content['epoch']}, replicate {content['replicate']}: {edges}"
    if event.kind == "add-model":
        return (
            f"{content['model']}: {len(content['vectors'])} runs, {len(content.get('certified', []))} new certificates"
        )
    if event.kind == "add-items":
        return f"epoch {content['epoch']}: {len(content['items'])} new items"
    if event.kind == "note":
        return f"{content['about']}: {content['text']}"
    return str(content["model"])


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
