"""All benchmarks at once: where Inspect finds ``bbedge/gsm8k`` and the others by name."""

from __future__ import annotations

from bbedge.evaluate.tasks.acebench import acebench
from bbedge.evaluate.tasks.gsm8k import gsm8k
from bbedge.evaluate.tasks.mmlu_pro import mmlu_pro
from bbedge.evaluate.tasks.mt_bench import mt_bench

__all__ = ["acebench", "gsm8k", "mmlu_pro", "mt_bench"]
