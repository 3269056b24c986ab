"""Test runs of DeepEval and tables of MLflow, made by the tools; output items of the OpenAI Evals API, by hand."""

import json
import shutil

import pytest

from bbedge.errors import DataError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.tools import recognised
from log_makers import LOGS
from shape_makers import (
    QUESTIONS,
    deepeval_case,
    deepeval_run,
    exported_item,
    listed_item,
    mlflow_row,
    mlflow_table,
    write_document,
    write_lines,
)

DEEPEVAL, MLFLOW = LOGS / "deepeval", LOGS / "mlflow"
LATEST = sorted(DEEPEVAL.rglob("latest_test_run.json"))
NAMES = ("aster/*=aster", "birch/*=birch")


def read(*sources, metric=(), names=(), **options):
    choices = {"metric": metric, "model_name": names}
    return read_scores(*sources, least_models=1, **choices, **options)


def test_deepeval_says_the_same_as_the_tool_itself():
    scores = read(*LATEST, metric=("Exact",), item_column=["metadata.part"])
    assert scores.models == ("aster", "birch")
    assert len(scores.items) == 6
    for path, model in zip(LATEST, scores.models, strict=True):
        stated = json.loads(path.read_text())["testRunData"]["metricsScores"][0]["scores"]
        assert scores.values[0, scores.models.index(model)].mean() == pytest.approx(sum(stated) / len(stated))
    assert sorted(scores.columns["metadata.part"]) == ["africa", "america", "america", "asia", "europe", "europe"]
    assert len(set(read(*LATEST, metric=("Exact",), blocks="metadata.part").blocks)) == 4


def test_deepeval_a_metric_is_chosen_and_one_that_failed_has_no_score():
    with pytest.raises(FormatError, match="2 metrics, 'Exact', 'Short'"):
        read(*LATEST)
    with pytest.raises(DataError, match="1 of 12 cells"):
        read(*LATEST, metric=("Short",))
    assert read(*LATEST, metric=("Short",), incomplete="judge=worst-case").gaps is not None


def test_deepeval_both_files_of_one_run_are_one_run():
    with pytest.raises(DataError, match="the same run of 'aster' as in"):
        read(DEEPEVAL / "aster", metric=("Exact",))
    assert read(*sorted(DEEPEVAL.rglob("test_run.json")), metric=("Exact",)).models == ("aster", "birch")


def test_deepeval_a_run_without_hyperparameters_asks_for_the_model(tmp_path):
    path = write_document(tmp_path / "a.json", deepeval_run([deepeval_case(1)]))
    with pytest.raises(FormatError, match=r"a\.json: the log does not name its model"):
        read(path)
    assert read(path, names=("m",)).models == ("m",)


def test_deepeval_the_shape_of_2023(tmp_path):
    metric = {"metric": "Exact", "score": 1.0, "minimumScore": 0.5}
    case = {"name": "test_case_0", "input": "q", "expectedOutput": "a", "metricsMetadata": [metric]}
    document = {"testCases": [case], "metricScores": [], "configurations": {"model": "m"}}
    assert read(write_document(tmp_path / "a.json", document)).models == ("m",)


def test_deepeval_conversations_are_items_by_their_scenario(tmp_path):
    case = deepeval_case(1) | {"input": None, "scenario": "refund", "turns": [{"role": "user", "content": "hello"}]}
    run = deepeval_run([], model="m", conversationalTestCases=[case])
    scores = read(write_document(tmp_path / "a.json", run))
    other = deepeval_run([], model="m", conversationalTestCases=[case | {"turns": []}], runDuration=9.0)
    assert read(write_document(tmp_path / "b.json", other)).items == scores.items


@pytest.mark.parametrize(
    ("name", "score", "success", "lower"),
    [
        ("Bias", 0.0, True, True),
        ("Bias", 1.0, True, False),
        ("Bias", 0.5, True, True),
        ("Rudeness", 0.2, True, True),
        ("Rudeness", 0.9, False, True),
        ("Rudeness", 0.5, True, False),
    ],
)
def test_deepeval_the_direction_of_a_metric_follows_from_its_threshold(name, score, success, lower, tmp_path):
    metric = {"name": name, "threshold": 0.5, "success": success, "score": score}
    path = write_document(tmp_path / "a.json", deepeval_run([deepeval_case(1, metricsData=[metric])], model="m"))
    if not lower:
        assert read(path).values.tolist() == [[[score]]]
        return
    with pytest.raises(FormatError, match=f"less is better for the metric '{name}'"):
        read(path)
    mirrored = read_scores(path, least_models=1, metric_range={name: (1.0, 0.0)})
    assert mirrored.values.tolist() == [[[pytest.approx(1.0 - score)]]]


