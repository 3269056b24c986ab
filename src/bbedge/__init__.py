"""bbedge: anytime-valid LLM leaderboards.

Two lines certify a table of scores::

    scores = bbedge.read_scores("scores.csv")
    leaderboard = bbedge.certify(scores, alpha=0.05)

It shows itself: ``leaderboard.to_frame()``, ``to_html()``, ``to_latex()``, ``top_k(3)``.

Three lines do it replicate by replicate::

    certifier = bbedge.Certifier(bbedge.Design.make(models, items))
    for panel in panels: certifier.update(panel)
    leaderboard = certifier.leaderboard()

Three lines keep a leaderboard that lives::

    with bbedge.Board.open("board.bbedge") as board:
        board.add(bbedge.read_scores("run7.csv"))
        leaderboard = board.leaderboard()

Every error that the package raises on purpose is a :class:`BbedgeError`. ``docs/python.md`` has examples.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bbedge._version import __version__

if TYPE_CHECKING:
    from bbedge.board import Board, BoardDesign
    from bbedge.certificate.certificate import Certificate
    from bbedge.core.checkpoints import Checkpoints
    from bbedge.core.design import Design
    from bbedge.core.eholm import e_holm
    from bbedge.core.evidence import Evidence
    from bbedge.core.graph import Graph
    from bbedge.core.leaderboard import Certifier, Leaderboard, certify, certify_pilot_top_k
    from bbedge.core.scores import Scores
    from bbedge.core.views import suite_options
    from bbedge.demo import demo_scores
    from bbedge.errors import (
        BbedgeError,
        BoardError,
        CopiedReplicateError,
        DataError,
        DesignError,
        DomainError,
        FormatError,
    )
    from bbedge.readers import read_items, read_scores
    from bbedge.verify import Verification, read_certificate, verify_certificate

# Loaded on first use, so that `import bbedge` and `bbedge --help` do not wait for NumPy.
_HOMES = {
    "BbedgeError": "bbedge.errors",
    "Board": "bbedge.board",
    "BoardDesign": "bbedge.board",
    "BoardError": "bbedge.errors",
    "Certificate": "bbedge.certificate.certificate",
    "Certifier": "bbedge.core.leaderboard",
    "Checkpoints": "bbedge.core.checkpoints",
    "CopiedReplicateError": "bbedge.errors",
    "DataError": "bbedge.errors",
    "Design": "bbedge.core.design",
    "DesignError": "bbedge.errors",
    "DomainError": "bbedge.errors",
    "Evidence": "bbedge.core.evidence",
    "FormatError": "bbedge.errors",
    "Graph": "bbedge.core.graph",
    "Leaderboard": "bbedge.core.leaderboard",
    "Scores": "bbedge.core.scores",
    "Verification": "bbedge.verify",
    "certify": "bbedge.core.leaderboard",
    "certify_pilot_top_k": "bbedge.core.leaderboard",
    "demo_scores": "bbedge.demo",
    "e_holm": "bbedge.core.eholm",
    "read_certificate": "bbedge.verify",
    "read_items": "bbedge.readers",
    "read_scores": "bbedge.readers",
    "suite_options": "bbedge.core.views",
    "verify_certificate": "bbedge.verify",
}

__all__ = [
    "BbedgeError",
    "Board",
    "BoardDesign",
    "BoardError",
    "Certificate",
    "Certifier",
    "Checkpoints",
    "CopiedReplicateError",
    "DataError",
    "Design",
    "DesignError",
    "DomainError",
    "Evidence",
    "FormatError",
    "Graph",
    "Leaderboard",
    "Scores",
    "Verification",
    "__version__",
    "certify",
    "certify_pilot_top_k",
    "demo_scores",
    "e_holm",
    "read_certificate",
    "read_items",
    "read_scores",
    "suite_options",
    "verify_certificate",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bbedge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
