"""NeMo Evaluator: ``results.jsonl`` with a row per problem and repeat, and ``eval-<time>-<benchmark>.json`` beside it.

NeMo Evaluator gives a reward of 0 to a problem that it could not ask or score; the row's details say so, and such a row
has no score here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.incomplete import ErrorKind
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import digest, mapping, number, numbers, settings, text
from bbedge.readers.logs.files import document, objects
from bbedge.readers.logs.stated import Tally, check_count, compared_mean
from bbedge.text import shown_path

_RESULTS = "results.jsonl"
_SAMPLING = ("temperature", "top_p", "max_tokens", "system_prompt")


class NemoEvaluator:
    """Reads results of NeMo Evaluator."""

    name = "nemo-evaluator"
    title = "NeMo Evaluator"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the first row, or of the bundle."""
        if glimpse.has("problem_idx"):
            # What was done step by step has the same rows, without what describes the problems.
            if glimpse.name != _RESULTS and (Path(glimpse.path).parent / _RESULTS).is_file():
                return "beside"
            return "samples" if glimpse.has("reward") else "no"
        benchmark = mapping(glimpse.first.get("benchmark"))
        return "beside" if glimpse.has("config") and "name" in benchmark and "scores" in benchmark else "no"

    def open(self, path: str) -> Log:
        """Open results, and read the bundle beside them."""
        place = shown_path(path)
        # A run that is repeated writes a bundle of its own and replaces the results.
        bundles = sorted(str(each) for each in Path(path).parent.glob("eval-*.json"))
        bundle = document(bundles[-1]) if bundles else {}
        benchmark = mapping(bundle.get("benchmark"))
        run = _run(bundle, benchmark)
        tally = Tally()
        for sample in _samples(path, run):
            tally.add(sample, "reward")
        check_count(tally.samples, bundle.get("n_results"), place=place, what="rows")
        check_count(len(tally.items), benchmark.get("samples"), place=place, what="problems")
        stated = mapping(mapping(benchmark.get("scores")).get("mean_reward")).get("value")
        # A problem without a score counts as 0 in the mean that is stated.
        mean = tally.total / tally.samples if tally.samples else None
        missing = (
            f"{place} has no eval-<time>-<benchmark>.json beside it, which would name the model and the benchmark."
        )
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run),
            counts="line",
            usual_metric="reward",
            beside=tuple(bundles[-1:]),
            notes=(*(() if bundle else (missing,)), *compared_mean(mean, stated, place=place, what="reward")),
        )


def _run(bundle: Mapping[str, Any], benchmark: Mapping[str, Any]) -> Run:
    config = mapping(bundle.get("config"))
    return Run(
        model=text(config.get("model")),
        task=text(benchmark.get("name")) or "",
        identity=text(bundle.get("run_id")) or "",
        when=text(bundle.get("timestamp")) or "",
        seed=text(config.get("seed")) if benchmark.get("repeats") in (None, 1) else None,
        protocol=settings(
            {
                "NeMo Evaluator version": bundle.get("sdk_version"),
                "most problems": config.get("max_problems"),
                "shuffle seed": config.get("shuffle_seed"),
            }
        ),
        sampling=settings({name: config.get(name) for name in _SAMPLING}),
        fields={"config": config} if config else {},
    )


def _samples(path: str, run: Run) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    for line, row in objects(path):
        problem = text(row.get("problem_idx"))
        if not problem or "reward" not in row:
            raise FormatError(
                f"{shown_path(path)}:{line}: no problem_idx and reward in this row; expected a row of NeMo Evaluator"
            )
        details = mapping(row.get("scoring_details"))
        error, failure = _failed(details)
        answer, asked = row.get("expected_answer"), row.get("prompt")
        yield Sample(
            run=run,
            item=f"{prefix}{problem}",
            scores={"reward": number(row["reward"]), **numbers(mapping(row.get("scorer_rewards")))},
            place=line,
            # Without a number there is one repeat.
            repeat=text(row.get("repeat")) or "0",
            error=error,
            failure=failure,
            fields={"metadata": mapping(row.get("metadata")), "scoring_details": _category(details)},
            # The template of the prompt may be what is compared.
            content=None if answer is None else digest(answer),
            prompt=None if asked is None else digest(asked),
        )


def _category(details: Mapping[str, Any]) -> dict[str, Any]:
    return {"category": details["category"]} if "category" in details else {}


def _failed(details: Mapping[str, Any]) -> tuple[str | None, ErrorKind | None]:
    """What went wrong on the way to the score, and its kind."""
    error = details.get("error")
    if error is not None:
        message = text(error) or "error"
        return message, kind_of_error(message)
    judged = mapping(details.get("judge")).get("error")
    return (None, None) if judged is None else (text(judged) or "the judge failed", "judge")
