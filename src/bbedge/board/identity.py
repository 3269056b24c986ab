"""Which stored replicate a panel is: by its stated number or by the identities of its runs, never by its scores.

Scores only ever raise a question. Where a panel repeats stored scores and nothing says that it is that replicate, the
caller decides whether it counts; see :mod:`bbedge.core.copies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bbedge.board.ledger import Event
from bbedge.core.copies import Fingerprint
from bbedge.errors import BoardError
from bbedge.text import quoted


@dataclass(slots=True, kw_only=True)
class Stored:
    """What the ledger says of a replicate of an epoch."""

    prints: dict[str, Fingerprint]
    """The checksum of the scores of each model; runs that joined later are among them."""
    runs: set[str] = field(default_factory=set)
    """The identities of its runs, as far as they have any."""


def stored_replicates(events: Sequence[Event], epoch: int) -> list[Stored]:
    """The replicates of an epoch, pilots first."""
    pilots: list[Stored] = []
    replicates: list[Stored] = []
    for event in events:
        content = event.content
        if content.get("epoch") != epoch:
            continue
        if event.kind in ("pilot", "replicate"):
            prints = {model: Fingerprint(digest=total) for model, total in content["vectors"].items()}
            each = Stored(prints=prints, runs=set(content.get("runs", ())))
            (pilots if event.kind == "pilot" else replicates).append(each)
        elif event.kind == "add-model":
            runs = content.get("runs", [])
            for place, total in enumerate(content["vectors"]):
                replicates[place].prints[content["model"]] = Fingerprint(digest=total)
                replicates[place].runs.update(runs[place] if runs else ())
    return pilots + replicates


def known_place(stored: Sequence[Stored], given: Stored, *, number: int | None) -> int | None:
    """The place, from 1, of the stored replicate that this one is; ``None`` if it is the next one.

    ``number`` is the place that it states. Raises if it is neither, or contradicts what is stored.
    """
    following = len(stored) + 1
    if number is None:
        place = next((place for place, each in enumerate(stored, start=1) if each.runs & given.runs), following)
    elif number < 1:
        raise BoardError(f"replicate {number}: a board counts replicates from 1; renumber them")
    elif number > following:
        raise BoardError(
            f"replicate {number} is out of order: the next one is {following}. Replicates are added in the order in "
            "which they were run, without leaving any out"
        )
    else:
        place = number
    if place == following:
        _check_new(stored, given, following)
        return None
    _check_same(stored[place - 1], given, place, following, stated=number is not None)
    return place


def _check_new(stored: Sequence[Stored], given: Stored, following: int) -> None:
    for place, each in enumerate(stored, start=1):
        twice = sorted(each.runs & given.runs)
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
