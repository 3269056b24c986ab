"""Inspect AI: ``.eval`` archives, of which header and summaries are enough, and ``.json`` logs.

An epoch is a repetition. A run can say that it succeeded although samples failed: every sample's error is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import Archive, JsonStream, parts_under
from bbedge.readers.limits import LimitError
from bbedge.readers.logs import (
    Log,
    LogRecord,
    LogRun,
    LogSample,
    Records,
    Row,
    StatedAggregate,
    ToolReader,
    Value,
    answer_text,
    array,
    at,
    kind_of_error,
    mapping,
    number,
    question_digest,
    settings,
    several,
    stated_means,
    text,
    whole,
)
from bbedge.readers.metrics import amounts
from bbedge.readers.opening import opened
from bbedge.text import quoted, shown_path

# What Inspect itself counts its letters as: right, wrong, partly right, no answer.
_LETTERS: Mapping[str, Value] = {"C": True, "I": False, "P": 0.5, "N": 0.0}
# Limits that say something about the machinery; others, on tokens or messages, are about what the model did.
_TIMED = ("time", "working", "operator")
_WHOLE = frozenset(["status", "eval", "plan", "results"])
# Metrics that are a plain mean of the values of the samples.
_MEANS = ("accuracy", "mean")
# Scorers of Inspect that ask a model: the one they name, or that of a role, or else the model that is evaluated.
_GRADING = "model_graded"
_ROLE = "grader"
_HEADER = ("version", "status", "eval", "plan", "results", "error", "invalidated")


def _open_inspect_ai(path: str) -> Log:
    """Open a log and read its header."""
    with opened(path) as file:
        zipped = file.read(2) == b"PK"
    header = _zipped_header(path) if zipped else _json_header(path)
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict) or "status" not in header:
        raise FormatError(f"{shown_path(path)}: the header has no eval and status; expected a log of Inspect AI")
    run = _run(header, path)
    ended = f"the log says that the run ended with {quoted(str(header['status']))}."
    notes = {ended: header["status"] != "success", "the log is marked as invalidated.": header.get("invalidated")}
    scorer = text(at(header, "results", "scorer", "name"))
    return Log(
        runs=(run,),
        samples=lambda: _samples(
            _zipped_samples(path) if zipped else (row for _, row in parts_under(path, "samples")), run, path, scorer
        ),
        notes=tuple(f"{shown_path(path)}: {note}" for note, holds in notes.items() if holds),
        stated=lambda: _stated(header, run, path),
    )


INSPECT_AI = ToolReader(
    name="inspect",
    title="Inspect AI",
    # By the members of the archive, or by the keys of the document.
    has_samples=lambda glimpse: (
        not glimpse.members.isdisjoint(["header.json", "_journal/start.json"])
        or (glimpse.name.endswith(".eval") and glimpse.head.startswith(b"PK"))
        or glimpse.has("version", "status", "eval")
    ),
    open=_open_inspect_ai,
)
"""Reads logs of Inspect AI 0.3, of version 1 of the log and later."""


def _zipped_header(path: str) -> object:
    with Archive(path) as archive:
        if "header.json" not in archive.names():
            raise FormatError(
                f"{shown_path(path)}: no header.json in the archive: the run has not ended; let it end, or repeat it "
                "with inspect eval-retry"
            )
        with archive.member("header.json") as file:
            return JsonStream(file, f"{shown_path(path)}: header.json").value()


def _json_header(path: str) -> dict[str, Any]:
    header: dict[str, Any] = {}
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key == "samples" and header.keys() >= _WHOLE:
                break
            if key in _HEADER:
                header[key] = stream.value()
    return header


def _run(header: Row, path: str) -> LogRun:
    described, plan = mapping(header["eval"]), mapping(header.get("plan"))
    model = text(described.get("model"))
    if not model:
        raise FormatError(f"{shown_path(path)}: the header names no model; expected a log of Inspect AI")
    config = {**mapping(described.get("model_generate_config")), **mapping(plan.get("config"))}
    # Before May 2025 there is no eval_id, and all logs of one call share their run_id.
    parts = [text(described.get(name)) or "" for name in ("run_id", "task_id", "created")]
    steps = plan.get("steps")
    return LogRun(
        # Without a model Inspect writes none/none.
        model=None if model == "none/none" else model,
        task=text(described.get("task")) or "",
        identity=text(described.get("eval_id")) or (" ".join(parts) if all(parts) else ""),
        when=text(described.get("created")) or "",
        seed=text(config.pop("seed", None)),
        protocol=settings(
            {
                "Inspect version": at(described, "packages", "inspect_ai"),
                "task version": described.get("task_version"),
                "task arguments": described.get("task_args"),
                "solvers": [at(step, "solver") for step in steps] if isinstance(steps, list) else None,
                "limit": at(described, "config", "limit"),
            }
        ),
        sampling=settings(
            {name: config.get(name) for name in ("temperature", "top_p", "max_tokens", "system_message")}
        ),
        graders=_graders(header),
        fields={"eval": described},
    )


def _zipped_samples(path: str) -> Iterator[Any]:
    with Archive(path) as archive:
        names = dict.fromkeys(archive.names())
        if "summaries.json" in names:
            with archive.member("summaries.json") as file:
                stream = JsonStream(file, f"{shown_path(path)}: summaries.json")
                yield from (_with_output(summary, archive, names) for summary in stream.elements())
                stream.end()
            return
        samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
        for name, file in archive.members(samples):
            yield JsonStream(file, f"{shown_path(path)}: {name}").value()


def _with_output(summary: Any, archive: Archive, names: Mapping[str, None]) -> Any:  # noqa: ANN401 - any JSON
    """A summary, with the model's output where it has neither a score nor a reason: only the sample has that."""
    if not isinstance(summary, dict) or summary.get("scores") or summary.get("error") or summary.get("limit"):
        return summary
    name = f"samples/{text(summary.get('id'))}_epoch_{text(summary.get('epoch'))}.json"
    if name not in names:
        return summary
    try:
        with archive.member(name) as file:
            stream = JsonStream(file, name)
            found = next((stream.value() for key in stream.entries() if key == "output"), None)
    except (FormatError, LimitError):
        # The summary is enough to read the log; the sample would only have said why it has no score.
        return summary
    return {**summary, "output": found}


