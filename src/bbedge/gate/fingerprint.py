"""Which scores a gate has seen, by hashes: the same runs again, or the same runs and further ones."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.core.scores import Scores
from bbedge.gate.first_run import FirstRun


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenParts:
    """The first run as hashes, part by part."""

    order_seed: int
    """The seed of the order in which the blocks were run."""
    of_blocks: int
    """Blocks of a complete run."""
    blocks: tuple[int, ...]
    """Blocks that were complete at each checkpoint that was passed."""
    hashes: tuple[str, ...]
    """SHA-256 of the scores that came with each of them, in the order of the run."""

    @classmethod
    def of(cls, first_run: FirstRun, scores: Scores, rows: list[int]) -> SeenParts:
        """The hashes of the parts of a first run, of the models in these rows of the scores."""
        passed = first_run.passed(scores)
        return cls(
            order_seed=first_run.checkpoints.order_seed,
            of_blocks=len(set(scores.blocks)),
            blocks=tuple(checkpoint.blocks for checkpoint in passed),
            hashes=_hashes(first_run.parts, rows),
        )

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> SeenParts:
        """The hashes that a ledger keeps; ``KeyError``, ``TypeError`` or ``ValueError`` if they are damaged."""
        return cls(
            order_seed=operator.index(content["order_seed"]),
            of_blocks=operator.index(content["of_blocks"]),
            blocks=tuple(operator.index(count) for count in content["blocks"]),
            hashes=_checked(content["hashes"]),
        )

    def extends(self, other: SeenParts) -> bool:
        """Whether these are the same parts of the same order, or the same ones and further ones."""
        count = len(other.blocks)
        return (self.order_seed, self.of_blocks, self.blocks[:count], self.hashes[:count]) == (
            other.order_seed,
            other.of_blocks,
            other.blocks,
            other.hashes,
        )

    @property
    def content(self) -> dict[str, Any]:
        """The hashes as plain values."""
        return {
            "order_seed": self.order_seed,
            "of_blocks": self.of_blocks,
            "blocks": list(self.blocks),
            "hashes": list(self.hashes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Scores as hashes, of the systems that a policy names."""

    about: str
    """SHA-256 of what the scores are about: systems, items, blocks, columns and scale."""
    runs: tuple[str, ...]
    """SHA-256 of the scores of each complete run, in order."""
    parts: SeenParts | None = None
    """The first run part by part, complete or not, where there are looks inside it."""

    @classmethod
    def of(cls, scores: Scores, systems: Sequence[str], first_run: FirstRun | None = None) -> Fingerprint:
        """The fingerprint of scores; ``first_run`` has the parts of the first one, where there are looks inside it."""
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
        return cls(
            about=hashlib.sha256(text.encode()).hexdigest(),
            runs=_hashes(scores.values, rows),
            parts=None if first_run is None else SeenParts.of(first_run, scores, rows),
        )

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Fingerprint:
        """The fingerprint that a ledger keeps; ``KeyError``, ``TypeError`` or ``ValueError`` if it is damaged."""
        parts = content.get("parts")
        return cls(
            about=content["about"],
            runs=tuple(content["runs"]),
            parts=None if parts is None else SeenParts.from_content(parts),
        )

    def extends(self, other: Fingerprint) -> bool:
        """Whether these are the same runs, or the same ones and further ones, with the same looks inside the first."""
        if self.about != other.about or self.runs[: len(other.runs)] != other.runs:
            return False
        if self.parts is None or other.parts is None:
            return self.parts is other.parts
        return self.parts.extends(other.parts)

    @property
    def content(self) -> dict[str, Any]:
        """The fingerprint as plain values."""
        content: dict[str, Any] = {"about": self.about, "runs": list(self.runs)}
        return content if self.parts is None else content | {"parts": self.parts.content}


def _hashes(panels: Iterable[NDArray[np.float64]], rows: list[int]) -> tuple[str, ...]:
    return tuple(_hash(panel[rows]) for panel in panels)


def _hash(scores: NDArray[np.float64]) -> str:
    chosen = np.asarray(scores, dtype="<f8") + 0.0  # -0.0 is 0.0
    chosen[np.isnan(chosen)] = np.nan  # one form of missing
    return hashlib.sha256(np.ascontiguousarray(chosen).tobytes()).hexdigest()


def _checked(hashes: list[str]) -> tuple[str, ...]:
    if not all(isinstance(each, str) and len(bytes.fromhex(each)) == hashlib.sha256().digest_size for each in hashes):
        raise ValueError
    return tuple(hashes)
