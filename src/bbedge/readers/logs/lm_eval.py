"""lm-evaluation-harness: a file of samples for every task, with the results of the run beside it.

One row is one document scored under one filter. ``repeats`` leaves one score per document, so one output is one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, mapping, numbers, settings, text
from bbedge.readers.logs.files import document, elements, is_array, objects
from bbedge.readers.logs.lm_eval_results import (
    Results,
    has_samples,
    is_results,
    lost_tasks,
    model_of,
    results_of,
    stated_by,
)
from bbedge.text import shown_path

_OF_DOCUMENT = ("doc_id", "doc", "target", "doc_hash", "prompt_hash", "target_hash")
_OF_ANSWER = ("arguments", "resps", "filtered_resps", "filter", "metrics")
_OF_RUN = ("system_instruction", "chat_template_sha", "lm_eval_version", "git_hash")
_NOT_METRICS = frozenset((*_OF_DOCUMENT, *_OF_ANSWER))


class LmEval:
    """Reads samples of lm-evaluation-harness since 0.4.0."""

    name = "lm-eval"
    title = "lm-evaluation-harness"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the first row, or of the results; results without samples are refused when they are opened."""
        if _is_samples(glimpse):
            return "samples"
        if not is_results(glimpse):
            return "no"
        return "beside" if has_samples(glimpse.path) else "samples"

    def open(self, path: str) -> Log:
        """Open a file of samples and read the results beside it."""
        glimpse = Glimpse.of(path)
        if not _is_samples(glimpse) and is_results(glimpse):
            _refuse_results(path)
        found = results_of(path)
        run = _run(found)
        filters: set[str | None] = set()
        lost = lost_tasks(found)
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run, filters),
            counts="sample" if is_array(path) else "line",
            beside=() if found.path is None else (found.path,),
            notes=(_without_results(path),) if found.path is None else (lost,) if lost else (),
            stated=lambda: stated_by(found, run, frozenset(filters)),
        )


def _is_samples(glimpse: Glimpse) -> bool:
    return glimpse.has("doc_id", "doc") and (glimpse.has("resps") or glimpse.has("filtered_resps"))


def _refuse_results(path: str) -> NoReturn:
    # Broken results say so themselves.
    document(path)
    raise FormatError(
        f"{shown_path(path)}: results of lm-evaluation-harness without samples; run lm_eval again with --log_samples, "
        "or leave the file out"
    )


def _without_results(path: str) -> str:
    return (
        f"{shown_path(path)} has no results_<time>.json (or results.json) of the same run beside it, which would name "
        "the model, seeds and settings."
    )


def _run(found: Results) -> Run:
    results, task = found.content, found.task
    config, of_task = mapping(results.get("config")), mapping(mapping(results.get("configs")).get(task))
    model = model_of(results)
    date = text(results.get("date"))
    better = mapping(mapping(results.get("higher_is_better")).get(task))
    seeds = [text(config.get(name)) for name in ("random_seed", "numpy_seed", "torch_seed")]
    generation = mapping(of_task.get("generation_kwargs"))
    return Run(
        model=model,
        task=task,
        identity=f"{model} {task} {date}" if date else "",
        when=found.time,
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
        fields={"config": of_task, "run": {**config, **{name: results.get(name) for name in _OF_RUN}}},
    )


def _samples(path: str, run: Run, filters: set[str | None]) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    seen: dict[tuple[str | None, str], int] = {}
    array = is_array(path)
    for line, row in elements(path) if array else objects(path):
        if "doc_id" not in row or "doc" not in row:
            where = f"{shown_path(path)}: sample {line}" if array else f"{shown_path(path)}:{line}"
            raise FormatError(f"{where}: no doc_id and doc in this row; expected a sample of lm_eval")
        hashed = text(row.get("doc_hash"))
        content = hashed or digest(row["doc"])
        chosen = text(row.get("filter"))
        filters.add(chosen)
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
            # Hashes of the tool and of this reader are not compared with each other.
            label=f"{prefix}{'' if hashed else 'document '}{text(row['doc_id'])}",
            content=content,
            prompt=text(row.get("prompt_hash")),
        )


def _answered(responses: object) -> bool:
    """Whether there is a response that could be scored; without any, why is not in the log."""
    if isinstance(responses, list):
        return any(_answered(each) for each in responses)
    return responses is not None
