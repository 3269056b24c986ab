"""The leaderboard as a small table for notebooks: text alone, no files, nothing but escaped names and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bbedge.certificate.certificate import Certificate
from bbedge.display.alarm import alarm
from bbedge.display.ranking import Column, Row, columns, rows
from bbedge.display.scope import has_evidence, is_inside_pass, missing, runs, titled, view_lines
from bbedge.display.verdict import verdict
from bbedge.text import counted

MOST_ROWS = 50
"""The number of models that are shown."""

_CELL = "padding:2px 10px;text-align:{};border:0"
_LEFT, _RIGHT = _CELL.format("left"), _CELL.format("right")
_BAR = "position:relative;width:160px;height:10px;background:rgba(128,128,128,.25)"
_SPAN = "position:absolute;left:{:.4g}%;width:{:.4g}%;height:10px;background:#2b83ba"


def leaderboard_html(certificate: Certificate) -> str:
    """The certificate as HTML with its style inside, so that it looks the same wherever a notebook is shown."""
    design, ranks, size = certificate.content.design, certificate.ranks, len(certificate.names)
    if not has_evidence(certificate):
        about = f"{counted(size, 'model')}, {design.method}"
        return f"<div><p><b>{escape(str(verdict(certificate)))}</b> {escape(about)}</p></div>"
    made = rows(certificate, MOST_ROWS)
    shown_columns = columns(made)
    head = "".join(f'<th style="{_style(column)}">{column.head}</th>' for column in shown_columns)
    cells = zip(*(column.cells for column in shown_columns), strict=True)
    body = "".join(_row(row, shown_columns, texts, size) for row, texts in zip(made, cells, strict=True))
    more = f"<p>{counted(size - MOST_ROWS, 'more model')}</p>" if size > MOST_ROWS else ""
    answer = verdict(certificate)
    first = titled(certificate, answer.answer) if alarm(certificate) is None else answer.answer
    return (
        f"<div><p><b>{escape(first)}</b> {escape(answer.rest)}</p>"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"{more}<p>{ranks.n_resolved:,} of {counted(ranks.n_pairs, 'pair')} certified {_when(certificate)}, "
        f"{escape(design.method)}, alpha {design.alpha:g}</p>"
        f"{_views(certificate)}{_missing(certificate)}</div>"
    )


def _when(certificate: Certificate) -> str:
    if is_inside_pass(certificate):
        return f"({runs(certificate)})"
    return f"after {runs(certificate)}"


def _row(row: Row, shown_columns: Sequence[Column], texts: Sequence[str], size: int) -> str:
    line = ";border-top:2px solid #888" if row.cut_above else ""
    span = _SPAN.format(100 * (row.best - 1) / size, 100 * (row.worst - row.best + 1) / size)
    cells = []
    for column, text in zip(shown_columns, texts, strict=True):
        content = f"<bdi>{escape(text)}</bdi>"
        if column.head == "rank":
            content = f'<b>{text}</b><div style="{_BAR}"><div style="{span}"></div></div>'
        cells.append(f'<td style="{_style(column)}{line}">{content}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _style(column: Column) -> str:
    return _LEFT if column.is_text else _RIGHT


def _views(certificate: Certificate) -> str:
    """The other views, a line each."""
    lines = [
        f"<li><bdi>{escape(line.name)}</bdi>: {escape(line.certified)} certified, "
        f"leader so far <bdi>{escape(line.leader)}</bdi></li>"
        for line in view_lines(certificate)
    ]
    if not lines:
        return ""
    more = f"<li>{counted(len(lines) - MOST_ROWS, 'more view')}</li>" if len(lines) > MOST_ROWS else ""
    return f"<p>Other views, under the same alpha:</p><ul>{''.join(lines[:MOST_ROWS])}{more}</ul>"


def _missing(certificate: Certificate) -> str:
    words = missing(certificate)
    return f"<p>{escape(words)}</p>" if words else ""
