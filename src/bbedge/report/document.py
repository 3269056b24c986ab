"""The certificate as a JSON document; ``docs/certificate.schema.json`` is its schema, ``docs/formats.md`` its story."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from bbedge._version import __version__
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.report.history import Recorder
from bbedge.report.outlook import outlook

Matrix = list[list[float | None]]


class Edge(TypedDict):
    """A certified direction."""

    winner: str
    loser: str
    log_e: float
    margin: float
    path_margin: float
    first_certified: int


class Pilot(TypedDict):
    """How a pilot-targeted Top-k chose its candidate."""

    k: int
    replicates: int
    candidate: list[str]


def certificate(
    leaderboard: Leaderboard,
    *,
    notes: Sequence[str] = (),
    pilot_replicates: int | None = None,
    design_hash: str | None = None,
    recorder: Recorder | None = None,
    stopped: Collection[str] = (),
) -> dict[str, object]:
    """The whole certificate as plain values. Means and margins are in score units; ``log_e`` is natural.

    ``design_hash`` replaces the hash of the leaderboard's own design where a board's stands for it. ``recorder`` kept
    the evidence of the looks; ``stopped`` models get no more replicates.
    """
    design = leaderboard.design
    names = design.models
    order = leaderboard.order()
    low, high = design.score_range
    tiers = {model: t for t, members in enumerate(leaderboard.current.tiers, start=1) for model in members}
    pilot: Pilot | None = None
    if pilot_replicates is not None:
        candidate = list(design.family.candidate)
        pilot = {"k": len(candidate), "replicates": pilot_replicates, "candidate": candidate}

    def mean(model: int) -> float | None:
        value = float(leaderboard.means[model])
        return None if np.isnan(value) else low + value * (high - low)

    return {
        "bbedge": __version__,
        "design": {
            "alpha": design.alpha,
            "tau": design.tau,
            "method": design.method,
            "evidence": design.evidence,
            "prediction": design.prediction,
            "stakes": design.stakes.rule,
            "stake_values": list(design.stakes.values),
            "stake_weights": list(design.stakes.weights),
            "family": design.family.kind,
            "directions": design.n_directions,
            "score_range": [low, high],
            "hash": design_hash or design.hash,
            "blocks": {
                "count": design.layout.count,
                "sizes": sorted(design.layout.sizes.tolist(), reverse=True),
            },
        },
        "pilot": pilot,
        "items": len(design.items),
        "replicates": leaderboard.replicates,
        "models": [
            {
                "name": names[i],
                "mean": mean(i),
                "rank_interval": list(leaderboard.current.rank_intervals[i]),
                "standing_rank_interval": list(leaderboard.standing.rank_intervals[i]),
                "tier": tiers[i],
                "certified_above": int(leaderboard.current.above[i].sum()),
                "certified_below": int(leaderboard.current.above[:, i].sum()),
            }
            for i in order
        ],
        "log_threshold": _largest(leaderboard.log_thresholds),
        "log_e": _matrix(leaderboard.log_e, order),
        "margins": _matrix(leaderboard.lower_bounds * (high - low), order),
        "edges": _edges(leaderboard, leaderboard.current),
        "standing_edges": _edges(leaderboard, leaderboard.standing),
        "unresolved": [[names[a], names[b]] for a, b in leaderboard.current.unresolved],
        "top_k": {str(k): _names(names, leaderboard.current.top_k(k)) for k in range(1, len(names))},
        "looks": [
            {"replicate": look.replicate, "edges": look.edges, "resolved_pairs": look.resolved_pairs}
            for look in leaderboard.looks
        ],
        "history": recorder.history(order) if recorder else None,
        "outlook": outlook(leaderboard, stopped=stopped),
        "contradictions": [list(group) for group in leaderboard.contradictions],
        "notes": list(notes),
    }


def to_json(document: dict[str, object]) -> str:
    """The document as ASCII text, so that no name can disturb a terminal or a parser; NaN and infinity are refused."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False, indent=None, separators=(", ", ": ")) + "\n"


def _largest(values: NDArray[np.float64]) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else None


def _edges(leaderboard: Leaderboard, graph: Graph) -> list[Edge]:
    names = leaderboard.design.models
    low, high = leaderboard.design.score_range
    place = {model: position for position, model in enumerate(leaderboard.order())}
    pairs = sorted(np.argwhere(graph.edges).tolist(), key=lambda pair: (place[pair[0]], place[pair[1]]))
    step = leaderboard.design.tau * (high - low)
    return [
        {
            "winner": names[a],
            "loser": names[b],
            "log_e": float(leaderboard.log_e[a, b]),
            "margin": float(leaderboard.lower_bounds[a, b]) * (high - low),
            "path_margin": int(graph.path_lengths[a, b]) * step if step else 0.0,
            "first_certified": int(leaderboard.first_certified[a, b]),
        }
        for a, b in pairs
    ]


def _matrix(values: NDArray[np.float64], order: Sequence[int]) -> Matrix:
    index = np.array(order)
    return [[None if value != value else value for value in row] for row in values[np.ix_(index, index)].tolist()]


def _names(names: Sequence[str], members: tuple[int, ...] | None) -> list[str] | None:
    return None if members is None else [names[i] for i in members]
