"""What events say, in plain values."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.board.state import NewEdge, Stage
from bbedge.core.copies import Copy
from bbedge.core.leaderboard import LookCount
from bbedge.core.scores import Scores


def stage_records(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    """The claims that an event opens."""
    return [
        {"claim": stage.claim, "level": stage.level, "newcomer": stage.newcomer, "design_hash": stage.design.hash}
        for stage in stages
    ]


def look_record(stages: Sequence[Stage], edges: Sequence[NewEdge], look: LookCount) -> dict[str, Any]:
    """What a look showed."""
    return {
        "look": {"edges": look.edges, "resolved_pairs": look.resolved_pairs},
        "current": {str(stage.claim): edge_text(stage.certifier.current.edges) for stage in stages},
        "certified": [{name: getattr(edge, name) for name in NewEdge.__slots__} for edge in edges],
    }


def edge_text(edges: NDArray[np.bool_]) -> str:
    """An edge matrix as text: its bits, row by row."""
    return base64.b64encode(np.packbits(edges).tobytes()).decode("ascii")


def origin_record(scores: Scores | None, copies: Sequence[Copy]) -> dict[str, Any]:
    """Where scores come from, what the reader noticed, and what was counted although it repeats earlier scores."""
    notes = [] if scores is None else scores.notes
    return {
        "files": [] if scores is None else list(scores.files),
        "copies": [{"of": copy.of + 1, "models": list(copy.models), "whole": copy.whole} for copy in copies],
        "notes": [{"kind": note.kind, "subject": list(note.subject), "text": note.text} for note in notes],
    }
