"""The command line, with the options and the files of version 0.4.13."""

import argparse
import hashlib
import json
import random
from pathlib import Path

from lm_eval.api.registry import get_model
from lm_eval.models import api_models

WORDS = [{"word": f"w{place}", "topic": f"t{place // 3}"} for place in range(12)]
FILTERS = {"words": ("none",), "gsm8k": ("strict-match", "flexible-extract")}
TIME = "2026-11-16T05-27-24.754651"


def cli_evaluate() -> None:
    """Run a task and write results and samples."""
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
    if given.tasks not in FILTERS:
        raise ValueError(f"Tasks not found: {given.tasks}")
    seeds = given.seed.split(",")
    api_models.Local.torch_seed = int(seeds[2])
    # As some tasks do: documents are made with Python's random numbers.
    WORDS[0]["shuffled"] = random.Random(int(seeds[0])).random()
    lm = get_model(given.model)(**given.model_args)
    asked = [row(place, document, lm, given, seeds[3]) for place, document in enumerate(WORDS[: given.limit])]
    rows = [{**each, "filter": name} for name in FILTERS[given.tasks] for each in asked]
    folder = Path(given.output_path) / (lm.model or "none")
    folder.mkdir(parents=True)
    (folder / f"samples_{given.tasks}_{TIME}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    (folder / f"results_{TIME}.json").write_text(json.dumps(results(rows, given, seeds)))


def row(place, document, lm, given, fewshot_seed):
    """One document, asked and scored."""
    text = f"{fewshot_seed if given.num_fewshot else ''} Say one word. answer: {document['word']}"
    answer = lm.answer(text, document["word"], given.gen_kwargs)
    return {
        "doc_id": place,
        "doc": document,
        "target": document["word"],
        "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": ["\n"], **given.gen_kwargs}}},
        "resps": [[answer]],
        "filtered_resps": [answer],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": hashlib.sha256(json.dumps(document).encode()).hexdigest(),
        "prompt_hash": hashlib.sha256(text.encode()).hexdigest(),
        "target_hash": hashlib.sha256(document["word"].encode()).hexdigest(),
        "exact_match": float(answer == document["word"]),
    }


def results(rows, given, seeds):
    """What the tool states about a run."""
    task, filters = given.tasks, FILTERS[given.tasks]
    mean = sum(each["exact_match"] for each in rows) / len(rows)
    metric = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}
    return {
        "results": {task: {"alias": task, **{f"exact_match,{name}": mean for name in filters}}},
        "configs": {task: {"task": task, "metric_list": [metric], "repeats": 1}},
        "versions": {task: 1.0},
        "n-shot": {task: given.num_fewshot},
        "higher_is_better": {task: {"exact_match": True}},
        "n-samples": {task: {"original": 12, "effective": len(rows) // len(filters)}},
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
