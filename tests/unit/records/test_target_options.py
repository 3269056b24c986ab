"""What people declare about new items and about scores that several runs make."""

from fractions import Fraction

import pytest

from bbedge.errors import DesignError, DomainError
from bbedge.records.options import Options


@pytest.mark.parametrize("planned", [None, 3, 5, 32, 33, 100])
@pytest.mark.parametrize("of_runs", [None, "all:2", "any:3"])
def test_the_weights_of_a_schedule_are_never_more_than_one(planned, of_runs):
    given = {"planned": planned} if planned else {}
    schedule = Options(target="new-items", **given, **({"of_runs": of_runs} if of_runs else {})).schedule
    assert sum(map(Fraction, schedule.values())) <= 1
    assert all(run >= (int(of_runs[-1]) if of_runs else 1) for run in schedule)
    assert max(schedule) == (planned or 32)


def test_the_last_planned_run_has_most_of_the_evidence():
    assert Options(target="both", planned=5).schedule == pytest.approx({1: 1 / 15, 2: 1 / 15, 4: 1 / 15, 5: 0.8})
    assert Options(target="both", planned=1).schedule == {1: 1.0}


def test_a_schedule_of_ones_own():
    options = Options(target="new-items", looks=(5, 10), look_weights=(0.3, 0.7))
    assert options.schedule == {5: 0.3, 10: 0.7}
    assert Options(target="new-items", looks=(5, 10)).schedule == {5: 0.5, 10: 0.5}
    # A look before there is a score does not happen, and its part is lost.
    assert Options(target="new-items", looks=(2, 10), of_runs="all:3").schedule == {10: 0.5}


def test_weights_that_add_up_to_one_but_for_rounding_are_lowered():
    weights = (0.1, 0.2, 0.3, 0.4)
    assert sum(map(Fraction, weights)) > 1
    schedule = Options(target="new-items", looks=(1, 2, 3, 4), look_weights=weights).schedule
    assert sum(map(Fraction, schedule.values())) <= 1
    assert list(schedule.values()) == pytest.approx(weights)


def test_what_is_the_default_is_not_stated():
    assert Options(target="benchmark") == Options()
    assert Options(of_runs="all:1") == Options()
    assert Options().schedule == {}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"looks": (1, 2)}, "looks"),
        ({"look_weights": (0.5,)}, "look_weights"),
        ({"target": "new-items", "look_weights": (0.5,)}, "look_weights"),
        ({"target": "new-items", "looks": (1, 2), "look_weights": (0.5,)}, "look_weights"),
        ({"target": "new-items", "looks": (1, 2), "look_weights": (0.7, 0.7)}, "look_weights"),
        ({"target": "new-items", "looks": (2, 1)}, "looks"),
        ({"target": "new-items", "looks": (1, 1)}, "looks"),
        ({"target": "new-items", "looks": ()}, "looks"),
        ({"target": "new-items", "looks": (1, 9), "planned": 8}, "looks"),
        ({"target": "new-items", "looks": (1, 2), "of_runs": "all:3"}, "looks"),
        ({"of_runs": "all:3", "planned": 2}, "planned"),
        ({"of_runs": "some:3"}, "of_runs"),
        ({"of_runs": "all:0"}, "of_runs"),
        ({"target": "elsewhere"}, "target"),
        ({"target": "both", "method": "bb-edge"}, "target"),
        ({"equal_within": 0.0}, "equal_within"),
        ({"equal_within": 1.0}, "equal_within"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(given, named):
    with pytest.raises((DesignError, DomainError)) as refused:
        Options(**given)
    assert f"{named}=" in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"of_runs": "some:3"}, "choose a text such as all:3 or any:3"),
        ({"target": "new-items", "looks": (0, 2)}, "choose a list of whole numbers of at least 1"),
        (
            {"target": "new-items", "looks": (1, 2), "look_weights": (0, 1)},
            "choose a list of numbers above 0 and of at most 1",
        ),
    ],
)
def test_a_refusal_says_what_is_possible(given, words):
    with pytest.raises(DomainError, match=words):
        Options(**given)
