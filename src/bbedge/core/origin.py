"""Where scores came from: the files, and one hash of the scores themselves.

The hash is that of what is compared, not of how it was written: the same scores in another order of rows or files, or
in another format, have the same hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bbedge.core.scores import Scores

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SourceFile:
    """A file that scores were read from."""

    name: str
    """Its path as it was given, without the folders that only one machine has."""
    bytes: int
    """Its size."""
    sha256: str
    """The SHA-256 of its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the scores of a leaderboard are identified by."""

    scores: str
    """The hash of the scores, as :func:`scores_hash` makes it."""
    sources: tuple[SourceFile, ...] | None = None
    """The files that the scores were read from; ``None`` if that is not known."""
    asides: tuple[str, ...] = ()
    """Texts of notes that are about other files beside these, and not about the scores."""


def scores_hash(scores: Scores) -> str:
    """SHA-256 of scores in one form: what they are about, then the mapped scores as doubles, replicate by replicate.

    Models, items and the members of blocks are sorted, so that neither the order of rows nor the spelling of block
    labels makes a difference. The order of replicates does: it is the order of the looks.

    >>> from bbedge import Scores
    >>> one = Scores.of([[1.0, 0.0], [0.5, 0.0]], models=["a", "b"], items=["q1", "q2"])
    >>> two = Scores.of([[0.0, 0.5], [0.0, 1.0]], models=["b", "a"], items=["q2", "q1"])
    >>> scores_hash(one) == scores_hash(two)
    True
    """
    models = sorted(range(len(scores.models)), key=scores.models.__getitem__)
    items = sorted(range(len(scores.items)), key=scores.items.__getitem__)
    text = json.dumps(_about(scores, models, items), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    found = hashlib.sha256(text.encode("ascii"))
    for row in _rows(scores, models, items):
        found.update(row)
    return found.hexdigest()


def _rows(scores: Scores, models: list[int], items: list[int]) -> Iterator[bytes]:
    # A row at a time: a panel may be as large as memory allows.
    places = None if items == list(range(len(items))) else np.array(items, dtype=np.intp)
    for panel in scores.values:
        for model in models:
            row = panel[model] if places is None else panel[model][places]
            row = np.asarray(row, dtype="<f8") + 0.0  # -0.0 is 0.0
            row[np.isnan(row)] = np.nan  # one form of missing
            yield row.tobytes()


def _about(scores: Scores, models: list[int], items: list[int]) -> dict[str, object]:
    members: dict[str, list[str]] = {}
    for item, block in zip(scores.items, scores.blocks, strict=True):
        members.setdefault(block, []).append(item)
    about: dict[str, object] = {
        "version": _VERSION,
        "models": [scores.models[i] for i in models],
        "items": [scores.items[i] for i in items],
        "blocks": sorted(sorted(block) for block in members.values()),
        "replicates": list(scores.replicates),
        "score_range": [float(end) for end in scores.score_range],
    }
    if scores.columns:
        about["columns"] = {name: [_plain(texts[i]) for i in items] for name, texts in scores.columns.items()}
    if scores.gaps != "refuse":
        about["gaps"] = scores.gaps
    if scores.stops is not None:
        about["stops"] = [scores.stops[i] for i in models]
    return about


def _plain(text: str) -> str:
    """A number in one form, as a weight is ``3`` in one format and ``3.0`` in another; other texts as they are."""
    try:
        number = float(text)
    except ValueError:
        return text
    return repr(number) if math.isfinite(number) else text