@pytest.mark.parametrize("scores", [[1.0], [1.0, 0.0], [1.0, 1.0, 1.0]])
def test_deepeval_cases_that_differ_from_the_summary_are_refused(scores, tmp_path):
    cases = [deepeval_case(1), deepeval_case(2)]
    run = deepeval_run(cases, model="m", metricsScores=[{"metric": "Exact", "scores": scores}])
    with pytest.raises(FormatError, match=r"a\.json: the test cases have 2 scores of 'Exact' with the sum 2"):
        read(write_document(tmp_path / "a.json", run))
    traced = [case | {"trace": {"uuid": "x"}} for case in cases]
    run["testRunData"]["testCases"] = traced
    assert read(write_document(tmp_path / "b.json", run)).values.mean() == 1.0


def test_deepeval_the_summary_leaves_out_what_has_no_threshold(tmp_path):
    metric = {"name": "Exact", "score": 1.0}
    run = deepeval_run([deepeval_case(1, metricsData=[metric])], metricsScores=[{"metric": "Exact", "scores": []}])
    assert read(write_document(tmp_path / "a.json", run), names=("m",)).values.tolist() == [[[1.0]]]


def test_deepeval_an_uploaded_run_leaves_a_link(tmp_path):
    path = write_document(tmp_path / "a.json", {"testRunLink": "https://example.org"})
    with pytest.raises(FormatError, match=r"a\.json: a summary of DeepEval, without samples"):
        read(path)


def test_deepeval_a_question_that_comes_twice_is_refused(tmp_path):
    run = deepeval_run([deepeval_case(1), deepeval_case(2), deepeval_case(1)], model="m")
    with pytest.raises(DataError, match=r"a\.json: sample 3: a second score for model 'm'"):
        read(write_document(tmp_path / "a.json", run))


def test_mlflow_a_metric_is_chosen_and_models_are_named_by_their_paths():
    with pytest.raises(FormatError, match="does not name its model"):
        read(MLFLOW, metric=("match/v1/score",))
    with pytest.raises(FormatError, match="2 metrics, 'match/v1/score', 'judged/v1/score'"):
        read(MLFLOW, names=NAMES)
    scores = read(MLFLOW, metric=("match/v1/score",), names=NAMES, item_column=["row.topic"])
    assert scores.models == ("aster", "birch")
    assert scores.values[0].mean(axis=1).tolist() == pytest.approx([4 / 6, 3 / 6])
    assert sorted(scores.columns["row.topic"]) == ["north"] * 3 + ["south"] * 3


def test_mlflow_the_scale_is_declared_and_a_judge_that_failed_is_a_missing_score():
    with pytest.raises(DataError, match=r"sample 1: score 5\.0 is outside \[0, 1\]"):
        read(MLFLOW, metric=("judged/v1/score",), names=NAMES)
    with pytest.raises(DataError, match="1 of 12 cells"):
        read(MLFLOW, metric=("judged/v1/score",), names=NAMES, score_range=(1, 5))
    options = {"metric": ("judged/v1/score",), "names": NAMES, "score_range": (1, 5)}
    assert read(MLFLOW, incomplete="judge=zero", **options).values.min() == 0.0


def test_mlflow_grade_levels_and_toxicity_are_not_better_if_more(tmp_path):
    for metric in ("toxicity/v1/score", "ari_grade_level/v1/score"):
        table = mlflow_table([mlflow_row(n, 0.5) for n in QUESTIONS], metric=metric)
        with pytest.raises(FormatError, match=f"less is better for the metric '{metric}'"):
            read(write_document(tmp_path / "a.json", table), names=("m",))


def test_mlflow_the_same_question_twice_is_refused(tmp_path):
    table = mlflow_table([mlflow_row(1, 0.5), mlflow_row(1, 0.7)])
    with pytest.raises(DataError, match=r"a\.json: sample 2: a second score for model 'm'"):
        read(write_document(tmp_path / "a.json", table), names=("m",))


@pytest.mark.parametrize(
    "document",
    [
        {"columns": ["model", "item", "score"], "data": [["m", "q", 1]]},
        {"columns": ["a"], "index": [0], "data": [[1]]},
        {"columns": 7, "data": [[1]]},
        {"data": [{"model": "m"}]},
        {"testCases": [{"input": "q"}]},
        {"testRunData": 7},
        {"object": "list", "data": [{"id": "x"}]},
        {"item": {"a": 1}, "sample": 1, "score": 0.5},
        {"run_id": "r", "item": "q", "score": 1},
        {"resolved": True, "id": "x"},
        {"resolved": 7, "unresolved": 8},
        {"resolved_ids": ["x"]},
        {"id": "x", "n_resolved": 1, "resolved_ids": ["x"], "unresolved_ids": []},
    ],
)
def test_other_documents_are_left_alone(document, tmp_path):
    assert recognised(str(write_document(tmp_path / "a.json", document))) == (None, "no")


