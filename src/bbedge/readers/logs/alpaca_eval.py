"""AlpacaEval: ``annotations.json``, comparisons with the answer of a reference model.

``preference`` is 1 if the answer of the reference (``generator_1``) was preferred, 2 if that of the model
(``generator_2``), in between if the judge was not sure, and null if it did not answer in the expected form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, number, text
from bbedge.readers.logs.records import Key, Records, RunBook, holds_no_score
from bbedge.text import quoted

_KEYS = ("instruction", "generator_1", "generator_2", "preference")
_Answers = dict[tuple[Key, str | None, str], list[str]]


class AlpacaEval:
    """Reads annotations of AlpacaEval 1 and 2."""

    name = "alpaca-eval"
    title = "AlpacaEval"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of an annotation; the answers that are compared stand beside."""
        if glimpse.has(*_KEYS):
            return "samples"
        answered = glimpse.has("instruction", "output", "generator")
        return (
            "beside" if answered and holds_no_score(glimpse, "index", "time_per_example", "price_per_example") else "no"
        )

    def open(self, path: str) -> Log:
        """Open annotations; they are read once to see which models and references there are."""
        records = Records.of(path, expected="an annotation of AlpacaEval")
        book, answers = RunBook(), _Answers()
        protocol: dict[Key, dict[str, set[str]]] = {}
        for place, row in records:
            key = (records.name(row, place, "generator_2"), "")
            book.add(key, answer=row.get("output_2"))
            of_run = protocol.setdefault(key, {"reference": set(), "judge": set()})
            of_run["reference"].add(records.name(row, place, "generator_1"))
            of_run["judge"].add(_judge(row) or "")
            answers.setdefault((key, _judge(row), _item(row)), []).append(_answer(row))
        if not book:
            raise records.none()
        for of_item in answers.values():
            of_item.sort()
        runs = book.runs(
            {
                key: {name: ", ".join(sorted(found)) or None for name, found in of_run.items()}
                for key, of_run in protocol.items()
            }
        )
        return Log(
            runs=tuple(runs.values()),
            samples=lambda: _samples(records, runs, answers),
            counts=records.counts,
            usual_metric="win",
            # An instruction may come twice; its copies are not independent.
            usual_blocks="instruction.hash",
        )


def _judge(row: Mapping[str, Any]) -> str | None:
    return text(row.get("annotator"))


def _item(row: Mapping[str, Any]) -> str:
    """The instruction and the answer to beat: to win against another answer is another item."""
    return digest(row.get("instruction"), row.get("generator_1"), row.get("output_1"))


def _answer(row: Mapping[str, Any]) -> str:
    return digest(row.get("output_2"))


def _samples(records: Records, runs: Mapping[Key, Run], answers: _Answers) -> Iterator[Sample]:
    for place, row in records:
        records.name(row, place, "instruction")
        key = (records.name(row, place, "generator_2"), "")
        item, judge = _item(row), _judge(row)
        # An instruction that comes twice is two items. Which is which follows from the answers, not from their order in
        # the file; two equal answers stay one item, so that the second score is refused.
        copy = bisect_left(answers[key, judge, item], _answer(row)) + 1
        described = {name: text(row.get(name)) for name in ("dataset", "datasplit")}
        yield Sample(
            run=runs[key],
            item=item if copy == 1 else f"{item}#{copy}",
            scores={"win": _win(row.get("preference"), records.at(place))},
            place=place,
            filter=judge,
            fields={
                "instruction": {"hash": digest(row.get("instruction"))},
                **{name: value for name, value in described.items() if value},
            },
        )


def _win(preference: object, where: str) -> float | None:
    """The preference on a scale from 0, the reference won, to 1, the model won."""
    value = number(preference)
    if value is None and (preference is None or isinstance(preference, float)):
        return None
    # Annotations of the first version write 0 for a draw.
    if value == 0.0 and not isinstance(value, bool):
        return 0.5
    if value is None or isinstance(value, bool) or not 1.0 <= value <= 2.0:
        raise FormatError(f"{where}: preference {quoted(str(preference))}; expected a number from 1 to 2, or null")
    return value - 1.0
