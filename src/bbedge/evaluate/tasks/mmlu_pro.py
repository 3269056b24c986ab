"""MMLU-Pro: 12,032 questions with up to ten options, scored by accuracy.

Inspect's own ``multiple_choice`` asks and reads the letter, and its ``choice`` scores it, as in the implementation of
inspect_evals; only the reading of a local file and the wording are ours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem
from inspect_ai.scorer import choice
from inspect_ai.solver import Generate, Solver, TaskState, multiple_choice, solver

from bbedge.errors import DomainError, FormatError
from bbedge.evaluate.tasks.question_files import QuestionRow, read_rows, refuse_repeats
from bbedge.text import quoted

USUAL_SOURCE = "https://huggingface.co/datasets/TIGER-Lab/MMLU-Pro/resolve/main/data/test-00000-of-00001.parquet"
_LETTERS = "ABCDEFGHIJ"
_TEMPLATE = """
Question:
{question}
Options:
{choices}

Think step by step. Then write the letter of the one right option, out of {letters}, on a last line of the form
ANSWER: LETTER
""".strip()
# The published worked solutions begin and end with set phrases, which would contradict the form asked for here.
_LEAD = re.compile(r"^A:\s*(?:Let's think step by step\.?\s*)?")
_VERDICT = re.compile(r"\s*The answer is \(?[A-J]\)?\.?\s*$")


@task
def mmlu_pro(data: str = USUAL_SOURCE, examples: str = "", shots: int = 5, subjects: str = "") -> Task:
    """MMLU-Pro: one sample per question, scored C or I (N for no answer at all).

    * ``data``: Path or address of the published test file, as Parquet or JSON lines with ``question``, ``options``,
      ``answer``, ``answer_index`` and ``category``.
    * ``examples``: The published validation file, whose solved questions of the same subject are shown; none if empty.
    * ``shots``: How many of them.
    * ``subjects``: Only these categories, separated by commas; all if empty.
    """
    solved = _solved(examples, shots) if examples and shots else {}
    found = read_rows(data)
    wanted = {name.strip() for name in subjects.split(",") if name.strip()}
    samples = [_sample(row, solved) for row in found.rows if not wanted or row.text("category") in wanted]
    missing = wanted - {row.text("category") for row in found.rows}
    if missing:
        raise DomainError(f"{data} has no category {quoted(min(missing))}; its categories are those of MMLU-Pro")
    refuse_repeats([str(sample.id) for sample in samples], data)
    return Task(
        dataset=MemoryDataset(samples, name="mmlu_pro"),
        solver=[worked_examples(), multiple_choice(template=_TEMPLATE)],
        scorer=choice(),
        metadata={"data_sha256": found.sha256},
    )


@solver
def worked_examples() -> Solver:
    """Puts the sample's solved examples before the question, if it has any."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        shown = state.metadata["examples"]
        if shown:
            lead = f"Questions about {state.metadata['category']}, each with a worked solution:"
            state.messages.insert(0, ChatMessageSystem(content="\n\n".join([lead, *shown])))
        return state

    return solve


def _sample(row: QuestionRow, solved: Mapping[str, Sequence[str]]) -> Sample:
    question, category = row.text("question"), row.text("category")
    options, letter = _options(row)
    if solved and category not in solved:
        raise FormatError(f"{row.place}: the examples have no question about {quoted(category)}")
    return Sample(
        id=_id(row, question, options),
        input=question,
        choices=list(options),
        target=letter,
        metadata={"category": category, "examples": list(solved.get(category, ()))},
    )


def _id(row: QuestionRow, question: str, options: Sequence[str]) -> str:
    if "question_id" in row.fields:
        return f"mmlu_pro_{row.whole('question_id')}"
    # Some questions differ in their options only.
    return f"mmlu_pro_{hashlib.sha256(repr((question, options)).encode()).hexdigest()[:12]}"


def _options(row: QuestionRow) -> tuple[tuple[str, ...], str]:
    options, letter, index = row.texts("options"), row.text("answer"), row.whole("answer_index")
    if not 2 <= len(options) <= len(_LETTERS):
        raise FormatError(f"{row.place}: {len(options)} options; MMLU-Pro has 2 to {len(_LETTERS)}")
    if not 0 <= index < len(options) or _LETTERS[index] != letter:
        raise FormatError(f"{row.place}: answer {quoted(letter)} and answer_index {index} do not name the same option")
    return options, letter


def _solved(examples: str, shots: int) -> dict[str, list[str]]:
    if shots < 0:
        raise DomainError(f"shots is {shots}; choose 0 or more")
    by_subject: dict[str, list[str]] = {}
    for row in read_rows(examples).rows:
        options, letter = _options(row)
        listed = "\n".join(f"{_LETTERS[place]}) {option}" for place, option in enumerate(options))
        worked = _VERDICT.sub("", _LEAD.sub("", row.text("cot_content")))
        text = f"Question:\n{row.text('question')}\nOptions:\n{listed}\n\n{worked}\nANSWER: {letter}"
        by_subject.setdefault(row.text("category"), []).append(text)
    for subject, texts in by_subject.items():
        if len(texts) < shots:
            raise DomainError(f"shots is {shots}; {examples} has {len(texts)} questions about {quoted(subject)}")
    return {subject: texts[:shots] for subject, texts in by_subject.items()}
