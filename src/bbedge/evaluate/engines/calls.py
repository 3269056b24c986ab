"""Calls of programs, a few at a time, each in a folder that no other call has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from bbedge.evaluate.engine import Done, Failed, Job, Report, Sent

_LOOK = 0.2  # seconds after which an interrupt is noticed


def side_by_side(
    jobs: Sequence[Job], call: Callable[[Job], Done | Failed], report: Report, *, workers: int, stop: threading.Event
) -> None:
    """Make every call and report from this thread; an interrupt, or an error, stops those that are running."""
    left = list(reversed(jobs))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        waiting: set[Future[Done | Failed]] = set()
        try:
            while left or waiting:
                while left and len(waiting) < workers:
                    job = left.pop()
                    report(Sent(model=job.model.name, sample=job.sample.name, calls=len(job.sample.items)))
                    waiting.add(pool.submit(call, job))
                # Polars has system calls restarted after a signal: a wait without an end would not notice one.
                done, waiting = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    report(future.result())
        except BaseException:
            stop.set()
            raise


def new_attempt(parent: Path) -> Path:
    """A folder that no call has had: what an earlier one still writes cannot get into it."""
    parent.mkdir(parents=True, exist_ok=True)
    used = [int(path.name.rpartition("-")[2]) for path in parent.glob("attempt-*[0-9]") if path.name[8:].isdigit()]
    folder = parent / f"attempt-{max(used, default=0) + 1:05d}"
    folder.mkdir()
    return folder
