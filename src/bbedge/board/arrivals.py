"""Replicates on their way to the board: arranged, packed, identified, and asked whether they repeat stored scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.board.identity import Stored
from bbedge.board.packing import checksum, pack
from bbedge.board.replay import stored_panel
from bbedge.board.state import BoardState, Panel
from bbedge.board.store import Session
from bbedge.core.copies import FEW, Copy, Fingerprint, described, find_copies
from bbedge.core.kinds import Copies
from bbedge.core.scores import Scores
from bbedge.errors import BoardError, CopiedReplicateError
from bbedge.text import listed, quoted


@dataclass(slots=True, kw_only=True)
class Arrival:
    """A replicate that is about to be added."""

    panel: Panel
    """The scores by model."""
    packed: dict[str, bytes]
    """The same, packed."""
    sums: dict[str, str]
    """Their checksums."""
    stored: Stored
    """What will be known of it once it is stored."""

    @classmethod
    def of(cls, panel: Panel, runs: Sequence[str]) -> Arrival:
        """Pack a panel whose runs have these identities."""
        packed = {model: pack(vector) for model, vector in panel.items()}
        sums = {model: checksum(data) for model, data in packed.items()}
        prints = {model: Fingerprint.of(vector, sums[model]) for model, vector in panel.items()}
        return cls(panel=panel, packed=packed, sums=sums, stored=Stored(prints=prints, runs=set(runs)))


def counted_copies(
    session: Session,
    state: BoardState,
    stored: Sequence[Stored],
    new: Sequence[Arrival],
    rule: Copies,
    *,
    named: bool,
) -> dict[int, list[Copy]]:
    """The copies among new replicates by the number of replicates before them, or an error if they do not count.

    ``stored`` are all replicates of the epoch in order, the new ones last. Where nothing but the scores tells new
    replicates from stored ones, that is where they are not ``named``, every repetition is a question.
    """
    first, pilots = len(stored) - len(new), state.epoch.pilots

    def vector(place: int, model: str) -> NDArray[np.float64]:
        if place >= first:
            return new[place - first].panel[model]
        return stored_panel(session, state, -(place + 1) if place < pilots else place - pilots + 1)[model]

    found = find_copies([each.prints for each in stored], vector, first=first, least=FEW if named else 0)
    if found and rule == "refuse":
        labels = [str(place) for place in range(1, len(stored) + 1)]
        remedy = (
            f"Replicate {found[0].of + 1} is on the board: if these are the same runs again, there is nothing to add."
        )
        if found[0].of < pilots <= found[0].replicate:
            remedy += " The runs of a pilot choose the candidate and cannot be evidence as well."
        raise CopiedReplicateError(described(found, labels), remedy=remedy)
    by_place: dict[int, list[Copy]] = {}
    for copy in found:
        by_place.setdefault(copy.replicate, []).append(copy)
    return by_place


def arranged(scores: Scores, values: NDArray[np.float64], state: BoardState) -> Panel:
    """The values by model, in the order of the epoch's items; other items than those are refused."""
    if scores.score_range != state.design.score_range:
        raise BoardError(
            f"the scores were read on the scale {scores.score_range}; the board's is {state.design.score_range}"
        )
    items = state.epoch.items
    place = {item: i for i, item in enumerate(scores.items)}
    if len(place) < len(scores.items) or len(set(scores.models)) < len(scores.models):
        raise BoardError("a model or an item comes twice in these scores; each must be there once")
    missing = [item for item in items if item not in place]
    if missing:
        raise BoardError(
            f"{len(missing)} of {len(items)} items of the benchmark are not in the files: {listed(missing)}; "
            "a replicate is complete or it is none"
        )
    extra = sorted(set(scores.items) - set(items))
    if extra:
        raise BoardError(
            f"the files have {len(extra)} items that are not part of the benchmark: {listed(extra)}; "
            "open a new epoch with add-items, or leave them out"
        )
    _check_blocks(scores, state)
    arranged = values[:, [place[item] for item in items]]
    return {model: arranged[i] for i, model in enumerate(scores.models)}


def _check_blocks(scores: Scores, state: BoardState) -> None:
    """Refuse scores whose files put the items into other blocks than the design does."""
    if not scores.blocked:
        return
    theirs = dict(zip(scores.items, scores.blocks, strict=True))
    ours = dict(zip(state.epoch.items, state.epoch.blocks, strict=True))
    same: tuple[dict[str, str], dict[str, str]] = {}, {}
    for item, block in ours.items():
        if same[0].setdefault(block, theirs[item]) != theirs[item] or same[1].setdefault(theirs[item], block) != block:
            raise BoardError(
                f"the files put item {quoted(item)} into the block {quoted(theirs[item])}, which does not hold the "
                "same items as its block in the design; blocks are frozen with the design: correct or remove the column"
            )


def stated_number(label: str) -> int | None:
    """The number that a label states, if it is one."""
    return int(float(label)) if _WHOLE.fullmatch(label) else None


_WHOLE = re.compile(r"[+-]?[0-9]{1,15}(?:\.0+)?")
