"""The family of a design: which directions are tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.kinds import FamilyKind
from bbedge.errors import DesignError
from bbedge.text import quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Which directions are tested."""

    kind: FamilyKind = "all"
    """``all`` directions, or only those from a candidate set to the models outside it."""
    candidate: tuple[str, ...] = ()
    """The Top-k candidate of a ``cross-set`` family."""
    newcomer: str | None = None
    """A model that was added later: only the directions of the family that touch it are tested."""

    def check(self, models: Sequence[str]) -> None:
        """Refuse a family that is not one of these models."""
        if self.newcomer is not None and self.newcomer not in models:
            raise DesignError(f"the newcomer {quoted(self.newcomer)} is not a model of the design")
        if self.kind == "all":
            return
        unknown = sorted(set(self.candidate) - set(models))
        if unknown:
            raise DesignError(f"the Top-k candidate names {quoted(unknown[0])}, which is not a model of the design")
        size = len(set(self.candidate))
        if not 1 <= size < len(models):
            raise DesignError(f"a Top-k candidate of {size} of {len(models)} models leaves nothing to compare")
        if self.newcomer in self.candidate:
            raise DesignError(f"the newcomer {self.newcomer!r} cannot be in a candidate chosen before it came")

    def mask(self, models: Sequence[str], rows: slice = slice(None), cols: slice = slice(None)) -> NDArray[np.bool_]:
        """Tested directions as a models x models mask, row against column; or some rows and columns of it."""
        names = np.array(models, dtype=object)
        if self.kind == "all":
            places = np.arange(len(models))
            mask: NDArray[np.bool_] = places[rows, None] != places[cols]
        else:
            inside = np.isin(names, np.array(self.candidate, dtype=object))
            mask = inside[rows, None] & ~inside[cols]
        if self.newcomer is not None:
            new = names == self.newcomer
            mask &= new[rows, None] | new[cols]
        return mask

    def count(self, n_models: int) -> int:
        """Number of tested directions among so many models, without making the mask.

        >>> Family().count(50_000)
        2499950000
        """
        if self.kind == "all":
            return n_models * (n_models - 1) if self.newcomer is None else 2 * (n_models - 1)
        inside = len(set(self.candidate))
        return inside * (n_models - inside) if self.newcomer is None else inside
