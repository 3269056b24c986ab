"""Claims about new items, by the number of items and of runs: beside claims on these items, and a paired t-test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bbedge.baselines.means import item_t_holm_edges
from bbedge.core.arrays import Floats, Mask
from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.study.contenders import edge_measures
from bbedge.study.study import Record, RepetitionSeeds, Study, StudyColumn

NEW_ITEMS, NEW_ITEMS_PLANNED = "new items", "new items, planned"
THESE_ITEMS, THESE_ITEMS_PLANNED = "these items", "these items, planned"
T_TEST, T_TEST_ALWAYS = "paired t-test, one look", "paired t-test, a look after every run"
_ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class ItemDraw:
    """Items drawn afresh in every repetition: the truth is that of their population."""

    name: str
    """What the setting is called."""
    n_items: int
    """Items that are drawn."""
    abilities: tuple[float, ...] = (0.55, 0.5, 0.5, 0.45)
    """Mean score of every model over the population."""
    effect: float = 0.4
    """By how much each model is better or worse than its mean on an item, by a coin of this model and item."""
    looks: int = 10
    """Runs of the drawn items."""

    @cached_property
    def null(self) -> Mask:
        """Directions whose claim about the population is false."""
        theta = np.array(self.abilities)
        return np.asarray(theta[:, None] <= theta + 1e-12)

    def panels(self, rng: np.random.Generator) -> Floats:
        """Draw items, and run them: runs x models x items."""
        shape = len(self.abilities), self.n_items
        chances = np.array(self.abilities)[:, None] + rng.choice([-self.effect, self.effect], size=shape)
        return np.asarray(rng.random((self.looks, *shape)) < chances, dtype=np.float64)

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """What everybody claims after each number of runs of the same draw."""
        panels, record = self.panels(seeds.rng("panels")), dict[tuple[str, str], Floats]()
        single = item_t_holm_edges(self.design(), panels, seeds.rng("none"))
        found = {
            NEW_ITEMS: edges_after(panels, self.design(target="new-items")),
            NEW_ITEMS_PLANNED: self._planned(panels, target="new-items"),
            THESE_ITEMS: edges_after(panels, self.design()),
            THESE_ITEMS_PLANNED: self._planned(panels),
            T_TEST: single,
            T_TEST_ALWAYS: np.logical_or.accumulate(single, axis=0),
        }
        for name, edges in found.items():
            record[name, "false of new items"] = np.asarray(edges[:, self.null].any(axis=1), dtype=np.float64)
            if not self.null.all():
                record[name, "power"] = edge_measures(edges, self.null)["power"]
        return record

    def design(self, **options: Any) -> Design:  # noqa: ANN401 - as for Design.make
        """The design for this many models and items."""
        models, items = [f"m{i}" for i in range(len(self.abilities))], [f"q{i}" for i in range(self.n_items)]
        return Design.make(models, items, alpha=_ALPHA, **options)

    def _planned(self, panels: Floats, **options: Any) -> Mask:  # noqa: ANN401 - as for Design.make
        """What is certified after each number of runs, if just that number was planned."""
        runs = range(1, len(panels) + 1)
        return np.stack([edges_after(panels[:r], self.design(planned=r, **options))[-1] for r in runs])


def edges_after(panels: Floats, design: Design) -> Mask:
    """What stands after each run: runs x models x models."""
    certifier, found = Certifier(design), []
    for panel in panels:
        certifier.update(panel)
        found.append(certifier.edges())
    return np.stack(found)


STUDY = Study(
    name="new-items",
    title="New items of the same kind",
    question="How much can be claimed about new items with more items and with more runs, beside what holds on these "
    "items, and beside a paired t-test over item means?",
    source="ours",
    setup="Every repetition draws items afresh and runs them ten times. Models have mean scores of 0.55, 0.5, 0.5 and "
    "0.45 over the population, so that five pairs differ and two models are equal. On each item a coin for each model "
    "moves its chance up or down by the item effect: with 0.4, 64 % of the variance of a difference in one run lies "
    "between items; with 0.1, 4 %. Every item is a block, alpha is 0.05. **New items** and **these items** are "
    "BB-EDGE-X with that target and no plan; **planned** states the number of runs at which it is read, so that each "
    "number of runs is a certificate of its own. **Paired t-test**: two-sided over the means of items, with Holm's "
    "correction over pairs, as if only that look was taken, or with claims that stand after a look at every run.",
    settings=(
        *(ItemDraw(name=f"{n:,} items, item effect 0.4", n_items=n) for n in (200, 500, 1000, 2000)),
        ItemDraw(name="500 items, item effect 0.1", n_items=500, effect=0.1),
        ItemDraw(name="500 items, four equal models, item effect 0.4", n_items=500, abilities=(0.5,) * 4),
    ),
    figure=("false of new items", "power"),
    table=(
        StudyColumn(metric="false of new items", at=1),
        StudyColumn(metric="false of new items"),
        *(StudyColumn(metric="power", at=at) for at in (1, 2, 5, 10)),
    ),
    notes=(
        "Claims on these items are right about these items; the table judges every claim as one about the population, "
        "which is how such claims are often read. Where models are equal over the population and differ on every draw, "
        "more runs make them certain of the draw.",
        "More runs raise the power of claims about new items up to a limit; more items raise it without one. "
        "`bbedge plan --target new-items` forecasts both.",
        "The t-test is valid at one look that was fixed beforehand, and only as far as item means are nearly normal. "
        "It is the price of a claim that holds at every look and for every distribution.",
    ),
)