def _samples(found: Iterator[Any], run: LogRun, path: str, scorer: str | None) -> Iterator[LogSample]:
    records = Records(path=path, expected="a sample of Inspect AI", under=("samples",))
    scored, answered = False, False
    for place, each in enumerate(found, start=1):
        record = LogRecord(source=records, place=place, found=each)
        sample, name = record.row, record.item("id", what="id")
        error = sample.get("error")
        message = text(error) or text(at(error, "message")) or ("error" if error else None)
        scores = sample.get("scores")
        if scores is None and "score" in sample:
            # Version 1 of the log: one scorer, which the results name.
            scores = {} if sample["score"] is None else {scorer or "score": sample["score"]}
        failure = _failure(sample, message)
        # Of a sample that ended early no score is to be expected.
        answered = answered or (message is None and not sample.get("limit") and failure is None)
        scored = scored or bool(scores)
        question = _input_text(sample.get("input"))
        yield LogSample(
            run=run,
            item=run.item(name),
            scores=_scores(scores, record.at),
            place=place,
            repeat=text(sample.get("epoch")),
            error=message,
            failure=failure,
            usage=_usage(sample),
            fields={"metadata": mapping(sample.get("metadata"))},
            content=question_digest(question, answer_text(sample.get("target"))),
            question=question,
            answer=_answer(sample, scores),
        )
    if answered and not scored:
        raise FormatError(
            f"{shown_path(path)}: no sample was ever scored; score the log with inspect score, then read the new log"
        )


def _input_text(found: object) -> str:
    """The text of a question, without names that Inspect draws for messages and without data of images."""
    messages = found if isinstance(found, list) else [{"content": found}]
    return " ".join(_message_text(at(message, "content")) for message in messages)


def _message_text(found: object) -> str:
    # Summaries have such a word in the place of anything that is no text.
    parts = (text(at(part, "text")) or f"({(text(at(part, 'type')) or '').capitalize()})" for part in array(found))
    return " ".join(parts) if isinstance(found, list) else text(found) or ""


