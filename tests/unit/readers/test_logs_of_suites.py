"""Logs of agent benchmarks and of frameworks that run suites: what is read, what has no score, what is refused.

The samples of EvalPlus, EvalScope and verifiers in ``tests/logs`` are written by the tools; the others, and what
``suite_makers`` makes, are of the shapes that the tools document.
"""

import json

import numpy as np
import pytest

from bbedge.errors import BbedgeError, DataError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.logs.contract import open_log
from bbedge.readers.tools import readers, recognised
from log_makers import LOGS
from suite_makers import (
    MAKERS,
    MODELS,
    OF_TOOLS,
    TASKS,
    TRIALS,
    eee_evaluation,
    eee_row,
    evalplus_results,
    evalplus_solution,
    evalscope_review,
    evalscope_reviews,
    harbor_job,
    harbor_trial,
    nemo_row,
    nemo_run,
    right,
    tau2_results,
    tau2_simulation,
    tau_record,
    terminal_run,
    terminal_trial,
    verifiers_row,
    verifiers_run,
    write,
)

METRICS = {"evalplus": ("plus",)}


def read(*sources, **choices):
    return read_scores(*sources, least_models=1, **choices)


def refusal(*sources, **choices):
    with pytest.raises(BbedgeError) as caught:
        read(*sources, **choices)
    return str(caught.value)


def notes(scores):
    return " ".join(note.text for note in scores.notes)


def samples(path):
    reader, _ = recognised(str(path))
    return list(open_log(reader, str(path)).samples())


def only(path):
    (sample,) = samples(path)
    return sample


@pytest.mark.parametrize("name", MAKERS)
def test_every_score_is_where_it_belongs(name, tmp_path):
    MAKERS[name](tmp_path)
    scores = read(tmp_path, metric=METRICS.get(name, ()))
    assert [model.rpartition("/")[2].rpartition(" ")[2] for model in scores.models] == list(MODELS)
    assert len(scores.items) == len(TASKS)
    expected = [[[right(model, task, trial) for task in TASKS] for model in MODELS] for trial in range(TRIALS)]
    if name in ("terminal-bench", "harbor", "every-eval-ever"):
        order = [TASKS.index(item.rpartition("/")[2]) for item in scores.items]
    else:
        order = [int(item.rpartition("/")[2]) for item in scores.items]
    np.testing.assert_array_equal(scores.values, np.array(expected, dtype=float)[:, :, order])


@pytest.mark.parametrize("name", MAKERS)
def test_the_reader_wins_over_the_table_and_takes_nothing_else(name, tmp_path):
    logs = MAKERS[name](tmp_path)
    for path in logs:
        reader, what = recognised(str(path))
        assert (reader.name, what) == (name, "samples")
    found = {str(path): recognised(str(path))[1] for path in tmp_path.rglob("*.*") if path not in logs}
    assert set(found.values()) <= {"beside"}


@pytest.mark.parametrize(
    "row",
    [
        {"model": "m", "task_id": 1, "trial": 0, "reward": 1.0},
        {"model": "m", "problem": 1, "repeat": 0, "reward": 1.0},
        {"model": "m", "index": 1, "score": 1.0},
        {"model": "m", "example_id": 1, "reward": 1.0},
        {"model": "m", "sample_id": 1, "evaluation": {"score": 1.0}},
        {"results": [{"model": "m", "item": 1, "score": 1.0}]},
        {"eval": {"q1": 1.0}, "date": "today"},
        {"info": {"model": "m"}, "simulations": []},
        {"stats": {}, "n_trials": 3},
    ],
    ids=lambda row: ",".join(row),
)
def test_tables_with_some_of_the_names_are_left_to_others(row, tmp_path):
    for path, content in ((tmp_path / "a.jsonl", [row]), (tmp_path / "a.json", [row]), (tmp_path / "b.json", row)):
        reader, _ = recognised(str(write(path, content)))
        assert reader is None or reader.name not in MAKERS


