"""From the evidence of a look to what is certified, by the procedure of the design."""

from __future__ import annotations

import numpy as np

from bbedge.core.arrays import Array
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.history import Look
from bbedge.core.mixture import joined
from bbedge.core.staggered import Wealth


class Procedure:
    """Looks at the evidence after each replicate, and remembers when a direction was first certified.

    ``batch`` are repetitions that run together, each with its own certificates.

    **Guarantee:** no look certifies a false direction, with probability at least ``1 - certificate_alpha``.
    """

    def __init__(self, design: Design, *, batch: tuple[int, ...] = ()) -> None:
        self._design = design
        self._batch = batch
        self.first: Array = np.zeros((*batch, len(design.models), len(design.models)), dtype=np.int64)
        """The look at which each direction was first certified; 0 if it never was."""

    def look(self, evidence: Evidence) -> Look:
        """What is certified now; in a design with memory, together with everything before."""
        design, space, alpha = self._design, evidence.space, self._design.certificate_alpha
        first, wealth = space.xp.asarray(self.first, device=space.device), None
        if design.holm == "staggered":
            groups = evidence.log_groups()
            wealth = Wealth(evidence, groups)
            edges = wealth.certify(first > 0, alpha)

            def log_e() -> Array:
                return evidence.tested_only(joined(space, groups))

        else:
            certifying = evidence.log_e()
            edges = e_holm(certifying, alpha=alpha, batch=len(self._batch))

            def log_e() -> Array:
                return certifying

        self.first = space.xp.where(edges & (first == 0), evidence.replicates, first)
        standing = self.first > 0
        return Look(
            replicate=evidence.replicates,
            log_e=log_e,
            edges=standing if design.has_memory else edges,
            alpha=alpha,
            log_w=None if wealth is None else lambda: wealth.log(standing),
        )
