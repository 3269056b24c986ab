"""Benchmarks whose samples are single questions: GSM8K and MMLU-Pro.

GSM8K: 1,319 word problems of grade-school arithmetic, scored by exact match of the final number.

MMLU-Pro: 12,032 questions with up to ten options, scored by accuracy. Inspect's own ``multiple_choice`` asks and reads
the letter, and its ``choice`` scores it, as in the implementation of inspect_evals; only the reading of a local file
and the wording are ours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem
from inspect_ai.scorer import Score, Scorer, Target, choice, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, multiple_choice, solver

from bbedge.errors import DomainError, FormatError
from bbedge.evaluate.tasks.question_files import QuestionRow, read_rows, refuse_repeats
from bbedge.evaluate.tasks.scoring_rules import final_number, last_number, same_number
from bbedge.text import quoted

GSM8K_SOURCE = "https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data/test.jsonl"
_MARK = "####"
_OPENING = (
    "Solve the problem below. Reason step by step, and finish with a line of its own that holds "
    f"{_MARK} and then the answer as a plain number."
)
# Made up for this task, so that no question of a published split is shown as an example.
_EXAMPLES = (
    (
        "A tram has 14 passengers. At the market 6 get off and 9 get on. How many passengers are on the tram now?",
        "After 6 get off there are 14 - 6 = 8 passengers. After 9 get on there are 8 + 9 = 17.\n#### 17",
    ),
    (
        "Nadia knits a scarf in 3 evenings of 2 hours each. She gets $11 an hour. What do 4 scarves earn her?",
        "A scarf takes 3 * 2 = 6 hours. Four scarves take 4 * 6 = 24 hours. She earns 24 * 11 = 264 dollars.\n#### 264",
    ),
    (
        "A baker fills 5 trays with 24 rolls each. A quarter of all rolls get seeds. How many rolls stay plain?",
        "There are 5 * 24 = 120 rolls. A quarter of them is 120 / 4 = 30. Plain are 120 - 30 = 90.\n#### 90",
    ),
    (
        "Omar's phone costs $360. He pays a third at once and the rest in 8 equal parts. How much is each part?",
        "At once he pays 360 / 3 = 120 dollars. The rest is 360 - 120 = 240. Each part is 240 / 8 = 30.\n#### 30",
    ),
    (
        "A well is 40 metres deep. A pump lowers the water by 3 metres an hour, rain raises it by 1. "
        "By how many metres has the water fallen after 9 hours?",
        "Every hour the water falls by 3 - 1 = 2 metres. After 9 hours it has fallen by 9 * 2 = 18.\n#### 18",
    ),
)


@task
def gsm8k(data: str = GSM8K_SOURCE, examples: str = "", shots: int = 5) -> Task:
    """GSM8K: one sample per problem, scored 0 or 1.

    * ``data``: Path or address of the published test file: JSON lines with ``question`` and ``answer``.
    * ``examples``: File of the same shape whose first rows are shown as solved examples; ours if empty.
    * ``shots``: How many solved examples are shown.
    """
    solved, found = _solved_problems(examples, shots), read_rows(data)
    samples = [_problem(row, solved) for row in found.rows]
    refuse_repeats([str(sample.id) for sample in samples], data)
    return Task(
        dataset=MemoryDataset(samples, name="gsm8k"),
        solver=generate(),
        scorer=final_number_match(),
        metadata={"data_sha256": found.sha256},
    )


@scorer(metrics=[mean()])
def final_number_match() -> Scorer:
    """1 if the answer's final number is the right one, else 0; the rule is documented in :mod:`.scoring_rules`."""

    async def score(state: TaskState, target: Target) -> Score:
        number = final_number(state.output.completion)
        return Score(value=1.0 if same_number(number, target.text) else 0.0, answer=number or "")

    return score


def _solved_problems(examples: str, shots: int) -> Sequence[tuple[str, str]]:
    given = [(row.text("question"), row.text("answer")) for row in read_rows(examples).rows] if examples else _EXAMPLES
    if not 0 <= shots <= len(given):
        where = examples or "the built-in list"
        raise DomainError(f"shots is {shots}; {where} has {len(given)} examples, so choose 0 to {len(given)}")
    return given[:shots]