@pytest.mark.parametrize("name", OF_TOOLS)
def test_what_the_tools_wrote_is_read(name):
    scores = read(LOGS / name, metric=METRICS.get(name, ()))
    assert scores.models == ("aster", "birch")
    repeats, items, means = {
        "evalplus": (3, 4, (0.75, 0.5)),
        "evalscope": (2, 6, None),
        "verifiers": (3, 4, None),
    }[name]
    assert scores.values.shape == (repeats, 2, items)
    if means:
        assert scores.values.mean(axis=(0, 2)) == pytest.approx(means)
    assert "states" not in notes(scores)


# tau-bench and tau2-bench


def test_an_exception_in_tau_bench_is_no_zero(tmp_path):
    failed = tau_record(0, solved=False, error="litellm.Timeout: no answer", traceback="")
    sample = only(write(tmp_path / "a.json", [failed]))
    assert (sample.error, sample.failure) == ("litellm.Timeout: no answer", "infrastructure")
    filtered = tau_record(0, solved=False, error="Error code: 400 - content_filter")
    assert only(write(tmp_path / "a.json", [filtered])).failure == "refusal"


def test_the_domain_and_the_model_of_tau_bench_are_in_the_path(tmp_path):
    name = "react-anthropic--claude-0.5_range_0-2_user-gpt-4o-llm_0102030405.json"
    log = readers()["tau-bench"].open(str(write(tmp_path / "retail" / name, [tau_record(0)])))
    (run,) = log.runs
    assert (run.model, run.task) == ("react | anthropic--claude", "retail")
    assert run.sampling == {"temperature": "0.5"}
    assert run.protocol == {"user simulator": "gpt-4o", "user strategy": "llm"}
    other = readers()["tau-bench"].open(str(write(tmp_path / "gpt-4o-airline.json", [tau_record(0)])))
    assert (other.runs[0].model, other.runs[0].task) == (None, "airline")
    assert "the log does not name its model" in refusal(tmp_path / "gpt-4o-airline.json")
    assert read(tmp_path / "gpt-4o-airline.json", model_name=("gpt-4o",)).items == ("airline/0",)


def test_tau_bench_without_trials_and_with_a_trial_twice(tmp_path):
    row = tau_record(0)
    path = write(tmp_path / "a.json", [row, row])
    assert "a.json: sample 2: a second score" in refusal(path, model_name=("m",))
    row.pop("trial")
    assert read(write(tmp_path / "b.json", [row]), model_name=("m",)).values.shape == (1, 1, 1)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("user_stop", None),
        ("agent_stop", None),
        ("max_steps", None),
        ("too_many_errors", None),
        ("agent_error", None),
        ("context_window_exceeded", None),
        ("infrastructure_error", "infrastructure"),
        ("unexpected_error", "infrastructure"),
        ("timeout", "infrastructure"),
        ("user_error", "infrastructure"),
    ],
)
def test_how_a_simulation_of_tau2_ended(reason, kind, tmp_path):
    results = tau2_results("m", [tau2_simulation(0, solved=False, reason=reason)], num_trials=None)
    sample = only(write(tmp_path / "results.json", results))
    assert sample.failure == kind
    assert (sample.error is None) == (kind is None)
    assert dict(sample.scores) == {"reward": 0.0}


def test_tau2_with_the_simulations_in_files_of_their_own(tmp_path):
    results = tau2_results("m")
    index = [
        {key: row[key] for key in ("id", "task_id", "trial", "termination_reason")}
        | {"reward": row["reward_info"]["reward"]}
        for row in results["simulations"]
    ]
    for row in results["simulations"]:
        write(tmp_path / "simulations" / f"{row['id']}.json", row)
    whole = read(write(tmp_path / "whole" / "results.json", results))
    write(tmp_path / "results.json", results | {"simulations": [], "simulation_index": index})
    parts = read(tmp_path / "results.json")
    np.testing.assert_array_equal(parts.values, whole.values)
    assert recognised(str(tmp_path / "simulations" / "0-0.json"))[1] == "beside"


