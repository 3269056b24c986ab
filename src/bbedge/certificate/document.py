"""The certificate as a JSON document; ``docs/certificate.schema.json`` is its schema, ``docs/formats.md`` its story."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from bbedge._version import __version__
from bbedge.certificate.history import history_record
from bbedge.certificate.outlook import outlook
from bbedge.certificate.standing import Stood, look_of, stood
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard

MOST_MODELS = 500
"""With more models than this, matrices and lists of pairs are left out: 5,041 models have 12 million pairs."""

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
    notes: Sequence[str] | None = None,
    design_hash: str | None = None,
    stopped: Collection[str] = (),
    standing_looks: Sequence[Stood] | None = None,
    most_models: int = MOST_MODELS,
) -> dict[str, object]:
    """The whole certificate as plain values. Means and margins are in score units; ``log_e`` is natural.

    A key that starts with ``standing`` is about everything that stands, the key without it about the last look.

    ``notes`` replaces the notes of the leaderboard, and ``design_hash`` the hash of its own design where a board's
    stands for it. ``stopped`` models get no more replicates. ``standing_looks`` is what stood after each look, where
    ``first_certified`` does not say it. With more than ``most_models`` models, whatever has an entry per pair or per
    Top-k set is ``None``; see :mod:`bbedge.certificate.arrays` for that.
    """
    design = leaderboard.design
    names = design.models
    order = leaderboard.order()
    low, high = design.score_range
    current, standing = leaderboard.current, leaderboard.standing
    tiers, standing_tiers = (
        {model: t for t, members in enumerate(graph.tiers, start=1) for model in members}
        for graph in (current, standing)
    )
    above, below = current.ranks.n_worse.tolist(), current.ranks.n_better.tolist()
    standing_above, standing_below = standing.ranks.n_worse.tolist(), standing.ranks.n_better.tolist()
    whole = len(names) <= most_models
    pilot: Pilot | None = None
    if leaderboard.pilot is not None:
        candidate = list(design.family.candidate)
        pilot = {"k": len(candidate), "replicates": leaderboard.pilot, "candidate": candidate}

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
            "copies": design.copies,
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
                "rank_interval": list(current.rank_intervals[i]),
                "standing_rank_interval": list(standing.rank_intervals[i]),
                "tier": tiers[i],
                "certified_above": above[i],
                "certified_below": below[i],
                "standing_tier": standing_tiers[i],
                "standing_certified_above": standing_above[i],
                "standing_certified_below": standing_below[i],
            }
            for i in order
        ],
        "log_threshold": _largest(leaderboard.log_thresholds),
        "log_e": _matrix(leaderboard.log_e, order) if whole else None,
        "margins": _matrix(leaderboard.lower_bounds * (high - low), order) if whole else None,
        "edges": _edges(leaderboard, current, order) if whole else None,
        "standing_edges": _edges(leaderboard, standing, order) if whole else None,
        "unresolved": _unresolved(names, current) if whole else None,
        "standing_unresolved": _unresolved(names, standing) if whole else None,
        "top_k": _top_sets(names, current) if whole else None,
        "standing_top_k": _top_sets(names, standing) if whole else None,
        "counts": {
            "pairs": current.ranks.n_pairs,
            "resolved_pairs": current.n_resolved,
            "edges": current.n_edges,
            "standing_edges": standing.n_edges,
            "standing_resolved_pairs": standing.n_resolved,
        },
        "certified_k": list(current.cuts),
        "standing_certified_k": list(standing.cuts),
        "looks": _looks(leaderboard, standing_looks),
        "history": history_record(leaderboard.history, order) if leaderboard.history else None,
        "outlook": outlook(leaderboard, stopped=stopped),
        "contradictions": [list(group) for group in leaderboard.contradictions],
        "notes": [note.text for note in leaderboard.notes] if notes is None else list(notes),
    }


def to_json(document: Mapping[str, object]) -> str:
    """The document as ASCII text, so that no name can disturb a terminal or a parser; NaN and infinity are refused."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False, indent=None, separators=(", ", ": ")) + "\n"


def _largest(values: NDArray[np.float64]) -> float | None:
    largest = float(np.fmax.reduce(values, axis=None))
    return None if np.isnan(largest) else largest


def _edges(leaderboard: Leaderboard, graph: Graph, order: Sequence[int]) -> list[Edge]:
    names = leaderboard.design.models
    low, high = leaderboard.design.score_range
    places = np.array(order)
    ends = places[np.argwhere(graph.edges[np.ix_(places, places)])]
    a, b = ends[:, 0], ends[:, 1]
    step = leaderboard.design.tau * (high - low)
    columns = (
        leaderboard.log_e[a, b],
        leaderboard.lower_bounds[a, b] * (high - low),
        graph.path_lengths[a, b] * step if step else np.zeros(len(ends)),
        leaderboard.first_certified[a, b],
    )
    return [
        {
            "winner": names[winner],
            "loser": names[loser],
            "log_e": log_e,
            "margin": margin,
            "path_margin": path_margin,
            "first_certified": first,
        }
        for (winner, loser), log_e, margin, path_margin, first in zip(
            ends.tolist(), *(column.tolist() for column in columns), strict=True
        )
    ]


def _matrix(values: NDArray[np.float64], order: Sequence[int]) -> Matrix:
    index = np.array(order)
    return [[None if value != value else value for value in row] for row in values[np.ix_(index, index)].tolist()]


def _looks(leaderboard: Leaderboard, standing: Sequence[Stood] | None) -> list[dict[str, int]]:
    looks = leaderboard.looks
    if standing is None:
        standing = stood(look_of(leaderboard.first_certified, [look.replicate for look in looks]), len(looks))
    return [
        {
            "replicate": look.replicate,
            "edges": look.edges,
            "resolved_pairs": look.resolved_pairs,
            "standing_edges": then.edges,
            "standing_resolved_pairs": then.resolved_pairs,
        }
        for look, then in zip(looks, standing, strict=True)
    ]


def _unresolved(names: Sequence[str], graph: Graph) -> list[list[str]]:
    return [[names[a], names[b]] for a, b in graph.unresolved_pairs.tolist()]


def _top_sets(names: Sequence[str], graph: Graph) -> dict[str, list[str] | None]:
    return {str(k): _names(names, graph.top_k(k)) for k in range(1, len(names))}


def _names(names: Sequence[str], members: tuple[int, ...] | None) -> list[str] | None:
    return None if members is None else [names[i] for i in members]
