"""What claims about new items cost beside those about these items, with the same runs.

``python -m benchmarks.targets cuda`` measures it on an accelerator; it needs nothing but the core and PyTorch.
"""

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
    certifier, seconds = Certifier(_design(target, n_models, n_items)), 0.0
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


def on_device(device: str, n_models: int, n_items: int, times: int = 5) -> None:
    """Print the seconds and the peak memory of both targets and of one, in turn; the scores are there before."""
    import torch

    there = [torch.asarray(panel, device=device) for panel in panels(n_models, n_items, RUNS)]
    seconds: dict[Target, list[float]] = {target: [] for target in TARGETS}
    peaks: dict[Target, float] = {}
    for _ in range(times + 1):  # the first time loads what the device needs
        for target in TARGETS:
            certifier = Certifier(_design(target, n_models, n_items))
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            for panel in there:
                certifier.update(panel)
            certifier.leaderboard()
            torch.cuda.synchronize()
            seconds[target].append(time.perf_counter() - start)
            peaks[target] = torch.cuda.max_memory_allocated() / 1e9
    least = {target: min(each[1:]) for target, each in seconds.items()}
    print(
        f"{device}, {n_models:,} models x {n_items:,} items x {RUNS} runs: both / benchmark "
        f"{least['both'] / least['benchmark']:.2f}; "
        + "; ".join(f"{target} {least[target]:.3f} s, peak {peaks[target]:.2f} GB" for target in TARGETS)
    )


def _design(target: Target, n_models: int, n_items: int) -> Design:
    return Design.make(
        [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)], target=target, planned=RUNS
    )


if __name__ == "__main__":
    if sys.argv[1] in TARGETS:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))  # type: ignore[arg-type]
    else:
        on_device(sys.argv[1], *map(int, sys.argv[2:4] or (1000, 12_032)))
