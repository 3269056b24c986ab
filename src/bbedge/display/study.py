"""A study as a table and as a page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text
from scipy.special import betaincinv

from bbedge.study.measures import METRICS
from bbedge.study.results import StudyNumber, StudyResults
from bbedge.study.study import Published, Study, StudyColumn
from bbedge.text import shown

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
    tables = []
    printed = {(each.setting, each.method, each.column): each for each in study.published}
    for name in results.settings():
        methods = results.methods(name)
        looks = max((row.replicate or 0) for row in results.rows if row.setting == name)
        columns = [
            column
            for column in study.table
            if (column.at is None or column.at <= looks)
            and any(results.curve(name, method, column.metric) for method in methods)
        ]
        tables.append(
            SettingTable(
                setting=name,
                headings=tuple(heading(column, looks) for column in columns),
                methods=methods,
                cells=tuple(
                    tuple(
                        _cell(results.cell(name, method, column), column, printed.get((name, method, column)), looks)
                        if results.curve(name, method, column.metric)
                        else _UNMEASURED
                        for column in columns
                    )
                    for method in methods
                ),
            )
        )
    return tuple(tables)


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
        table = Table(title=Text(each.setting, style="bold"), title_justify="left", box=None, pad_edge=False)
        table.add_column("method", no_wrap=True)
        for text in each.headings:
            table.add_column(text, justify="right")
        for method, cells in zip(each.methods, each.cells, strict=True):
            table.add_row(Text(method), *(_shown(cell) for cell in cells))
        console.print()
        console.print(table, highlight=False)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How results were made."""

    seed: int
    """Seed of the study."""
    repetitions: int
    """Repetitions of every setting."""
    version: str
    """Version of bbedge."""
    fingerprint: str
    """Stands for the code and the settings."""
    data: tuple[str, ...] = ()
    """Names of the files that were brought to it."""

    def command(self, study: Study) -> str:
        """The line that makes it again."""
        data = "".join(f" --data {name}" for name in self.data)
        return f"bbedge study run {study.name} --repetitions {self.repetitions} --seed {self.seed}{data}"

    def sentence(self) -> str:
        """The same in words."""
        return f"{self.repetitions} repetitions, seed {self.seed}, bbedge {self.version}, code {self.fingerprint}."


def study_page(study: Study, results: StudyResults, made: Made) -> str:
    """The page, in Markdown."""
    tables = setting_tables(study, results)
    lines = [f"# {study.title}", "", study.question, ""]
    lines += ["![Curves of every setting](figure.png)", ""]
    if study.source != "ours":
        lines += [f"This repeats {study.source}.", ""]
    lines += ["## Numbers", ""]
    lines += _legend(study, results)
    for table in tables:
        lines += [f"### {_plain(table.setting)}", "", *_markdown(table), ""]
    lines += ["## What to know", "", *_differences(tables), *(f"* {note}" for note in study.notes), ""]
    lines += ["## How it was made", "", study.setup, "", made.sentence(), ""]
    lines += ["```", made.command(study), "```", ""]
    lines += [
        "All numbers, at every look: [results.csv](results.csv). The figure for print: [figure.svg](figure.svg).",
        "",
    ]
    return "\n".join(lines)


def _legend(study: Study, results: StudyResults) -> Iterable[str]:
    measured = {row.metric for row in results.rows}
    for name in dict.fromkeys(column.metric for column in study.table if column.metric in measured):
        metric = METRICS[name]
        yield f"* **{metric.label}**: {metric.meaning}."
    yield "* In brackets or after ±: the pointwise 95 % Monte Carlo interval."
    if study.published:
        yield (
            "* After the slash: the paper's number; **≠** marks those that differ from ours by more than both Monte "
            "Carlo intervals."
        )
    yield ""


def _markdown(table: SettingTable) -> Iterable[str]:
    yield "| method | " + " | ".join(table.headings) + " |"
    yield "|---|" + "---:|" * len(table.headings)
    for method, cells in zip(table.methods, table.cells, strict=True):
        texts = []
        for cell in cells:
            paper = f" / {cell.paper}{' **≠**' if cell.differs else ''}" if cell.paper else ""
            texts.append(f"{cell.ours}{paper}")
        yield f"| {method} | " + " | ".join(texts) + " |"


def _differences(tables: Sequence[SettingTable]) -> Iterable[str]:
    """How many of the paper's numbers were met, setting by setting."""
    for table in tables:
        printed = [cell for row in table.cells for cell in row if cell.paper]
        if printed:
            met = sum(not cell.differs for cell in printed)
            yield f"* {_plain(table.setting)}: {met} of {len(printed)} published numbers agree with ours."


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
