"""Stakes that are fitted to the noise beside stakes that are fixed beforehand, where runs differ little and much."""

from __future__ import annotations

from functools import partial

import numpy as np

from bbedge.study.contenders import DESIGN_STAKES, DESIGN_STAKES_TWO_WAY, PLANNED, TWO_WAY
from bbedge.study.experiments.comparison import STANDING, STANDS, STATED
from bbedge.study.study import Contest, Study, StudyColumn
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs

_UNPLANNED = (DESIGN_STAKES, "BB-EDGE-X", DESIGN_STAKES_TWO_WAY, TWO_WAY)

_contest = partial(
    Contest,
    contenders=(*_UNPLANNED, *(f"{name}{PLANNED}" for name in _UNPLANNED)),
    measured=("fwer", "standing power"),
)

QUIET = Study(
    name="quiet",
    title="Stakes for quiet scores",
    question="How much sooner do stakes that are fitted to the noise certify than stakes that are fixed beforehand, "
    "does a plan of the runs help, and do two-way predictions ever harm?",
    source="ours",
    setup=f"**The paper's setting**: {STATED} Blocks of 1; H is 0 or 0.2. **Accurate models**: five tied pairs with "
    "means equally spaced from 0.85 to 0.95 or from 0.95 to 0.98, on 200 items with offsets within 0.05 or 0.02, in "
    "blocks of 1. **Graded and quiet**: five tied pairs from 0.45 to 0.55 and graded scores that stray a fifth as far, "
    "as of a judge that gives nearly the same mark each time; 100 items in blocks of 2, H = 0.1. **Spread models**: "
    "ten means equally spaced from 0.15 to 0.85, 100 items, blocks of 1. *Planned* states beforehand exactly the runs "
    "that the setting has; the others state nothing.",
    settings=(
        _contest(name="the paper's setting, H = 0", benchmark=SyntheticBenchmark(), looks=50),
        _contest(name="the paper's setting, H = 0.2", benchmark=SyntheticBenchmark(heterogeneity=0.2), looks=45),
        _contest(
            name="accurate models, 85 to 95 %",
            benchmark=SyntheticBenchmark(means=tied_pairs(0.85, 0.95), n_items=200, offset=0.05),
            looks=20,
        ),
        _contest(
            name="accurate models, 95 to 98 %",
            benchmark=SyntheticBenchmark(means=tied_pairs(0.95, 0.98), n_items=200, offset=0.02),
            looks=40,
        ),
        _contest(
            name="graded and quiet",
            benchmark=SyntheticBenchmark(
                means=tied_pairs(0.45, 0.55), block_sizes=2, scoring="graded", spread=0.2, heterogeneity=0.1
            ),
            looks=10,
        ),
        _contest(
            name="spread models, five runs",
            benchmark=SyntheticBenchmark(means=tuple(np.linspace(0.15, 0.85, 10).tolist())),
            looks=5,
        ),
    ),
    figure=("standing power",),
    table=(
        StudyColumn(metric="fwer"),
        *(StudyColumn(metric="standing power", at=at) for at in (1, 3, 7, 15, 30)),
        StudyColumn(metric="standing power"),
        *STANDS,
    ),
    notes=(
        "*Design stakes* are twelve, for every amount of noise from that of one quiet run to that of a hundred noisy "
        "ones. BB-EDGE-X has five for quiet scores from the start, and chooses seven after two to thirteen runs, from "
        "the noise seen by then.",
        "*Two-way* predicts a score from the means of its model and of its block so far, and from what they leave "
        "open; the others from the mean of this model on this block alone.",
        STANDING,
    ),
)
