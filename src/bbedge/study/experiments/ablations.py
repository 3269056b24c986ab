"""The main comparison with one thing changed: models, items, margins, rivals or the shapes of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bbedge.study.experiments.comparison import RIVALS, STANDS, STATED, four
from bbedge.study.study import Column, Contest, Study
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs


def _ablation(
    *,
    name: str,
    title: str,
    source: str,
    changed: str,
    question: str,
    **options: Any,  # noqa: ANN401 - as in :func:`four`
) -> Study:
    return Study(
        name=name,
        title=title,
        question=f"Do error control and the order of the methods stay as they were with {question}?",
        source=f"the ablation on {source} in the paper's appendix",
        setup=f"{STATED} Changed: {changed}",
        settings=four(RIVALS, **options),
        table=(
            Column(metric="fwer"),
            *(Column(metric="power", reaches=share) for share in (None, 0.5, 0.9)),
            *STANDS,
        ),
        notes=("The paper gives this experiment as curves, without numbers.",),
    )


MANY_MODELS = _ablation(
    name="models-20",
    title="Twenty models",
    question="twenty models, and so 380 directions",
    source="the number of models (L = 20)",
    changed="twenty models in ten tied pairs over the same range, so that neighbours are closer.",
    base=SyntheticBenchmark(means=tied_pairs(0.41, 0.59, n_pairs=10)),
)

FEW_ITEMS = _ablation(
    name="items-50",
    title="Fifty items",
    question="half the items",
    source="the number of items (N = 50)",
    changed="50 items.",
    base=SyntheticBenchmark(n_items=50),
)

MANY_ITEMS = _ablation(
    name="items-500",
    title="Five hundred items",
    question="five times the items",
    source="the number of items (N = 500)",
    changed="500 items, and 40 replicates, by which all is decided.",
    base=SyntheticBenchmark(n_items=500),
    looks=40,
)

SMALL_MARGIN = _ablation(
    name="margin-1",
    title="A margin of one point",
    question="a margin of 0.01 that an advantage must exceed",
    source="margins (tau = 0.01)",
    changed="tau = 0.01. Neighbouring pairs differ by 0.045.",
    tau=0.01,
)

LARGE_MARGIN = _ablation(
    name="margin-3",
    title="A margin of three points",
    question="a margin of 0.03 that an advantage must exceed",
    source="margins (tau = 0.03)",
    changed="tau = 0.03. Neighbouring pairs differ by 0.045, which leaves 0.015 to show.",
    tau=0.03,
)

MORE_RIVALS = Study(
    name="more-rivals",
    title="More rivals",
    question="Does one predictable stake do as well as a mixture, and do asymptotic or pooled methods keep alpha?",
    source="the ablation on more baselines in the paper's appendix",
    setup=STATED + " 100 replicates, a look after each.",
    settings=four(("AsympCS-Bonf", "SERPANT-R", "BB-EDGE-PI", "BB-EDGE", "BB-EDGE-X")),
    table=(Column(metric="fwer"), Column(metric="power", at=50), Column(metric="power", reaches=0.9), *STANDS),
    notes=(
        "The paper gives this experiment as curves, without numbers. It finds BB-EDGE-PI close to BB-EDGE, and that "
        "AsympCS-Bonf and, where items depend on each other, SERPANT-R exceed alpha.",
    ),
)


# BEB-Holm pools block differences as if they were alike, which they are not where blocks differ in size.
_OF_ANY_SIZE = tuple(name for name in RIVALS if name != "BEB-Holm")

UNEVEN_BLOCKS = Study(
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
    table=(Column(metric="fwer"), Column(metric="power", at=50), Column(metric="power"), *STANDS),
    notes=(
        "The paper gives this experiment as curves, without numbers, and does not say the order of sizes or whether H "
        "is 0.",
        "BEB-Holm is defined for blocks of one size and takes no part where sizes differ.",
    ),
)
