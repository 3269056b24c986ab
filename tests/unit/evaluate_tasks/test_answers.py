import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbedge.evaluate.tasks.scoring_rules import final_number, last_number, same_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("#### 18", "18"),
        ("####18", "18"),
        ("9 * 2 = 18\n#### $1,018.50 per day", "1018.5"),
        ("#### 9 * 2 = 18", "18"),
        ("#### **18**", "18"),
        ("#### The answer is 18", "18"),
        ("#### 7\n#### 18", "18"),
        ("#### Step 2: multiply\nThat makes 18.", "18"),
        ("#### 2. Multiply\nThe answer is 18.", "18"),
        ("#### 18\n\nQuestion: and Bob?\n#### 5", "18"),
        ("The answer is 18. She sold 9.", "18"),
        ("**Answer**: $18 for 9 eggs", "18"),
        ("The final answer is: **18**.", "18"),
        ("The answer is 5 + 3 = 8", "8"),
        (r"$\boxed{\$1{,}018}$ for 9 eggs", "1018"),
        ("Answer: Let's think step by step. 16 - 7 = 9 and 9 * 2 = 18", "18"),
        ("10 - 3", "3"),
        ("10-3", "3"),
        ("It is -3 degrees", "-3"),
        ("It is \u22123 degrees", "-3"),
        ("a loss of -$5", "-5"),
        ("a loss of $-5", "-5"),
        ("50%", "50"),
        ("3/4 of it", "3/4"),
        ("18.", "18"),
        ("18.00", "18"),
        ("007", "7"),
        ("+7", "7"),
        ("-0.0", "0"),
        (".50", "0.5"),
        ("1,000,000", "1000000"),
        ("1,2,3", "3"),
        ("\u0663", None),
        ("none", None),
        ("####", None),
        ("", None),
    ],
)
def test_the_number_that_counts(text, number):
    assert final_number(text) == number


@pytest.mark.parametrize(
    ("given_", "right"),
    [("114201", "114,200"), ("1450000.5", "1,450,000"), ("0.5", "1/2"), ("2/4", "1/2"), ("3", "-3"), ("0.5", "50")],
)
def test_nearly_is_not_the_same(given_, right):
    assert not same_number(final_number(given_), right)


@given(st.integers(), st.sampled_from(["#### {}", "The answer is {}.", "so {} eggs", r"\boxed{{{}}}", "#### ${}.00"]))
def test_every_whole_number_is_found_with_and_without_commas(number, frame):
    for printed in (str(number), f"{number:,}"):
        assert same_number(final_number(frame.format(printed)), f"{number:,}")
        assert not same_number(final_number(frame.format(printed)), str(number + 1))


@given(st.text(alphabet="0123456789,.-+/$%# \nanswerisQ:=*\\{}", max_size=60))
def test_whatever_is_said_a_number_is_plain_or_there_is_none(text):
    for number in (final_number(text), last_number(text)):
        assert number is None or number == last_number(number)


@pytest.mark.parametrize(
    "piece",
    ["1,", "#### ", "answer is 1 ", "-", "111,", "9", " ", "1/", "#### 1", "Question:\n", "\n", "answer", "1 = "],
)
def test_hostile_length_costs_no_time(piece):
    began = time.process_time()
    final_number("####" + piece * 20_000 + "####")
    assert time.process_time() - began < 5
