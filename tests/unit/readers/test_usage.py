"""Tokens, seconds and cost of logs: metrics where they are asked for by name, and nowhere else."""

import json

import numpy as np
import pytest

from bbedge.errors import BbedgeError, DataError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.survey import survey
from log_makers import inspect_log, inspect_sample

RANGES = {"tokens": (1000.0, 0.0)}


def inspect_logs(folder, *, unlike=None):
    """Two models that answer two questions with 100, 200, 300 and 400 tokens."""
    count = 0
    for model in ("a", "b"):
        samples = []
        for name in ("q1", "q2"):
            count += 1
            used = {"m/x": {"total_tokens": 60 * count}, "m/judge": {"total_tokens": 40 * count}}
            more = {"model_usage": used, "total_time": 2.0 * count, "working_time": 1.0 * count}
            samples.append(inspect_sample(name, **more | ((unlike or {}) if count == 4 else {})))
        inspect_log(folder / f"{model}.eval", model=model, samples=samples)
    return folder


def promptfoo_rows(path, **unlike):
    rows = []
    for place, (model, question) in enumerate((m, q) for m in ("a", "b") for q in ("q1", "q2")):
        row = {
            "testIdx": place % 2,
            "promptIdx": 0,
            "promptId": "p",
            "prompt": {"raw": "x", "label": "x"},
            "provider": {"id": model},
            "testCase": {"vars": {"question": question}, "assert": []},
            "score": 1.0,
            "success": True,
            "cost": 0.01 * (place + 1),
            "latencyMs": 100 * (place + 1),
            "response": {"output": "x", "tokenUsage": {"total": 10 * (place + 1)}},
        }
        rows.append(row | unlike if place == 3 else row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("metric", "most", "expected"),
    [
        ("tokens", 1000.0, [[0.9, 0.8], [0.7, 0.6]]),
        ("seconds", 10.0, [[0.8, 0.6], [0.4, 0.2]]),
        ("working_seconds", 10.0, [[0.9, 0.8], [0.7, 0.6]]),
    ],
)
def test_inspect(tmp_path, metric, most, expected):
    choices = {"metric": (metric,), "metric_range": {metric: (most, 0.0)}}
    scores = read_scores(inspect_logs(tmp_path), **choices)
    np.testing.assert_allclose(scores.values[0], expected)


@pytest.mark.parametrize(
    ("metric", "most", "expected"),
    [
        ("tokens", 100.0, {0.9, 0.8, 0.7, 0.6}),
        ("seconds", 1.0, {0.9, 0.8, 0.7, 0.6}),
        ("cost", 0.1, {0.9, 0.8, 0.7, 0.6}),
    ],
)
def test_promptfoo(tmp_path, metric, most, expected):
    path = promptfoo_rows(tmp_path / "out.jsonl")
    choices = {"metric": (metric,), "metric_range": {metric: (most, 0.0)}}
    scores = read_scores(path, **choices)
    assert {round(float(value), 9) for value in scores.values.ravel()} == expected


def test_they_are_never_among_the_metrics_unless_named(tmp_path):
    logs = inspect_logs(tmp_path)
    np.testing.assert_array_equal(read_scores(logs).values, 1.0)
    assert set(read_scores(logs, item_column=["metric"]).columns["metric"]) == {"match"}
    every = read_scores(logs, item_column=["metric"], metric=("match",), metric_range=RANGES)
    assert set(every.columns["metric"]) == {"match", "tokens"}
    assert "tokens" not in str(survey([str(logs)]))


def test_a_scale_on_which_more_is_better_or_none_is_refused(tmp_path):
    logs = inspect_logs(tmp_path)
    for ranges in ({}, {"tokens": (0.0, 1000.0)}):
        with pytest.raises(FormatError, match="less is better"):
            read_scores(logs, metric=("tokens",), metric_range=ranges)
    with pytest.raises(DataError, match="outside the range"):
        read_scores(logs, metric=("tokens",), metric_range={"tokens": (300.0, 0.0)})


@pytest.mark.parametrize("used", [{}, {"m/x": {"total_tokens": 0}}, {"m/x": {"total_tokens": 5}, "m/y": {}}])
def test_what_a_log_does_not_say_is_missing_and_not_zero(tmp_path, used):
    logs = inspect_logs(tmp_path, unlike={"model_usage": used})
    with pytest.raises(BbedgeError):
        read_scores(logs, metric=("tokens",), metric_range=RANGES)
    choices = {"metric": ("match",), "metric_range": RANGES}
    with pytest.raises(BbedgeError, match="tokens"):
        read_scores(logs, item_column=["metric"], **choices)
    scores = read_scores(logs, item_column=["metric"], **choices, incomplete="worst-case")
    assert np.isnan(scores.values).sum() == 1


@pytest.mark.parametrize("unlike", [{"cost": 0}, {"response": {"output": "x", "cached": True}}])
def test_answers_of_a_cache_and_costs_of_zero_are_not_known(tmp_path, unlike):
    path = promptfoo_rows(tmp_path / "out.jsonl", **unlike)
    with pytest.raises(BbedgeError):
        read_scores(path, metric=("cost",), metric_range={"cost": (1.0, 0.0)})


def test_a_metric_of_the_log_comes_before_what_an_answer_took(tmp_path):
    for model in ("a", "b"):
        sample = inspect_sample("q1", model_usage={"m": {"total_tokens": 500}}) | {
            "scores": {"tokens": {"value": 0.25}}
        }
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=[sample])
    np.testing.assert_array_equal(read_scores(tmp_path, metric=("tokens",)).values, 0.25)
