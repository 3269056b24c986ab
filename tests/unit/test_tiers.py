"""The tiers of the tests: shares of the nightly ones, and reasons for long ones that stay."""

import argparse
from pathlib import Path

import pytest

from tiers import Share, complaint

ROOT = Path(__file__).parents[2]
NAMES = [f"tests/unit/test_{a}.py::test_{b}[{c}]" for a in range(12) for b in range(12) for c in ("é", "\ud800", 0.5)]
SHARES = [Share(number, 7) for number in range(1, 8)]
nightly, every_push = pytest.mark.nightly.mark, pytest.mark.every_push


def test_the_shares_are_disjoint_and_together_everything():
    assert [sum(name in share for share in SHARES) for name in NAMES] == [1] * len(NAMES)


def test_no_share_is_much_larger_than_another():
    sizes = [sum(name in share for name in NAMES) for share in SHARES]
    assert max(sizes) < 1.5 * min(sizes)


def test_a_test_keeps_its_share():
    name = "tests/golden/test_golden.py::test_evidence[one_block]"
    assert [share.number for share in SHARES if name in share] == [2]


def test_a_share_is_written_as_two_numbers():
    assert Share.parse("3/7") == Share(3, 7)
    assert "anything" in Share.parse("1/1")


@pytest.mark.parametrize("text", ["", "3", "0/7", "8/7", "3/0", "-1/7", "3/7/7", "a/b", "3 / 7"])
def test_no_share(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is no share; write K/N"):
        Share.parse(text)


@pytest.mark.parametrize("marks", [[], [nightly], [every_push("the only kill").mark], [pytest.mark.skip.mark]])
def test_tiers(marks):
    assert complaint(marks) is None


@pytest.mark.parametrize(
    "mark", [every_push, every_push(""), every_push(" "), every_push("a", "b"), every_push(reason="")]
)
def test_a_long_test_stays_for_a_reason(mark):
    assert complaint([mark.mark]) == 'give one reason: @pytest.mark.every_push("reason")'


def test_one_tier():
    assert complaint([nightly, every_push("the only kill").mark]) == "a test is nightly or runs on every push, not both"
