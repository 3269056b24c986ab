import json

import pytest

from bbedge.errors import DomainError, FormatError
from bbedge.evaluate.tasks.dialogues import FILES, acebench

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

FUNCTIONS = [
    {
        "name": "book",
        "description": "Books a room.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}, "room": {"type": "object"}},
            "required": ["city", "nights"],
        },
    },
    {"name": "bill", "description": "Shows the bill.", "parameters": {"type": "object", "properties": {}}},
]
FIRST = "user: A room in Oslo, please.\nsystem: How long?\nuser: 3 nights.\n"
SECOND = FIRST + "system: [book(city='Oslo', nights=3)]\nsystem: Room 1000.\nuser: The bill for it?\n"
THIRD = SECOND + "system: [bill()]\nsystem: 90.\nuser: Two more nights, with sea view.\n"


def step(dialogue, number, question):
    return {
        "id": f"normal_{dialogue}_{number}",
        "question": question,
        "function": FUNCTIONS,
        "time": "Today is Monday.",
    }


def truth(dialogue, number, calls):
    return {"id": f"normal_{dialogue}_{number}", "ground_truth": calls}


QUESTIONS = [step(0, 0, FIRST), step(0, 1, SECOND), step(0, 2, THIRD), step(1, 0, FIRST), step(1, 1, SECOND)]
BOOK = {"book": {"city": "Oslo", "nights": 3}}
MORE = {"book": {"city": "Oslo", "nights": 2, "room": {"view": ["sea view"], "id": 1000}}}
ANSWERS = [
    truth(0, 0, BOOK),
    truth(0, 1, {"bill": {}}),
    truth(0, 2, MORE),
    truth(1, 0, BOOK),
    truth(1, 1, {"bill": {}}),
]


@pytest.fixture
def data(jsonl, tmp_path):
    """A folder in the published layout: the second file has the same dialogues under other names."""
    for name, prefix in zip(FILES, ("normal", "other"), strict=True):
        for path, rows in ((name, QUESTIONS), (f"possible_answer/{name}", ANSWERS)):
            jsonl(f"ace/{path}", [{**row, "id": row["id"].replace("normal", prefix)} for row in rows])
    return str(tmp_path / "ace")


def steps(run, data, *answers, **options):
    """The scores of the three steps of the first dialogue for answers to each."""

    def script(messages):
        text = messages[-1].text
        return answers[2] if "Two more" in text else answers[1] if "The bill" in text else answers[0]

    result = run(acebench(data=data, **options), script)
    assert not result.errors
    return [result.items[f"normal_0/step_{number}"] for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (
            (
                "[book(city='Oslo', nights=3)]",
                "[bill()]",
                "[book(city='Oslo', nights=2, room={'view': ['sea view'], 'id': 1000})]",
            ),
            [1, 1, 1],
        ),
        (
            (
                '[book(nights=3, city="Oslo")]',
                " [ bill( ) ] ",
                "[book(room={'id': '1000', 'view': [\"Sea\nView\"]}, nights=2.0, city='OSLO')]",
            ),
            [1, 1, 1],
        ),
        (
            ("[book(city='Oslo', nights='3')]", "[bill(id=1)]", "[book(city='Oslo', nights=2, room={'id': 1000})]"),
            [0, 0, 0],
        ),
        (("[book(city='Rome', nights=3)]", "[book(city='Oslo', nights=3)]", "[bill()]"), [0, 0, 0]),
        (("[book(city='Oslo', nights=3)]", "bill()", "[book(city='Oslo', nights=2)]"), [1, 0, 1]),
        (("", " ", "[]"), [0, 0, 0]),
        (("Which city?", "```[bill()]```", "[book(city='Oslo', nights=1+1)]"), [0, 0, 0]),
        (
            ("[__import__('os').system('true')]", "[bill(), bill(), book(city='Oslo', nights=3)]", "[" * 9000),
            [0, 0, 0],
        ),
    ],
    ids=["right", "free", "nearly", "wrong", "some", "empty", "prose", "hostile"],
)
def test_scores_are_exact(run, data, answers, expected):
    assert steps(run, data, *answers) == expected


def test_text_arguments_may_be_held_to_equality(run, data):
    answers = ("[book(city='Oslo or Rome', nights=3)]", "[bill()]", "[bill()]")
    assert steps(run, data, *answers) == [1, 1, 0]
    assert steps(run, data, *answers, strings="equal") == [0, 1, 0]
    with pytest.raises(DomainError, match="contain, equal"):
        acebench(data=data, strings="same")


