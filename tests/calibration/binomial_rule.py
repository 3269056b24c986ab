"""The one rule by which every rate in this folder is judged."""

from scipy.stats import binom

SURE = 1e-6
"""A check fails only when a correct program would show what was seen with less than this probability."""


def tail(failures: int, n: int, rate: float) -> float:
    """P(Binomial(n, rate) >= failures)."""
    return float(binom.sf(failures - 1, n, rate))


def breaks(failures: int, n: int, *, alpha: float) -> bool:
    """Whether so many failures prove a failure probability above ``alpha``."""
    return tail(failures, n, alpha) < SURE


def fewest_that_break(n: int, *, alpha: float) -> int:
    """The smallest number of failures of ``n`` that breaks the rule."""
    return next(k for k in range(n + 2) if breaks(k, n, alpha=alpha))
