"""Peak memory of a run in a fresh process: multiples of one replicate's scores, and arrays of models x models."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from bbedge.core.kinds import EvidenceKind
from bbedge.core.leaderboard import run
from benchmarks.panels import design, panels
from benchmarks.rows import Row
from benchmarks.timing import ROOT

KINDS: tuple[EvidenceKind, ...] = ("bernstein", "sharp")
SIZES = ((500, 4000), (500, 16_000), (1000, 4000), (1000, 12_032), (2000, 2000), (2000, 6000))
QUICK = ((100, 500), (100, 2000), (200, 500))
BASE = (64, 64)
"""A run so small that its memory is that of Python, NumPy and BLAS."""
REPLICATES = 3
LIMIT = 3.0


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each kind of evidence."""
    sizes = QUICK if quick else SIZES
    found = []
    for kind in KINDS:
        base = peak_of_process(kind, *BASE)
        peaks = [peak_of_process(kind, *size) - base for size in sizes]
        # Bytes as multiples of a panel and of a models x models array, both of float64.
        shapes = np.array([[8.0 * n_models * n_items, 8.0 * n_models**2] for n_models, n_items in sizes])
        scores, squares = np.linalg.lstsq(shapes / shapes[:, :1], np.array(peaks) / shapes[:, 0], rcond=None)[0]
        beyond = [(peak - LIMIT * panel) / square for peak, (panel, square) in zip(peaks, shapes, strict=True)]
        points = (
            f"{n_models:,} x {n_items:,}: {peak / 1e6:,.0f} MB, {peak / panel:.2f} panels"
            for (n_models, n_items), peak, (panel, _) in zip(sizes, peaks, shapes, strict=True)
        )
        found.append(
            Row(
                target=f"peak memory of a run, {kind}: panels of float64, besides arrays of models x models",
                measured=float(scores),
                limit=LIMIT,
                unit="panels",
                sides="; ".join(points),
                note=f"fitted: {scores:.2f} panels and {squares:.1f} arrays of models x models, over the "
                f"{base / 1e6:.0f} MB of a tiny run; with {LIMIT:.0f} panels taken off, {min(beyond):.1f} to "
                f"{max(beyond):.1f} such arrays are left",
            )
        )
    return found


def peak_of_process(kind: EvidenceKind, n_models: int, n_items: int) -> int:
    """Peak bytes of a fresh process that certifies panels as they come."""
    code = f"from benchmarks.memory import peak; print(peak({kind!r}, {n_models}, {n_items}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def peak(kind: EvidenceKind, n_models: int, n_items: int) -> int:
    """Certify in this process, and say what its memory came to."""
    run(design(n_models, n_items, kind), panels(n_models, n_items, REPLICATES))
    return peak_bytes()


def peak_bytes() -> int:
    """The most memory that this process held.

    On Linux a new process reports its parent's peak as its own through ``getrusage``, if that was higher; the
    high-water mark of its own memory does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
