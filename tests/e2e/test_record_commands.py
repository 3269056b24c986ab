"""Test runs, tables and judgments through the commands, and public examples where they are there."""

import os
import shlex
from pathlib import Path

import pytest

from bbedge.readers import read_scores
from log_makers import LOGS
from shape_makers import MODELS, SHAPES

EXAMPLES = Path(os.environ.get("BBEDGE_LOGS", ""))
with_examples = pytest.mark.skipif(
    "BBEDGE_LOGS" not in os.environ, reason="BBEDGE_LOGS does not name a folder with public examples of logs"
)


def follow(bbedge, *args):
    """Run inspect-scores and the commands that it ends with, as printed, until the scores are certified."""
    outcome = bbedge("inspect-scores", *args)
    for _ in range(4):
        command = shlex.split(outcome.out.strip().splitlines()[-1])
        assert command[0] == "bbedge"
        assert "Traceback" not in outcome.err
        last, outcome = outcome, bbedge(*command[1:])
        if command[1] == "certify":
            return last, outcome
    raise AssertionError(f"no end: {outcome.out}")


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("mlflow", "mt-bench")])
def test_inspect_scores_ends_with_a_command_that_works(name, bbedge, tmp_path):
    SHAPES[name].files(tmp_path)
    seen, certified = follow(bbedge, tmp_path)
    assert "Complete" in seen.out
    assert certified.code == 0, certified.err
    assert all(model in certified.out for model in MODELS)


def test_inspect_scores_takes_the_scale_and_the_names_that_a_log_cannot_say(bbedge, tmp_path):
    SHAPES["mt-bench"].files(tmp_path / "mt")
    _, certified = follow(bbedge, tmp_path / "mt", "--score-range", 1, 10)
    assert certified.code == 0, certified.err
    assert "16 items in 8 blocks" in certified.out
    names = [part for model in MODELS for part in ("--model-name", f"{model}/*={model}")]
    seen, certified = follow(bbedge, LOGS / "mlflow", *names, "--metric", "match/v1/score")
    assert "2 MLflow" in seen.out
    assert certified.code == 0, certified.err


def test_a_scale_that_is_not_declared_is_an_error_that_says_so(bbedge, tmp_path):
    path = SHAPES["mt-bench"].files(tmp_path)[0]
    outcome = bbedge("certify", path)
    assert outcome.code == 2
    assert "gpt-4_single.jsonl:1: score 8.0 is outside [0, 1]" in outcome.err.replace("\n", " ")


def test_convert_keeps_the_blocks_of_a_log(bbedge, tmp_path):
    path = SHAPES["mt-bench"].files(tmp_path)[0]
    out = tmp_path / "scores.parquet"
    assert bbedge("convert", path, "--to", out).code == 0
    whole = read_scores(path, score_range=(1, 10))
    again = read_scores(out, score_range=(1, 10))
    assert (again.items, again.blocks) == (whole.items, whole.blocks)
    assert (again.values == whole.values).all()


@with_examples
def test_example_of_the_openai_evals_api(bbedge):
    folder = EXAMPLES / "tab-oaiapi"
    scores = read_scores(folder)
    assert scores.models == ("gpt-4o-2024-08-06", "gpt-4o-mini-2024-07-18")
    assert scores.values.shape == (1, 2, 50)
    _, certified = follow(bbedge, folder)
    assert certified.code == 0, certified.err


@with_examples
def test_example_of_mlflow(bbedge):
    """Six of ten judgments failed, and the other metrics are grade levels, of which less is better."""
    folder = EXAMPLES / "tab-mlflow"
    chosen = {"model_name": ("m",), "metric": ("answer_correctness/v1/score",)}
    scores = read_scores(folder, least_models=1, **chosen, score_range=(1, 5), incomplete="judge=worst-case")
    assert scores.values.shape == (1, 1, 10)
    outcome = bbedge("inspect-scores", folder)
    assert outcome.code == 3
    assert "lower is better" in outcome.out
    assert "--model-name" in outcome.out
    options = ("--model-name", "m", "--metric", "answer_correctness/v1/score", "--score-range", 1, 5)
    outcome = bbedge("inspect-scores", folder, *options)
    assert outcome.code == 3
    command = shlex.split(outcome.out.strip().splitlines()[-1])
    outcome = bbedge(*command[1:])
    assert outcome.code == 0, outcome.err
    assert "1 model · 10 items" in outcome.out


def test_the_range_of_mt_bench_is_the_same_in_messages_and_documentation(bbedge, tmp_path):
    path = SHAPES["mt-bench"].files(tmp_path)[0]
    assert "pass --score-range 1 10" in " ".join(bbedge("certify", path).err.split())
    page = (Path(__file__).parents[2] / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    assert "pass `--score-range 1 10`" in page


def test_a_column_named_for_a_log_is_left_out_of_the_next_command(bbedge, tmp_path):
    path = SHAPES["mt-bench"].files(tmp_path)[0]
    named = ("--column", "score=score", "--score-range", "1", "10")
    looked = bbedge("inspect-scores", path, *named)
    assert "a log of MT-Bench, which is read without --column score=score: leave it out" in " ".join(looked.out.split())
    command = shlex.split(looked.out.rstrip().splitlines()[-1])
    assert "--column" not in command
    assert bbedge(*command[1:]).code == 0
