"""Logs of answers that are right or wrong, and logs that list a part: known numbers, and what is refused."""

import re

import pytest

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores
from bbedge.readers.tools import recognised
from shape_makers import (
    MODELS,
    QUESTIONS,
    SHAPES,
    bfcl_failure,
    bfcl_results,
    bfcl_scores,
    bfcl_task,
    cruxeval_scores,
    instance,
    livecodebench_problem,
    mmlu_pro_answer,
    opencompass_details,
    right,
    swe_bench_report,
    write_document,
    write_lines,
    zero_eval_answer,
)

RIGHT = [[float(right(model, number)) for number in QUESTIONS] for model in MODELS]


def read(*sources, **choices):
    return read_scores(*sources, **{"least_models": 1, **choices})


def refusal(*sources, **choices):
    with pytest.raises(BbedgeError) as caught:
        read(*sources, **choices)
    return str(caught.value)


def listing(folder, names):
    path = folder.parent / f"{folder.name} items.csv"
    path.write_text("\n".join(["item", *names]) + "\n")
    return path


def by_number(scores):
    """The scores of each model by the number in the name of the item."""
    order = sorted(range(len(scores.items)), key=lambda at: int("".join(filter(str.isdigit, scores.items[at]))[-4:]))
    return [[row[at] for at in order] for row in scores.values[0].tolist()]


# SWE-bench


def test_reports_of_instances_are_one_run_of_each_model(tmp_path):
    SHAPES["swe-bench reports"].files(tmp_path)
    scores = read_scores(tmp_path)
    assert (scores.models, scores.replicates) == (MODELS, ("1",))
    assert by_number(scores) == RIGHT
    assert not [note for note in scores.notes if note.kind != "files"]


def test_reports_of_a_second_run_are_a_second_replicate(tmp_path):
    SHAPES["swe-bench reports"].files(tmp_path)
    (tmp_path / "run_evaluation" / "run-1").rename(tmp_path / "run_evaluation" / "run-0")
    SHAPES["swe-bench reports"].files(tmp_path)
    assert read_scores(tmp_path).replicates == ("1", "2")


def test_one_report_of_several_instances_does_not_name_its_model(tmp_path):
    whole = swe_bench_report(1, True) | swe_bench_report(2, False)
    path = write_document(tmp_path / "report.json", whole)
    assert "does not name its model" in refusal(path)
    assert read(path, model_name="m").values.tolist() == [[[1.0, 0.0]]]


def test_an_instance_without_a_patch_has_no_score(tmp_path):
    report = swe_bench_report(1, False, patch_is_None=True) | swe_bench_report(2, True)
    path = write_document(tmp_path / "report.json", report)
    assert "no patch was generated" in refusal(path, model_name="m")
    assert read(path, model_name="m", incomplete="unknown=zero").values.tolist() == [[[0.0, 1.0]]]


def resolved_lists(folder):
    for model in MODELS:
        resolved = [instance(number) for number in QUESTIONS if right(model, number)]
        write_document(folder / f"{model}.json", {"resolved": resolved})
    return folder


def test_lists_of_resolved_instances_need_a_list_of_all(tmp_path):
    folder = resolved_lists(tmp_path / "lists")
    message = refusal(folder, model_from="file")
    assert "lists the 6 instances that were resolved, but not all that were attempted" in message
    assert "or declare all items with items=FILE" in message
    every = listing(folder, map(instance, QUESTIONS))
    assert by_number(read_scores(folder, model_from="file", items=every)) == RIGHT


def test_a_system_that_resolved_nothing_is_not_lost(tmp_path):
    folder = resolved_lists(tmp_path / "lists")
    write_document(folder / "cedar.json", {"resolved": []})
    assert "cedar.json: lists the 0 instances that were resolved" in refusal(folder / "cedar.json", model_from="file")
    every = listing(folder, map(instance, QUESTIONS))
    assert read_scores(folder, model_from="file", items=every).values[0].mean(axis=1).tolist() == [0.75, 0.5, 0.0]


def test_a_declared_list_that_lacks_a_resolved_instance_is_refused(tmp_path):
    folder = resolved_lists(tmp_path / "lists")
    short = listing(folder, map(instance, range(2, 9)))
    assert "1 item of the scores is not in the list: 'django__django-1001'" in refusal(
        folder, model_from="file", items=short
    )