def test_tau2_names_what_is_compared(tmp_path):
    agent = {"implementation": "planner", "llm": "gpt", "llm_args": {"temperature": 1}}
    (run,) = readers()["tau2-bench"].open(str(write(tmp_path / "a.json", tau2_results("m", agent_info=agent)))).runs
    assert run.model == "planner | gpt"
    voice = {"implementation": "discrete_time_audio_native_agent", "llm": None}
    said = tau2_results("m", agent_info=voice, audio_native_config={"provider": "openai", "model": "realtime"})
    (run,) = readers()["tau2-bench"].open(str(write(tmp_path / "b.json", said))).runs
    assert run.model == "discrete_time_audio_native_agent | realtime"
    nobody = write(tmp_path / "c.json", tau2_results("m", agent_info={}))
    assert "c.json: the info names no agent" in refusal(nobody)


def test_tau2_that_was_cut_off_is_refused(tmp_path):
    results = tau2_results("m")
    results["simulations"].pop()
    path = write(tmp_path / "results.json", results)
    assert "11 simulations of 4 tasks and 3 trials, but the log states 12" in refusal(path)


def test_a_task_of_tau2_that_changed_is_seen_but_not_an_empty_key(tmp_path):
    first, second = tau2_results("m"), tau2_results("m")
    second["tasks"][0]["evaluation_criteria"] = {"actions": None, "nl_assertions": []}
    contents = [samples(write(tmp_path / f"{n}.json", each))[0].content for n, each in enumerate((first, second))]
    assert contents[0] == contents[1]
    second["tasks"][0]["user_scenario"]["instructions"] = "something else"
    assert samples(write(tmp_path / "2.json", second))[0].content != contents[0]


# Terminal-Bench and Harbor


@pytest.mark.parametrize(
    ("solved", "mode", "kind"),
    [
        (True, "unset", None),
        (False, "unset", None),
        (True, "agent_timeout", None),
        (False, "agent_timeout", None),
        (None, "agent_timeout", "infrastructure"),
        (None, "unknown_agent_error", "infrastructure"),
        (False, "unknown_agent_error", "infrastructure"),
        (None, "agent_installation_failed", "infrastructure"),
        (None, "test_timeout", "judge"),
        (None, "parse_error", "judge"),
        (None, "context_length_exceeded", "unknown"),
        (None, "unset", "unknown"),
    ],
)
def test_an_unresolved_trial_is_not_a_failure_of_the_harness(solved, mode, kind, tmp_path):
    sample = only(terminal_run(tmp_path, "m", [terminal_trial("t", 0, solved, mode, of=1)]))
    assert sample.failure == kind
    assert (sample.error is None) == (kind is None)


def test_terminal_bench_counts_failures_of_the_harness_as_unresolved_and_says_so(tmp_path):
    trials = [terminal_trial("a", of=1), terminal_trial("b", of=1), terminal_trial("c", 0, None, "parse_error", of=1)]
    path = terminal_run(tmp_path, "m", trials)
    with pytest.raises(DataError, match="1 sample ended with an error"):
        read(path)
    scores = read_scores(path, least_models=1, incomplete="judge=zero")
    assert "1 of 3 samples have no score. Terminal-Bench counts them as failures, with a mean of 0.6667" in notes(
        scores
    )
    assert "the log states" not in notes(scores)


def test_terminal_bench_that_contradicts_itself(tmp_path):
    trials = [terminal_trial("a", of=1), terminal_trial("b", 0, False, of=1)]
    path = terminal_run(tmp_path, "m", trials, n_unresolved=7)
    assert f"{path}: 2 trials, but the log states 8" in refusal(path)
    path = terminal_run(tmp_path, "m", trials, accuracy=0.9)
    assert "the mean number of resolved trials of the samples is 0.5, but the log states 0.9" in notes(read(path))
    path = terminal_run(tmp_path, "m", [terminal_trial("a", 0), terminal_trial("a", 1)])
    assert "2 attempts at the tasks, but the log states 3" in refusal(path)


