"""The table for LaTeX: numbers of the frame, and names that LaTeX sets as they are."""

import re
from dataclasses import replace

import pytest

from bbedge.core.leaderboard import Certifier, certify, certify_design
from bbedge.display.compact import latex_text
from unit.certificate.documents import drawn, many

HOSTILE = r"\input{/etc/passwd} 100% $x_1^2$ #1 & a~b <|>"


def rows(table: str, columns: str = "rlrrr", interval: str = "") -> list[list[str]]:
    lines = table.splitlines()
    assert lines[:4] == [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rf"Rank & Model & Mean & {interval}Beats & Loses to \\",
        r"\midrule",
    ]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert all(line.endswith(r" \\") for line in lines[4:-2])
    return [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines[4:-2]]


def test_the_table_has_the_numbers_of_the_frame():
    leaderboard = certify(drawn([0.9, 0.55, 0.5, 0.1]), method="bb-edge-x")
    expected = []
    for row in leaderboard.to_frame().iter_rows(named=True):
        best, worst = row["rank_best"], row["rank_worst"]
        rank = str(best) if best == worst else f"{best}--{worst}"
        expected.append([rank, row["model"], f"{row['mean']:.4f}", str(row["wins"]), str(row["losses"])])
    assert rows(leaderboard.to_latex()) == expected
    assert {row[0] for row in expected} == {"1", "2--3", "4"}


def test_intervals_of_means_have_a_column_and_are_rounded_outwards():
    scores = replace(drawn([0.9, 0.5, 0.1]), score_range=(-1.0, 1.0))
    leaderboard = certify_design(scores, scores.design(mean_share=0.1))
    found = rows(leaderboard.to_latex(), "rlrrrr", "Interval & ")
    for row, (low, high) in zip(found, leaderboard.certificate().mean_intervals, strict=True):
        ends = [float(end) for end in re.fullmatch(r"\[(.+), (.+)\]", row[3].replace("$", "")).groups()]
        assert low - 1e-3 <= ends[0] <= low < high <= ends[1] <= high + 1e-3
        assert ("$-" in row[3]) == (low < 0.0)


def test_more_models_than_list_their_pairs():
    assert len(rows(many(501).to_latex())) == 501


def test_before_the_first_replicate_there_is_no_mean():
    table = Certifier(drawn([0.5, 0.5]).design(method="bb-edge")).leaderboard().to_latex()
    assert [row[2] for row in rows(table)] == ["-", "-"]


def undone(text: str) -> str:
    """What LaTeX sets: commands by their letters, empty groups dropped."""
    commands = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<"}
    commands |= {"textgreater": ">", "textbar": "|", "char34": '"'}
    return re.sub(r"\\([a-z]+[0-9]*)\{\}|\\([&%$#_{}])|\{\}", lambda m: _set(m, commands), text)


def _set(match: re.Match, commands: dict) -> str:
    return commands[match[1]] if match[1] else match[2] or ""


@pytest.mark.parametrize("name", [HOSTILE, "plain-4o", "a--b---c", "it''s ``so''", '"q"', "Größe", r"\\", "{}", "?`!`"])
def test_names_are_set_as_they_are(name):
    text = latex_text(name)
    assert undone(text) == name
    # Nothing that LaTeX would run, count as a column, or join to another letter.
    bare = re.sub(r"\\(text[a-z]+|char34)\{\}|\\[&%$#_{}]", "", text)
    assert not set(bare.replace("{}", "")) & set('\\&%$#_{}~^<>|"')
    assert not re.search("--|''|``|,,|[?!]`", text)


def test_a_common_name_stays_readable():
    assert latex_text("gpt-4.1_mini") == r"gpt-4.1\_mini"


def test_invisible_characters_are_shown():
    assert latex_text("a\x1b\nb") == r"a\textbackslash{}x1b\textbackslash{}x0ab"


def test_a_hostile_name_stays_in_its_cell():
    leaderboard = certify(drawn([0.9, 0.1], names=[HOSTILE, "b"]), method="bb-edge-x")
    found = rows(leaderboard.to_latex())
    assert [len(row) for row in found] == [5, 5]
    assert undone(found[0][1]) == HOSTILE