def test_a_declared_list_of_another_length_than_the_report_counts_is_refused(tmp_path):
    folder = tmp_path / "lists"
    write_document(folder / "a.json", {"resolved_ids": [instance(1)], "resolved_instances": 1, "total_instances": 8})
    every = listing(folder, map(instance, range(1, 8)))
    assert "7 instances in the list, but the log states 8" in refusal(folder, model_from="file", items=every)
    every = listing(folder, map(instance, QUESTIONS))
    assert read(folder, model_from="file", items=every).values.mean() == 1 / 8


# BFCL


def test_what_is_not_among_the_failures_passed_where_the_results_list_it(tmp_path):
    SHAPES["bfcl"].files(tmp_path)
    scores = read_scores(tmp_path)
    assert scores.models == MODELS
    assert scores.items == tuple(map(bfcl_task, QUESTIONS))
    assert scores.values[0].tolist() == RIGHT


def test_failures_alone_need_a_list_of_all_tasks(tmp_path):
    failures = [bfcl_failure(number) for number in (4, 8)]
    path = bfcl_scores(tmp_path / "x", "aster", failures)
    message = refusal(path)
    assert "lists the 2 failures of 8 tasks, but not the others" in message
    assert "or declare all items with items=FILE" in message
    # A list of all categories: those of this one are known by their names.
    names = [*map(bfcl_task, QUESTIONS), "live_simple_multiple_1-0-0", "simple_3", "live_simple"]
    scores = read(path, items=listing(tmp_path / "x", names))
    assert scores.values[0].tolist() == RIGHT[:1]
    short = listing(tmp_path / "x", names[1:])
    assert "7 tasks of live_simple in the list, but the log states 8" in refusal(path, items=short)
    others = listing(tmp_path / "x", [*names[:3], "live_simple_9-0-0", *names[4:]])
    assert "'live_simple_4-1-0' failed, and not in the list" in refusal(path, items=others)


def test_failures_of_all_tasks_need_no_list(tmp_path):
    path = bfcl_scores(tmp_path, "aster", list(map(bfcl_failure, QUESTIONS)))
    assert read(path).values.sum() == 0
    assert read(path).values.shape == (1, 1, 8)


def test_a_score_file_that_lacks_failures_is_refused(tmp_path):
    path = bfcl_scores(tmp_path, "aster", [bfcl_failure(4)], correct=6)
    assert "1 failures, but the log states 2" in refusal(path)


def test_a_task_that_was_not_answered_has_no_score_even_where_bfcl_counts_it_as_passed(tmp_path):
    path = bfcl_scores(tmp_path, "aster", [bfcl_failure(4, model_result="Error during inference: timeout")])
    bfcl_results(tmp_path, "aster", map(bfcl_task, QUESTIONS))
    assert "1 sample ended with an error" in refusal(path)
    path = bfcl_scores(tmp_path, "aster", [bfcl_failure(4)])
    results = bfcl_results(tmp_path, "aster", map(bfcl_task, QUESTIONS))
    results.write_text(results.read_text().replace('"[f(x=2)]"', '"Error during inference: timeout"', 2))
    assert "2 samples ended with an error" in refusal(path)
    assert read(path, incomplete="infrastructure=zero").values.tolist() == [[[0, 0, 1, 0, 1, 1, 1, 1]]]


def test_what_lies_around_the_scores_of_bfcl_is_passed_over(tmp_path):
    SHAPES["bfcl"].files(tmp_path)
    (tmp_path / "score" / "data_live.csv").write_text("Rank,Model,Live Overall Acc\n1,aster,75.0%\n2,birch,50.0%\n")
    assert read_scores(tmp_path).values[0].tolist() == RIGHT


# EvalPlus of 2023, LiveCodeBench, CRUXEval


@pytest.mark.parametrize("failed", ["failed", "timed out"])
def test_evalplus_of_2023(tmp_path, failed):
    for model in MODELS:
        tasks = {
            f"HumanEval/{number}": {
                "nfiles": 1,
                "base": [["success" if right(model, number) else failed, [True]]],
                "plus": [["success" if number > 2 else failed, []]],
            }
            for number in QUESTIONS
        }
        document = {"date": "2023-06-01 10:00", "hash": "x", "eval": tasks}
        write_document(tmp_path / f"{model}_temp_0.0" / "eval_results.json", document)
    assert recognised(str(tmp_path / "aster_temp_0.0" / "eval_results.json"))[0].name == "evalplus"
    scores = read_scores(tmp_path, model_from="folder", metric="base")
    assert [row[1:] + row[:1] for row in scores.values[0].tolist()] == [row[1:] + row[:1] for row in RIGHT]
    plus = read_scores(tmp_path, model_from="folder", metric="plus").values[0]
    assert plus.tolist() == [[0.0, 0.0, *row[2:]] for row in RIGHT]


