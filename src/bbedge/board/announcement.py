"""Runs of a model that were announced before they were made."""

from __future__ import annotations

from dataclasses import dataclass

from bbedge.records.events import ModelAdded, Opened


@dataclass(slots=True, kw_only=True)
class Announcement:
    """Runs of a model that were announced before they were made, and the claim that is reserved for it."""

    epoch: int
    """The benchmark version that they are runs of."""
    runs: int
    """How many were announced."""
    claim: int
    """Its place in the spending sequence."""
    level: float
    """Its share of alpha, spent whether the runs come or not."""
    is_closed: bool = False
    """Whether no more runs are waited for."""
    delivered: int | None = None
    """How many came when the model was added; ``None`` before."""
    lacks_scores: bool = False
    """Whether any score of its runs is missing."""

    @property
    def is_open(self) -> bool:
        """Whether its runs are waited for."""
        return not self.is_closed and self.delivered is None

    def opened(self, model: str | None) -> Opened:
        """The claim of the model, but for its design."""
        return Opened(claim=self.claim, level=self.level, newcomer=model, design_hash="")

    def follow_model(self, added: ModelAdded, nothing: str) -> None:
        """Count what came; ``nothing`` is the checksum of a run without any score."""
        self.delivered = sum(digest != nothing for digest in added.vectors)
        self.lacks_scores = any(added.gaps)
