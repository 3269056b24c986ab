"""BB-EDGE in all its kinds, and the two rivals that differ from it in one part: BFH-e-Holm and CR-EDGE.

**Assumes:** independent replicates, and independent blocks (CR-EDGE: replicates only). **Repeated looks:** valid.
BFH-e-Holm pays Hoeffding's penalty ``u^2 / 8`` instead of one that adapts to the variance; CR-EDGE takes the whole
replicate as one block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.kinds import EvidenceKind
from bbedge.core.stakes import paper_stakes

Array = NDArray[np.float64]
Edges = NDArray[np.bool_]


def looked(design: Design, panels: Array, *, device: str | None = None) -> Edges:
    """The edges of a design at every look.

    ``panels`` are replicates x models x items, or replicates x repetitions x models x items: then independent
    repetitions run side by side, which is what a device is good at.
    """
    batch = panels.shape[1:-2]
    evidence = Evidence(design, device=device, batch=batch)
    found = []
    for panel in panels:
        evidence.update(panel)
        found.append(e_holm(evidence.log_e(), alpha=design.alpha, batch=len(batch)))
    return to_numpy(evidence.space.xp.stack(found))


def _with(design: Design, kind: EvidenceKind) -> Design:
    return replace(design, method="bb-edge", evidence=kind, stakes=paper_stakes())


def _extended(design: Design) -> Design:
    return Design.make(
        design.models,
        design.items,
        blocks=design.blocks,
        alpha=design.alpha,
        tau=design.tau,
        method="bb-edge-x",
        prediction=design.prediction,
        candidate=design.family.candidate or None,
        newcomer=design.family.newcomer,
        score_range=design.score_range,
    )


REMADE: dict[str, Callable[[Design], Design]] = {
    "BB-EDGE": lambda design: _with(design, "bernstein"),
    "BB-EDGE-sharp": lambda design: _with(design, "sharp"),
    "BB-EDGE-betting": lambda design: _with(design, "betting"),
    "BB-EDGE-X": _extended,
    "BFH-e-Holm": lambda design: _with(design, "hoeffding"),
    "CR-EDGE": lambda design: replace(_with(design, "bernstein"), blocks=("one",) * len(design.items)),
}
"""The methods here by name: each is the evidence of a design made from the one it is given."""


def run_by_name(name: str) -> Callable[[Design, Array, np.random.Generator], Edges]:
    """One of these methods, as a function of design, panels and randomness, of which it needs none."""

    def run(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
        return looked(REMADE[name](design), panels)

    return run
