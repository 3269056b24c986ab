"""OpenAI evals: JSON lines of events, beginning with the specification of the run.

A sample's scores are spread over events of type ``match`` and ``metrics``; they are put together per ``sample_id``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Stated, Value
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import digest, mapping, number, numbers, settings, text
from bbedge.readers.logs.files import objects
from bbedge.text import quoted, shown_path


class OpenAiEvals:
    """Reads event logs of OpenAI evals since its first release."""

    name = "openai-evals"
    title = "OpenAI evals"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the specification in the first line, or by the keys of an event."""
        if "run_id" in mapping(glimpse.first.get("spec")) or glimpse.has("run_id", "event_id", "sample_id", "type"):
            return "samples"
        return "no"

    def open(self, path: str) -> Log:
        """Open a log and read its specification."""
        spec = next((row["spec"] for _, row in objects(path) if isinstance(row.get("spec"), dict)), None)
        if spec is None:
            raise FormatError(
                f"{shown_path(path)}:1: no spec in the first line, so that model and run are not known; expected a log "
                "of oaieval"
            )
        run = _run(spec)
        report: dict[str, Any] = {}
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run, report),
            counts="line",
            stated=lambda: _stated(report, run, path),
        )


def _run(spec: Mapping[str, Any]) -> Run:
    names = _names(spec.get("completion_fns"))
    # Until April 2023 an eval names models, not functions that complete a prompt.
    names = names or _names(mapping(spec.get("model_names")).get("completions"))
    # The seed in it shuffles the samples and is not sent to the model.
    config = mapping(spec.get("run_config"))
    return Run(
        model=",".join(names)
        or text(spec.get("model_name"))
        or text(mapping(spec.get("model")).get("model"))
        or text(spec.get("model"))
        or None,
        task=text(spec.get("base_eval")) or text(spec.get("eval_name")) or "",
        identity=text(spec.get("run_id")) or "",
        when=text(spec.get("created_at")) or "",
        protocol=settings(
            {"eval": spec.get("eval_name"), "split": spec.get("split"), "most samples": config.get("max_samples")}
        ),
        fields={"spec": spec},
    )


def _names(found: object) -> list[str]:
    return [name for name in map(text, found) if name] if isinstance(found, list) else []


def _stated(report: Mapping[str, Any], run: Run, path: str) -> Iterator[Stated]:
    """The accuracy that the log reports; other numbers of the report need not be means."""
    accuracy = number(report.get("accuracy"))
    if accuracy is not None:
        for metric in ("match", "accuracy"):
            yield Stated(where=path, run=run, metric=metric, mean=float(accuracy))


def _samples(path: str, run: Run, report: dict[str, Any]) -> Iterator[Sample]:
    # Kept until the end, because a sample's events need not follow each other; prompts and answers are not kept.
    scores: dict[str, dict[str, Value]] = {}
    places: dict[str, int] = {}
    errors: dict[str, str] = {}
    asked: dict[str, str] = {}
    sent: dict[str, tuple[float, str]] = {}
    for line, row in objects(path):
        name = text(row.get("sample_id"))
        if name is None:
            report.update(mapping(row.get("final_report")))
            continue
        found = scores.setdefault(name, {})
        places.setdefault(name, line)
        data, kind = mapping(row.get("data")), row.get("type")
        if kind == "match":
            new = {"match": number(data.get("correct"))}
        elif kind == "metrics":
            new = numbers(data)
        else:
            if kind == "raw_sample":
                asked[name] = digest(data)
            if kind == "sampling":
                first = (float(number(row.get("event_id")) or 0), digest(data.get("prompt")))
                sent[name] = min(first, sent.get(name, first))
            if kind == "error":
                errors[name] = text(data.get("message")) or text(data.get("type")) or "error"
            continue
        for metric, value in new.items():
            if metric in found:
                raise FormatError(
                    f"{shown_path(path)}:{line}: a second {quoted(metric)} for sample {quoted(name)}, first scored at "
                    f"line {places[name]}; one log is one run: keep runs in separate logs"
                )
            found[metric] = value
        places[name] = line
    for name, found in scores.items():
        error = errors.get(name)
        yield Sample(
            run=run,
            item=name,
            scores=found,
            place=places[name],
            error=error,
            # A sample without a score is one whose events are not all there.
            failure="unknown" if error is None else kind_of_error(error),
            content=asked[name] if name in asked else sent[name][1] if name in sent else None,
            as_sent=name not in asked,
        )
