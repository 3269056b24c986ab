"""Seconds of several pieces of work, measured in turn so that whatever else the machine does hits all of them."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
"""Where processes are started, so that they find this package."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of one piece of work, time after time."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the measured times, which ratios are made of."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """The shortest time: the one that other work on the machine disturbed least."""
        return min(self.seconds)


def interleaved(works: Mapping[Key, Callable[[], object]], times: int, *, warm_up: bool = True) -> dict[Key, Timing]:
    """Run all works in turn, ``times`` rounds of them; a round before that is not counted."""
    seconds: dict[Key, list[float]] = {key: [] for key in works}
    for turn in range(times + warm_up):
        for key, work in works.items():
            start = time.perf_counter()
            work()
            spent = time.perf_counter() - start
            if turn or not warm_up:
                seconds[key].append(spent)
    return {key: Timing(tuple(found)) for key, found in seconds.items()}


def ratio(work: Timing, reference: Timing) -> float:
    """How many times as long as the reference, by medians."""
    return work.median / reference.median


def told(work: Timing, reference: Timing, names: tuple[str, str] = ("bbedge", "reference")) -> str:
    """Both sides of a ratio in seconds, and what the shortest times would give."""
    return (
        f"{names[0]} {seconds_text(work.median)}, {names[1]} {seconds_text(reference.median)} "
        f"(medians of {len(work.seconds)}; by shortest times {work.least / reference.least:.3g})"
    )


def seconds_text(seconds: float) -> str:
    """Seconds with three digits that count.

    >>> seconds_text(0.01234)
    '0.0123 s'
    """
    return f"{seconds:.3g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What a process took, from its start to its end."""

    wall: float
    """Seconds on the clock."""
    cpu: float
    """Seconds of all cores together, which a busy machine changes less."""
    status: int | None
    """Exit status; ``None`` if it was stopped at the time limit."""
    error: str
    """The last line it wrote to standard error."""


def run_process(command: Sequence[str | os.PathLike[str]], *, limit: float = 300.0) -> Process:
    """Run a command to its end or to the time limit, without its output.

    Packages that are installed come with their bytecode; so that ours has it too, it may be written.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    status, error = None, ""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=limit,
            check=False,
        )
        status, error = done.returncode, done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    except subprocess.TimeoutExpired:
        error = f"stopped after {limit:.0f} s"
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Process(wall=wall, cpu=cpu, status=status, error=error)
