"""Runs models on a benchmark, replicate by replicate, until the question is answered.

``specification`` resolves the study file. ``runner`` is the loop; ``completion`` runs one replicate until every sample
has a score, and ``question`` says whether the study may stop and which models it still needs. ``journal`` has every
finished sample on the disk before it counts, ``handover`` brings it to the board, and ``study_board`` and ``servers``
check that board, benchmark and servers are those that were frozen. ``preflight`` asks a short question and projects
the cost. ``events`` are the reports to a watcher, ``failures`` and ``usage`` what went wrong and what it cost.

``engine`` is the contract of those who run models: ``engines`` has Inspect, lm-evaluation-harness and any command, and
``tasks`` the benchmarks of the paper. Nothing between two looks may read a score, and a line of the journal, once
written, is never changed.
"""

from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec

__all__ = ["EvaluationSpec", "evaluate"]
