"""Replicates on their way to the board: arranged, packed, identified, and compared with what is stored.

A stated number or the identities of its runs say which stored replicate a panel is, never its scores. Where a panel
only repeats stored scores, the caller decides whether it counts; see :mod:`bbedge.core.copies`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bbedge.board.replay import stored_panel
from bbedge.board.stage import Panel
from bbedge.board.state import BoardState, missing_scores
from bbedge.board.stored_scores import check_final, completed, completes, without_stopped
from bbedge.core.copies import FEW, Copy, Fingerprint, described, find_copies, may_be_chance
from bbedge.core.scores import Scores
from bbedge.errors import BoardError, CopiedReplicateError
from bbedge.ledger.chain import LedgerEvent
from bbedge.ledger.store import Session
from bbedge.ledger.vectors import checksum, missing_checksum, pack
from bbedge.records.events import CountedCopy, ModelAdded, PartAdded, PilotAdded, ReplicateAdded
from bbedge.records.values import Copies
from bbedge.text import listed, quoted

Panels = Callable[[int], Panel]
"""Reads the stored replicate at a place, from 1."""


@dataclass(slots=True, kw_only=True)
class Stored:
    """What the ledger says of a replicate of an epoch."""

    prints: dict[str, Fingerprint]
    """The checksum of the scores of each model; runs that joined later are among them."""
    runs: set[str] = field(default_factory=set)
    """The identities of its runs, as far as they have any."""
    has_gaps: bool = False
    """Whether any score is missing."""


@dataclass(slots=True, kw_only=True)
class Arrival:
    """A replicate that is about to be added."""

    panel: Panel
    """The scores by model."""
    packed: dict[str, bytes]
    """The same, packed."""
    stored: Stored
    """What will be known of it once it is stored."""

    @classmethod
    def of(cls, panel: Panel, runs: Sequence[str]) -> Arrival:
        """Pack a panel whose runs have these identities."""
        packed = {model: pack(vector) for model, vector in panel.items()}
        prints = {model: Fingerprint.of(vector, checksum(packed[model])) for model, vector in panel.items()}
        stored = Stored(prints=prints, runs=set(runs), has_gaps=bool(missing_scores(panel)))
        return cls(panel=panel, packed=packed, stored=stored)

    @property
    def vectors(self) -> dict[str, str]:
        """The checksum of the scores of each model."""
        return {model: each.digest for model, each in self.stored.prints.items()}


def stored_replicates(events: Sequence[LedgerEvent], epoch: int) -> list[Stored]:
    """The replicates of an epoch, pilots first."""
    pilots: list[Stored] = []
    replicates: list[Stored] = []
    of_parts: set[str] = set()
    for event in events:
        match event.content:
            case PartAdded() as part if part.epoch == epoch:
                of_parts.update(part.runs)
            case PilotAdded() | ReplicateAdded() as added if added.epoch == epoch:
                prints = {model: Fingerprint(digest=total) for model, total in added.vectors.items()}
                each = Stored(prints=prints, runs=set(added.runs), has_gaps=bool(added.gaps))
                if isinstance(added, ReplicateAdded) and not replicates:
                    each.runs |= of_parts  # the parts of the first replicate may have been runs of their own
                (pilots if isinstance(added, PilotAdded) else replicates).append(each)
            case ModelAdded() as joined if joined.epoch == epoch:
                for place, total in enumerate(joined.vectors):
                    replicates[place].prints[joined.model] = Fingerprint(digest=total)
                    replicates[place].runs.update(joined.runs[place] if joined.runs else ())
                    replicates[place].has_gaps |= any(joined.gaps[place : place + 1])
    return pilots + replicates


def check_version(events: Sequence[LedgerEvent], epoch: int, runs: Iterable[Iterable[str]]) -> None:
    """Refuse runs that an earlier version of the benchmark has counted: its new items may have been chosen by them."""
    given = {run for each in runs for run in each}
    for event in events:
        match event.content:
            case PilotAdded() | PartAdded() | ReplicateAdded() as added if added.epoch < epoch:
                known = given & set(added.runs)
            case ModelAdded() as joined if joined.epoch < epoch:
                known = {run for each in joined.runs for run in each} & given
            case _:
                continue
        if known:
            raise BoardError(
                f"the run {quoted(min(known))} was counted in epoch {event.content.epoch}; epoch {epoch} needs new "
                "runs of all its items, because which items were added may depend on the runs before"
            )


@dataclass(slots=True, kw_only=True)
class Arrivals:
    """Replicates, sorted into those that are on the board and those that are new."""

    already: list[int]
    """The places, from 1, of those that are on the board."""
    fresh: list[Arrival]
    """The others."""
    stored: list[Stored]
    """All replicates of the epoch in order, the fresh ones last."""

    @classmethod
    def of(
        cls,
        scores: Scores,
        state: BoardState,
        stored: list[Stored],
        *,
        panels: Panels,
        seen: Panel,
        whole_runs: bool = False,
    ) -> Arrivals:
        """Sort the replicates of these scores; what contradicts the board is refused.

        ``panels`` reads a stored replicate by its place, and ``seen`` has the parts of a first pass that is not
        complete. With ``whole_runs`` a new replicate may lack active models altogether, if the design counts missing
        scores.
        """
        found = cls(already=[], fresh=[], stored=list(stored))
        identities = scores.runs or [()] * len(scores.replicates)
        for label, runs, values in zip(scores.replicates, identities, scores.values, strict=True):
            panel = arranged(scores, values, state)
            state.check_known(panel)
            number = stated_number(label) if scores.numbered else None
            place = known_place(found.stored, set(runs), number=number)
            if place is None:
                is_first = len(found.stored) == state.epoch.pilots
                panel = without_stopped(panel, state, seen if is_first else {})
                each = Arrival.of(completed(panel, state.active, state, whole_runs=whole_runs and bool(panel)), runs)
                state.check_panel(each.panel)
                found.stored.append(each.stored)
                found.fresh.append(each)
                continue
            known = found.stored[place - 1]
            each = Arrival.of(completed(panel, (), state, whole_runs=True), runs)
            if state.design.incomplete == "worst-case" and place <= len(stored):
                check_final(panels(place), each.panel, state.epoch.items, place)
            _check_same(known, each.stored, place, len(found.stored) + 1, stated=number is not None)
            found.already.append(place)
        return found


def known_place(stored: Sequence[Stored], runs: Set[str], *, number: int | None) -> int | None:
    """The place, from 1, of the stored replicate that has one of these runs; ``None`` if it is the next one.

    ``number`` is the place that the replicate states. Raises if it is neither, or if its runs contradict it.
    """
    following = len(stored) + 1
    if number is None:
        place = next((place for place, each in enumerate(stored, start=1) if each.runs & runs), following)
    elif number < 1:
        raise BoardError(f"replicate {number}: a board numbers replicates from 1; renumber them")
    elif number > following:
        raise BoardError(
            f"replicate {number} is out of order: the next one is {following}. Replicates are added in the order in "
            "which they were run, without leaving any out"
        )
    else:
        place = number
    if place == following:
        check_new(stored, runs, following)
        return None
    return place


def check_new(stored: Sequence[Stored], runs: Set[str], following: int) -> None:
    """Refuse runs that are part of a stored replicate; ``following`` is the number of the new one."""
    for place, each in enumerate(stored, start=1):
        twice = sorted(each.runs & runs)
        if twice:
            raise BoardError(
                f"replicate {following} has the run {quoted(twice[0])}, which is part of replicate {place} on the "
                "board; a run counts once"
            )


def _check_same(stored: Stored, given: Stored, place: int, following: int, *, stated: bool) -> None:
    shared = stored.prints.keys() & given.prints.keys()
    if not stated and not given.runs <= stored.runs:
        known = sorted(given.runs & stored.runs)
        raise BoardError(
            f"the run {quoted(known[0])} is part of replicate {place} on the board, other runs of the same replicate "
            "are not; a run counts once. Add the logs of whole replicates"
        )
    if not shared or any(stored.prints[model] != given.prints[model] for model in shared):
        raise BoardError(
            f"replicate {place} is on the board already, with other scores; a stored replicate cannot be changed. If "
            f"these are new runs, number them from {following}"
        )


def counted_copies(
    session: Session, state: BoardState, arrivals: Arrivals, rule: Copies, *, named: bool
) -> dict[int, tuple[CountedCopy, ...]]:
    """The copies among new replicates by the number of replicates before them, or an error if they do not count.

    Where only the scores distinguish new replicates from stored ones, because they are not ``named``, every repetition
    is a question.
    """
    stored, new = arrivals.stored, arrivals.fresh
    first, pilots = len(stored) - len(new), state.epoch.pilots

    @lru_cache(maxsize=1)  # the models of a replicate are asked for one after the other
    def panel(place: int) -> Panel:
        return new[place - first].panel if place >= first else read_panel(session, state, place + 1)

    # A model without any score repeats nothing.
    nothing = missing_checksum(len(state.epoch.items))
    prints = [{model: each for model, each in of.prints.items() if each.digest != nothing} for of in stored]
    least = FEW if named else 0
    blocks = state.epoch.blocks
    found = find_copies(prints, lambda place, model: panel(place)[model], first=first, least=least, blocks=blocks)
    known = {copy.replicate for copy in found}
    gapped = [each.has_gaps for each in stored]
    found += _completions(panel, gapped, [p for p in range(first, len(stored)) if p not in known], least, blocks)
    if found and rule == "refuse":
        labels = [str(place) for place in range(1, len(stored) + 1)]
        remedy = (
            f"Replicate {found[0].of + 1} is on the board: if these are the same runs again, there is nothing to add."
        )
        if found[0].of < pilots <= found[0].replicate:
            remedy += " The runs of a pilot choose the candidate and cannot be evidence as well."
        raise CopiedReplicateError(described(found, labels), remedy=remedy)
    places = {copy.replicate for copy in found}
    return {place: recorded(copy for copy in found if copy.replicate == place) for place in places}


def _completions(
    panel: Callable[[int], Panel], gapped: Sequence[bool], places: Iterable[int], least: int, blocks: Sequence[str]
) -> tuple[Copy, ...]:
    """Replicates that nothing but other gaps distinguishes from an earlier one: the same runs again, maybe."""
    found = []
    for place in places:
        others = [other for other in range(place) if gapped[place] or gapped[other]]
        now = panel(place) if others else {}
        of = next((other for other in others if completes(panel(other), now, least)), None)
        if of is not None and not (least and _may_agree(panel, of, place, len(gapped), blocks)):
            found.append(Copy(replicate=place, of=of, models=tuple(now), whole=True))
    return tuple(found)


def _may_agree(panel: Callable[[int], Panel], of: int, place: int, count: int, blocks: Sequence[str]) -> bool:
    """Whether two of so many replicates may agree by chance wherever both have scores."""
    before, now = panel(of), panel(place)
    models = [model for model in now if model in before]
    runs = {at: [each[model] for model in models] for at in range(count) if set(models) <= (each := panel(at)).keys()}
    return may_be_chance(
        np.array(list(runs.values())), [list(runs).index(at) for at in (of, place)], tests=len(now) + 1, blocks=blocks
    )


def read_panel(session: Session, state: BoardState, place: int) -> Panel:
    """The stored replicate at a place, from 1; pilots come first."""
    pilots = state.epoch.pilots
    return stored_panel(session, state, -place if place <= pilots else place - pilots)


def recorded(copies: Iterable[Copy]) -> tuple[CountedCopy, ...]:
    """Copies as the ledger states them."""
    return tuple(CountedCopy(of=copy.of + 1, models=copy.models, whole=copy.whole) for copy in copies)


def arranged(scores: Scores, values: NDArray[np.float64], state: BoardState) -> Panel:
    """The values by model, in the order of the epoch's items; other items than those are refused.

    Where the design counts missing scores, a model without any is not there.
    """
    check_scale(scores, state)
    check_unique(scores)
    items = state.epoch.items
    place = {item: i for i, item in enumerate(scores.items)}
    missing = [item for item in items if item not in place]
    if missing and (state.design.incomplete == "refuse" or len(missing) == len(items)):
        raise BoardError(
            f"{len(missing)} of {len(items)} items of the benchmark are not in the files: {listed(missing)}; "
            "a replicate must be complete"
        )
    check_items(scores, state)
    check_blocks(scores, state)
    arranged = np.full((len(scores.models), len(items)), np.nan)
    there = [i for i, item in enumerate(items) if item in place]
    arranged[:, there] = values[:, [place[items[i]] for i in there]]
    panel = {model: arranged[i] for i, model in enumerate(scores.models)}
    if state.design.incomplete == "refuse":
        return panel
    return {model: row for model, row in panel.items() if not np.isnan(row).all()}


def check_scale(scores: Scores, state: BoardState) -> None:
    """Refuse scores that were read on another scale than that of the design."""
    if scores.score_range != state.design.score_range:
        raise BoardError(
            f"the scores were read on the scale {scores.score_range}; the board's is {state.design.score_range}"
        )


def check_unique(scores: Scores) -> None:
    """Refuse scores in which a name comes twice."""
    if len(set(scores.items)) < len(scores.items) or len(set(scores.models)) < len(scores.models):
        raise BoardError("a model or an item comes twice in these scores; each must be there once")


def check_items(scores: Scores, state: BoardState) -> None:
    """Refuse scores on items that are not part of the benchmark."""
    extra = sorted(set(scores.items) - set(state.epoch.items))
    if extra:
        raise BoardError(
            f"the files have {len(extra)} items that are not part of the benchmark: {listed(extra)}; "
            "open a new epoch with add-items, or leave them out"
        )


def check_blocks(scores: Scores, state: BoardState) -> None:
    """Refuse scores whose files put the items into other blocks than the design does."""
    if not scores.blocked:
        return
    theirs = dict(zip(scores.items, scores.blocks, strict=True))
    ours = dict(zip(state.epoch.items, state.epoch.blocks, strict=True))
    same: tuple[dict[str, str], dict[str, str]] = {}, {}
    for item, block in ours.items():
        if item not in theirs:
            continue
        if same[0].setdefault(block, theirs[item]) != theirs[item] or same[1].setdefault(theirs[item], block) != block:
            raise BoardError(
                f"the files put item {quoted(item)} into the block {quoted(theirs[item])}, which does not hold the "
                "same items as its block in the design; blocks are frozen with the design: correct or remove the column"
            )


def stated_number(label: str) -> int | None:
    """The number that a label states, if it is one."""
    return int(float(label)) if _WHOLE.fullmatch(label) else None


_WHOLE = re.compile(r"[+-]?[0-9]{1,15}(?:\.0+)?")
