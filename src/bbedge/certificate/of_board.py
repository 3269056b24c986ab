"""The certificate of a board: its leaderboard as a document, with what the ledger adds to it.

The one module of this room that knows boards.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec
import numpy as np

from bbedge.board import Board
from bbedge.certificate.certificate import Certificate, Shown
from bbedge.certificate.document import MOST_MODELS as MOST_LISTED
from bbedge.certificate.document import certificate
from bbedge.certificate.exports import cell
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.core.looks import MOST_MODELS, Recorder
from bbedge.records.board import (
    AnnouncementRecord,
    Attempts,
    BoardRecord,
    StageRecord,
    StepKind,
    StepRecord,
    TrustRecord,
    WithdrawnRecord,
)
from bbedge.records.certificate import Document
from bbedge.records.events import (
    Created,
    ItemsAdded,
    ModelAdded,
    ModelAnnounced,
    ModelRetired,
    ModelWithdrawn,
    NewEdge,
    PilotAdded,
    ReplicateAdded,
    TrustStated,
)
from bbedge.records.notes import Note
from bbedge.records.values import HEADLINE
from bbedge.text import counted, listed, shown


def board_certificate(
    board: Board, epoch: int | None = None, *, shown: Shown = "all", history: bool = True
) -> Certificate:
    """The certificate of a benchmark version (from 1); by default of the last one that has runs.

    The evidence of earlier looks is computed again from the stored scores; leave ``history`` out where it is not shown.
    """
    number = shown_epoch(board, epoch)
    leaderboard = board.leaderboard(number)
    content = board_document(board, leaderboard, number, history=history)
    return Certificate.made(leaderboard, content, shown=shown, source=board.name)


def shown_epoch(board: Board, asked: int | None) -> int:
    """The epoch to show: the given one, else the last one that has runs."""
    if asked is not None:
        return asked
    with_runs = [epoch.number for epoch in board.state.epochs if epoch.has_scores]
    return with_runs[-1] if with_runs else board.state.epoch.number


def board_notes(board: Board, number: int) -> Iterator[Note]:
    """Notes on an epoch for readers of its leaderboard."""
    state = board.state
    if state.in_pilot:
        text = f"The pilot has {state.epoch.pilots} of {board.design.pilot} replicates; they are not evidence."
        yield Note(kind="pilot", text=text)
    elif state.candidate is not None:
        text = f"Only the set that the pilot chose is tested: {listed(state.candidate, limit=20)}."
        yield Note(kind="pilot", subject=tuple(state.candidate), text=text)
    if state.retired:
        whose = "Its" if len(state.retired) == 1 else "Their"
        text = f"Retired: {listed(state.retired)}. {whose} certificates remain valid."
        yield Note(kind="retired", subject=tuple(state.retired), text=text)
    remarks = (
        Note(kind="remark", subject=(each.about,), text=each.text) for each in board.noted if each.epoch == number
    )
    for note in (*remarks, *(note for epoch, note in board.noticed if epoch == number)):
        yield replace(note, text=shown(note.text, None))
    yield from _copy_notes(board, number)
    attempts = _attempts(board, number)
    if attempts and attempts.abandoned:
        were = "was" if attempts.abandoned == 1 else "were"
        text = (
            f"{counted(attempts.begun, 'attempt')} for {counted(attempts.runs, 'run')}: {attempts.abandoned} {were} "
            "abandoned, because the journal was missing or replaced, and started again. If scores were the reason, the "
            "guarantee does not hold."
        )
        yield Note(kind="attempts", text=text)
    for each in (other for other in state.epochs if other.number != number):
        if each.has_scores:
            edges = sum(int(stage.edges(view).sum()) for stage in each.stages for view in stage.views)
            text = f"Epoch {each.number} ({len(each.items):,} items) has {edges:,} certificates of its own."
        else:
            text = (
                f"Epoch {each.number} is open ({len(each.items):,} items, {len(each.models):,} models) but has no "
                f"replicate yet; this is epoch {number}."
            )
        yield Note(kind="epochs", subject=(str(each.number),), text=text)


def _copy_notes(board: Board, number: int) -> Iterator[Note]:
    """Replicates of an epoch that were counted although they repeat earlier scores."""
    repeated, joined = [], []
    number_of = _checkpoints(board, number)
    for event in board.events:
        match event.content:
            case ReplicateAdded(upto=upto) as added if upto and added.copies and added.epoch == number:
                repeated.append(f"part {number_of[upto]} of replicate 1")
            case PilotAdded() | ReplicateAdded() as added if added.copies and added.epoch == number:
                repeated.append(f"{added.kind} {abs(added.place)}")
            case ModelAdded() as added if added.copies and added.epoch == number:
                joined.append(added.model)
    rule = (
        "as the design allows" if board.design.copies == "allow" else "because copies were allowed when they were added"
    )
    if board.design.repeats_are_harmless:
        rule = "because repeats make no claim about new items false"
    if repeated:
        text = f"Counted although the scores equal those of earlier replicates, {rule}: {', '.join(repeated)}."
        yield Note(kind="copies", subject=tuple(repeated), text=text)
    if joined:
        text = f"Added with runs that have the same scores as each other, {rule}: {listed(joined)}."
        yield Note(kind="copies", subject=tuple(joined), text=text)


def board_document(board: Board, leaderboard: Leaderboard, epoch: int, *, history: bool = True) -> Document:
    """The leaderboard of an epoch with its board."""
    if leaderboard.gaps is not None:
        hint = replace(leaderboard.gaps, resolved_if_means=board.resolved_if_means(epoch))
        leaderboard = replace(leaderboard, gaps=hint)
    return certificate(
        _with_history(board, leaderboard, epoch) if history else leaderboard,
        notes=tuple(board_notes(board, epoch)),
        board=_record(board, epoch),
    )


def _record(board: Board, epoch: int) -> BoardRecord:
    return BoardRecord(
        design=board.design,
        design_hash=board.registration,
        head=board.head,
        events=len(board.events),
        epoch=epoch,
        epochs=len(board.state.epochs),
        active=tuple(board.state.active),
        retired=tuple(board.state.retired),
        withdrawn=_withdrawn(board) or msgspec.UNSET,
        announcements=_announcements(board) or msgspec.UNSET,
        trust=_trust(board) or msgspec.UNSET,
        alpha_spent=board.state.spent,
        next_level=board.state.next_level(),
        claims=tuple(
            StageRecord(
                claim=stage.claim,
                epoch=each.number,
                newcomer=stage.newcomer,
                target=stage.target or msgspec.UNSET,
                continues=msgspec.UNSET if stage.continues is None else stage.continues,
                level=stage.level,
                directions=stage.design.n_directions,
                design_hash=stage.design.hash,
            )
            for each in board.state.epochs
            for stage in each.stages
        ),
        earlier_runs=board.state.epochs[epoch - 1].earlier or msgspec.UNSET,
        attempts=_attempts(board, epoch),
        timeline=tuple(_timeline(board, epoch)),
    )


def _withdrawn(board: Board) -> tuple[WithdrawnRecord, ...]:
    """The models whose rows are hidden, with the events that say why."""
    return tuple(
        WithdrawnRecord(model=event.content.model, event=event.seq, reason=event.content.reason)
        for event in board.events
        if isinstance(event.content, ModelWithdrawn)
    )


def _announcements(board: Board) -> tuple[AnnouncementRecord, ...]:
    """What was announced and what came of it, with the events."""
    events = {event.content.model: event.seq for event in board.events if isinstance(event.content, ModelAnnounced)}
    return tuple(
        AnnouncementRecord(
            model=name,
            event=events[name],
            epoch=each.epoch,
            announced=each.runs,
            delivered=each.delivered or 0,
            open=each.is_open,
            claim=each.claim,
            level=each.level,
        )
        for name, each in board.state.announced.items()
    )


def _trust(board: Board) -> tuple[TrustRecord, ...]:
    """What the board states last of each model, in the order of these events."""
    last = {event.content.model: event for event in board.events if isinstance(event.content, TrustStated)}
    found = sorted(last.values(), key=lambda event: event.seq)
    return tuple(
        TrustRecord(model=stated.model, event=event.seq, trust=stated.trust, by=stated.by, sha256=stated.submission)
        for event in found
        if isinstance(stated := event.content, TrustStated)
    )


def _checkpoints(board: Board, epoch: int) -> dict[int, int]:
    """The number of each checkpoint of an epoch's first run, by the blocks before it."""
    plan = board.state.epochs[epoch - 1].plan
    return {} if plan is None else {each.blocks: each.number for each in plan.checkpoints}


