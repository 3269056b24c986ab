"""What engines know of items besides their blocks, and scores that a program leaves out."""

import math
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from bbedge.board import Board
from bbedge.errors import EvaluationError
from bbedge.evaluate.engines.command import CommandEngine
from bbedge.evaluate.engines.inspect import _sample
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.verify.ledger import verify

HARNESS = """\
import random, sys

model, seed, items, out = sys.argv[1:]
draw = random.Random(seed + model)
with open(out, "w") as file:
    print("model,item,score", file=file)
    for item in open(items).read().split():
        right = draw.random() < {"good": 0.95, "bad": 0.05}[model.rstrip("0123456789")]
        if not (item == "q3" and model == "good" LACKING):
            print(model, item, round(0.8 * right + 0.2 * draw.random(), 2), sep=",", file=file)
"""


def command_study(folder, *, lacking="and False", columns=True, **values):
    folder.mkdir(exist_ok=True)
    (folder / "harness.py").write_text(HARNESS.replace("LACKING", lacking))
    topics = ["topic"] + ["x"] * 5 + ["y"] * 7
    names = ["item", *(f"q{i}" for i in range(12))]
    rows = [f"{item},{topic}" if columns else item for item, topic in zip(names, topics, strict=True)]
    (folder / "items.csv").write_text("\n".join(rows) + "\n")
    given = {
        "engine": "command",
        "budget": 12,
        "models": ["good", "bad"],
        "command": [sys.executable, "harness.py", "{model}", "{seed}", "{items}", "{out}"],
        "benchmark": {"items": "items.csv"},
        "run": {"pause": 0.0, "retries": 1},
    } | values
    return EvaluationSpec.from_values(given, path=folder / "study.toml")


def test_columns_of_the_list_of_items(tmp_path):
    study = command_study(tmp_path, views={"column": "topic"}, question="best", view="y")
    ended = evaluate(study, CommandEngine(study), sleep=lambda _: None)
    assert ended.answer.text == "the best is good"
    assert [view.name for view in ended.leaderboard.views] == ["x", "y"]
    with closing(Board.open(study.board)) as board:
        assert board.state.epoch.columns == {"topic": ("x",) * 5 + ("y",) * 7}
        verify(board.store)


def test_a_list_without_the_column(tmp_path):
    study = command_study(tmp_path, columns=False, views={"column": "topic"})
    with pytest.raises(EvaluationError, match=r"items.csv: there is no column 'topic', which the design uses"):
        CommandEngine(study).benchmark()


def test_a_program_that_leaves_scores_out(tmp_path):
    study = command_study(tmp_path, lacking="", on_error="worst-case")
    ended = evaluate(study, CommandEngine(study), sleep=lambda _: None)
    assert ended.reason == "answered"
    assert ended.leaderboard.gaps.of_models == (ended.spent.replicates, 0)
    with closing(Board.open(study.board)) as board:
        verify(board.store)


def test_without_the_rule_it_has_failed(tmp_path):
    study = command_study(tmp_path, lacking="")
    with pytest.raises(EvaluationError, match=r"lacks 1 items: 'q3'"):
        evaluate(study, CommandEngine(study), sleep=lambda _: None)


def sample(**metadata):
    return SimpleNamespace(metadata=metadata)


def test_columns_of_a_sample():
    made = _sample("s", sample(category="math", weight=2, items=["a", "b"]), ["category", "metadata.weight"])
    assert made.items == ("s/a", "s/b")
    assert made.columns == {"category": ("math", "math"), "metadata.weight": ("2", "2")}
    made = _sample("s", sample(kind={"b": "y", "a": "x"}, items=["a", "b"]), ["kind"])
    assert made.columns == {"kind": ("x", "y")}
    assert _sample("s", sample(category="math"), []).columns == {}


@pytest.mark.parametrize("value", [None, "", ["x"], {"a": "x"}, math.nan])
def test_a_sample_without_the_column(value):
    with pytest.raises(EvaluationError, match="sample 's': metadata has no text or number 'kind', which the design"):
        _sample("s", sample(kind=value, items=["a", "b"]), ["kind"])
