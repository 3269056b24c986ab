"""The list of methods: what each guarantees, what it needs, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines import items, means, preferences
from bbedge.baselines.bb_edge import VARIANTS, plug_in_edges, run_by_name
from bbedge.baselines.references import REFERENCES
from bbedge.citation import Reference
from bbedge.core.design import Design
from bbedge.errors import DomainError

Array = NDArray[np.float64]
Validity = Literal["all looks", "one look", "none"]
"""Where the error is controlled: over all looks, at a single look fixed beforehand, or nowhere."""
Target = Literal["these items", "items like these"]
"""What a claim is about: further runs of the items at hand, or other items of the same kind."""
Need = Literal["2 runs", "2 blocks", "2 runs or 2 blocks", "blocks of one size"]
"""What a method cannot do without."""
Run = Callable[[Design, Array, np.random.Generator], NDArray[np.generic]]
"""Design, panels, and randomness to use where a method needs any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """The answer of a method to scores without what it needs. To claim nothing would be another answer."""

    need: Need
    """What is not there."""

    @property
    def reason(self) -> str:
        """The same in words: ``needs at least 2 runs``."""
        return f"needs {self.need}" if self.need == "blocks of one size" else f"needs at least {self.need}"


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
    run: Run
    """The method itself. It claims nothing at looks that are too early for it."""
    needs: tuple[Need, ...] = ()
    """What the last look must have for it to be more than a form."""
    target: Target = "these items"
    """What its claims are about."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """Where it is described."""
        return REFERENCES[self.name]

    def apply(self, design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.generic] | NotApplicable:
        """What it claims at every look, or why it cannot be used on these scores."""
        for need in self.needs:
            if not _has(need, design, runs=len(panels)):
                return NotApplicable(need=need)
        return self.run(design, panels, rng)


def _has(need: Need, design: Design, *, runs: int) -> bool:
    layout = design.layout
    match need:
        case "2 runs":
            return runs >= 2
        case "2 blocks":
            return layout.count >= 2
        case "2 runs or 2 blocks":
            return runs * layout.count >= 2
        case "blocks of one size":
            return len(set(layout.sizes.tolist())) == 1


def _edges(
    name: str, validity: Validity, assumes: str, run: Run, *needs: Need, target: Target = "these items"
) -> Method:
    return Method(name=name, claims="edges", validity=validity, assumes=assumes, run=run, needs=needs, target=target)


def _ranks(name: str, validity: Validity, assumes: str, run: Run, *needs: Need) -> Method:
    return Method(name=name, claims="ranks", validity=validity, assumes=assumes, run=run, needs=needs)


_BLOCKS = "independent replicates and blocks"
_NORMAL = "independent, nearly normal replicate means"
_LIMIT = "many replicates: its level holds only in the limit"
_STREAM = "items that are independent and alike"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *(
            _edges(name, "all looks", "independent replicates" if name == "CR-EDGE" else _BLOCKS, run_by_name(name))
            for name in VARIANTS
        ),
        _edges("BB-EDGE-PI", "all looks", _BLOCKS, plug_in_edges),
        _edges("AsympCS-Bonf", "none", _LIMIT, means.asymp_cs_edges, "2 runs"),
        _edges(
            "BEB-Holm",
            "one look",
            _BLOCKS + " of one size",
            means.beb_holm_edges,
            "blocks of one size",
            "2 runs or 2 blocks",
        ),
        _edges("t-Holm", "one look", _NORMAL, means.t_holm_edges, "2 runs"),
        _edges(
            "Item-t-Holm",
            "one look",
            "blocks that are a random sample of many like them",
            items.item_t_holm_edges,
            "2 blocks",
            target="items like these",
        ),
        _edges("SERPANT", "none", _STREAM, preferences.serpant_edges),
        _edges("SERPANT-R", "none", _STREAM, preferences.serpant_r_edges),
        # With one run its bootstrap over runs has no spread, and it would claim whatever was observed.
        _edges(
            "CBTL",
            "none",
            "preferences smooth in the order of items; one pair at a time",
            preferences.cbtl_edges,
            "2 runs",
        ),
        _edges("EMR", "none", "that means are exact", means.emr_edges),
        _ranks("TLRCI", "one look", _NORMAL, means.tlrci_ranks, "2 runs"),
        _ranks("MB-Rank", "one look", _LIMIT, means.mb_rank_ranks, "2 runs"),
    )
}
"""All methods by name."""


def method(name: str) -> Method:
    """The method of this name, in any case."""
    for known, each in METHODS.items():
        if known.lower() == name.lower():
            return each
    raise DomainError(f"unknown method {name!r}; choose from {', '.join(METHODS)}")
