"""A study as a table, as a page and as a figure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column as TextColumn
from rich.text import Text
from scipy.special import betaincinv

from bbedge.display.plotting import COLOURS, DASHES, house_style, save_figure
from bbedge.display.tables import markdown_line, numbers, text_table
from bbedge.errors import Argument, DataError
from bbedge.files import write_whole
from bbedge.records.codec import plain
from bbedge.study.contenders import METRICS
from bbedge.study.experiments import STUDIES
from bbedge.study.monte_carlo import Made, StudyNumber, StudyResults, read_made
from bbedge.study.study import Published, Study, StudyColumn
from bbedge.text import shown, shown_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Z = 1.959963984540054
_PAPER_REPETITIONS = 500
_DIGITS = dict.fromkeys(("cr", "standing cr", "resolved", "standing resolved", "width", "standing width"), 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCell:
    """One number, with what the paper printed."""

    ours: str
    """Our number with its Monte Carlo error; a dash if it was not measured or not reached."""
    paper: str
    """The paper's; empty if it printed none."""
    differs: bool
    """Whether the two cannot be the same up to Monte Carlo error."""


_UNMEASURED = StudyCell(ours="-", paper="", differs=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTable:
    """The numbers of one setting."""

    setting: str
    """Name of the setting."""
    headings: tuple[str, ...]
    """What the columns are."""
    methods: tuple[str, ...]
    """What the rows are."""
    cells: tuple[tuple[StudyCell, ...], ...]
    """The numbers, row by row."""


def heading(column: StudyColumn, looks: int) -> str:
    """What a column is called."""
    label = METRICS[column.metric].label
    if column.reaches is not None:
        return f"{label.replace(' at r', '')} {100 * column.reaches:g} % at replicate"
    at = column.at or looks
    return label.replace(" at r", f" at {at}").replace(" up to r", f" up to {at}").replace(" by r", f" by {at}")


def setting_tables(study: Study, results: StudyResults) -> tuple[SettingTable, ...]:
    """One table per setting, with the columns that were measured in it."""
    return tuple(_setting_table(study, results, name) for name in results.settings())


def _setting_table(study: Study, results: StudyResults, setting: str) -> SettingTable:
    printed = {(each.method, each.column): each for each in study.published if each.setting == setting}
    methods = results.methods(setting)
    looks = max((row.replicate or 0) for row in results.rows if row.setting == setting)
    columns = [
        column
        for column in study.table
        if (column.at is None or column.at <= looks)
        and any(results.curve(setting, method, column.metric) for method in methods)
    ]
    return SettingTable(
        setting=setting,
        headings=tuple(heading(column, looks) for column in columns),
        methods=methods,
        cells=tuple(
            tuple(
                _cell(results.cell(setting, method, column), column, printed.get((method, column)), looks)
                if results.curve(setting, method, column.metric)
                else _UNMEASURED
                for column in columns
            )
            for method in methods
        ),
    )


def _cell(row: StudyNumber | None, column: StudyColumn, published: Published | None, looks: int) -> StudyCell:
    paper = "" if published is None else f"{published.value:g}"
    if published is not None and published.deviation is not None:
        paper += f" ± {_Z * published.deviation / math.sqrt(_PAPER_REPETITIONS):.2f}"
    if row is None:
        return StudyCell(ours=f"not by {looks}", paper=paper, differs=published is not None)
    if column.reaches is not None:
        ours = f"{row.value:g} [{row.low:g}, {row.high:g}]"
    elif METRICS[column.metric].kind == "share":
        ours = f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"
    else:
        digits = _DIGITS.get(column.metric, 3)
        ours = f"{row.value:.{digits}f} ± {(row.high - row.low) / 2:.{digits}f}"
    return StudyCell(ours=ours, paper=paper, differs=published is not None and not agrees(row, column, published))


def agrees(row: StudyNumber, column: StudyColumn, published: Published) -> bool:
    """Whether our 95 % Monte Carlo interval meets the paper's; a number printed alone is taken as it stands."""
    low, high = published.value, published.value
    if column.reaches is not None:
        low, high = low - 1.0, high + 1.0  # read off a curve
    elif METRICS[column.metric].kind == "share":
        hits = round(published.value * _PAPER_REPETITIONS)
        low = 0.0 if hits == 0 else float(betaincinv(hits, _PAPER_REPETITIONS - hits + 1, 0.025))
        high = 1.0
        if hits < _PAPER_REPETITIONS:
            high = float(betaincinv(hits + 1, _PAPER_REPETITIONS - hits, 0.975))
    elif published.deviation is not None:
        half = _Z * published.deviation / math.sqrt(_PAPER_REPETITIONS)
        low, high = low - half, high + half
    return row.low <= high and low <= row.high


def show_study(console: Console, study: Study, tables: Sequence[SettingTable], *, made: str) -> None:
    """Print a study's numbers."""
    console.print()
    console.print(Text(study.title, style="bold"))
    console.print(Text(study.question))
    console.print(Text(f"Repeats {study.source}. {made}" if study.source != "ours" else made, style="dim"))
    for each in tables:
        rows = ((Text(method), *map(_shown, cells)) for method, cells in zip(each.methods, each.cells, strict=True))
        heads = [TextColumn("method", no_wrap=True), *numbers(*each.headings)]
        console.print()
        console.print(text_table(heads, rows, title=Text(each.setting, style="bold"), box=None), highlight=False)
    if study.published:
        console.print()
        console.print(
            Text(
                "Below ours: the paper's number; yellow where the two differ by more than Monte Carlo error.",
                style="dim",
            )
        )


def _shown(cell: StudyCell) -> Text:
    text = Text(cell.ours)
    if cell.paper:
        text.append(f"\npaper {cell.paper}", style="yellow" if cell.differs else "dim")
    return text


_MARKS = r"[\\`*\[\]<>|&]|(?<![^\W_])_|_(?![^\W_])"  # an underscore inside a word means nothing


def study_page(study: Study, results: StudyResults, made: Made) -> str:
    """The page, in Markdown."""
    tables = setting_tables(study, results)
    repeats = [f"This repeats {study.source}.", ""] if study.source != "ours" else []
    settings = [line for table in tables for line in (f"### {_plain(table.setting)}", "", *_markdown(table), "")]
    lines = [
        *(f"# {study.title}", "", study.question, ""),
        *("![Curves of every setting](figure.png)", "", *repeats),
        *("## Numbers", "", *_legend(study, results), *settings),
        *("## What to know", "", *(f"* {_plain(line)}" for line in agreements(tables))),
        *(*(f"* {note}" for note in study.notes), ""),
        *("## How it was made", "", study.setup, "", made.sentence(), ""),
        *("```", made.command(study), "```", ""),
        "All numbers, at every look: [results.csv](results.csv). The figure for print: [figure.svg](figure.svg).",
        "",
    ]
    return "\n".join(lines)


def definitions(study: Study, results: StudyResults) -> Iterable[tuple[str, str]]:
    """What the measured metrics of the tables are called, and what they mean."""
    measured = {row.metric for row in results.rows}
    for name in dict.fromkeys(column.metric for column in study.table if column.metric in measured):
        yield METRICS[name].label, f"{METRICS[name].meaning}."


def reading(study: Study) -> Iterable[str]:
    """How to read the numbers of the tables."""
    yield "In brackets or after ±: the pointwise 95 % Monte Carlo interval."
    if study.published:
        yield (
            "After the slash: the paper's number; ≠ marks those that differ from ours by more than both Monte Carlo "
            "intervals."
        )


def _legend(study: Study, results: StudyResults) -> Iterable[str]:
    yield from (f"* **{label}**: {meaning}" for label, meaning in definitions(study, results))
    yield from (f"* {line.replace('≠', '**≠**')}" for line in reading(study))
    yield ""


def _markdown(table: SettingTable) -> Iterable[str]:
    yield markdown_line(["method", *table.headings])
    yield "|---|" + "---:|" * len(table.headings)
    for method, cells in zip(table.methods, table.cells, strict=True):
        papers = (f" / {cell.paper}{' **≠**' if cell.differs else ''}" if cell.paper else "" for cell in cells)
        yield markdown_line([method, *(f"{cell.ours}{paper}" for cell, paper in zip(cells, papers, strict=True))])


def agreements(tables: Sequence[SettingTable]) -> Iterable[str]:
    """How many of the paper's numbers were met, setting by setting."""
    for table in tables:
        printed = [cell for row in table.cells for cell in row if cell.paper]
        if printed:
            met = sum(not cell.differs for cell in printed)
            yield f"{table.setting}: {met} of {len(printed)} published numbers agree with ours."


def _plain(text: str) -> str:
    """A text that may have the name of a file in it, without any meaning in Markdown."""
    return re.sub(_MARKS, lambda found: f"\\{found[0]}", shown(text, None))


def index_page(studies: Iterable[Study], made: dict[str, Made]) -> str:
    """The list of all studies that have results."""
    lines = [
        "# Studies",
        "",
        "Every simulation of the paper, and our own. `make studies` runs all, `bbedge study run NAME` runs one.",
        "The same seed gives the same bytes, with any number of workers.",
        "",
        "| study | question | reproduces | repetitions |",
        "|---|---|---|---:|",
    ]
    for study in studies:
        if study.name in made:
            link = f"[{study.title}]({study.name}/README.md)"
            lines.append(f"| {link} | {study.question} | {study.source} | {made[study.name].repetitions} |")
    return "\n".join([*lines, ""])


def write_study(study: Study, results: StudyResults, made: Made, out: Path) -> None:
    """Write the table, the figure, the page and the record of the run; last, the list of studies."""
    # As they will be read back: the page and the figure then follow from the table alone.
    results = type(results).from_csv(results.to_csv(), repetitions=results.repetitions)
    folder = out / study.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{shown_path(folder)}: cannot create the folder ({error.strerror}); choose another ", Argument("out")
        ) from error
    write_whole(folder / "results.csv", results.to_csv())
    save_figure(study_figure(study, results), folder / "figure.png", folder / "figure.svg")
    write_whole(folder / "README.md", study_page(study, results, made))
    write_whole(folder / "run.json", json.dumps(plain(made), indent=1) + "\n")
    records = {name: read_made(out / name) for name in STUDIES}
    found = {name: record for name, record in records.items() if record is not None}
    write_whole(out / "README.md", index_page(STUDIES.values(), found))