def test_each_step_is_a_request_of_its_own_with_the_published_history(run, data, temperatures):
    seen = []

    def script(messages):
        seen.append([message.text for message in messages])
        return "[mine()]"

    result = run(acebench(data=data), script, temperature=0.7)
    assert temperatures[result.log.eval.model] == [0.7] * 10
    assert len(seen) == 10
    assert all(len(messages) == 2 for messages in seen)
    assert all("Today is Monday." in system and '"name": "bill"' in system for system, _ in seen)
    assert sorted({user for _, user in seen}) == sorted(
        f"Dialogue so far:\n{text.strip()}" for text in (FIRST, SECOND, THIRD)
    )
    assert not any("mine" in text for messages in seen for text in messages)
    assert {name: len(items) for name, items in result.blocks.items()} == {
        "normal_0": 3,
        "normal_1": 2,
        "other_0": 3,
        "other_1": 2,
    }
    assert result.reported == 0


@pytest.mark.parametrize(
    ("questions", "answers", "message"),
    [
        (QUESTIONS[:3], ANSWERS, "no question for 'normal_1_0'"),
        (QUESTIONS[1:], ANSWERS[1:], r"'normal_0' has steps \[1, 2\]"),
        (QUESTIONS, ANSWERS[1:], "no possible answer for 'normal_0_0'"),
        ([*QUESTIONS, QUESTIONS[0]], ANSWERS, "appears more than once"),
        ([{**QUESTIONS[0], "id": "first"}], ANSWERS, "does not end with"),
        (
            [QUESTIONS[0], {**QUESTIONS[1], "time": "Today is Friday."}],
            ANSWERS[:2],
            "differ in their functions or their date",
        ),
        (QUESTIONS, [{**row, "ground_truth": {"fly": {}}} for row in ANSWERS], "none of the step's functions"),
    ],
)
def test_files_that_do_not_fit_are_refused(jsonl, tmp_path, questions, answers, message):
    for name in FILES:
        jsonl(f"ace/{name}", questions)
        jsonl(f"ace/possible_answer/{name}", answers)
    with pytest.raises(FormatError, match=message):
        acebench(data=str(tmp_path / "ace"))


def written(calls, *, backwards=False):
    """The right calls as a model would write them."""
    texts = []
    for name, given in calls.items():
        pairs = [f"{key}={value!r}" for key, value in given.items()]
        texts.append(f"{name}({', '.join(pairs[::-1] if backwards else pairs)})")
    return f"[{', '.join(texts)}]"


def spoiled(calls):
    """The right calls with one argument too many."""
    return {name: {**given, "unasked": 1} for name, given in calls.items()}


def test_the_published_dialogues_make_223_items_that_are_scored_as_they_are_answered(run, questions):
    folder = questions / "acebench"
    replies, expected = {}, {}
    for name in FILES:
        rows = [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines() if line.strip()]
        text = (folder / "possible_answer" / name).read_text(encoding="utf-8")
        truths = {entry["id"]: entry["ground_truth"] for entry in map(json.loads, filter(str.strip, text.splitlines()))}
        for place, row in enumerate(rows):
            right = truths[row["id"]]
            reply, score = [
                (written(right), 1.0),
                (written(right, backwards=True), 1.0),
                (written(spoiled(right)), 0.0),
                ("", 0.0),
            ][place % 4]
            prompt = f"Dialogue so far:\n{row['question'].strip()}"
            assert prompt not in replies
            replies[prompt] = reply
            dialogue, _, number = row["id"].rpartition("_")
            expected[f"{dialogue}/step_{int(number) + 1}"] = score
    result = run(acebench(data=str(folder)), lambda messages: replies[messages[-1].text])
    assert not result.errors
    assert len(result.items) == 223
    assert result.items == expected
    sizes = [len(items) for items in result.blocks.values()]
    assert (sizes.count(2), sizes.count(3), len(sizes)) == (77, 23, 100)


def test_every_published_answer_is_right_by_our_rule_as_text_and_as_equal(questions):
    from bbedge.evaluate.tasks.dialogues import step_score

    count = 0
    for sample in acebench(data=str(questions / "acebench")).dataset:
        for expected in sample.metadata["expected"]:
            (alternative,) = expected
            text = written({call["name"]: call["arguments"] for call in alternative.values()})
            for strings in ("contain", "equal"):
                assert step_score(text, expected, strings) == (True, "right")
            count += 1
    assert count == 223
