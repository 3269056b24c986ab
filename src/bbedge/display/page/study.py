"""A study's results as a page: its curves, its tables beside the paper's numbers, and how they were made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bbedge.display import study as words
from bbedge.display.geometry import ChartFrame, Scale
from bbedge.display.page import STYLES, written
from bbedge.display.page.charts import LookChart
from bbedge.study.contenders import METRICS
from bbedge.study.monte_carlo import Made, StudyNumber, StudyResults
from bbedge.study.study import Study

if TYPE_CHECKING:
    from markupsafe import Markup

_FRAME = ChartFrame(width=400.0, height=232.0, left=44.0, end=390.0, top=8.0, foot=196.0)
_DASHES = {"-": "", "--": "6 3", "-.": "8 3 2 3", ":": "2 3"}


class MethodLine(NamedTuple):
    """How a line is drawn."""

    method: str
    """Whose it is."""
    colour: str
    """On a light page; on a dark one its lightness is turned round."""
    dashes: str
    """As SVG has them; empty for a solid line."""
    width: float
    """In pixels."""
    path: str = ""
    """How it runs."""
    band: str = ""
    """The outline of its Monte Carlo intervals."""


class StudyPanel(NamedTuple):
    """The curves of one metric in one setting."""

    setting: str
    """Name of the setting."""
    label: str
    """What the metric is called."""
    axes: LookChart
    """Its axes."""
    lines: Sequence[MethodLine]
    """The methods, ours last."""
    target: float | None
    """How high the target level is, in pixels; none if the metric has none."""


def results_page(study: Study, results: StudyResults, made: Made) -> str:
    """The question, the curves, the numbers, what to know and how it was made."""
    looks = words.method_looks(results)
    panels = [panel for setting in results.settings() for panel in _panels(study, results, setting, looks)]
    drawn = {line.method for panel in panels for line in panel.lines}
    content = {
        "said": study.question,
        "study": study,
        "made": made,
        "words": words,
        "marked": marked,
        "results": results,
        "tables": words.setting_tables(study, results),
        "panels": panels,
        "legend": [_line(method, look) for method, look in looks.items() if method in drawn],
    }
    return written("study.html", content, title=study.title, styles=(*STYLES, "study.css"))


def marked(text: str) -> Markup:
    """What studies write in Markdown's marks for code, strong and emphasis, as markup; everything else is text.

    >>> marked("**Fitted** & *paired*: `a < b`")
    Markup('<strong>Fitted</strong> &amp; <em>paired</em>: <code>a &lt; b</code>')
    """
    from markupsafe import Markup, escape

    marks = {"`": "code", "**": "strong", "*": "em"}
    words = re.sub(
        r"(`|\*\*|\*)(?=\S)(.+?)\1", lambda found: f"<{marks[found[1]]}>{found[2]}</{marks[found[1]]}>", escape(text)
    )
    return Markup(words)  # of the escaped text


def _panels(
    study: Study, results: StudyResults, setting: str, looks: dict[str, dict[str, Any]]
) -> Iterator[StudyPanel]:
    for metric in study.figure:
        curves = words.curves_over_looks(results, setting, metric)
        if not curves:
            continue
        rows = [row for curve in curves.values() for row in curve]
        low, high = words.value_range(results, metric, max(1.0, *(row.value for row in rows)))
        up = Scale(low=low, high=high, start=_FRAME.foot, end=_FRAME.top)
        last = max(row.replicate or 0 for row in rows)
        across = Scale(low=1, high=last, start=_FRAME.left + 4, end=_FRAME.end - 8)
        target = words.target_level(metric)
        lines = (_line(method, looks[method], curve, across, up) for method, curve in curves.items())
        yield StudyPanel(
            setting=setting,
            label=METRICS[metric].label,
            axes=LookChart(across=across.ticks(), up=up.ticks(), curves=(), places=(), frame=_FRAME),
            lines=sorted(lines, key=lambda line: looks[line.method]["zorder"]),
            target=None if target is None else up.at(target),
        )


def _line(
    method: str,
    look: dict[str, Any],
    curve: Sequence[StudyNumber] = (),
    across: Scale | None = None,
    up: Scale | None = None,
) -> MethodLine:
    """A curve on its scales; without them, what stands for it in the legend."""
    style = look["linestyle"]
    dashes = _DASHES[style] if isinstance(style, str) else " ".join(f"{2 * each:g}" for each in style[1])
    line = MethodLine(method=method, colour=look["color"], dashes=dashes, width=look["linewidth"])
    if across is None or up is None:
        return line

    def path(rows: Sequence[StudyNumber], end: str) -> str:
        values = (min(max(getattr(row, end), up.low), up.high) for row in rows)
        places = (across.at(row.replicate or 0) for row in rows)
        return "L".join(f"{x:g} {up.at(value):g}" for x, value in zip(places, values, strict=True))

    band = f"M{path(curve, 'high')}L{path(curve[::-1], 'low')}Z"
    return line._replace(path=f"M{path(curve, 'value')}", band=band)
