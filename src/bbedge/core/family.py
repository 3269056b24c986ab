"""Which directions are tested, and how alpha is shared: between kinds of statements, and between claims.

Every benchmark version and every added model is a *claim* with its own level. The levels of a rule that is fixed
beforehand add up to at most ``alpha``, so that all claims together are wrong with probability at most ``alpha``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import Argument, DesignError, DomainError
from bbedge.records.options import Options
from bbedge.records.values import MOST_SHARES, FamilyKind, SpendingRule
from bbedge.text import quoted


def check_pilot(options: Options) -> None:
    """Refuse a pilot where new items are claimed: a model that it chose looks better on its items than on others."""
    if options.target:
        raise DesignError(
            Argument("target", options.target),
            " does not go with a pilot, which chooses models by their scores on the items that are then evidence about "
            "new ones; compare all models, or choose ",
            Argument("target", "benchmark"),
        )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The level of each kind of statement.

    >>> levels = Levels.of(Options(alpha=0.05, mean_share=0.1))
    >>> [round(level, 6) for level in (levels.certificates, levels.margins, levels.means)]
    [0.035, 0.01, 0.005]
    """

    certificates: float
    """Of certificates, and of everything that follows from them."""
    margins: float
    """Of margins."""
    means: float
    """Of the intervals of means; 0 if there are none."""

    @classmethod
    def of(cls, options: Options) -> Self:
        """Share ``alpha``: certificates have what the others leave. Without a margin share, margins have it once more.

        **Guarantee:** with a margin share, the three add up to at most ``alpha``, rounding included.
        """
        alpha, for_margins, for_means = options.target_alpha, options.resolved_margin_share, options.mean_share or 0.0
        certificates = alpha * (1.0 - for_margins - for_means)
        if not for_margins:
            return cls(certificates=certificates, margins=alpha, means=0.0)
        rest = math.nextafter(alpha - certificates, 0.0)
        if not for_means:
            return cls(certificates=certificates, margins=rest, means=0.0)
        margins = rest * (for_margins / (for_margins + for_means))
        return cls(certificates=certificates, margins=margins, means=math.nextafter(rest - margins, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A spending rule: ``open-ended`` for any number of claims, or ``equal`` shares of a stated number.

    **Guarantee:** the levels of any number of claims sum to at most ``alpha``, also in floating point.

    >>> Spending(rule="equal", shares=4).level(0, alpha=0.08) <= 0.02
    True
    """

    rule: SpendingRule = "open-ended"
    """``open-ended`` gives claim v the share ``6 / (pi^2 (v + 1)^2)``."""
    shares: int | None = None
    """The number of claims of an ``equal`` rule."""

    def __post_init__(self) -> None:
        if self.rule not in ("open-ended", "equal"):
            raise DomainError(f"unknown spending rule {self.rule!r}; choose open-ended or equal")
        if self.rule == "equal" and not (isinstance(self.shares, int) and 1 <= self.shares <= MOST_SHARES):
            most = f"at most {MOST_SHARES:,}"
            raise DesignError(f"equal spending needs the number of shares: a whole number of at least 1, {most}")
        if self.rule == "open-ended" and self.shares is not None:
            raise DesignError("open-ended spending takes no number of shares; leave it out or use equal spending")

    def level(self, claim: int, *, alpha: float) -> float:
        """The level of claim 0, 1, 2, ...; 0 when nothing is left."""
        if claim < 0:
            raise DomainError(f"there is no claim {claim}; claims are counted from 0")
        if self.rule == "equal":
            share = 1.0 / self.shares if self.shares is not None and claim < self.shares else 0.0
        else:
            share = 6.0 / (math.pi * (claim + 1)) ** 2
        # Lowered by more than the roundings of the share and of a sum of a hundred thousand levels.
        return alpha * share * (1.0 - 2.0**-36)
