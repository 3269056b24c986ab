"""Ours: kinds of evidence, stakes and predictions against each other, and against the best a single look could do."""

from bbedge.study.contenders import KINDS, LIMIT
from bbedge.study.experiments.four import STATED, four
from bbedge.study.setting import Contest
from bbedge.study.study import Column, Study
from bbedge.study.synthetic import SyntheticBenchmark

STUDY = Study(
    name="evidence",
    title="What is left to gain",
    question="What do sharper evidence, stakes fitted to the design and other predictions save, and how far is it to a "
    "test that knows the variances and looks only once?",
    source="ours",
    setup=STATED
    + " And a fifth setting with quiet, graded scores, as a judge that gives nearly the same mark each time: "
    "blocks of 2, scores that stray a fifth as far. *bernstein* with the published stakes and running-mean "
    "predictions is bb-edge; *betting, design stakes* is bb-edge-x. Every kind has the same guarantee over all looks. "
    "The Holm z-test knows the true variances and is valid only if a single look, fixed beforehand, is taken: its "
    "power is a bound on what could be hoped for, its error over all looks is not controlled.",
    settings=(
        *four((*KINDS, LIMIT)),
        Contest(
            name="graded and quiet",
            benchmark=SyntheticBenchmark(block_sizes=2, scoring="graded", spread=0.2, heterogeneity=0.1),
            contenders=tuple(KINDS),
            looks=20,
        ),
    ),
    figure=("fwer", "power"),
    table=(
        Column(metric="fwer"),
        Column(metric="power", at=20),
        Column(metric="power", reaches=0.5),
        Column(metric="power", reaches=0.9),
    ),
    notes=(
        "Looking after every replicate has a price even for the best of methods, because the evidence must hold at all "
        "looks and not at one; the distance to the z-test is that price plus what remains to be gained.",
    ),
)
