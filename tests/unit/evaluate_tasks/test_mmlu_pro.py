import polars as pl
import pytest

from bbedge.errors import DomainError, FormatError
from bbedge.evaluate.tasks.single_questions import mmlu_pro

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

LETTERS = "ABCDEFGHIJ"


def row(number, right, options=10, category="math", **more):
    return {
        "question_id": number,
        "question": f"Which is {number}? {{choices}}",
        "options": [f"option {place} of {number}" for place in range(options)],
        "answer": LETTERS[right],
        "answer_index": right,
        "category": category,
        "cot_content": f"A: Let's think step by step. It is number {right}. The answer is ({LETTERS[right]}).",
        **more,
    }


ROWS = [row(7, 0), row(8, 9), row(9, 2, options=4, category="law")]


def scores(run, task, *answers):
    replies = dict(zip((7, 8, 9), answers, strict=True))
    result = run(task, lambda messages: replies[int(messages[-1].text.partition("Which is ")[2][0])])
    assert not result.errors
    return [result.items[f"mmlu_pro_{number}"] for number in replies]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("ANSWER: A", "ANSWER: J", "ANSWER: C"), [1, 1, 1]),
        (("Thinking.\nAnswer: a", "ANSWER: **J**.", "ANSWER: A\nNo:\nANSWER: C"), [1, 1, 1]),
        (("ANSWER: B", "ANSWER: I", "ANSWER: D"), [0, 0, 0]),
        (("A", "option 9 of 8", "Is it C?"), [0, 0, 0]),
        (("", " ", "ANSWER:"), [0, 0, 0]),
        (("ANSWER: A, B, C", "ANSWER: ABCDEFGHIJ", "ANSWER: E"), [0, 0, 0]),
    ],
    ids=["right", "dressed", "wrong", "unmarked", "empty", "hostile"],
)
def test_scores_are_exact(run, jsonl, answers, expected):
    assert scores(run, mmlu_pro(data=jsonl("test.jsonl", ROWS)), *answers) == expected


def test_the_question_is_asked_with_its_options_and_examples_of_its_subject(run, jsonl):
    examples = jsonl("validation.jsonl", [row(90, 1), row(91, 2), row(92, 3, category="law")])
    seen = []

    def script(messages):
        seen.append([message.text for message in messages])
        return "ANSWER: A"

    run(mmlu_pro(data=jsonl("test.jsonl", ROWS[:1]), examples=examples, shots=1), script)
    ((system, user),) = seen
    assert "It is number 1.\nANSWER: B" in system
    assert "The answer is" not in system
    assert "91" not in system
    assert "Which is 7? {choices}" in user
    assert "J) option 9 of 7" in user


def test_parquet_and_subjects(tmp_path):
    path = tmp_path / "test.parquet"
    pl.DataFrame(ROWS).write_parquet(path)
    assert [sample.target for sample in mmlu_pro(data=str(path)).dataset] == ["A", "J", "C"]
    assert [sample.id for sample in mmlu_pro(data=str(path), subjects="law").dataset] == ["mmlu_pro_9"]
    with pytest.raises(DomainError, match="no category 'magic'"):
        mmlu_pro(data=str(path), subjects="law, magic")


def test_without_numbers_a_question_is_known_by_its_text_and_options(jsonl):
    plain = [{key: value for key, value in entry.items() if key != "question_id"} for entry in ROWS]
    ids = [sample.id for sample in mmlu_pro(data=jsonl("test.jsonl", plain)).dataset]
    assert ids == [sample.id for sample in mmlu_pro(data=jsonl("other.jsonl", plain[::-1])).dataset][::-1]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (row(1, 1, answer="C"), "do not name the same option"),
        (row(1, 1, answer_index=10), "do not name the same option"),
        (row(1, 1, options=1), "1 options"),
        (row(1, 1, options=11), "11 options"),
        (row(1, 1, question=""), "'question' should hold"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(jsonl, entry, message):
    with pytest.raises(FormatError, match=message):
        mmlu_pro(data=jsonl("test.jsonl", [entry]))


def test_examples_must_cover_the_subject(jsonl):
    data, examples = jsonl("test.jsonl", ROWS), jsonl("validation.jsonl", [row(90, 1)])
    with pytest.raises(FormatError, match="no question about 'law'"):
        mmlu_pro(data=data, examples=examples, shots=1)
    with pytest.raises(DomainError, match="shots is 2"):
        mmlu_pro(data=data, examples=examples, shots=2)
