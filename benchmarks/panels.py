"""Made-up panels and the designs for them, the same whenever they are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.core.design import Design
from bbedge.records.values import EvidenceKind

Panel = NDArray[np.float64]


def panels(n_models: int, n_items: int, replicates: int, *, seed: int = 0) -> Iterator[Panel]:
    """Right and wrong answers of models of rising ability on items of mixed difficulty, one replicate at a time.

    No array but the panel itself is as large as a panel, so that memory can be measured around this.
    """
    rng = np.random.default_rng(seed)
    ability, hardness = np.linspace(0.3, 0.8, n_models), rng.normal(0.0, 0.15, n_items)
    for _ in range(replicates):
        panel = rng.random((n_models, n_items))
        for row, level in zip(panel, ability, strict=True):
            np.less(row, np.clip(level + hardness, 0.02, 0.98), out=row)
        yield panel
        del panel, row  # before the next is made


def design(
    n_models: int,
    n_items: int,
    kind: EvidenceKind,
    *,
    blocks: Sequence[str] | None = None,
    stakes: Sequence[float] | None = None,
) -> Design:
    """A design with the stakes that the kind of evidence is used with: the paper's, or those fitted to the sizes."""
    return Design.make(
        [f"m{i}" for i in range(n_models)],
        [f"q{i}" for i in range(n_items)],
        method="bb-edge",
        evidence=kind,
        blocks=blocks or "item",
        stakes=None if stakes else "paper" if kind == "bernstein" else "design",
        grid=stakes,
    )
