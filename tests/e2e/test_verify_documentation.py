"""Every check and every key of ``bbedge verify`` is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import bbedge as package
from bbedge.verify.checks import CheckKind

ROOT = Path(__file__).parents[2]


def test_every_check_and_key_is_documented(bbedge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = package.read_scores(ROOT / "demo" / "scores.csv")
    Path("c.json").write_text(package.certify(scores).to_json())
    board = {"models": scores.models, "items": scores.items, "blocks": scores.blocks}
    with package.Board.create("b.bbedge", package.BoardDesign(), **board) as made:
        made.add(scores)
        Path("b.json").write_text(made.certificate().to_json())
    done = bbedge("verify", "c.json", ROOT / "demo" / "scores.csv", "--json", "-")
    of_scores, of_board = (
        json.loads(each.out) for each in (done, bbedge("verify", "b.json", "b.bbedge", "--json", "-"))
    )
    kinds = {check["kind"] for result in (of_scores, of_board) for check in result["checks"]}
    assert len(kinds) == 10
    kinds |= set(get_args(CheckKind))
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert {kind for kind in kinds if f"`{kind}`" not in page} == set()
    keys = {*of_scores, *of_scores["checks"][0]}
    page = (ROOT / "docs" / "howto" / "verify.md").read_text(encoding="utf-8")
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_every_key_of_the_provenance_is_documented():
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = re.search(r"### Provenance\n(.*?)\n### ", page, re.DOTALL)[1]
    schema = json.loads((ROOT / "docs" / "certificate.schema.json").read_text(encoding="ascii"))["$defs"]
    keys = {*schema["ProvenanceRecord"]["properties"], *schema["SourceRecord"]["properties"]}
    assert {key for key in keys if f"`{key}`" not in section} == set()