def _problem(row: QuestionRow, solved: Sequence[tuple[str, str]]) -> Sample:
    question, lead = row.text("question"), "Answer: Let's think step by step."
    _, mark, right = row.text("answer").rpartition(_MARK)
    if not mark or last_number(right) is None:
        raise FormatError(f"{row.place}: 'answer' does not end with {_MARK} and a number; is this a GSM8K file?")
    shown = [f"Question:\n{asked}\n{lead} {answer}" for asked, answer in solved]
    return Sample(
        # The file numbers nothing; a hash of the question stays the same when rows are moved or left out.
        id=f"gsm8k_{hashlib.sha256(question.encode()).hexdigest()[:12]}",
        input="\n\n".join([_OPENING, *shown, f"Question:\n{question}\n{lead}"]),
        target=right.strip(),
    )


MMLU_PRO_SOURCE = "https://huggingface.co/datasets/TIGER-Lab/MMLU-Pro/resolve/main/data/test-00000-of-00001.parquet"
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
def mmlu_pro(data: str = MMLU_PRO_SOURCE, examples: str = "", shots: int = 5, subjects: str = "") -> Task:
    """MMLU-Pro: one sample per question, scored C or I (N for no answer at all).

    * ``data``: Path or address of the published test file, as Parquet or JSON lines with ``question``, ``options``,
      ``answer``, ``answer_index`` and ``category``.
    * ``examples``: The published validation file, whose solved questions of the same subject are shown; none if empty.
    * ``shots``: How many of them.
    * ``subjects``: Only these categories, separated by commas; all if empty.
    """
    solved, found = _solved_by_subject(examples, shots) if examples and shots else {}, read_rows(data)
    wanted = {name.strip() for name in subjects.split(",") if name.strip()}
    samples = [_choices(row, solved) for row in found.rows if not wanted or row.text("category") in wanted]
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


def _choices(row: QuestionRow, solved: Mapping[str, Sequence[str]]) -> Sample:
    question, category = row.text("question"), row.text("category")
    options, letter = _options(row)
    if solved and category not in solved:
        raise FormatError(f"{row.place}: the examples have no question about {quoted(category)}")
    if "question_id" in row.fields:
        number = str(row.whole("question_id"))
    else:  # some questions differ in their options only
        number = hashlib.sha256(repr((question, options)).encode()).hexdigest()[:12]
    return Sample(
        id=f"mmlu_pro_{number}",
        input=question,
        choices=list(options),
        target=letter,
        metadata={"category": category, "examples": list(solved.get(category, ()))},
    )


def _options(row: QuestionRow) -> tuple[tuple[str, ...], str]:
    options, letter, index = row.texts("options"), row.text("answer"), row.whole("answer_index")
    if not 2 <= len(options) <= len(_LETTERS):
        raise FormatError(f"{row.place}: {len(options)} options; MMLU-Pro has 2 to {len(_LETTERS)}")
    if not 0 <= index < len(options) or _LETTERS[index] != letter:
        raise FormatError(f"{row.place}: answer {quoted(letter)} and answer_index {index} do not name the same option")
    return options, letter


def _solved_by_subject(examples: str, shots: int) -> dict[str, list[str]]:
    if shots < 0:
        raise DomainError(f"shots is {shots}; choose 0 or more")
    by_subject: dict[str, list[str]] = {}
    for row in read_rows(examples).rows:
        options, letter = _options(row)
        listed = "\n".join(f"{mark}) {option}" for mark, option in zip(_LETTERS, options, strict=False))
        worked = _VERDICT.sub("", _LEAD.sub("", row.text("cot_content")))
        text = f"Question:\n{row.text('question')}\nOptions:\n{listed}\n\n{worked}\nANSWER: {letter}"
        by_subject.setdefault(row.text("category"), []).append(text)
    for subject, texts in by_subject.items():
        if len(texts) < shots:
            raise DomainError(f"shots is {shots}; {examples} has {len(texts)} questions about {quoted(subject)}")
    return {subject: texts[:shots] for subject, texts in by_subject.items()}
