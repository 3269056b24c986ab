"""Where the methods come from."""

from __future__ import annotations

from bbedge.citation import PAPER, SOFTWARE, Reference

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
