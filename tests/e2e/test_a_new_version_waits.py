"""A board whose newest version has no runs shows the last version that has some, and says so."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.core.leaderboard import Certifier
from unit.certificate.documents import drawn

ITEMS = [f"q{i}" for i in range(30)]


def write_runs(path: Path, models: list[str], items: list[str], replicates: int) -> Path:
    rng = np.random.default_rng(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "replicate", "score"])
        for replicate in range(1, replicates + 1):
            for model, mean in zip(models, np.linspace(0.95, 0.05, len(models)), strict=True):
                writer.writerows([model, item, replicate, int(rng.random() < mean)] for item in items)
    return path


@pytest.fixture
def grown(bbedge, tmp_path) -> Path:
    """Three models, three replicates, then eight more items and no run on them."""
    (tmp_path / "design.toml").write_text('method = "bb-edge-x"\nalpha = 0.1\n')
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(ITEMS) + "\n")
    (tmp_path / "more.csv").write_text("item\n" + "\n".join(f"new{i}" for i in range(8)) + "\n")
    board = tmp_path / "b.bbedge"
    runs = write_runs(tmp_path / "runs.csv", ["a", "b", "c"], ITEMS, 3)
    for command in (
        ("init", board, "--design", tmp_path / "design.toml", "--items", tmp_path / "items.csv", "--models", "a,b,c"),
        ("add", board, runs),
        ("add-items", board, tmp_path / "more.csv"),
    ):
        done = bbedge("board", *command)
        assert done.code == 0, done.err
    return board


def test_the_last_version_with_runs_is_shown(bbedge, grown, tmp_path):
    page, out = tmp_path / "p.html", tmp_path / "d.json"
    done = bbedge("board", "show", grown, "--html", page, "--json", out)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "epoch 1 · all looks" in said
    assert "Epoch 2 is open (38 items, 3 models)" in said
    assert "has no replicate yet" in said
    assert "nan" not in done.out
    assert re.search(r"^1st +1 .*\ba +0\.\d+", done.out, re.MULTILINE)
    document = json.loads(out.read_text(encoding="ascii"))
    assert (document["board"]["epoch"], document["board"]["epochs"], document["replicates"]) == (1, 2, 3)
    assert any("Epoch 2 is open" in note["text"] for note in document["notes"])
    text = page.read_text(encoding="ascii")
    assert "Epoch 2 is open (38 items" in text
    assert "nan" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert '<table class="ranking' in text


def test_reports_badges_and_exports_show_it_too(bbedge, grown, tmp_path):
    page, badge, exported, edges = (tmp_path / name for name in ("r.html", "b.svg", "e.json", "g.csv"))
    assert bbedge("report", grown, "--html", page).code == 0
    assert '<table class="ranking' in page.read_text(encoding="ascii")
    assert bbedge("figure", "badge", grown, badge, "--model", "a").code == 0
    assert "certified #1 of 3 &#183; event" in badge.read_text(encoding="ascii")
    assert bbedge("figure", "graph", grown, edges).code == 0
    assert edges.read_text(encoding="ascii").count("\n") == 1 + Board.open(grown).leaderboard(1).graph.n_edges
    assert bbedge("board", "export", grown, exported).code == 0
    assert json.loads(exported.read_text(encoding="ascii"))["board"]["epoch"] == 1


def test_the_version_that_is_asked_for_is_shown(bbedge, grown, tmp_path):
    page = tmp_path / "p.html"
    done = bbedge("board", "show", grown, "--epoch", 2, "--html", page)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "epoch 2 · all looks" in said
    assert "items, nothing is certified yet: there is no complete run. Models: 'a', 'b', 'c'." in said
    assert "nan" not in done.out
    assert not re.search(r"\b1-3\b", done.out)
    text = page.read_text(encoding="ascii")
    assert "items, nothing is certified yet: there is no complete run." in text
    assert '<table class="ranking' not in text
    refused = bbedge("board", "show", grown, "--epoch", 3)
    assert refused.code == 2
    assert "epochs 1 to 2" in refused.err


def test_runs_on_the_new_version_are_shown_when_they_come(bbedge, grown, tmp_path):
    items = [*ITEMS, *(f"new{i}" for i in range(8))]
    assert bbedge("board", "add", grown, write_runs(tmp_path / "new.csv", ["a", "b", "c"], items, 1)).code == 0
    said = bbedge("board", "show", grown).out
    assert "epoch 2 · all looks" in " ".join(said.split())
    assert "Epoch 1 (30 items) has" in " ".join(said.split())


def test_a_notebook_before_the_first_replicate():
    text = Certifier(drawn([0.5, 0.6]).design()).leaderboard()._repr_html_()
    assert "there is no complete run" in text
    assert "<table" not in text
