"""Benchmarks whose samples are dialogues and whose items are their turns: MT-Bench and ACEBench.

MT-Bench: 80 dialogues of two turns, both rated from 1 to 10 by a judge model; two items in a block.

ACEBench, normal multi-turn: dialogues with two or three steps, each scored by the function calls it should make. Every
step is a request of its own: the model gets the functions and the dialogue up to that step as the benchmark has it,
with the right calls of earlier steps and what the tools returned. Its own earlier answers are not carried over, so a
mistake in one step does not affect the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.evaluate.tasks.function_calls import (
    Call,
    Expected,
    Strings,
    UnreadableError,
    Value,
    calls_match,
    parse_calls,
)
from bbedge.evaluate.tasks.question_files import QuestionRow, beside, read_rows, refuse_repeats
from bbedge.evaluate.tasks.scoring_rules import OURS, RATINGS, rating, read_judging
from bbedge.text import quoted


@metric
def item_mean() -> Metric:
    """The mean over all items of all samples, however many a sample has."""

    def compute(scores: list[SampleScore]) -> float:
        values = [float(number) for score in scores for number in score.score.as_dict().values() if number is not None]
        return sum(values) / len(values) if values else 0.0

    return compute


_FASTCHAT = "https://raw.githubusercontent.com/lm-sys/FastChat/main/fastchat/llm_judge/data/mt_bench"
MT_BENCH_SOURCE = f"{_FASTCHAT}/question.jsonl"
USUAL_REFERENCES = f"{_FASTCHAT}/reference_answer/gpt-4.jsonl"
ITEMS = ("turn_1", "turn_2")
_NO_REFERENCES = "none"
# The categories with one right answer, where a judge without a reference tends to believe what it reads.
_NEED_REFERENCES = frozenset({"math", "reasoning", "coding"})


@task
def mt_bench(
    data: str = MT_BENCH_SOURCE,
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
    if not references and data != MT_BENCH_SOURCE:
        raise DomainError(f"give the reference answers as well as the questions, or references={_NO_REFERENCES}")
    right = {} if references == _NO_REFERENCES else _references(references or USUAL_REFERENCES)
    found = read_rows(data)
    samples = [_two_turns_sample(row, right) for row in found.rows]
    for sample in samples if right else ():
        about = sample.metadata or {}
        if about["category"] in _NEED_REFERENCES and not about["references"]:
            where = references or USUAL_REFERENCES
            raise FormatError(f"{where}: there is no reference answer for {sample.id}; are the files of one version?")
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
            request: list[ChatMessage] = [
                ChatMessageSystem(content=prompt.system),
                ChatMessageUser(content=prompt.filled(texts)),
            ]
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
    return {
        **{"question": one, "answer": first, "question_1": one, "answer_1": first},
        **{"question_2": two, "answer_2": second},
        **{f"ref_answer_{turn}": text for turn, text in enumerate(state.metadata["references"], start=1)},
    }


def _two_turns_sample(row: QuestionRow, references: Mapping[int, tuple[str, ...]]) -> Sample:
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
        turns = QuestionRow(place=row.place, fields=row.mappings("choices")[0]).texts("turns")
        if len(turns) != len(ITEMS):
            raise FormatError(
                f"{row.place}: {len(turns)} reference answers; expected one for each of {len(ITEMS)} turns"
            )
        found[row.whole("question_id")] = turns
    return found


ACEBENCH_SOURCE = "https://raw.githubusercontent.com/ACEBench/ACEBench/main/data_all/data_en"
FILES = ("data_normal_multi_turn_user_adjust.json", "data_normal_multi_turn_user_switch.json")
_STEP = re.compile(r"(?P<dialogue>.+)_(?P<step>[0-9]+)")
_INSTRUCTIONS = """
You help a user by calling functions. Below are the functions and a dialogue; decide which calls to make next.

Reply with a list of calls and nothing else, from the first character "[" to the last character "]":
[function_name(first_key='text', second_key=3), other_function(key=['a', 'b'])]
- Use the names of functions and parameters exactly as they are given, and name every argument.
- Give all required parameters, and optional ones only where the dialogue says what they should be.
- Where a parameter's description asks for a format, follow it; otherwise use the user's own words.
- A function without parameters is called as [function_name()].
- Do not explain, do not ask, do not make up results.

In the dialogue, "user" is the user; "system" is you, or what a function returned.
""".strip()


@task
def acebench(data: str = ACEBENCH_SOURCE, strings: str = "contain") -> Task:
    """ACEBench, normal multi-turn: one sample per dialogue, with a score of 0 or 1 for each step.

    * ``data``: Folder or address of the published English data: the two files of normal multi-turn dialogues, and their
      answers under the same names in ``possible_answer``.
    * ``strings``: ``contain``: a text argument may say more than what is expected, as published; ``equal``: it may not.
    """
    if strings not in get_args(Strings):
        raise DomainError(f"strings is {quoted(strings)}; choose from {', '.join(get_args(Strings))}")
    samples, hashes = list[Sample](), dict[str, str]()
    for name in FILES:
        questions = read_rows(beside(data, name))
        answers = read_rows(beside(data, "possible_answer", name))
        hashes |= {name: questions.sha256, f"possible_answer/{name}": answers.sha256}
        samples += _dialogues(questions.rows, answers.rows)
    refuse_repeats([str(sample.id) for sample in samples], data)
    return Task(
        dataset=MemoryDataset(samples, name="acebench"),
        solver=step_by_step(),
        scorer=right_calls(cast("Strings", strings)),
        metadata={"data_sha256": hashes},
    )


@solver
def step_by_step() -> Solver:
    """Asks for the calls of each step in a request of its own."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answers: list[str] = []
        for prompt in state.metadata["prompts"]:
            request: list[ChatMessage] = [ChatMessageSystem(content=state.input_text), ChatMessageUser(content=prompt)]
            state.output = await get_model().generate(request)
            state.messages = [*request, state.output.message]
            answers.append(state.output.completion)
        state.store.set("answers", answers)
        return state

    return solve


