"""Models that were asked other questions under the same names: refused, with the odd file, whatever the policy."""

import json

import pytest

from bbedge.errors import DataError
from bbedge.readers import read_scores
from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run
from older_logs import first_lm_eval, first_openai_evals, helm_run, old_lighteval, promptfoo


def read(*sources, incomplete="refuse", **choices):
    return read_scores(*sources, least_models=1, **choices, incomplete=incomplete)


def refusal(*sources, **choices):
    with pytest.raises(DataError) as caught:
        read(*sources, **choices)
    return str(caught.value)


def inspect_files(folder, texts, **more):
    for model, text in texts.items():
        samples = [inspect_sample("q1"), inspect_sample("q2", input=text, **more)]
        inspect_log(folder / f"{model}.eval", model=model, samples=samples)


def test_inspect_names_the_odd_file(tmp_path):
    inspect_files(tmp_path, {"a": "What is 2?", "b": "What is three?", "c": "What is 2?"})
    message = refusal(tmp_path)
    odd = tmp_path / "b.eval"
    assert message.startswith(f"{odd} has other texts for 1 item than the other files, such as 't/q2' at {odd}: sample")
    assert "a.eval" not in message
    for policy in ("zero", "worst-case", "drop-items", "drop-models"):
        assert refusal(tmp_path, incomplete=policy) == message


def test_of_two_files_none_is_the_odd_one(tmp_path):
    inspect_files(tmp_path, {"a": "What is 2?", "b": "What is three?"})
    message = refusal(tmp_path)
    assert f"{tmp_path / 'a.eval'}, {tmp_path / 'b.eval'} have other texts for 1 item than each other" in message


def test_texts_that_every_model_was_asked_are_only_noted(tmp_path):
    for model in "ab":
        for run in (1, 2):
            samples = [inspect_sample("q1", input=f"version {run}")]
            inspect_log(tmp_path / f"{model}{run}.eval", model=model, samples=samples, created=f"2026-01-0{run}")
    assert [note.kind for note in read(tmp_path).notes if "another text" in note.text] == ["content"]


def test_texts_that_are_drawn_for_every_epoch_are_only_noted(tmp_path):
    for model in "ab":
        samples = [inspect_sample("q1", input=f"{model} {epoch}", epoch=epoch) for epoch in (1, 2)]
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=samples)
    assert any(note.kind == "content" for note in read(tmp_path).notes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"input": "Which? A) two B) three"}, {"input": "Which? A) three B) two"}),
        ({"target": "A"}, {"target": "C"}),
        (
            {"input": [{"id": "x", "role": "user", "content": "Which?"}]},
            {"input": [{"id": "y", "role": "user", "content": [{"type": "text", "text": "Which?"}]}]},
        ),
        (
            {"input": [{"content": [{"type": "image", "image": "data:..."}]}]},
            {"input": [{"content": [{"type": "text", "text": "(Image)"}]}]},
        ),
        ({"input": "w " * 4000}, {"input": "w " * 2560 + "...\n(content truncated)"}),
    ],
)
def test_the_same_question_may_be_logged_otherwise(tmp_path, one, other):
    for model, said in (("a", one), ("b", other)):
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=[inspect_sample("q1", **said)])
    assert not any(note.kind == "content" for note in read(tmp_path).notes)


def test_a_prompt_that_names_the_model_may_be_part_of_every_question(tmp_path):
    for prompt in ("old", "new"):
        samples = [inspect_sample(name, input=f"{prompt} prompt: {name}") for name in ("q1", "q2")]
        inspect_log(tmp_path / f"{prompt}.eval", samples=samples, model=prompt, task_args={"prompt": prompt})
    assert "other texts for 2 items" in refusal(tmp_path)
    scores = read(tmp_path, model_from="task_args.prompt")
    assert scores.models == ("new", "old")
    assert any(note.kind == "content" for note in scores.notes)
    inspect_files(tmp_path, {"old": "What is 2?", "new": "What is three?"})
    assert "other texts for 1 item" in refusal(tmp_path, model_from="model")


def test_another_answer_is_another_question(tmp_path):
    for model, target in (("a", "Paris"), ("b", "Lyon")):
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=[inspect_sample("q1", target=target)])
    assert "other texts for 1 item" in refusal(tmp_path)


