"""Logs of the shapes that tools document, written by hand, of tools that do not run without a network or a container.

``python tests/suite_makers.py`` writes those in ``tests/logs``. Every maker takes a folder and makes the logs of two
models, with three runs over four tasks; what it returns are the files that a reader opens.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

MODELS = ("aster", "birch")
SKILL = {"aster": 0.8, "birch": 0.4}
TASKS = ("sort-files", "find-bug", "fix-test", "add-option")
TRIALS = 3


def right(model, task, trial):
    """Whether a model solves a task in a trial: drawn once for all."""
    drawn = hashlib.sha256(f"{model} {task} {trial}".encode()).digest()[0] / 256
    return drawn < SKILL.get(model, 0.5)


def write(path, content):
    """A JSON document, or JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    else:
        path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def answers(model):
    """Every run over every task: the number of the task, its name, the trial from 0, and whether it is solved."""
    for trial in range(TRIALS):
        for number, task in enumerate(TASKS):
            yield number, task, trial, right(model, task, trial)


def tau_bench(folder, models=MODELS):
    """tau-bench, as its run.py writes it."""
    return [
        write(
            folder / "airline" / f"tool-calling-{model}-0.0_range_0--1_user-gpt-4o-llm_0102030405.json",
            [tau_record(number, trial, solved) for number, _, trial, solved in answers(model)],
        )
        for model in models
    ]


def tau_record(number, trial=0, solved=True, **info):
    task = {"user_id": f"user_{number % 2}", "actions": [], "instruction": f"Change booking {number}.", "outputs": []}
    info = {"task": task, "source": "user", "user_cost": 0.01, **info}
    messages = [{"role": "system", "content": "policy"}, {"role": "user", "content": "hello"}]
    return {"task_id": number, "reward": float(solved), "info": info, "traj": messages, "trial": trial}


def tau2_bench(folder, models=MODELS):
    """tau2-bench, as its data model describes it."""
    return [write(folder / model / "results.json", tau2_results(model)) for model in models]


def tau2_results(model, simulations=None, **info):
    agent = {"implementation": "llm_agent", "llm": model, "llm_args": {"temperature": 0.0}}
    user = {"implementation": "user_simulator", "llm": "gpt-4.1", "llm_args": {}}
    about = {"git_commit": "0f", "num_trials": TRIALS, "max_steps": 200, "max_errors": 10, "seed": 300}
    about |= {"agent_info": agent, "user_info": user, "environment_info": {"domain_name": "retail"}, **info}
    if simulations is None:
        simulations = [tau2_simulation(number, trial, solved) for number, _, trial, solved in answers(model)]
    return {
        "timestamp": f"2026-01-01T00:00:00 {model}",
        "info": about,
        "tasks": [
            {"id": str(number), "user_scenario": {"instructions": task}, "evaluation_criteria": None}
            for number, task in enumerate(TASKS)
        ],
        "simulations": simulations,
    }


def tau2_simulation(number, trial=0, solved=True, reason="user_stop"):
    return {
        "id": f"{number}-{trial}",
        "task_id": str(number),
        "termination_reason": reason,
        "reward_info": {"reward": float(solved), "reward_basis": ["DB"]},
        "messages": [{"role": "user", "content": "hello"}],
        "trial": trial,
        "seed": 600 + trial,
    }


def terminal_bench(folder, models=MODELS):
    """Terminal-Bench, as published results have it."""
    return [terminal_run(folder / f"run-{model}", model) for model in models]


def terminal_run(folder, model, results=None, **stated):
    if results is None:
        results = [terminal_trial(task, trial, solved) for _, task, trial, solved in answers(model)]
    resolved = sum(row["is_resolved"] is True for row in results)
    about = {"run_id": folder.name, "uuid": f"uuid-{folder.name}", "agent_name": "terminus", "model_name": model}
    about |= {"dataset_name": "core", "dataset_version": "0.1.1", "n_attempts": TRIALS, "start_time": "2026-01-01"}
    write(folder / "run_metadata.json", about)
    counts = {"n_resolved": resolved, "n_unresolved": len(results) - resolved, "accuracy": resolved / len(results)}
    return write(folder / "results.json", {"id": "x", "results": results, "pass_at_k": {}, **counts, **stated})


def terminal_trial(task, trial=0, solved=True, mode="unset", of=TRIALS):
    return {
        "trial_name": f"{task}.{trial + 1}-of-{of}.run",
        "task_id": task,
        "instruction": f"Do {task}.",
        "is_resolved": solved,
        "failure_mode": mode,
        "parser_results": {"test_it": "passed" if solved else "failed"},
    }


