"""The short question to models of lm-evaluation-harness: what is heard is reported at once, and silence mentioned."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bbedge.evaluate.engine import Answered, CheckReport, Silent
from bbedge.evaluate.engines.lm_eval_problem import problem_of
from bbedge.evaluate.problem import Problem
from bbedge.evaluate.usage import Usage

_LOOK = 0.1  # seconds after which an interrupt is noticed
_PATIENCE = 5.0  # seconds after which a model that has not answered is mentioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model is being asked from now on."""

    model: str
    """Its name on the board."""
    endpoint: str | None
    """The address that is asked."""


Heard = Asked | Answered | Problem
Tell = Callable[[Heard], None]


def side_by_side(
    questions: Sequence[Callable[[Tell], None]], report: CheckReport, *, workers: int, stop: threading.Event
) -> None:
    """Ask all questions and report what they tell from this thread; an interrupt, or an error, ends them."""
    reports: queue.SimpleQueue[Heard] = queue.SimpleQueue()
    silence = _Silence(report)
    stop.clear()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            waiting: list[Future[None]] = [pool.submit(question, reports.put) for question in questions]
            while waiting or not reports.empty():
                ended = [future for future in waiting if future.done()]
                waiting = [future for future in waiting if future not in ended]
                _drain(reports, silence, report)
                for future in ended:
                    future.result()
                silence.mention()
        except BaseException:
            stop.set()
            raise


def _drain(reports: queue.SimpleQueue[Heard], silence: _Silence, report: CheckReport) -> None:
    """Hand on all reports that have come, and wait a moment for the first of them."""
    timeout = _LOOK
    while True:
        try:
            what = reports.get(timeout=timeout)
        except queue.Empty:
            return
        timeout = 0.0
        if isinstance(what, Asked):
            silence.begins(what)
        else:
            silence.ends(what.model)
            report(what)


@dataclass(slots=True)
class _Silence:
    """The models that have not answered yet."""

    report: CheckReport
    _since: dict[str, tuple[Asked, float]] = field(default_factory=dict)

    def begins(self, asked: Asked) -> None:
        self._since[asked.model] = asked, time.monotonic()

    def ends(self, model: str) -> None:
        self._since.pop(model, None)

    def mention(self) -> None:
        """Report every model that has been silent for long, once."""
        for model, (asked, since) in list(self._since.items()):
            seconds = time.monotonic() - since
            if seconds >= _PATIENCE:
                del self._since[model]
                self.report(Silent(model=model, endpoint=asked.endpoint, seconds=seconds))


def understood(line: Mapping[str, Any], *, priced: str) -> Heard:
    """A line that the process wrote about the question to one model; ``priced`` is what prices call the model."""
    model = str(line["name"])
    if "asked" in line:
        return Asked(model=model, endpoint=line["asked"])
    if "failed" in line:
        return problem_of(line["failed"], model=model, stage=str(line["stage"]))
    read, written = line["tokens"]
    tokens = {priced: (read, written)} if read or written else {}
    served = line["served"] if isinstance(line["served"], str) else None
    return Answered(model=model, usage=Usage(calls=1, tokens=tokens, seconds=line["seconds"]), served=served)