def test_a_trial_of_terminal_bench_alone_is_refused_and_beside_its_run_is_passed_over(tmp_path):
    trial = write(tmp_path / "run" / "a" / "a.1-of-1.run" / "results.json", terminal_trial("a", of=1))
    assert "the result of one trial" in refusal(trial)
    terminal_run(tmp_path / "run", "m", [terminal_trial("a", of=1)])
    assert read(tmp_path).items == ("a",)


def test_terminal_bench_without_metadata_has_no_model(tmp_path):
    path = terminal_run(tmp_path, "m")
    (tmp_path / "run_metadata.json").unlink()
    assert "does not name its model" in refusal(path)
    assert "no run_metadata.json beside it" in notes(read(path, model_name=("m",)))


def test_a_trial_whose_name_has_no_number_is_refused(tmp_path):
    path = terminal_run(tmp_path, "m", [terminal_trial("a") | {"trial_name": "a.x"}])
    assert f"{path}: sample 1: the name of the trial, 'a.x', does not say which attempt" in refusal(path)


@pytest.mark.parametrize(
    ("exception", "rewards", "kind"),
    [
        (None, True, None),
        ("AgentTimeoutError", True, None),
        ("AgentTimeoutError", False, "infrastructure"),
        ("NonZeroAgentExitCodeError", True, "infrastructure"),
        ("EnvironmentStartTimeoutError", False, "infrastructure"),
        ("VerifierTimeoutError", False, "judge"),
        ("RewardFileNotFoundError", False, "judge"),
    ],
)
def test_exceptions_of_harbor(exception, rewards, kind, tmp_path):
    harbor_trial(tmp_path, "m", "t", exception=exception, rewards=rewards)
    sample = only(harbor_job(tmp_path, 1))
    assert sample.failure == kind
    assert (sample.error is None) == (kind is None)


def test_harbor_without_a_reward_or_an_exception_has_no_score(tmp_path):
    harbor_trial(tmp_path, "m", "t", rewards=False)
    sample = only(harbor_job(tmp_path, 1))
    assert (sample.error, dict(sample.scores), sample.kind_of_failure) == (None, {}, "judge")


def test_a_job_of_harbor_with_a_trial_too_few_is_refused(tmp_path):
    trial = harbor_trial(tmp_path, "m", "t")
    harbor_trial(tmp_path, "m", "u")
    job = harbor_job(tmp_path, 2)
    assert read(job).items == ("terminal-bench/t", "terminal-bench/u")
    trial.unlink()
    assert f"{job}: 1 folders of trials with a result.json, but the log states 2" in refusal(tmp_path)


def test_a_trial_of_harbor_without_its_job_is_refused(tmp_path):
    assert "the result of one trial" in refusal(harbor_trial(tmp_path, "m", "t"))


def test_the_mean_that_a_job_of_harbor_states_is_compared(tmp_path):
    harbor_trial(tmp_path, "m", "t")
    job = harbor_job(tmp_path, 1, evals={"m": {"metrics": [{"mean": 0.25}]}})
    assert "the mean reward of the samples is 1, but the log states 0.25" in notes(read(job))


def test_trials_of_harbor_are_numbered_by_their_start(tmp_path):
    MAKERS["harbor"](tmp_path)
    found = {
        (each.run.model, each.item, each.repeat): each.scores["reward"] for each in samples(tmp_path / "result.json")
    }
    for model in MODELS:
        for task in TASKS:
            for trial in range(TRIALS):
                key = (f"terminus-2 | mock/{model}", f"terminal-bench/{task}", str(trial + 1))
                assert found[key] == right(model, task, trial)


# NeMo Evaluator


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ({}, None),
        ({"error": "connection reset", "error_category": "infra_error"}, "infrastructure"),
        ({"error": "blocked by content_filter", "method": "solve_failed"}, "refusal"),
        ({"judge": {"error": "ValueError: no verdict", "total": None}}, "judge"),
    ],
)
def test_a_reward_of_nemo_evaluator_that_was_not_earned(details, kind, tmp_path):
    sample = only(nemo_run(tmp_path, "m", [nemo_row(0, solved=False, **details)]))
    assert sample.failure == kind
    assert (sample.error is None) == (kind is None)