def test_graded_lists_of_livecodebench_are_replicates(tmp_path):
    SHAPES["livecodebench"].files(tmp_path)
    scores = read_scores(tmp_path, item_column="problem.difficulty")
    assert (scores.models, scores.replicates) == (MODELS, ("1", "2"))
    assert scores.items[0] == "codegeneration/3001"
    assert scores.values.tolist() == [RIGHT, [[1.0] * 8] * 2]
    assert scores.columns["problem.difficulty"] == ("easy",) * 4 + ("hard",) * 4
    assert "2 answers to a problem are 2 replicates" in str(scores.notes)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (livecodebench_problem(1, []), r"sample 1: the grades are '\[\]'; expected a list of true and false"),
        (livecodebench_problem(1, [True]) | {"graded_list": [True, None]}, "expected a list of true and false"),
        (livecodebench_problem(1, [True, False]) | {"pass@1": 1.0}, "1 of 2 answers are right, but the log states 1"),
    ],
)
def test_grades_that_are_not_what_livecodebench_writes_are_refused(tmp_path, problem, said):
    path = write_document(tmp_path / "m" / "Scenario.codegeneration_2_0.2_eval_all.json", [problem])
    assert re.search(said, refusal(path))


def test_means_of_livecodebench_without_the_answers_are_refused(tmp_path):
    SHAPES["livecodebench"].files(tmp_path)
    (tmp_path / "output" / "aster" / "Scenario.codegeneration_2_0.2_eval_all.json").unlink()
    assert "aster/Scenario.codegeneration_2_0.2_eval.json" in refusal(tmp_path)


def test_several_tests_of_one_problem_of_livecodebench_are_several_items(tmp_path):
    problems = [livecodebench_problem(1, [True], test_id=test) for test in (0, 1)]
    path = write_document(tmp_path / "m" / "Scenario.testoutputprediction_1_0.0_eval_all.json", problems)
    assert read(path).items == ("testoutputprediction/3001/0", "testoutputprediction/3001/1")


def test_scored_generations_of_cruxeval(tmp_path):
    SHAPES["cruxeval"].files(tmp_path)
    scores = read_scores(tmp_path)
    assert scores.models == MODELS
    assert scores.values.tolist() == [RIGHT, [[0.0] * 8] * 2]
    assert scores.items[0] == "output prediction/sample_1"


def test_a_mean_that_cruxeval_states_is_compared(tmp_path):
    document = cruxeval_scores({"sample_0": [True, False]})
    path = write_document(tmp_path / "m_temp0.2_input.json", document | {"pass_at_1": 75.0})
    assert "is 0.5, but the log states 0.75" in str(read(path).notes)
    path = write_document(tmp_path / "m_temp0.2_input.json", document)
    assert "but the log states" not in str(read(path).notes)


@pytest.mark.parametrize("name", ["m.json", "m_input_or_output.json"])
def test_results_of_cruxeval_that_may_be_of_inputs_or_of_outputs_are_refused(tmp_path, name):
    path = write_document(tmp_path / name, cruxeval_scores({"sample_0": [True]}))
    assert "nothing says whether inputs or outputs were predicted" in refusal(path, model_name="m")


# OpenCompass


@pytest.mark.parametrize("listed", [True, False])
def test_details_of_opencompass(tmp_path, listed):
    for model, path in zip(MODELS, SHAPES["opencompass"].files(tmp_path), strict=True):
        assert path.parent.name == model
        grades = [right(model, number) for number in QUESTIONS]
        write_document(path, opencompass_details(grades, listed=listed, type="GEN"))
    scores = read_scores(tmp_path)
    assert (scores.models, scores.values[0].tolist()) == (MODELS, RIGHT)
    assert scores.items == tuple(f"gsm8k/{number}" for number in range(len(QUESTIONS)))
    assert not scores.notes


def test_details_of_opencompass_as_a_list_with_several_grades(tmp_path):
    path = tmp_path / "results" / "m" / "math.json"
    write_document(path, opencompass_details([[True, False], [False, False]], listed=True) | {"accuracy": 25.0})
    scores = read(path)
    assert scores.values.tolist() == [[[1.0, 0.0]], [[0.0, 0.0]]]
    assert scores.items == ("math/0", "math/1")
    assert "2 answers to a question are 2 replicates" in str(scores.notes)
    write_document(path, opencompass_details([True, False], listed=True) | {"accuracy": 75.0})
    assert "is 0.5, but the log states 0.75" in str(read(path).notes)