# Ours are drawn last and strongest, and look the same in every figure.
_OURS = {
    "BB-EDGE": "#0072B2",
    "BB-EDGE-X": "#D55E00",
    "BB-EDGE-X, whole alpha": "#8B2F00",
    "BB-EDGE-X, planned": "#8B2F00",
    "BB-EDGE-X, design stakes": "#009E73",
    "BB-EDGE-X, design stakes, planned": "#00563F",
    "BB-EDGE-X, design stakes, two-way": "#56B4E9",
    "BB-EDGE-X, design stakes, two-way, planned": "#1F6E9C",
    "BB-EDGE-X, two-way": "#AA3377",
    **dict.fromkeys(("BB-EDGE-X, two-way, planned", "BB-EDGE-X, whole alpha, two-way"), "#661144"),
    "BB-EDGE + pilot": "#332288",
    "BB-EDGE-X, one block": "#D55E00",
    "BB-EDGE, epoch reset": "#0072B2",
    "BB-EDGE-X, epoch reset": "#D55E00",
    "bernstein": "#0072B2",
    "betting, design stakes": "#E8A06B",
    "Holm z-test, one look": "#000000",
    "bbedge gate": "#D55E00",
    "bbedge gate, last look alone": "#E8A06B",
}
# Variants of one method, so that they do not differ by colour alone.
_DASHED = {
    "BB-EDGE-X, whole alpha": "-.",
    "BB-EDGE-X, planned": "--",
    "BB-EDGE-X, design stakes": "-.",
    "BB-EDGE-X, design stakes, planned": (0, (6, 1, 1, 1, 1, 1)),
    "BB-EDGE-X, design stakes, two-way": (0, (4, 2)),
    "BB-EDGE-X, design stakes, two-way, planned": (0, (5, 1)),
    "BB-EDGE-X, two-way": ":",
    **dict.fromkeys(("BB-EDGE-X, two-way, planned", "BB-EDGE-X, whole alpha, two-way"), (0, (1, 3))),
    "betting, design stakes": "--",
    "bbedge gate, last look alone": "--",
}
_TARGET: dict[str, Any] = {"color": "#444444", "linestyle": (0, (5, 3)), "linewidth": 1.0}
_ALPHA = 0.05


