"""The list of methods and what each guarantees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines import means, preferences
from bbedge.baselines.bb_edge import VARIANTS, plug_in_edges, run_by_name
from bbedge.core.design import EDITIONS, Design
from bbedge.errors import DomainError

Array = NDArray[np.float64]
Validity = Literal["all looks", "one look", "none"]
"""Where the error is controlled: over all looks, at a single look fixed beforehand, or nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way of making claims."""

    name: str
    """What it is called."""
    claims: Literal["edges", "ranks"]
    """What it returns at every look."""
    validity: Validity
    """Where its error is controlled, if what it assumes is true."""
    assumes: str
    """What it assumes, in one line."""
    run: Callable[[Design, Array, np.random.Generator], NDArray[np.generic]]
    """The method itself: design, panels, randomness to use where it needs any."""

    @property
    def edition(self) -> int | None:
        """The edition that is run, of a method that ``certify`` offers."""
        return EDITIONS.get(self.name.lower())


def _edges(name: str, validity: Validity, assumes: str, run: Callable[..., NDArray[np.bool_]]) -> Method:
    return Method(name=name, claims="edges", validity=validity, assumes=assumes, run=run)


def _ranks(name: str, validity: Validity, assumes: str, run: Callable[..., NDArray[np.int64]]) -> Method:
    return Method(name=name, claims="ranks", validity=validity, assumes=assumes, run=run)


_BLOCKS = "independent replicates and blocks"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *(
            _edges(name, "all looks", "independent replicates" if name == "CR-EDGE" else _BLOCKS, run_by_name(name))
            for name in VARIANTS
        ),
        _edges("BB-EDGE-PI", "all looks", _BLOCKS, plug_in_edges),
        _edges("AsympCS-Bonf", "none", "many replicates: its level holds only in the limit", means.asymp_cs_edges),
        _edges("BEB-Holm", "one look", _BLOCKS + " of one size", means.beb_holm_edges),
        _edges("t-Holm", "one look", "independent, nearly normal replicate means", means.t_holm_edges),
        _edges("SERPANT", "none", "items that are independent and alike", preferences.serpant_edges),
        _edges("SERPANT-R", "none", "items that are independent and alike", preferences.serpant_r_edges),
        _edges("CBTL", "none", "preferences smooth in the order of items; one pair at a time", preferences.cbtl_edges),
        _edges("EMR", "none", "that means are exact", means.emr_edges),
        _ranks("TLRCI", "one look", "independent, nearly normal replicate means", means.tlrci_ranks),
        _ranks("MB-Rank", "one look", "many replicates: its level holds only in the limit", means.mb_rank_ranks),
    )
}
"""All methods by name."""


def method(name: str) -> Method:
    """The method of this name, in any case."""
    for known, each in METHODS.items():
        if known.lower() == name.lower():
            return each
    raise DomainError(f"unknown method {name!r}; choose from {', '.join(METHODS)}")