def test_nemo_evaluator_compares_with_its_bundle(tmp_path):
    rows = [nemo_row(0), nemo_row(1, solved=False)]
    path = nemo_run(tmp_path, "m", rows, n_results=3)
    assert f"{path}: 2 rows, but the log states 3" in refusal(path)
    path = nemo_run(tmp_path, "m", rows)
    bundle = next(tmp_path.glob("eval-*.json"))
    said = json.loads(bundle.read_text())
    said["benchmark"]["scores"]["mean_reward"]["value"] = 0.75
    write(bundle, said)
    assert "the mean reward of the samples is 0.5, but the log states 0.75" in notes(read(path))
    bundle.unlink()
    assert "does not name its model" in refusal(path)


def test_nemo_evaluator_has_categories_and_metrics_of_scorers(tmp_path):
    rows = [nemo_row(n) | {"scorer_rewards": {"scorer:style": 0.5}} for n in (0, 1)]
    path = nemo_run(tmp_path, "m", rows)
    scores = read_scores(path, least_models=1, item_column=["metadata.category"])
    assert scores.columns["metadata.category"] == ("even", "odd")
    assert read(path, metric=("scorer:style",)).values.tolist() == [[[0.5, 0.5]]]


# Every Eval Ever


def test_one_evaluation_is_one_run(tmp_path):
    rows = [eee_row("m", trial, task) for trial in range(2) for task in TASKS]
    path = eee_evaluation(tmp_path / "both_samples.jsonl", rows)
    assert len(open_log(readers()["every-eval-ever"], str(path)).runs) == 2
    assert read(path).values.shape == (2, 1, 4)
    path = eee_evaluation(tmp_path / "twice_samples.jsonl", [eee_row("m", 0, "t"), eee_row("m", 0, "t")])
    assert "twice_samples.jsonl:2: a second score" in refusal(path)


def test_an_evaluation_given_twice_is_refused(tmp_path):
    for name in ("a", "b"):
        eee_evaluation(tmp_path / f"{name}_samples.jsonl", [eee_row("m", 0, "t", note=name)])
    assert "the same run of 'org/m'" in refusal(tmp_path)


def test_every_eval_ever_says_when_less_is_better(tmp_path):
    path = eee_evaluation(tmp_path / "a_samples.jsonl", [eee_row("m", 0, "t")], lower=True)
    assert "less is better for the metric 'score'" in refusal(path)


def test_every_eval_ever_with_errors_and_stated_rows(tmp_path):
    path = eee_evaluation(tmp_path / "a_samples.jsonl", [eee_row("m", 0, "t", error="timeout")])
    assert only(path).failure == "infrastructure"
    rows = [eee_row("m", 0, "t")]
    path = eee_evaluation(tmp_path / "a_samples.jsonl", rows, detailed_evaluation_results={"total_rows": 4})
    assert f"{path}: 1 rows, but the log states 4" in refusal(path)
    result = {"evaluation_name": "bench", "score_details": {"score": 0.25}}
    path = eee_evaluation(tmp_path / "a_samples.jsonl", rows, evaluation_results=[result])
    assert "the mean score of bench of the samples is 1, but the log states 0.25" in notes(read(path))


def test_an_answer_scored_in_two_ways_asks_which(tmp_path):
    rows = [eee_row("m", 0, "t"), eee_row("m", 0, "t", False, evaluation_result_id="bench.strict")]
    path = eee_evaluation(tmp_path / "a_samples.jsonl", rows)
    assert "several filters, 'bench.accuracy', 'bench.strict'" in refusal(path)
    assert read(path, filter=("bench.strict",)).values.tolist() == [[[0.0]]]


# EvalPlus


def test_plus_needs_both_sets_of_tests(tmp_path):
    results = {"HumanEval/0": [evalplus_solution(False, True)], "HumanEval/1": [evalplus_solution(True, False)]}
    path = evalplus_results(tmp_path / "m_hf_temp_0.0_eval_results.json", "m", results)
    assert "2 metrics, 'base', 'plus'" in refusal(path)
    assert read(path, metric=("base",)).values.tolist() == [[[0.0, 1.0]]]
    assert read(path, metric=("plus",)).values.tolist() == [[[0.0, 0.0]]]


