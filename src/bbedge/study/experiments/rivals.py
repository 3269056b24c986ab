"""Three more rivals: a plug-in stake, asymptotic confidence sequences, item streams looked at between replicates."""

from bbedge.study.experiments.four import STATED, four
from bbedge.study.study import Column, Study

STUDY = Study(
    name="more-rivals",
    title="More rivals",
    question="Does one predictable stake do as well as a mixture, and do asymptotic or pooled methods keep alpha?",
    source="the ablation on more baselines in the paper's appendix",
    setup=STATED + " 100 replicates, a look after each.",
    settings=four(("AsympCS-Bonf", "SERPANT-R", "BB-EDGE-PI", "BB-EDGE", "BB-EDGE-X")),
    figure=("fwer", "power"),
    table=(Column(metric="fwer"), Column(metric="power", at=50), Column(metric="power", reaches=0.9)),
    notes=(
        "The paper gives this experiment as curves, without numbers. It finds BB-EDGE-PI close to BB-EDGE, and that "
        "AsympCS-Bonf and, where items depend on each other, SERPANT-R exceed alpha.",
    ),
)
