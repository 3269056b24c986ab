"""The benchmarks of the paper as Inspect tasks: ``single_questions`` and ``dialogues``.

Importing the package does not import Inspect: a task is loaded when it is asked for. ``question_files``,
``scoring_rules`` and ``function_calls`` are plain functions, which may be used without it. To add a benchmark, write
its task, and name it in ``registry`` and in :data:`BENCHMARKS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from bbedge.errors import BbedgeError, DomainError
from bbedge.text import quoted

if TYPE_CHECKING:
    from inspect_ai import Task

BENCHMARKS = ("acebench", "gsm8k", "mmlu_pro", "mt_bench")
"""The names of the benchmarks: each is a task function of the registry."""


def benchmark(name: str) -> Callable[..., Task]:
    """The task function of a benchmark.

    >>> benchmark("hellaswag")
    Traceback (most recent call last):
    bbedge.errors.DomainError: there is no benchmark 'hellaswag'; choose from acebench, gsm8k, mmlu_pro, mt_bench
    """
    if name not in BENCHMARKS:
        raise DomainError(f"there is no benchmark {quoted(name)}; choose from {', '.join(BENCHMARKS)}")
    try:
        registry = importlib.import_module(f"{__name__}.registry")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "inspect_ai":
            raise
        raise BbedgeError(
            "the benchmarks run on Inspect, which is not installed; install it with: pip install inspect_ai openai"
        ) from None
    return cast("Callable[..., Task]", getattr(registry, name))
