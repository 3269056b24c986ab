"""What claims about new items cost beside those about these items, with the same runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.records.values import Target
from benchmarks.panels import panels
from benchmarks.rows import Row
from benchmarks.timing import ROOT

RUNS = 5
LIMIT = 1.5
TARGETS: tuple[Target, ...] = ("benchmark", "both")
# Threads that wait for each other on a busy machine would count as work: up to four times as much in all.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}


def rows(*, quick: bool = False) -> list[Row]:
    """One row: CPU seconds of all runs, each with its look, and of the leaderboard."""
    n_models, n_items, times = (60, 500, 1) if quick else (1000, 12_032, 2)
    found = {target: [_of_process(target, n_models, n_items) for _ in range(times)] for target in TARGETS}
    least = {target: min(its["seconds"] for its in each) for target, each in found.items()}
    peaks = {target: max(its["bytes"] for its in each) / 1e6 for target, each in found.items()}
    return [
        Row(
            target=f"both targets, {n_models:,} models x {n_items:,} items x {RUNS} planned runs: every run and its "
            "look, against the benchmark alone",
            measured=least["both"] / least["benchmark"],
            limit=LIMIT,
            sides=f"both {least['both']:.3g} s, benchmark {least['benchmark']:.3g} s of CPU, one thread (shortest of "
            f"{times})",
            note=f"peak memory {peaks['both']:,.0f} MB, benchmark {peaks['benchmark']:,.0f} MB",
        )
    ]


def _of_process(target: Target, n_models: int, n_items: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.targets", target, str(n_models), str(n_items)]
    environment = os.environ | ONE_THREAD
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(target: Target, n_models: int, n_items: int) -> None:
    """Certify, and print the CPU seconds and the peak memory of this process."""
    design = Design.make(
        [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)], target=target, planned=RUNS
    )
    certifier, seconds = Certifier(design), 0.0
    for panel in panels(n_models, n_items, RUNS):  # making them does not count
        start = time.process_time()
        certifier.update(panel)
        seconds += time.process_time() - start
    start = time.process_time()
    certifier.leaderboard()
    seconds += time.process_time() - start
    # Not ru_maxrss, which begins with that of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(json.dumps({"seconds": seconds, "bytes": int(status.partition("VmHWM:")[2].split()[0]) * 1024}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))  # type: ignore[arg-type]