def test_evalplus_with_base_tests_only_and_a_timeout(tmp_path):
    solution = {"base_status": "timeout", "plus_status": None}
    path = evalplus_results(tmp_path / "m_hf_temp_0.0_eval_results.json", "m", {"HumanEval/0": [solution]})
    assert read(path).values.tolist() == [[[0.0]]]


def test_solutions_of_evalplus_are_replicates_with_a_note(tmp_path):
    MAKERS["evalplus"](tmp_path)
    assert "only if they were drawn independently" in notes(read(tmp_path, metric=("base",)))
    path = evalplus_results(tmp_path / "one" / "x.json", "m", {"HumanEval/0": [evalplus_solution()]})
    assert "independently" not in notes(read(path, metric=("base",), model_name=("m",)))


def test_evalplus_compares_with_the_rates_that_it_states(tmp_path):
    path = evalplus_results(tmp_path / "m_hf_temp_0.0_eval_results.json", "m", {"HumanEval/0": [evalplus_solution()]})
    said = json.loads(path.read_text())
    write(path, said | {"pass_at_k": {"base": {"pass@1": 1.0}, "plus": {"pass@1": 0.5}}})
    said = notes(read(path, metric=("plus",)))
    assert "the mean of plus of the samples is 1, but the log states 0.5" in said
    assert "of base" not in said


def test_the_form_of_evalplus_before(tmp_path):
    old = {"nfiles": 2, "base": [["pass", [True]], ["fail", []]], "plus": [["fail", []], ["fail", []]]}
    path = write(tmp_path / "eval_results.json", {"date": "2023-06-01", "hash": "0f", "eval": {"HumanEval/0": old}})
    assert read(path, metric=("base",), model_name=("m",)).values.tolist() == [[[1.0]], [[0.0]]]


@pytest.mark.parametrize("status", ["passed", 1, True, ["pass"]])
def test_an_unknown_status_of_evalplus_is_refused(status, tmp_path):
    results = {"HumanEval/0": [{"base_status": status, "plus_status": "pass"}]}
    path = evalplus_results(tmp_path / "m_hf_temp_0.0_eval_results.json", "m", results)
    assert f"{path}: sample 1: status " in refusal(path, metric=("base",))


def test_two_benchmarks_in_one_file_of_evalplus_are_refused(tmp_path):
    results = {"HumanEval/0": [evalplus_solution()], "Mbpp/2": [evalplus_solution()]}
    path = evalplus_results(tmp_path / "m_hf_temp_0.0_eval_results.json", "m", results)
    assert "tasks of 'HumanEval' and of 'Mbpp'; expected one benchmark per file" in refusal(path, metric=("base",))


def test_the_name_of_a_file_of_evalplus_names_the_model(tmp_path):
    path = evalplus_results(tmp_path / "meta-llama--Llama-3_vllm_temp_0.8_eval_results.json", "m")
    (run,) = readers()["evalplus"].open(str(path)).runs
    assert run.model == "meta-llama/Llama-3"
    assert run.sampling == {"backend": "vllm", "temperature": "0.8"}


# EvalScope


def test_a_score_of_evalscope_that_is_not_usable(tmp_path):
    rows = [evalscope_review(0), evalscope_review(1, solved=False, value={}, status="parse_error")]
    failed = samples(evalscope_reviews(tmp_path, "m", rows))[1]
    assert (failed.error, failed.failure) == ("the scorer ended with parse_error", "judge")


def test_evalscope_compares_with_its_report(tmp_path):
    path = evalscope_reviews(tmp_path, "m", [evalscope_review(0), evalscope_review(1)], num=5)
    assert f"{path}: 2 reviews with 'acc', but the report states 5" in refusal(path)
    path = evalscope_reviews(tmp_path, "m", [evalscope_review(0), evalscope_review(1)])
    report = tmp_path / "reports" / "m" / "bench.json"
    report.write_text(report.read_text().replace('"score": 1.0', '"score": 0.5'))
    assert "the mean 'acc' of the samples is 1, but the log states 0.5" in notes(read(path))
    report.unlink()
    assert "no report beside it" in notes(read(path))


