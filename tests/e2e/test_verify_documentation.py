"""What the page about verifying shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import bbedge as package

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "verify.md"
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_bytes((ROOT / "demo" / "scores.csv").read_bytes())
    scores = package.read_scores("scores.csv")
    board = {"models": scores.models, "items": scores.items, "blocks": scores.blocks}
    with package.Board.create("board.bbedge", package.BoardDesign(), **board) as made:
        made.add(scores)
        Path("board.json").write_text(made.certificate().to_json())
    return tmp_path


def test_the_commands_run_and_print_what_is_shown(bbedge, place):
    said, commands = "", 0
    for kind, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "text":
            assert block.strip() == said.splitlines()[0]
            continue
        for line in block.splitlines():
            outcome = bbedge(*shlex.split(line)[1:])
            assert outcome.code == 0, (line, outcome.err, outcome.out)
            said, commands = outcome.out, commands + 1
    assert commands == 7
    assert {"verified", "recomputed", "summary", "checks"} <= set(package.Verification(checks=(), version="1").content)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target


def test_every_check_is_documented(bbedge, place):
    assert bbedge("certify", "scores.csv", "--json", "c.json").code == 0
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    results = [bbedge("verify", *words).out for words in (("c.json", "scores.csv"), ("board.json", "board.bbedge"))]
    kinds = {kind for out in results for kind in re.findall(r"^(\w+) +(?:ok|differs|not checked)", out, re.MULTILINE)}
    assert "ledger" in kinds
    assert {kind for kind in kinds if f"`{kind}`" not in page} == set()
