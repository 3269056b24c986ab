"""Labels that were swapped between runs: every command says CONTRADICTION first and exits with the code for it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bbedge import read_certificate
from bbedge.errors import CONTRADICTION_EXIT_CODE

ITEMS = [f"q{i}" for i in range(200)]


def table(path: Path, runs: list[dict[str, float]], *, first: int = 1, seed: int = 1) -> Path:
    """A long table of right-or-wrong items, with the means of every model in each run."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "replicate", "score", "half"])
        for number, means in enumerate(runs, start=first):
            for model, mean in means.items():
                for place, item in enumerate(ITEMS):
                    writer.writerow([model, item, number, int(rng.random() < mean), place % 2])
    return path


BEFORE, AFTER = {"a": 0.9, "b": 0.4}, {"a": 0.4, "b": 0.9}


@pytest.fixture
def swapped(tmp_path) -> Path:
    return table(tmp_path / "scores.csv", 3 * [BEFORE] + 3 * [AFTER])


def test_certify_says_it_first_and_exits_with_its_code(bbedge, tmp_path, swapped):
    out, page, summary = (tmp_path / name for name in ("c.json", "p.html", "s.md"))
    done = bbedge("certify", swapped, "--json", out, "--html", page, "--markdown", summary)
    assert done.code == CONTRADICTION_EXIT_CODE, done.err
    assert done.out.startswith("CONTRADICTION: a and b are each certified better than the other.")
    words = " ".join(done.out.split())
    assert "one of the errors that alpha allows" in words
    assert "labels were swapped between runs" in words
    assert "Check that all runs use the same name for the same model" in words
    assert "Top-1" not in done.out
    document = json.loads(out.read_text())
    assert document["contradicted"] is True
    assert document["contradictions"] == [["a", "b"]]
    assert "CONTRADICTION" in page.read_text().split("<header>")[0]
    assert summary.read_text().startswith("**CONTRADICTION: ")
    assert read_certificate(out).is_contradicted
    assert bbedge("verify", out, swapped).code == 0  # it is what the scores say
    assert bbedge("report", out, "--html", tmp_path / "again.html").code == CONTRADICTION_EXIT_CODE
    assert (tmp_path / "again.html").read_text() == page.read_text()


def test_bounds_that_exclude_each_other_are_a_contradiction_too(bbedge, tmp_path):
    # a stays above b, but by far more in the first runs than in the others: no difference fits both.
    scores = table(tmp_path / "scores.csv", 3 * [{"a": 0.95, "b": 0.1}] + 5 * [{"a": 0.6, "b": 0.5}])
    done = bbedge("certify", scores, "--json", tmp_path / "c.json")
    assert done.code == CONTRADICTION_EXIT_CODE, done.out
    document = json.loads((tmp_path / "c.json").read_text())
    (crossed,) = document["crossed_intervals"]
    assert document["contradictions"] == []
    assert crossed["names"] == ["a", "b"]
    assert crossed["lower"] > crossed["upper"] > 0.0
    assert "CONTRADICTION: the bounds of the difference a minus b exclude each other, at least +0." in done.out
    assert bbedge("verify", tmp_path / "c.json", scores).code == 0


def test_a_view_with_a_contradiction_makes_the_whole_one(bbedge, tmp_path):
    rows = ["model,item,replicate,score,kind"]
    rng = np.random.default_rng(4)
    for run in range(1, 7):
        for model in ("a", "b"):
            for place in range(400):
                kind = "turns" if place < 150 else "stays"
                turned = kind == "turns" and run > 3
                rows.append(
                    f"{model},q{place},{run},{int(rng.random() < (0.9 if (model == 'a') != turned else 0.3))},{kind}"
                )
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n")
    done = bbedge("certify", tmp_path / "scores.csv", "--views", "kind")
    assert done.code == CONTRADICTION_EXIT_CODE, done.out
    assert done.out.startswith("CONTRADICTION: ")
    assert "(view turns)" in done.out
    assert "could be best" not in done.out
    assert "a, rank 1" not in done.out  # no leader of another view beside it


def test_an_expectation_is_not_met_beside_a_contradiction(bbedge, tmp_path, swapped):
    done = bbedge("certify", swapped, "--expect", "a > b", "--forbid", "b > a")
    assert done.code == CONTRADICTION_EXIT_CODE
    assert done.out.count("contradicted   ") == 2


@pytest.fixture
def board(bbedge, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "design.toml").write_text('method = "bb-edge-x"\n')
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(ITEMS) + "\n")
    made = bbedge("board", "init", "b.db", "--design", "design.toml", "--items", "items.csv", "--models", "a,b")
    assert made.code == 0, made.err
    return tmp_path / "b.db"


def test_a_board_says_it_first_and_exits_with_its_code(bbedge, tmp_path, board):
    assert bbedge("board", "add", board, table(tmp_path / "1.csv", 3 * [BEFORE])).code == 0
    assert bbedge("board", "show", board).code == 0
    added = bbedge("board", "add", board, table(tmp_path / "2.csv", 3 * [AFTER], first=4, seed=2))
    assert added.code == CONTRADICTION_EXIT_CODE, added.err
    assert added.out.startswith("CONTRADICTION: a and b are each certified better than the other.")
    assert "Added replicates 4, 5, 6." in added.out
    assert "Top-1" not in added.out
    shown = bbedge("board", "show", board, "--json", "c.json")
    assert shown.code == CONTRADICTION_EXIT_CODE
    assert shown.out.startswith("CONTRADICTION: ")
    assert json.loads(Path("c.json").read_text())["contradicted"] is True
    assert bbedge("board", "verify", board).code == 0
    assert bbedge("verify", "c.json", board).code == 0


def test_a_board_remembers_bounds_between_commands(bbedge, tmp_path, board):
    for first, means in ((1, {"a": 0.95, "b": 0.1}), (4, {"a": 0.6, "b": 0.5})):
        done = bbedge("board", "add", board, table(tmp_path / "r.csv", (3 + first // 2) * [means], first=first))
    assert done.code == CONTRADICTION_EXIT_CODE, done.out
    assert "the bounds of the difference a minus b exclude each other" in done.out


HARNESS = """
import csv, random, sys
from pathlib import Path
model, seed, items, out = sys.argv[1:]
count = Path(f"{model}.count")
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
means = {"a": 0.95, "b": 0.05, "c": 0.5, "d": 0.5} if number <= 2 else {"a": 0.05, "b": 0.95, "c": 0.5, "d": 0.5}
rng = random.Random(f"{model} {seed}")
with open(items) as file, open(out, "w", newline="") as to:
    writer = csv.writer(to)
    writer.writerow(["model", "item", "score"])
    for item in file.read().split():
        writer.writerow([model, item, int(rng.random() < means[model])])
"""


def test_an_evaluation_stops_at_it_with_its_code(bbedge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harness.py").write_text(HARNESS)
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(ITEMS[:60]) + "\n")
    (tmp_path / "study.toml").write_text(
        'engine = "command"\nbudget = 8\nmodels = ["a", "b", "c", "d"]\n'
        f'command = ["{sys.executable}", "harness.py", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"]\n'
        '[benchmark]\nitems = "items.csv"\n[run]\npause = 0.01\n'
    )
    done = bbedge("evaluate", "study.toml", "--no-drop")
    assert done.code == CONTRADICTION_EXIT_CODE, done.out + done.err
    assert done.out.startswith("CONTRADICTION: ")
    assert "CONTRADICTION: not answered; run bbedge board show" in done.out
