"""Error budgets: how much of ``alpha`` each claim of a growing leaderboard may spend.

Every benchmark version and every added model is a *claim* with its own level. The levels of a rule that is fixed
beforehand add up to at most ``alpha``, so that all claims together are wrong with probability at most ``alpha``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bbedge.core.kinds import SpendingRule
from bbedge.errors import DesignError, DomainError

_MOST_SHARES = 100_000


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
        if self.rule == "equal" and not (isinstance(self.shares, int) and 1 <= self.shares <= _MOST_SHARES):
            most = f"at most {_MOST_SHARES:,}"
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
