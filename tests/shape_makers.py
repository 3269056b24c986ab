"""Small logs written by hand in the shape that each tool documents, for tools whose logs are not made by the tool here.

Every maker writes the scores of two models on eight questions; what a model gets right is :func:`right`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODELS = ("aster", "birch")
QUESTIONS = range(1, 9)


def right(model, number):
    """What a model gets right: aster three questions of four, birch every second."""
    return number % (4 if model == "aster" else 2) != 0


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_document(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def deepeval_case(number, *, score=1.0, name="Exact", **more):
    metric = {"name": name, "threshold": 0.5, "success": bool(score >= 0.5), "score": score, "strictMode": False}
    case = {"name": f"test_case_{number}", "input": f"question {number}", "expectedOutput": "yes", "order": number}
    return case | {"actualOutput": "yes", "metricsData": [metric], "runDuration": 0.25 + number} | more


def deepeval_run(cases, *, model=None, **more):
    run = {"testCases": cases, "conversationalTestCases": [], "runDuration": 3.5} | more
    return {"testRunData": run | ({"hyperparameters": {"model": model}} if model else {})}


def deepeval(folder):
    for model in MODELS:
        cases = [deepeval_case(number, score=float(right(model, number))) for number in QUESTIONS]
        scores = [{"metric": "Exact", "scores": [case["metricsData"][0]["score"] for case in cases]}]
        yield write_document(folder / f"{model}.json", deepeval_run(cases, model=model, metricsScores=scores))


def mlflow_table(rows, *, metric="answer_correctness/v1/score"):
    columns = [
        "inputs",
        "ground_truth",
        "outputs",
        "topic",
        "latency",
        metric,
        metric.replace("score", "justification"),
    ]
    return {"columns": columns, "data": rows}


def mlflow_row(number, score, *, output="yes"):
    return [f"question {number}", "yes", output, f"topic {number % 2}", 0.5, score, "because"]


def mlflow(folder):
    for model in MODELS:
        rows = [mlflow_row(number, 1.0 + 4.0 * right(model, number)) for number in QUESTIONS]
        yield write_document(folder / model / "eval_results_table.json", mlflow_table(rows))


def exported_item(number, *, model="aster", run="erun_1", grade=1.0, **more):
    sample = {"trajectory": [{"role": "user", "content": f"question {number}"}], "outputs": [], "finish_reason": "stop"}
    sample |= {"sampled_model_name": model, "sampled_model_params": {"seed": 42, "temperature": 1.0}}
    row = {"run_id": run, "data_source_idx": number, "item": {"question": f"question {number}", "label": "1"}}
    graded = {"grades": {"String check": grade}, "passes": {"String check": bool(grade)}, "grader_samples": {}}
    return row | {"sample": sample} | graded | more


def listed_item(number, *, model="aster", run="evalrun_1", score=1.0, **more):
    sample = {"model": model, "error": {"code": "", "message": ""}, "finish_reason": "stop", "temperature": 1.0}
    row = {"object": "eval.run.output_item", "id": f"{run}_{number}", "run_id": run, "eval_id": "eval_1"}
    row |= {"datasource_item_id": number, "datasource_item": {"question": f"question {number}"}, "status": "pass"}
    row |= {"created_at": 1_750_000_000, "sample": sample}
    return row | {"results": [{"name": "check", "passed": score >= 0.5, "score": score, "sample": None}]} | more


def openai_export(folder):
    rows = [
        exported_item(number, model=model, run=f"erun_{model}", grade=float(right(model, number)))
        for number in QUESTIONS
        for model in MODELS
    ]
    yield write_lines(folder / "eval_items.jsonl", rows)


def openai_pages(folder):
    for model in MODELS:
        page = [
            listed_item(number, model=model, run=f"evalrun_{model}", score=float(right(model, number)))
            for number in QUESTIONS
        ]
        yield write_document(folder / f"{model}.json", {"object": "list", "data": page, "has_more": False})


def instance(number):
    return f"{'django__django' if number % 2 else 'sympy__sympy'}-{1000 + number}"


def swe_bench_system(folder, name, *, resolved, predicted=QUESTIONS, **lists):
    """A folder of a system in the repository of experiments; ``predicted`` are the instances in all_preds.jsonl."""
    system = folder / "verified" / name
    found = {"no_generation": [], "no_logs": [], "resolved": [instance(number) for number in resolved]} | lists
    path = write_document(system / "results" / "results.json", {k: v for k, v in found.items() if v is not None})
    (system / "metadata.yaml").write_text(f"info:\n  logo: x.png\n  name: The system {name}\ntags:\n  org: none\n")
    if predicted is not None:
        rows = [{"instance_id": instance(n), "model_name_or_path": name, "model_patch": "diff"} for n in predicted]
        write_lines(system / "all_preds.jsonl", rows)
    return path


def swe_bench(folder):
    for model in MODELS:
        yield swe_bench_system(folder, f"2026_{model}", resolved=[n for n in QUESTIONS if right(model, n)])


def livebench_row(number, *, model="aster", score=1.0, task="typos", **more):
    row = {"question_id": f"{number:064x}", "task": task, "model": model, "score": score, "turn": 1}
    return row | {"tstamp": 1_720_000_000.25 + number, "category": "language"} | more


def livebench(folder):
    rows = [
        livebench_row(number, model=model, score=float(right(model, number)), task="typos" if number < 5 else "spatial")
        for number in QUESTIONS
        for model in MODELS
    ]
    yield write_lines(folder / "model_judgment" / "ground_truth_judgment.jsonl", rows)


def arena_hard_row(number, *, model="aster", verdicts=("B>A", "A>B"), **more):
    games = [{"user_prompt": f"{model} {number} {n}", "judgment": "...", "score": v} for n, v in enumerate(verdicts)]
    return {"question_id": f"{number:032x}", "model": model, "judge": "judge-1", "games": games} | more


def arena_hard(folder):
    for model in MODELS:
        rows = [
            arena_hard_row(number, model=model, verdicts=("B>>A", "A>B") if right(model, number) else ("A>B", "A=B"))
            for number in QUESTIONS
        ]
        yield write_lines(folder / "model_judgment" / "judge-1" / f"{model}.jsonl", rows)


def mt_bench_row(number, turn, *, model="aster", score=7, judge="gpt-4", **more):
    row = {
        "question_id": 80 + number,
        "model": model,
        "judge": [judge, "single-v1"],
        "user_prompt": f"{model} {number}",
    }
    return row | {"judgment": "...", "score": score, "turn": turn, "tstamp": 1_690_000_000.5 + number} | more


def mt_bench(folder):
    rows = [
        mt_bench_row(number, turn, model=model, score=(9 if right(model, number) else 4) - turn)
        for number in QUESTIONS
        for turn in (1, 2)
        for model in MODELS
    ]
    yield write_lines(folder / "model_judgment" / "gpt-4_single.jsonl", rows)


def alpaca_eval_row(number, *, model="aster", preference=2.0, **more):
    row = {"instruction": f"question {number}", "output_1": f"reference {number}", "generator_1": "reference"}
    row |= {"dataset": "helpful_base" if number < 5 else "koala", "output_2": f"{model} {number}", "generator_2": model}
    return (
        row | {"annotator": "weighted_alpaca_eval_gpt4_turbo", "preference": preference, "raw_completion": None} | more
    )


def alpaca_eval(folder):
    for model in MODELS:
        rows = [alpaca_eval_row(number, model=model, preference=1.0 + right(model, number)) for number in QUESTIONS]
        yield write_document(folder / model / "annotations.json", rows)


def swe_bench_report(number, resolved, **more):
    tests = {"FAIL_TO_PASS": {"success": ["t"], "failure": []}, "PASS_TO_PASS": {"success": [], "failure": []}}
    found = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": True, "resolved": resolved}
    return {instance(number): found | {"tests_status": tests} | more}


def swe_bench_reports(folder):
    for model in MODELS:
        for number in QUESTIONS:
            of_model = folder / "run_evaluation" / "run-1" / model.replace("/", "__")
            report = swe_bench_report(number, right(model, number))
            yield write_document(of_model / instance(number) / "report.json", report)


def bfcl_task(number, category="live_simple"):
    return f"{category}_{number}-{number % 3}-0"


def bfcl_failure(number, *, model="aster", **more):
    row = {"id": bfcl_task(number), "model_name": model, "test_category": "live_simple", "valid": False}
    return row | {"error": ["Wrong value."], "error_type": "value_error", "model_result": "[f(x=1)]"} | more


def bfcl_scores(folder, model, failures, *, total=8, correct=None):
    correct = total - len(failures) if correct is None else correct
    counts = {"accuracy": correct / total, "correct_count": correct, "total_count": total}
    return write_lines(folder / "score" / model / "live" / "BFCL_v4_live_simple_score.json", [counts, *failures])


def bfcl_results(folder, model, tasks, **more):
    rows = [{"id": task, "result": "[f(x=2)]", "latency": 0.5} | more for task in tasks]
    return write_lines(folder / "result" / model / "live" / "BFCL_v4_live_simple_result.json", rows)


def bfcl(folder):
    for model in MODELS:
        failures = [bfcl_failure(number, model=model) for number in QUESTIONS if not right(model, number)]
        bfcl_results(folder, model, map(bfcl_task, QUESTIONS))
        yield bfcl_scores(folder, model, failures)


def livecodebench_problem(number, grades, **more):
    row = {"question_title": f"problem {number}", "question_content": f"text {number}", "platform": "leetcode"}
    row |= {"question_id": str(3000 + number), "contest_id": "c", "contest_date": "2024-01-01T00:00:00"}
    row |= {"difficulty": "easy" if number < 5 else "hard", "output_list": ["x"] * len(grades), "code_list": ["y"]}
    return row | {"graded_list": grades, "pass@1": sum(grades) / max(1, len(grades)), "metadata": []} | more


def livecodebench(folder, name="Scenario.codegeneration_2_0.2"):
    for model in MODELS:
        problems = [livecodebench_problem(number, [right(model, number), True]) for number in QUESTIONS]
        path = folder / "output" / model / f"{name}.json"
        write_document(path, [{key: p[key] for key in ("question_id", "output_list", "code_list")} for p in problems])
        write_document(path.with_name(f"{name}_eval.json"), [{"pass@1": 0.5, "detail": {"pass@1": {}}}, {}, []])
        yield write_document(path.with_name(f"{name}_eval_all.json"), problems)


def cruxeval_scores(grades, **more):
    found = {"raw_generations": {sample: ["x"] for sample in grades}, "raw_scored_generations": grades}
    means = [sum(each) / len(each) for each in grades.values()]
    return found | {"pass_at_1": 100 * sum(means) / len(means), "pass_at_5": 100.0} | more


def cruxeval(folder):
    for model in MODELS:
        grades = {f"sample_{number}": [right(model, number), False] for number in QUESTIONS}
        yield write_document(folder / f"{model}_temp0.2_output.json", cruxeval_scores(grades))


def opencompass_details(grades, *, listed=False, **more):
    """Results with details; in a list, an answer may be graded several times."""
    rows = [
        {"prompt": f"question {number}", "predictions": "x", "references": f"answer {number}", "correct": grade}
        for number, grade in enumerate(grades)
    ]
    percent = 100 * sum(map(all, (each if isinstance(each, list) else [each] for each in grades))) / len(rows)
    details = rows if listed else {str(number): row for number, row in enumerate(rows)}
    return {"accuracy": percent, "details": details} | more


def opencompass(folder):
    for model in MODELS:
        outputs = folder / "outputs" / "default" / "20240105_120000"
        asked = {str(n): {"origin_prompt": f"question {n}", "prediction": "x"} for n in range(len(QUESTIONS))}
        write_document(outputs / "predictions" / model / "gsm8k.json", asked)
        grades = [right(model, number) for number in QUESTIONS]
        yield write_document(outputs / "results" / model / "gsm8k.json", opencompass_details(grades, listed=True))


def mmlu_pro_answer(number, *, pred="B", **more):
    row = {"question_id": 70 + number, "question": f"question {number}", "options": ["one", "two", "three"]}
    row |= {"answer": "B", "answer_index": 1, "cot_content": "", "category": "law", "src": "ori_mmlu-law"}
    return row | {"pred": pred, "model_outputs": "The answer is (B)."} | more


def mmlu_pro(folder):
    for model in MODELS:
        rows = [mmlu_pro_answer(number, pred="B" if right(model, number) else "C") for number in QUESTIONS]
        yield write_document(folder / f"model_outputs_{model}_5shots.json", rows)
    write_document(folder / "law_summary.json", {"total": {"corr": 6.0, "wrong": 2.0, "acc": 0.75}})


def zero_eval_answer(number, *, model="aster", **more):
    row = {"session_id": f"gsm-#{number}", "chat_history": [f"question {number}"], "model_input": "n/a"}
    row |= {"output": ["{}"], "generator": model, "configs": {"temperature": 0.0}, "dataset": "gsm"}
    return row | {"id": f"gsm-#{number}", "question": f"question {number}", "answer": "# 18"} | more


def zero_eval(folder):
    for model in MODELS:
        rows = [zero_eval_answer(number, model=model, matched=right(model, number)) for number in QUESTIONS]
        yield write_document(folder / "result_dirs_parsed" / "gsm" / f"{model}.json", rows)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A tool's logs: how to make them, where their records are, and what has to be chosen to read them."""

    make: Callable[[Path], Any]
    records: Callable[[Any], list[list[Any] | dict[str, Any]]]
    lines: bool = False
    header: int = 0
    """How many lines come before those of the records."""
    reading: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, Any] = field(default_factory=dict)

    def files(self, folder):
        return list(self.make(folder))


