"""The content of a design: the one form that is hashed, the same for designs that mean the same.

Models, items and blocks are sorted and blocks lose their labels, so that the order of rows in a file and the spelling
of block names make no difference. A stake rule stands for its values: they follow from the rest of the design, up to
the last bit of a platform's logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bbedge.core.design import Design

_VERSION = 1


def design_content(design: Design) -> dict[str, object]:
    """The design as plain values."""
    members: dict[str, list[str]] = {}
    for item, block in zip(design.items, design.blocks, strict=True):
        members.setdefault(block, []).append(item)
    stakes: object = design.stakes.rule
    if design.stakes.rule == "given":
        stakes = {"values": list(design.stakes.values), "weights": list(design.stakes.weights)}
    return {
        "version": _VERSION,
        "method": design.method,
        "models": sorted(design.models),
        "blocks": sorted(sorted(block) for block in members.values()),
        "alpha": design.alpha,
        "tau": design.tau,
        "evidence": design.evidence,
        "prediction": design.prediction,
        "stakes": stakes,
        "family": {
            "kind": design.family.kind,
            "candidate": sorted(design.family.candidate),
            "newcomer": design.family.newcomer,
        },
        "score_range": list(design.score_range),
        "copies": design.copies,
        "margin_share": design.margin_share,
        "mean_share": design.mean_share,
        "holm": design.holm,
        "planned": design.planned,
        "weights": None if design.weights is None else dict(zip(design.items, design.weights, strict=True)),
        "share": design.share,
        "views": {
            view.name: {"share": view.share, "weights": _weights(design.items, view.weights)} for view in design.views
        },
        "gaps": design.gaps,
        "checkpoints": None if design.checkpoints is None else design.checkpoints.content,
    }


def _weights(items: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    return {item: weight for item, weight in zip(items, weights, strict=True) if weight}