def documents(folder, texts, **more):
    rows = [lm_eval_row(n, doc={"question": text}) for n, text in enumerate(texts)]
    return lm_eval_run(folder, rows=rows, **more)


def test_lm_eval_a_document_in_the_place_of_another(tmp_path):
    for model, texts in (("a", "xyz"), ("b", "xyz"), ("c", "xqz")):
        documents(tmp_path / model, texts, model=model)
    message = refusal(tmp_path, incomplete="drop-items")
    assert message.startswith(f"{tmp_path / 'c' / 'samples_t'}")
    assert "has other texts for 1 item than the other files, such as 't/1'" in message


def test_lm_eval_documents_in_another_order_are_the_same(tmp_path):
    for model, texts in (("a", "xyz"), ("b", "zxy")):
        documents(tmp_path / model, texts, model=model)
    assert read(tmp_path).values.shape == (1, 2, 3)


def test_lm_eval_a_document_that_was_added_is_a_missing_score(tmp_path):
    documents(tmp_path / "a", "xyz", model="a")
    documents(tmp_path / "b", "qxyz", model="b")
    assert "cells" in refusal(tmp_path)
    assert read(tmp_path, incomplete="drop-items").values.shape == (1, 2, 3)


def test_lm_eval_of_the_first_versions_has_no_hashes(tmp_path):
    for model in "abc":
        path = first_lm_eval(tmp_path / model, model=model)
    rows = json.loads(path.read_text())
    rows[1]["doc"]["question"] = "changed"
    path.write_text(json.dumps(rows))
    assert refusal(tmp_path).startswith(f"{path} has other texts for 1 item than the other files")


def test_helm(tmp_path):
    for model, text in (("a", "two"), ("b", "two"), ("c", "three")):
        helm_run(tmp_path / model, [("id1", "test", 1.0)], model=model, instances={"id1": f"What is {text}?"})
    assert refusal(tmp_path).startswith(f"{tmp_path / 'c' / 'per_instance_stats.json'} has other texts for 1 item")


def test_helm_questions_are_also_in_the_requests(tmp_path):
    for model, text in (("a", "two"), ("b", "two"), ("c", "three")):
        helm_run(tmp_path / model, [("id1", "test", 1.0)], model=model)
        request = {"instance": {"id": "id1", "input": {"text": text}}, "request": {}}
        (tmp_path / model / "scenario_state.json").write_text(
            json.dumps({"adapter_spec": {}, "request_states": [request]})
        )
    assert refusal(tmp_path).startswith(f"{tmp_path / 'c' / 'per_instance_stats.json'} has other texts for 1 item")


def test_lighteval_another_answer(tmp_path):
    import polars as pl

    for model in "abc":
        path = old_lighteval(tmp_path, model=model)
    table = pl.read_parquet(path)
    table.with_columns(gold=pl.lit(["changed"], dtype=pl.List(pl.String))).write_parquet(path)
    assert refusal(tmp_path, metric=("extractive_match",)).startswith(f"{path} has other texts for 2 items")


def test_promptfoo_a_description_with_other_variables(tmp_path):
    for name, value in (("a", 1), ("b", 1), ("c", 2)):
        case = {"description": "the test", "vars": {"v": value}}
        promptfoo(tmp_path / f"{name}.json", rows=[(name, case, 0, 1), (name, {"vars": {"v": 9}}, 1, 1)])
    message = refusal(tmp_path, incomplete="drop-items")
    assert message.startswith(f"{tmp_path / 'c.json'} has other texts for 1 item than the other files, such as 'the")


@pytest.mark.parametrize("named", [True, False])
def test_openai_evals(tmp_path, named):
    for model, texts in (("a", {}), ("b", {}), ("c", {1: "changed"})):
        first_openai_evals(tmp_path / f"{model}.jsonl", model=model, texts=texts, run=model, named=named)
    assert refusal(tmp_path).startswith(f"{tmp_path / 'c.jsonl'} has other texts for 1 item than the other files")


def test_openai_evals_a_function_that_words_every_question_otherwise_is_only_noted(tmp_path):
    for model, word in (("a", ""), ("b", "Think. ")):
        texts = {n: f"{word}Question {n}" for n in (0, 1)}
        first_openai_evals(tmp_path / f"{model}.jsonl", model=model, texts=texts, run=model, named=False)
    assert any(note.kind == "content" for note in read(tmp_path).notes)
