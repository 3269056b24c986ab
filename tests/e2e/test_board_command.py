"""The board from the command line: a whole life, what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from bbedge.board import Board, BoardDesign

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
ITEMS = [f"q{i}" for i in range(24)]
MORE = [f"n{i}" for i in range(6)]
COMMANDS = ["init", "next", "add", "add-model", "add-items", "retire", "show", "log", "verify", "export", "import"]
DESIGN = 'method = "bb-edge-x"\nalpha = 0.1\n'
PILOT = DESIGN + 'family = "pilot-top-k"\nk = 1\npilot = 2\n'
SKILL = {"strong": 0.95, "middle": 0.5, "weak": 0.05}


class Folder:
    """A folder with a design, lists of items and tables of scores."""

    def __init__(self, path, bbedge):
        self.path, self.bbedge = path, bbedge
        self.board = path / "board.db"
        self.rng = np.random.default_rng(3)
        self.write("design.toml", DESIGN)
        self.write("items.csv", "item,block\n" + "".join(f"{item},b{i // 2}\n" for i, item in enumerate(ITEMS)))
        self.write("more.csv", "item\n" + "\n".join(MORE) + "\n")

    def __truediv__(self, name):
        return self.path / name

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")
        return self.path / name

    def table(self, name, models, replicates, items=ITEMS, *, mean=None):
        """A long table; one row per score, in tenths."""
        with (self.path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["model", "item", "replicate", "score"])
            for r in replicates:
                for model in models:
                    skill = SKILL.get(model, 0.5) if mean is None else mean
                    for item in items:
                        right = self.rng.random() < skill
                        writer.writerow([model, item, r, round(0.8 * right + 0.2 * self.rng.random(), 1)])
        return self.path / name

    def __call__(self, command, *args):
        """A command that must work."""
        outcome = self.bbedge("board", command, *args)
        assert outcome.code == 0, outcome.err
        assert "Traceback" not in outcome.err
        return outcome.out

    def init(self, models="strong,middle,weak", design="design.toml"):
        return self("init", self.board, "--design", self / design, "--items", self / "items.csv", "--models", models)

    def refuse(self, *args):
        """A command that must not work, with a message and without a trace."""
        before = Board.open(self.board).head if self.board.exists() else None
        outcome = self.bbedge("board", *args)
        assert outcome.code == 2, (outcome.code, outcome.out, outcome.err)
        assert "Traceback" not in outcome.err
        assert outcome.err.strip()
        self.err = outcome.err
        if before is not None:
            assert Board.open(self.board).head == before
        return " ".join(outcome.err.split())


@pytest.fixture
def folder(tmp_path, bbedge):
    return Folder(tmp_path, bbedge)


THREE = ["strong", "middle", "weak"]


@pytest.fixture
def running(folder):
    """Three models and three replicates."""
    folder.init()
    folder("add", folder.board, folder.table("r.csv", THREE, [1, 2, 3]))
    return folder


def check_document(folder, document, epoch):
    """The document says what the board says from Python."""
    jsonschema.validate(document, SCHEMA)
    board = Board.open(folder.board)
    shown = board.leaderboard(epoch)
    names = list(shown.design.models)
    part = document["board"]
    assert part["head"] == board.head
    assert part["events"] == len(board.events)
    assert (part["design"], part["design_hash"]) == (board.design.content, board.registration)
    assert (part["epoch"], part["epochs"]) == (epoch, len(board.state.epochs))
    assert (part["active"], part["retired"]) == (board.state.active, board.state.retired)
    assert part["alpha_spent"] == board.state.spent == sum(claim["level"] for claim in part["claims"])
    assert part["alpha_spent"] <= document["design"]["alpha"]
    assert part["next_level"] == board.state.next_level()
    assert [claim["claim"] for claim in part["claims"]] == list(range(len(part["claims"])))
    assert document["replicates"] == shown.replicates
    assert document["items"] == len(shown.design.items)
    assert len(document["models"]) == len(names)
    order = [names.index(model["name"]) for model in document["models"]]
    for model, i in zip(document["models"], order, strict=True):
        assert model["mean"] == (None if np.isnan(shown.means[i]) else shown.means[i])
        assert model["rank_interval"] == list(shown.graph.rank_intervals[i])
    for key, matrix in (("log_e", shown.log_e), ("margins", shown.lower_bounds)):
        found = np.array([[np.nan if cell is None else cell for cell in row] for row in document[key]])
        np.testing.assert_array_equal(found, matrix[np.ix_(order, order)])
    pairs = {(edge["winner"], edge["loser"]) for edge in document["edges"]}
    assert pairs == {(names[a], names[b]) for a, b in np.argwhere(shown.edges).tolist()}
    assert document["counts"]["current_edges"] == shown.current_edges.sum()
    for edge in document["edges"]:
        a, b = names.index(edge["winner"]), names.index(edge["loser"])
        assert edge["first_certified"] == shown.first_certified[a, b]
    assert [look["replicate"] for look in document["looks"]] == [look.replicate for look in shown.looks]
    assert [look["edges"] for look in document["looks"]] == [look.edges for look in shown.looks]


def document_of(folder, *options):
    out = folder / "shown.json"
    folder("show", folder.board, "--json", out, *options)
    return json.loads(out.read_text(encoding="ascii"))


def test_another_spelling_of_a_model_is_named_and_merged_on_request(folder):
    folder.init()
    table = folder.table("run1.csv", ("STRONG ", "middle", "weak"), [1], mean=0.5)
    folder.refuse("add", folder.board, table)
    assert "if 'STRONG ' is another spelling of 'strong', read it with --merge-names; otherwise add it" in folder.err
    assert "Added replicate 1." in folder("add", folder.board, table, "--merge-names")
    assert Board.open(folder.board).noticed[0][1].subject == ("strong", "STRONG ")
    run = folder.table("new.csv", ("Weak",), [1])
    assert "Note  'Weak' is a new model; its name differs from 'weak' only" in folder(
        "add-model", folder.board, "Weak", run
    )


@pytest.mark.every_push("the life of a board, command by command")
def test_a_whole_life(folder):
    said = folder.init()
    board = Board.open(folder.board)
    for words in (board.registration, board.head, "3 models", "24 items in 12 blocks", "at most 0.1"):
        assert words in said

    said = folder("add", folder.board, folder.table("r12.csv", THREE, [1, 2]))
    assert "Added replicates 1, 2." in said
    said = folder("add", folder.board, folder.table("r34.csv", THREE, range(3, 9)))
    assert "Added replicates 3, 4, 5, 6, 7, 8." in said
    assert Board.open(folder.board).leaderboard().is_certified("strong", "weak")
    check_document(folder, document_of(folder), 1)

    said = folder("add", folder.board, folder / "r34.csv")
    assert "Already on the board with the same scores: replicates 3, 4, 5, 6, 7, 8." in said
    assert "Nothing was added." in said

    said = folder("add-model", folder.board, "new", folder.table("new.csv", ["new"], range(1, 9), mean=0.6))
    assert "Added new at level 0.0152: 6 new comparisons to test." in said
    said = folder("retire", folder.board, "weak")
    assert "Retired weak. Later replicates contain: strong, middle, new." in said
    active = ["strong", "middle", "new"]
    folder("add", folder.board, folder.table("r9.csv", active, [9, 10]))
    first = document_of(folder)
    check_document(folder, first, 1)

    said = folder("add-items", folder.board, folder / "more.csv")
    assert "Epoch 2 is open: 30 items (6 new), 3 models, level 0.00675" in said
    folder("add", folder.board, folder.table("e2.csv", active, [1, 2], ITEMS + MORE))
    check_document(folder, document_of(folder), 2)
    again = document_of(folder, "--epoch", 1)
    check_document(folder, again, 1)
    for key in ("log_e", "edges", "edges", "looks", "models"):
        assert again[key] == first[key]

    board = Board.open(folder.board)
    said = folder("show", folder.board)
    for words in ("epoch 2", "all looks", "Retired: 'weak'", "Epoch 1 (24 items)", "Error budget", board.head):
        assert words in said
    assert "last look" in folder("show", folder.board, "--current")
    assert f"a design fixed beforehand (registration {board.registration[:16]})" in " ".join(said.split())
    assert "not claimed" not in said
    full = folder("show", folder.board, "-v")
    for words in ("guarantee", "assumptions", "not claimed", f"registration {board.registration[:16]}"):
        assert words in full

    said = folder("log", folder.board)
    kinds = ["init", *["replicate"] * 8, "add-model", "retire", *["replicate"] * 2, "add-items", *["replicate"] * 2]
    rows = [line for line in said.splitlines() if line.strip()[:1].isdigit()]
    assert [kind for row in rows for kind in row.split()[2:3]] == kinds
    assert [row.split()[-1] for row in rows] == [event.hash[:16] for event in board.events]

    said = folder("verify", folder.board, "--head", board.head, "--design", folder / "design.toml")
    assert "all is in order. 16 events" in said
    assert board.head in said
    folder("verify", folder.board, "--head", board.events[4].hash[:16].upper())

    folder("export", folder.board, folder / "board.jsonl")
    said = folder("import", folder / "board.jsonl", folder / "copy.db")
    assert f"Imported and verified 16 events. Head {board.head}" in said
    folder("export", folder / "copy.db", folder / "again.jsonl")
    assert (folder / "again.jsonl").read_bytes() == (folder / "board.jsonl").read_bytes()
    np.testing.assert_array_equal(Board.open(folder / "copy.db").leaderboard().log_e, board.leaderboard().log_e)

    folder("export", folder.board, folder / "graph.json")
    check_document(folder, json.loads((folder / "graph.json").read_text(encoding="ascii")), 2)
    folder("export", folder.board, folder / "graph.csv")
    with (folder / "graph.csv").open(encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    for number in (1, 2):
        shown = board.leaderboard(number)
        names = shown.design.models
        mine = {(row["winner"], row["loser"]): row for row in rows if row["epoch"] == str(number)}
        assert set(mine) == {(names[a], names[b]) for a, b in np.argwhere(shown.edges).tolist()}
        for (winner, loser), row in mine.items():
            a, b = names.index(winner), names.index(loser)
            assert float(row["log_e"]) == shown.log_e[a, b]
            assert float(row["margin"]) == shown.lower_bounds[a, b]
            assert int(row["first_certified"]) == shown.first_certified[a, b]
            assert row["current"] == str(int(shown.current_edges[a, b]))


def test_every_part_of_the_document_fits_its_own_claim(running):
    """Stages have thresholds of their own; no edge may look as if it had missed one."""
    new = running.table("new.csv", ["new"], [1, 2, 3], mean=0.02)
    running("add-model", running.board, "new", new)
    document = document_of(running)
    assert document["edges"]
    for edge in document["edges"]:
        threshold = edge.get("log_threshold", document["log_threshold"])
        assert edge["log_e"] >= threshold


def test_new_edges_top_k_and_open_pairs_are_told(folder):
    folder.init()
    said = folder("add", folder.board, folder.table("r.csv", THREE, range(1, 9)))
    edges = Board.open(folder.board).leaderboard().graph.n_edges
    assert said.count("  new  ") == edges > 0
    assert "  new  strong > weak   (log e " in said
    assert f"pairs certified (+{Board.open(folder.board).leaderboard().graph.n_resolved})" in said


def test_of_many_new_edges_and_sets_the_first_are_told(folder, monkeypatch):
    monkeypatch.setattr("bbedge.board.words._MOST_EDGES", 1)
    monkeypatch.setattr("bbedge.board.words._MOST_SETS", 0)
    folder.init()
    said = folder("add", folder.board, folder.table("r.csv", THREE, range(1, 9)))
    graph = Board.open(folder.board).leaderboard().graph
    assert graph.n_edges > 1
    assert graph.cuts
    assert said.count("  new  ") == 1
    assert f"  and {graph.n_edges - 1} more new certificates" in said
    assert f"and {len(graph.cuts)} larger Top-k sets" in said
    assert "Top-1:" not in said


def test_any_format_that_certify_reads(folder):
    import polars as pl

    folder.init()
    frame = pl.read_csv(folder.table("r.csv", THREE, [1, 2]))
    frame.filter(pl.col("replicate") == 1).write_ndjson(folder / "one.jsonl")
    frame.filter(pl.col("replicate") == 2).write_parquet(folder / "two.parquet")
    folder("add", folder.board, folder / "one.jsonl")
    folder("add", folder.board, folder / "two.parquet")
    assert "Already on the board with the same scores: replicates 1, 2." in folder(
        "add", folder.board, folder / "r.csv"
    )


def test_models_from_a_file(folder):
    names = folder.write("models.txt", "strong\nmiddle\n\n")
    said = folder("init", folder.board, "--design", folder / "design.toml", "--items", folder / "items.csv", "--models",
                  f"@{names}", "--models", "weak, other")  # fmt: skip
    assert "4 models" in said
    assert Board.open(folder.board).state.active == ["strong", "middle", "weak", "other"]


def test_a_file_of_names_from_windows(folder):
    names = folder / "models.txt"
    names.write_bytes("\ufeffstrong\r\nmiddle\r\n".encode())
    folder.init(f"@{names}")
    assert Board.open(folder.board).state.active == ["strong", "middle"]


def test_a_scale_of_its_own(folder):
    folder.write("design.toml", DESIGN + "score_range = [0, 10]\n")
    folder.init("a,b")
    table = folder.table("r.csv", ["a", "b"], [1])
    rows = table.read_text(encoding="utf-8").splitlines()
    scaled = [rows[0]] + [",".join([*row.split(",")[:3], str(10 * float(row.split(",")[3]))]) for row in rows[1:]]
    folder("add", folder.board, folder.write("scaled.csv", "\n".join(scaled) + "\n"))
    means = [float(np.mean([float(row.split(",")[3]) for row in scaled[1:] if row[0] == name])) for name in "ab"]
    document = document_of(folder)
    found = {model["name"]: model["mean"] for model in document["models"]}
    assert [found["a"], found["b"]] == pytest.approx(means)
    scaled[1] = scaled[1].rsplit(",", 1)[0] + ",11"
    message = folder.refuse("add", folder.board, folder.write("bad.csv", "\n".join(scaled) + "\n"))
    assert "score 11" in message


def test_json_on_standard_output_stays_alone(running):
    outcome = running.bbedge("board", "show", running.board, "--json", "-")
    assert outcome.code == 0
    check_document(running, json.loads(outcome.out), 1)
    assert "Error budget" in outcome.err


def test_what_a_terminal_does_not_show_is_not_computed_again(running, monkeypatch):
    expected = running("show", running.board)

    def again(self, epoch=None):
        raise AssertionError("the looks were computed again from the stored scores")

    monkeypatch.setattr(Board, "looks", again)
    assert running("show", running.board) == expected


def test_a_board_without_replicates_can_be_shown(folder):
    folder.init()
    check_document(folder, document_of(folder), 1)
    assert "Error budget" in folder("show", folder.board)


def test_a_model_can_come_before_the_first_replicate(folder):
    """There are no runs to join yet, and so no file to give."""
    folder.init("strong,middle")
    folder("add-model", folder.board, "weak")
    folder("add", folder.board, folder.table("r.csv", THREE, [1]))
    assert Board.open(folder.board).state.epoch.replicates == 1


# Pilots --------------------------------------------------------------------------------------------------------------


def test_a_pilot_from_beginning_to_end(folder):
    folder.write("design.toml", PILOT)
    assert "the 1 models that 2 pilot replicates will choose" in folder.init()
    said = folder("add", folder.board, folder.table("p1.csv", THREE, [1]))
    assert "Added pilot replicate 1 of 2; it is not evidence." in said
    said = folder("add", folder.board, folder.table("p2.csv", THREE, [2]))
    assert "The pilot chose: strong. Evidence starts with the next replicate." in said
    folder("add", folder.board, folder.table("r.csv", THREE, [3, 4, 5, 6]))
    document = document_of(folder)
    check_document(folder, document, 1)
    assert document["design"]["family"] == "cross-set"
    assert {edge["winner"] for edge in document["edges"]} == {"strong"}
    assert "chose strong" in folder("log", folder.board)
    assert "'strong'" in folder("show", folder.board)
    assert "all is in order" in folder("verify", folder.board)


@pytest.mark.parametrize("pilots", [0, 1, 2])
def test_a_board_can_be_shown_at_any_time_of_the_pilot(folder, pilots):
    folder.write("design.toml", PILOT)
    folder.init()
    for number in range(1, pilots + 1):
        folder("add", folder.board, folder.table(f"p{number}.csv", THREE, [number]))
    assert "Error budget" in folder("show", folder.board)
    check_document(folder, document_of(folder), 1)
    folder("export", folder.board, folder / "graph.json")
    folder("export", folder.board, folder / "graph.csv")


def test_pilot_panels_are_refused_as_evidence(folder):
    folder.write("design.toml", PILOT)
    folder.init()
    pilot = folder.table("p.csv", THREE, [1, 2])
    for action in (("retire", folder.board, "weak"), ("add-items", folder.board, folder / "more.csv")):
        assert "the pilot is not finished" in folder.refuse(*action)
    assert "the pilot is not finished" in folder.refuse(
        "add-model", folder.board, "new", folder.table("n.csv", ["new"], [1])
    )
    folder("add", folder.board, pilot)
    lines = pilot.read_text(encoding="utf-8").splitlines()
    copied = [lines[0]] + [line.replace(",2,", ",3,") for line in lines if ",2," in line]
    assert "cannot be evidence as well" in folder.refuse(
        "add", folder.board, folder.write("c.csv", "\n".join(copied) + "\n")
    )


# Refusals ------------------------------------------------------------------------------------------------------------


def test_replicates_that_are_refused(running):
    board, table = running.board, running.table
    assert "lacks model 'weak'" in running.refuse("add", board, table("x.csv", THREE[:2], [4]))
    assert "add it with add-model first" in running.refuse("add", board, table("x.csv", [*THREE, "x"], [4]))
    assert "'q23'" in running.refuse("add", board, table("x.csv", THREE, [4], ITEMS[:-1]))
    assert "open a new epoch with add-items" in running.refuse("add", board, table("x.csv", THREE, [4], [*ITEMS, "z"]))
    assert "the next one is 4" in running.refuse("add", board, table("x.csv", THREE, [5]))
    assert "number them from 4" in running.refuse("add", board, table("x.csv", THREE, [2]))
    lines = (running / "r.csv").read_text(encoding="utf-8").splitlines()
    copied = [lines[0]] + [line.replace(",1,", ",4,") for line in lines if ",1," in line]
    assert "--copies allow" in running.refuse("add", board, running.write("x.csv", "\n".join(copied) + "\n"))
    lines = table("x.csv", THREE, [4]).read_text(encoding="utf-8").splitlines()
    lines[7] = lines[7].rsplit(",", 1)[0] + ",3"
    assert "is outside [0, 1]" in running.refuse("add", board, running.write("x.csv", "\n".join(lines) + "\n"))
    assert "missing" in running.refuse("add", board, running.write("x.csv", "\n".join(lines[:7] + lines[8:]) + "\n"))


def test_models_and_items_that_are_refused(running):
    board, table = running.board, running.table
    assert "on the board already" in running.refuse("add-model", board, "weak", table("x.csv", ["weak"], [1, 2, 3]))
    message = running.refuse("add-model", board, "new", table("x.csv", ["new"], [1, 2]))
    assert "2 runs of 'new' given; the pairing rule of the design joins exactly 3" in message
    assert "expected 'other' alone" in running.refuse("add-model", board, "other", table("x.csv", ["new"], [1, 2, 3]))
    assert "new items need new names" in running.refuse("add-items", board, running / "items.csv")
    assert "the active models are" in running.refuse("retire", board, "nobody")
    running("retire", board, "weak")
    assert "is retired already" in running.refuse("retire", board, "weak")
    assert "leave it out of new replicates" in running.refuse("add", board, table("x.csv", THREE, [4]))


def test_a_spent_budget(folder):
    folder.write("design.toml", DESIGN + 'spending = "equal"\nshares = 1\n')
    folder.init()
    folder("add", folder.board, folder.table("r.csv", THREE, [1]))
    assert "nothing is left for another claim" in folder("show", folder.board)
    assert "start a new board" in folder.refuse("add-items", folder.board, folder / "more.csv")
    new = folder.table("n.csv", ["new"], [1])
    assert "the error budget is spent" in folder.refuse("add-model", folder.board, "new", new)


def test_a_changed_design_file(running):
    new = running.table("n.csv", ["new"], [1, 2, 3])
    commands = [
        ("add", running.board, running.table("x.csv", THREE, [4])),
        ("add-model", running.board, "new", new),
        ("add-items", running.board, running / "more.csv"),
        ("retire", running.board, "weak"),
        ("show", running.board),
        ("verify", running.board),
    ]
    running.write("design.toml", DESIGN.replace("0.1", "0.2"))
    for command in commands:
        message = running.refuse(*command, "--design", running / "design.toml")
        assert "a frozen design cannot change. Restore the file" in message
    assert "another design" in running.refuse(
        "init", running.board, "--design", running / "design.toml", "--items", running / "items.csv", "--models",
        "strong,middle,weak",
    )  # fmt: skip
    running.write("design.toml", "# the same\n" + DESIGN)
    running(*commands[0], "--design", running / "design.toml")


def test_making_the_same_board_twice(folder):
    assert folder.init() == folder.init()


def test_files_that_are_no_use(folder):
    here = ("--design", folder / "design.toml", "--items", folder / "items.csv")
    new = folder / "new.db"
    cases = [
        (("init", new, "--design", folder / "no.toml", "--items", folder / "items.csv", "--models", "a,b"), "no.toml"),
        (("init", new, "--design", folder / "items.csv", "--items", folder / "items.csv", "--models", "a,b"), "TOML"),
        (
            ("init", new, "--design", folder / "design.toml", "--items", folder / "no", "--models", "a,b"),
            "no such file",
        ),
        (("init", new, *here, "--models", "a"), "at least 2"),
        (("init", new, *here, "--models", "a,a"), "named twice"),
        (("init", new, *here, "--models", f"@{folder / 'no'}"), "cannot be read"),
        (("init", folder / "no" / "b", *here, "--models", "a,b"), "make it first"),
        (("show", new), "make one with bbedge board init"),
        (("add", new, folder / "items.csv"), "make one with bbedge board init"),
        (("log", folder.path), "not a board"),
        (("verify", folder / "items.csv"), "not a board"),
        (("import", folder / "no.jsonl", new), "cannot be read"),
        (("import", folder / "items.csv", new), "no JSON"),
        (("show", "mysql://host/db"), ""),
    ]
    for command, message in cases:
        assert message in folder.refuse(*command)
        assert not new.exists(), command


def test_a_file_of_names_that_is_not_text(folder):
    (folder / "names").write_bytes(b"a\nb\xff\xfe\n")
    here = ("--design", folder / "design.toml", "--items", folder / "items.csv")
    assert "UTF-8" in folder.refuse("init", folder.board, *here, "--models", f"@{folder / 'names'}")


def test_a_published_head_that_is_not_there(running):
    message = running.refuse("verify", running.board, "--head", "f" * 64)
    assert "the history was rewritten" in message


def test_a_published_head_that_says_nothing(running):
    """An empty variable in a script must not count as a check."""
    running.refuse("verify", running.board, "--head", "")


def test_an_epoch_that_is_not_there(running):
    for epoch in (0, 2, -1):
        assert "the board has epochs 1 to 1" in running.refuse("show", running.board, f"--epoch={epoch}")


def test_exports_that_cannot_be(running):
    assert ".jsonl" in running.refuse("export", running.board, running / "graph.txt")
    assert "cannot be written" in running.refuse("export", running.board, running / "no" / "x.csv")


# Archives ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def archive(running):
    running("export", running.board, running / "a.jsonl")
    return running


def lines_of(folder):
    return (folder / "a.jsonl").read_text(encoding="ascii").splitlines(keepends=True)


def edited(folder, lines):
    return folder.write("edited.jsonl", "".join(lines))


def refuse_archive(folder, lines):
    message = folder.refuse("import", edited(folder, lines), folder / "copy.db")
    assert sorted(path.name for path in folder.path.glob("copy.db*")) == [], "nothing is left behind"
    return message


def test_a_board_is_not_overwritten(archive):
    assert "import into a new place" in archive.refuse("import", archive / "a.jsonl", archive.board)


def test_archives_that_were_cut(archive):
    lines = lines_of(archive)
    assert "cut short" in refuse_archive(archive, lines[:-2])
    assert "no JSON" in refuse_archive(archive, [*lines[:-1], lines[-1][: len(lines[-1]) // 2]])
    assert "not a board archive" in refuse_archive(archive, [])
    assert "not a board archive" in refuse_archive(archive, lines[1:])


def test_an_archive_whose_last_event_was_removed(archive):
    """The first line still names the head."""
    lines = lines_of(archive)
    first = json.loads(lines[0])
    lines[0] = json.dumps(first | {"events": first["events"] - 1}) + "\n"
    refuse_archive(archive, [*lines[:-2], json.dumps({"cache": {}}) + "\n"])


def test_archives_that_were_edited(archive):
    lines = lines_of(archive)
    event = json.loads(lines[2])
    changed = event | {"at": "2020-01-01T00:00:00+00:00"}
    assert "event 2 (replicate) does not match its hash" in refuse_archive(
        archive, [*lines[:2], json.dumps(changed) + "\n", *lines[3:]]
    )
    vectors = json.loads(lines[3])["vectors"]
    swapped = event | {"vectors": [[*old[:3], new[3]] for old, new in zip(event["vectors"], vectors, strict=True)]}
    assert "were changed" in refuse_archive(archive, [*lines[:2], json.dumps(swapped) + "\n", *lines[3:]])
    assert "are missing" in refuse_archive(
        archive, [*lines[:2], json.dumps(event | {"vectors": []}) + "\n", *lines[3:]]
    )


@pytest.mark.parametrize(
    "rows",
    [
        [{"kind": "bbedge-board", "version": 1}],
        [{"kind": "bbedge-board", "version": 1, "events": 0}],
        [{"kind": "bbedge-board", "version": 2, "events": 0}],
        [{"kind": "bbedge-board", "version": 1, "events": 0}, {"cache": 5}],
        [{"kind": "bbedge-board", "version": 1, "events": 0}, {"cache": {"x": "!"}}],
        [{"kind": "bbedge-board", "version": 1, "events": 1}, {"seq": 1}],
        [{"kind": "bbedge-board", "version": 1, "events": 1}, {"seq": 1, "kind": "init", "vectors": 3}],
        [{"kind": "bbedge-board", "version": 1, "events": 1}, [1, 2]],
        [
            {"kind": "bbedge-board", "version": 1, "events": 1},
            {"seq": [], "kind": {}, "at": 0, "payload": 0, "previous": 0, "hash": 0, "vectors": []},
        ],
    ],
    ids=lambda rows: json.dumps(rows)[-45:],
)
def test_archives_of_nonsense(folder, rows):
    folder.init()
    refuse_archive(folder, [json.dumps(row) + "\n" for row in rows])


# Names that nobody checked -------------------------------------------------------------------------------------------

HOSTILE = {
    "ansi": "\x1b[31mred\x1b[2J\x1b]0;title\x07",
    "newline": "line\nbreak\r\ttab",
    "right-to-left": "abc\u202egpj.exe\u2066",
    "markup": "[bold red]x[/bold red][link=http://a]y[/link]",
    "long": "long" * 2500,
    "sql": "'; DROP TABLE bbedge_events; --\"`",
    "separator": "one\u2028two\x85three",
    "emoji": "模型🤖é",
    "formula": "=1+1",
    "option": "--design",
    "escape": "\\x1b[31m",
}
UNSAFE = [chr(code) for code in (*range(9), *range(11, 32), 127, 0x85, 0x202E, 0x2066, 0x2028)]


def tame(text):
    """Nothing on the terminal but printable text and line ends."""
    found = [character for character in UNSAFE if character in text]
    assert not found, found
    return text


def hostile_table(path, models, replicates):
    """JSON lines, where any name can be spelled."""
    rng = np.random.default_rng(len(models) + 10 * len(replicates))
    with path.open("w", encoding="utf-8") as file:
        for r in replicates:
            for i, model in enumerate(models):
                for item in ITEMS:
                    score = round(float(0.8 * (rng.random() < (0.97 if i == 0 else 0.03)) + 0.2 * rng.random()), 2)
                    file.write(json.dumps({"model": model, "item": item, "replicate": r, "score": score}) + "\n")
    return path


def test_hostile_names_survive_and_do_no_harm(folder):
    names = list(HOSTILE.values())
    Board.create(folder.board, BoardDesign.from_toml(DESIGN), models=names[:-1], items=ITEMS)
    told = []
    told.append(folder("add", folder.board, hostile_table(folder / "r.jsonl", names[:-1], [1, 2, 3])))
    told.append(folder("add-model", folder.board, names[-1], hostile_table(folder / "n.jsonl", names[-1:], [1, 2, 3])))
    told += [folder(command, folder.board) for command in ("show", "log", "verify")]
    told.append(folder("show", folder.board, "--json", folder / "x.json"))
    told.append(folder("export", folder.board, folder / "a.jsonl"))
    told.append(folder("export", folder.board, folder / "a.csv"))
    told.append(folder("import", folder / "a.jsonl", folder / "copy.db"))
    for text in told:
        tame(text)
        assert len(text) < 40_000
    check_document(folder, json.loads((folder / "x.json").read_text(encoding="ascii")), 1)
    assert Board.open(folder / "copy.db").state.active == names
    with (folder / "a.csv").open(encoding="ascii", newline="") as file:
        written = {row["winner"] for row in csv.DictReader(file)}
    assert {name.encode("ascii").decode("unicode_escape") for name in written} <= set(names)
    for name in names:
        if name != HOSTILE["option"]:
            tame(folder("retire", folder.board, name))
    assert Board.open(folder.board).state.active == [HOSTILE["option"]]
    assert "all is in order" in folder("verify", folder.board)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_name_is_harmless_in_a_refusal(folder, kind):
    name = HOSTILE[kind]
    others = ["plain", "other"]
    here = ("--design", folder / "design.toml", "--items", folder / "items.csv")
    names = [name, *others]
    Board.create(folder.board, BoardDesign.from_toml(DESIGN), models=names, items=ITEMS)
    for action in (
        ("add", folder.board, hostile_table(folder / "r.jsonl", others, [1])),
        ("add", folder.board, hostile_table(folder / "s.jsonl", [*names, name + "2"], [1])),
        ("retire", folder.board, "nobody"),
        ("add-model", folder.board, "plain", hostile_table(folder / "t.jsonl", [name], [1])),
        ("init", folder.board, *here, "--models", "a,b"),
    ):
        folder.refuse(*action)
        tame(folder.err)
        assert folder.err.count("\n") == 1, action[0]
        assert len(folder.err) < 2000, action[0]


def test_hostile_names_on_the_command_line(folder):
    names = [HOSTILE[kind] for kind in ("ansi", "newline", "right-to-left", "sql", "markup", "long")]
    said = folder("init", folder.board, "--design", folder / "design.toml", "--items", folder / "items.csv",
                  *(part for name in names for part in ("--models", name)))  # fmt: skip
    tame(said)
    assert Board.open(folder.board).state.active == names


def test_hostile_paths_and_items(folder, bbedge):
    place = folder / "b\x1b[31m\u202e'; --.db"
    items = [HOSTILE[kind] for kind in ("newline", "sql", "right-to-left", "ansi")]
    with (folder / "hostile.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["item"], *([item] for item in items)])
    said = folder(
        "init", place, "--design", folder / "design.toml", "--items", folder / "hostile.csv", "--models", "a,b"
    )
    tame(said)
    for command in ("show", "log", "verify"):
        tame(folder(command, place))
    assert Board.open(place).state.epoch.items == tuple(items)
    outcome = bbedge("board", "add-items", place, folder / "hostile.csv")
    assert outcome.code == 2
    tame(outcome.err)


# Help ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help(bbedge, command):
    outcome = bbedge("board", command, "--help")
    assert outcome.code == 0
    assert f"bbedge board {command}" in outcome.out
    assert "BOARD" in outcome.out


def test_help_of_the_board(bbedge):
    outcome = bbedge("board", "--help")
    assert outcome.code == 0
    for command in COMMANDS:
        assert command in outcome.out
    assert "board" in bbedge("--help").out


# Beginning from scores that are there ---------------------------------------------------------------------------------


def test_a_board_begins_from_scores_that_are_there(bbedge, tmp_path):
    rows = [f"{m},{i},{b},{r},1" for m in "ab" for i, b in (("q1", "x"), ("q,2", "x"), ("q3", "y")) for r in "1"]
    scores = tmp_path / "run1.csv"
    scores.write_text("\n".join(["model,item,block,replicate,score", *(row.replace("q,2", '"q,2"') for row in rows)]))
    place = tmp_path / "my board.bbedge"
    outcome = bbedge("board", "init", place, "--from", scores)
    assert outcome.code == 0, outcome.err
    assert not place.exists()
    (command,) = (line for line in outcome.out.splitlines() if line.startswith("  bbedge board init"))
    assert bbedge(*shlex.split(command)[1:]).code == 0
    assert bbedge("board", "add", place, scores).code == 0
    board = Board.open(place)
    frozen = board.events[0].content
    board.close()
    assert (frozen.models, frozen.items, frozen.blocks) == (("a", "b"), ("q1", "q3", "q,2"), ("x", "y", "x"))

    again = bbedge("board", "init", place, "--from", scores)
    assert again.code == 2
    assert "the file exists" in again.err


@pytest.mark.parametrize("planned", [None, 12])
def test_the_design_that_is_written_has_the_planned_number(bbedge, tmp_path, planned):
    scores, place = tmp_path / "run1.csv", tmp_path / "b.bbedge"
    scores.write_text("model,item,replicate,score\n" + "".join(f"{m},q{i},1,1\n" for m in "ab" for i in range(3)))
    given = () if planned is None else ("--planned", planned)
    outcome = bbedge("board", "init", place, "--from", scores, *given)
    assert outcome.code == 0, outcome.err
    written = BoardDesign.from_toml((tmp_path / "b-design.toml").read_text())
    assert written == BoardDesign(planned=planned)
    (command,) = (line for line in outcome.out.splitlines() if line.startswith("  bbedge board init"))
    assert bbedge(*shlex.split(command)[1:]).code == 0
    assert Board.open(place).design == written


def test_the_planned_number_is_set_beside_a_design_and_frozen(folder):
    folder.write("design.toml", "alpha = 0.1\n")
    said = folder("init", folder.board, "--design", folder / "design.toml", "--items", folder / "items.csv", "--models",
                  "strong,weak", "--planned", 12)  # fmt: skip
    assert "Method bb-edge-x (bbedge), 12 planned replicates, tau 0" in " ".join(said.split())
    assert Board.open(folder.board).design == BoardDesign(alpha=0.1, planned=12)
    # The file that leaves the number out is still that of the board; one that states another is not.
    one = folder.table("one.csv", ("strong", "weak"), [1])
    folder("add", folder.board, one, "--design", folder / "design.toml")
    folder.write("other.toml", "alpha = 0.1\nplanned = 13\n")
    assert "is not the design of" in folder.refuse("show", folder.board, "--design", folder / "other.toml")


@pytest.mark.parametrize(
    ("text", "planned", "message"),
    [
        ("planned = 8", 12, "planned = 8, but --planned is 12"),
        ('method = "bb-edge"', 12, "planned=12 is not part of bb-edge"),
        ('stakes = "paper"', 12, "planned=12 has no meaning with paper stakes"),
        ("", 0, "--planned"),
    ],
)
def test_a_planned_number_that_is_refused(folder, text, planned, message):
    folder.write("design.toml", text + "\n")
    folder.refuse("init", folder.board, "--design", folder / "design.toml", "--items", folder / "items.csv", "--models",
                  "strong,weak", "--planned", planned)  # fmt: skip
    assert message in " ".join(folder.err.split())
    assert not folder.board.exists()


def test_a_file_that_leaves_the_method_out_means_bb_edge_x(folder):
    folder.write("design.toml", 'method = "bb-edge"\n')
    folder.init()
    folder.write("design.toml", "")
    assert "is not the design of" in folder.refuse("show", folder.board, "--design", folder / "design.toml")


def test_the_help_says_why_runs_must_not_be_counted(bbedge):
    said = " ".join(bbedge("board", "init", "--help").out.replace("│", " ").split())
    assert "Never count the runs that there are" in said
    assert "voids the guarantee" in said


def test_what_a_board_needs_is_said_with_the_way_to_get_it(bbedge, tmp_path):
    outcome = bbedge("board", "init", tmp_path / "b.bbedge", "--models", "a,b")
    assert outcome.code == 2
    assert "--from SCORES writes all three" in outcome.err


def test_a_run_of_a_new_model_is_for_add_model(bbedge, tmp_path):
    scores = tmp_path / "run.csv"
    scores.write_text("model,item,score\na,q1,1\nb,q1,0\n")
    place = tmp_path / "b.bbedge"
    start = bbedge("board", "init", place, "--from", scores)
    (command,) = (line for line in start.out.splitlines() if line.startswith("  bbedge board init"))
    assert bbedge(*shlex.split(command)[1:]).code == 0
    assert bbedge("board", "add", place, scores).code == 0
    new = tmp_path / "new.csv"
    for text in ("model,item,score\nc,q1,1\n", "model,item,replicate,score\nc,q1,1,1\n"):
        new.write_text(text)
        outcome = bbedge("board", "add", place, new)
        assert outcome.code == 2
        assert "model 'c' is not on the board; add it with add-model" in outcome.err


def test_adding_a_run_of_many_models_prints_a_few_lines(folder):
    models = [f"m{i:02}" for i in range(20)]
    folder.write("design.toml", 'method = "bb-edge-x"\nalhpa = 0.1\n')
    assert "unknown key 'alhpa'; did you mean 'alpha'?" in folder.refuse(
        "init", folder.board, "--design", folder / "design.toml", "--items", folder / "items.csv", "--models", "a,b"
    )
    folder.write("design.toml", DESIGN)
    folder.write("items.csv", "item\n" + "\n".join(f"i{i}" for i in range(200)) + "\n")
    folder.init(models=",".join(models))
    with (folder / "r.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "item", "replicate", "score"])
        for run in (1, 2, 3):
            for place, model in enumerate(models):
                rows.writerows([model, f"i{i}", run, int(folder.rng.random() < place / 20)] for i in range(200))
    said = folder("add", folder.board, folder / "r.csv")
    assert said.count("  new  ") == 5
    assert "more new certificates" in said
    assert len(said.splitlines()) <= 15
    assert all(len(line) <= 400 for line in said.splitlines())
