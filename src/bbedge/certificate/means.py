"""Which means of a certificate may be compared: those over all items. Where scores are missing, others are over some.

A model with scores on the easy items only has a high mean, which says nothing beside the mean of a model with all.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from bbedge.certificate.certificate import Certificate
from bbedge.text import counted


def n_items(certificate: Certificate) -> int:
    """Number of items that weigh anything."""
    weights = certificate.content.design.weights
    return weights.items if weights else certificate.content.items


def mean_items(certificate: Certificate) -> tuple[int, ...]:
    """The number of items that the mean of each model is over, in the order shown."""
    found = (certificate.content.models[i].mean_items for i in certificate.order)
    whole = n_items(certificate)
    return tuple(whole if count is UNSET else count for count in found)


def is_over_all(certificate: Certificate, model: int) -> bool:
    """Whether the mean of a model is known and over all items."""
    return certificate.means[model] is not None and _is_whole(certificate, model)


def comparable(certificate: Certificate) -> list[int]:
    """The models whose means may be compared with each other."""
    return [model for model in range(len(certificate.names)) if is_over_all(certificate, model)]


def has_partial(certificate: Certificate, models: Sequence[int] | None = None) -> bool:
    """Whether the mean of one of these models, or of any, is over some of the items only."""
    asked = range(len(certificate.names)) if models is None else models
    return not all(_is_whole(certificate, model) for model in asked)


def difference(certificate: Certificate, a: int, b: int) -> float | None:
    """The mean of ``a`` minus that of ``b``, in score units; ``None`` if they may not be compared."""
    first, second = certificate.means[a], certificate.means[b]
    if first is None or second is None or not (_is_whole(certificate, a) and _is_whole(certificate, b)):
        return None
    return first - second


def over(certificate: Certificate, model: int) -> str:
    """What the mean of a model is over, such as ``160 of 949 items``; empty if that is all of them."""
    if certificate.means[model] is None or _is_whole(certificate, model):
        return ""
    found = certificate.content.models[certificate.order[model]].mean_items
    return f"{found or 0:,} of {counted(n_items(certificate), 'item')}"


def _is_whole(certificate: Certificate, model: int) -> bool:
    return certificate.content.models[certificate.order[model]].mean_items is UNSET
