"""Blocks that are not alike: correlations from 0.1 to 0.7, or sizes from 1 to 10."""

import numpy as np

from bbedge.study.experiments.four import RIVALS, STATED
from bbedge.study.setting import Contest
from bbedge.study.study import Column, Study
from bbedge.study.synthetic import SyntheticBenchmark

# BEB-Holm pools block differences as if they were alike, which they are not where blocks differ in size.
_OF_ANY_SIZE = tuple(name for name in RIVALS if name != "BEB-Holm")

STUDY = Study(
    name="uneven-blocks",
    title="Blocks that differ",
    question="Does it matter if blocks differ in the correlation of their items, or in size?",
    source="the ablation on block structures in the paper's appendix",
    setup=STATED
    + " Changed: twenty blocks of five whose share of common variance rises from 0.1 to 0.7 in equal steps; "
    "or nineteen blocks of 1 to 10 and again 1 to 9 items. H = 0.2 in both. 100 replicates.",
    settings=(
        Contest(
            name="correlations 0.1 to 0.7",
            benchmark=SyntheticBenchmark(
                block_sizes=5, kappa_block=tuple(np.linspace(0.1, 0.7, 20).tolist()), heterogeneity=0.2
            ),
            contenders=(*RIVALS, "BB-EDGE-X"),
        ),
        Contest(
            name="sizes 1 to 10",
            benchmark=SyntheticBenchmark(block_sizes=(*range(1, 11), *range(1, 10)), heterogeneity=0.2),
            contenders=(*_OF_ANY_SIZE, "BB-EDGE-X"),
        ),
    ),
    figure=("fwer", "power"),
    table=(Column(metric="fwer"), Column(metric="power", at=50), Column(metric="power")),
    notes=(
        "The paper gives this experiment as curves, without numbers, and does not say the order of sizes or whether H "
        "is 0.",
        "BEB-Holm is defined for blocks of one size and takes no part where sizes differ.",
    ),
)
