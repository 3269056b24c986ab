"""Everything that takes part in a study, by name: the methods, the pilot, kinds of evidence, the limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines import METHODS
from bbedge.baselines.bb_edge import REMADE, looked
from bbedge.core.design import Design
from bbedge.study.limit import z_test_edges
from bbedge.study.synthetic import SyntheticBenchmark

Array = NDArray[np.float64]

PILOT = "BB-EDGE + pilot"
LIMIT = "Holm z-test, one look"
KINDS: dict[str, dict[str, str]] = {
    "hoeffding": {"evidence": "hoeffding"},
    "bernstein": {"evidence": "bernstein"},
    "bernstein, two-way": {"evidence": "bernstein", "prediction": "two-way"},
    "sharp": {"evidence": "sharp"},
    "sharp, design stakes": {"evidence": "sharp", "stakes": "design"},
    "betting": {"evidence": "betting"},
    "betting, design stakes": {"evidence": "betting", "stakes": "design"},
    "betting, design stakes, two-way": {"evidence": "betting", "stakes": "design", "prediction": "two-way"},
}
"""Options of a design by the name of what they try; what is not said is as published."""

X_ONE_BLOCK = "BB-EDGE-X, one block"


def claims(
    name: str, benchmark: SyntheticBenchmark, design: Design, panels: Array, rng: np.random.Generator
) -> NDArray[np.generic]:
    """What a contender claims at every look: edges, or rank intervals for the methods that give only those."""
    if name == LIMIT:
        return z_test_edges(benchmark, design, panels)
    own = remade(name, benchmark, design)
    return METHODS[name].run(design, panels, rng) if own is None else looked(own, panels)


def gives_ranks(name: str) -> bool:
    """Whether a contender claims rank intervals and not edges."""
    return name in METHODS and METHODS[name].claims == "ranks"


def remade(name: str, benchmark: SyntheticBenchmark, design: Design) -> Design | None:
    """The design whose evidence a contender is, for those that are nothing else."""
    if name in REMADE:
        return REMADE[name](design)
    options = {X_ONE_BLOCK: {"blocks": "one", "method": "bb-edge-x"}, **KINDS}.get(name)
    if options is None:
        return None
    return benchmark.design(**{"blocks": design.blocks, "alpha": design.alpha, "tau": design.tau, **options})


def pilot_edges(design: Design, panels: Array, *, pilot: int, k: int) -> NDArray[np.bool_]:
    """Pilot-targeted Top-k: edges at the looks after the pilot, which itself is no evidence."""
    means = panels[:pilot].mean(axis=(0, 2))
    candidate = [design.models[i] for i in np.argsort(-means, kind="stable")[:k]]
    targeted = Design.make(
        design.models, design.items, blocks=design.blocks, alpha=design.alpha, tau=design.tau, candidate=candidate
    )
    return looked(targeted, panels[pilot:])
