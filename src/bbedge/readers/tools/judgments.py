"""Judged answers, a record for each: MT-Bench, LiveBench, AlpacaEval and Arena-Hard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, LogRun, LogSample, Recognition, Value
from bbedge.readers.logs.fields import array, digest, number, text
from bbedge.readers.logs.record_log import LogRecord, RecordLog, Row, Said, holds_no_score, joined, numbered
from bbedge.text import listed, quoted

# LiveBench: ``ground_truth_judgment.jsonl``, a line per model and question.


def _is_livebench(glimpse: Glimpse) -> Recognition:
    """By the keys of a judgment; without the time also by the name of the file."""
    named = glimpse.name.removesuffix(".gz") == "ground_truth_judgment.jsonl"
    judged = glimpse.has("question_id", "task", "model", "score") and not glimpse.has("judge")
    return "samples" if judged and (named or glimpse.has("category", "turn", "tstamp")) else "no"


LIVEBENCH = RecordLog(
    name="livebench",
    title="LiveBench",
    expected="a judgment of LiveBench",
    recognises=_is_livebench,
    samples=lambda record, run, _: [
        LogSample(
            run=run,
            # The identifier is a hash of the question.
            item=run.item(record.name("question_id")),
            scores={"score": number(record.row.get("score"))},
            place=record.place,
            fields=record.named("category", "subtask"),
        )
    ],
    task="task",
)


# MT-Bench: judgments of single answers, ``gpt-4_single.jsonl``. A question has two turns, and the second builds on the
# first: each turn is an item, and the turns of a question are one block.

_NO_RATING = -1.0
"""The score that says that no rating was found in what the judge wrote."""
_PAIRS = ("model_1", "model_2", "g1_winner", "g2_winner")


def _is_mt_bench(glimpse: Glimpse) -> Recognition:
    """By the keys of a judgment; questions and answers stand beside judgments, also those of other benchmarks."""
    judged = glimpse.has("question_id", "model", "judge", "judgment", "score", "turn")
    if judged or glimpse.has("question_id", *_PAIRS):
        return "samples"
    asked = glimpse.has("question_id", "category", "turns")
    answered = glimpse.has("question_id", "model_id", "choices")
    known = ("question_id", "tstamp", "total_output_tokens", "api_info")
    return "beside" if (asked or answered) and holds_no_score(glimpse, *known) else "no"


def _mt_judge(row: Row) -> str | None:
    """The judge's model; the name of its prompt differs between turns and kinds of questions."""
    judge = row.get("judge")
    return text(judge[0]) if isinstance(judge, list) and judge else text(judge)


def _refuse_pairs(record: LogRecord) -> None:
    if all(key in record.row for key in _PAIRS):
        raise FormatError(
            f"{record.at}: a comparison of two models, which gives neither a score of its own; judge the answers in "
            "mode single"
        )


def _mt_bench_samples(record: LogRecord, run: LogRun, _: int) -> Iterator[LogSample]:
    question, turn = record.name("question_id"), record.name("turn")
    score = number(record.row.get("score"))
    yield LogSample(
        run=run,
        item=f"{question}/{turn}",
        scores={"score": None if score == _NO_RATING else score},
        place=record.place,
        # Two judges score one answer in two ways; they are no replicates of each other.
        filter=_mt_judge(record.row),
        fields={"question": {"id": question, "turn": turn}},
    )


MT_BENCH = RecordLog(
    name="mt-bench",
    title="MT-Bench",
    expected="a judgment of MT-Bench",
    recognises=_is_mt_bench,
    samples=_mt_bench_samples,
    check=_refuse_pairs,
    answer=lambda row: row.get("user_prompt"),
    said=lambda record: {"judge": _mt_judge(record.row) or ""},
    protocol=lambda said: {"judge": joined(said["judge"])},
    usual_blocks="question.id",
)


# AlpacaEval: ``annotations.json``, comparisons with the answer of a reference model. ``preference`` is 1 if the answer
# of the reference (``generator_1``) was preferred, 2 if that of the model (``generator_2``), in between if the judge
# was not sure, and null if it did not answer in the expected form.


def _is_alpaca_eval(glimpse: Glimpse) -> Recognition:
    """By the keys of an annotation; the answers that are compared stand beside."""
    if glimpse.has("instruction", "generator_1", "generator_2", "preference"):
        return "samples"
    answered = glimpse.has("instruction", "output", "generator")
    return "beside" if answered and holds_no_score(glimpse, "index", "time_per_example", "price_per_example") else "no"


def _alpaca_item(row: Row) -> str:
    """The instruction and the answer to beat: to win against another answer is another item."""
    return digest(row.get("instruction"), row.get("generator_1"), row.get("output_1"))


def _alpaca_group(record: LogRecord) -> tuple[tuple[str | None, str], str]:
    # An instruction that comes twice is two items. Which is which follows from the answers, not from their order in the
    # file; two equal answers stay one item, so that the second score is refused.
    row = record.row
    return (text(row.get("annotator")), _alpaca_item(row)), digest(row.get("output_2"))


