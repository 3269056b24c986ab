"""What a command gets, and what is shown of one that fails."""

import json
import sys

import pytest

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Job
from bbedge.evaluate.engines.command import CommandEngine, last_lines
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done, Failed, Sent

COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2]); print(open(sys.argv[1]).read())"
ITEMS = "item,block,category\nq1,b1,easy\nq2,b1,hard\nq3,b2,easy\n"


def engine_of(folder, words, items=ITEMS):
    (folder / "items.csv").write_text(items, encoding="utf-8")
    values = {"engine": "command", "budget": 1, "models": ["a", "b"], "command": words}
    study = EvaluationSpec.from_values(values | {"benchmark": {"items": "items.csv"}}, path=folder / "study.toml")
    return CommandEngine(study), study


def called(folder, words, items=ITEMS):
    """What the first call reports."""
    engine, study = engine_of(folder, words, items)
    (sample,) = engine.benchmark().samples
    seen = []
    engine.run(1, [Job(model=study.models[0], sample=sample)], lambda job, call: 7, seen.append)
    return seen, folder / "study.run" / "replicate-00001" / "model-001" / "attempt-00001"


def test_items_are_a_name_on_every_line(tmp_path):
    _, folder = called(tmp_path, [sys.executable, "-c", COPY, "{items}", "{out}", "{seed}"])
    assert sorted((folder / "scores.csv").read_text().splitlines()) == ["q1", "q2", "q3"]
    assert not (folder / "items.json").exists()


def test_items_as_json_have_all_that_is_known_in_the_same_order(tmp_path):
    _, folder = called(tmp_path, [sys.executable, "-c", COPY, "{items.json}", "{out}", "{seed}"])
    rows = json.loads((folder / "scores.csv").read_text())
    assert sorted(rows, key=lambda row: row["item"]) == [
        {"item": "q1", "block": "b1", "category": "easy"},
        {"item": "q2", "block": "b1", "category": "hard"},
        {"item": "q3", "block": "b2", "category": "easy"},
    ]
    assert [row["item"] for row in rows] == (folder / "items.txt").read_text().split()


def test_a_name_with_a_line_break_needs_json(tmp_path):
    torn = 'item\n"q\n1"\nq2\n'
    engine, _ = engine_of(tmp_path, [sys.executable, "{items}", "{out}", "{seed}"], torn)
    with pytest.raises(EvaluationError, match=r"item 'q\\x0a1' has a line break(.|\n)*use \{items.json\}"):
        engine.benchmark()
    engine, _ = engine_of(tmp_path, [sys.executable, "{items.json}", "{out}", "{seed}"], torn)
    assert engine.benchmark().items == ("q\n1", "q2")


def test_a_crash_shows_the_last_lines_readable(tmp_path):
    crash = r"print('\x1b[31mloading\x1b[0m'); print('  5%\r 99%', end='\r\n'); raise ValueError('no such \x07model')"
    (*_, trouble, failed), folder = called(tmp_path, [sys.executable, "-c", crash, "{out}", "{seed}"])
    assert isinstance(failed, Failed)
    assert (trouble.problem.kind, trouble.problem.model) == ("program", "a")
    assert "exit code 1" in failed.error
    assert str(folder / "log.txt") in failed.error
    output = trouble.problem.output
    assert output[:2] == ("loading", " 99%")
    assert output[-1] == r"ValueError: no such \x07model"
    assert not any("\x1b" in line or "\n" in line for line in output)


def test_a_call_that_succeeds_has_no_problem(tmp_path):
    write = (
        "import sys; open(sys.argv[1], 'w').write('model,item,score\\n' + ''.join(f'a,q{i},1\\n' for i in (1, 2, 3)))"
    )
    seen, _ = called(tmp_path, [sys.executable, "-c", write, "{out}", "{seed}"])
    assert [type(each) for each in seen] == [Sent, Done]


def test_the_end_of_a_long_log_is_short(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"x" * 100_000 + b"\n" + b"".join(b"line %d\n\n" % n for n in range(5000)) + b"\xff" + b"y" * 900)
    lines = last_lines(log)
    assert len(lines) == 12
    assert lines[-2] == "line 4999"
    assert len(lines[-1]) == 200
    assert last_lines(tmp_path / "none") == ()
    log.write_bytes(b"\n \n\t\n")
    assert last_lines(log) == ()


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("#!/bin/sh\n", 0o644, "cannot be started: the file is not executable"),
        ("#!/no/such/interpreter -x\n", 0o755, "names the interpreter /no/such/interpreter, which does not exist"),
    ],
)
def test_a_program_that_cannot_start_is_refused_before_anything_is_frozen(tmp_path, text, mode, message):
    program = tmp_path / "harness"
    program.write_text(text)
    program.chmod(mode)
    engine, _ = engine_of(tmp_path, ["./harness", "{out}", "{seed}"])
    with pytest.raises(EvaluationError, match=message):
        engine.benchmark()
