"""The leaderboard as a table for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.units import rank
from bbedge.text import shown

_ESCAPES = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
}
_LIGATURES = re.compile(r"([-'`,?!])(?=[-'`,])")  # of two such letters LaTeX makes a third: -- is a dash


def to_latex(certificate: Certificate) -> str:
    """Rank interval, name and mean of each model, and how many models are certified below and above it."""
    ranks, units = certificate.ranks, certificate.units
    lines = [r"\begin{tabular}{rlrrr}", r"\toprule", r"Rank & Model & Mean & Wins & Losses \\", r"\midrule"]
    for name, mean, ends in zip(certificate.names, certificate.means, ranks.rank_intervals, strict=True):
        losses, wins = ends[0] - 1, ranks.n_models - ends[1]
        score = units.score(mean)
        number = f"${score}$" if score.startswith("-") and len(score) > 1 else score
        lines.append(rf"{rank(ends).replace('-', '--')} & {latex_text(name)} & {number} & {wins} & {losses} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_text(text: str) -> str:
    r"""The text as LaTeX sets it letter by letter; what is invisible is escaped as in messages.

    >>> print(latex_text("50%_a\\b"))
    50\%\_a\textbackslash{}b
    """
    return _LIGATURES.sub(r"\1{}", "".join(_ESCAPES.get(letter, letter) for letter in shown(text, None)))
