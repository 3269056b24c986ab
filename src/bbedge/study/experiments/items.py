"""The main comparison with fewer and with more items."""

from bbedge.study.experiments.four import ABLATION_QUESTION, ABLATION_TABLE, CURVES_ONLY, RIVALS, STATED, four
from bbedge.study.study import Study
from bbedge.study.synthetic import SyntheticBenchmark

FEW_ITEMS = Study(
    name="items-50",
    title="Fifty items",
    question=ABLATION_QUESTION.format("half the items"),
    source="the ablation on the number of items (N = 50) in the paper's appendix",
    setup=STATED + " Changed: 50 items.",
    settings=four(RIVALS, base=SyntheticBenchmark(n_items=50)),
    figure=("fwer", "power"),
    table=ABLATION_TABLE,
    notes=(CURVES_ONLY,),
)

MANY_ITEMS = Study(
    name="items-500",
    title="Five hundred items",
    question=ABLATION_QUESTION.format("five times the items"),
    source="the ablation on the number of items (N = 500) in the paper's appendix",
    setup=STATED + " Changed: 500 items, and 40 replicates, by which all is decided.",
    settings=four(RIVALS, base=SyntheticBenchmark(n_items=500), looks=40),
    figure=("fwer", "power"),
    table=ABLATION_TABLE,
    notes=(CURVES_ONLY,),
)
