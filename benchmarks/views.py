"""What ten views and missing scores cost a replicate and its look, against the headline alone without gaps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np

from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.records.values import EvidenceKind
from benchmarks.panels import Panel, panels
from benchmarks.rows import Row
from benchmarks.timing import ROOT, interleaved, ratio, told

SETTINGS = ("plain", "views", "gaps")
KINDS: tuple[EvidenceKind, ...] = ("sharp", "bernstein")
WORDS = {"views": "ten views that partition the items", "gaps": "one score in a thousand missing"}
VIEWS = 10
LIMITS = {"views": 2.0, "gaps": 2.5}
REPLICATES = 3


def design(setting: str, n_models: int, n_items: int, kind: EvidenceKind) -> Design:
    """The headline alone, with ten views that partition the items, or with missing scores allowed."""
    category = np.arange(n_items) * VIEWS // n_items
    return Design.make(
        [f"m{i}" for i in range(n_models)],
        [f"q{i}" for i in range(n_items)],
        method="bb-edge" if kind == "bernstein" else "bb-edge-x",
        evidence=kind,
        holm="direct",
        views={f"c{k}": (category == k).astype(float).tolist() for k in range(VIEWS)} if setting == "views" else None,
        gaps="worst-case" if setting == "gaps" else "refuse",
    )


def rows(*, quick: bool = False) -> list[Row]:
    """Two rows for each kind of evidence."""
    n_models, n_items, times = (60, 500, 2) if quick else (1000, 12_032, 5)
    return [row for kind in KINDS for row in _rows(kind, n_models, n_items, times)]


def _rows(kind: EvidenceKind, n_models: int, n_items: int, times: int) -> list[Row]:
    complete = list(panels(n_models, n_items, REPLICATES))
    works: dict[str, Callable[[], object]] = {}
    for setting in SETTINGS:
        given = [with_holes(panel) for panel in complete] if setting == "gaps" else complete
        certifier = Certifier(design(setting, n_models, n_items, kind))
        certifier.update(given[0])
        works[setting] = partial(_next_look, certifier, cycle(given[1:]))
    took = interleaved(works, times)
    peaks = {setting: peak_of_process(setting, kind, n_models, n_items) / 1e6 for setting in SETTINGS}
    return [
        Row(
            target=f"{WORDS[setting]}, {kind}, {n_models:,} models x {n_items:,} items: a replicate and its look, "
            "against the headline alone",
            measured=ratio(took[setting], took["plain"]),
            limit=LIMITS[setting],
            sides=told(took[setting], took["plain"], (setting, "headline")),
            note=f"peak memory of {REPLICATES} replicates and the leaderboard {peaks[setting]:,.0f} MB, headline "
            f"{peaks['plain']:,.0f} MB",
        )
        for setting in LIMITS
    ]


def _next_look(certifier: Certifier, given: Iterator[Panel]) -> object:
    return certifier.update(next(given))


def with_holes(panel: Panel) -> Panel:
    """The panel with one score in a thousand missing."""
    holes = panel.copy()
    holes[::7, ::143] = np.nan
    return holes


def peak_of_process(setting: str, kind: EvidenceKind, n_models: int, n_items: int) -> int:
    """Peak memory in bytes of a fresh process that certifies these sizes."""
    command = [sys.executable, "-m", "benchmarks.views", setting, kind, str(n_models), str(n_items)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def main(setting: str, kind: EvidenceKind, n_models: int, n_items: int) -> None:
    """Certify, and print the peak memory of this process."""
    certifier = Certifier(design(setting, n_models, n_items, kind))
    for panel in panels(n_models, n_items, REPLICATES):
        if setting == "gaps":
            panel = with_holes(panel)
        certifier.update(panel)
    certifier.leaderboard()
    # Not ru_maxrss, which begins with that of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(status.partition("VmHWM:")[2].split()[0]) * 1024)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))  # type: ignore[arg-type]
