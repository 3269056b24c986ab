"""Recorded histories of many processes at one gate's ledger, compared with what a ledger promises.

Every acknowledged report is an event of the ledger, once; what anybody saw is a part of what is there in the end; an
operation that began after another had ended sees what that one did; a label is one use with one level; and a report is
never about fewer runs than one that was acknowledged before it began. The checker is shown faults that it must find.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbedge.errors import BbedgeError
from bbedge.gate import read_ledger
from bbedge.gate.admit import verify_session
from bbedge.gate.uses import level_of
from bbedge.ledger.store import Store
from gate_ledgers import SHARED

SCRIPT = Path(__file__).with_name("gate_history.py")
WRITER = Path(__file__).with_name("gate_writer.py")
Record = dict[str, Any]


def environment() -> dict[str, str]:
    tests = str(Path(__file__).parents[1])
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), tests]),
    }


def run(place: str, folder: Path, seed: int, *, operations: int = 5) -> list[Record]:
    folder.mkdir()
    task = {"place": place, "folder": str(folder), "seed": seed, "processes": 8, "operations": operations}
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def problems(history: list[Record], last: list[tuple[str, str]]) -> list[str]:
    """What contradicts the promises. ``last`` has the hash and the kind of every event that is there in the end."""
    found = [f"crashed: {record['words']}" for record in history if record["outcome"] == "crashed"]
    done = sorted((record for record in history if record["outcome"] == "done"), key=lambda record: record["ended"])
    place = {event: number for number, (event, _) in enumerate(last)}
    seen = [record for record in done if "head" in record]
    found += [f"{record['operation']} saw an event that is gone" for record in seen if record["head"] not in place]
    written = [record["head"] for record in seen if record["is_new"]]
    if len(set(written)) < len(written):
        found.append("an event was acknowledged twice")
    if [event for event, kind in last if kind == "decided" and event not in written]:
        found.append("there is a report that nobody acknowledged")
    found += [
        f"{other['operation']} saw less than an operation that had ended"
        for one in seen
        for other in seen
        if one["ended"] < other["began"] and place.get(one["head"], -1) > place.get(other["head"], len(last))
    ]
    uses: dict[str, tuple[int, float]] = {}
    for record in done:
        if "label" not in record:
            continue
        use = record["use"], record["level"]
        if uses.setdefault(record["label"], use) != use:
            found.append(f"the label {record['label']} is two uses")
        earlier = [each for each in done if each.get("label") == record["label"] and each["ended"] < record["began"]]
        if any(0 < record["runs"] < each["runs"] for each in earlier):
            found.append(f"{record['label']}: fewer runs were accepted after more")
    if len(set(uses.values())) < len(uses):
        found.append("two labels are one use")
    return found


def final(place: str) -> list[tuple[str, str]]:
    store = Store(place, what="ledger")
    with store.read() as session:
        done = verify_session(session)
        events = [(event.hash, event.kind) for event in session.events()]
    assert store.problems() == []
    assert done.spent <= SHARED.alpha
    assert [use.level for use in read_ledger(place, forecasts=False).uses] == [
        level_of(SHARED, number) for number in range(1, done.uses + 1)
    ]
    return events


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_a_history_keeps_what_it_promises(place, tmp_path, seed):
    history = run(place, tmp_path / "work", seed, operations=8)
    assert problems(history, final(place)) == []
    assert {record["operation"] for record in history if record["outcome"] == "done"} >= {"own", "shared", "study"}
    assert any(record["outcome"] == "refused" for record in history)


@pytest.mark.every_push("eight processes record at the same time")
def test_a_short_history_keeps_what_it_promises(place, tmp_path):
    assert problems(run(place, tmp_path / "work", 7, operations=2), final(place)) == []


def record(operation: str, began: float, head: str, **about: Any) -> Record:
    values = {"operation": operation, "began": began, "ended": began + 0.5, "outcome": "done", "head": head}
    return values | {"is_new": True, "label": head, "runs": 1, "use": ord(head), "level": 0.01, "words": ""} | about


LAST = [("p", "policy"), ("x", "begun"), ("a", "decided"), ("y", "begun"), ("b", "decided")]
SOUND = [record("own", 0, "a"), record("own", 1, "b"), record("own", 2, "b", is_new=False)]

FAULTS: dict[str, tuple[Callable[[], list[Record]], list[tuple[str, str]], str]] = {
    "a lost event": (lambda: SOUND, LAST[:3], "is gone"),
    "a doubled event": (lambda: [*SOUND, record("own", 3, "b")], LAST, "acknowledged twice"),
    "a report of nobody": (lambda: SOUND, [*LAST, ("c", "decided")], "nobody acknowledged"),
    "a stale view": (lambda: [*SOUND, record("show", 9, "a", is_new=False)], LAST, "saw less"),
    "a label with two uses": (lambda: [*SOUND, record("own", 1, "b", is_new=False, use=9)], LAST, "is two uses"),
    "two labels of one use": (lambda: [*SOUND, record("own", 1, "b", is_new=False, label="z")], LAST, "are one use"),
    "a traceback": (lambda: [*SOUND, record("own", 9, "b", outcome="crashed")], LAST, "crashed"),
    "fewer runs": (
        lambda: [record("own", 0, "a", runs=3), record("own", 5, "b", label="a", use=97)],
        LAST,
        "fewer runs were accepted",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_finds_a_planted_fault(fault):
    assert problems(SOUND, LAST) == []
    history, last, words = FAULTS[fault]
    assert any(words in each for each in problems(history(), last))


def killed(place: Path, after: float) -> list[Record]:
    """What a process said that it had recorded before it was killed."""
    process = subprocess.Popen(
        [sys.executable, str(WRITER), str(place)], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    return [json.loads(line) for line in said.splitlines() if line.endswith("}")]


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(1, marks=pytest.mark.every_push("a process that is killed")),
        pytest.param(100, marks=pytest.mark.nightly),
    ],
)
def test_what_was_said_to_be_recorded_survives_a_kill_at_any_moment(tmp_path, moments):
    said: dict[str, Record] = {}
    place = tmp_path / "gate.bbedge"
    for moment in range(moments):
        said |= {each["label"]: each for each in killed(place, 0.05 + 0.003 * moment)}
    if not said and not place.exists():
        with pytest.raises(BbedgeError, match="no ledger here yet"):
            read_ledger(place)
        return
    events = dict(final(str(place)))
    uses = {use.label: use for use in read_ledger(place, forecasts=False).uses}
    for label, each in said.items():
        assert each["head"] in events
        assert (uses[label].number, uses[label].level) == (each["use"], each["level"])
        assert uses[label].report is not None
