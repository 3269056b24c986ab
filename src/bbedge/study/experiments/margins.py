"""The main comparison with a margin that an advantage must exceed."""

from bbedge.study.experiments.four import ABLATION_QUESTION, ABLATION_TABLE, CURVES_ONLY, RIVALS, STATED, four
from bbedge.study.study import Study

SMALL_MARGIN = Study(
    name="margin-1",
    title="A margin of one point",
    question=ABLATION_QUESTION.format("a margin of 0.01 that an advantage must exceed"),
    source="the ablation on margins (tau = 0.01) in the paper's appendix",
    setup=STATED + " Changed: tau = 0.01. Neighbouring pairs differ by 0.045.",
    settings=four(RIVALS, tau=0.01),
    figure=("fwer", "power"),
    table=ABLATION_TABLE,
    notes=(CURVES_ONLY,),
)

LARGE_MARGIN = Study(
    name="margin-3",
    title="A margin of three points",
    question=ABLATION_QUESTION.format("a margin of 0.03 that an advantage must exceed"),
    source="the ablation on margins (tau = 0.03) in the paper's appendix",
    setup=STATED + " Changed: tau = 0.03. Neighbouring pairs differ by 0.045, which leaves 0.015 to show.",
    settings=four(RIVALS, tau=0.03),
    figure=("fwer", "power"),
    table=ABLATION_TABLE,
    notes=(CURVES_ONLY,),
)