def _answer(sample: Row, scores: object) -> str | None:
    """What the model said, or what a scorer took from it: summaries have no output."""
    said = text(at(sample, "output", "completion"))
    return said or next((found for each in mapping(scores).values() if (found := text(at(each, "answer")))), None)


def _failure(sample: Row, message: str | None) -> ErrorKind | None:
    choices = array(at(sample, "output", "choices"))
    if any(at(choice, "stop_reason") == "content_filter" for choice in choices):
        return "refusal"
    if message is not None:
        return kind_of_error(message)
    limit = text(sample.get("limit")) or text(at(sample, "limit", "type"))
    return None if limit is None else "infrastructure" if limit in _TIMED else "unknown"


def _usage(sample: Row) -> dict[str, float]:
    """The tokens of all models that the sample used, judges included, and its time with and without waiting."""
    of_models = mapping(sample.get("model_usage")).values()
    parts = [amounts({"total": at(each, "total_tokens")}) for each in of_models]
    return amounts(
        {
            "tokens": sum(part["total"] for part in parts) if all(parts) else None,
            "seconds": sample.get("total_time"),
            "working_seconds": sample.get("working_time"),
        }
    )


def _scores(found: object, place: str) -> dict[str, Value]:
    scores: dict[str, Value] = {}
    for scorer, score in mapping(found).items():
        value = score.get("value") if isinstance(score, dict) else score
        parts = value if isinstance(value, dict) else {None: value}
        for key, part in parts.items():
            if not isinstance(part, list):
                scores[scorer if key is None else f"{scorer}.{key}"] = _graded(part, place)
    return scores


def _graded(value: object, place: str) -> Value:
    if not isinstance(value, str):
        return number(value)
    if value in _LETTERS:
        return _LETTERS[value]
    try:
        return number(float(value))
    except ValueError:
        raise FormatError(
            f"{place}: score {quoted(value)} is neither a number nor one of Inspect's letters C, I, P, N; "
            "score with a number"
        ) from None


def _stated(header: Row, run: LogRun, path: str) -> Iterator[StatedAggregate]:
    """The number of samples and the means that the results state."""
    results = mapping(header.get("results"))
    total, completed = whole(results.get("total_samples")), whole(results.get("completed_samples"))
    if completed is not None:
        # Samples that failed or were never begun are in the total; of these the log has some, or none.
        exact = total == completed
        yield StatedAggregate(
            where=path, run=run, count=completed if exact else None, least=None if exact else completed
        )
    scores = results.get("scores")
    if scores is None and "scorer" in results:
        scores = [{**mapping(results["scorer"]), "metrics": results.get("metrics")}]
    for score in map(mapping, array(scores)):
        name, scorer = text(score.get("name")), text(score.get("scorer"))
        # Epochs that were reduced in another way than by their mean have another mean.
        if name is None or text(score.get("reducer")) not in (None, "mean"):
            continue
        of_scorer = name if scorer in (None, name) else f"{scorer}.{name}"
        metrics = mapping(score.get("metrics"))
        means = ((of_scorer, mapping(metrics.get(metric)).get("value")) for metric in _MEANS)
        yield from stated_means(means, where=path, run=run)


def _graders(header: Row) -> frozenset[str]:
    """The models that graded the answers, as far as the header says."""
    described = mapping(header.get("eval"))
    model = text(described.get("model"))
    graders: set[str] = set()
    for name, options in _scorers(header):
        named = [each for each in map(text, several(options.get("model"))) if each]
        if not named and name.rpartition("/")[2].startswith(_GRADING) and model is not None:
            role = text(options.get("model_role")) or _ROLE
            of_role = several(mapping(described.get("model_roles")).get(role))
            named = [each for part in of_role if (each := text(part) or text(mapping(part).get("model")))] or [model]
        graders.update(named)
    return frozenset(graders)


def _scorers(header: Row) -> Iterator[tuple[str, Row]]:
    """The scorers with their arguments; older logs have them in the results only."""
    results = mapping(header.get("results"))
    for found, key in (
        (mapping(header.get("eval")).get("scorers"), "options"),
        (results.get("scores"), "params"),
        ([results.get("scorer")], "params"),
    ):
        for each in map(mapping, array(found)):
            name = text(each.get("scorer")) or text(each.get("name"))
            if name:
                yield name, mapping(each.get(key))
