"""Words of the documentation and of the program that clashed once: each has one meaning."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CODE = re.compile(r"`[^`]*`")


@cache
def messages(source: Path) -> list[str]:
    """Every text in a module that is no docstring of something internal: messages and the help of commands."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    internal = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and "/cli/" not in source.as_posix()
    }
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [node.value for node in texts if id(node) not in internal and " " in node.value]


@pytest.mark.parametrize("word", ["for certain", "their certificates", "do not change with the next run"])
def test_what_is_not_true_is_not_said(word):
    assert [page.name for page in PAGES if word in page.read_text(encoding="utf-8").lower()] == []
    assert [source.name for source in SOURCES if any(word in text.lower() for text in messages(source))] == []


def test_a_missing_score_a_difference_and_a_number_left_out_are_not_all_called_gap():
    gap = re.compile(r"\bgaps?\b", re.IGNORECASE)
    assert [page.name for page in PAGES if gap.search(CODE.sub("", page.read_text(encoding="utf-8")))] == []
    found = {(source.name, text) for source in SOURCES for text in messages(source) if gap.search(CODE.sub("", text))}
    assert {text for _, text in found if "``gaps``" not in text and "gaps." not in text} == set()


def test_the_page_on_blocks_repeats_the_plan_of_the_tutorial():
    said = (ROOT / "docs" / "howto" / "blocks.md").read_text(encoding="utf-8")
    plan = (ROOT / "docs" / "tutorial" / "first-leaderboard.md").read_text(encoding="utf-8")
    for difference in ("0.1", "0.01"):
        row = re.search(rf"^ *{difference} +([\d,]+) +([\d,]+) ", plan.split("Replicates needed")[1], re.MULTILINE)
        assert row is not None
        assert re.search(rf"{row[2]}( runs)? instead of {row[1]} for (a difference of )?{difference}\b", said)
