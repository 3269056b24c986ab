"""A study as a page: the figure, our numbers next to the paper's, and how to reproduce it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bbedge.display.study_table import SettingTable, setting_tables
from bbedge.study.measures import METRICS
from bbedge.study.results import Results
from bbedge.study.study import Study
from bbedge.text import shown

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


def study_page(study: Study, results: Results, made: Made) -> str:
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


def _legend(study: Study, results: Results) -> Iterable[str]:
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
