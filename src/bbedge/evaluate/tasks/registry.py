"""All benchmarks at once: where Inspect finds ``bbedge/gsm8k`` and the others by name."""

from __future__ import annotations

from bbedge.evaluate.tasks.dialogues import acebench, mt_bench
from bbedge.evaluate.tasks.single_questions import gsm8k, mmlu_pro

__all__ = ["acebench", "gsm8k", "mmlu_pro", "mt_bench"]
