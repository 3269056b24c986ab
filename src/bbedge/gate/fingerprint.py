"""Which scores a gate has seen, by hashes: the same runs again, or the same runs and further ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.core.scores import Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Scores as hashes, of the systems that a policy names."""

    about: str
    """SHA-256 of what the scores are about: systems, items, blocks, columns and scale."""
    runs: tuple[str, ...]
    """SHA-256 of the scores of each run, in order."""

    @classmethod
    def of(cls, scores: Scores, systems: Sequence[str]) -> Fingerprint:
        """The fingerprint of scores."""
        about = {
            "systems": list(systems),
            "items": list(scores.items),
            "blocks": list(scores.blocks),
            "columns": {name: list(texts) for name, texts in sorted(scores.columns.items())},
            "score_range": [float(end) for end in scores.score_range],
            "gaps": scores.gaps,
        }
        text = json.dumps(about, separators=(",", ":"), allow_nan=False)
        rows = [scores.models.index(name) for name in systems]
        return cls(about=hashlib.sha256(text.encode()).hexdigest(), runs=tuple(_hashes(scores.values, rows)))

    def extends(self, other: Fingerprint) -> bool:
        """Whether these are the same runs, or the same ones and further ones."""
        return self.about == other.about and self.runs[: len(other.runs)] == other.runs

    @property
    def content(self) -> dict[str, Any]:
        """The fingerprint as plain values."""
        return {"about": self.about, "runs": list(self.runs)}


def _hashes(values: NDArray[np.float64], rows: list[int]) -> Iterator[str]:
    for panel in values:
        chosen = np.asarray(panel[rows], dtype="<f8") + 0.0  # -0.0 is 0.0
        chosen[np.isnan(chosen)] = np.nan  # one form of missing
        yield hashlib.sha256(np.ascontiguousarray(chosen).tobytes()).hexdigest()
