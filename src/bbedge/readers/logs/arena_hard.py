"""Arena-Hard: ``model_judgment/<judge>/<model>.jsonl``, comparisons with the answer of a baseline.

A question is judged in two games. In the first the baseline is A and the model is B, in the second they are swapped.
Both games are about one answer: each is an item, and the games of a question are one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Value
from bbedge.readers.logs.fields import digest, text
from bbedge.readers.logs.records import Key, Records, RunBook, graded_by_itself, holds_no_score
from bbedge.text import listed, quoted

# What a verdict is worth to A, on five steps.
_TO_A = {"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5, "A<B": 0.25, "A<<B": 0.0}
_TO_A |= {"B<<A": 1.0, "B<A": 0.75, "B=A": 0.5, "B>A": 0.25, "B>>A": 0.0}
_QUESTION = ("uid", "question_id")
_GAMES = 2


class ArenaHard:
    """Reads judgments of Arena-Hard-Auto 0.1 and 2.0."""

    name = "arena-hard"
    title = "Arena-Hard"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of a judgment; questions and answers stand beside."""
        named = any(glimpse.has(key) for key in _QUESTION)
        if named and glimpse.has("model", "judge", "games"):
            return "samples"
        asked = glimpse.has("uid", "category", "prompt") and not glimpse.has("model")
        answered = glimpse.has("uid", "ans_id", "messages")
        return "beside" if (asked or answered) and holds_no_score(glimpse, "tstamp", "metadata") else "no"

    def open(self, path: str) -> Log:
        """Open judgments; they are read once to see which models and baselines there are."""
        records = Records.of(path, expected="a judgment of Arena-Hard")
        book, judges = RunBook(), dict[Key, set[str]]()
        baselines: dict[Key, dict[str, str]] = {}
        for place, row in records:
            key = (records.name(row, place, "model"), "")
            book.add(key, answer=_asked(row), when=row.get("tstamp"))
            baselines.setdefault(key, {})[text(row.get("category")) or ""] = text(row.get("baseline")) or ""
            judges.setdefault(key, set()).add(text(row.get("judge")) or "")
        if not book:
            raise records.none()
        protocol = {
            key: {"judge": ", ".join(sorted(judges[key])), "baseline": _baseline(of)} for key, of in baselines.items()
        }
        runs = book.runs(protocol)
        return Log(
            runs=tuple(runs.values()),
            samples=lambda: _samples(records, runs),
            counts=records.counts,
            usual_metric="win",
            usual_blocks="question.id",
            notes=graded_by_itself(path, judges),
        )


def _baseline(of_categories: Mapping[str, str]) -> str | None:
    named = sorted((category, name) for category, name in of_categories.items() if name)
    return ", ".join(f"{name} ({category})" if category else name for category, name in named) or None


def _asked(row: Mapping[str, Any]) -> str | None:
    """What the judge was shown in the first game, both answers included, or else what it wrote."""
    games = row.get("games")
    first = games[0] if isinstance(games, list) and games else None
    if not isinstance(first, dict):
        return None
    shown = next((first[key] for key in ("user_prompt", "prompt", "judgment") if first.get(key)), None)
    return None if shown is None else digest(shown)


def _samples(records: Records, runs: Mapping[Key, Run]) -> Iterator[Sample]:
    for place, row in records:
        question, baseline = records.name(row, place, *_QUESTION), text(row.get("baseline"))
        games = row.get("games")
        if not isinstance(games, list) or len(games) != _GAMES:
            raise FormatError(
                f"{records.at(place)}: expected two games with swapped positions; judges prefer a position, so judge "
                "in mode pairwise"
            )
        # To win against another baseline is another item.
        item = f"{question} vs {baseline}" if baseline else question
        fields: dict[str, Any] = {"question": {"id": item}, "category": text(row.get("category"))}
        for index, game in enumerate(games):
            yield Sample(
                run=runs[records.name(row, place, "model"), ""],
                item=f"{item}/{index + 1}",
                scores=_scores(game, model_is_a=index == 1, where=f"{records.at(place)}: game {index + 1}"),
                place=place,
                filter=text(row.get("judge")),
                fields={name: value for name, value in fields.items() if value},
            )


def _scores(game: object, *, model_is_a: bool, where: str) -> dict[str, Value]:
    """Who won, and by how much.

    Arena-Hard counts a clear win three times. That weight depends on the verdict, so its score is no mean over items;
    ``degree`` keeps the difference on a scale instead.
    """
    verdict = game.get("score") if isinstance(game, dict) else None
    if game is not None and not isinstance(game, dict):
        raise FormatError(f"{where}: {quoted(str(game))} is no game; expected an object with a score")
    if verdict is None:
        return {"win": None, "degree": None}
    if not isinstance(verdict, str) or verdict not in _TO_A:
        raise FormatError(f"{where}: the verdict is {quoted(str(verdict))}; expected one of {listed(_TO_A, limit=10)}")
    degree = _TO_A[verdict] if model_is_a else 1.0 - _TO_A[verdict]
    return {"win": 0.5 if degree == 0.5 else float(degree > 0.5), "degree": degree}
