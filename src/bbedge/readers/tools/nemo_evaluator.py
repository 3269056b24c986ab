"""NeMo Evaluator: ``results.jsonl`` with a row per problem and repeat, and ``eval-<time>-<benchmark>.json`` beside it.

NeMo Evaluator gives a reward of 0 to a problem that it could not ask or score; the row's details say so, and such a row
has no score here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.readers.incomplete import ErrorKind
from bbedge.readers.json_files import document_beside
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, error_text, kind_of_error, mapping, number, numbers, settings, text
from bbedge.readers.logs.record_log import Records
from bbedge.readers.logs.stated import check_count, compared_mean, tallied
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
        bundle, beside = document_beside(max(Path(path).parent.glob("eval-*.json"), key=str, default=None))
        benchmark = mapping(bundle.get("benchmark"))
        run = _run(bundle, benchmark)
        tally = tallied(_samples(path, run), "reward")["reward"]
        check_count(tally.samples, bundle.get("n_results"), place=place, what="rows")
        check_count(len(tally.items), benchmark.get("samples"), place=place, what="problems")
        stated = mapping(mapping(benchmark.get("scores")).get("mean_reward")).get("value")
        missing = (
            f"{place} has no eval-<time>-<benchmark>.json beside it, which would name the model and the benchmark."
        )
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run),
            counts="line",
            usual_metric="reward",
            beside=beside,
            notes=(
                *(() if bundle else (missing,)),
                *compared_mean(tally.mean_with_failures, stated, place=place, what="reward"),
            ),
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
    for record in Records(path=path, expected="a row of NeMo Evaluator"):
        row = record.row
        problem = text(row.get("problem_idx"))
        if not problem or "reward" not in row:
            raise record.lacks("problem_idx and reward in this row")
        details = mapping(row.get("scoring_details"))
        error, failure = _failed(details)
        answer, asked = row.get("expected_answer"), row.get("prompt")
        yield Sample(
            run=run,
            item=run.item(problem),
            scores={"reward": number(row["reward"]), **numbers(mapping(row.get("scorer_rewards")))},
            place=record.place,
            # Without a number there is one repeat.
            repeat=text(row.get("repeat")) or "0",
            error=error,
            failure=failure,
            fields={
                "metadata": mapping(row.get("metadata")),
                "scoring_details": {"category": details["category"]} if "category" in details else {},
            },
            # The template of the prompt may be what is compared.
            content=None if answer is None else digest(answer),
            prompt=None if asked is None else digest(asked),
        )


def _failed(details: Mapping[str, Any]) -> tuple[str | None, ErrorKind | None]:
    """What went wrong on the way to the score, and its kind."""
    error = error_text(details.get("error"))
    judged = error_text(mapping(details.get("judge")).get("error"), "the judge failed")
    return (error, kind_of_error(error)) if error is not None or judged is None else (judged, "judge")
