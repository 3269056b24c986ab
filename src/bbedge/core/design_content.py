"""The content of a design: the one form that is hashed, the same for designs that mean the same.

Models, items and blocks are sorted and blocks lose their labels, so that the order of rows in a file and the spelling
of block names make no difference. A stake rule stands for its values: they follow from the rest of the design, up to
the last bit of a platform's logarithm. What most designs do not say is left out, so that designs hashed by earlier
versions keep their hash.
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
    family: dict[str, object] = {"kind": design.family.kind, "candidate": sorted(design.family.candidate)}
    if design.family.newcomer is not None:
        family["newcomer"] = design.family.newcomer
    return _said(design) | {
        "version": _VERSION,
        "models": sorted(design.models),
        "blocks": sorted(sorted(block) for block in members.values()),
        "alpha": design.alpha,
        "tau": design.tau,
        "evidence": design.evidence,
        "prediction": design.prediction,
        "stakes": stakes,
        "family": family,
        "score_range": list(design.score_range),
    }


def _said(design: Design) -> dict[str, object]:
    """What few designs say."""
    said: dict[str, object] = {} if design.copies == "refuse" else {"copies": design.copies}
    if design.edition > 1:
        said |= {"edition": design.edition, "margin_share": design.margin_share, "holm": design.holm}
    if design.mean_share:
        said["mean_share"] = design.mean_share
    if design.planned is not None:
        said["planned"] = design.planned
    if design.weights is not None:
        said["weights"] = dict(zip(design.items, design.weights, strict=True))
    if design.share != 1.0:
        said["share"] = design.share
    if design.views:
        said["views"] = {
            view.name: {"share": view.share, "weights": _weights(design.items, view.weights)} for view in design.views
        }
    if design.gaps != "refuse":
        said["gaps"] = design.gaps
    if design.checkpoints is not None:
        said["checkpoints"] = design.checkpoints.content
    return said


def _weights(items: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    return {item: weight for item, weight in zip(items, weights, strict=True) if weight}
