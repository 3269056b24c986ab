"""Certificates to try things on."""

from __future__ import annotations

import json

import numpy as np

from bbedge.core.leaderboard import Certifier, Leaderboard
from bbedge.core.scores import Scores
from bbedge.report.document import certificate, to_json
from bbedge.report.history import Recorder


def drawn(means: list[float], *, names: list[str] | None = None, items: int = 80, replicates: int = 3) -> Scores:
    """Right or wrong answers with these probabilities, best model first if the means fall."""
    rng = np.random.default_rng(17)
    values = (rng.random((replicates, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    return Scores.of(
        values, models=names or [f"m{i:02}" for i in range(len(means))], items=[f"q{i}" for i in range(items)]
    )


def certified(scores: Scores, **options: object) -> tuple[Leaderboard, Recorder]:
    design = scores.design(**{"method": "bb-edge-x", **options})
    certifier, recorder = Certifier(design), Recorder(alpha=design.alpha)
    for panel in scores.panels():
        recorder.record(certifier.update(panel))
    return certifier.leaderboard(), recorder


def document(means: list[float], *, names: list[str] | None = None, replicates: int = 3, **options: object) -> dict:
    leaderboard, recorder = certified(drawn(means, names=names, replicates=replicates), **options)
    return json.loads(to_json(certificate(leaderboard, recorder=recorder)))
