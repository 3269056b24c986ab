"""What evidence costs: kinds of evidence against the best that one look could do, and the one-block fallback."""

from __future__ import annotations

from bbedge.study.contenders import KINDS, LIMIT, TWO_WAY, WHOLE_ALPHA, WHOLE_ALPHA_TWO_WAY, X_ONE_BLOCK
from bbedge.study.experiments.comparison import OF_THE_LIMIT, OF_X, STANDING, STANDS, STATED, four
from bbedge.study.study import Column, Contest, Published, Study
from bbedge.study.synthetic import SyntheticBenchmark

_OURS = (*KINDS, WHOLE_ALPHA, WHOLE_ALPHA_TWO_WAY, "BB-EDGE-X", TWO_WAY)

EVIDENCE = Study(
    name="evidence",
    title="What is left to gain",
    question="What do sharper evidence, stakes fitted to the design and other predictions save, and how far is it to a "
    "test that knows the variances and looks only once?",
    source="ours",
    setup=STATED
    + " And a fifth setting with quiet, graded scores, as a judge that gives nearly the same mark each time: "
    "blocks of 2, scores that stray a fifth as far. *bernstein* with the published stakes and running-mean "
    "predictions is bb-edge; *betting, design stakes* has the evidence and the stakes of BB-EDGE-X. Every kind has the "
    "same guarantee over all looks.",
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
        Column(metric="fwer"),
        Column(metric="power", at=20),
        Column(metric="power", reaches=0.5),
        Column(metric="power", reaches=0.9),
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
_AT_100, _AT_2 = Column(metric="resolved", at=100), Column(metric="resolved", at=2)

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
    settings=tuple(
        Contest(
            name=name,
            benchmark=benchmark,
            contenders=("BB-EDGE", "CR-EDGE", X_ONE_BLOCK, LIMIT),
            blocks=blocks,
            looks=looks,
            measured=("fwer", "power", "standing power", "resolved", "standing resolved"),
        )
        for name, benchmark, blocks, looks in (
            ("runs that share something", SyntheticBenchmark(block_sizes=100, kappa_block=0.05), 1, 400),
            ("independent items", SyntheticBenchmark(), None, 400),
            (_LIKE_GSM8K, SyntheticBenchmark(means=_MEANS, n_items=1319), None, 100),
        )
    ),
    table=(
        Column(metric="fwer"),
        Column(metric="power"),
        Column(metric="standing power"),
        _AT_2,
        _AT_100,
        Column(metric="standing resolved", at=2),
        Column(metric="standing resolved", at=100),
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