def harbor(folder, models=MODELS):
    """Harbor, as its data model describes it: one job for both models."""
    trials = [
        harbor_trial(folder, model, task, trial, solved)
        for model in models
        for _, task, trial, solved in answers(model)
    ]
    return [harbor_job(folder, len(trials))]


def harbor_job(folder, count, **stats):
    document = {"id": f"job-{folder.name}", "started_at": "2026-01-01T00:00:00", "n_total_trials": count}
    return write(folder / "result.json", document | {"stats": {"n_trials": count, "n_errors": 0, "evals": {}, **stats}})


def harbor_trial(folder, model, task, trial=0, solved=True, exception=None, rewards=True):
    # The end of the name is drawn by Harbor and says nothing about the order.
    name = f"{task}__{hashlib.sha256(f'{model}{task}{trial}'.encode()).hexdigest()[:7]}"
    result = {
        "id": name,
        "task_name": task,
        "trial_name": name,
        "source": "terminal-bench",
        "task_checksum": hashlib.sha256(task.encode()).hexdigest(),
        "config": {"agent": {"name": "terminus-2", "kwargs": {}}},
        "agent_info": {"name": "terminus-2", "version": "2.0", "model_info": {"name": model, "provider": "mock"}},
        "verifier_result": {"rewards": {"reward": float(solved)}} if rewards else None,
        "exception_info": exception
        and {
            "exception_type": exception,
            "exception_message": "it failed",
            "exception_traceback": "",
            "occurred_at": "",
        },
        "started_at": f"2026-01-01T00:{trial:02d}:00",
    }
    return write(folder / name / "result.json", result)


def nemo_evaluator(folder, models=MODELS):
    """NeMo Evaluator, as its documentation of the result format has it."""
    return [nemo_run(folder / model, model) for model in models]


def nemo_run(folder, model, rows=None, **bundle):
    if rows is None:
        rows = [nemo_row(number, trial, solved) for number, _, trial, solved in answers(model)]
    mean = sum(row["reward"] for row in rows) / len(rows)
    benchmark = {"name": "reasoning", "samples": len({row["problem_idx"] for row in rows}), "repeats": TRIALS}
    document = {
        "run_id": f"eval-20260101T000000Z-reasoning-{folder.name}",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "config": {"benchmark": "reasoning", "model": model, "temperature": 0.7},
        "benchmark": benchmark | {"scores": {"mean_reward": {"value": mean}}},
        "n_results": len(rows),
    }
    write(folder / "eval-20260101T000000Z-reasoning.json", document | bundle)
    return write(folder / "results.jsonl", rows)


def nemo_row(number, repeat=0, solved=True, **details):
    return {
        "problem_idx": number,
        "repeat": repeat,
        "reward": float(solved),
        "prompt": f"Question {number}?",
        "model_response": "42",
        "expected_answer": "42",
        "scoring_details": {"method": "exact_match", **details},
        "metadata": {"category": "odd" if number % 2 else "even"},
    }


def every_eval_ever(folder, models=MODELS):
    """Every Eval Ever, as its schema 0.3 has it: one evaluation is one run."""
    return [
        eee_evaluation(
            folder / model / f"run{trial}_samples.jsonl",
            [eee_row(model, trial, task, right(model, task, trial)) for task in TASKS],
        )
        for model in models
        for trial in range(TRIALS)
    ]


def eee_evaluation(path, rows, *, lower=False, **said):
    mean = sum(row["evaluation"]["score"] for row in rows) / len(rows)
    result = {
        "evaluation_result_id": rows[0]["evaluation_result_id"],
        "evaluation_name": rows[0]["evaluation_name"],
        "metric_config": {"lower_is_better": lower, "min_score": 0.0, "max_score": 1.0},
        "score_details": {"score": mean},
    }
    document = {
        "schema_version": "0.3.0",
        "evaluation_id": rows[0]["evaluation_id"],
        "evaluation_timestamp": rows[0]["evaluation_id"].rpartition("/")[2],
        "model_info": {"name": rows[0]["model_id"], "id": rows[0]["model_id"]},
        "evaluation_results": [result],
        "detailed_evaluation_results": {"format": "jsonl", "file_path": path.name, "total_rows": len(rows)},
    }
    write(path.parent / f"{path.stem.removesuffix('_samples')}.json", document | said)
    return write(path, rows)


def eee_row(model, trial, task, solved=True, **more):
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"source/{model}/{1767225600 + trial}",
        "model_id": f"org/{model}",
        "evaluation_name": "bench",
        "evaluation_result_id": "bench.accuracy",
        "sample_id": task,
        "sample_hash": hashlib.sha256(task.encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": f"Do {task}.", "reference": ["done"]},
        "output": {"raw": ["done" if solved else "no"]},
        "evaluation": {"score": float(solved), "is_correct": solved},
        "metadata": {"subject": "files" if "file" in task else "code"},
    } | more


