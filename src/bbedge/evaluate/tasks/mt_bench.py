"""MT-Bench: 80 dialogues of two turns, both rated from 1 to 10 by a judge model; two items in a block."""

from __future__ import annotations

from collections.abc import Mapping

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.evaluate.tasks.items import item_mean
from bbedge.evaluate.tasks.question_files import QuestionRow, read_rows, refuse_repeats
from bbedge.evaluate.tasks.scoring_rules import OURS, RATINGS, rating, read_judging

_FASTCHAT = "https://raw.githubusercontent.com/lm-sys/FastChat/main/fastchat/llm_judge/data/mt_bench"
USUAL_SOURCE = f"{_FASTCHAT}/question.jsonl"
USUAL_REFERENCES = f"{_FASTCHAT}/reference_answer/gpt-4.jsonl"
ITEMS = ("turn_1", "turn_2")
_NO_REFERENCES = "none"
# The categories with one right answer, where a judge without a reference tends to believe what it reads.
_NEED_REFERENCES = frozenset({"math", "reasoning", "coding"})


@task
def mt_bench(
    data: str = USUAL_SOURCE,
    references: str = "",
    judge: str = "",
    prompts: str = "",
    judge_temperature: float = 0.0,
    judge_max_tokens: int = 4000,
) -> Task:
    """MT-Bench: one sample per dialogue, with a score for each turn: the judge's rating divided by 10.

    * ``data``: Path or address of the published questions: JSON lines with ``question_id``, ``category``, ``turns``.
    * ``references``: The published reference answers, shown to the judge; ``none`` to judge without.
    * ``judge``: The model that judges; if empty, the one that is given the role ``judge``.
    * ``prompts``: The published file of judge prompts; our own wording if empty.
    * ``judge_temperature``: Temperature of the judge.
    * ``judge_max_tokens``: The longest verdict.
    """
    if not references and data != USUAL_SOURCE:
        raise DomainError(f"give the reference answers as well as the questions, or references={_NO_REFERENCES}")
    right = {} if references == _NO_REFERENCES else _references(references or USUAL_REFERENCES)
    found = read_rows(data)
    samples = [_sample(row, right) for row in found.rows]
    if right:
        _check_references(samples, references or USUAL_REFERENCES)
    refuse_repeats([str(sample.id) for sample in samples], data)
    return Task(
        dataset=MemoryDataset(samples, name="mt_bench"),
        solver=two_turns(judge),
        scorer=judged_turns(judge, prompts, judge_temperature, judge_max_tokens),
        metadata={"data_sha256": found.sha256},
    )


@solver
def two_turns(judge: str) -> Solver:
    """Asks the first question, then the second with the model's own first answer before it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # Fails before anything is spent on answers if there is no judge.
        _judge(judge)
        state = await generate(state)
        first = state.output.completion
        state.messages.append(ChatMessageUser(content=state.metadata["turns"][1]))
        state = await generate(state)
        state.store.set("answers", [first, state.output.completion])
        return state

    return solve


@scorer(metrics=[item_mean()])
def judged_turns(judge: str, prompts: str, temperature: float, max_tokens: int) -> Scorer:
    """The judge's rating of each turn, divided by 10; raises if a verdict has no rating."""
    judging = read_judging(prompts) if prompts else OURS
    config = GenerateConfig(temperature=temperature, max_tokens=max_tokens)

    async def score(state: TaskState, target: Target) -> Score:
        texts = _texts(state)
        values: dict[str, str | int | float | bool | None] = {}
        verdicts: list[str] = []
        for turn, key in enumerate(ITEMS, start=1):
            prompt = judging[turn, "ref_answer_1" in texts]
            request: list[ChatMessage] = [ChatMessageSystem(content=prompt.system)]
            request.append(ChatMessageUser(content=prompt.filled(texts)))
            verdict = (await _judge(judge).generate(request, config=config)).completion
            try:
                values[key] = rating(verdict) / RATINGS[1]
            except DataError as error:
                raise DataError(f"{state.sample_id}/{key}: {error}") from None
            verdicts.append(f"{key}: {verdict}")
        return Score(value=values, answer=texts["answer_2"], explanation="\n\n".join(verdicts))

    return score


def _judge(name: str) -> Model:
    return get_model(role="judge", default=name or None, required=True)


def _texts(state: TaskState) -> dict[str, str]:
    """Everything that a judge prompt may ask for."""
    one, two = state.metadata["turns"]
    first, second = state.store.get("answers", ["", ""])
    texts = {"question": one, "answer": first, "question_1": one, "answer_1": first}
    texts |= {"question_2": two, "answer_2": second}
    references = state.metadata["references"]
    return texts | {f"ref_answer_{turn}": text for turn, text in enumerate(references, start=1)}


def _sample(row: QuestionRow, references: Mapping[int, tuple[str, ...]]) -> Sample:
    number, turns = row.whole("question_id"), row.texts("turns")
    if len(turns) != len(ITEMS):
        raise FormatError(f"{row.place}: {len(turns)} turns; every question of MT-Bench has {len(ITEMS)}")
    return Sample(
        id=f"mt_bench_{number}",
        input=turns[0],
        metadata={
            "items": list(ITEMS),
            "category": row.text("category"),
            "turns": list(turns),
            "references": list(references.get(number, ())),
        },
    )


def _references(where: str) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for row in read_rows(where).rows:
        choice = QuestionRow(place=row.place, fields=row.mappings("choices")[0])
        turns = choice.texts("turns")
        if len(turns) != len(ITEMS):
            raise FormatError(
                f"{row.place}: {len(turns)} reference answers; expected one for each of {len(ITEMS)} turns"
            )
        found[row.whole("question_id")] = turns
    return found


def _check_references(samples: list[Sample], where: str) -> None:
    for sample in samples:
        metadata = sample.metadata or {}
        if metadata["category"] in _NEED_REFERENCES and not metadata["references"]:
            raise FormatError(f"{where}: there is no reference answer for {sample.id}; are the files of one version?")
