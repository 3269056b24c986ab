"""LiveBench: ``ground_truth_judgment.jsonl``, a line per model and question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import number, text
from bbedge.readers.logs.records import Key, Records, RunBook

_KEYS = ("question_id", "task", "model", "score")
_FILE = "ground_truth_judgment.jsonl"


class LiveBench:
    """Reads judgments of LiveBench."""

    name = "livebench"
    title = "LiveBench"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of a judgment; without the time also by the name of the file."""
        named = glimpse.name.removesuffix(".gz") == _FILE
        if glimpse.has(*_KEYS) and (named or glimpse.has("category", "turn", "tstamp")) and not glimpse.has("judge"):
            return "samples"
        return "no"

    def open(self, path: str) -> Log:
        """Open judgments; they are read once to see which models and tasks there are."""
        records = Records.of(path, expected="a judgment of LiveBench")
        book = RunBook()
        for place, row in records:
            book.add((records.name(row, place, "model"), records.name(row, place, "task")), when=row.get("tstamp"))
        if not book:
            raise records.none()
        runs = book.runs({})
        return Log(runs=tuple(runs.values()), samples=lambda: _samples(records, runs), counts=records.counts)


def _samples(records: Records, runs: Mapping[Key, Run]) -> Iterator[Sample]:
    for place, row in records:
        run = runs[records.name(row, place, "model"), records.name(row, place, "task")]
        described = {name: text(row.get(name)) for name in ("category", "subtask")}
        yield Sample(
            run=run,
            # The identifier is a hash of the question.
            item=f"{run.task}/{records.name(row, place, 'question_id')}",
            scores={"score": number(row.get("score"))},
            place=place,
            fields={name: value for name, value in described.items() if value},
        )
