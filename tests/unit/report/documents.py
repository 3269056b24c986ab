"""Certificates to try things on."""

from __future__ import annotations

import json

import numpy as np

from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, Leaderboard, LookCount
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


def many(size: int, *, certified: float = 0.9, seed: int = 3) -> Leaderboard:
    """A leaderboard of many models without the work of its evidence; what stands is a little more than is current."""
    rng = np.random.default_rng(seed)
    means = rng.random(size)
    difference = means[:, None] - means
    noise = rng.random((size, size)) * 0.02
    width = 1.0 - certified**0.5
    standing, current = difference - noise > width, difference - noise > width + 0.01
    log_e = np.where(current, 30.0, 20.0 * difference)
    lower = difference - width
    thresholds = np.full((size, size), 20.0)
    for matrix in (log_e, lower, thresholds):
        np.fill_diagonal(matrix, np.nan)
    graph = Graph(current)
    return Leaderboard(
        design=Design.make([f"m{i:04}" for i in range(size)], ["q1", "q2"]),
        replicates=5,
        means=means,
        log_e=log_e,
        log_thresholds=thresholds,
        lower_bounds=lower,
        current=graph,
        standing=Graph(standing),
        first_certified=standing.astype(np.int64),
        looks=(LookCount(replicate=5, edges=graph.n_edges, resolved_pairs=graph.n_resolved),),
    )
