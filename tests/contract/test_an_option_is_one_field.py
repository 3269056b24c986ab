"""An option is one field: made-up ones, added to a copy of the package, are found on every face of it."""

import pytest

from package_copy import ROOT, edited_copy

FIELD = """    patience: Annotated[
        Part | UnsetType, option("A made-up option.", metavar="SHARE", default=False)
    ] = UNSET

    def __post_init__(self) -> None:
        # msgspec"""
ARGUMENT = "    copies: Copies\n    patience: float | None\n    tau: float\n"
EDITS = {
    "src/bbedge/records/options.py": [
        ("    def __post_init__(self) -> None:\n        # msgspec", FIELD),
        ("    copies: Copies\n    tau: float\n", ARGUMENT),
    ]
}
READING = {
    "src/bbedge/records/reading.py": [
        (
            "    less_is_better: Annotated[",
            '    again: Annotated[bool, option("Made up, about reading.")] = False\n    less_is_better: Annotated[',
        ),
        ("    incomplete: str\n", "    incomplete: str\n    again: bool\n"),
    ]
}
OUTPUT = {
    "src/bbedge/records/output.py": [
        (
            "    all_rows: Annotated[",
            '    softly: Annotated[bool, option("Made up, about output.")] = False\n    all_rows: Annotated[',
        )
    ]
}

PYTHON = """
import json, sys
import bbedge
from bbedge.core.design import Design
from bbedge.gate import Policy
from bbedge.records.certificate import Document
from bbedge.records.schema import schema

demo = sys.argv[1]
said, silent = bbedge.certify(demo, patience=0.25), bbedge.certify(demo)
assert said.design.patience == 0.25 != silent.design.patience
assert said.design.hash != silent.design.hash
assert json.loads(said.to_json())["design"]["patience"] == 0.25
assert "patience" not in json.loads(silent.to_json())["design"]
try:
    bbedge.certify(demo, patience=1.5)
except bbedge.DomainError as error:
    assert str(error) == "patience=1.5 is not allowed; choose a number of at least 0 and below 1", error
else:
    raise AssertionError("not refused")

board, plain = bbedge.BoardDesign.from_toml("patience = 0.25"), bbedge.BoardDesign()
assert board.content == plain.content | {"patience": 0.25} and board.hash != plain.hash
assert board.core_design(["a", "b"], ["q"], ["q"], level=0.01).patience == 0.25
text = 'candidate = "a"\\nbaseline = "b"\\npatience = 0.25\\n[[claims]]\\nnot_worse_by = 0.02\\n'
policy = Policy.from_toml(text)
assert policy.patience == policy.content["patience"] == 0.25
assert policy.hash != Policy.from_toml(text.replace("patience = 0.25", "")).hash

keys = schema(Document, "certificate")["$defs"]
for record in ("DesignRecord", "BoardOptions"):
    assert keys[record]["properties"]["patience"]["description"] == "A made-up option.", record
with bbedge.Board.create("b.bbedge", board, models=["a", "b"], items=["q1", "q2"]) as made:
    assert json.loads(made.certificate().to_json())["board"]["design"]["patience"] == 0.25
with bbedge.Board.open("b.bbedge") as again:
    assert again.design.patience == again.leaderboard().design.patience == 0.25
"""
OF_READING = """
import json, sys
import bbedge
from bbedge.records.certificate import Document
from bbedge.records.schema import schema

demo = sys.argv[1]
said, silent = bbedge.read_scores(demo, again=True), bbedge.read_scores(demo)
assert said.reading.again is True and silent.reading is None
assert said.reading.words() == ["--again"]
stated = [json.loads(bbedge.certify(each).to_json())["provenance"] for each in (said, silent)]
assert stated[0]["reading"] == {"again": True} and "reading" not in stated[1], stated
try:
    bbedge.read_scores(demo, again=3)
except bbedge.DomainError as error:
    assert str(error).startswith("again=3 is not allowed"), error
else:
    raise AssertionError("not refused")
keys = schema(Document, "certificate")["$defs"]["ReadingRecord"]["properties"]
assert keys["again"]["description"] == "Made up, about reading."
"""
PAGES = """
import sys
sys.path.insert(0, sys.argv[1])
import commands, schema
page = commands.page().replace("<", "").replace(">", "")
assert "--patience SHARE" in page and "--again" in page and "--softly" in page
assert "| `patience` |" in schema.page()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return edited_copy(tmp_path_factory.mktemp("copy"), EDITS | READING | OUTPUT)


@pytest.mark.every_push("one option, one place: what the next options rely on")
def test_python_toml_json_hash_and_schema_have_it(run):
    done = run("-c", PYTHON, str(ROOT / "demo" / "scores.csv"))
    assert not done.stderr
    assert done.returncode == 0


@pytest.mark.every_push("one option, one place: what the next options rely on")
def test_the_command_line_has_it(run):
    done = run("-m", "bbedge", "certify", "--help")
    assert "--patience" in done.stdout
    assert "A made-up option." in done.stdout
    words = ("-m", "bbedge", "certify", str(ROOT / "demo" / "scores.csv"), "--patience")
    assert run(*words, "0.25").returncode == 0
    refused = run(*words, "1.5")
    assert refused.returncode == 2
    assert refused.stderr == "bbedge: --patience 1.5 is not allowed; choose a number of at least 0 and below 1\n"


@pytest.mark.every_push("one option, one place: what the next options rely on")
def test_python_json_and_schema_have_an_option_of_reading(run):
    done = run("-c", OF_READING, str(ROOT / "demo" / "scores.csv"))
    assert not done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("certify",), ("--again", "--softly")),
        (("verify",), ("--again",)),
        (("gate",), ("--again",)),
        (("board", "add"), ("--again",)),
        (("report",), ("--softly",)),
        (("board", "show"), ("--softly",)),
    ],
)
@pytest.mark.every_push("one option, one place: what the next options rely on")
def test_commands_have_the_options_of_reading_and_output(run, words, options):
    text = run("-m", "bbedge", *words, "--help").stdout
    assert all(option in text for option in options)


@pytest.mark.every_push("one option, one place: what the next options rely on")
def test_the_reference_pages_have_it(run):
    done = run("-c", PAGES, str(ROOT / "docs" / "generate"))
    assert not done.stderr
    assert done.returncode == 0
