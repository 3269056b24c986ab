"""A leaderboard in a few lines: in a notebook, as Markdown, as LaTeX, as a badge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.display.answer import alarm, answer
from bbedge.display.forest import certificate_forest
from bbedge.display.geometry import rank_bar
from bbedge.display.page import templates
from bbedge.display.ranking import ModelRow, TableColumn, model_rows, table_columns
from bbedge.display.scope import (
    VIEW_HEADS,
    certified_pairs,
    error_level,
    has_evidence,
    is_inside_first_run,
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

_CELL = "padding:2px 10px;text-align:{};border:0"
_BAR = "position:relative;width:160px;height:10px;background:rgba(128,128,128,.25)"
_SPAN = "position:absolute;left:{:.4g}%;width:{:.4g}%;height:10px;background:#2b83ba"


def leaderboard_html(certificate: Certificate) -> str:
    """The certificate as HTML with its style inside, so that it looks the same wherever a notebook is shown."""
    design, size, said = certificate.content.design, len(certificate.names), answer(certificate)
    if not has_evidence(certificate):
        about = f"{counted(size, 'model')}, {design.method}"
        return f"<div><p><b>{escape(str(said))}</b> {escape(about)}</p></div>"
    made = model_rows(certificate, NOTEBOOK_ROWS)
    table = table_columns(made)
    head = "".join(f'<th style="{_style(column)}">{column.head}</th>' for column in table)
    body = "".join(_notebook_row(row, place, table, size) for place, row in enumerate(made))
    left_out = size - len(certificate.withdrawn) - len(made)
    more = f"<p>{counted(left_out, 'more model')}</p>" if left_out else ""
    first = title_with_view(certificate, said.first) if alarm(certificate) is None else said.first
    when = f"({run_count(certificate)})" if is_inside_first_run(certificate) else f"after {run_count(certificate)}"
    also = "".join(f"<p>{escape(text)}</p>" for text in _remarks(certificate))
    return (
        f"<div><p><b>{escape(first)}</b> {escape(said.rest)}</p>"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"{more}<p>{certified_pairs(certificate)} certified {when}, {escape(design.method)}, "
        f"alpha {error_level(certificate):g}</p>{_view_list(certificate)}{also}{_notebook_forest(certificate)}</div>"
    )


def _notebook_forest(certificate: Certificate) -> str:
    """The differences to the leader, folded where they are many."""
    forest = certificate_forest(certificate, most=NOTEBOOK_ROWS)
    if forest is None:
        return ""
    drawn = templates().get_template("forest.html").module.whole(forest)  # type: ignore[attr-defined]
    return f"<details{' open' if len(forest.rows) <= 10 else ''}><summary>Differences</summary>{drawn}</details>"


def _remarks(certificate: Certificate) -> list[str]:
    """What is said of looks, runs and missing scores, as far as there is anything to say."""
    every = (
        looks_at_new_items(certificate.on_new_items or certificate),
        score_of_runs(certificate),
        missing_scores(certificate),
        withdrawn_models(certificate),
    )
    return list(filter(None, every))


def _notebook_row(row: ModelRow, place: int, table: Sequence[TableColumn], size: int) -> str:
    line = ";border-top:2px solid #888" if row.cut_above else ""
    cells = []
    for column in table:
        content = f"<bdi>{escape(column.cells[place])}</bdi>"
        if column.head == "rank":
            span = _SPAN.format(*rank_bar(row.ranks, size))
            content = f'<b>{row.rank}</b><div style="{_BAR}"><div style="{span}"></div></div>'
        whole = "" if column.is_text else ";white-space:nowrap"
        cells.append(f'<td style="{_style(column)}{whole}{line}">{content}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _style(column: TableColumn) -> str:
    return _CELL.format("left" if column.is_text else "right")


def _view_list(certificate: Certificate) -> str:
    """The other views, a line each."""
    lines = [
        f"<li><bdi>{escape(name)}</bdi>: {escape(certified)} certified"
        f"{f', leader so far <bdi>{escape(leader)}</bdi>' if leader else ''}</li>"
        for name, _, _, certified, leader in view_rows(certificate)
    ]
    if not lines:
        return ""
    more = f"<li>{counted(len(lines) - NOTEBOOK_ROWS, 'more view')}</li>" if len(lines) > NOTEBOOK_ROWS else ""
    return f"<p>Other views, under the same alpha:</p><ul>{''.join(lines[:NOTEBOOK_ROWS])}{more}</ul>"


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
_HEIGHT, _PADDING = 20, 7


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
    widths = [round(len(text) * _LETTER) + 2 * _PADDING if text else 0 for text in (left, right)]
    total = sum(widths)
    colour = "#00689d" if decided else "#5f6b76"
    spoken = f"{left}: {right}" if left else right
    board = whole.content.board
    head = f" Head {board.events}: {board.head}" if board else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(spoken)}">',
        f"<title>{escape(f'{spoken}. {answer(certificate).first}{head}')}</title>",
        f'<clipPath id="r"><rect width="{total}" height="{_HEIGHT}" rx="4"/></clipPath>',
        '<g clip-path="url(#r)">',
        f'<rect width="{widths[0]}" height="{_HEIGHT}" fill="#3b434b"/>',
        f'<rect x="{widths[0]}" width="{widths[1]}" height="{_HEIGHT}" fill="{colour}"/>',
        "</g>",
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">',
    ]
    start = 0
    for text, width in zip((left, right), widths, strict=True):
        if text:
            parts.append(
                f'<text x="{start + _PADDING}" y="14" textLength="{width - 2 * _PADDING}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
            )
        start += width
    return "\n".join([*parts, "</g>", "</svg>"]).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"
