"""A model against itself: any certificate is false. On synthetic runs, and on real ones that you bring."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bbedge.baselines import METHODS
from bbedge.core.arrays import Floats
from bbedge.core.design import Design
from bbedge.core.scores import Scores
from bbedge.errors import DataError
from bbedge.study.measures import so_far
from bbedge.study.study import Record, RepetitionSeeds, Study, StudyColumn
from bbedge.study.synthetic import SyntheticBenchmark

_CONTENDERS = ("EMR", "t-Holm", "SERPANT", "SERPANT-R", "BFH-e-Holm", "BB-EDGE", "BB-EDGE-X")


def _false_so_far(
    panels: Floats, items: tuple[str, ...], blocks: tuple[str, ...], seeds: RepetitionSeeds
) -> dict[tuple[str, str], Floats]:
    """Whether each contender has certified one half above the other yet; replicates x 2 halves x items."""
    design = Design.make(["first half", "second half"], items, blocks=blocks, method="bb-edge")
    return {
        (name, "false"): so_far(METHODS[name].run(design, panels, seeds.rng(name)).any(axis=(1, 2)))
        for name in _CONTENDERS
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSelf:
    """Fresh runs of one model in every repetition, split into halves: the error rate itself."""

    name: str
    """What the setting is called."""
    benchmark: SyntheticBenchmark
    """The benchmark; its first two models are equal on every item."""
    looks: int = 10
    """Replicates in each half."""

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Draw, split, compare."""
        own = self.benchmark.panels(seeds.rng("panels"), 2 * self.looks)[:, 0]
        halves = np.stack([own[: self.looks], own[self.looks :]], axis=1)
        return _false_so_far(halves, self.benchmark.items, self.benchmark.blocks, seeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSelf:
    """Random splits of the same real runs, averaged over models: a diagnostic and no error rate."""

    name: str
    """What the setting is called."""
    digest: str
    """Stands for the scores."""
    scores: Scores = field(repr=False)
    """The runs."""

    @property
    def looks(self) -> int:
        """Replicates in each half."""
        return len(self.scores.values) // 2

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Split the runs of every model at random."""
        order = seeds.rng("split").permutation(len(self.scores.values))
        half = self.looks
        totals: dict[tuple[str, str], Floats] = {}
        for index in range(len(self.scores.models)):
            own = self.scores.values[:, index]
            halves = np.stack([own[order[:half]], own[order[half : 2 * half]]], axis=1)
            for key, curve in _false_so_far(halves, self.scores.items, self.scores.blocks, seeds).items():
                totals[key] = totals.get(key, 0.0) + curve / len(self.scores.models)
        return totals


STUDY = Study(
    name="same-model",
    title="A model against itself",
    question="If the runs of one model are split into two halves, does any method certify one half above the other?",
    source="the same-model diagnostic (Figure 3, left) of the paper",
    setup="**Synthetic**: 20 fresh runs of one model in every repetition, 100 items whose probabilities run from 0.1 "
    "to 0.9, in blocks of 1 or 5, split 10 against 10. **Real**: the runs given with --data, split at random in every "
    "repetition; the splits reuse the same runs, so that rates describe these runs and do not estimate an error "
    "probability.",
    settings=tuple(
        SyntheticSelf(
            name=f"synthetic, blocks of {size}",
            benchmark=SyntheticBenchmark(means=(0.5, 0.5), offset=0.4, block_sizes=size),
        )
        for size in (1, 5)
    ),
    figure=("false",),
    table=(StudyColumn(metric="false", at=1), StudyColumn(metric="false")),
    notes=(
        "The paper's own runs are not public; it prints curves and no numbers. It finds more false certificates from "
        "SERPANT than from BB-EDGE.",
        "A certificate on real runs says that the runs of one model differ by more than chance, which may be the truth "
        "about them. `bbedge diagnose` asks: of the ten runs of one model on CRUXEval (two items for each of 800 "
        "functions) it finds that their means fall from the first to the last and vary 3.3 times as much as "
        "independent blocks would (p 0.01). They are no clean null, and a few certificates are no surprise.",
    ),
    needs_data="score tables with repeated runs of each model (at least 4)",
)


def with_data(tables: Mapping[str, Scores]) -> Study:
    """The study with a setting more for every table of real runs."""
    settings = []
    for name, scores in tables.items():
        if len(scores.values) < 4:
            raise DataError(f"{name}: {len(scores.values)} replicates; at least 4 are needed to split them")
        digest = hashlib.sha256(scores.values.tobytes() + "\n".join(scores.blocks).encode()).hexdigest()[:16]
        settings.append(RealSelf(name=f"real: {name}", digest=digest, scores=scores))
    return replace(STUDY, settings=(*STUDY.settings, *settings))
