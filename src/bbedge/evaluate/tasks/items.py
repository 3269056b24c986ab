"""Samples that make several items: their score is an object with one number per item."""

from __future__ import annotations

from inspect_ai.scorer import Metric, SampleScore, Value, metric


@metric
def item_mean() -> Metric:
    """The mean over all items of all samples, however many a sample has."""

    def compute(scores: list[SampleScore]) -> Value:
        values = [float(number) for score in scores for number in score.score.as_dict().values() if number is not None]
        return sum(values) / len(values) if values else 0.0

    return compute
