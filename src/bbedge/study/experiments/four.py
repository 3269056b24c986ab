"""The four settings that most experiments share: items alone or in fives, alike or not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bbedge.study.setting import Contest
from bbedge.study.study import Column
from bbedge.study.synthetic import SyntheticBenchmark

RIVALS = ("EMR", "CBTL", "t-Holm", "SERPANT", "BEB-Holm", "BFH-e-Holm", "CR-EDGE", "BB-EDGE")
"""The methods of the paper's main comparison."""

ABLATION_TABLE = (
    Column(metric="fwer"),
    Column(metric="power"),
    Column(metric="power", reaches=0.5),
    Column(metric="power", reaches=0.9),
)
"""What is shown where the main comparison is repeated with one thing changed."""

ABLATION_QUESTION = "Do error control and the order of the methods stay as they were with {}?"

CURVES_ONLY = "The paper gives this experiment as curves, without numbers."

ALONE, DEPENDENT, UNEVEN, BOTH = NAMES = (
    "blocks of 1, H = 0",
    "blocks of 5, H = 0",
    "blocks of 1, H = 0.2",
    "blocks of 5, H = 0.2",
)
"""Independent items, dependent items, items that favour one of two equal models, and both at once."""

STATED = (
    "Ten models in five tied pairs, means equally spaced from 0.41 to 0.59; 100 items with offsets equally spaced "
    "from -0.08 to 0.08; effects of model and item of +H on one half of the items and -H on the other, opposite within "
    "a tied pair; latent Gaussians with block share 0.5 and item share 0.1; binary scores; alpha 0.05. Model labels "
    "are not shuffled, which no method can notice."
)
"""The setting as the paper states it."""


def four(
    contenders: tuple[str, ...],
    *,
    base: SyntheticBenchmark | None = None,
    **options: Any,  # noqa: ANN401
) -> tuple[Contest, ...]:
    """The four settings for these contenders; options as in :class:`Contest`."""
    base = base or SyntheticBenchmark()
    shapes = ((1, 0.0), (5, 0.0), (1, 0.2), (5, 0.2))
    return tuple(
        Contest(
            name=name,
            benchmark=replace(base, block_sizes=size, heterogeneity=effect),
            contenders=contenders,
            **options,
        )
        for name, (size, effect) in zip(NAMES, shapes, strict=True)
    )
