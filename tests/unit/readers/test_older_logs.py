"""Logs of older versions of the tools, and logs that lack what is needed: read right, or refused with the remedy."""

import json

import pytest

from bbedge.errors import DataError, FormatError
from bbedge.readers import read_scores
from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run
from older_logs import first_lm_eval, first_openai_evals, first_promptfoo, helm_run, old_lighteval, promptfoo


def read(*sources, **choices):
    return read_scores(*sources, least_models=1, **choices)


def refusal(*sources, **choices):
    with pytest.raises(DataError) as caught:
        read(*sources, **choices)
    return str(caught.value)


def test_lm_eval_of_the_first_versions_is_an_array_beside_results_without_a_time(tmp_path):
    first_lm_eval(tmp_path / "a", model="org/a", scores=(1.0, 1.0, 0.0))
    first_lm_eval(tmp_path / "b", model="org/b", scores=(0.0, 1.0, 0.0))
    scores = read(tmp_path)
    assert scores.models == ("org/a", "org/b")
    assert all(item.startswith("sums/") for item in scores.items)
    assert scores.values.mean(axis=2).tolist() == [[pytest.approx(2 / 3), pytest.approx(1 / 3)]]
    assert not scores.notes


def test_lm_eval_results_of_another_model_in_the_same_folder_do_not_name_it(tmp_path):
    path = first_lm_eval(tmp_path, model="org/a")
    first_lm_eval(tmp_path, model="org/b", samples=False)
    assert "the log does not name its model" in refusal(path)
    assert "results.json: results of lm-evaluation-harness without samples" in refusal(tmp_path / "results.json")


def test_lm_eval_results_that_are_broken_say_so(tmp_path):
    first_lm_eval(tmp_path)
    results = tmp_path / "results.json"
    results.write_text(results.read_text()[:-20])
    assert f"{results}: not valid JSON" in refusal(tmp_path)


def test_lm_eval_a_row_of_an_array_that_is_none_is_named(tmp_path):
    path = first_lm_eval(tmp_path)
    path.write_text(json.dumps([*json.loads(path.read_text()), {"note": "resumed"}], indent=2))
    assert f"{path}: sample 4: no doc_id and doc in this row" in refusal(path)
    path.write_text("[7]")
    assert f"{path}: sample 1: '7' is no object" in refusal(path, format="lm-eval")


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize("array", [False, True])
def test_lm_eval_samples_end_in_json_and_results_have_any_name(tmp_path, ending, array):
    rows = [lm_eval_row(n, filter=chosen) for chosen in ("strict", "loose") for n in (0, 1)]
    path = lm_eval_run(tmp_path, rows=rows)
    results = next(tmp_path.glob("results_*"))
    results.rename(tmp_path / results.name.replace("results_", "quiz-of-today_"))
    renamed = path.rename(path.with_suffix(f".{ending}"))
    if array:
        renamed.write_text(json.dumps(rows, indent=2))
    assert "every answer was scored under several filters, 'strict', 'loose'" in refusal(tmp_path)
    scores = read(tmp_path, filter=("loose",))
    assert (scores.models, scores.values.shape) == (("m",), (1, 1, 2))


@pytest.mark.parametrize("timed", [False, True])
def test_results_without_samples_say_how_to_log_them(tmp_path, timed):
    if timed:
        lm_eval_run(tmp_path / "b").unlink()
    else:
        first_lm_eval(tmp_path / "b", samples=False)
    lm_eval_run(tmp_path / "a")
    for source in (tmp_path, tmp_path / "b", next((tmp_path / "b").iterdir())):
        message = refusal(source)
        assert str(tmp_path / "b" / "results") in message
        assert "run lm_eval again with --log_samples" in message


def test_tasks_without_samples_are_noted(tmp_path):
    results = {"results": {"t": {}, "u": {}}, "configs": {"t": {}, "u": {}}}
    lm_eval_run(tmp_path, **results)
    (note,) = (note for note in read(tmp_path).notes if note.kind == "log")
    assert "has results of 2 tasks, but there are no samples of 'u' beside it" in note.text


