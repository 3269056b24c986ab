"""The recipes of CONTRIBUTING.md, each followed in a copy of the package.

What is made by the recipe for an option is tested in ``test_an_option_is_one_field``.
"""

import json
import re
import shutil
import sqlite3
from contextlib import closing

import pytest

from contract.test_an_option_is_one_field import EDITS as OPTION
from package_copy import ROOT, edited_copy
from unit.board.forging import Forged

MOST_FILES = 5

TOOL = {
    "src/bbedge/readers/tools/rows.py": [
        (
            "MLFLOW = ToolReader(",
            """QUIZZER = ToolReader(
    name="quizzer",
    title="Quizzer",
    has_samples=lambda glimpse: glimpse.has("contestant", "quiz", "points"),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a row of Quizzer"),
        key=lambda record: record.name("contestant"),
        said=lambda _: {},
        runs=lambda seen: {name: LogRun(model=str(name)) for name in seen.runs},
        item=lambda record, run: run.item(record.name("quiz")),
        scores=lambda record: {"points": number(record.row.get("points"))},
        fields=lambda record: record.named("topic"),
    ).open,
)
\"\"\"Reads the log of a made-up tool.\"\"\"


MLFLOW = ToolReader(""",
        )
    ],
    "src/bbedge/readers/tools/__init__.py": [
        ('    "mlflow": "rows.MLFLOW",\n', '    "quizzer": "rows.QUIZZER",\n    "mlflow": "rows.MLFLOW",\n')
    ],
}
CONTRACT = """
import sys
from bbedge.readers.checking import check_reader
from bbedge.readers.tools import readers
assert check_reader(readers()["quizzer"], [sys.argv[1]]) == 120
"""

EVENT = {
    "src/bbedge/records/events.py": [
        (
            "ScoresAdded = ",
            '''class Reviewed(_InEpoch, frozen=True, kw_only=True):
    """Somebody has looked at all replicates so far."""

    kind = "review"
    reviewer: Name
    """Who it was."""
    replicates: Stored
    """How many replicates there were."""


ScoresAdded = ''',
        ),
        ("WithoutEvidence = NoteAdded | ", "WithoutEvidence = NoteAdded | Reviewed | "),
    ],
    "src/bbedge/board/sequence.py": [
        ("    ReplicateAdded,\n    TrustStated,", "    ReplicateAdded,\n    Reviewed,\n    TrustStated,"),
        (
            "        case AttemptBegun() | AttemptEnded():\n",
            """        case Reviewed(reviewer=reviewer, replicates=replicates):
            there = state.epoch.replicates
            refuse_unless(replicates == there, f"a review of {replicates} replicates, where the board has {there}")
            refuse_unless(reviewer not in state.reviewers, f"{quoted(reviewer)} has reviewed the board already")
        case AttemptBegun() | AttemptEnded():
""",
        ),
    ],
    "src/bbedge/board/state.py": [
        ("    ReplicateAdded,\n    TrustStated,", "    ReplicateAdded,\n    Reviewed,\n    TrustStated,"),
        (
            "        self.retired: list[str] = []\n",
            "        self.retired: list[str] = []\n        self.reviewers: list[str] = []\n",
        ),
        (
            "            case AttemptBegun():\n",
            """            case Reviewed(reviewer=reviewer):
                self.reviewers.append(reviewer)
            case AttemptBegun():
""",
        ),
    ],
    "src/bbedge/board/board.py": [
        ("    NoteAdded,\n    ScoresAdded,\n", "    NoteAdded,\n    Reviewed,\n    ScoresAdded,\n"),
        (
            "    def note(self,",
            '''    def review(self, reviewer: str, replicates: int) -> None:
        """Record who has looked at how many replicates."""
        self._append(Reviewed, reviewer=reviewer, replicates=replicates)

    def note(self,''',
        ),
    ],
    "src/bbedge/board/words.py": [
        (
            "        case events.ModelRetired() as retired:\n",
            """        case events.Reviewed() as review:
            return f"{review.reviewer}, after {counted(review.replicates, 'replicate')}"
        case events.ModelRetired() as retired:
""",
        )
    ],
}
BOARD = """
import sys
import numpy as np
import bbedge
from bbedge.core.scores import Scores

items = [f"q{number}" for number in range(40)]
rows = np.random.default_rng(1).random((1, 2, 40)).round()
with bbedge.Board.create("b.bbedge", bbedge.BoardDesign(), models=["a", "b"], items=items) as board:
    board.add(Scores(models=("a", "b"), items=tuple(items), blocks=tuple(items), replicates=("1",), values=rows))
    board.review("Ada", 1)
    for reviewer, replicates, why in (
        ("Ben", 2, "a review of 2 replicates, where the board has 1"),
        ("Ada", 1, "'Ada' has reviewed the board already"),
    ):
        try:
            board.review(reviewer, replicates)
        except bbedge.BoardError as error:
            assert str(error) == why, error
        else:
            raise AssertionError("not refused")
    board.review("Ben", 1)
    board.export("b.jsonl")
with bbedge.Board.open("b.bbedge") as again:
    assert again.state.reviewers == ["Ada", "Ben"] and again.head == board.head
"""

