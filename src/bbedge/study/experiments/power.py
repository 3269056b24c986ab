"""Error over all looks and power, look by look, in the four settings."""

from bbedge.study.experiments.four import RIVALS, STATED, UNEVEN, four
from bbedge.study.study import Column, Published, Study

_REACHES = Column(metric="power", reaches=0.9)

STUDY = Study(
    name="power",
    title="Error over all looks, and power",
    question="Which methods keep the probability of a false edge at any look below alpha, and how soon do they certify "
    "the truth?",
    source="Figure 1 of the paper",
    setup=STATED + " 100 replicates, a look after each.",
    settings=four((*RIVALS, "BB-EDGE-X")),
    figure=("fwer", "power"),
    table=(Column(metric="fwer"), Column(metric="power", at=50), Column(metric="power"), _REACHES),
    published=(
        Published(setting=UNEVEN, method="BB-EDGE", column=_REACHES, value=56.0),
        Published(setting=UNEVEN, method="BFH-e-Holm", column=_REACHES, value=95.0),
    ),
    notes=(
        "The paper gives this experiment as curves; the two replicates at which 90 % power is reached are the only "
        "numbers it prints.",
        "BFH-e-Holm pays u^2/8 per block, the smallest Hoeffding penalty that is valid for every bounded score. The "
        "paper's curve for it is faster than this penalty allows.",
    ),
)