def _timeline(board: Board, shown: int) -> Iterator[StepRecord]:
    """What the events say that changed models, items or evidence; of the epoch that is shown, with the ranks."""
    models, edges, ranks = list[str](), list[NewEdge](), dict[str, tuple[int, int]]()
    goes_on = board.design.target == "new-items"
    for event in board.events:
        content = event.content
        said: dict[str, Any] = {}
        match content:
            case Created() | ItemsAdded():
                models, ranks = list(content.models), {}
                # What is certified of new items stands; these items are others now.
                edges = [edge for edge in edges if {edge.winner, edge.loser} <= set(models)] if goes_on else []
                said = {"names": content.models, "items": len(content.items)}
                if goes_on and isinstance(content, ItemsAdded):
                    said["kept"] = len(edges)
            case ModelAdded(model=model):
                models.append(model)
                said = {"names": (model,)}
            case ModelRetired(model=model) | ModelWithdrawn(model=model):
                said = {"names": (model,)}
            case PilotAdded(pilot=run) | ReplicateAdded(replicate=run):
                said = {"run": run}
            case _:
                continue
        epoch = 1 if isinstance(content, Created) else content.epoch
        if isinstance(content, ReplicateAdded) and content.upto:
            said["checkpoint"] = _checkpoints(board, epoch)[content.upto]
        outcome = content.outcome if isinstance(content, ReplicateAdded | ModelAdded) else None
        if outcome is not None:
            # Comparisons with models that were retired before the epoch may still be certified.
            edges += [edge for edge in outcome.certified if {edge.winner, edge.loser} <= set(models)]
            said |= msgspec.structs.asdict(outcome.look)
        if epoch == shown and len(board.state.epochs[epoch - 1].models) <= MOST_LISTED:
            before, ranks = ranks, _possible_ranks(models, edges)
            changed = {model: ends for model, ends in ranks.items() if before.get(model) != ends}
            said["ranks"] = changed or msgspec.UNSET
        time = event.at.replace("+00:00", "Z")
        yield StepRecord(event=event.seq, time=time, kind=cast("StepKind", content.kind), epoch=epoch, **said)


