"""bbedge: anytime-valid LLM leaderboards.

Two lines certify a table of scores::

    scores = bbedge.read_scores("scores.csv")
    leaderboard = bbedge.certify(scores, alpha=0.05)

Three lines do it replicate by replicate::

    certifier = bbedge.Certifier(bbedge.Design.make(models, items))
    for panel in panels: certifier.update(panel)
    leaderboard = certifier.leaderboard()

Three lines keep a leaderboard that lives::

    board = bbedge.Board.open("board.bbedge")
    board.add(bbedge.read_scores("run7.csv"))
    leaderboard = board.leaderboard()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bbedge._version import __version__

if TYPE_CHECKING:
    from bbedge.board import Board, BoardDesign
    from bbedge.core.design import Design
    from bbedge.core.eholm import e_holm
    from bbedge.core.evidence import Evidence
    from bbedge.core.graph import Graph
    from bbedge.core.leaderboard import Certifier, Leaderboard, certify, certify_pilot_top_k
    from bbedge.core.scores import Scores
    from bbedge.errors import BbedgeError
    from bbedge.readers import read_scores

# Loaded on first use, so that `import bbedge` and `bbedge --help` do not wait for NumPy.
_HOMES = {
    "BbedgeError": "bbedge.errors",
    "Board": "bbedge.board",
    "BoardDesign": "bbedge.board",
    "Certifier": "bbedge.core.leaderboard",
    "Design": "bbedge.core.design",
    "Evidence": "bbedge.core.evidence",
    "Graph": "bbedge.core.graph",
    "Leaderboard": "bbedge.core.leaderboard",
    "Scores": "bbedge.core.scores",
    "certify": "bbedge.core.leaderboard",
    "certify_pilot_top_k": "bbedge.core.leaderboard",
    "e_holm": "bbedge.core.eholm",
    "read_scores": "bbedge.readers",
}

__all__ = [
    "BbedgeError",
    "Board",
    "BoardDesign",
    "Certifier",
    "Design",
    "Evidence",
    "Graph",
    "Leaderboard",
    "Scores",
    "__version__",
    "certify",
    "certify_pilot_top_k",
    "e_holm",
    "read_scores",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bbedge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
