"""Telling a replicate that is on the board already from a new one, and a new one from a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import BoardError

_TELLING = 8  # scores that must agree before agreement is hardly a coincidence


def repeated(
    known: Sequence[Mapping[str, str]],
    panel: Mapping[str, NDArray[np.float64]],
    sums: Mapping[str, str],
    *,
    number: int | None,
    pilots: int,
    copies: Literal["refuse", "allow"] = "refuse",
) -> int | None:
    """The place of the stored replicate that this one repeats, from 1, pilots counted; ``None`` if it is new.

    ``known`` has the checksums of the stored replicates by model. A number says which replicate a panel wants to be: a
    stored one, which it must equal, or the next one, of which it must not be a copy. Without a number, a panel that is
    stored already is a repetition. Panels are compared on the models that both have, since models come and go. Whoever
    ran the panel may know that it is fresh: with ``copies`` allowed, equal scores are a coincidence.
    """
    following = len(known) + 1
    same = [place for place, stored in enumerate(known, start=1) if _equal(stored, sums)]
    if number is None:
        return same[0] if same else None
    if number < 1:
        raise BoardError(f"replicate {number}: a board counts replicates from 1; renumber them")
    if number < following:
        if number in same:
            return number
        raise BoardError(
            f"replicate {number} is on the board already, with other scores; a stored replicate cannot be changed. If "
            f"these are new runs, number them from {following}"
        )
    if number > following:
        raise BoardError(
            f"replicate {number} is out of order: the next one is {following}. Replicates are added in the order in "
            "which they were run, without leaving any out"
        )
    if copies == "allow":
        return None
    copied = [place for place in same if _telling(panel, known[place - 1])]
    if copied and copied[0] <= pilots:
        raise BoardError(
            f"replicate {number} has the scores of pilot replicate {copied[0]}; a pilot chooses the candidate and "
            "cannot be evidence as well. Add fresh runs"
        )
    if copied:
        raise BoardError(
            f"replicate {number} has exactly the scores of replicate {copied[0]}, model by model; a copy, a cache or "
            "greedy decoding adds no evidence. Add fresh runs"
        )
    return None


def _equal(stored: Mapping[str, str], sums: Mapping[str, str]) -> bool:
    shared = set(stored) & set(sums)
    return bool(shared) and all(stored[model] == sums[model] for model in shared)


def _telling(panel: Mapping[str, NDArray[np.float64]], stored: Mapping[str, str]) -> bool:
    """Whether agreement means anything: a model that is always right repeats itself honestly, a few items may."""
    varied = [scores for model, scores in panel.items() if model in stored and np.ptp(scores) > 0.0]
    return sum(len(scores) for scores in varied) >= _TELLING
