"""Rank intervals: whether they hold at all looks, and how wide they are."""

from bbedge.study.experiments.four import STATED, UNEVEN, four
from bbedge.study.study import Column, Published, Study

_AT_15 = Column(metric="width", at=15)

STUDY = Study(
    name="rank-intervals",
    title="Rank intervals",
    question="Do rank intervals hold the true ranks of all models at all looks, and how narrow are they?",
    source="the figure of rank intervals in the paper's appendix",
    setup=STATED + " 100 replicates, a look after each. The true rank is one more than the number of better models.",
    settings=four(
        ("EMR", "TLRCI", "MB-Rank", "t-Holm", "BEB-Holm", "BFH-e-Holm", "CR-EDGE", "BB-EDGE", "BB-EDGE-X"),
        measured=("coverage", "width"),
    ),
    figure=("coverage", "width"),
    table=(Column(metric="coverage"), _AT_15, Column(metric="width", at=50), Column(metric="width")),
    published=(
        Published(setting=UNEVEN, method="BB-EDGE", column=_AT_15, value=1.633),
        Published(setting=UNEVEN, method="BEB-Holm", column=_AT_15, value=4.369),
        Published(setting=UNEVEN, method="BB-EDGE", column=Column(metric="coverage", at=15), value=1.0),
    ),
    notes=(
        "The two published widths at replicate 15 fit neither the stated setting nor the one fitted to Table 1.",
        "The least possible width here is 1: the models of a tied pair cannot be told apart.",
    ),
)
