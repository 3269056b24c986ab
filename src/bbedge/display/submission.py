"""The verdict on a submission, in a terminal and as Markdown for a pull request: everything in it is foreign text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bbedge.display.ranking import TRUST_WORDS
from bbedge.display.tables import escaped, markdown_line
from bbedge.records.submission import CheckStatus, SubmissionVerdict
from bbedge.text import counted, shown

_STATUS: Mapping[CheckStatus, str] = {"holds": "holds", "fails": "FAILS", "not-checked": "not checked"}
_LONGEST = 600  # characters of a foreign text


def verdict_lines(verdict: SubmissionVerdict) -> Iterator[str]:
    """The verdict, check by check."""
    yield _answer(verdict)
    for each in verdict.checks:
        yield f"  {_STATUS[each.status]:<12} {each.what}: {shown(each.text, _LONGEST)}"
    yield from (f"  {shown(line, _LONGEST)}" for line in verdict.news)
    yield f"SHA-256 {verdict.sha256}"


def verdict_markdown(verdict: SubmissionVerdict) -> str:
    """The verdict for a pull request."""
    rows = [("check", "", ""), ("---", "---", "---")]
    rows += [(each.what, _STATUS[each.status], escaped(shown(each.text, _LONGEST))) for each in verdict.checks]
    parts = [f"**{escaped(_answer(verdict))}**", "\n".join(map(markdown_line, rows))]
    if verdict.submission is not None:
        stated = verdict.submission
        parts.append("\n".join(_models(verdict)))
        if stated.protocol:
            parts.append(f"How the runs were made, in their words: {escaped(shown(stated.protocol, _LONGEST))}")
    if verdict.news:
        parts.append(
            "\n".join(["What adding it brings:", "", *(f"* {escaped(shown(line, _LONGEST))}" for line in verdict.news)])
        )
    parts.append(f"SHA-256 of the file: `{verdict.sha256}`")
    return "\n\n".join(parts) + "\n"


def _answer(verdict: SubmissionVerdict) -> str:
    stated = verdict.submission
    of = "The submission" if stated is None else f"The submission of {shown(stated.who, 120)}"
    if not verdict.accepted:
        failed = [each.what for each in verdict.checks if each.status == "fails"]
        return f"{of} is refused: {', '.join(failed)}."
    trust = TRUST_WORDS[verdict.trust] if verdict.trust else ""
    size = f"{counted(len(stated.scores.models), 'model')}, {counted(stated.scores.runs, 'run')}" if stated else ""
    return f"{of} passes every check: {size}, {trust}."


def _models(verdict: SubmissionVerdict) -> Iterator[str]:
    models = verdict.submission.scores.models if verdict.submission else ()
    yield markdown_line(("model", "stated mean", "scores"))
    yield markdown_line(("---", "---:", "---:"))
    for each in models[:50]:
        yield markdown_line((escaped(shown(each.model, 120)), f"{each.mean:.4g}", f"{each.scores:,}"))
    if len(models) > 50:
        yield markdown_line((f"and {counted(len(models) - 50, 'more model')}", "", ""))