def test_openai_api_an_export_holds_several_runs(tmp_path):
    rows = [
        exported_item(n, model=model, run=f"{model}_{run}", grade=float(n % (run + 1) == 0))
        for model in ("aster", "birch")
        for run in (1, 2)
        for n in QUESTIONS
    ]
    scores = read(write_lines(tmp_path / "items.jsonl", rows), blocks="item.question")
    assert scores.models == ("aster", "birch")
    assert scores.replicates == ("1", "2")
    assert scores.runs == (("aster_1", "birch_1"), ("aster_2", "birch_2"))
    assert scores.values.mean(axis=2).tolist() == [[0.5, 0.5], [0.25, 0.25]]
    passed = read(tmp_path / "items.jsonl", metric=("String check.passed",))
    assert (passed.values == scores.values).all()


def test_openai_api_pages_lines_and_arrays_are_the_same(tmp_path):
    rows = [listed_item(n, score=n / 8) for n in QUESTIONS]
    page = read(write_document(tmp_path / "page.json", {"object": "list", "data": rows, "has_more": False}))
    array = read(write_document(tmp_path / "array.json", rows))
    lines = read(write_lines(tmp_path / "items.jsonl", rows))
    assert page.values.tolist() == array.values.tolist() == lines.values.tolist()
    assert page.items == array.items == lines.items
    with pytest.raises(DataError, match="the same run of 'aster'"):
        read(tmp_path)


def test_openai_api_a_page_that_is_not_the_last_is_refused(tmp_path):
    page = {"object": "list", "data": [listed_item(1)], "has_more": True}
    with pytest.raises(FormatError, match=r"page\.json: has_more says that the page ends before the run does"):
        read(write_document(tmp_path / "page.json", page))


def test_openai_api_graders_are_chosen_from(tmp_path):
    results = [{"name": name, "passed": True, "score": 1.0} for name in ("a", "b")]
    path = write_lines(tmp_path / "items.jsonl", [listed_item(n, results=results) for n in QUESTIONS])
    with pytest.raises(FormatError, match=r"4 metrics, 'a', 'b', 'a\.passed', 'b\.passed'"):
        read(path)
    assert read(path, metric=("b",)).values.min() == 1.0


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ({"sample": {"model": "aster", "error": {"code": "timeout", "message": "late"}}}, "infrastructure"),
        ({"sample": {"model": "aster", "error": {"code": "content_filter", "message": ""}}}, "refusal"),
        ({"sample": None, "status": "error"}, "infrastructure"),
        ({"results": [{"name": "check", "passed": False, "score": None}]}, "judge"),
        (
            {"results": [{"name": "check", "passed": False, "score": 0, "sample": {"error": {"message": "broke"}}}]},
            "judge",
        ),
        (
            {"sample": {"model": "aster", "finish_reason": "content_filter"}, "results": [{"name": "check"}]},
            "refusal",
        ),
    ],
)
def test_openai_api_what_failed_has_no_score(more, policy, tmp_path):
    rows = [listed_item(1), listed_item(2, **more)]
    path = write_lines(tmp_path / "items.jsonl", rows)
    with pytest.raises(DataError, match="1 of 2 cells"):
        read(path)
    assert sorted(read(path, incomplete=f"{policy}=zero").values[0, 0].tolist()) == [0.0, 1.0]


def test_openai_api_equal_rows_of_the_data_are_numbered_by_their_position(tmp_path):
    rows = [exported_item(n, item={"question": "same"}, grade=float(n == 10)) for n in (2, 10, 9)]
    first = read(write_lines(tmp_path / "a.jsonl", rows))
    assert [item.partition("#")[2] for item in first.items] == ["", "2", "3"]
    assert first.values[0, 0].tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(DataError, match=r"b\.jsonl:4: a second score for model 'aster'"):
        read(write_lines(tmp_path / "b.jsonl", [*rows, rows[0]]))


def test_openai_api_two_models_in_one_run_are_refused(tmp_path):
    rows = [exported_item(1), exported_item(2, model="birch")]
    with pytest.raises(FormatError, match=r"a\.jsonl:2: run 'erun_1' has answers of 'aster', 'birch'"):
        read(write_lines(tmp_path / "a.jsonl", rows))


def test_openai_api_prompts_that_vary_are_noted(tmp_path):
    for run in ("1", "2"):
        rows = [exported_item(n, run=run) for n in QUESTIONS]
        for row in rows:
            row["sample"] = row["sample"] | {"trajectory": [{"role": "system", "content": f"prompt {run}"}]}
        write_lines(tmp_path / f"{run}.jsonl", rows)
    assert any("items vary between runs of 'aster'" in note.text for note in read(tmp_path).notes)


def test_the_logs_of_the_tools_can_lie_in_one_folder(tmp_path):
    shutil.copytree(MLFLOW, tmp_path / "mlflow")
    shutil.copytree(DEEPEVAL, tmp_path / "deepeval")
    with pytest.raises(FormatError, match="does not name its model"):
        read(tmp_path, metric=("match/v1/score", "Exact"))