def test_evalscope_takes_its_main_score_and_its_direction(tmp_path):
    rows = [evalscope_review(0, value={"f1": 0.25, "acc": 1.0}, main_score_name="f1")]
    path = evalscope_reviews(tmp_path, "m", rows)
    assert read(path).values.tolist() == [[[0.25]]]
    report = tmp_path / "reports" / "m" / "bench.json"
    said = json.loads(report.read_text())
    identity = {"name": "f1", "aggregation": "mean", "dimensions": {}}
    said["metrics"] = [{"identity": identity, "semantics": {"direction": "lower_is_better"}, "categories": []}]
    write(report, said)
    assert "less is better for the metric 'f1'" in refusal(path)


def test_reviews_of_evalscope_outside_their_folders_have_no_model(tmp_path):
    path = write(tmp_path / "elsewhere" / "a.jsonl", [evalscope_review(0)])
    assert "does not name its model" in refusal(path)


def test_reviews_of_evalscope_0_have_one_result(tmp_path):
    def review(*results):
        choices = [{"review": {"gold": "x", "pred": "x", "result": result}} for result in results]
        return {"index": 0, "choices": choices, "review_id": "r", "reviewed": True, "raw_input": {"q": 1}}

    path = write(tmp_path / "reviews" / "m" / "a.jsonl", [review(True)])
    assert read(path).values.tolist() == [[[1.0]]]
    path = write(tmp_path / "reviews" / "m" / "a.jsonl", [review(True, False)])
    assert dict(only(path).scores) == {}


# verifiers


def test_an_error_of_verifiers_is_no_zero(tmp_path):
    error = {"error": "ModelError", "error_chain_repr": "ModelError -> APITimeoutError()", "error_chain_str": "..."}
    rows = [verifiers_row(0, solved=False, error=error)]
    sample = only(verifiers_run(tmp_path, "m", rows, num_examples=1, rollouts_per_example=1))
    assert (sample.error, sample.failure) == ("ModelError -> APITimeoutError()", "infrastructure")


def test_verifiers_compares_with_its_metadata(tmp_path):
    rows = [verifiers_row(0), verifiers_row(1)]
    path = verifiers_run(tmp_path, "m", rows, rollouts_per_example=1, num_examples=3)
    assert f"{path}: 2 examples, but the log states 3" in refusal(path)
    path = verifiers_run(tmp_path, "m", [*rows, rows[0]], rollouts_per_example=1, num_examples=2)
    assert f"{path}: 2 rollouts of example '0', but the log states 1" in refusal(path)
    path = verifiers_run(tmp_path, "m", rows, rollouts_per_example=1, num_examples=2, avg_reward=0.5)
    assert "the mean reward of the samples is 1, but the log states 0.5" in notes(read(path))
    (tmp_path / "metadata.json").unlink()
    assert "does not name its model" in refusal(path)


def test_rollouts_without_times_are_numbered_by_their_text(tmp_path):
    rows = [verifiers_row(0, trial, timing={}) for trial in range(3)]
    path = verifiers_run(tmp_path, "m", rows, num_examples=1)
    before = {sample.place: sample.repeat for sample in samples(path)}
    assert sorted(before.values()) == ["1", "2", "3"]
    path = verifiers_run(tmp_path, "m", rows[::-1], num_examples=1)
    assert {4 - sample.place: sample.repeat for sample in samples(path)} == before
    same = [verifiers_row(0, timing={})] * 3
    assert [each.repeat for each in samples(verifiers_run(tmp_path, "m", same, num_examples=1))] == ["1", "2", "3"]


