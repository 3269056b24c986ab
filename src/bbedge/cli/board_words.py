"""A board as text and plain values, for the terminal, JSON, CSV and the announcement."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from bbedge.text import listed, shown

if TYPE_CHECKING:
    from bbedge.board import Board
    from bbedge.board.ledger import Event
    from bbedge.certificate.history import Recorder
    from bbedge.certificate.standing import Stood
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.display.ledger import ClaimRow


def shown_epoch(board: Board, asked: int | None) -> int:
    """The epoch to show: the given one, else the last one that has runs."""
    if asked is not None:
        return asked
    with_runs = [epoch.number for epoch in board.state.epochs if epoch.replicates or epoch.pilots]
    return with_runs[-1] if with_runs else board.state.epoch.number


def notes(board: Board, number: int) -> list[str]:
    """Notes on an epoch for readers of its leaderboard."""
    notes = []
    if board.state.in_pilot:
        notes.append(
            f"The pilot has {board.state.epoch.pilots} of {board.design.pilot} replicates; they are not evidence."
        )
    elif board.state.candidate is not None:
        notes.append(f"Only the set that the pilot chose is tested: {listed(board.state.candidate, limit=20)}.")
    if board.state.retired:
        notes.append(f"Retired: {listed(board.state.retired)}. Their certificates remain valid.")
    if board.events[0].version == 1:
        notes.append(
            f"An earlier version of bbedge created this board. The hash that it published, {board.design.hash}, covers "
            f"the settings only; the registration {board.registration} also covers models, items and blocks."
        )
    notes += [shown(note["text"], None) for note in board.noted if note["epoch"] == number]
    notes += [shown(note.text, None) for epoch, note in board.noticed if epoch == number]
    notes += copies_counted(board, number)
    for epoch in board.state.epochs:
        if epoch.number != number and not epoch.replicates and not epoch.pilots:
            notes.append(
                f"Epoch {epoch.number} is open ({len(epoch.items):,} items, {len(epoch.models):,} models) but has no "
                f"replicate yet; this is epoch {number}."
            )
        elif epoch.number != number:
            edges = sum(int(stage.certifier.standing_edges().sum()) for stage in epoch.stages)
            notes.append(f"Epoch {epoch.number} ({len(epoch.items):,} items) has {edges:,} certificates of its own.")
    return notes


def copies_counted(board: Board, number: int) -> list[str]:
    """Replicates of an epoch that were counted although they repeat earlier scores."""
    counted, joined = [], []
    for event in board.events:
        if event.content.get("copies") and event.content["epoch"] == number:
            if event.kind == "add-model":
                joined.append(event.content["model"])
            else:
                counted.append(f"{event.kind} {event.content[event.kind]}")
    rule = (
        "as the design allows" if board.design.copies == "allow" else "because copies were allowed when they were added"
    )
    said = []
    if counted:
        said.append(f"Counted although the scores equal those of earlier replicates, {rule}: {', '.join(counted)}.")
    if joined:
        said.append(f"Added with runs that have the same scores as each other, {rule}: {listed(joined)}.")
    return said


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


def document(board: Board, leaderboard: Leaderboard, epoch: int) -> dict[str, object]:
    """The leaderboard of an epoch with its board, as plain values."""
    from bbedge.certificate.document import certificate

    document = certificate(
        leaderboard,
        notes=notes(board, epoch),
        design_hash=board.registration,
        recorder=_recorded(board, epoch),
        stopped=board.state.retired,
        standing_looks=standing_looks(board, leaderboard, epoch),
    )
    return document | {
        "board": {
            "design": board.design.content,
            "design_hash": board.registration,
            "head": board.head,
            "events": len(board.events),
            "epoch": epoch,
            "epochs": len(board.state.epochs),
            "active": board.state.active,
            "retired": board.state.retired,
            "alpha_spent": board.state.spent,
            "next_level": board.state.next_level(),
            "claims": [
                {
                    "claim": stage.claim,
                    "epoch": each.number,
                    "newcomer": stage.newcomer,
                    "level": stage.level,
                    "directions": stage.design.n_directions,
                    "design_hash": stage.design.hash,
                }
                for each in board.state.epochs
                for stage in each.stages
            ],
        }
    }


def standing_looks(board: Board, leaderboard: Leaderboard, epoch: int) -> list[Stood]:
    """What stood after each look of an epoch.

    A new model's runs are paired with replicates of earlier looks, at which nothing was known of it.
    """
    import numpy as np

    from bbedge.certificate.standing import stood

    looks, after = 0, [0]
    joined: dict[str, int] = {}
    for event in board.events:
        if event.content.get("epoch") != epoch:
            continue
        if event.kind == "add-model":
            joined[event.content["model"]] = looks + 1
        looks += "look" in event.content
        if event.kind == "replicate":
            after.append(looks)
    found = np.array(after, dtype=np.int64)[leaderboard.first_certified]
    for i, model in enumerate(leaderboard.design.models):
        for ends in (found[i], found[:, i]):
            np.maximum(ends, joined.get(model, 0), out=ends, where=ends > 0)
    return stood(found, len(leaderboard.looks))


def _recorded(board: Board, epoch: int) -> Recorder | None:
    """The evidence of every look, where there are few enough models to show it."""
    from bbedge.certificate.history import MOST_MODELS, Recorder

    stages = board.state.epochs[epoch - 1].stages
    if len(stages) != 1 or len(stages[0].design.models) > MOST_MODELS:
        return None
    recorder = Recorder(alpha=stages[0].design.alpha)
    for look in board.looks(epoch):
        recorder.record(look)
    return recorder


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
