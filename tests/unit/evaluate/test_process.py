"""Calls end completely, whoever ends them, and nothing else does."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bbedge.evaluate.engines import process
from bbedge.evaluate.engines.process import Stopped, TimeUp, call, end_leftovers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

HELPER = "import time; time.sleep(3600)"
PROGRAM = f"""
import os, pathlib, signal, subprocess, sys, time
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = subprocess.Popen([sys.executable, "-c", {HELPER!r}])
pathlib.Path(sys.argv[1] + ".new").write_text(f"{{os.getpid()}} {{helper.pid}}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
if "ends" in sys.argv: sys.exit(int(sys.argv[-1]))
time.sleep(3600)
"""
RUNNER = """
import sys, threading, pathlib
from bbedge.evaluate.engines.process import call
folder = pathlib.Path(sys.argv[1])
with (folder / "log.txt").open("wb") as log:
    call(sys.argv[2:], home=folder, folder=folder, log=log, timeout=None, stop=threading.Event())
"""


def until(condition):
    """Wait for what must come, however slow the machine is; what does not come at all fails."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("it did not happen")


def words(pids, *more):
    return [sys.executable, "-c", PROGRAM, str(pids), *more]


def numbers(pids):
    """The numbers of the program and its helper, as soon as both run."""
    until(pids.exists)
    return [int(number) for number in pids.read_text().split()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def assert_ended(pids):
    until(lambda: not any(is_running(pid) for pid in pids))


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "replicate-00001" / "model-001" / "attempt-00001"
    place.mkdir(parents=True)
    return place


def run(folder, *more, timeout=None, stop=None):
    with (folder / "log.txt").open("wb") as log:
        return call(
            words(folder / "pids", *more),
            home=folder,
            folder=folder,
            log=log,
            timeout=timeout,
            stop=stop or threading.Event(),
        )


def test_the_time_limit_ends_the_program_and_its_helpers(folder, monkeypatch):
    pids = folder / "pids"
    monkeypatch.setattr(process.time, "monotonic", lambda: 100.0 if pids.exists() else 0.0)
    with pytest.raises(TimeUp):
        run(folder, timeout=50.0)
    assert_ended(numbers(pids))
    assert not (folder / "process.json").exists()


@pytest.mark.parametrize("kind", ["obedient", "stubborn"])
def test_a_stop_ends_the_program_and_its_helpers(folder, monkeypatch, kind):
    monkeypatch.setattr(process, "_GRACE", 5.0 if kind == "obedient" else 0.0)
    stop = threading.Event()
    waiter = threading.Thread(target=lambda: (numbers(folder / "pids"), stop.set()))
    waiter.start()
    with pytest.raises(Stopped):
        run(folder, kind, stop=stop)
    waiter.join()
    assert_ended(numbers(folder / "pids"))


def test_a_failure_ends_the_helpers_and_a_success_leaves_them(folder):
    assert run(folder, "ends", "3") == 3
    assert_ended(numbers(folder / "pids")[1:])
    (folder / "pids").unlink()
    assert run(folder, "ends", "0") == 0
    _, helper = numbers(folder / "pids")
    assert is_running(helper)
    os.kill(helper, signal.SIGKILL)


@pytest.mark.nightly
@pytest.mark.parametrize("leader", ["alive", "gone"])
def test_the_next_runner_ends_what_a_killed_one_has_left(folder, tmp_path, leader):
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(folder), *words(folder / "pids")])
    program, helper = numbers(folder / "pids")
    record = folder / "process.json"
    until(lambda: record.exists() and record.read_text().endswith("}"))
    runner.kill()
    runner.wait()
    assert is_running(program)
    if leader == "gone":
        os.kill(program, signal.SIGKILL)
        until(lambda: not is_running(program))
    assert end_leftovers(tmp_path) == [folder]
    assert_ended([program, helper])
    assert end_leftovers(tmp_path) == []


@pytest.mark.parametrize("change", ["start", "boot", "nothing known"])
def test_a_process_that_has_the_number_now_is_left_alone(folder, tmp_path, change):
    other = subprocess.Popen([sys.executable, "-c", HELPER], start_new_session=True)
    try:
        start = process._start(other.pid)
        known = {"pid": other.pid, "start": start, "boot": process._boot(), "mark": str(folder)}
        wrong = {"start": start - 1, "boot": "another"}
        changed = {change: wrong[change]} if change in wrong else {"start": None}
        (folder / "process.json").write_text(json.dumps(known | changed))
        end_leftovers(tmp_path)
        assert is_running(other.pid)
        (folder / "process.json").write_text(json.dumps(known))
        end_leftovers(tmp_path)
        assert other.wait(timeout=30) == -signal.SIGKILL
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"pid": "x", "start": 1, "boot": null, "mark": 1}', "\0"])
def test_a_record_that_is_damaged_ends_nothing(folder, tmp_path, content):
    (folder / "process.json").write_text(content)
    assert end_leftovers(tmp_path) == [folder]