def test_the_first_versions_of_verifiers_are_read(tmp_path):
    rows = [verifiers_row(0), verifiers_row(1)]
    for row in rows:
        row |= {"id": row.pop("example_id"), "judge_reward": 0.5, "total_ms": 12.0}
        for key in ("metrics", "timing", "info", "error"):
            row.pop(key)
    about = {"env": "bench", "model": "m", "num_examples": 2, "rollouts_per_example": 1, "avg_reward": 1.0}
    path = write(tmp_path / "results.jsonl", rows)
    assert recognised(str(path))[0] is None
    write(tmp_path / "metadata.json", about | {"avg_judge_reward": 0.5})
    assert read(tmp_path).items == ("bench/0", "bench/1")
    assert [dict(each.scores) for each in samples(path)] == [{"reward": 1.0, "judge_reward": 0.5}] * 2
    write(tmp_path / "metadata.json", about | {"avg_metrics": {"judge_reward": 0.5}})
    assert read(path, metric=("judge_reward",)).values.tolist() == [[[0.5, 0.5]]]


def test_what_tools_write_beside_their_results_is_passed_over(tmp_path):
    results = nemo_run(tmp_path / "nemo", "m")
    row = {"problem_idx": 0, "repeat": 0, "reward": 1.0, "response": "42"}
    beside = [write(tmp_path / "nemo" / "verified_log.jsonl", [row])]
    path = evalplus_results(tmp_path / "plus" / "m_hf_temp_0.8_eval_results.json", "m")
    beside.append(write(tmp_path / "plus" / "m_hf_temp_0.8.jsonl", [{"task_id": "HumanEval/0", "solution": "x"}]))
    trial = harbor_trial(tmp_path / "job", "m", "t")
    harbor_job(tmp_path / "job", 1)
    beside.append(write(trial.parent / "verifier" / "ctrf.json", {"results": {"tests": [{"name": "a"}]}}))
    beside.append(write(trial.parent / "config.json", {"agent": {"name": "a"}}))
    assert [recognised(str(each))[1] for each in beside] == ["beside"] * 4
    results.unlink()
    assert recognised(str(beside[0]))[1] == "samples"
    path.unlink()
    assert recognised(str(beside[1]))[1] == "no"


def test_episodes_of_verifiers_are_refused_by_name(tmp_path):
    trace = {"rewards": {"exact": {"score": 1.0, "weight": 1.0}}}
    row = {"id": "e", "env": {"id": "bench"}, "task": {"type": "T", "data": {}}, "ok": True, "traces": [trace]}
    path = write(tmp_path / "traces.jsonl", [row])
    assert f"{path}:1: a trace or an episode of a later version" in refusal(tmp_path)
    write(path, [{"id": "t", "task": {}, "nodes": [], "rewards": {"exact": 1.0}}])
    assert f"{path}:1: a trace or an episode of a later version" in refusal(tmp_path)


def test_terminal_bench_with_and_without_metadata_has_the_same_items(tmp_path):
    terminal_run(tmp_path / "a", "a")
    terminal_run(tmp_path / "b", "b")
    (tmp_path / "b" / "run_metadata.json").unlink()
    assert read(tmp_path, model_name=("b/*=b",)).values.shape == (3, 2, 4)


def test_another_instruction_of_the_system_is_not_another_question(tmp_path):
    plain = verifiers_row(0)
    told = verifiers_row(0, prompt=[{"role": "system", "content": "Think."}, *plain["prompt"]])
    options = {"num_examples": 1, "rollouts_per_example": 1}
    first, second = (only(verifiers_run(tmp_path / n, n, [row], **options)) for n, row in (("a", plain), ("b", told)))
    assert first.content == second.content


def test_a_row_that_lacks_what_counts_is_named(tmp_path):
    for name, lacking in (
        ("nemo-evaluator", "problem_idx"),
        ("every-eval-ever", "model_id"),
        ("evalscope", "sample_score"),
        ("verifiers", "example_id"),
    ):
        path = MAKERS[name](tmp_path / name)[0]
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows[2].pop(lacking)
        write(path, rows)
        with pytest.raises(FormatError, match=rf"{path.name}:3: no .*{lacking}"):
            samples(path)