def version_one(path, *, score=1, **more):
    log = {
        "version": 1,
        "status": "success",
        "eval": {"model": "org/m", "task": "t", "run_id": "r", "task_id": "x", "created": "2024-06-11T09:42:16"},
        "plan": {"name": "plan", "steps": []},
        "results": {"scorer": {"name": "pkg/scorer"}, "metrics": {"accuracy": {"name": "accuracy", "value": 1.0}}},
        "samples": [{"id": "q", "epoch": 1, "input": "?", "target": "yes", "score": score}],
    }
    path.write_text(json.dumps(log | more))
    return path


def test_inspect_samples_of_the_first_version_have_one_score(tmp_path):
    path = version_one(tmp_path / "a.json", score={"value": "C", "answer": "yes"})
    scores = read(path)
    assert (scores.models, scores.items, scores.values.item()) == (("org/m",), ("t/q",), 1.0)
    assert read(path, metric=("pkg/scorer",)).values.item() == 1.0


def test_a_log_that_was_never_scored_says_how_to_score_it(tmp_path):
    samples = [inspect_sample(name) | {"scores": {}} for name in ("q1", "q2")]
    message = refusal(inspect_log(tmp_path / "a.eval", samples=samples))
    assert "a.eval: no sample was ever scored; score the log with inspect score" in message
    assert "no sample was ever scored" in refusal(version_one(tmp_path / "b.json", score=None))


def test_one_scored_sample_shows_that_a_log_was_scored(tmp_path):
    samples = [inspect_sample("q1"), inspect_sample("q2") | {"scores": {}}]
    assert "1 of 2 cells" in refusal(inspect_log(tmp_path / "a.eval", samples=samples))


def old_inspect(path, **said):
    path = inspect_log(path, **said)
    import zipfile

    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    header = json.loads(members["header.json"])
    del header["eval"]["eval_id"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("summaries.json", members["summaries.json"])
    return path


def test_logs_of_one_call_of_inspect_are_different_runs(tmp_path):
    about = {"run_id": "shared", "created": "2025-01-01T00:00:00"}
    old_inspect(tmp_path / "a.eval", model="a", task_id="1", **about)
    old_inspect(tmp_path / "b.eval", model="b", task_id="2", **about)
    assert read(tmp_path).models == ("a", "b")
    old_inspect(tmp_path / "c.eval", model="b", task_id="2", **about)
    assert "c.eval: the same run of 'b' as in" in refusal(tmp_path)


def test_a_run_without_a_whole_name_is_never_the_same_run(tmp_path):
    for name in "ab":
        old_inspect(tmp_path / f"{name}.eval", run_id="shared", samples=[inspect_sample("q", value="CI"[name == "b"])])
    assert read(tmp_path).replicates == ("1", "2")


GRADED = {"scorers": [{"name": "model_graded_qa", "options": {}}]}


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        (GRADED, True),
        ({"scorers": [{"name": "inspect_ai/model_graded_fact", "options": {"model": None}}]}, True),
        ({"scorers": [{"name": "own", "options": {"model": "a"}}]}, True),
        (GRADED | {"model_roles": {"grader": {"model": "judge"}}}, False),
        ({"scorers": [{"name": "model_graded_qa", "options": {"model": ["judge", "other"]}}]}, False),
        ({"scorers": [{"name": "match", "options": {}}]}, False),
    ],
)
def test_a_model_that_graded_itself_is_noted(tmp_path, said, noted):
    notes = read(inspect_log(tmp_path / "a.eval", model="a", **said)).notes
    assert [note.subject for note in notes if "graded its own answers" in note.text] == ([("a",)] if noted else [])


