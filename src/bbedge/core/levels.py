"""How alpha is shared between certificates, margins, and the intervals of means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from bbedge.errors import Argument, DesignError, DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The level of each kind of statement.

    >>> levels = Levels.of(0.05, margin_share=0.2, mean_share=0.1)
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
    def of(cls, alpha: float, *, margin_share: float, mean_share: float) -> Self:
        """Share ``alpha``: certificates have what the others leave. Without a margin share, margins have it once more.

        **Guarantee:** with a margin share, the three add up to at most ``alpha``, rounding included.
        """
        certificates = alpha * (1.0 - margin_share - mean_share)
        if not margin_share:
            return cls(certificates=certificates, margins=alpha, means=0.0)
        rest = math.nextafter(alpha - certificates, 0.0)
        if not mean_share:
            return cls(certificates=certificates, margins=rest, means=0.0)
        margins = rest * (margin_share / (margin_share + mean_share))
        return cls(certificates=certificates, margins=margins, means=math.nextafter(rest - margins, 0.0))


def check_level_shares(margin_share: float, mean_share: float) -> None:
    """Refuse shares of margins and means that leave nothing for certificates, or that promise nothing together."""
    if not 0.0 <= margin_share < 1.0:
        raise DomainError(f"a margin share of {margin_share} is not allowed; choose 0 <= margin_share < 1")
    if not 0.0 <= mean_share < 1.0:
        raise DomainError(
            "a share of alpha for means of ", Argument("mean_share", mean_share), " is not allowed; choose 0 to 1"
        )
    if mean_share and not margin_share:
        raise DesignError(
            Argument("mean_share", mean_share),
            " needs a share for margins above 0, so that everything shown holds together",
        )
    if margin_share + mean_share >= 1.0:
        raise DomainError(
            f"margins and means with {margin_share} and {mean_share} of alpha leave nothing for certificates; "
            "choose shares whose sum is below 1"
        )
