"""Peak memory of a run in a fresh process: multiples of one replicate's scores, and arrays of models x models."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from bbedge.core.leaderboard import run
from bbedge.records.values import EvidenceKind
from benchmarks.panels import design, panels
from benchmarks.rows import Row
from benchmarks.timing import ROOT

KINDS: tuple[EvidenceKind, ...] = ("bernstein", "sharp")
MODELS = {500: (4000, 16_000), 1000: (4000, 12_032), 2000: (2000, 6000)}
"""Two numbers of items for each number of models: what the second takes more is due to the panels alone."""
QUICK = {100: (500, 2000), 200: (500, 1000)}
FEW = 2
"""With so few models, memory is that of Python, NumPy and the names of the items."""
REPLICATES = 3
LIMIT = 3.0


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each kind of evidence."""
    return [_row(kind, QUICK if quick else MODELS) for kind in KINDS]


def _row(kind: EvidenceKind, sizes: dict[int, tuple[int, int]]) -> Row:
    bases = {n_items: peak_of_process(kind, FEW, n_items) for pair in sizes.values() for n_items in pair}
    slopes, squares, points = [], [], []
    for n_models, pair in sizes.items():
        peaks = [peak_of_process(kind, n_models, n_items) - bases[n_items] for n_items in pair]
        slopes.append((peaks[1] - peaks[0]) / (8 * n_models * (pair[1] - pair[0])))
        for n_items, peak in zip(pair, peaks, strict=True):
            squares.append((peak - LIMIT * 8 * n_models * n_items) / (8 * n_models**2))
            points.append(f"{n_models:,} x {n_items:,}: {peak / 1e6:,.0f} MB, {peak / (8 * n_models * n_items):.2f}")
    told = ", ".join(f"{slope:.2f} at {n_models:,} models" for n_models, slope in zip(sizes, slopes, strict=True))
    return Row(
        target=f"peak memory of a run, {kind}: panels of float64 besides arrays of models x models",
        measured=max(slopes),
        limit=LIMIT,
        unit="panels",
        sides=f"models x items: peak and how many panels that is: {'; '.join(points)}",
        note=f"what more items add: {told}; besides {LIMIT:.0f} panels, {min(squares):.1f} to {max(squares):.1f} "
        f"arrays of models x models are left; all over the {min(bases.values()) / 1e6:.0f} MB of a run of {FEW} models",
    )


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
