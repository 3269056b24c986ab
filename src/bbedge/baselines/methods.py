"""The list of methods: what each guarantees, what it needs, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines import e_values, means
from bbedge.citation import PAPER, SOFTWARE, Reference
from bbedge.core.arrays import Floats
from bbedge.core.design import Design
from bbedge.errors import DomainError

Validity = Literal["all looks", "one look", "none"]
"""Where the error is controlled: over all looks, at a single look fixed beforehand, or nowhere."""
Target = Literal["these items", "items like these"]
"""What a claim is about: further runs of the items at hand, or other items of the same kind."""
Need = Literal["2 runs", "2 blocks", "2 runs or 2 blocks", "blocks of one size"]
"""What a method cannot do without."""
Run = Callable[[Design, Floats, np.random.Generator], NDArray[np.generic]]
"""Design, panels, and randomness to use where a method needs any."""


E_HOLM = Reference(
    key="hartog2025",
    authors=("Hartog, Will", "Lei, Lihua"),
    title="Family-wise error rate control with e-values",
    year=2025,
    venue="arXiv:2501.09015",
)
MARTINGALES = Reference(
    key="fan2015",
    authors=("Fan, Xiequan", "Grama, Ion", "Liu, Quansheng"),
    title="Exponential inequalities for martingales with applications",
    year=2015,
    venue="Electronic Journal of Probability 20(1), 1-22",
)
BETTING = Reference(
    key="waudby-smith2024betting",
    authors=("Waudby-Smith, Ian", "Ramdas, Aaditya"),
    title="Estimating means of bounded random variables by betting",
    year=2024,
    venue="Journal of the Royal Statistical Society, Series B 86(1), 1-27",
)
BOUNDED_SUMS = Reference(
    key="hoeffding1963",
    authors=("Hoeffding, Wassily",),
    title="Probability inequalities for sums of bounded random variables",
    year=1963,
    venue="Journal of the American Statistical Association 58(301), 13-30",
)
ASYMPTOTIC = Reference(
    key="waudby-smith2024asymptotic",
    authors=("Waudby-Smith, Ian", "Arbour, David", "Sinha, Ritwik", "Kennedy, Edward H.", "Ramdas, Aaditya"),
    title="Time-uniform central limit theory and asymptotic confidence sequences",
    year=2024,
    venue="The Annals of Statistics 52(6), 2613-2640",
)
EMPIRICAL_BERNSTEIN = Reference(
    key="maurer2009",
    authors=("Maurer, Andreas", "Pontil, Massimiliano"),
    title="Empirical Bernstein bounds and sample variance penalization",
    year=2009,
    venue="22nd Annual Conference on Learning Theory (COLT)",
)
HOLM = Reference(
    key="holm1979",
    authors=("Holm, Sture",),
    title="A simple sequentially rejective multiple test procedure",
    year=1979,
    venue="Scandinavian Journal of Statistics 6(2), 65-70",
)
T_TEST = Reference(
    key="student1908",
    authors=("Student",),
    title="The probable error of a mean",
    year=1908,
    venue="Biometrika 6(1), 1-25",
)
ERROR_BARS = Reference(
    key="miller2024",
    authors=("Miller, Evan",),
    title="Adding error bars to evals: A statistical approach to language model evaluations",
    year=2024,
    venue="arXiv:2411.00640",
)
CLUSTERS = Reference(
    key="liang1986",
    authors=("Liang, Kung-Yee", "Zeger, Scott L."),
    title="Longitudinal data analysis using generalized linear models",
    year=1986,
    venue="Biometrika 73(1), 13-22",
)
ONLINE_RANKING = Reference(
    key="gu2026",
    authors=("Gu, Runzhe", "Sun, Wenguang", "Gang, Bowen", "Xia, Xintao"),
    title="Anytime-valid inference for online ranking of large language models",
    year=2026,
    venue="Forty-third International Conference on Machine Learning (ICML)",
)
CONFIDENCE_DIAGRAM = Reference(
    key="wang2024",
    authors=("Wang, Zebin", "Han, Yi", "Fang, Ethan X.", "Wang, Lan", "Lu, Junwei"),
    title="Confidence diagram of nonparametric ranking for uncertainty assessment in large language models evaluation",
    year=2024,
    venue="arXiv:2412.05506",
)
RANK_INTERVALS = Reference(
    key="neuhof2026",
    authors=("Neuhof, Bitya", "Benjamini, Yuval"),
    title="Rank intervals for leaderboards: A hierarchical framework for model evaluation",
    year=2026,
    venue="arXiv:2606.08679",
)
LOW_RANK = Reference(
    key="li2026",
    authors=("Li, Jiachun", "Simchi-Levi, David", "Sun, Will Wei"),
    title="Low rank for rank: Uncertainty-aware task-specific LLM ranking under sparse pairwise comparisons",
    year=2026,
    venue="arXiv:2605.29395",
)

REFERENCES: dict[str, tuple[Reference, ...]] = {
    "BB-EDGE": (PAPER, BETTING, MARTINGALES, E_HOLM),
    "BB-EDGE-sharp": (SOFTWARE, PAPER, BETTING, E_HOLM),
    "BB-EDGE-betting": (SOFTWARE, PAPER, BETTING, E_HOLM),
    "BB-EDGE-X": (SOFTWARE, PAPER, BETTING, E_HOLM),
    "BFH-e-Holm": (PAPER, BOUNDED_SUMS, E_HOLM),
    "CR-EDGE": (PAPER, BETTING, MARTINGALES, E_HOLM),
    "BB-EDGE-PI": (PAPER, BETTING, MARTINGALES, E_HOLM),
    "AsympCS-Bonf": (ASYMPTOTIC, PAPER),
    "BEB-Holm": (PAPER, EMPIRICAL_BERNSTEIN, HOLM),
    "t-Holm": (T_TEST, HOLM, PAPER),
    "Item-t-Holm": (ERROR_BARS, CLUSTERS, HOLM),
    "SERPANT": (ONLINE_RANKING, PAPER),
    "SERPANT-R": (ONLINE_RANKING, PAPER),
    "CBTL": (CONFIDENCE_DIAGRAM, PAPER),
    "EMR": (PAPER,),
    "TLRCI": (RANK_INTERVALS, HOLM, PAPER),
    "MB-Rank": (LOW_RANK, PAPER),
}
"""What to cite for each method: its source first, then its parts; the paper where it describes the form used here."""
_BLOCKS = "independent replicates and blocks"
_NORMAL = "independent, nearly normal replicate means"
_LIMIT = "many replicates: its level holds only in the limit"
_STREAM = "items that are independent and alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """The answer of a method to scores without what it needs. To claim nothing would be another answer."""

    need: Need
    """What is not there."""

    @property
    def reason(self) -> str:
        """The same in words: ``needs at least 2 runs``."""
        return f"needs {self.need}" if self.need == "blocks of one size" else f"needs at least {self.need}"


@dataclass(frozen=True, slots=True)
class Method:
    """A way of making claims."""

    name: str
    """What it is called."""
    validity: Validity
    """Where its error is controlled, if what it assumes is true."""
    assumes: str
    """What it assumes, in one line."""
    run: Run
    """The method itself. It claims nothing at looks that are too early for it."""
    needs: tuple[Need, ...] = ()
    """What the last look must have for it to be more than a form."""
    claims: Literal["edges", "ranks"] = "edges"
    """What it returns at every look."""
    target: Target = "these items"
    """What its claims are about."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """Where it is described."""
        return REFERENCES[self.name]

    def apply(self, design: Design, panels: Floats, rng: np.random.Generator) -> NDArray[np.generic] | NotApplicable:
        """What it claims at every look, or why it cannot be used on these scores."""
        runs, layout = len(panels), design.layout
        has: dict[Need, bool] = {
            "2 runs": runs >= 2,
            "2 blocks": layout.count >= 2,
            "2 runs or 2 blocks": runs * layout.count >= 2,
            "blocks of one size": len(set(layout.sizes.tolist())) == 1,
        }
        missing = next((need for need in self.needs if not has[need]), None)
        return self.run(design, panels, rng) if missing is None else NotApplicable(need=missing)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *(
            Method(
                name,
                "all looks",
                "independent replicates" if name == "CR-EDGE" else _BLOCKS,
                partial(e_values.variant_edges, name),
            )
            for name in e_values.VARIANTS
        ),
        Method("BB-EDGE-PI", "all looks", _BLOCKS, e_values.plug_in_edges),
        Method("AsympCS-Bonf", "none", _LIMIT, means.asymp_cs_edges, ("2 runs",)),
        Method(
            "BEB-Holm",
            "one look",
            _BLOCKS + " of one size",
            means.beb_holm_edges,
            ("blocks of one size", "2 runs or 2 blocks"),
        ),
        Method("t-Holm", "one look", _NORMAL, means.t_holm_edges, ("2 runs",)),
        Method(
            "Item-t-Holm",
            "one look",
            "blocks that are a random sample of many like them",
            means.item_t_holm_edges,
            ("2 blocks",),
            target="items like these",
        ),
        Method("SERPANT", "none", _STREAM, e_values.serpant_edges),
        Method("SERPANT-R", "none", _STREAM, e_values.serpant_r_edges),
        # With one run its bootstrap over runs has no spread, and it would claim whatever was observed.
        Method(
            "CBTL",
            "none",
            "preferences smooth in the order of items; one pair at a time",
            e_values.cbtl_edges,
            ("2 runs",),
        ),
        Method("EMR", "none", "that means are exact", means.emr_edges),
        Method("TLRCI", "one look", _NORMAL, means.tlrci_ranks, ("2 runs",), claims="ranks"),
        Method("MB-Rank", "one look", _LIMIT, means.mb_rank_ranks, ("2 runs",), claims="ranks"),
    )
}
"""All methods by name."""


def method(name: str) -> Method:
    """The method of this name, in any case."""
    for known, each in METHODS.items():
        if known.lower() == name.lower():
            return each
    raise DomainError(f"unknown method {name!r}; choose from {', '.join(METHODS)}")
