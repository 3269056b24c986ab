"""Logs in the shapes of older versions and of summaries, made by hand as small as they can be."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

TIME = "2025-05-02T21-28-09.714048"


def first_lm_eval(
    folder, *, model="org/model-a", scores=(1.0, 0.0, 1.0), task="sums", stated=None, samples=True, **more
):
    """A run of lm-evaluation-harness 0.4.0: an indented array named .jsonl, and results.json without a name."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = f"pretrained={model},dtype=auto"
    rows = [
        {"doc_id": n, "doc": {"question": f"{n} + 1?", "answer": n + 1}, "target": n + 1, "resps": [[["2", True]]]}
        | {"arguments": [["Q", " 2"]], "filtered_resps": [[-1.0, True]], "acc": score}
        for n, score in enumerate(scores)
    ]
    mean = sum(scores) / len(scores) if stated is None else stated
    results = {
        "results": {task: {"acc,none": mean, "acc_stderr,none": 0.1, "alias": task}},
        "configs": {task: {"task": task, "metric_list": [{"metric": "acc", "aggregation": "mean"}]}},
        "versions": {task: "Yaml"},
        "n-shot": {task: 0},
        "config": {"model": "vllm", "model_args": arguments, "limit": None},
        "git_hash": "16ec5ac3",
    }
    (folder / "results.json").write_text(json.dumps(results | more, indent=2))
    path = folder / f"{arguments.replace('/', '__').replace('=', '__')}_{task}.jsonl"
    if samples:
        path.write_text(json.dumps(rows, indent=2))
    return path


def helm_run(folder, rows, *, model="m", name="quiz:subject=law", stats=(), instances=None):
    """A run of HELM; a row is (instance, split, score), and ``stats`` are (name, split, mean)."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [
        {"instance_id": item, "train_trial_index": 0, "stats": [helm_stat("exact_match", split, score)]}
        for item, split, score in rows
    ]
    (folder / "per_instance_stats.json").write_text(json.dumps(written))
    spec = {"name": f"{name},model={model}", "adapter_spec": {"model": model, "method": "joint"}}
    (folder / "run_spec.json").write_text(json.dumps(spec))
    (folder / "stats.json").write_text(json.dumps([helm_stat(*stat) for stat in stats]))
    if instances is not None:
        found = [{"id": item, "input": {"text": text}, "references": []} for item, text in instances.items()]
        (folder / "instances.json").write_text(json.dumps(found))
    return folder / "per_instance_stats.json"


def helm_stat(name, split, mean):
    found = {"name": name} if split is None else {"name": name, "split": split}
    return {"name": found, "count": 1, "sum": mean, "mean": mean}


def old_lighteval(folder, *, model="org/m", time=TIME, exact=(1.0, 0.0), passed=(0.5, 0.25), metric=None, **general):
    """Details of lighteval 0.9: a row for every document and kind of metric, and no names of documents."""
    kinds = [("extractive_match", exact), ("pass@1:4_samples", passed)]
    rows = [
        {
            "example": f"Question {n}?",
            "full_prompt": f"Question {n}?",
            "gold": [str(n)],
            "choices": [],
            "predictions": ["1"],
            "metrics": {name: None for name, _ in kinds} | {kind: score},
            "specifics": None,
        }
        for kind, scores in reversed(kinds)
        for n, score in enumerate(scores)
    ]
    details = folder / "details" / model / time / f"details_lighteval|quiz|0_{time}.parquet"
    details.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, schema_overrides={"choices": pl.List(pl.String)}).write_parquet(details)
    means = {name: sum(scores) / len(scores) for name, scores in kinds}
    config = {
        "name": "quiz",
        "effective_num_docs": len(exact),
        "metric": metric
        or [{"metric_name": name, "higher_is_better": True, "corpus_level_fn": "mean"} for name, _ in kinds],
    }
    results = {
        "config_general": {"model_name": model, "num_fewshot_seeds": 1, **general},
        "results": {"lighteval|quiz|0": means, "all": means},
        "config_tasks": {"lighteval|quiz": config},
    }
    summary = folder / "results" / model / f"results_{time}.json"
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.write_text(json.dumps(results))
    return details


def first_promptfoo(path, *, rows, tests=None, stats=None, nested=False):
    """Results of promptfoo before October 2024. A row is (provider, prompt, variables, score)."""
    written = [
        {
            "provider": {"id": provider},
            "prompt": {"raw": f"{prompt} {variables}", "display": prompt},
            "vars": variables,
            "response": {"output": "x"},
            "success": score == 1,
            "score": score,
            "namedScores": {},
            "latencyMs": 1,
            "gradingResult": {"pass": score == 1, "score": score, "reason": "No assertions"},
        }
        for provider, prompt, variables, score in rows
    ]
    passed = sum(row["success"] for row in written)
    summary = {
        "version": 2,
        "results": written,
        "stats": stats or {"successes": passed, "failures": len(written) - passed},
    }
    if tests is not None:
        summary["table"] = {"head": {"prompts": []}, "body": [{"outputs": [], "test": test} for test in tests]}
    document = {"results": summary, "config": {}, "shareableUrl": None} if nested else summary
    Path(path).write_text(json.dumps(document))
    return path


def promptfoo(path, *, rows, **more):
    """Results of promptfoo of today. A row is (provider, test case, index, score)."""
    written = [
        {
            "id": f"{provider}{index}",
            "provider": {"id": provider},
            "prompt": {"raw": "p", "label": "p"},
            "promptId": "p",
            "promptIdx": 0,
            "testCase": case,
            "testIdx": index,
            "vars": case.get("vars", {}),
            "success": score == 1,
            "score": score,
            "failureReason": 0 if score == 1 else 1,
        }
        for provider, case, index, score in rows
    ]
    Path(path).write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": written, **more}}))
    return path


def first_openai_evals(path, *, model="gpt-x", scores=(True, False), report=None, texts=None, run="r1", named=True):
    """A log of OpenAI evals of March 2023."""
    spec = {"eval_name": "quiz.dev.v0", "base_eval": "quiz", "split": "dev", "run_id": run, "created_at": "2023-03-15"}
    spec |= {"model_name": model, "model_names": {"completions": [model]}} if named else {"completion_fns": [model]}
    lines = [{"spec": spec}]
    for n, score in enumerate(scores):
        about = {"run_id": run, "sample_id": f"quiz.dev.{n}"}
        text = (texts or {}).get(n, f"Question {n}")
        kinds = [("raw_sample", {"input": text, "ideal": "a"})] if named else []
        kinds += [("sampling", {"prompt": [{"role": "user", "content": text}]}), ("match", {"correct": score})]
        lines += [
            about | {"event_id": len(lines) + at, "type": kind, "data": data} for at, (kind, data) in enumerate(kinds)
        ]
    if report is not None:
        lines.append({"final_report": report})
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