def test_every_model_that_graded_itself_is_in_one_note(tmp_path):
    for model in "ab":
        inspect_log(tmp_path / f"{model}.eval", model=model, **GRADED)
    (note,) = (note for note in read(tmp_path).notes if note.subject)
    assert (note.kind, note.subject) == ("protocol", ("a", "b"))
    assert note.text.startswith("Each model graded its own answers")


ROWS = [("id1", "test", 1.0), ("id2", "test", 0.0), ("id3", "valid", 1.0)]


def test_helm_splits_are_filters_and_test_is_the_usual_one(tmp_path):
    helm_run(tmp_path, ROWS)
    scores = read(tmp_path)
    assert scores.items == ("quiz:subject=law/id1", "quiz:subject=law/id2")
    assert "Left out: 1 row scored as 'valid'." in [note.text for note in scores.notes]
    assert read(tmp_path, filter=("valid",)).items == ("quiz:subject=law/id3",)


def test_helm_without_a_test_split(tmp_path):
    helm_run(tmp_path / "one", [("id1", "valid", 1.0)])
    assert read(tmp_path / "one").items == ("quiz:subject=law/id1",)
    helm_run(tmp_path / "two", [("id1", "valid", 1.0), ("id2", "train", 1.0)])
    assert "several filters, 'valid', 'train'; choose one" in refusal(tmp_path / "two")


def test_helm_a_summary_without_instances_is_refused_by_name(tmp_path):
    helm_run(tmp_path / "a", ROWS)
    helm_run(tmp_path / "b", ROWS, model="n").unlink()
    assert f"{tmp_path / 'b' / 'stats.json'}: a summary of HELM without per_instance_stats.json" in refusal(tmp_path)


def test_lighteval_before_its_new_columns(tmp_path):
    old_lighteval(tmp_path, model="org/m")
    assert "2 metrics, 'extractive_match', 'pass@1:4_samples'" in refusal(tmp_path)
    scores = read(tmp_path, metric=("pass@1:4_samples",))
    assert scores.models == ("org/m",)
    assert sorted(scores.values.ravel()) == [0.25, 0.5]
    assert read(tmp_path, metric=("extractive_match",)).values.sum() == 1.0
    assert all(item.startswith("lighteval|quiz|0/") for item in scores.items)


def test_lighteval_documents_with_the_same_text_are_two_items(tmp_path):
    import polars as pl

    path = old_lighteval(tmp_path)
    table = pl.read_parquet(path).with_columns(example=pl.lit("same"))
    table.write_parquet(path)
    assert [item[-2:] == "#2" for item in read(tmp_path, metric=("extractive_match",)).items] == [False, True]


def test_lighteval_results_without_details_say_how_to_save_them(tmp_path):
    old_lighteval(tmp_path, model="org/m")
    old_lighteval(tmp_path, model="org/n").unlink()
    message = refusal(tmp_path, metric=("extractive_match",))
    assert str(tmp_path / "results" / "org" / "n") in message
    assert "run lighteval again with --save-details" in message


def test_lighteval_a_group_says_of_each_metric_whether_less_is_better(tmp_path):
    group = {
        "metric_name": ["extractive_match", "pass@1:4_samples"],
        "higher_is_better": {"extractive_match": True, "pass@1:4_samples": False},
        "corpus_level_fn": {"extractive_match": "mean", "pass@1:4_samples": "mean"},
    }
    old_lighteval(tmp_path, metric=[group])
    assert read(tmp_path, metric=("extractive_match",)).values.shape == (1, 1, 2)
    assert "less is better for the metric 'pass@1:4_samples'" in refusal(tmp_path, metric=("pass@1:4_samples",))
    mirrored = read(tmp_path, metric=("pass@1:4_samples",), metric_range={"pass@1:4_samples": (1.0, 0.0)})
    assert sorted(mirrored.values.ravel()) == [0.5, 0.75]


