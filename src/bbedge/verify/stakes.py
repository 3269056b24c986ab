"""Whether the stakes that a certificate states are those of its rule, as far as that shows without scores."""

from __future__ import annotations

import math
from itertools import groupby, pairwise

from bbedge.core.family import Levels
from bbedge.core.stakes import LATE_COUNT, StakeSize, fitted_entry, fitted_horizons, planned_scores, wide_max
from bbedge.records.certificate import Document
from bbedge.verify.differences import ROUNDING
from bbedge.verify.timeline import Contradictions


def stake_contradictions(document: Document) -> Contradictions:
    """What must not be so of the stakes of a certificate, or of a view by itself."""
    design = document.design
    yield (
        len(design.stake_weights) != len(design.stake_values) + LATE_COUNT * (design.stakes == "fitted"),
        "'stake_weights' and 'stake_values' are not of one length",
    )
    yield (_misfits(document), "'fitted_stakes' are not those that the rule fits to the noise that they state")


def _misfits(document: Document) -> bool:
    """Whether fitted stakes enter at other times, or are others, than follows from the noise that they state."""
    design, stated = document.design, document.fitted_stakes or ()
    if design.stakes != "fitted":
        return bool(stated)
    horizons = fitted_horizons(planned_scores(design))
    for _, group in groupby(stated, key=lambda each: each.newcomer):
        own = list(group)
        expected = zip(own, horizons, strict=False)
        if len(own) > len(horizons) or any(
            not math.isclose(each.horizon, horizon, rel_tol=ROUNDING) or each.after != fitted_entry(horizon)
            for each, horizon in expected
        ):
            return True
        if any(one.noise != other.noise for one, other in pairwise(own) if one.after == other.after):
            return True
    if document.board:
        return False
    runs = document.replicates // design.runs_of_score
    if len(stated) != sum(fitted_entry(horizon) <= runs for horizon in horizons):
        return True
    weights = design.weights
    if weights and weights.largest * weights.items > 1.0 + ROUNDING:  # those of single items are not stated
        return False
    size = StakeSize(
        alpha=Levels.of(design).certificates,
        cap=wide_max((1.0 + design.tau) / 2.0),
        n_directions=design.directions / (design.share or 1.0),
        effective_blocks=sum((each / design.blocks.sizes[0]) ** 2 for each in design.blocks.sizes),
    )
    return any(not math.isclose(each.stake, size.stake(each.noise * each.horizon), rel_tol=ROUNDING) for each in stated)