def evalplus(folder, models=MODELS):
    """EvalPlus, for what the samples of the tool itself do not show."""
    return [evalplus_results(folder / f"{model}_vllm_temp_0.8_eval_results.json", model) for model in models]


def evalplus_results(path, model, results=None):
    if results is None:
        results = {f"HumanEval/{number}": [] for number in range(len(TASKS))}
        for number, _, _, solved in answers(model):
            results[f"HumanEval/{number}"].append(evalplus_solution(solved))
    return write(path, {"date": "2026-01-01 00:00", "hash": "0f", "eval": results})


def evalplus_solution(solved=True, plus=None):
    words = {True: "pass", False: "fail"}
    said = {"solution": "def f(): ...", "base_status": words[solved]}
    return said | {"plus_status": words[solved if plus is None else plus], "base_fail_tests": [], "plus_fail_tests": []}


def evalscope(folder, models=MODELS):
    """EvalScope, for what the samples of the tool itself do not show."""
    return [evalscope_reviews(folder, model) for model in models]


def evalscope_reviews(folder, model, rows=None, num=None, metric="acc"):
    if rows is None:
        rows = [evalscope_review(number, trial, solved) for number, _, trial, solved in answers(model)]
    values = [row["sample_score"]["score"]["value"].get(metric) for row in rows]
    scored = [value for value in values if value is not None]
    subset = {"name": "main", "score": sum(scored) / len(scored), "num": len(scored) if num is None else num}
    categories = [{"name": ["default"], "num": len(rows), "subsets": [subset]}]
    metrics = [{"name": f"mean_{metric}", "num": len(rows), "categories": categories}]
    report = {"name": "bench", "dataset_name": "bench", "model_name": model, "metrics": metrics}
    write(folder / "reports" / model / "bench.json", report)
    return write(folder / "reviews" / model / "bench_main.jsonl", rows)


def evalscope_review(number, trial=0, solved=True, **score):
    value = {"value": {"acc": float(solved)}, "prediction": "x", "metadata": {}, "main_score_name": None, **score}
    sample = {"score": value, "sample_id": TRIALS * number + trial, "group_id": number}
    sample["sample_metadata"] = {"subject": "files" if number % 2 else "code"}
    return {"index": TRIALS * number + trial, "input": f"Question {number}?", "target": "x", "sample_score": sample}


def verifiers(folder, models=MODELS):
    """verifiers, for what the samples of the tool itself do not show."""
    return [verifiers_run(folder / f"bench--{model}" / "0f", model) for model in models]


def verifiers_run(folder, model, rows=None, **said):
    if rows is None:
        rows = [verifiers_row(number, trial, solved) for number, _, trial, solved in answers(model)]
    about = {"env_id": "bench", "env_args": {}, "model": model, "num_examples": len(TASKS), "date": "2026-01-01 00:00"}
    about |= {"rollouts_per_example": TRIALS, "sampling_args": {"temperature": 1.0}}
    about["avg_reward"] = sum(row["reward"] for row in rows) / len(rows)
    write(folder / "metadata.json", about | said)
    return write(folder / "results.jsonl", rows)


def verifiers_row(number, trial=0, solved=True, error=None, **more):
    return {
        "example_id": number,
        "prompt": [{"role": "user", "content": f"Question {number}?"}],
        "completion": [{"role": "assistant", "content": f"answer {trial} {solved}"}],
        "answer": "x",
        "info": {"subject": "files" if number % 2 else "code"},
        "reward": float(solved),
        "error": error,
        "timing": {"start_time": 1767225600.0 + trial},
        "metrics": {"exact_match": float(solved)},
    } | more


MAKERS = {
    "tau-bench": tau_bench,
    "tau2-bench": tau2_bench,
    "terminal-bench": terminal_bench,
    "harbor": harbor,
    "nemo-evaluator": nemo_evaluator,
    "every-eval-ever": every_eval_ever,
    "evalplus": evalplus,
    "evalscope": evalscope,
    "verifiers": verifiers,
}
"""The makers by the name of the reader."""
OF_TOOLS = ("evalplus", "evalscope", "verifiers")
"""Those of which the tool itself wrote the samples in ``tests/logs``."""

if __name__ == "__main__":
    for name, make in MAKERS.items():
        if name not in OF_TOOLS:
            make(Path(__file__).parent / "logs" / name.replace("-", "_"))
