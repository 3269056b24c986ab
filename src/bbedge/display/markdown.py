"""The leaderboard as Markdown: for the summary of a CI job, a pull request, a README."""

from __future__ import annotations

import re

from bbedge.certificate.certificate import Certificate
from bbedge.display.alarm import alarm
from bbedge.display.promise import promise
from bbedge.display.ranking import columns, rows
from bbedge.display.scope import has_evidence, items, missing, runs, titled, view_lines
from bbedge.display.verdict import verdict
from bbedge.text import counted, shown

MOST_ROWS = 60
"""The number of models in the table: services refuse comments beyond some tens of thousands of characters."""

_SPECIAL = frozenset("\\`*_[]|#!~$")


def to_markdown(certificate: Certificate, *, title: str | None = None) -> str:
    """The answer, the table of models, the other views and what is guaranteed. Names are never markup."""
    answer = verdict(certificate)
    heading = shown(title, 120) if title else titled(certificate, "Leaderboard")
    about = [
        counted(len(certificate.names), "model"),
        items(certificate),
        runs(certificate),
    ]
    title_part, answer_parts = f"## {escaped(heading)}", [f"**{escaped(answer.answer)}**", escaped(answer.rest)]
    # Nothing comes before an alarm.
    parts = [title_part, *answer_parts] if alarm(certificate) is None else [*answer_parts, title_part]
    if has_evidence(certificate):
        parts.append(_table(certificate))
    parts += _views(certificate)
    parts += [escaped(text) for text in (missing(certificate), *certificate.content.notes) if text]
    return "\n\n".join([*filter(None, parts), escaped(f"{' · '.join(about)}. {promise(certificate)}")]) + "\n"


def escaped(text: str) -> str:
    r"""The text as Markdown shows it letter by letter.

    >>> print(escaped("a_b | <c>"))
    a\_b \| &lt;c&gt;
    """
    safe = shown(text, None).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    letters = "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in safe)
    # A backslash does not keep GitHub from reading a mention, the number of an issue or an address; a comment does.
    return re.sub(r"(@|\\#|:(?=//)|(?<=www)\.)", r"\1<!-- -->", letters)


def _table(certificate: Certificate) -> str:
    made = rows(certificate, MOST_ROWS)
    shown_columns = columns(made)
    heads = [column.head for column in shown_columns]
    rule = [":--" if column.is_text else "--:" for column in shown_columns]
    lines = [_line(list(map(escaped, cells))) for cells in zip(*(c.cells for c in shown_columns), strict=True)]
    more = len(certificate.names) - len(made)
    return "\n".join([_line(heads), _line(rule), *lines]) + (f"\n\n{counted(more, 'more model')}." if more else "")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _views(certificate: Certificate) -> list[str]:
    lines = [
        _line([escaped(line.name), line.share, f"{line.items:,}", line.certified, escaped(line.leader)])
        for line in view_lines(certificate)[:MOST_ROWS]
    ]
    if not lines:
        return []
    more = len(certificate.views) - len(lines)
    head = [_line(["view", "share of alpha", "items", "certified", "leader so far"]), "| :-- | --: | --: | --: | :-- |"]
    return ["\n".join([*head, *lines]), *([f"{counted(more, 'more view')}."] if more else [])]
