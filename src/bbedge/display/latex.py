"""The leaderboard as a table for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.means import over
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
    """Rank interval, name and mean of each model, with its interval if there is one, and what it beats and loses to."""
    ranks, units, intervals = certificate.ranks, certificate.units, certificate.mean_intervals
    heads = ["Rank", "Model", "Mean", *(["Interval"] if intervals else []), "Beats", "Loses to"]
    lines = [rf"\begin{{tabular}}{{rl{'r' * (len(heads) - 2)}}}", r"\toprule", _row(heads), r"\midrule"]
    for place, (name, mean, ends) in enumerate(
        zip(certificate.names, certificate.means, ranks.rank_intervals, strict=True)
    ):
        words = over(certificate, place)
        shown_mean = f"{_number(units.score(mean))} ({words})" if words else _number(units.score(mean))
        cells = [rank(ends).replace("-", "--"), latex_text(name), shown_mean]
        if intervals:
            low, high = intervals[place]
            cells.append(f"[{_number(units.at_least(low))}, {_number(units.at_most(high))}]")
        lines.append(_row([*cells, str(ranks.n_models - ends[1]), str(ends[0] - 1)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _number(text: str) -> str:
    """A number, its sign as a minus and not as a hyphen."""
    return f"${text}$" if text.startswith("-") and len(text) > 1 else text


def latex_text(text: str) -> str:
    r"""The text as LaTeX sets it letter by letter; what is invisible is escaped as in messages.

    >>> print(latex_text("50%_a\\b"))
    50\%\_a\textbackslash{}b
    """
    return _LIGATURES.sub(r"\1{}", "".join(_ESCAPES.get(letter, letter) for letter in shown(text, None)))
