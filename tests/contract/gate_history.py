"""Many processes at one gate's ledger, each recording what it did: ``gate_history.py`` with a task as JSON on stdin.

The task is ``{"place", "folder", "seed", "processes", "operations"}``; printed is the history, a list of records::

    {"process": 3, "operation": "own", "began": 12.1, "ended": 12.2, "outcome": "done", "label": "3-1", "runs": 2,
     "use": 4, "level": 0.001, "head": "...", "is_new": true}

``outcome`` is ``done``, ``refused`` (a message for the user) or ``crashed``; ``head`` is the last event that the
operation saw, and ``is_new`` whether it says that it wrote that event itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.errors import BbedgeError
from bbedge.gate import read_ledger, record
from bbedge.gate.ledger import reserve
from gate_ledgers import SHARED, STUDY, made

SPREAD = 0.01  # seconds over which the processes start
SHARED_LABELS = ("merge-a", "merge-b")


class Process:
    """One of the processes: it does what its own random numbers say."""

    def __init__(self, number: int, task: dict[str, Any]) -> None:
        self.number, self.place = number, task["place"]
        self.rng = np.random.default_rng([task["seed"], number])
        self.turn = 0

    def run(self, operations: int) -> Iterator[dict[str, Any]]:
        time.sleep(self.rng.uniform(0.0, SPREAD))
        ways = [self.own, self.shared, self.shared, self.study, self.show]
        for self.turn in range(operations):
            yield self.record(ways[self.rng.integers(len(ways))])

    def record(self, operation: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        began, words = time.monotonic(), ""
        try:
            found = operation()
            outcome = "done"
        except BbedgeError as error:
            outcome, words = "refused", str(error)
        except Exception:
            outcome, words = "crashed", traceback.format_exc()
        about = {"process": self.number, "operation": operation.__name__, "began": began, "ended": time.monotonic()}
        return about | {"outcome": outcome, "words": words} | found

    def own(self) -> dict[str, Any]:
        """A label of its own, with the scores that others have, too."""
        return self._recorded(f"{self.number}-{self.turn}", seed=1, runs=1)

    def shared(self) -> dict[str, Any]:
        """A label that others use at the same time, with fewer or more runs."""
        label = SHARED_LABELS[self.rng.integers(2)]
        return self._recorded(label, seed=len(label) + ord(label[-1]), runs=int(self.rng.integers(1, 5)))

    def _recorded(self, label: str, *, seed: int, runs: int) -> dict[str, Any]:
        done = record(self.place, SHARED, made(seed, runs=runs, items=24), label=label)
        about = {"label": label, "runs": runs, "use": done.use.number, "level": done.use.level}
        return about | {"head": done.head, "is_new": not done.is_known}

    def study(self) -> dict[str, Any]:
        label = f"study-{self.number}"
        use = reserve(self.place, SHARED, made(1, runs=0, items=24), label=label, study=STUDY)
        return {"label": label, "runs": 0, "use": use.number, "level": use.level}

    def show(self) -> dict[str, Any]:
        ledger = read_ledger(self.place, forecasts=False)
        return {"head": ledger.head, "is_new": False}


def main() -> None:
    task = json.load(sys.stdin)
    folder = Path(task["folder"])
    children = []
    for number in range(task["processes"]):
        child = os.fork()
        if child == 0:
            try:
                records = list(Process(number, task).run(task["operations"]))
                (folder / f"history-{number}.json").write_text(json.dumps(records), encoding="utf-8")
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0, "a process of the history died"
    histories = [json.loads((folder / f"history-{n}.json").read_text()) for n in range(task["processes"])]
    json.dump([record for history in histories for record in history], sys.stdout)


if __name__ == "__main__":
    main()
