"""Item columns on the command line: from options to the design that is certified, and what is refused before."""

import json
import os
from pathlib import Path

import polars as pl
import pytest
import typer

from bbedge.core.leaderboard import certify_design
from bbedge.core.views import macro_weights, suite_options
from bbedge.readers import read_scores
from log_makers import LOGS, lm_eval_row, lm_eval_run

EPOCHS = LOGS / "inspect" / "epochs"


@pytest.fixture
def design(bbedge, monkeypatch):
    """The design that certify makes of its options; nothing is certified."""
    made = []

    def seen(_table, its_design, **_):
        made.append(its_design)
        raise typer.Exit(0)

    monkeypatch.setattr("bbedge.core.leaderboard.certify_design", seen)

    def run(*words):
        outcome = bbedge("certify", *words)
        assert outcome.code == 0, outcome.err
        return made.pop()

    return run


@pytest.fixture
def scores(tmp_path):
    rows = [
        {"model": model, "item": item, "topic": topic, "points": points, "score": score}
        for model, score in (("a", 1), ("b", 0))
        for item, topic, points in (("q1", "math", 1), ("q2", "math", 3), ("q3", "code", 2))
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_without_the_options_the_design_is_the_plain_one(design, scores):
    assert design(scores).hash == read_scores(scores).design().hash


def test_macro_views_and_shares(design, scores):
    made = design(scores, "--macro", "topic", "--views", "topic", "--share", "math=0.1", "--share", "headline=0.6")
    assert made.weights == macro_weights(["math", "math", "code"])
    assert {view.name: view.weights for view in made.views} == {"code": (0, 0, 1), "math": (1, 1, 0)}
    assert made.share == 0.6
    assert {view.name: view.share for view in made.views} == {"code": pytest.approx(0.3), "math": 0.1}


def test_weights_inside_categories(design, scores):
    made = design(scores, "--macro", "topic", "--weights", "points", "--views", "topic")
    assert made.weights == (0.125, 0.375, 0.5)
    assert {view.name: view.weights for view in made.views} == {"code": (0, 0, 2), "math": (1, 3, 0)}


def test_columns_of_a_list_of_items(design, scores, tmp_path):
    (tmp_path / "items.csv").write_text("item,language,block\nq1,en,x\nq2,en,x\nq3,de,y\n")
    made = design(scores, "--items", tmp_path / "items.csv", "--views", "language")
    assert [view.name for view in made.views] == ["de", "en"]
    assert made.blocks == ("x", "x", "y")


def test_tasks_of_a_folder_of_logs_are_a_suite(design, tmp_path):
    for model in "ab":
        for task, count in (("t1", 1), ("t2", 3)):
            rows = [lm_eval_row(i) for i in range(count)]
            lm_eval_run(tmp_path / model / task, model=model, task=task, rows=rows)
    made = design(tmp_path, "--macro", "task", "--views", "task")
    assert sorted(made.weights) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert [view.name for view in made.views] == ["t1", "t2"]


def metric_logs(folder, **said):
    for model, right in (("a", 1.0), ("b", 0.0)):
        rows = [lm_eval_row(i) | {"metrics": ["acc", "wer"], "acc": right, "wer": 1 - right} for i in range(2)]
        lm_eval_run(folder / model, model=model, rows=rows, **said)
    return folder


def test_metrics_as_views(design, tmp_path):
    made = design(
        metric_logs(tmp_path), "--views", "metric", "--metric", "acc", "--metric-range", "wer=1:0", "--share", "wer=0.2"
    )
    assert made.weights == (1, 0, 1, 0)
    assert [(view.name, view.weights, view.share) for view in made.views] == [("wer", (0, 1, 0, 1), 0.2)]
    assert made.layout.count == 2
    assert len(set(made.blocks)) == 2
    mean = design(tmp_path, "--views", "metric", "--macro", "metric", "--metric-range", "wer=1:0")
    assert mean.weights is None
    assert [view.name for view in mean.views] == ["acc", "wer"]


def test_a_metric_must_be_chosen_and_its_direction_declared(bbedge, tmp_path):
    metric_logs(tmp_path, higher_is_better={"t": {"wer": False}})
    outcome = bbedge("certify", tmp_path, "--views", "metric")
    assert outcome.code == 2
    assert "--metric-range wer=WORST:BEST" in outcome.err.replace("\n", " ")
    outcome = bbedge("certify", tmp_path, "--views", "metric", "--metric-range", "wer=1:0")
    assert outcome.code == 2
    words = " ".join(outcome.err.split())
    assert "pass --metric NAME" in words
    assert "--macro metric" in words
    outcome = bbedge("certify", tmp_path, "--views", "metric", "--metric-range", "wer=0:1", "--metric", "acc")
    assert "correct --metric-range wer=1:0" in " ".join(outcome.err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--views", "topik"], "no column 'topik'"),
        (["--weights", "topic"], "'math' in the column 'topic' is not a weight"),
        (["--share", "math=0.3"], "--share needs --views"),
        (["--views", "topic", "--share", "math"], "--share 'math' is not VIEW=PART"),
        (["--views", "topic", "--share", "math=x"], "--share 'math=x' is not VIEW=PART"),
        (["--views", "topic", "--share", "math=0.1", "--share", "math=0.2"], "once for every view"),
        (["--views", "topic", "--share", "maths=0.1"], "there is no view 'maths'"),
        (["--views", "topic", "--share", "math=2"], "a share of 2.0 for 'math' is not allowed"),
        (["--metric-range", "acc=0"], "--metric-range 'acc=0' is not NAME=WORST:BEST"),
        (["--metric-range", "acc=0:10"], "--metric-range is for logs"),
        (["--views", "metric"], "no column 'metric'"),
    ],
)
def test_what_is_refused(bbedge, scores, words, message):
    outcome = bbedge("certify", scores, *words)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err


