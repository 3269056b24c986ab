"""The numbers stay right where there are thousands of models: a sample of directions, each computed by itself.

.venv/bin/python -m benchmarks.scale --models 5041 --items 600
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from bbedge.core.evidence import Evidence
from bbedge.records.values import EvidenceKind
from benchmarks.naive import TOLERANCE, Naive
from benchmarks.panels import design, panels
from benchmarks.rows import Row

KINDS: tuple[EvidenceKind, ...] = ("bernstein", "sharp")
REPLICATES = 2
FULL = (5041, 600, 1000)
SMALL = (120, 100, 100)


def largest_gap(kind: EvidenceKind, n_models: int, n_items: int, directions: int, *, seed: int = 9) -> float:
    """The largest difference in log evidence over a random sample of directions, relative where it is above one."""
    made = design(n_models, n_items, kind)
    evidence = Evidence(made)
    for panel in panels(n_models, n_items, REPLICATES, seed=seed):
        evidence.update(panel)
    log_e = evidence.log_e()
    rng = np.random.default_rng(seed)
    first = rng.integers(n_models, size=directions)
    second = (first + rng.integers(1, n_models, size=directions)) % n_models
    # Each direction sees the two rows of its own models and nothing else.
    naive = [Naive(made, np.array([0]), np.array([1])) for _ in range(directions)]
    # The panels are made again: kept together they could take more memory than the evidence.
    for panel in panels(n_models, n_items, REPLICATES, seed=seed):
        for a, b, one in zip(first, second, naive, strict=True):
            one.update(panel[[a, b]])
    want = np.array([one.log_e()[0] for one in naive])
    return float(np.max(np.abs(log_e[first, second] - want) / np.maximum(1.0, np.abs(want))))


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each kind of evidence."""
    n_models, n_items, directions = SMALL if quick else FULL
    return [
        Row(
            target=f"right at scale, {kind}: {n_models:,} models x {n_items:,} items x {REPLICATES} replicates, "
            f"{directions:,} directions drawn at random and computed one by one",
            measured=largest_gap(kind, n_models, n_items, directions),
            limit=TOLERANCE,
            unit="apart",
        )
        for kind in KINDS
    ]


def main() -> int:
    """Print the largest differences; 1 if one is above the tolerance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=FULL[0])
    parser.add_argument("--items", type=int, default=FULL[1])
    parser.add_argument("--directions", type=int, default=FULL[2])
    chosen = parser.parse_args()
    status = 0
    for kind in KINDS:
        gap = largest_gap(kind, chosen.models, chosen.items, chosen.directions)
        print(f"{kind}: {gap:.1e} apart over {chosen.directions:,} directions of {chosen.models:,} models")
        status |= not gap <= TOLERANCE
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
