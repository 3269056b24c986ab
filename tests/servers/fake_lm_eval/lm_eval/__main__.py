"""The command line, with the options and the files of version 0.4.13."""

import argparse
import json
import random
from pathlib import Path

from lm_eval import evaluator
from lm_eval.api.registry import get_model
from lm_eval.models import api_models

TIME = "2026-11-16T05-27-24.754651"


def cli_evaluate() -> None:
    """Run tasks and write results and samples."""
    parser = argparse.ArgumentParser()
    for name in ("model", "tasks", "output_path", "seed", "include_path", "system_instruction", "batch_size"):
        parser.add_argument(f"--{name}")
    for name in ("model_args", "gen_kwargs"):
        parser.add_argument(f"--{name}", type=json.loads, default={})
    parser.add_argument("--num_fewshot", type=int, default=0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--log_samples", action="store_true")
    parser.add_argument("--apply_chat_template", nargs="?", const=True)
    given = parser.parse_args()
    seeds = given.seed.split(",")
    loaded = evaluator.load(given.tasks.split(","), given.num_fewshot, int(seeds[3]))
    api_models.Local.torch_seed = int(seeds[2])
    # As some tasks do: documents are made with Python's random numbers.
    evaluator.WORDS[0]["shuffled"] = random.Random(int(seeds[0])).random()
    lm = get_model(given.model)(**given.model_args)
    rows, groups = evaluator.evaluate(lm=lm, task_dict=loaded, limit=given.limit, gen_kwargs=given.gen_kwargs)
    folder = Path(given.output_path) / (lm.model or "none")
    folder.mkdir(parents=True)
    for task, of_task in rows.items():
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in of_task)
        (folder / f"samples_{task}_{TIME}.jsonl").write_text(lines, encoding="utf-8")
    (folder / f"results_{TIME}.json").write_text(json.dumps(results(rows, groups, given, seeds)))


def results(rows, groups, given, seeds):
    """What the tool states about a run."""
    metric = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}
    stated, counts = {name: {"alias": name} for name in groups}, {}
    for task, of_task in rows.items():
        filters = sorted({each["filter"] for each in of_task})
        mean = sum(each["exact_match"] for each in of_task) / len(of_task)
        stated[task] = {"alias": task, **{f"exact_match,{name}": mean for name in filters}}
        counts[task] = {"original": 12, "effective": len(of_task) // len(filters)}
    return {
        "results": stated,
        "configs": {task: {"task": task, "metric_list": [metric], "repeats": 1} for task in rows},
        "versions": dict.fromkeys(rows, 1.0),
        "n-shot": dict.fromkeys(rows, given.num_fewshot),
        "higher_is_better": {task: {"exact_match": True} for task in rows},
        "n-samples": counts,
        "config": {
            "model": given.model,
            "model_args": given.model_args,
            "limit": given.limit,
            "random_seed": int(seeds[0]),
            "numpy_seed": int(seeds[1]),
            "torch_seed": int(seeds[2]),
            "fewshot_seed": int(seeds[3]),
        },
        "lm_eval_version": "0.4.13",
        "date": 1794806844.4,
        "model_name": given.model_args.get("model", ""),
    }
