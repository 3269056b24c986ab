"""verifiers and prime-rl: ``results.jsonl`` with one row per rollout, and ``metadata.json`` beside it.

Rollouts have no number: those of one example are repetitions in the order of their start, and where the log gives no
times in the order of a hash of what the model wrote, which no order of rows can change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import document_beside
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Tool, Value
from bbedge.readers.logs.fields import digest, error_text, kind_of_error, mapping, number, numbers, settings, text
from bbedge.readers.logs.record_log import LogRecord, Numbering, Records
from bbedge.readers.logs.stated import check_count, compared_mean, tallied
from bbedge.text import quoted, shown_path

_METADATA = "metadata.json"
# The start of a rollout, and a hash of its text.
_Order = tuple[float, str]


def _is_verifiers(glimpse: Glimpse) -> Recognition:
    """By the keys of the first rollout, or of the metadata."""
    if glimpse.has("env", "task", "traces") or glimpse.has("task", "nodes", "rewards"):
        # Of later versions: refused by name when it is opened.
        return "samples"
    if glimpse.has("prompt", "completion", "reward"):
        # The first versions call the example id, as other tables do too.
        described = glimpse.has("id") and _is_metadata(_beside(glimpse.path))
        return "samples" if glimpse.has("example_id") or described else "no"
    return "beside" if _is_metadata(glimpse) else "no"


def _open_verifiers(path: str) -> Log:
    """Open rollouts and the metadata; the rollouts are read once to number those of an example."""
    place = shown_path(path)
    said, beside = document_beside(Path(path).parent / _METADATA)
    run, metrics = _run(said), _old_metrics(said)
    records = Records(path=path, expected="a rollout of verifiers")
    rollouts = Numbering()
    for record in records:
        rollouts.add(_name(record), _order(record.row))
    _check_counts(dict(rollouts.groups()), said, place)

    def samples() -> Iterator[Sample]:
        return _samples(records, run, rollouts, metrics)

    missing = f"{place} has no {_METADATA} beside it, which would name the model and the environment."
    return Log(
        runs=(run,),
        samples=samples,
        counts="line",
        usual_metric="reward",
        beside=beside,
        notes=(*(() if beside else (missing,)), *_compared(samples(), said, place)),
    )


VERIFIERS = Tool(name="verifiers", title="verifiers", recognises=_is_verifiers, open=_open_verifiers)
"""Reads results of verifiers 0.1, as prime-rl writes them too."""


def _is_metadata(glimpse: Glimpse | None) -> bool:
    return glimpse is not None and glimpse.has("model", "rollouts_per_example") and _environment(glimpse.first) != ""


def _beside(path: str) -> Glimpse | None:
    beside = Path(path).parent / _METADATA
    return Glimpse.of(str(beside)) if beside.is_file() else None


def _environment(said: Mapping[str, Any]) -> str:
    return text(said.get("env_id")) or text(said.get("env")) or ""


def _old_metrics(said: Mapping[str, Any]) -> tuple[str, ...]:
    """The metrics that older versions write beside the reward, by the means that the metadata state."""
    stated = {key.removeprefix("avg_"): mean for key, mean in said.items() if key.startswith("avg_")}
    return tuple(
        name for name, mean in {**stated, **mapping(said.get("avg_metrics"))}.items() if number(mean) is not None
    )


def _run(said: Mapping[str, Any]) -> Run:
    model, environment, date = text(said.get("model")), _environment(said), text(said.get("date"))
    return Run(
        model=model,
        task=environment,
        identity=f"{model} {environment} {date}" if date else "",
        when=date or "",
        protocol=settings(
            {"environment arguments": said.get("env_args"), "number of examples": said.get("num_examples")}
        ),
        sampling=settings({"sampling arguments": said.get("sampling_args")}),
        fields={"metadata": {key: said[key] for key in ("env_id", "env_args") if key in said}},
    )


def _name(record: LogRecord) -> str:
    row = record.row
    if "traces" in row or "nodes" in row:
        raise FormatError(
            f"{record.at}: a trace or an episode of a later version of verifiers, which has several rewards with "
            "weights; write a table with a row for each score, or leave the file out"
        )
    name = text(row.get("example_id", row.get("id")))
    if not name or "reward" not in row:
        raise record.lacks("example_id and reward in this row")
    return name


def _order(row: Mapping[str, Any]) -> _Order:
    start = number(mapping(row.get("timing")).get("start_time"))
    return float(start or 0.0), digest(row.get("completion"))


def _check_counts(rollouts: Mapping[str, int], said: Mapping[str, Any], place: str) -> None:
    """Compare the rollouts with the numbers in the metadata; a rollout too many may be one that is there twice."""
    check_count(len(rollouts), said.get("num_examples"), place=place, what="examples")
    for name, count in rollouts.items():
        check_count(count, said.get("rollouts_per_example"), place=place, what=f"rollouts of example {quoted(name)}")


def _samples(records: Records, run: Run, rollouts: Numbering, metrics: Sequence[str]) -> Iterator[Sample]:
    # Rollouts with the same text at the same time take the numbers after each other.
    taken: Counter[tuple[str, _Order]] = Counter()
    for record in records:
        row, name = record.row, _name(record)
        order = _order(row)
        error = _error(row.get("error"))
        yield Sample(
            run=run,
            item=run.item(name),
            scores=_scores(row, metrics),
            place=record.place,
            repeat=str(rollouts.number(name, order) + taken[name, order]),
            error=error,
            failure=kind_of_error(error),
            fields={"info": mapping(row.get("info"))},
            content=digest(row.get("answer") or _asked(row.get("prompt"))),
            prompt=digest(row.get("prompt")),
        )
        taken[name, order] += 1


def _scores(row: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Value]:
    found = mapping(row.get("metrics")) or {name: row[name] for name in metrics if name in row}
    return {"reward": number(row["reward"]), **numbers(found)}


def _asked(prompt: object) -> object:
    """What the user says; the instructions of the system may be what is compared."""
    if not isinstance(prompt, list):
        return prompt
    return [mapping(each).get("content") for each in prompt if mapping(each).get("role") == "user"]


def _error(found: object) -> str | None:
    said = mapping(found)
    return error_text(found, text(said.get("error_chain_repr")) or text(said.get("error")) or "error")


def _compared(samples: Iterator[Sample], said: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """The mean reward that is stated covers rollouts that ended with an error too."""
    if number(said.get("avg_reward")) is None:
        return ()
    tally = tallied(samples, "reward")["reward"]
    return () if tally.failed else compared_mean(tally.mean, said.get("avg_reward"), place=place, what="reward")
