"""Direct e-Holm: from the evidence of a family of directions to the ones that are certified."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bbedge.core.penalties import UNIT
from bbedge.errors import DomainError


def log_threshold(log_e: NDArray[np.float64], alpha: float) -> float:
    r"""Logarithm of the evidence that a direction must reach, rounded up.

    With :math:`t = 1/\alpha`, :math:`c = t + \sum_{e : E_e < t} (t - E_e)`. NaN marks directions that are not tested.
    """
    if not 0.0 < alpha < 1.0:
        raise DomainError(f"alpha = {alpha} is not allowed; choose 0 < alpha < 1, for instance 0.05")
    tested = log_e[~np.isnan(log_e)]
    # Only evidence below t is exponentiated, so nothing overflows however large the rest is.
    weak = tested[tested < -math.log(alpha)]
    deficit = math.fsum(1.0 / alpha - np.exp(weak))
    # Each direction may have lost a few roundings of a number as large as 1 / alpha, in its deficit or by being
    # taken for one that has none.
    lost = 8 * UNIT * len(tested) / alpha
    threshold = (1.0 / alpha + deficit + lost) * (1.0 + 16 * UNIT)
    return math.log(threshold) * (1.0 + 4 * UNIT)


def e_holm(log_e: NDArray[np.float64], *, alpha: float) -> NDArray[np.bool_]:
    """The certified directions: those whose evidence reaches ``c`` of :func:`log_threshold`.

    ``log_e`` has any shape; NaN marks directions that are not tested and are never certified.

    **Guarantee:** if each ``exp(log_e)`` is an e-process under its null, the probability that a true null is certified
    at any look is at most ``alpha``, however the directions depend on each other. Raising evidence never loses
    a certificate.

    >>> e_holm(np.log([1000.0, 0.5, 30.0]), alpha=0.05)
    array([ True, False, False])
    """
    certified: NDArray[np.bool_] = log_e >= log_threshold(log_e, alpha)
    return certified
