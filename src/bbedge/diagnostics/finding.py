"""Diagnostics in plain words: what was found, what it does not show, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["no alarm", "look", "alarm", "not possible"]

FindingKind = Literal[
    "block-dependence", "copies", "near-copies", "seeds", "same-model", "rank-stability", "item-heterogeneity"
]
"""What a finding is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one diagnostic, in words."""

    kind: FindingKind
    """Which diagnostic this is. Programs read this and the verdict, never the sentences."""
    question: str
    """What was asked of the scores."""
    verdict: Verdict
    """``alarm``: sound runs give any at all with a probability of at most 1 %. ``look``: worth a closer look, and
    common on sound runs too."""
    found: str
    """What was found."""
    not_shown: str
    """What it does not show."""
    to_do: str
    """What to do about it; empty if nothing was found."""
