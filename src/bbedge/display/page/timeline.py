"""The timeline of a board: what happened when, what each look certified, and which possible ranks it changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec import UNSET

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.records.board import StepRecord
from bbedge.text import counted, shown

MOST_STEPS = 200
"""So many events are on the page, the latest ones."""
MOST_NAMED = 60
"""Of one look, so many models whose ranks changed are on the page, and so many that beat others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange:
    """The possible ranks of a model before and after a look."""

    label: str
    """The model."""
    before: str
    """Its ranks before; empty if it came with this event."""
    after: str
    """Its ranks since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """An event of the board."""

    time: str
    """When it was recorded, in UTC."""
    what: str
    """What happened, in words."""
    is_of_this: bool
    """Whether it is part of the epoch that the page is about."""
    has_look: bool
    """Whether the board was looked at."""
    certified: int
    """Comparisons that it certified for the first time."""
    pairs: str
    """How many pairs are decided since, and of how many."""
    wins: Sequence[tuple[str, Sequence[str]]]
    """Each model that it certified better than others, with these."""
    changes: Sequence[RankChange]
    """The models whose possible ranks it changed."""


def timeline(certificate: Certificate) -> list[TimelineRow]:
    """The events of the board that the certificate is of, latest first; none if it is not of a board."""
    return list(_rows(certificate))[::-1]


def last_look(rows: Sequence[TimelineRow]) -> TimelineRow | None:
    """The latest event of this epoch at which the board was looked at."""
    return next((row for row in rows if row.is_of_this and row.has_look), None)


def _rows(certificate: Certificate) -> Iterator[TimelineRow]:
    board = certificate.content.board
    if not board:
        return
    labels = _Labels(zip(certificate.names, certificate.labels, strict=True))
    certified, ranks, edges, models = _certified_at(certificate), dict[str, tuple[int, int]](), 0, 0
    for step in board.timeline:
        if step.kind in ("init", "add-items"):
            ranks, edges, models = {}, step.kept or 0, len(step.names or ())
        models += step.kind == "add-model"
        now = step.edges or 0 if step.has_look else edges
        changed = step.ranks or {}
        yield TimelineRow(
            time=step.time,
            what=_what(step, labels),
            is_of_this=step.epoch == board.epoch,
            has_look=step.has_look,
            certified=now - edges,
            pairs=f"{step.resolved_pairs:,} of {models * (models - 1) // 2:,}" if step.has_look else "",
            wins=[
                (labels[winner], [labels[loser] for _, loser in pairs])
                for winner, pairs in groupby(certified.get(step.event, ()), key=lambda pair: pair[0])
            ],
            changes=[
                RankChange(label=labels[name], before=rank(ranks[name]) if name in ranks else "", after=rank(ends))
                for name, ends in sorted(changed.items(), key=lambda each: (each[1], each[0]))
            ]
            if ranks or step.has_look
            else [],
        )
        ranks, edges = {**ranks, **changed}, now


class _Labels(dict[str, str]):
    """What models are called on the page, those of other epochs included."""

    def __missing__(self, name: str) -> str:
        return shown(name)


def _what(step: StepRecord, labels: Mapping[str, str]) -> str:
    names = [labels[name] for name in step.names or ()]
    match step.kind:
        case "init":
            return f"The board began with {counted(len(names), 'model')} and {counted(step.items or 0, 'item')}"
        case "add-items":
            began = f"Epoch {step.epoch} began: {counted(step.items or 0, 'new item')}, {counted(len(names), 'model')}"
            stand = "comparison about new items stands" if step.kept == 1 else "comparisons about new items stand"
            return began if step.kept is UNSET else f"{began}; {step.kept:,} {stand}"
        case "add-model":
            return f"{names[0]} was added"
        case "retire":
            return f"{names[0]} was retired"
        case "withdraw":
            return f"{names[0]} was withdrawn"
        case "pilot":
            return f"Pilot run {step.run:,}"
    return f"Checkpoint {step.checkpoint} of run 1" if step.checkpoint else f"Run {step.run:,}"


def _certified_at(certificate: Certificate) -> dict[int, list[tuple[str, str]]]:
    """The edges of the epoch by the event that certified them, in the order shown.

    An edge names the run that certified it. A model that was added later was compared on earlier runs when it came.
    What stands from before items were added is left out.
    """
    board = certificate.content.board
    steps = [step for step in board.timeline if step.epoch == board.epoch] if board else []
    came = {name: step.event for step in steps if step.kind == "add-model" for name in step.names or ()}
    looked = {(step.run, step.checkpoint): step.event for step in steps if step.kind == "replicate"}
    place, found = {name: i for i, name in enumerate(certificate.names)}, dict[int, list[tuple[str, str]]]()
    for edge in sorted(certificate.content.edges or (), key=lambda edge: (place[edge.winner], place[edge.loser])):
        if not edge.first_certified:
            continue
        event = max(looked[edge.first_certified, edge.first_part], *(came.get(e, 0) for e in (edge.winner, edge.loser)))
        found.setdefault(event, []).append((edge.winner, edge.loser))
    return found