def test_convert_keeps_the_columns_that_were_asked_for(bbedge, tmp_path, design):
    out = tmp_path / "scores.parquet"
    words = ("--item-column", "metadata.dialogue_id", "--item-column", "task")
    assert bbedge("convert", EPOCHS, *words, "--to", out).code == 0
    assert pl.read_parquet(out).columns == ["model", "item", "metadata.dialogue_id", "task", "replicate", "score"]
    straight = design(EPOCHS, "--views", "metadata.dialogue_id")
    assert design(out, "--views", "metadata.dialogue_id").hash == straight.hash


def test_inspect_scores_lists_the_columns(bbedge, scores, tmp_path, design):
    outcome = bbedge("inspect-scores", scores, "--json", tmp_path / "found.json")
    assert outcome.code == 0
    assert json.loads((tmp_path / "found.json").read_text())["item_columns"] == {"topic": 2, "points": 3}
    assert "add --views topic to certify" in " ".join(outcome.out.split())
    last = outcome.out.strip().splitlines()[-1]
    assert last.strip() == f"bbedge certify {scores}"
    assert [view.name for view in design(scores, "--views", "topic").views] == ["code", "math"]


def test_help_teaches_the_options(bbedge):
    text = bbedge("certify", "--help").out
    for words in ("--macro", "--weights", "--views", "--share", "--items", "--metric-range", "headline=0.6"):
        assert words in text


@pytest.fixture
def real_suite():
    if "BBEDGE_PANELS" not in os.environ:
        pytest.skip("set BBEDGE_PANELS to the folder of public result panels to try them")
    return Path(os.environ["BBEDGE_PANELS"]) / "routellm_mmlu_subjects.parquet"


def test_the_subjects_of_a_real_suite_are_views(design, real_suite):
    made = design(real_suite, "--blocks", "item", "--macro", "block", "--views", "block")
    assert len(made.views) == 57
    assert made.layout.count == len(made.items) == 14042
    assert sum(made.weights) == pytest.approx(1.0)
    assert sum(sum(view.weights) for view in made.views) == 14042


def test_a_real_suite_certifies_in_python(real_suite):
    scores = read_scores(real_suite, item_column=["block"], blocks="item")
    made = scores.design(**suite_options(scores, macro="block", views="block"))
    leaderboard = certify_design(scores, made)
    table = pl.DataFrame({"subject": scores.columns["block"], "score": scores.values[0, 0]})
    macro = table.group_by("subject").agg(pl.col("score").mean())["score"].mean()
    assert leaderboard.means[0] == pytest.approx(macro)
    assert leaderboard.certified("gpt-4-1106-preview", "mistralai/Mixtral-8x7B-Instruct-v0.1")