def study_figure(study: Study, results: StudyResults, *, width: float | None = None) -> Figure:
    """Draw the curves of a study; a figure that will have this width in inches has a legend that fits."""
    with house_style():
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        settings, metrics = results.settings(), study.figure
        columns = len(settings) if len(settings) <= 3 else 4 if len(settings) % 4 == 0 else 3
        groups = -(-len(settings) // columns)
        rows = groups * len(metrics)
        figure = Figure(figsize=(1.2 + 3.0 * columns, 0.9 + 2.3 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).reshape(groups, len(metrics), columns)
        looks = method_looks(results)
        panels = axes.transpose(0, 2, 1).reshape(-1, len(metrics))  # a row for each setting
        for setting, its_panels in zip(settings, panels[: len(settings)], strict=True):
            for metric, ax in zip(metrics, its_panels, strict=True):
                _panel(ax, results, setting, metric, looks)
            its_panels[0].set_title(setting, fontweight="bold")
            its_panels[-1].set_xlabel("replicate r")
        for leftmost in axes[:, :, 0]:
            for metric, ax in zip(metrics, leftmost, strict=True):
                ax.set_ylabel(METRICS[metric].label)
        for ax in panels[len(settings) :].ravel():
            ax.set_visible(False)
        found = {
            label: handle for ax in axes.ravel() for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        labels = [*filter(found.__contains__, looks), "target level"]
        found["target level"] = Line2D([], [], **_TARGET)
        # In inches: what a line and a letter take, on the average.
        fitting = int((width or figure.get_figwidth()) / (0.6 + 0.08 * sum(map(len, labels)) / len(labels)))
        ncols = max(1, min(len(labels), 2 + 2 * min(columns, 2), fitting))
        figure.legend([found[label] for label in labels], labels, loc="outside upper center", ncols=ncols)
        return figure


def method_looks(results: StudyResults) -> dict[str, dict[str, Any]]:
    """How the curve of each method looks, in every panel."""
    methods = dict.fromkeys(method for setting in results.settings() for method in results.methods(setting))
    return {method: _look(place, method) for place, method in enumerate(methods)}


def _look(place: int, method: str) -> dict[str, Any]:
    strong = method in _OURS
    others = COLOURS[2:]
    return {
        "color": _OURS.get(method, others[place % len(others)]),
        "linestyle": _DASHED.get(method, "-") if strong else DASHES[place % len(DASHES)],
        "linewidth": 2.2 if strong else 1.3,
        "zorder": 3 if strong else 2,
    }


def target_level(metric: str) -> float | None:
    """What a metric should not exceed, or should reach; none if it has no such level."""
    return {"alpha": _ALPHA, "1 - alpha": 1.0 - _ALPHA}.get(METRICS[metric].target or "")


def value_range(results: StudyResults, metric: str, top: float) -> tuple[float, float]:
    """Where the axis of a metric starts and ends; ``top`` is the largest value on it, or 1."""
    if METRICS[metric].target == "alpha" and max(r.value for r in results.rows if r.metric == metric) < 2 * _ALPHA:
        return -0.004, 2.2 * _ALPHA  # all are small: let the reader see how small
    if METRICS[metric].kind == "share" or metric in ("power", "standing power", "false"):
        return -0.03, 1.03
    return 0.0, 1.05 * top


def curves_over_looks(results: StudyResults, setting: str, metric: str) -> dict[str, list[StudyNumber]]:
    """A metric look by look, of each method that has it."""
    curves = {
        method: [row for row in results.curve(setting, method, metric) if row.replicate is not None]
        for method in results.methods(setting)
    }
    return {method: curve for method, curve in curves.items() if curve}


def _panel(ax: Axes, results: StudyResults, setting: str, metric: str, looks: dict[str, dict[str, Any]]) -> None:
    top = 1.0
    for method, curve in curves_over_looks(results, setting, metric).items():
        at, values = [row.replicate or 0 for row in curve], [row.value for row in curve]
        ax.plot(at, values, label=method, **looks[method])
        low, high = [row.low for row in curve], [row.high for row in curve]
        ax.fill_between(at, low, high, color=looks[method]["color"], alpha=0.12, lw=0)
        top = max(top, *values)
    target = target_level(metric)
    if target is not None:
        ax.axhline(target, **_TARGET, zorder=1)
    ax.set_ylim(value_range(results, metric, top))
    ax.margins(x=0.01)
