"""MT-Bench: judgments of single answers, ``gpt-4_single.jsonl``.

A question has two turns, and the second builds on the first: each turn is an item, and the turns of a question are one
block. A score of -1 says that no rating was found in what the judge wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import number, text
from bbedge.readers.logs.records import Key, Records, RunBook, graded_by_itself, holds_no_score

_NO_RATING = -1.0
_PAIRS = ("model_1", "model_2", "g1_winner", "g2_winner")


class MtBench:
    """Reads judgments of FastChat's MT-Bench."""

    name = "mt-bench"
    title = "MT-Bench"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of a judgment; questions and answers stand beside judgments, also those of other benchmarks."""
        if glimpse.has("question_id", "model", "judge", "judgment", "score", "turn"):
            return "samples"
        if glimpse.has("question_id", *_PAIRS):
            return "samples"
        asked = glimpse.has("question_id", "category", "turns")
        answered = glimpse.has("question_id", "model_id", "choices")
        known = ("question_id", "tstamp", "total_output_tokens", "api_info")
        return "beside" if (asked or answered) and holds_no_score(glimpse, *known) else "no"

    def open(self, path: str) -> Log:
        """Open judgments; they are read once to see which models there are."""
        records = Records.of(path, expected="a judgment of MT-Bench")
        book, judges = RunBook(), dict[Key, set[str]]()
        for place, row in records:
            if all(key in row for key in _PAIRS):
                raise FormatError(
                    f"{records.at(place)}: a comparison of two models, which gives neither a score of its own; judge "
                    "the answers in mode single"
                )
            model = records.name(row, place, "model")
            book.add((model, ""), answer=row.get("user_prompt"), when=row.get("tstamp"))
            judges.setdefault((model, ""), set()).add(_judge(row) or "")
        if not book:
            raise records.none()
        runs = book.runs({key: {"judge": ", ".join(sorted(names))} for key, names in judges.items()})
        return Log(
            runs=tuple(runs.values()),
            samples=lambda: _samples(records, runs),
            counts=records.counts,
            usual_blocks="question.id",
            notes=graded_by_itself(path, judges),
        )


def _judge(row: Mapping[str, Any]) -> str | None:
    """The judge's model; the name of its prompt differs between turns and kinds of questions."""
    judge = row.get("judge")
    return text(judge[0]) if isinstance(judge, list) and judge else text(judge)


def _samples(records: Records, runs: Mapping[Key, Run]) -> Iterator[Sample]:
    for place, row in records:
        question, turn = records.name(row, place, "question_id"), records.name(row, place, "turn")
        score = number(row.get("score"))
        yield Sample(
            run=runs[records.name(row, place, "model"), ""],
            item=f"{question}/{turn}",
            scores={"score": None if score == _NO_RATING else score},
            place=place,
            # Two judges score one answer in two ways; they are no replicates of each other.
            filter=_judge(row),
            fields={"question": {"id": question, "turn": turn}},
        )
