"""Which direction is better: asked where names leave it open, mirrored exactly where less is, and stated."""

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge.errors import Argument, DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.choices import OpenChoiceError
from bbedge.readers.convert import convert
from bbedge.readers.evidence import may_be_less
from bbedge.readers.survey import survey
from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run

LESS = (
    "error loss jailbroken is_jailbroken hallucination hallucinated toxicity toxic latency wer WordErrorRate "
    "metrics.error_rate attack_success harmfulness refusal_rate perplexity"
)
MORE = "score accuracy correct f1 terror closs reward power_user errorless passed similarity"


@pytest.mark.parametrize("name", LESS.split())
def test_names_that_leave_the_direction_open(name):
    assert may_be_less(name)


@pytest.mark.parametrize("name", MORE.split())
def test_names_that_do_not(name):
    assert not may_be_less(name)


def frame(name, low=0.0, high=1.0):
    values = np.linspace(low, high, 8)
    return pl.DataFrame({"model": ["a"] * 4 + ["b"] * 4, "item": ["q1", "q2", "q3", "q4"] * 2, name: values})


def test_a_table_whose_score_may_be_an_error_asks():
    for options in ({"column": {"score": "error"}}, {"column": {"score": "error"}, "score_range": (0, 10)}):
        with pytest.raises(OpenChoiceError, match="less may be better for the score 'error'") as caught:
            read_scores(frame("error"), **options)
        answers = [candidate.argument for candidate in caught.value.decision.candidates]
        assert answers == [Argument("less_is_better", True), Argument("less_is_better", False)]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 10.0), (-3.0, 5.0), (1.0, 7.0)])
def test_scores_are_mirrored_in_their_range_exactly(low, high):
    table, options = frame("error", low, high), {"column": {"score": "error"}, "score_range": (low, high)}
    mirrored = read_scores(table.with_columns(error=low + high - pl.col("error")), less_is_better=False, **options)
    less = read_scores(table, less_is_better=True, **options)
    assert np.allclose(less.values, mirrored.values, rtol=0, atol=1e-15)
    assert less.values.min() == 0.0
    assert less.values.max() == 1.0
    assert less.score_range == mirrored.score_range == (low, high)
    (note,) = (each.text for each in less.notes if "Less is better" in each.text)
    assert f"{low:g} counts as {high:g} and {high:g} as {low:g}" in note
    assert not any("Less" in each.text for each in mirrored.notes)


def test_on_the_usual_scale_mirroring_is_exact():
    table = frame("loss").with_columns(loss=pl.lit(0.1))
    assert set(read_scores(table, column={"score": "loss"}, less_is_better=True).values.ravel()) == {1 - 0.1}


def test_truth_values_and_missing_scores():
    table = pl.DataFrame({"model": ["a", "b"], "item": ["q", "q"], "jailbroken": [True, False]})
    scores = read_scores(table, column={"score": "jailbroken"}, less_is_better=True)
    assert scores.values.tolist() == [[[0.0], [1.0]]]
    missing = pl.DataFrame({"model": ["a", "b"] * 2, "item": ["q", "q", "r", "r"], "error": [0.0, 1.0, None, 0.5]})
    scores = read_scores(missing, column={"score": "error"}, less_is_better=True, incomplete="zero")
    assert scores.values.tolist() == [[[1.0, 0.0], [0.0, 0.5]]]


def test_logs_are_asked_and_mirrored_like_tables(tmp_path):
    rows = [lm_eval_row(n, metric="toxicity", score=0.25 * n) for n in range(3)]
    path = lm_eval_run(tmp_path, rows=rows)
    with pytest.raises(OpenChoiceError, match="less may be better for the metric 'toxicity'"):
        read_scores(path, least_models=1)
    less, more = (read_scores(path, least_models=1, less_is_better=less) for less in (True, False))
    assert sorted(less.values.ravel()) == [0.5, 0.75, 1.0]
    assert sorted(more.values.ravel()) == [0.0, 0.25, 0.5]


def test_what_a_log_says_counts_more_than_a_name(tmp_path):
    rows = [lm_eval_row(n, metric="error_free", score=1.0) for n in range(3)]
    path = lm_eval_run(tmp_path / "more", rows=rows, higher_is_better={"t": {"error_free": True}})
    assert read_scores(path, least_models=1).values.min() == 1.0
    rows = [lm_eval_row(n, metric="acc", score=1.0) for n in range(3)]
    path = lm_eval_run(tmp_path / "less", rows=rows, higher_is_better={"t": {"acc": False}})
    with pytest.raises(FormatError, match="the log says that less is better"):
        read_scores(path, least_models=1)
    assert read_scores(path, least_models=1, less_is_better=True).values.max() == 0.0


def test_several_metrics_have_a_direction_each(tmp_path):
    table = pl.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "item": ["q"] * 4,
            "metric": ["acc", "wer"] * 2,
            "score": [1.0, 0.25, 0.0, 0.75],
        }
    )
    with pytest.raises(DomainError, match="is about the only score that is read"):
        read_scores(table, item_column="metric", less_is_better=True)
    with pytest.raises(OpenChoiceError, match=r"metric 'wer'; pass metric_range="):
        read_scores(table, item_column="metric")
    ranged = read_scores(table, item_column="metric", metric_range={"wer": (1, 0)})
    assert ranged.values.tolist() == [[[1.0, 0.75], [0.0, 0.25]]]
    with pytest.raises(OpenChoiceError, match="metric 'wer'; pass less_is_better=True"):
        read_scores(table, metric="wer")
    assert read_scores(table, metric="wer", less_is_better=True).values.tolist() == [[[0.75], [0.25]]]


def test_convert_keeps_scores_and_asks_nothing(tmp_path):
    frame("error").write_csv(tmp_path / "a.csv")
    reading = bbedge.records.reading.Reading(column=("score=error",))
    assert convert([str(tmp_path / "a.csv")], tmp_path / "b.csv", reading).rows == 8
    with pytest.raises(DomainError, match="less_is_better has no effect here"):
        convert([str(tmp_path / "a.csv")], tmp_path / "c.csv", reading.with_argument(Argument("less_is_better", True)))


def test_inspect_scores_asks(tmp_path):
    frame("error").write_csv(tmp_path / "a.csv")
    found = survey([str(tmp_path / "a.csv")], bbedge.records.reading.Reading(column=("score=error",)))
    assert found.scores is None
    (decision,) = found.decisions
    assert decision.question == "Which values of 'error' are better?"


def test_numbers_and_a_wrong_answer_in_one_metric_of_inspect(tmp_path):
    samples = [inspect_sample(f"q{n}", value=value) for n, value in enumerate((7.5, 9, "I"))]
    path = inspect_log(tmp_path / "a.eval", samples=samples)
    with pytest.raises(ValueError, match=r"score 7.5 is outside \[0, 1\]; pass score_range=\(0, 10\)"):
        read_scores(path, least_models=1)
    scores = read_scores(path, least_models=1, score_range=(0, 10))
    assert scores.values.tolist() == [[[0.75, 0.9, 0.0]]]
    assert any(note.text.startswith("Counted as 0: 1 wrong answer") for note in scores.notes)
    samples = [inspect_sample(f"q{n}", value=value) for n, value in enumerate((7.5, "C"))]
    path = inspect_log(tmp_path / "b.eval", samples=samples)
    with pytest.raises(ValueError, match="right is no number on their scale: score the log again with numbers alone"):
        read_scores(path, least_models=1, score_range=(0, 10))
