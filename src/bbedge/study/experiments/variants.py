"""The main comparison with one thing changed: models, items, margins, rivals, blocks, evidence or what is certified."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bbedge.study.contenders import (
    DESIGN_STAKES,
    DIRECT,
    KINDS,
    LIMIT,
    PILOT,
    TWO_WAY,
    WHOLE_ALPHA,
    WHOLE_ALPHA_TWO_WAY,
    X_ONE_BLOCK,
)
from bbedge.study.experiments.comparison import NAMES, OF_THE_LIMIT, OF_X, RIVALS, STANDING, STANDS, STATED, four
from bbedge.study.study import Contest, Published, Study, StudyColumn
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
            StudyColumn(metric="fwer"),
            *(StudyColumn(metric="power", reaches=share) for share in (None, 0.5, 0.9)),
            *STANDS,
        ),
        notes=("The paper gives this experiment as curves, without numbers.",),
    )


ABLATIONS = (
    _ablation(
        name="models-20",
        title="Twenty models",
        question="twenty models, and so 380 directions",
        source="the number of models (L = 20)",
        changed="twenty models in ten tied pairs over the same range, so that neighbours are closer.",
        base=SyntheticBenchmark(means=tied_pairs(0.41, 0.59, n_pairs=10)),
    ),
    _ablation(
        name="items-50",
        title="Fifty items",
        question="half the items",
        source="the number of items (N = 50)",
        changed="50 items.",
        base=SyntheticBenchmark(n_items=50),
    ),
    _ablation(
        name="items-500",
        title="Five hundred items",
        question="five times the items",
        source="the number of items (N = 500)",
        changed="500 items, and 40 replicates, by which all is decided.",
        base=SyntheticBenchmark(n_items=500),
        looks=40,
    ),
    _ablation(
        name="margin-1",
        title="A margin of one point",
        question="a margin of 0.01 that an advantage must exceed",
        source="margins (tau = 0.01)",
        changed="tau = 0.01. Neighbouring pairs differ by 0.045.",
        margin=0.01,
    ),
    _ablation(
        name="margin-3",
        title="A margin of three points",
        question="a margin of 0.03 that an advantage must exceed",
        source="margins (tau = 0.03)",
        changed="tau = 0.03. Neighbouring pairs differ by 0.045, which leaves 0.015 to show.",
        margin=0.03,
    ),
)
"""One setting changed at a time."""

MORE_RIVALS = Study(
    name="more-rivals",
    title="More rivals",
    question="Does one predictable stake do as well as a mixture, and do asymptotic or pooled methods keep alpha?",
    source="the ablation on more baselines in the paper's appendix",
    setup=STATED + " 100 replicates, a look after each.",
    settings=four(("AsympCS-Bonf", "SERPANT-R", "BB-EDGE-PI", "BB-EDGE", "BB-EDGE-X")),
    table=(
        StudyColumn(metric="fwer"),
        StudyColumn(metric="power", at=50),
        StudyColumn(metric="power", reaches=0.9),
        *STANDS,
    ),
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
    table=(StudyColumn(metric="fwer"), StudyColumn(metric="power", at=50), StudyColumn(metric="power"), *STANDS),
    notes=(
        "The paper gives this experiment as curves, without numbers, and does not say the order of sizes or whether H "
        "is 0.",
        "BEB-Holm is defined for blocks of one size and takes no part where sizes differ.",
    ),
)


_OURS = (*KINDS, WHOLE_ALPHA, WHOLE_ALPHA_TWO_WAY, DESIGN_STAKES, "BB-EDGE-X", TWO_WAY)

EVIDENCE = Study(
    name="evidence",
    title="What is left to gain",
    question="What do sharper evidence, stakes for the design or fitted to the noise, and other predictions save, and "
    "how far is it to a test that knows the variances and looks only once?",
    source="ours",
    setup=STATED
    + " And a fifth setting with quiet, graded scores, as a judge that gives nearly the same mark each time: "
    "blocks of 2, scores that stray a fifth as far. *bernstein* with the published stakes and running-mean "
    "predictions is bb-edge; *betting* is the evidence of BB-EDGE-X. Every kind has the same guarantee over all looks.",
    settings=(
        *four((*_OURS, LIMIT)),
        Contest(
            name="graded and quiet",
            benchmark=SyntheticBenchmark(block_sizes=2, scoring="graded", spread=0.2, heterogeneity=0.1),
            contenders=_OURS,
            looks=20,
        ),
    ),
    table=(
        StudyColumn(metric="fwer"),
        StudyColumn(metric="power", at=20),
        StudyColumn(metric="power", reaches=0.5),
        StudyColumn(metric="power", reaches=0.9),
        *STANDS,
    ),
    notes=(
        "Looking after every replicate has a price even for the best of methods, because the evidence must hold at all "
        "looks and not at one; the distance to the z-test is that price plus what remains to be gained.",
        OF_X,
        STANDING,
        OF_THE_LIMIT,
    ),
)


_LIKE_GSM8K = "ten models as on GSM8K"
# The ten mean scores that the paper prints for GSM8K.
_MEANS = (0.9138, 0.9067, 0.8488, 0.7971, 0.7444, 0.7362, 0.7235, 0.7102, 0.5054, 0.4765)
_AT_100, _AT_2 = StudyColumn(metric="resolved", at=100), StudyColumn(metric="resolved", at=2)

_fallback_contest = partial(
    Contest,
    contenders=("BB-EDGE", "CR-EDGE", X_ONE_BLOCK, LIMIT),
    measured=("fwer", "power", "standing power", "resolved", "standing resolved"),
)

ONE_BLOCK = Study(
    name="one-block",
    title="The one-block fallback",
    question="What does it cost to treat a complete run as one block, and what happens if items depend on each other "
    "and you do not?",
    source="the one-block analysis of GSM8K in the paper's appendix; the simulations are ours",
    setup="**Runs that share something**: ten models in five tied pairs from 0.41 to 0.59 and 100 items, where 5 % of "
    "the latent variance is common to all answers of a model in a run, as a shared cache, seed or judge would make it. "
    "BB-EDGE wrongly assumes that items are independent. **Independent items**: the same with independent items, 400 "
    "replicates, to see the price. **Ten models as on GSM8K**: the ten means that the paper prints, 1,319 "
    "independent items.",
    settings=(
        _fallback_contest(
            name="runs that share something",
            benchmark=SyntheticBenchmark(block_sizes=100, kappa_block=0.05),
            blocks=1,
            looks=400,
        ),
        _fallback_contest(name="independent items", benchmark=SyntheticBenchmark(), looks=400),
        _fallback_contest(name=_LIKE_GSM8K, benchmark=SyntheticBenchmark(means=_MEANS, n_items=1319)),
    ),
    table=(
        StudyColumn(metric="fwer"),
        StudyColumn(metric="power"),
        StudyColumn(metric="standing power"),
        _AT_2,
        _AT_100,
        StudyColumn(metric="standing resolved", at=2),
        StudyColumn(metric="standing resolved", at=100),
    ),
    published=(
        Published(setting=_LIKE_GSM8K, method="BB-EDGE", column=_AT_2, value=41.0),
        Published(setting=_LIKE_GSM8K, method="CR-EDGE", column=_AT_100, value=24.0),
    ),
    notes=(
        "The published counts are of real runs, of which we have only the means; ours are of independent binary scores "
        "with these means and little difference between items.",
        "The paper's 24 pairs have differences above 0.14. With one block, stakes up to 0.95 and 100 replicates, a "
        "difference of 0.14 gives at most 0.95 x 0.07 x 100 = 6.7 in log evidence, and even with 24 directions "
        "certified e-Holm asks for 7.2: as in Table 1, CR-EDGE is printed faster than its formula allows.",
        "CR-EDGE is BB-EDGE with one block. With one block the same stakes are small bets, so that BB-EDGE-X gains "
        "more here than anywhere else: its stakes are chosen for the number of blocks.",
        STANDING,
        OF_THE_LIMIT,
    ),
)


_STATED, _FITTED = "stated: ", "fitted: "
_COLUMNS = tuple(StudyColumn(metric=metric) for metric in ("fwer", "fcp", "certified", "cr"))
_STANDING = ("standing certified", "standing cr")
_CONTENDERS = (*RIVALS, PILOT, DIRECT, DESIGN_STAKES, "BB-EDGE-X", LIMIT)
_KEPT = ("fwer", "fcp", "certified", "cr", *_STANDING)

# FWER, FCP, CertProb and CR with its standard deviation, in the order of NAMES.
_PRINTED = """
EMR | 1 .096 1 1.042 .211 | 1 .532 1 1.052 .24 | 1 .042 1 1.03 .171 | 1 .516 1 1.078 .276
CBTL | .796 .006 1 8.222 5.473 | .85 0 1 38.152 14.999 | .01 0 0 100 0 | .196 0 0 100 0
t-Holm | .248 0 1 9.764 2.068 | .236 0 1 24.176 7.386 | .302 0 1 8.996 1.674 | .212 0 1 20.444 6.027
SERPANT | .006 0 1 18.708 5.294 | .386 .028 1 18.802 9.705 | .574 .028 .986 18.554 11.314 | .896 .174 .932 20.978 23.038
BEB-Holm | 0 0 1 56.006 3.841 | 0 0 .888 84.968 9.812 | 0 0 1 79.88 4.743 | 0 0 .552 95.032 6.652
BFH-e-Holm | 0 0 .532 96.562 4.842 | 0 0 .266 97.426 5.73 | 0 0 .578 96.524 4.41 | 0 0 .31 97.11 5.787
CR-EDGE | 0 0 1 75.05 3.783 | 0 0 .944 83.868 8.562 | 0 0 1 74.624 3.35 | 0 0 .98 82.146 7.666
BB-EDGE | 0 0 1 23.78 2.752 | 0 0 1 46.966 10.143 | 0 0 1 24.072 2.487 | 0 0 1 42.464 8.497
BB-EDGE + pilot | 0 0 1 12.252 2.024 | 0 0 .92 32.01 21.491 | 0 0 1 13.01 1.742 | 0 0 .952 26.788 17.537
""".strip()


def _published(label: str) -> tuple[Published, ...]:
    return tuple(
        Published(
            setting=f"{label}{name}",
            method=method,
            column=column,
            value=value,
            deviation=numbers[4] if column.metric == "cr" else None,
        )
        for method, *of_settings in (line.split(" | ") for line in _PRINTED.splitlines())
        for name, numbers in zip(NAMES, (tuple(map(float, each.split())) for each in of_settings), strict=True)
        for column, value in zip(_COLUMNS, numbers[:4], strict=True)
    )


def _fitted() -> tuple[Contest, ...]:
    """Wider means; data blocks of one or ten; an analysis in ten blocks of ten, always."""
    return tuple(
        Contest(
            name=f"{_FITTED}{name}",
            benchmark=SyntheticBenchmark(
                means=tied_pairs(0.25, 0.75),
                block_sizes=size,
                heterogeneity=effect,
                # Any more and probabilities would leave [0, 1].
                offset=0.05 if effect else 0.08,
            ),
            contenders=_CONTENDERS,
            blocks=10,
            k=4,
            measured=_KEPT,
        )
        for name, size, effect in zip(NAMES, (1, 10, 1, 10), (0.0, 0.0, 0.2, 0.2), strict=True)
    )


TOP_4 = Study(
    name="top-4",
    title="Certifying the four best",
    question="After how many replicates is the set of the four best models certified, and how often wrongly?",
    source="Table 1 of the paper",
    setup="**Stated** setting: "
    + STATED
    + " **Fitted** setting: means from 0.25 to 0.75, ten analysis blocks of ten items in all columns, data blocks of 1 "
    "where the name says 1 and of 10 where it says 5, offsets within 0.05 where H = 0.2. It was chosen to come near "
    "the published table, so that agreement with it is a fit and no replication. The pilot has five replicates more, "
    "which are not counted in its CR: add five for the total.",
    settings=tuple(replace(each, name=f"{_STATED}{each.name}", k=4, measured=_KEPT) for each in four(_CONTENDERS))
    + _fitted(),
    figure=("fcp", "certified"),
    table=(*_COLUMNS, *(StudyColumn(metric=metric) for metric in _STANDING)),
    published=_published(_STATED) + _published(_FITTED),
    notes=(
        "The stated setting does not give the published table, for any method: the most plainly for EMR and t-Holm, "
        "whose definitions leave nothing open. Something in the experiment that made the table was not written down.",
        "The fitted setting gives the published CR of EMR, t-Holm, BEB-Holm, BB-EDGE and its pilot within Monte Carlo "
        "error or nearly so, and comes close for CBTL and SERPANT. CR-EDGE and BFH-e-Holm are printed faster than "
        "their formulas allow there: with one block and stakes up to 0.95 no certificate is possible by replicate 100.",
        "A certificate means a set of four models, each above each of the other six in the graph and its paths.",
        STANDING,
        OF_THE_LIMIT + " Its certificates are counted as if each look were the only one, and it has no CR.",
    ),
)
