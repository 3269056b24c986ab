"""GSM8K: 1,319 word problems of grade-school arithmetic, scored by exact match of the final number."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState, generate

from bbedge.errors import DomainError, FormatError
from bbedge.evaluate.tasks.question_files import QuestionRow, read_rows, refuse_repeats
from bbedge.evaluate.tasks.scoring_rules import final_number, last_number, same_number

USUAL_SOURCE = "https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data/test.jsonl"
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
def gsm8k(data: str = USUAL_SOURCE, examples: str = "", shots: int = 5) -> Task:
    """GSM8K: one sample per problem, scored 0 or 1.

    * ``data``: Path or address of the published test file: JSON lines with ``question`` and ``answer``.
    * ``examples``: File of the same shape whose first rows are shown as solved examples; ours if empty.
    * ``shots``: How many solved examples are shown.
    """
    solved = _solved(examples, shots)
    found = read_rows(data)
    samples = [_sample(row, solved) for row in found.rows]
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


def _solved(examples: str, shots: int) -> Sequence[tuple[str, str]]:
    if examples:
        pairs = [(row.text("question"), row.text("answer")) for row in read_rows(examples).rows]
    else:
        pairs = list(_EXAMPLES)
    if not 0 <= shots <= len(pairs):
        where = examples or "the built-in list"
        raise DomainError(f"shots is {shots}; {where} has {len(pairs)} examples, so choose 0 to {len(pairs)}")
    return pairs[:shots]


def _sample(row: QuestionRow, solved: Sequence[tuple[str, str]]) -> Sample:
    question, answer = row.text("question"), row.text("answer")
    _, mark, right = answer.rpartition(_MARK)
    if not mark or last_number(right) is None:
        raise FormatError(f"{row.place}: 'answer' does not end with {_MARK} and a number; is this a GSM8K file?")
    return Sample(
        # The file numbers nothing; a hash of the question stays the same when rows are moved or left out.
        id=f"gsm8k_{hashlib.sha256(question.encode()).hexdigest()[:12]}",
        input=_prompt(question, solved),
        target=right.strip(),
    )


def _prompt(question: str, solved: Sequence[tuple[str, str]]) -> str:
    lead = "Answer: Let's think step by step."
    shown = [f"Question:\n{asked}\n{lead} {answer}" for asked, answer in solved]
    return "\n\n".join([_OPENING, *shown, f"Question:\n{question}\n{lead}"])
