"""Items on which every score is the same: they tell no models apart, such as those that all models solve in all runs.

This describes scores that were seen, and is no reason to leave an item out: a choice of items by their scores changes
what is compared, and no certificate holds for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bbedge.core.arrays import Mask
from bbedge.core.scores import Scores
from bbedge.diagnostics.findings import Finding, finding
from bbedge.text import counted, listed


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantItems:
    """The items on which all models have the same score in all runs. One with a missing score is not among them."""

    warning: ClassVar[str] = (
        "This was counted after the scores were seen. Never leave items out because of it: a certificate holds only "
        "for items that were chosen before. Other models, or more runs of these, may differ on the same items."
    )
    """What must not be done with these items."""
    highest: tuple[str, ...]
    """Those with the highest possible score, such as an item that everything solves."""
    lowest: tuple[str, ...]
    """Those with the lowest."""
    between: tuple[str, ...]
    """Those with another score."""
    models: int
    """How many models were compared."""
    runs: int
    """How many runs each of them has."""
    items: int
    """How many items there are in all."""

    @property
    def count(self) -> int:
        """How many items tell no models apart."""
        return len(self.highest) + len(self.lowest) + len(self.between)

    @property
    def share(self) -> float:
        """The share of the items that still do."""
        return 1.0 - self.count / self.items

    @property
    def words(self) -> str:
        """What was counted, in sentences."""
        every, tells = f"{counted(self.models, 'model')} and {counted(self.runs, 'run')}", self.items - self.count
        if not self.count:
            return f"On every one of {counted(self.items, 'item')}, some scores of {every} differ."
        other = f" and {len(self.between):,} always the same score between" if self.between else ""
        return (
            f"{tells:,} of {counted(self.items, 'item')} ({100 * self.share:.0f} %) can tell these models apart. Over "
            f"{every}, {len(self.highest):,} always have the highest score, {len(self.lowest):,} always the lowest"
            f"{other}."
        )


def constant_items(scores: Scores) -> ConstantItems:
    """The items on which every score is the same; one replicate at a time, as the scores may be larger than memory.

    >>> scores = Scores.of([[[1, 0, 1], [1, 0, 0]]], models=["a", "b"], items=["x", "y", "z"])
    >>> found = constant_items(scores)
    >>> found.highest, found.lowest, round(found.share, 2)
    (('x',), ('y',), 0.33)
    """
    least, most = np.full(len(scores.items), np.inf), np.full(len(scores.items), -np.inf)
    for panel in scores.panels():
        least, most = np.minimum(least, panel.min(axis=0)), np.maximum(most, panel.max(axis=0))  # NaN stays NaN
    same = least == most

    def named(those: Mask) -> tuple[str, ...]:
        return tuple(scores.items[place] for place in np.flatnonzero(same & those).tolist())

    return ConstantItems(
        highest=named(most == 1.0),
        lowest=named(most == 0.0),
        between=named((most > 0.0) & (most < 1.0)),
        models=len(scores.models),
        runs=len(scores.replicates),
        items=len(scores.items),
    )


def constant_finding(found: ConstantItems) -> Finding:
    """The finding about items that tell no models apart."""
    if found.models < 2:
        return finding(
            "constant-items",
            verdict="not possible",
            found="There is only one model.",
            not_shown="Anything about items.",
        )
    named = {"highest": found.highest, "lowest": found.lowest, "the same": found.between}
    lists = "".join(f" Always {how}: {listed(names, limit=3)}." for how, names in named.items() if names)
    return finding(
        "constant-items",
        verdict="look" if found.share < 0.5 else "no alarm",
        found=f"{found.words}{lists}",
        not_shown=found.warning,
        to_do="State this share with the results. Choose harder or other items for the next version of the benchmark, "
        "before it is run.",
    )
