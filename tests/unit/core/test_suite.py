"""Weights, views and shares from what is known of the items."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbedge.core.scores import Scores
from bbedge.core.views import macro_weights, suite_options
from bbedge.errors import BbedgeError, DesignError, DomainError


def scores(**columns):
    count = len(next(iter(columns.values())))
    values = np.zeros((1, 2, count))
    made = Scores.of(values, models=["a", "b"], items=[f"q{i}" for i in range(count)])
    return replace(made, columns={name: tuple(each) for name, each in columns.items()})


def refusal(table, error=BbedgeError, **options):
    with pytest.raises(error) as caught:
        suite_options(table, **options)
    return str(caught.value)


TOPICS = ("math", "math", "code", "law")


def test_nothing_asked_for_sets_nothing():
    assert suite_options(scores(topic=TOPICS)) == {}


def test_equal_weights_are_no_weights():
    """A design with equal weights must be the design without any, hash included."""
    table = scores(topic=("x", "y"), weight=("2", "2.0"))
    assert suite_options(table, macro="topic") == {}
    assert suite_options(table, weights="weight") == {}


def test_macro_is_the_mean_of_the_category_means():
    assert suite_options(scores(topic=TOPICS), macro="topic") == {"weights": macro_weights(TOPICS)}


def test_weights_are_the_numbers_of_a_column():
    assert suite_options(scores(w=("1", " 0.5 ", "0", "2e0")), weights="w") == {"weights": (1.0, 0.5, 0.0, 2.0)}


def test_macro_with_weights_is_the_mean_of_weighted_means():
    table = scores(topic=TOPICS, w=("1", "3", "2", "0"))
    weights = suite_options(table, macro="topic", weights="w")["weights"]
    assert weights == (0.125, 0.375, 0.5, 0.0)
    panel = np.array([0.2, 0.6, 0.9, 0.4])
    assert panel @ weights == pytest.approx(np.mean([(0.2 + 3 * 0.6) / 4, 0.9]))


def test_a_view_for_each_value_with_the_weights_inside():
    table = scores(topic=TOPICS, w=("1", "3", "2", "0"))
    views = suite_options(table, views="topic", weights="w")["views"]
    assert views == {"code": (0.0, 0.0, 2.0, 0.0), "math": (1.0, 3.0, 0.0, 0.0)}
    plain = suite_options(table, views="topic", macro="topic")["views"]
    assert plain["math"] == (1.0, 1.0, 0.0, 0.0)


def test_shares_go_to_the_design():
    table = scores(topic=TOPICS)
    design = table.design(**suite_options(table, views="topic", shares={"headline": 0.6, "law": 0.2}))
    assert (design.share, {view.name: view.share for view in design.views}) == (
        0.6,
        {"code": pytest.approx(0.1), "law": 0.2, "math": pytest.approx(0.1)},
    )


METRICS = {"metric": ("acc", "wer", "acc", "wer"), "topic": ("math", "math", "code", "code")}


def test_the_headline_is_about_the_chosen_metric():
    options = suite_options(scores(**METRICS), views="metric", metric="acc")
    assert options == {"weights": (1.0, 0.0, 1.0, 0.0), "views": {"wer": (0.0, 1.0, 0.0, 1.0)}}
    macro = suite_options(scores(**METRICS), views="metric", metric=["acc"], macro="topic")["weights"]
    assert macro == (0.5, 0.0, 0.5, 0.0)


def test_the_headline_may_be_the_mean_of_the_metrics():
    table = scores(metric=("acc", "wer", "acc"))
    assert suite_options(table, macro="metric", views="metric") == {
        "weights": (0.25, 0.5, 0.25),
        "views": {"acc": (1.0, 0.0, 1.0), "wer": (0.0, 1.0, 0.0)},
    }


def test_a_metric_must_be_chosen():
    message = refusal(scores(**METRICS), views="metric", error=DesignError)
    for part in ("'acc', 'wer'", "metric=NAME", "macro='metric'"):
        assert part in message
    assert "leave out metric='acc'" in refusal(scores(**METRICS), macro="metric", metric="acc")
    assert "no metric 'f1'" in refusal(scores(**METRICS), metric="f1")
    assert "no column 'metric'" in refusal(scores(topic=TOPICS), metric="acc")


def test_a_column_that_was_not_read_is_refused():
    message = refusal(scores(topic=TOPICS), views="topik", error=DesignError)
    assert "'topic'" in message
    assert "item_column=('topik',)" in message


@pytest.mark.parametrize(
    ("value", "words"),
    [(text, f"'{text}' in the column 'w' is not a weight") for text in ("x", "-1", "nan", "inf")],
)
def test_weights_that_are_no_weights_are_refused(value, words):
    message = refusal(scores(w=("1", value)), weights="w")
    assert words in message
    assert "of item 'q1'; give a number of at least 0" in message


def test_weights_must_not_all_be_zero():
    assert "every weight in column 'w' is 0" in refusal(scores(w=("0", "0")), weights="w", error=DomainError)


def test_a_view_that_is_the_headline_is_none():
    assert "is the headline itself" in refusal(scores(topic=("x", "x")), views="topic", error=DesignError)


def test_too_many_views_are_refused():
    many = tuple(str(i) for i in range(1001))
    assert "1,001 values" in refusal(scores(topic=many), views="topic", error=DesignError)


LABELS = st.lists(st.sampled_from("abc"), min_size=1, max_size=12)


@given(LABELS)
def test_equal_weights_inside_categories_are_the_plain_macro_weights(labels):
    assert macro_weights(labels, [1.0] * len(labels)) == macro_weights(labels)


@given(LABELS, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(labels, random):
    weights = [random.choice([0.0, 0.5, 2.0]) for _ in labels]
    order = random.sample(range(len(labels)), len(labels))
    shuffled = macro_weights([labels[i] for i in order], [weights[i] for i in order])
    straight = macro_weights(labels, weights)
    assert shuffled == tuple(straight[i] for i in order)
    assert sum(straight) == pytest.approx(1.0 if any(weights) else 0.0)
