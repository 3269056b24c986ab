"""A study as a web page: what its results say, in one safe file."""

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bbedge.display.page.study import results_page
from bbedge.display.study import agrees
from bbedge.study.experiments import STUDIES, study
from bbedge.study.monte_carlo import Made, StudyNumber, StudyResults, read_results
from bbedge.study.study import Published, StudyColumn

FOLDER = Path(__file__).parents[3] / "studies"
HOSTILE = '<script>window.hit=1</script> & "b"'
MADE = Made(repetitions=10, seed=1, version="1", fingerprint="0")


def text_of(markup: str) -> str:
    without_style = re.sub("<style>.*?</style>", "", markup, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub("<.*?>", "", without_style, flags=re.DOTALL)).split())


def rows_of(page: str) -> list[list[list[str]]]:
    """The cells of each table, row by row."""
    return [
        [[text_of(cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)] for row in re.findall("<tr>.*?</tr>", body)]
        for body in re.findall("<tbody>(.*?)</tbody>", page, flags=re.DOTALL)
    ]


def digits_of(number: float, printed: str) -> str:
    return f"{number:.{len(printed.partition('.')[2])}f}"


def made_up(*, setting: str = "s", method: str = "BB-EDGE", value: float = 0.5) -> StudyResults:
    rows = tuple(
        StudyNumber(setting, method, metric, look, value, 0.1, value - 0.1, value + 0.1)
        for metric in ("fwer", "power")
        for look in (1, 2)
    )
    return StudyResults(repetitions=10, rows=rows)


@pytest.mark.parametrize("name", ["power", "new-items", "gates"])
def test_every_number_of_its_tables_is_in_the_results_or_the_papers(name):
    found = STUDIES[name]
    results, made = read_results(FOLDER / name, found)
    tables = rows_of(results_page(found, results, made))
    assert len(tables) == len(results.settings())
    seen = papers = 0
    for setting, rows in zip(results.settings(), tables, strict=True):
        assert [row[0] for row in rows] == list(results.methods(setting))
        looks = max(row.replicate or 0 for row in results.rows if row.setting == setting)
        methods = results.methods(setting)
        columns = [
            column
            for column in found.table
            if (column.at or 0) <= looks and any(results.curve(setting, method, column.metric) for method in methods)
        ]
        for method, *cells in rows:
            for cell, column in zip(cells, columns, strict=True):
                ours, _, paper = cell.partition(" / ")
                row = results.cell(setting, method, column)
                if row is None:
                    assert ours in ("-", f"not by {looks}")
                else:
                    value, *interval = re.findall(r"[\d.]+", ours)
                    assert value == digits_of(row.value, value)
                    if "±" in ours:
                        assert interval == [digits_of((row.high - row.low) / 2, interval[0])]
                    else:
                        assert interval == [digits_of(row.low, interval[0]), digits_of(row.high, interval[1])]
                    seen += 1
                printed = [
                    each
                    for each in found.published
                    if (each.setting, each.method, each.column) == (setting, method, column)
                ]
                assert bool(paper) is bool(printed)
                if printed:
                    assert paper.startswith(f"{printed[0].value:g}")
                    assert paper.endswith("≠") is (row is None or not agrees(row, column, printed[0]))
                    papers += 1
    assert seen > 20
    assert bool(papers) is bool(found.published)


def test_it_says_what_was_asked_what_to_know_and_how_it_was_made():
    found = STUDIES["power"]
    results, made = read_results(FOLDER / "power", found)
    page = results_page(found, results, made)
    assert f"<title>{found.title}</title>" in page
    assert f'<meta name="description" content="{html.escape(found.question)}">' in page
    assert '<link rel="icon" href="data:image/svg+xml,' in page
    text = text_of(page)
    assert f"{found.title} {found.question} Repeats {found.source}. {made.sentence()}" in text
    plain_notes = [re.sub(r"[`*]", "", note) for note in (*found.notes, found.setup)]
    assert all(note in text for note in plain_notes)
    assert "published numbers agree with ours." in text
    assert made.command(found) in text
    assert len(re.findall("<figcaption>", page)) == len(results.settings()) * len(found.figure)


def test_it_is_one_file_that_asks_for_nothing_and_runs_nothing():
    page = results_page(study("power"), made_up(), MADE)
    policy = html.unescape(re.search('Content-Security-Policy" content="(.*?)"', page)[1])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|url\(|@import| style=", page)
    assert page.isascii()


def test_hostile_names_stay_text():
    results = made_up(setting=HOSTILE, method=HOSTILE)
    column = StudyColumn(metric="power")
    printed = Published(setting=HOSTILE, method=HOSTILE, column=column, value=0.5)
    found = replace(
        study("power"),
        title=HOSTILE,
        question=HOSTILE,
        source=HOSTILE,
        setup=HOSTILE,
        notes=(f"`{HOSTILE}`",),
        table=(column,),
        published=(printed,),
    )
    made = Made(repetitions=10, seed=1, version=HOSTILE, fingerprint=HOSTILE, data=(HOSTILE,))
    page = results_page(found, results, made)
    assert "<script" not in page
    assert text_of(page).count(HOSTILE) >= 12


def test_curves_are_drawn_where_their_values_are():
    page = results_page(study("power"), made_up(value=0.5), MADE)
    axes = re.search(r'aria-label="power at r in s: a curve for each of 1 methods?".*?</svg>', page, re.DOTALL)[0]
    marks = {
        text: float(at)
        for at, text in re.findall(r'y1="([\d.]+)" y2.*?<text class="tick"[^>]*>([\d.]+)</text>', axes, re.DOTALL)
    }
    line = re.search(r'stroke="#0072B2"[^>]* d="M([^"]*)"', axes)[1]
    heights = {float(point.split()[1]) for point in line.split("L")}
    assert heights == {marks["0.5"]}
    band = re.search(r'class="drawn within"[^>]* d="M([^"Z]*)Z"', axes)[1]
    per_unit = marks["0"] - marks["1"]
    found = sorted({float(point.split()[1]) for point in band.split("L")})
    assert found == pytest.approx([marks["0.5"] - 0.1 * per_unit, marks["0.5"] + 0.1 * per_unit], abs=0.1)


def test_a_study_without_curves_over_looks_has_tables_alone():
    rows = (StudyNumber("s", "BB-EDGE", "power", None, 0.5, 0.1, 0.4, 0.6),)
    page = results_page(study("power"), StudyResults(repetitions=10, rows=rows), MADE)
    assert "<figure" not in page
    assert ">Curves<" not in page
    assert "0.500 ± 0.100" in text_of(page)
