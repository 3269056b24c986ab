"""BB-EDGE in all its kinds, and the two rivals that differ from it in one part: BFH-e-Holm and CR-EDGE.

**Assumes:** independent replicates, and independent blocks (CR-EDGE: replicates only). **Repeated looks:** valid.
BFH-e-Holm pays Hoeffding's penalty ``u^2 / 8`` instead of one that adapts to the variance; CR-EDGE takes the whole
replicate as one block.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.kinds import EvidenceKind
from bbedge.core.stakes import paper_stakes

Array = NDArray[np.float64]
Edges = NDArray[np.bool_]


def looked(design: Design, panels: Array) -> Edges:
    """The edges of a design at every look."""
    evidence = Evidence(design)
    found = []
    for panel in panels:
        evidence.update(panel)
        found.append(e_holm(evidence.log_e(), alpha=design.alpha))
    return np.array(found)


def _with(design: Design, kind: EvidenceKind) -> Design:
    return replace(design, method="bb-edge", evidence=kind, stakes=paper_stakes())


def published(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """BB-EDGE: empirical Bernstein, 41 stakes."""
    return looked(_with(design, "bernstein"), panels)


def sharp(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """Sharp evidence of order 4, 41 stakes."""
    return looked(_with(design, "sharp"), panels)


def betting(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """Exact betting, 41 stakes."""
    return looked(_with(design, "betting"), panels)


def hoeffding(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """BFH-e-Holm: Hoeffding's penalty, 41 stakes."""
    return looked(_with(design, "hoeffding"), panels)


def extended(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """BB-EDGE-X, as the preset chooses."""
    remade = Design.make(
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
    return looked(remade, panels)


def one_block(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """CR-EDGE: BB-EDGE with the complete replicate as one block."""
    return looked(replace(_with(design, "bernstein"), blocks=("one",) * len(design.items)), panels)
