"""The benchmarks of the paper as Inspect tasks, one module each.

This package is the only part of bbedge that imports Inspect, and importing the package itself does not: scoring rules
(``answers``, ``calls``, ``judging``) are plain functions, and a task is loaded when it is asked for.
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
"""The names of the benchmarks: each is a module of this package with a task function of the same name."""


def benchmark(name: str) -> Callable[..., Task]:
    """The task function of a benchmark.

    >>> benchmark("hellaswag")
    Traceback (most recent call last):
    bbedge.errors.DomainError: there is no benchmark 'hellaswag'; choose from acebench, gsm8k, mmlu_pro, mt_bench
    """
    if name not in BENCHMARKS:
        raise DomainError(f"there is no benchmark {quoted(name)}; choose from {', '.join(BENCHMARKS)}")
    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "inspect_ai":
            raise
        raise BbedgeError(
            "the benchmarks run on Inspect, which is not installed; install it with: pip install inspect_ai openai"
        ) from None
    return cast("Callable[..., Task]", getattr(module, name))
