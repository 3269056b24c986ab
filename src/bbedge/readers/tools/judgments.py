"""Judged answers, a record for each: specs of MT-Bench, LiveBench, AlpacaEval and Arena-Hard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bbedge.errors import FormatError
from bbedge.readers.logs import (
    LogRecord,
    LogRun,
    RecordLog,
    Records,
    Row,
    Said,
    ToolReader,
    Value,
    array,
    digest,
    holds_no_score,
    joined,
    judged_runs,
    number,
    numbered,
    own_judge_notes,
    text,
)
from bbedge.text import listed, quoted

LIVEBENCH = ToolReader(
    name="livebench",
    title="LiveBench",
    # By the keys of a judgment; without the time also by the name of the file.
    has_samples=lambda glimpse: (
        glimpse.has("question_id", "task", "model", "score")
        and not glimpse.has("judge")
        and (
            glimpse.name.removesuffix(".gz") == "ground_truth_judgment.jsonl"
            or glimpse.has("category", "turn", "tstamp")
        )
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a judgment of LiveBench").or_array(),
        key=lambda record: (record.name("model"), record.name("task")),
        said=lambda _: {},
        runs=judged_runs,
        # The identifier is a hash of the question.
        item=lambda record, run: run.item(record.name("question_id")),
        scores=lambda record: {"score": number(record.row.get("score"))},
        fields=lambda record: record.named("category", "subtask"),
    ).open,
)
"""Reads ``ground_truth_judgment.jsonl`` of LiveBench, a line per model and question."""


_NO_RATING = -1.0
"""The score of MT-Bench that says that no rating was found in what the judge wrote."""
_PAIRS = ("model_1", "model_2", "g1_winner", "g2_winner")


def _mt_key(record: LogRecord) -> tuple[str, str]:
    if all(key in record.row for key in _PAIRS):
        raise FormatError(
            f"{record.at}: a comparison of two models, which gives neither a score of its own; judge the answers in "
            "mode single"
        )
    return record.name("model"), ""


def _mt_judge(record: LogRecord) -> str | None:
    """The judge's model; the name of its prompt differs between turns and kinds of questions."""
    judge = record.row.get("judge")
    return text(judge[0]) if isinstance(judge, list) and judge else text(judge)


def _mt_score(record: LogRecord) -> Mapping[str, Value]:
    score = number(record.row.get("score"))
    return {"score": None if score == _NO_RATING else score}


MT_BENCH = ToolReader(
    name="mt-bench",
    title="MT-Bench",
    has_samples=lambda glimpse: (
        glimpse.has("question_id", "model", "judge", "judgment", "score", "turn") or glimpse.has("question_id", *_PAIRS)
    ),
    # Questions and answers, also those of other benchmarks.
    stands_beside=lambda glimpse: (
        (glimpse.has("question_id", "category", "turns") or glimpse.has("question_id", "model_id", "choices"))
        and holds_no_score(glimpse, "question_id", "tstamp", "total_output_tokens", "api_info")
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a judgment of MT-Bench").or_array(),
        key=_mt_key,
        said=lambda record: {"judge": {_mt_judge(record) or "": ""}},
        answer=lambda row: row.get("user_prompt"),
        runs=lambda seen: judged_runs(seen, lambda said: {"judge": joined(said["judge"])}),
        item=lambda record, _: f"{record.name('question_id')}/{record.name('turn')}",
        scores=_mt_score,
        # Two judges score one answer in two ways; they are no replicates of each other.
        filter=lambda record, _: _mt_judge(record),
        fields=lambda record: {"question": {"id": record.name("question_id"), "turn": record.name("turn")}},
        notes=own_judge_notes,
        usual_blocks="question.id",
        usual_range=(1, 10),
    ).open,
)
"""Reads judgments of single answers of MT-Bench, ``gpt-4_single.jsonl``.

A question has two turns, and the second builds on the first: each turn is an item, and the turns of a question are one
block.
"""


def _alpaca_item(row: Row) -> str:
    """The instruction and the answer to beat: to win against another answer is another item."""
    return digest(row.get("instruction"), row.get("generator_1"), row.get("output_1"))


def _alpaca_numbered(record: LogRecord, _: LogRun) -> str:
    record.name("instruction")
    return numbered(_alpaca_item(record.row), record.copy)


def _alpaca_win(record: LogRecord) -> dict[str, Value]:
    """The preference on a scale from 0, the reference won, to 1, the model won."""
    preference = record.row.get("preference")
    value = number(preference)
    if value is None and (preference is None or isinstance(preference, float)):
        return {"win": None}
    # Annotations of the first version write 0 for a draw.
    if value == 0.0 and not isinstance(value, bool):
        return {"win": 0.5}
    if value is None or isinstance(value, bool) or not 1.0 <= value <= 2.0:
        raise FormatError(f"{record.at}: preference {quoted(str(preference))}; expected a number from 1 to 2, or null")
    return {"win": value - 1.0}


