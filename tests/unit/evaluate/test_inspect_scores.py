from types import SimpleNamespace

import pytest

from bbedge.errors import DataError
from bbedge.evaluate.engines.inspect_hook import item_scores


def scored(**values):
    return {name: SimpleNamespace(value=value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("value", "score"), [("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), (True, 1.0), (0, 0.0), (0.25, 0.25)]
)
def test_a_single_value_scores_the_sample(value, score):
    assert item_scores("s", ("s",), scored(match=value), scorer=None) == {"s": score}


def test_a_table_of_values_scores_the_parts():
    scores = scored(judge={"turn1": 0.5, "turn2": "C"})
    assert item_scores("s", ("s/turn1", "s/turn2"), scores, scorer=None) == {"s/turn1": 0.5, "s/turn2": 1.0}


def test_the_named_scorer_counts():
    assert item_scores("s", ("s",), scored(match="C", f1=0.5), scorer="f1") == {"s": 0.5}


@pytest.mark.parametrize(
    ("items", "scores", "scorer", "message"),
    [
        (("s",), None, None, "the task needs a scorer"),
        (("s",), scored(a=1, b=1), None, "choose one with"),
        (("s",), scored(a=1), "b", "no score 'b'; it has 'a'"),
        (("s",), scored(a=7), None, "expected a number from 0 to 1"),
        (("s",), scored(a=float("nan")), None, "left without a score"),
        (("s",), scored(a="yes"), None, "expected a number"),
        (("s",), scored(a={"x": 1}), None, "not scored on 's'"),
        (("s/x",), scored(a={"x": 1, "y": 1}), None, "'s/y', which it did not announce"),
        (("s/x",), scored(a=1), None, "not scored on 's/x'"),
    ],
)
def test_what_is_no_score_is_not_a_zero(items, scores, scorer, message):
    with pytest.raises(DataError, match=message):
        item_scores("s", items, scores, scorer=scorer)