@scorer(metrics=[item_mean()])
def right_calls(strings: Strings = "contain") -> Scorer:
    """1 for every step whose calls are the right ones by the rule in :mod:`.function_calls`, else 0."""

    async def score(state: TaskState, target: Target) -> Score:
        answers: Sequence[str] = state.store.get("answers", [])
        steps = zip(state.metadata["items"], answers, state.metadata["expected"], strict=True)
        found = {key: step_score(answer, expected, strings) for key, answer, expected in steps}
        return Score(
            value={key: 1.0 if right else 0.0 for key, (right, _) in found.items()},
            answer="\n".join(answers),
            explanation="\n".join(f"{key}: {reason}" for key, (_, reason) in found.items()),
        )

    return score


def step_score(
    answer: str, expected: Sequence[Mapping[str, Mapping[str, object]]], strings: Strings
) -> tuple[bool, str]:
    """Whether an answer makes the expected calls, for any of the alternatives, and why not."""
    try:
        given = parse_calls(answer)
    except UnreadableError as error:
        return False, f"unreadable ({error})"
    right = any(calls_match(_expected(alternative), given, strings=strings) for alternative in expected)
    return right, "right" if right else "other calls than expected"


def _expected(alternative: Mapping[str, Mapping[str, object]]) -> list[Expected]:
    return [
        Expected(
            call=Call(name=str(entry["name"]), arguments=cast("Mapping[str, Value]", entry["arguments"])),
            required=frozenset(cast("list[str]", entry["required"])),
        )
        for entry in alternative.values()
    ]


def _dialogues(questions: Sequence[QuestionRow], answers: Sequence[QuestionRow]) -> list[Sample]:
    right = {row.text("id"): row for row in answers}
    steps: dict[str, dict[int, QuestionRow]] = {}
    for row in questions:
        name = row.text("id")
        found = _STEP.fullmatch(name)
        if found is None:
            raise FormatError(f"{row.place}: id {quoted(name)} does not end with a dialogue's and a step's number")
        dialogue, step = steps.setdefault(found["dialogue"], {}), int(found["step"])
        if step in dialogue:
            raise FormatError(f"{row.place}: {quoted(name)} appears more than once")
        if name not in right:
            raise FormatError(
                f"{row.place}: there is no possible answer for {quoted(name)}; are the files of one version?"
            )
        dialogue[step] = row
    unasked = right.keys() - {row.text("id") for row in questions}
    if unasked:
        raise FormatError(f"{right[min(unasked)].place}: there is no question for {quoted(min(unasked))}")
    for name, dialogue in steps.items():
        if sorted(dialogue) != list(range(len(dialogue))):
            raise FormatError(
                f"{quoted(name)} has steps {sorted(dialogue)}; they should count from 0 and leave out no number"
            )
    return [
        _steps_sample(name, [dialogue[step] for step in sorted(dialogue)], right) for name, dialogue in steps.items()
    ]


def _steps_sample(name: str, rows: Sequence[QuestionRow], right: Mapping[str, QuestionRow]) -> Sample:
    functions, today = rows[0].mappings("function"), rows[0].fields.get("time")
    if any(row.mappings("function") != functions or row.fields.get("time") != today for row in rows):
        raise FormatError(f"{rows[0].place}: the steps of {quoted(name)} differ in their functions or their date")
    parts = (_INSTRUCTIONS, str(today or ""), "Functions:\n" + json.dumps(functions, ensure_ascii=False))
    return Sample(
        id=name,
        input="\n\n".join(filter(None, parts)),
        metadata={
            "items": [f"step_{number}" for number in range(1, len(rows) + 1)],
            "prompts": [f"Dialogue so far:\n{row.text('question').strip()}" for row in rows],
            "expected": [_alternatives(right[row.text("id")], functions) for row in rows],
        },
    )


def _alternatives(row: QuestionRow, functions: Sequence[Mapping[str, object]]) -> list[dict[str, dict[str, object]]]:
    """The alternatives that are right for a step: calls, each with what its function requires."""
    known = {str(function.get("name")): function for function in functions}
    alternatives = []
    for truth in row.mappings("ground_truth"):
        calls = {}
        for key, arguments in truth.items():
            # A function that is called several times is numbered: name_1, name_2.
            name = key if key in known else re.sub(r"_[0-9]+$", "", key)
            if name not in known or not isinstance(arguments, dict):
                raise FormatError(f"{row.place}: the right call {quoted(key)} is none of the step's functions")
            parameters = cast("dict[str, object]", known[name].get("parameters") or {})
            calls[key] = {"name": name, "arguments": arguments, "required": parameters.get("required") or []}
        alternatives.append(calls)
    return alternatives