ALPACA_EVAL = ToolReader(
    name="alpaca-eval",
    title="AlpacaEval",
    has_samples=lambda glimpse: glimpse.has("instruction", "generator_1", "generator_2", "preference"),
    # The answers that are compared.
    stands_beside=lambda glimpse: (
        glimpse.has("instruction", "output", "generator")
        and holds_no_score(glimpse, "index", "time_per_example", "price_per_example")
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="an annotation of AlpacaEval").or_array(),
        key=lambda record: (record.name("generator_2"), ""),
        said=lambda record: {
            "reference": {record.name("generator_1"): ""},
            "annotator": {text(record.row.get("annotator")) or "": ""},
        },
        answer=lambda row: row.get("output_2"),
        # An instruction that comes twice is two items. Which is which follows from the answers, not from their order in
        # the file; two equal answers stay one item, so that the second score is refused.
        group=lambda record: (
            (record.name("generator_2"), text(record.row.get("annotator")), _alpaca_item(record.row)),
            digest(record.row.get("output_2")),
        ),
        runs=lambda seen: judged_runs(
            seen, lambda said: {"reference": joined(said["reference"]), "judge": joined(said["annotator"]) or None}
        ),
        item=_alpaca_numbered,
        scores=_alpaca_win,
        filter=lambda record, _: text(record.row.get("annotator")),
        fields=lambda record: {
            "instruction": {"hash": digest(record.row.get("instruction"))},
            **record.named("dataset", "datasplit"),
        },
        usual_metric="win",
        # An instruction may come twice; its copies are not independent.
        usual_blocks="instruction.hash",
    ).open,
)
"""Reads ``annotations.json`` of AlpacaEval, comparisons with the answer of a reference model.

``preference`` is 1 if the answer of the reference (``generator_1``) was preferred, 2 if that of the model
(``generator_2``), in between if the judge was not sure, and null if it did not answer in the expected form.
"""


# What a verdict is worth to A, on five steps.
_TO_A = {"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5, "A<B": 0.25, "A<<B": 0.0}
_TO_A |= {"B<<A": 1.0, "B<A": 0.75, "B=A": 0.5, "B>A": 0.25, "B>>A": 0.0}
_QUESTION = ("uid", "question_id")
_GAMES = 2


def _arena_answer(row: Row) -> str | None:
    """What the judge was shown in the first game, both answers included, or else what it wrote."""
    first = next(iter(array(row.get("games"))), None)
    if not isinstance(first, dict):
        return None
    shown = next((first[key] for key in ("user_prompt", "prompt", "judgment") if first.get(key)), None)
    return None if shown is None else digest(shown)


def _said_by_arena_hard(record: LogRecord) -> Said:
    said = record.named("judge", "category", "baseline")
    return {"judge": {said.get("judge", ""): ""}, "baseline": {said.get("category", ""): said.get("baseline", "")}}


def _arena_protocol(said: Said) -> dict[str, str | None]:
    named = sorted((category, name) for category, name in said["baseline"].items() if name)
    baselines = ", ".join(f"{name} ({category})" if category else name for category, name in named)
    return {"judge": joined(said["judge"]), "baseline": baselines or None}


def _arena_games(record: LogRecord) -> Iterator[LogRecord]:
    """The games of a question, each with the question that it is about."""
    question, baseline = record.name(*_QUESTION), text(record.row.get("baseline"))
    games = array(record.row.get("games"))
    if len(games) != _GAMES:
        raise FormatError(
            f"{record.at}: expected two games with swapped positions; judges prefer a position, so judge in mode "
            "pairwise"
        )
    for index, game in enumerate(games, start=1):
        # To win against another baseline is another item.
        about = {"question": f"{question} vs {baseline}" if baseline else question, "index": index, "game": game}
        yield replace(record, found={**record.row, **about})


def _arena_scores(record: LogRecord) -> dict[str, Value]:
    """Who won, and by how much.

    Arena-Hard counts a clear win three times. That weight depends on the verdict, so its score is no mean over items;
    ``degree`` keeps the difference on a scale instead.
    """
    game, index = record.row["game"], record.row["index"]
    where = f"{record.at}: game {index}"
    if game is not None and not isinstance(game, dict):
        raise FormatError(f"{where}: {quoted(str(game))} is no game; expected an object with a score")
    verdict = None if game is None else game.get("score")
    if verdict is None:
        return {"win": None, "degree": None}
    if not isinstance(verdict, str) or verdict not in _TO_A:
        raise FormatError(f"{where}: the verdict is {quoted(str(verdict))}; expected one of {listed(_TO_A, limit=10)}")
    # In the first game the baseline is A, in the second the model.
    degree = 1.0 - _TO_A[verdict] if index == 1 else _TO_A[verdict]
    return {"win": 0.5 if degree == 0.5 else float(degree > 0.5), "degree": degree}


ARENA_HARD = ToolReader(
    name="arena-hard",
    title="Arena-Hard",
    has_samples=lambda glimpse: any(glimpse.has(key, "model", "judge", "games") for key in _QUESTION),
    # Questions and answers.
    stands_beside=lambda glimpse: (
        (
            (glimpse.has("uid", "category", "prompt") and not glimpse.has("model"))
            or glimpse.has("uid", "ans_id", "messages")
        )
        and holds_no_score(glimpse, "tstamp", "metadata")
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a judgment of Arena-Hard").or_array(),
        key=lambda record: (record.name("model"), ""),
        said=_said_by_arena_hard,
        answer=_arena_answer,
        runs=lambda seen: judged_runs(seen, _arena_protocol),
        parts=_arena_games,
        item=lambda record, _: f"{record.row['question']}/{record.row['index']}",
        scores=_arena_scores,
        filter=lambda record, _: text(record.row.get("judge")),
        fields=lambda record: {"question": {"id": record.row["question"]}, **record.named("category")},
        notes=own_judge_notes,
        usual_metric="win",
        usual_blocks="question.id",
    ).open,
)
"""Reads ``model_judgment/<judge>/<model>.jsonl`` of Arena-Hard, comparisons with the answer of a baseline.

A question is judged in two games, in which the positions of baseline and model are swapped. Both games are about one
answer: each is an item, and the games of a question are one block.
"""