def _alpaca_samples(record: LogRecord, run: LogRun, copy: int) -> Iterator[LogSample]:
    record.name("instruction")
    row = record.row
    yield LogSample(
        run=run,
        item=numbered(_alpaca_item(row), copy),
        scores={"win": _alpaca_win(row.get("preference"), record.at)},
        place=record.place,
        filter=text(row.get("annotator")),
        fields={"instruction": {"hash": digest(row.get("instruction"))}, **record.named("dataset", "datasplit")},
    )


def _alpaca_win(preference: object, where: str) -> float | None:
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


ALPACA_EVAL = RecordLog(
    name="alpaca-eval",
    title="AlpacaEval",
    expected="an annotation of AlpacaEval",
    recognises=_is_alpaca_eval,
    samples=_alpaca_samples,
    model="generator_2",
    when=None,
    answer=lambda row: row.get("output_2"),
    said=lambda record: {
        "reference": record.name("generator_1"),
        "annotator": text(record.row.get("annotator")) or "",
    },
    protocol=lambda said: {"reference": joined(said["reference"]), "judge": joined(said["annotator"]) or None},
    group=_alpaca_group,
    usual_metric="win",
    # An instruction may come twice; its copies are not independent.
    usual_blocks="instruction.hash",
)


# Arena-Hard: ``model_judgment/<judge>/<model>.jsonl``, comparisons with the answer of a baseline. A question is judged
# in two games: in the first the baseline is A and the model is B, in the second they are swapped. Both games are about
# one answer: each is an item, and the games of a question are one block.

# What a verdict is worth to A, on five steps.
_TO_A = {"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5, "A<B": 0.25, "A<<B": 0.0}
_TO_A |= {"B<<A": 1.0, "B<A": 0.75, "B=A": 0.5, "B>A": 0.25, "B>>A": 0.0}
_QUESTION = ("uid", "question_id")
_GAMES = 2


def _is_arena_hard(glimpse: Glimpse) -> Recognition:
    """By the keys of a judgment; questions and answers stand beside."""
    if any(glimpse.has(key, "model", "judge", "games") for key in _QUESTION):
        return "samples"
    asked = glimpse.has("uid", "category", "prompt") and not glimpse.has("model")
    answered = glimpse.has("uid", "ans_id", "messages")
    return "beside" if (asked or answered) and holds_no_score(glimpse, "tstamp", "metadata") else "no"


def _arena_answer(row: Row) -> str | None:
    """What the judge was shown in the first game, both answers included, or else what it wrote."""
    first = next(iter(array(row.get("games"))), None)
    if not isinstance(first, dict):
        return None
    shown = next((first[key] for key in ("user_prompt", "prompt", "judgment") if first.get(key)), None)
    return None if shown is None else digest(shown)


def _said_by_arena_hard(record: LogRecord) -> dict[str, Said]:
    said = record.named("judge", "category", "baseline")
    return {"judge": said.get("judge", ""), "baseline": (said.get("category", ""), said.get("baseline", ""))}


def _arena_protocol(said: Mapping[str, Mapping[str, str]]) -> dict[str, str | None]:
    named = sorted((category, name) for category, name in said["baseline"].items() if name)
    baselines = ", ".join(f"{name} ({category})" if category else name for category, name in named)
    return {"judge": joined(said["judge"]), "baseline": baselines or None}


def _arena_samples(record: LogRecord, run: LogRun, _: int) -> Iterator[LogSample]:
    question, baseline = record.name(*_QUESTION), text(record.row.get("baseline"))
    games = array(record.row.get("games"))
    if len(games) != _GAMES:
        raise FormatError(
            f"{record.at}: expected two games with swapped positions; judges prefer a position, so judge in mode "
            "pairwise"
        )
    # To win against another baseline is another item.
    item = f"{question} vs {baseline}" if baseline else question
    fields: dict[str, Any] = {"question": {"id": item}, **record.named("category")}
    for index, game in enumerate(games):
        yield LogSample(
            run=run,
            item=f"{item}/{index + 1}",
            scores=_arena_scores(game, model_is_a=index == 1, where=f"{record.at}: game {index + 1}"),
            place=record.place,
            filter=text(record.row.get("judge")),
            fields=fields,
        )


def _arena_scores(game: object, *, model_is_a: bool, where: str) -> dict[str, Value]:
    """Who won, and by how much.

    Arena-Hard counts a clear win three times. That weight depends on the verdict, so its score is no mean over items;
    ``degree`` keeps the difference on a scale instead.
    """
    if game is not None and not isinstance(game, dict):
        raise FormatError(f"{where}: {quoted(str(game))} is no game; expected an object with a score")
    verdict = None if game is None else game.get("score")
    if verdict is None:
        return {"win": None, "degree": None}
    if not isinstance(verdict, str) or verdict not in _TO_A:
        raise FormatError(f"{where}: the verdict is {quoted(str(verdict))}; expected one of {listed(_TO_A, limit=10)}")
    degree = _TO_A[verdict] if model_is_a else 1.0 - _TO_A[verdict]
    return {"win": 0.5 if degree == 0.5 else float(degree > 0.5), "degree": degree}


ARENA_HARD = RecordLog(
    name="arena-hard",
    title="Arena-Hard",
    expected="a judgment of Arena-Hard",
    recognises=_is_arena_hard,
    samples=_arena_samples,
    answer=_arena_answer,
    said=_said_by_arena_hard,
    protocol=_arena_protocol,
    usual_metric="win",
    usual_blocks="question.id",
)