SHAPES = {
    "deepeval": Shape(make=deepeval, records=lambda document: [document["testRunData"]["testCases"]]),
    "mlflow": Shape(
        make=mlflow,
        records=lambda document: [document["data"]],
        reading={"score_range": (1.0, 5.0)},
        choices={"model_name": tuple(f"{model}/*={model}" for model in MODELS)},
    ),
    "openai-api": Shape(make=openai_export, records=lambda rows: [rows], lines=True),
    "openai-api pages": Shape(make=openai_pages, records=lambda document: [document["data"]]),
    "swe-bench": Shape(make=swe_bench, records=lambda document: list(document.values())),
    "livebench": Shape(make=livebench, records=lambda rows: [rows], lines=True),
    "arena-hard": Shape(make=arena_hard, records=lambda rows: [rows], lines=True),
    "mt-bench": Shape(make=mt_bench, records=lambda rows: [rows], lines=True, reading={"score_range": (1.0, 10.0)}),
    "alpaca-eval": Shape(make=alpaca_eval, records=lambda rows: [rows]),
    "swe-bench reports": Shape(make=swe_bench_reports, records=lambda document: [document]),
    "bfcl": Shape(make=bfcl, records=lambda rows: [rows], lines=True, header=1),
    "livecodebench": Shape(make=livecodebench, records=lambda rows: [rows]),
    # The answers to one sample are in the order in which they were generated.
    "cruxeval": Shape(make=cruxeval, records=lambda document: [document["raw_scored_generations"]]),
    "opencompass": Shape(make=opencompass, records=lambda document: [document["details"]]),
    "mmlu-pro": Shape(make=mmlu_pro, records=lambda rows: [rows]),
    "zero-eval": Shape(make=zero_eval, records=lambda rows: [rows]),
}
