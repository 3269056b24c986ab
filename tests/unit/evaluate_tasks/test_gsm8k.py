import json

import pytest

from bbedge.errors import DomainError, FormatError
from bbedge.evaluate.tasks.scoring_rules import final_number, same_number
from bbedge.evaluate.tasks.single_questions import gsm8k

# Inspect calls its retry library by an old name.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

ROWS = [
    {
        "question": "A shelf holds 500 books. How many do two hold?",
        "answer": "500 * 2 = <<500*2=1000>>1000\n#### 1,000",
    },
    {"question": "It is 4 degrees and gets 7 colder. How cold is it?", "answer": "4 - 7 = -3\n#### -3"},
    {"question": "Ann has 20 sweets {and} eats 2. What is left?", "answer": "20 - 2 = <<20-2=18>>18\n#### 18"},
]


def asked(messages):
    """The question that a prompt ends with."""
    return messages[-1].text.rpartition("Question:\n")[2].partition("\nAnswer:")[0]


def scores(run, jsonl, answers):
    """Scores in the order of the rows for answers in the order of the rows."""
    replies = dict(zip((row["question"] for row in ROWS), answers, strict=True))
    task = gsm8k(data=jsonl("test.jsonl", ROWS))
    result = run(task, lambda messages: replies[asked(messages)])
    assert not result.errors
    return [result.items[sample.id] for sample in task.dataset]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("#### 1,000", "#### -3", "#### 18"), [1, 1, 1]),
        (("It is 1000 books.", "The answer is -3 degrees.", "20 - 2 = $18.00"), [1, 1, 1]),
        (("#### 1,000.00.", "\\boxed{-3}", "**Answer:** 18 sweets, from 20"), [1, 1, 1]),
        (("#### 1001", "#### 3", "#### 18.5"), [0, 0, 0]),
        (("#### 10,00", "7 - 4", "18/1"), [0, 0, 0]),
        (("", "   ", "####"), [0, 0, 0]),
        (("I will not say.", "#### 1 2 3 -3 1000", "all numbers: 18 1000 -3 0"), [0, 0, 0]),
        (("#### 1000\nQuestion: next?\n#### 7", "\x00####\u202e -3", "[[10]] #### 18"), [1, 1, 1]),
    ],
    ids=["right", "plain", "dressed", "wrong", "nearly", "empty", "guesses", "hostile"],
)
def test_scores_are_exact(run, jsonl, answers, expected):
    assert scores(run, jsonl, answers) == expected


def test_a_prompt_has_examples_and_ends_with_the_question(jsonl):
    (sample, *_) = gsm8k(data=jsonl("test.jsonl", ROWS)).dataset
    assert sample.input.count("Question:\n") == 6
    assert sample.input.endswith(f"Question:\n{ROWS[0]['question']}\nAnswer: Let's think step by step.")
    assert "1,000" not in sample.input


def test_examples_come_from_a_file_if_one_is_given(jsonl):
    train = [{"question": f"What is {n} + 1?", "answer": f"It is {n + 1}\n#### {n + 1}"} for n in range(3)]
    task = gsm8k(data=jsonl("test.jsonl", ROWS), examples=jsonl("train.jsonl", train), shots=2)
    prompt = task.dataset[0].input
    assert "What is 1 + 1?" in prompt
    assert "What is 2 + 1?" not in prompt
    assert gsm8k(data=jsonl("test.jsonl", ROWS), shots=0).dataset[0].input.count("Question:\n") == 1
    with pytest.raises(DomainError, match="choose 0 to 3"):
        gsm8k(data=jsonl("test.jsonl", ROWS), examples=jsonl("train.jsonl", train), shots=4)


def test_ids_follow_the_question_and_not_its_place(jsonl):
    forwards = {s.id: s.target for s in gsm8k(data=jsonl("a.jsonl", ROWS)).dataset}
    backwards = {s.id: s.target for s in gsm8k(data=jsonl("b.jsonl", ROWS[::-1])).dataset}
    assert forwards == backwards
    assert len(forwards) == len(ROWS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROWS[0], ROWS[0]], "appears more than once"),
        ([{"question": "How many?", "answer": "Twelve"}], "does not end with ####"),
        ([{"question": "How many?", "answer": "#### many"}], "does not end with ####"),
        ([{"question": "  ", "answer": "#### 1"}], "'question' should hold some text"),
        ([{"answer": "#### 1"}], "not nothing"),
        ([], "no rows"),
    ],
)
def test_files_of_another_shape_are_refused(jsonl, rows, message):
    with pytest.raises(FormatError, match=message):
        gsm8k(data=jsonl("test.jsonl", rows))


def test_all_published_problems_are_scored_as_they_are_answered(run, questions):
    path = questions / "gsm8k_test.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    replies, expected = {}, []
    for place, row in enumerate(rows):
        number = int(row["answer"].rpartition("####")[2].replace(",", ""))
        reply, score = [
            (row["answer"], 1),
            (f"So the answer is **${number:,}.00** in 2024.", 1),
            (f"Off by one: #### {number + 1}", 0),
            (f"{number} or rather {number}.5", 0),
            ("", 0),
        ][place % 5]
        replies[row["question"]] = reply
        expected.append(score)
    task = gsm8k(data=str(path))
    result = run(task, lambda messages: replies[asked(messages)])
    assert len(result.items) == 1319
    assert [result.items[sample.id] for sample in task.dataset] == expected
    assert result.reported == pytest.approx(sum(expected) / 1319)


def test_every_published_solution_is_right_by_our_rule(questions):
    for line in (questions / "gsm8k_test.jsonl").read_text(encoding="utf-8").splitlines():
        solution = json.loads(line)["answer"]
        assert same_number(final_number(solution), solution.rpartition("####")[2])
