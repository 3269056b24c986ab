"""Calls of programs, a few at a time, each in a folder that no other call has."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Done, Failed, Job, Report, Sample, Sent, Trouble
from bbedge.evaluate.engines.process import end_leftovers, unfinished_attempts
from bbedge.evaluate.engines.redaction import redact_files
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.text import listed, shown_path

_LOOK = 0.2  # seconds after which an interrupt is noticed

Tell = Callable[[Trouble], None]


class Calls:
    """The calls that the engine of a study makes."""

    def __init__(self, study: EvaluationSpec) -> None:
        self._study = study
        self._cleaned = False
        self.stop = threading.Event()
        """Set when the programs that are running must end."""

    def run(self, jobs: Sequence[Job], call: Callable[[Job, Tell], Done | Failed], report: Report) -> None:
        """Make every call and report from this thread; an interrupt, or an error, stops those that are running.

        A call hands requests that fail before its end to its second argument.
        """
        if not self._cleaned:  # no other runner uses the folder now, so what runs in it is left from a killed one
            left_over = unfinished_attempts(self._study.folder)
            end_leftovers(self._study.folder)
            for folder in left_over:
                redact_files(folder)
            self._cleaned = True
        self.stop.clear()
        left, workers = list(reversed(jobs)), self._study.running.workers
        reports: queue.SimpleQueue[Trouble] = queue.SimpleQueue()
        with ThreadPoolExecutor(max_workers=workers) as pool:
            waiting: set[Future[Done | Failed]] = set()
            try:
                while left or waiting:
                    while left and len(waiting) < workers:
                        job = left.pop()
                        report(Sent(model=job.model.name, sample=job.sample.name, calls=len(job.sample.items)))
                        waiting.add(pool.submit(call, job, reports.put))
                    # Polars has system calls restarted after a signal: a wait without an end would not notice one.
                    done, waiting = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                    while not reports.empty():
                        report(reports.get())
                    for future in done:
                        report(future.result())
            except BaseException:
                self.stop.set()
                raise

    @contextmanager
    def folder_of(self, replicate: int, model: str) -> Iterator[Path]:
        """A new folder for a call of a model; when the call has ended, logs in it lose their credentials."""
        folder = self._new_folder(replicate, model)
        try:
            yield folder
        finally:
            redact_files(folder)

    def _new_folder(self, replicate: int, model: str) -> Path:
        """A folder that no call has had: what an earlier one still writes cannot get into it."""
        number = self._study.names.index(model) + 1
        parent = self._study.folder / f"replicate-{replicate:05d}" / f"model-{number:03d}"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            used = [int(path.name[8:]) for path in parent.glob("attempt-*[0-9]") if path.name[8:].isdigit()]
            folder = parent / f"attempt-{max(used, default=0) + 1:05d}"
            folder.mkdir()
        except OSError as error:
            raise EvaluationError(f"{shown_path(parent)}: cannot be written ({error.strerror})") from error
        return folder


def checked_scores(
    scores: Mapping[str, float], sample: Sample, place: Path, *, may_be_missing: bool
) -> dict[str, float]:
    """The scores that a call wrote for exactly the items of its sample; those that may be missing are NaN."""
    missing = [item for item in sample.items if item not in scores]
    if missing and not may_be_missing:
        raise EvaluationError(f"{shown_path(place)} lacks {len(missing)} items: {listed(missing)}")
    extra = sorted(set(scores) - set(sample.items))
    if extra:
        raise EvaluationError(f"{shown_path(place)} has {len(extra)} items that are not listed: {listed(extra)}")
    if all(map(math.isnan, scores.values())):
        raise EvaluationError(f"{shown_path(place)} has no score at all")
    return {item: scores.get(item, math.nan) for item in sample.items}
