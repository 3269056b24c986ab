"""Boards with views, weights and missing scores from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.board.words import particulars

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
ITEMS = [f"q{i}" for i in range(24)]
TOPIC = ["code"] * 18 + ["math"] * 6
SKILL = {"strong": 0.95, "middle": 0.5, "weak": 0.05}
TABLES = '[headline]\nmacro = "topic"\n\n[views]\ncolumn = "topic"\n\n[views.shares]\nmath = 0.2\n'


class Folder:
    """A folder with lists of items and tables of scores. In math, weak is the best model."""

    def __init__(self, path, bbedge):
        self.path, self.bbedge = path, bbedge
        self.board = path / "board.db"
        self.rng = np.random.default_rng(3)
        self.write("design.toml", "alpha = 0.3\n" + TABLES)
        self.write("items.csv", "item,topic\n" + "".join(f"{i},{t}\n" for i, t in zip(ITEMS, TOPIC, strict=True)))
        self.write("more.csv", "item,topic\n" + "".join(f"n{i},law\n" for i in range(6)))

    def __truediv__(self, name):
        return self.path / name

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")
        return self.path / name

    def table(self, name, models, replicates, items=ITEMS, *, without=()):
        """A long table without the scores of these (model, item, replicate)."""
        with (self.path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["model", "item", "replicate", "topic", "score"])
            for r in replicates:
                for model in models:
                    for item in items:
                        topic = TOPIC[ITEMS.index(item)] if item in ITEMS else "law"
                        skill = SKILL.get(model, 0.5)
                        right = self.rng.random() < (1 - skill if topic == "math" else skill)
                        if (model, item, r) not in without:
                            writer.writerow([model, item, r, topic, round(0.8 * right + 0.2 * self.rng.random(), 1)])
        return self.path / name

    def __call__(self, command, *args):
        outcome = self.bbedge("board", command, *args)
        assert outcome.code == 0, outcome.err
        return outcome.out

    def init(self, *options, design="design.toml"):
        words = ["--design", self / design, "--items", self / "items.csv", "--models", "strong,middle,weak"]
        return self("init", self.board, *words, *options)

    def refuse(self, *args):
        outcome = self.bbedge("board", *args)
        assert outcome.code == 2, (outcome.code, outcome.out, outcome.err)
        assert "Traceback" not in outcome.err
        return " ".join(outcome.err.split())


@pytest.fixture
def folder(tmp_path, bbedge):
    return Folder(tmp_path, bbedge)


MODELS = ("strong", "middle", "weak")


def test_a_board_with_views(folder):
    said = folder.init()
    assert "Compared is the mean of the means by topic." in said
    assert "Under the same error budget also: 'code', 'math'. Shares: headline 0.4, math 0.2, all other" in said
    assert "(design, models, items, columns and blocks)" in said
    said = folder("add", folder.board, folder.table("runs.csv", MODELS, range(1, 13)))
    lines = said.splitlines()
    assert any(line.startswith("code: 3 of 3 pairs certified (+3); new: ") for line in lines)
    assert any(line.startswith("math: ") and "weak > strong" in line for line in lines)
    shown = json.loads(folder("show", folder.board, "--json", "-"))
    jsonschema.validate(shown, SCHEMA)
    assert [view["name"] for view in shown["views"]] == ["code", "math"]
    assert shown["board"]["design"]["views"] == {"column": "topic", "others": 0.4, "shares": {"math": 0.2}}
    assert "view math" in folder("show", folder.board, "--view", "math")
    assert "'art' is not a view" in folder.refuse("show", folder.board, "--view", "art")
    said = folder("add-items", folder.board, folder / "more.csv")
    assert "New views: law." in said
    newer = [*ITEMS, *(f"n{i}" for i in range(6))]
    said = folder("add", folder.board, folder.table("fresh.csv", MODELS, range(1, 13), newer))
    assert "law: 3 of 3 pairs certified" in said
    lines = [particulars(event) for event in Board.open(folder.board).events]
    assert any(line.endswith(" new in law") for line in lines)
    folder("export", folder.board, folder / "graph.csv")
    with (folder / "graph.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["epoch"], row["view"]) for row in rows} >= {
        ("1", "code"),
        ("1", "math"),
        ("2", "headline"),
        ("2", "law"),
    }
    assert "all is in order" in folder("verify", folder.board)
    folder("export", folder.board, folder / "all.jsonl")
    assert "Imported and verified" in folder("import", folder / "all.jsonl", folder / "copy.db")


def test_options_and_the_file_say_the_same(folder):
    folder.write("plain.toml", "alpha = 0.3\n")
    folder.init("--macro", "topic", "--views", "topic", "--share", "math=0.2", design="plain.toml")
    assert Board.open(folder.board).design == BoardDesign.from_toml("alpha = 0.3\n" + TABLES)
    folder("show", folder.board, "--design", folder / "design.toml")


def test_options_that_are_refused(folder):
    words = ["init", folder.board, "--items", folder / "items.csv", "--models", "a,b", "--design"]
    plain = folder.write("plain.toml", 'incomplete = "zero"\n')
    assert "[views] is in the file, and options say" in folder.refuse(
        *words, folder / "design.toml", "--views", "topic"
    )
    assert "--share needs --views COLUMN" in folder.refuse(*words, plain, "--share", "math=0.2")
    assert "incomplete = zero, but --incomplete is worst-case" in folder.refuse(
        *words, plain, "--incomplete", "worst-case"
    )
    assert "the items have no column 'subject'" in folder.refuse(*words, plain, "--views", "subject")
    assert not folder.board.exists()


def test_files_to_begin_with(folder):
    scores = folder.table("runs.csv", MODELS, [1])
    options = ["--macro", "topic", "--views", "topic", "--share", "math=0.2", "--incomplete", "worst-case"]
    folder("init", folder.board, "--from", scores, *options)
    assert (folder / "board-items.csv").read_text(encoding="utf-8").splitlines()[:2] == [
        "item,block,topic",
        "q0,q0,code",
    ]
    design = BoardDesign.from_toml((folder / "board-design.toml").read_text(encoding="utf-8"))
    assert (design.headline.macro, design.views.column, design.views.shares) == ("topic", "topic", {"math": 0.2})
    assert design.incomplete == "worst-case"
    words = ["--design", folder / "board-design.toml", "--items", folder / "board-items.csv"]
    folder("init", folder.board, *words, "--models", f"@{folder / 'board-models.txt'}")


def test_missing_scores(folder):
    folder.write("gaps.toml", 'alpha = 0.3\nincomplete = "worst-case"\n')
    said = folder.init(design="gaps.toml")
    assert "A missing score counts against whichever model it could help, and is final once recorded." in said
    assert "complete replicates" not in said
    gaps = {("strong", "q3", 1), ("weak", "q4", 2)}
    first = folder.table("first.csv", MODELS, [1, 2], without=gaps)
    assert "Missing so far: 2 scores." in folder("add", folder.board, first)
    assert particulars(Board.open(folder.board).events[1]) == "epoch 1, replicate 1: 0 certificates, 0 new, 1 missing"
    assert "Already on the board with the same scores: replicates 1, 2." in folder("add", folder.board, first)
    filled = first.read_text(encoding="utf-8") + "strong,q3,1,code,1.0\n"
    message = folder.refuse("add", folder.board, folder.write("filled.csv", filled))
    assert "A missing score that is recorded is final" in message
    part = folder.table("part.csv", MODELS[:2], [3])
    message = folder.refuse("add", folder.board, part)
    assert "model 'weak' has no score at all in this replicate" in message
    assert "count the whole run as missing: --incomplete worst-case" in message
    assert "Added replicate 3." in folder("add", folder.board, part, "--incomplete", "worst-case")
    assert Board.open(folder.board).leaderboard().gaps.of_models == (1, 0, 25)
    shown = json.loads(folder("show", folder.board, "--json", "-"))
    jsonschema.validate(shown, SCHEMA)
    assert shown["gaps"]["cells"] == 26
    assert "all is in order" in folder("verify", folder.board)


def test_a_board_without_the_rule(folder):
    folder.write("plain.toml", "alpha = 0.3\n")
    folder.init(design="plain.toml")
    table = folder.table("runs.csv", MODELS, [1], without={("strong", "q3", 1)})
    folder.refuse("add", folder.board, table)
    message = folder.refuse("add", folder.board, folder.table("whole.csv", MODELS, [1]), "--incomplete", "worst-case")
    assert "--incomplete worst-case is not the rule of this board's design" in message