def test_lighteval_a_metric_that_is_better_when_lower_is_never_suggested(tmp_path):
    from bbedge.readers.candidates import next_command
    from bbedge.readers.survey import survey
    from bbedge.records.reading import Reading

    group = {
        "metric_name": ["extractive_match", "pass@1:4_samples"],
        "higher_is_better": {"extractive_match": False, "pass@1:4_samples": True},
    }
    old_lighteval(tmp_path, metric=[group])
    command = next_command(survey([str(tmp_path)]), [str(tmp_path)], Reading())
    assert command.endswith("--metric pass@1:4_samples")


PROVIDERS = [(p, q, {"body": b}, s) for p in "ab" for q in ("x {{body}}", "y") for b, s in (("1", 1), ("2", 0))]


@pytest.mark.parametrize("nested", [False, True])
def test_promptfoo_before_october_2024(tmp_path, nested):
    first_promptfoo(tmp_path / "out.json", rows=PROVIDERS, nested=nested)
    scores = read(tmp_path)
    assert scores.models == ("a | x {{body}}", "a | y", "b | x {{body}}", "b | y")
    assert scores.values.shape == (1, 4, 2)
    assert scores.values.mean() == 0.5


def test_promptfoo_of_old_an_error_before_grading_is_no_score(tmp_path):
    path = first_promptfoo(tmp_path / "out.json", rows=PROVIDERS)
    document = json.loads(path.read_text())
    document["results"][0] |= {"error": "API error: 500", "gradingResult": None}
    document["results"][1] |= {"error": "Output did not contain substring"}
    path.write_text(json.dumps(document))
    assert "1 sample ended with an error and have no score" in refusal(path)


def test_promptfoo_of_old_repetitions_are_known_from_the_table(tmp_path):
    rows = [("a", "x", {"body": b}, 1) for b in "1212"]
    test = {"vars": {"body": "1"}, "assert": []}
    other = {"vars": {"body": "2"}, "assert": []}
    path = tmp_path / "out.json"
    first_promptfoo(path, rows=rows, tests=[test, other, test, other])
    assert read(path).replicates == ("1", "2")
    message = "does not write which are repetitions and which are other tests"
    first_promptfoo(path, rows=rows, tests=[test, other, test | {"assert": [1]}, other | {"assert": [1]}])
    assert message in refusal(path)
    first_promptfoo(path, rows=rows)
    assert message in refusal(path)


def test_promptfoo_tests_that_differ_in_their_description_only_are_items(tmp_path):
    cases = [{"description": name, "vars": {"v": 1}, "assert": []} for name in ("one", "two", "three")]
    rows = [(provider, case, index, 1) for provider in "ab" for index, case in enumerate(cases)]
    assert read(promptfoo(tmp_path / "out.json", rows=rows)).values.shape == (1, 2, 3)
    repeated = [*rows, *((provider, case, index + 3, 1) for provider, case, index, _ in rows)]
    assert read(promptfoo(tmp_path / "out.json", rows=repeated)).values.shape == (2, 2, 3)


def test_promptfoo_a_description_alone_does_not_rename_an_item(tmp_path):
    case = {"vars": {"v": 1}, "assert": []}
    plain = read(promptfoo(tmp_path / "a.json", rows=[("a", case, 0, 1)])).items
    assert read(promptfoo(tmp_path / "b.json", rows=[("a", case | {"description": "d"}, 0, 1)])).items == plain


def test_openai_evals_of_2023_name_their_model_otherwise(tmp_path):
    path = first_openai_evals(tmp_path / "a.jsonl", model="gpt-x", scores=(True, False, True, True))
    scores = read(path)
    assert (scores.models, scores.values.mean()) == (("gpt-x",), 0.75)


def test_a_reader_that_is_asked_for_refuses_what_it_does_not_know(tmp_path):
    (tmp_path / "a.json").write_text('{"version": 2, "results": []}')
    with pytest.raises(FormatError, match=r"a\.json: no results in the file"):
        read(tmp_path / "a.json", format="promptfoo")