def _possible_ranks(models: Sequence[str], edges: Sequence[NewEdge]) -> dict[str, tuple[int, int]]:
    """The rank interval of each model that follows from certified edges."""
    place, certified = {model: i for i, model in enumerate(models)}, np.zeros((len(models),) * 2, dtype=np.bool_)
    for edge in edges:
        certified[place[edge.winner], place[edge.loser]] = True
    return dict(zip(models, Graph(certified).rank_intervals, strict=True))


def _attempts(board: Board, epoch: int) -> Attempts | msgspec.UnsetType:
    """How many attempts there were at the runs of an epoch; absent if none was recorded."""
    runs = board.state.epochs[epoch - 1].attempts
    outcomes = [outcome for run in runs.values() for outcome in run]
    abandoned = outcomes.count("abandoned")
    return Attempts(begun=len(outcomes), runs=len(runs), abandoned=abandoned) if outcomes else msgspec.UNSET


def _with_history(board: Board, leaderboard: Leaderboard, epoch: int) -> Leaderboard:
    """The leaderboard and its views with the evidence of every look, where there are few enough models to show it."""
    shown = board.state.epochs[epoch - 1]
    if shown.is_joined or len(shown.models) > MOST_MODELS:
        return leaderboard
    recorders = [Recorder() for _ in (leaderboard, *leaderboard.views)]
    for looks in board.looks_at_views(epoch):
        for recorder, look in zip(recorders, looks, strict=True):
            if look is not None:
                recorder.record(look)
    headline, *others = (recorder.history() for recorder in recorders)
    views = (replace(view, history=each) for view, each in zip(leaderboard.views, others, strict=True))
    return replace(leaderboard, history=headline, views=tuple(views))


def graph_csv(board: Board) -> str:
    """Everything that stands, as a table of edges. Names are plain ASCII, and no spreadsheet runs them as formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    with_views = bool(board.design.views) or board.design.target == "both"
    titles = ["winner", "loser", "log_e", "margin", "first_certified", "current"]
    writer.writerow(["epoch", *(["view"] if with_views else []), *titles])
    whole = [(epoch.number, board.leaderboard(epoch.number)) for epoch in board.state.epochs]
    for number, leaderboard in [(number, view) for number, each in whole for view in (each, *each.views)]:
        names = [cell(name) for name in leaderboard.design.models]
        for a, b in zip(*(ends.tolist() for ends in leaderboard.edges.nonzero()), strict=True):
            writer.writerow(
                [
                    number,
                    *([cell(leaderboard.name or HEADLINE)] if with_views else []),
                    names[a],
                    names[b],
                    repr(float(leaderboard.log_e[a, b])),
                    repr(float(leaderboard.lower_bounds[a, b]) * board.design.score_width),
                    int(leaderboard.first_certified[a, b]),
                    int(leaderboard.current_edges[a, b]),
                ]
            )
    return text.getvalue()
