"""BB-EDGE in all its kinds, and the rivals that differ from it in one part: BFH-e-Holm, CR-EDGE and BB-EDGE-PI.

**Assumes:** independent replicates, and independent blocks (CR-EDGE: replicates only). **Repeated looks:** valid.
BFH-e-Holm pays Hoeffding's penalty ``u^2 / 8`` instead of one that adapts to the variance; CR-EDGE takes the whole
replicate as one block; BB-EDGE-PI stakes one value per direction, chosen from earlier replicates, instead of a mixture.
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
from bbedge.core.penalties import bernstein_psi
from bbedge.core.procedure import Procedure
from bbedge.core.stakes import CENTRED_MAX, paper_stakes

Array = NDArray[np.float64]
Edges = NDArray[np.bool_]


def edges_at_looks(design: Design, panels: Array, *, device: str | None = None) -> Edges:
    """The edges of a design at every look; of a method with memory, all edges so far.

    ``panels`` are replicates x models x items, or replicates x repetitions x models x items: then independent
    repetitions run side by side, which is what a device is good at.
    """
    batch = panels.shape[1:-2]
    evidence, procedure = Evidence(design, device=device, batch=batch), Procedure(design, batch=batch)
    found = []
    for panel in panels:
        evidence.update(panel)
        found.append(procedure.look(evidence).edges_there)
    return to_numpy(evidence.space.xp.stack(found))


def _with(design: Design, kind: EvidenceKind) -> Design:
    return replace(
        design,
        method="bb-edge",
        evidence=kind,
        stakes=paper_stakes(),
        margin_share=0.0,
        holm="direct",
        planned=None,
    )


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


VARIANTS: dict[str, Callable[[Design], Design]] = {
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
        return edges_at_looks(VARIANTS[name](design), panels)

    return run


def plug_in_edges(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """BB-EDGE-PI: stakes ``min(0.95, 0.5 max(0, mu - mu0) / V)`` from regularised estimates of mean and variance.

    **Repeated looks:** valid, since the stake of a replicate depends on earlier ones only.
    """
    layout, mu0 = design.layout, design.mu0
    count = np.arange(1, len(panels) + 1, dtype=np.float64)
    means = np.stack([layout.means(panel) for panel in panels])
    earlier = np.cumsum(means, axis=0) - means
    residuals = means - earlier / count[:, None, None]
    shift = design.tau / (2.0 * count)
    squares = [_pair_squares(residuals[:, :, layout.sizes == size], shift) for size in np.unique(layout.sizes)]
    # Y = (difference + 1) / 2 per block.
    sums = means.sum(axis=2)
    y_sum = (sums[:, :, None] - sums[:, None, :] + layout.count) / 2.0
    seen = layout.count * (count - 1.0)[:, None, None]
    mean = (mu0 + np.cumsum(y_sum, axis=0) - y_sum) / (1.0 + seen)
    all_squares = np.sum(squares, axis=0)
    variance = (0.25 + np.cumsum(all_squares, axis=0) - all_squares) / (1.0 + seen)
    stake = np.minimum(CENTRED_MAX, 0.5 * np.maximum(0.0, mean - mu0) / variance)
    weighted = panels.mean(axis=2)
    advantage = (weighted[:, :, None] - weighted[:, None, :] - design.tau) / 2.0
    gain = stake * (len(design.items) / layout.largest) * advantage
    for size, square in zip(np.unique(layout.sizes), squares, strict=True):
        gain -= bernstein_psi(stake * (size / layout.largest)) * square
    log_e = np.where(design.tested, np.cumsum(gain, axis=0), np.nan)
    return np.array([e_holm(look, alpha=design.alpha) for look in log_e])


def _pair_squares(residuals: Array, shift: Array) -> Array:
    """``sum_m x^2`` of every direction in every replicate, ``x = (res_a - res_b) / 2 - shift``."""
    half = (residuals - residuals.mean(axis=1, keepdims=True)) / 2.0
    gram = half @ half.transpose(0, 2, 1)
    own = np.diagonal(gram, axis1=1, axis2=2)
    totals = half.sum(axis=2)
    shift = shift[:, None, None]
    squares = own[:, :, None] + own[:, None, :] - 2.0 * gram
    squares += -2.0 * shift * (totals[:, :, None] - totals[:, None, :]) + residuals.shape[2] * shift**2
    result: Array = np.maximum(squares, 0.0)
    return result
