"""Runs models on a benchmark, replicate by replicate, until the question is answered."""

from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec

__all__ = ["EvaluationSpec", "evaluate"]
