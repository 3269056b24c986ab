"""What inspect-scores proposes works as printed, and shows no scores."""

import json
import shlex

import pytest

from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run
from older_logs import first_lm_eval, first_openai_evals, first_promptfoo, helm_run, old_lighteval


def test_arguments_that_differ_are_proposed_as_names(bbedge, tmp_path):
    for prompt in ("old", "new"):
        inspect_log(tmp_path / "logs" / f"{prompt}.eval", task_args={"prompt": prompt, "seed": prompt})
    out = tmp_path / "out.json"
    assert bbedge("inspect-scores", tmp_path / "logs", "--json", out).code == 0
    document = json.loads(out.read_text())
    assert document["command"].endswith("--model-from task_args.prompt")
    assert document["differing"] == [{"model": "m", "task": "t", "field": "task_args.prompt", "values": ["new", "old"]}]
    assert any("differ in task_args.prompt: 'new', 'old'" in note for note in document["suspicious"])
    assert bbedge(*shlex.split(document["command"])[1:], "--json", out).code == 0
    assert json.loads(out.read_text())["models"] == ["new", "old"]


def test_with_several_models_the_model_stays_in_the_name(bbedge, tmp_path):
    for model in "ab":
        for prompt in ("old", "new"):
            inspect_log(tmp_path / "logs" / f"{model}{prompt}.eval", model=model, task_args={"prompt": prompt})
    printed = bbedge("inspect-scores", tmp_path / "logs").out
    assert "--model-from model+task_args.prompt" in " ".join(printed.split())
    assert bbedge("certify", tmp_path / "logs", "--model-from", "model+task_args.prompt").code == 0


def test_a_mean_that_is_not_the_stated_one_is_reported_without_the_means(bbedge, tmp_path):
    first_lm_eval(tmp_path / "a", model="a", stated=0.912)
    first_lm_eval(tmp_path / "b", model="b")
    printed = " ".join(bbedge("inspect-scores", tmp_path).out.split())
    assert "is not the one that" in printed
    assert "0.912" not in printed
    assert "states 0.912" in " ".join(bbedge("certify", tmp_path).out.split())


def _lm_eval(folder):
    for model in "ab":
        rows = [lm_eval_row(n, filter=chosen) for chosen in ("strict", "loose") for n in (0, 1)]
        lm_eval_run(folder / model, model=model, rows=rows)


def _first_lm_eval(folder):
    for model in "ab":
        first_lm_eval(folder / model, model=model)


def _inspect(folder):
    for model in "ab":
        inspect_log(folder / f"{model}.eval", model=model, samples=[inspect_sample("q1"), inspect_sample("q2")])


def _helm(folder):
    for model in "ab":
        helm_run(folder / model, [("id1", "test", 1.0), ("id2", "valid", 0.0)], model=model)


def _lighteval(folder):
    for model in "ab":
        old_lighteval(folder, model=model)


def _promptfoo(folder):
    folder.mkdir()
    first_promptfoo(folder / "out.json", rows=[(p, "x", {"v": v}, 1) for p in "ab" for v in "12"])


def _openai_evals(folder):
    for model in "ab":
        first_openai_evals(folder / f"{model}.jsonl", model=model, run=model)


@pytest.mark.parametrize(
    "make", [_lm_eval, _first_lm_eval, _inspect, _helm, _lighteval, _promptfoo, _openai_evals], ids=lambda f: f.__name__
)
def test_the_last_line_works_as_printed(bbedge, tmp_path, make):
    folder = tmp_path / "some logs"
    make(folder)
    words = ["inspect-scores", str(folder)]
    for _ in range(2):
        if words[0] == "inspect-scores":
            words = shlex.split(bbedge(*words).out.splitlines()[-1])[1:]
    assert words[0] == "certify"
    assert bbedge(*words).code == 0