def test_how_questions_were_asked_is_no_answer(tmp_path):
    document = opencompass_details([True, False])
    document["details"]["type"] = "GEN"
    path = write_document(tmp_path / "results" / "m" / "arc.json", document)
    assert read(path).values.tolist() == [[[1.0, 0.0]]]


@pytest.mark.parametrize("grade", [None, [], "yes", [1.0]])
def test_details_without_grades_are_refused(tmp_path, grade):
    document = opencompass_details([True])
    document["details"]["0"]["correct"] = grade
    path = write_document(tmp_path / "results" / "m" / "arc.json", document)
    assert "arc.json: sample 1: the grades are" in refusal(path)


def test_details_elsewhere_do_not_say_the_model(tmp_path):
    path = write_document(tmp_path / "m" / "arc.json", opencompass_details([True, False]))
    assert "does not name its model" in refusal(path)
    assert read(path, model_from="folder").models == ("m",)


# MMLU-Pro, ZeroEval


def test_answers_of_mmlu_pro_are_compared(tmp_path):
    SHAPES["mmlu-pro"].files(tmp_path)
    scores = read_scores(tmp_path, item_column="question.category")
    assert (scores.models, scores.values[0].tolist()) == (MODELS, RIGHT)
    assert set(scores.columns["question.category"]) == {"law"}


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("Llama-3/CoT/all/law.json", "Llama-3"),
        ("gpt-4o/law_result.json", "gpt-4o"),
        ("model_outputs_Llama-3-8B_5shots.json", "Llama-3-8B"),
    ],
)
def test_where_mmlu_pro_names_the_model(tmp_path, path, model):
    write_document(tmp_path / path, [mmlu_pro_answer(1)])
    assert read(tmp_path).models == (model,)


@pytest.mark.parametrize("pred", [None, ""])
def test_an_output_without_an_answer_is_missing_and_not_drawn(tmp_path, pred):
    path = write_document(tmp_path / "a.json", [mmlu_pro_answer(1), mmlu_pro_answer(2, pred=pred)])
    assert "no answer was found in the output, for which MMLU-Pro draws one" in refusal(path, model_name="m")
    assert read(path, model_name="m", incomplete="unknown=zero").values.tolist() == [[[1.0, 0.0]]]


@pytest.mark.parametrize("answer", [{"pred": "(B)"}, {"pred": 1}, {"answer": "B."}, {"answer_index": 2}])
def test_answers_that_are_no_letters_or_contradict_each_other_are_refused(tmp_path, answer):
    path = write_document(tmp_path / "a.json", [mmlu_pro_answer(1, **answer)])
    assert f"{path}: sample 1: " in refusal(path, model_name="m", format="mmlu-pro") or f"{path}:1: " in refusal(
        path, model_name="m"
    )


def test_answers_of_zero_eval_that_were_compared(tmp_path):
    SHAPES["zero-eval"].files(tmp_path)
    scores = read_scores(tmp_path)
    assert (scores.models, scores.values[0].tolist()) == (MODELS, RIGHT)


def test_answers_of_zero_eval_that_were_not_compared_are_refused_with_the_reason(tmp_path):
    path = write_document(tmp_path / "aster.json", [zero_eval_answer(1)])
    assert "not yet compared with the right one, which ZeroEval does by rules of each task" in refusal(path)


def test_what_zero_eval_found_no_answer_in_is_missing(tmp_path):
    rows = [zero_eval_answer(1, solved=True), zero_eval_answer(2, matched="No answer extracted")]
    path = write_document(tmp_path / "aster.json", rows)
    assert "no answer was found in the output" in refusal(path)
    assert read(path, incomplete="unknown=zero").values.tolist() == [[[1.0, 0.0]]]
    write_document(path, [zero_eval_answer(1, matched="maybe")])
    assert "'maybe'; expected true, false or 'No answer extracted'" in refusal(path)


def test_a_table_with_answers_and_predictions_only_says_what_it_lacks(tmp_path):
    rows = [{"model": m, "question_id": n, "answer": "B", "prediction": "C"} for m in MODELS for n in QUESTIONS]
    path = write_lines(tmp_path / "a.jsonl", rows)
    message = refusal(path)
    assert "no column for the score" in message
    assert "answers and predictions, but not which are right: compare them by the rule of the benchmark" in message
