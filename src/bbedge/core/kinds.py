"""The choices that make up a method, by name."""

from __future__ import annotations

from typing import Literal

from bbedge.records.values import Copies, EvidenceKind, Gaps

__all__ = [
    "Copies",
    "EvidenceKind",
    "FamilyKind",
    "Gaps",
    "Holm",
    "Method",
    "PredictionRule",
    "SpendingRule",
    "StakeRule",
]

Method = Literal["bb-edge", "bb-edge-x"]
"""The published method, and the one that certifies sooner with the same guarantee."""

PredictionRule = Literal["running-mean", "two-way"]
"""How the next block score is guessed from earlier replicates."""

StakeRule = Literal["paper", "design"]
"""Where the stake grid comes from."""

Holm = Literal["direct", "staggered"]
"""How evidence becomes edges: every look by itself, or with stakes that enter one after the other and with memory."""

SpendingRule = Literal["open-ended", "equal"]
"""How an error budget is shared out over the claims of a growing leaderboard."""

FamilyKind = Literal["all", "cross-set"]
"""Which directions are tested."""
