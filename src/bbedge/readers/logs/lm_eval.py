"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl`` with ``results_<time>.json`` beside it.

One row is one document scored under one filter. ``repeats`` leaves one score per document, so one output is one run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, mapping, numbers, settings, text
from bbedge.readers.logs.files import document, objects
from bbedge.text import shown_path

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.jsonl(?:\.gz)?")
_RESULTS = re.compile(r"results_.*\.json")
_OF_DOCUMENT = ("doc_id", "doc", "target", "doc_hash", "prompt_hash", "target_hash")
_OF_ANSWER = ("arguments", "resps", "filtered_resps", "filter", "metrics")
_NOT_METRICS = frozenset((*_OF_DOCUMENT, *_OF_ANSWER))


class LmEval:
    """Reads samples of lm-evaluation-harness 0.4."""

    name = "lm-eval"
    title = "lm-evaluation-harness"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the first row, or of the results."""
        if glimpse.has("doc_id", "doc") and (glimpse.has("resps") or glimpse.has("filtered_resps")):
            return "samples"
        of_results = glimpse.has("results", "configs") or (
            _RESULTS.fullmatch(glimpse.name) is not None and glimpse.has("results")
        )
        return "beside" if of_results and not glimpse.has("evalId") else "no"

    def open(self, path: str) -> Log:
        """Open a file of samples and read the results beside it."""
        named = _SAMPLES.fullmatch(Path(path).name)
        task = named["task"] if named else ""
        results = Path(path).parent / f"results_{named['time']}.json" if named else None
        found = results is not None and results.is_file()
        run = _run(document(str(results)) if found else {}, task, named["time"] if named else "")
        notes = () if found else (_without_results(path),)
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run),
            counts="line",
            beside=(str(results),) if found else (),
            notes=notes,
        )


def _without_results(path: str) -> str:
    return (
        f"{shown_path(path)} has no results_<time>.json of the same time beside it, which would name the model, "
        "seeds and settings."
    )


def _run(results: Mapping[str, Any], task: str, time: str) -> Run:
    config, of_task = mapping(results.get("config")), mapping(mapping(results.get("configs")).get(task))
    model = text(results.get("model_name"))
    date = text(results.get("date"))
    better = mapping(mapping(results.get("higher_is_better")).get(task))
    seeds = [text(config.get(name)) for name in ("random_seed", "numpy_seed", "torch_seed")]
    generation = mapping(of_task.get("generation_kwargs"))
    return Run(
        model=model,
        task=task,
        identity=f"{model} {task} {date}" if date else "",
        when=time,
        seed="/".join(seed or "none" for seed in seeds) if any(seeds) else None,
        protocol=settings(
            {
                "lm_eval version": results.get("lm_eval_version"),
                "task version": mapping(results.get("versions")).get(task),
                "number of few-shot examples": mapping(results.get("n-shot")).get(task),
                "few-shot seed": config.get("fewshot_seed"),
                "limit": config.get("limit"),
                "repeats": of_task.get("repeats"),
            }
        ),
        sampling=settings(
            {
                "model arguments": config.get("model_args"),
                "generation arguments": config.get("gen_kwargs"),
                "sampling": generation.get("do_sample"),
                "temperature": generation.get("temperature"),
                "system instruction": results.get("system_instruction_sha"),
                "chat template": results.get("chat_template_sha"),
            }
        ),
        lower_is_better=frozenset(metric for metric, higher in better.items() if higher is False),
        fields={"config": of_task},
    )


def _samples(path: str, run: Run) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    seen: dict[tuple[str | None, str], int] = {}
    for line, row in objects(path):
        if "doc_id" not in row or "doc" not in row:
            raise FormatError(f"{shown_path(path)}:{line}: no doc_id and doc in this row; expected a sample of lm_eval")
        content = text(row.get("doc_hash")) or digest(row["doc"])
        chosen = text(row.get("filter"))
        # Two documents with the same content are two items: the second gets a number.
        seen[chosen, content] = copy = seen.get((chosen, content), 0) + 1
        names = row.get("metrics")
        metrics = names if isinstance(names, list) else [name for name in row if name not in _NOT_METRICS]
        yield Sample(
            run=run,
            item=f"{prefix}{content[:16]}" + (f"#{copy}" if copy > 1 else ""),
            scores=numbers({str(name): row[name] for name in metrics if isinstance(name, str) and name in row}),
            place=line,
            filter=chosen,
            failure=None if _answered(row.get("resps")) else "unknown",
            fields={"doc": row["doc"]},
            label=f"{prefix}{text(row['doc_id'])}",
            content=content,
            prompt=text(row.get("prompt_hash")),
        )


def _answered(responses: object) -> bool:
    """Whether there is a response that could be scored; without any, why is not in the log."""
    if isinstance(responses, list):
        return any(_answered(each) for each in responses)
    return responses is not None
