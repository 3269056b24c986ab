"""The main comparison with twenty models."""

from bbedge.study.experiments.four import ABLATION_QUESTION, ABLATION_TABLE, CURVES_ONLY, RIVALS, STATED, four
from bbedge.study.study import Study
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs

STUDY = Study(
    name="models-20",
    title="Twenty models",
    question=ABLATION_QUESTION.format("twenty models, and so 380 directions"),
    source="the ablation on the number of models (L = 20) in the paper's appendix",
    setup=STATED + " Changed: twenty models in ten tied pairs over the same range, so that neighbours are closer.",
    settings=four(RIVALS, base=SyntheticBenchmark(means=tied_pairs(0.41, 0.59, n_pairs=10))),
    figure=("fwer", "power"),
    table=ABLATION_TABLE,
    notes=(CURVES_ONLY,),
)