COMMAND = {
    "src/bbedge/cli/count_items.py": '''"""``bbedge count-items``: count."""

from __future__ import annotations

import typer

from bbedge.cli.options import PlainReading, ScoreFiles, grouped, read
from bbedge.text import counted


@grouped
def count_items(scores: ScoreFiles, *, reading: PlainReading) -> None:
    """Print how many items there are."""
    typer.echo(counted(len(read(scores, reading).items), "item"))
''',
    "src/bbedge/cli/__init__.py": [
        ('    "convert": "scores",\n', '    "convert": "scores",\n    "count-items": "count_items",\n')
    ],
}
PAGE = """
import sys
sys.path.insert(0, sys.argv[1])
import commands
page = commands.page()
assert "| [`bbedge count-items`](#bbedge-count-items) | Print how many items there are. |" in page
"""


def recipes():
    """The files and folders that each recipe names."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, *sections = re.split(r"^### (Add .+)\n", text.split("\n## Recipes\n")[1].split("\n## ")[0], flags=re.MULTILINE)
    return {
        title: re.findall(r"`((?:src|tests|docs)/[^`]*)`", section)
        for title, section in zip(sections[::2], sections[1::2], strict=True)
    }


RECIPES = recipes()


def test_there_is_a_recipe_for_each():
    assert list(RECIPES) == ["Add an option", "Add a tool", "Add a kind of event", "Add a command"]


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_names_few_files_and_those_that_there_are(title):
    named = RECIPES[title]
    assert 1 <= len(set(named)) <= MOST_FILES
    for each in named:
        path = ROOT / each
        assert path.parent.is_dir() if "<name>" in path.name else path.exists(), each


@pytest.mark.parametrize(
    ("title", "edits"),
    [("Add an option", OPTION), ("Add a tool", TOOL), ("Add a kind of event", EVENT), ("Add a command", COMMAND)],
)
def test_a_recipe_names_the_files_of_the_package_that_are_edited_here(title, edits):
    files = [each.replace("<name>", "count_items") for each in RECIPES[title] if each.startswith("src/")]
    assert {each for each in files if not each.endswith("/")} == set(edits)


def succeeded(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(done):
    assert done.returncode == 2, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tool")
    rows = [
        {"contestant": model, "quiz": f"q{number}", "points": float(model == "aster" or number % 6 == 0), "topic": "t"}
        for number in range(60)
        for model in ("aster", "birch")
    ]
    (folder / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return edited_copy(folder, TOOL)


def test_the_log_of_an_added_tool_is_recognised(tool):
    found = json.loads(succeeded(tool("-m", "bbedge", "inspect-scores", "quiz.jsonl", "--json", "-")))
    (file,) = found["files"]
    assert (file["kind"], file["samples"], file["models"]) == ("Quizzer", 120, ["aster", "birch"])
    assert found["complete"]
    assert found["fields"] == {"topic": 1}


def test_the_log_of_an_added_tool_is_certified(tool):
    found = json.loads(succeeded(tool("-m", "bbedge", "certify", "quiz.jsonl", "--json", "-")))
    assert [model["mean"] for model in found["models"]] == [1.0, pytest.approx(1 / 6)]
    assert [(edge["winner"], edge["loser"]) for edge in found["edges"]] == [("aster", "birch")]


def test_an_added_tool_keeps_the_contract_of_readers(tool):
    succeeded(tool("-c", CONTRACT, "quiz.jsonl"))


def test_a_broken_log_of_an_added_tool_is_refused(tool, tmp_path):
    broken = tmp_path / "broken.jsonl"
    rows = ({"contestant": "aster", "quiz": "q1", "points": 1.0}, {"contestant": "aster", "points": 1.0})
    broken.write_text("".join(json.dumps(row) + "\n" for row in rows))
    message = refused(tool("-m", "bbedge", "certify", broken))
    assert "broken.jsonl:2: no quiz in this record; expected a row of Quizzer" in message


@pytest.fixture(scope="module")
def event(tmp_path_factory):
    """A board with two events of the kind, which refused others, and its archive."""
    folder = tmp_path_factory.mktemp("event")
    run = edited_copy(folder, EVENT)
    succeeded(run("-c", BOARD))
    return run, folder


def test_an_added_event_is_in_the_log_of_the_board(event):
    run, _ = event
    assert re.search(
        r"4 .* review +Ben, after 1 replicate ", succeeded(run("-m", "bbedge", "board", "log", "b.bbedge"))
    )


def test_an_added_event_is_verified(event):
    run, _ = event
    assert "all is in order. 4 events," in succeeded(run("-m", "bbedge", "board", "verify", "b.bbedge"))


def test_an_added_event_is_exported_and_imported(event):
    run, folder = event
    head = json.loads((folder / "b.jsonl").read_text().splitlines()[0])["head"]
    done = succeeded(run("-m", "bbedge", "board", "import", "b.jsonl", "again.bbedge"))
    assert done == f"Imported and verified 4 events. Head {head}\n"


def forged(folder, **said):
    """The lines of the archive in which the last event says something else, with all hashes made right."""
    _, *rows, last = [json.loads(line) for line in (folder / "b.jsonl").read_text().splitlines()]
    for row in rows:
        row["content"] = json.loads(row["payload"])
    rows[-1]["content"] |= said
    return Forged(rows=rows, cache=last["cache"]).lines()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"replicates": 2}, "cannot have happened: a review of 2 replicates, where the board has 1"),
        pytest.param(
            {"reviewer": "Ada"},
            "cannot have happened: 'Ada' has reviewed the board already",
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["of what was not there", "a second time"],
)
def test_a_forged_event_of_an_added_kind_is_not_verified(said, why, event):
    run, folder = event
    place = shutil.copy(folder / "b.bbedge", folder / "forged.bbedge")
    *_, row, _ = [json.loads(line) for line in forged(folder, **said)]
    with closing(sqlite3.connect(place)) as connection, connection:
        changed = (row["payload"], row["hash"], row["seq"])
        connection.execute("UPDATE bbedge_events SET payload = ?, hash = ? WHERE seq = ?", changed)
        connection.execute("UPDATE bbedge_meta SET value = ? WHERE key = 'head'", (row["hash"],))
    message = refused(run("-m", "bbedge", "board", "verify", place.name))
    assert message == f"bbedge: event 4 (review) {why}\n"


@pytest.mark.nightly
def test_a_forged_event_of_an_added_kind_is_not_imported(event):
    run, folder = event
    (folder / "forged.jsonl").write_text("".join(forged(folder, grade=1)))
    message = refused(run("-m", "bbedge", "board", "import", "forged.jsonl", "imported.bbedge"))
    assert "event 4: " in message
    assert "grade" in message


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    return edited_copy(tmp_path_factory.mktemp("command"), COMMAND)


def test_an_added_command_is_in_help_and_reference(command):
    assert re.search(r"count-items +Print how many items there are\.", succeeded(command("-m", "bbedge", "--help")))
    succeeded(command("-c", PAGE, ROOT / "docs" / "generate"))


def test_an_added_command_runs(command):
    assert succeeded(command("-m", "bbedge", "count-items", ROOT / "demo" / "scores.csv")) == "72 items\n"


def test_an_added_command_refuses_bad_input(command):
    message = refused(command("-m", "bbedge", "count-items", "nowhere.csv", "--max-size", "x"))
    assert message == "bbedge: --max-size 'x' is not a size; write a number and K, M, G or T, such as 8G\n"
