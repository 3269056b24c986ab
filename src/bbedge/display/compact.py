"""A leaderboard in a few lines: in a notebook, as Markdown, as LaTeX, as a badge."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.display.answer import alarm, answer
from bbedge.display.forest import certificate_forest
from bbedge.display.page import templates
from bbedge.display.ranking import model_rows, table_columns
from bbedge.display.scope import (
    VIEW_HEADS,
    has_evidence,
    item_count,
    ledger_head,
    looks_at_new_items,
    missing_scores,
    needs_of_new_items,
    promise,
    run_count,
    score_of_runs,
    title_with_view,
    view_rows,
    withdrawn_models,
)
from bbedge.display.tables import escaped, markdown_line
from bbedge.errors import DomainError
from bbedge.text import counted, quoted, shown

NOTEBOOK_ROWS = 50
"""The number of models that are shown."""


def leaderboard_html(certificate: Certificate) -> str:
    """The certificate as HTML with its style inside."""
    rows = model_rows(certificate, NOTEBOOK_ROWS) if has_evidence(certificate) else ()
    content = {
        "certificate": certificate,
        "rows": rows,
        "table": table_columns(rows),
        "most": NOTEBOOK_ROWS,
        "remarks": _remarks(certificate),
        "forest": certificate_forest(certificate, most=NOTEBOOK_ROWS),
    }
    return templates().get_template("notebook.html").render(content)


def _remarks(certificate: Certificate) -> list[str]:
    """What is said of looks, runs and missing scores, as far as there is anything to say."""
    every = (
        looks_at_new_items(certificate.on_new_items or certificate),
        score_of_runs(certificate),
        missing_scores(certificate),
        withdrawn_models(certificate),
    )
    return list(filter(None, every))


MARKDOWN_ROWS = 60
"""The number of models in the table: services refuse comments beyond some tens of thousands of characters."""


def to_markdown(certificate: Certificate, *, title: str | None = None) -> str:
    """The answer, the table of models, the other views and what is guaranteed. Names are never markup."""
    said, size = answer(certificate), len(certificate.names)
    heading = f"## {escaped(shown(title, 120) if title else title_with_view(certificate, 'Leaderboard'))}"
    sentences = [f"**{escaped(said.first)}**", escaped(said.rest)]
    # Nothing comes before an alarm.
    parts = [heading, *sentences] if alarm(certificate) is None else [*sentences, heading]
    if has_evidence(certificate):
        table = table_columns(model_rows(certificate, MARKDOWN_ROWS))
        cells = list(zip(*(column.cells for column in table), strict=True))
        rule = [":--" if column.is_text else "--:" for column in table]
        rows = size - len(certificate.withdrawn)
        parts += _markdown_table([column.head for column in table], rule, cells, rows, "model")
    if certificate.views:
        cells = view_rows(certificate)[:MARKDOWN_ROWS]
        parts += _markdown_table(VIEW_HEADS, (":--", "--:", "--:", "--:", ":--"), cells, len(certificate.views), "view")
    parts += [escaped(text) for text in (*_remarks(certificate), *(note.text for note in certificate.content.notes))]
    about = " · ".join([counted(size, "model"), item_count(certificate), run_count(certificate)])
    needs = " ".join(needs_of_new_items(certificate))
    assumed = f" For new items this needs: {needs}" if needs else ""
    return "\n\n".join([*filter(None, parts), escaped(f"{about}. {promise(certificate)}{assumed}")]) + "\n"


def _markdown_table(
    heads: Sequence[str], rule: Sequence[str], cells: Sequence[Sequence[str]], count: int, thing: str
) -> list[str]:
    """A table of the first rows, and how many more there are."""
    lines = [markdown_line(each) for each in (heads, rule, *(map(escaped, row) for row in cells))]
    more = [f"{counted(count - MARKDOWN_ROWS, f'more {thing}')}."] if count > MARKDOWN_ROWS else []
    return ["\n".join(lines), *more]


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
    rows = model_rows(certificate)
    new = ["New items"] if certificate.on_new_items else []
    heads = ["Rank", *new, "Model", "Mean", *(["Interval"] if intervals else []), "Beats", "Loses to"]
    lines = [
        rf"\begin{{tabular}}{{{'r' * len(new)}rl{'r' * (len(heads) - len(new) - 2)}}}",
        r"\toprule",
        _latex_row(heads),
        r"\midrule",
    ]
    for row in rows:
        place, ends, words = row.index, row.ranks, row.mean_of
        shown_mean = f"{_number(row.mean)} ({words})" if words else _number(row.mean)
        ranked = [row.rank, *([row.rank_on_new_items] if new else [])]
        cells = [*(each.replace("-", "--") for each in ranked), latex_text(certificate.names[place]), shown_mean]
        if intervals:
            low, high = intervals[place]
            cells.append(f"[{_number(units.at_least(low))}, {_number(units.at_most(high))}]")
        lines.append(_latex_row([*cells, str(ranks.n_models - ends[1]), str(ends[0] - 1)]))
    if hidden := withdrawn_models(certificate):
        lines += [r"\midrule", rf"\multicolumn{{{len(heads)}}}{{l}}{{{latex_text(hidden)}}} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
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


_LETTER = 6.6  # average width at 11 px; the text is then stretched to exactly the room it was given
_PADDING = 7


def badge(certificate: Certificate, model: str, *, label: str | None = None) -> str:
    """An SVG that says, for instance, ``certified #1-2 of 10``. ``label`` stands to the left of it.

    It says what the certificate says: a range of ranks, not a rank, unless that is certified; and that nothing is
    certified while every rank is possible; of a withdrawn model, only that. The badge of a view names the view, that
    of a board its head. Its title, which browsers show as a tooltip, also has the first sentence of every display, and
    the whole head.
    """
    if model not in certificate.names:
        raise DomainError(f"{quoted(model)} is not a model of this certificate")
    interval = certificate.ranks.rank_intervals[certificate.names.index(model)]
    decided = interval != (1, len(certificate.names)) and not certificate.is_contradicted
    is_withdrawn = model in {each.model for each in certificate.withdrawn}
    if certificate.is_contradicted:
        right = "contradiction"
    elif is_withdrawn:
        decided, right = False, "withdrawn"
    else:
        right = f"certified #{rank(interval)} of {len(certificate.names)}" if decided else "no rank certified yet"
    left = shown(model if label is None else label, 40)
    return _badge(certificate, left, right, decided=decided, about=not is_withdrawn)


def board_badge(certificate: Certificate, *, label: str) -> str:
    """An SVG that says how many models could be best, such as ``3 of 12 could be best``."""
    size, could = len(certificate.names), int(np.count_nonzero(certificate.ranks.n_better == 0))
    decided = could < size and not certificate.is_contradicted
    if certificate.is_contradicted:
        right = "contradiction"
    elif could == 1:
        right = f"{certificate.labels[0]} is best of {size:,}"
    elif decided:
        right = f"{could:,} of {size:,} could be best"
    else:
        right = f"all {size:,} could be best" if certificate.ranks.n_resolved else "nothing certified yet"
    return _badge(certificate, shown(label, 40), right, decided=decided)


def _badge(certificate: Certificate, left: str, right: str, *, decided: bool, about: bool = True) -> str:
    """Both texts side by side, the right one with what it is ``about`` and the head of the board."""
    whole = certificate.headline or certificate
    is_of_new_items = certificate.is_about_new_items and certificate.name in (None, (whole.on_new_items or whole).name)
    if is_of_new_items and about:
        right += " on new items"
    elif certificate.name and about:
        right += f" in {shown(certificate.name, 40)}"
    if ledger_head(certificate):
        right += f" · {ledger_head(certificate)}"
    board = whole.content.board
    drawn = (
        templates()
        .get_template("badge.svg")
        .render(
            texts=(left, right),
            widths=[round(len(text) * _LETTER) + 2 * _PADDING if text else 0 for text in (left, right)],
            padding=_PADDING,
            colour="#00689d" if decided else "#5f6b76",
            spoken=f"{left}: {right}" if left else right,
            said=answer(certificate),
            head=f" Head {board.events}: {board.head}" if board else "",
        )
    )
    return drawn.encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"
