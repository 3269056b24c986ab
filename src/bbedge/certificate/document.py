"""Writes a certificate: a leaderboard as the records of the definition, and these as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bbedge._version import __version__
from bbedge.certificate import shape
from bbedge.certificate.outlook import outlook
from bbedge.certificate.shape import Document, Matrix
from bbedge.certificate.standing import Stood, look_of, stood
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.history import History
from bbedge.core.leaderboard import Leaderboard
from bbedge.errors import DesignError

MOST_MODELS = 500
"""With more models than this, matrices and lists of pairs are left out: 5,041 models have 12 million pairs."""


def certificate(
    leaderboard: Leaderboard,
    *,
    notes: Sequence[str] | None = None,
    board: shape.BoardRecord | None = None,
    standing_looks: Sequence[Stood] | None = None,
    most_models: int = MOST_MODELS,
) -> Document:
    """The whole certificate of a leaderboard.

    ``notes`` replaces the notes of the leaderboard. ``board`` is where it comes from: its registration stands for the
    hash of the design, and its retired models get no more replicates. ``standing_looks`` is what stood after each look,
    where ``first_certified`` does not say it. With more than ``most_models`` models, whatever has an entry per pair or
    per Top-k set is ``None``; see :mod:`bbedge.certificate.arrays` for that.
    """
    design, order = leaderboard.design, leaderboard.order()
    low, high = design.score_range
    current, standing = leaderboard.current, leaderboard.standing
    names, whole = design.models, len(design.models) <= most_models
    candidate = design.family.candidate
    pilot = leaderboard.pilot
    return Document(
        bbedge=__version__,
        design=_design(design, board.design_hash if board else design.hash),
        pilot=None if pilot is None else shape.Pilot(k=len(candidate), replicates=pilot, candidate=candidate),
        items=len(design.items),
        replicates=leaderboard.replicates,
        models=_models(leaderboard, order),
        log_threshold=_largest(leaderboard.log_thresholds),
        log_e=_ordered(leaderboard.log_e, order) if whole else None,
        log_w=_wealth(leaderboard, order, whole=whole),
        margins=_ordered(leaderboard.lower_bounds * (high - low), order) if whole else None,
        edges=_edges(leaderboard, current, order) if whole else None,
        standing_edges=_edges(leaderboard, standing, order) if whole else None,
        unresolved=_unresolved(names, current) if whole else None,
        standing_unresolved=_unresolved(names, standing) if whole else None,
        top_k=_top_sets(names, current) if whole else None,
        standing_top_k=_top_sets(names, standing) if whole else None,
        counts=shape.Counts(
            pairs=current.ranks.n_pairs,
            resolved_pairs=current.n_resolved,
            edges=current.n_edges,
            standing_edges=standing.n_edges,
            standing_resolved_pairs=standing.n_resolved,
        ),
        certified_k=current.cuts,
        standing_certified_k=standing.cuts,
        looks=_looks(leaderboard, standing_looks),
        history=history_record(leaderboard.history, order) if leaderboard.history else None,
        outlook=outlook(leaderboard, stopped=board.retired if board else ()),
        contradictions=leaderboard.contradictions,
        notes=tuple(note.text for note in leaderboard.notes) if notes is None else tuple(notes),
        board=board or msgspec.UNSET,
    )


def plain(document: Document | Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """The document as dictionaries, lists, texts and numbers."""
    return msgspec.to_builtins(document, enc_hook=_rows)


def to_json(document: Document | Mapping[str, Any]) -> str:
    """The document as ASCII text, so that no name can disturb a terminal or a parser; NaN and infinity are refused."""
    # Python's own writer: msgspec's is faster, but cannot escape what is not ASCII, and writes 1e-7 for 1e-07.
    return json.dumps(plain(document), ensure_ascii=True, allow_nan=False, separators=(", ", ": ")) + "\n"


def history_record(history: History, order: Sequence[int]) -> shape.HistoryRecord:
    """What was kept of the looks, with the models in this order."""
    values = tuple(_ordered(each, order) for each in history.values)
    return shape.HistoryRecord(
        replicates=tuple(history.replicates),
        log_thresholds=tuple(history.log_thresholds),
        log_e=values if history.kind == "log_e" else msgspec.UNSET,
        log_w=values if history.kind == "log_w" else msgspec.UNSET,
    )


def _rows(matrix: Matrix) -> list[list[float | None]]:
    return [[None if value != value else value for value in row] for row in matrix.tolist()]


def _ordered(matrix: Matrix, order: Sequence[int]) -> Matrix:
    places = np.array(order)
    return np.asarray(matrix[np.ix_(places, places)])


def _wealth(leaderboard: Leaderboard, order: Sequence[int], *, whole: bool) -> Matrix | msgspec.UnsetType | None:
    if leaderboard.log_w is None:
        return msgspec.UNSET
    return _ordered(leaderboard.log_w, order) if whole else None


def _design(design: Design, identity: str) -> shape.DesignRecord:
    if design.weights is not None:
        raise DesignError("certificates do not support item weights; read the numbers from the leaderboard itself")
    first = design.edition == 1  # of which certificates stay as they were
    return shape.DesignRecord(
        alpha=design.alpha,
        tau=design.tau,
        method=design.method,
        evidence=design.evidence,
        prediction=design.prediction,
        stakes=design.stakes.rule,
        stake_values=tuple(design.stakes.values),
        stake_weights=tuple(design.stakes.weights),
        family=design.family.kind,
        directions=design.n_directions,
        score_range=design.score_range,
        copies=design.copies,
        edition=msgspec.UNSET if first else design.edition,
        margin_share=msgspec.UNSET if first else design.margin_share,
        holm=msgspec.UNSET if first else design.holm,
        planned=msgspec.UNSET if first else design.planned,
        hash=identity,
        blocks=shape.Blocks(count=design.layout.count, sizes=tuple(sorted(design.layout.sizes.tolist(), reverse=True))),
    )


def _models(leaderboard: Leaderboard, order: Sequence[int]) -> tuple[shape.Model, ...]:
    low, high = leaderboard.design.score_range
    current, standing = leaderboard.current, leaderboard.standing
    tiers, standing_tiers = (
        {model: t for t, members in enumerate(graph.tiers, start=1) for model in members}
        for graph in (current, standing)
    )
    above, below = current.ranks.n_worse.tolist(), current.ranks.n_better.tolist()
    standing_above, standing_below = standing.ranks.n_worse.tolist(), standing.ranks.n_better.tolist()
    means = [None if mean != mean else low + mean * (high - low) for mean in leaderboard.means.tolist()]
    return tuple(
        shape.Model(
            name=leaderboard.design.models[i],
            mean=means[i],
            rank_interval=current.rank_intervals[i],
            standing_rank_interval=standing.rank_intervals[i],
            tier=tiers[i],
            certified_above=above[i],
            certified_below=below[i],
            standing_tier=standing_tiers[i],
            standing_certified_above=standing_above[i],
            standing_certified_below=standing_below[i],
        )
        for i in order
    )


def _largest(values: NDArray[np.float64]) -> float | None:
    largest = float(np.fmax.reduce(values, axis=None))
    return None if np.isnan(largest) else largest


def _edges(leaderboard: Leaderboard, graph: Graph, order: Sequence[int]) -> tuple[shape.Edge, ...]:
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
    return tuple(
        shape.Edge(
            winner=names[winner],
            loser=names[loser],
            log_e=log_e,
            margin=margin,
            path_margin=path_margin,
            first_certified=first,
        )
        for (winner, loser), log_e, margin, path_margin, first in zip(
            ends.tolist(), *(column.tolist() for column in columns), strict=True
        )
    )


def _looks(leaderboard: Leaderboard, standing: Sequence[Stood] | None) -> tuple[shape.LookRecord, ...]:
    looks = leaderboard.looks
    if standing is None:
        standing = stood(look_of(leaderboard.first_certified, [look.replicate for look in looks]), len(looks))
    return tuple(
        shape.LookRecord(
            replicate=look.replicate,
            edges=look.edges,
            resolved_pairs=look.resolved_pairs,
            standing_edges=then.edges,
            standing_resolved_pairs=then.resolved_pairs,
        )
        for look, then in zip(looks, standing, strict=True)
    )


def _unresolved(names: Sequence[str], graph: Graph) -> tuple[shape.Pair, ...]:
    return tuple((names[a], names[b]) for a, b in graph.unresolved_pairs.tolist())


def _top_sets(names: Sequence[str], graph: Graph) -> shape.TopSets:
    sets = ((k, graph.top_k(k)) for k in range(1, len(names)))
    return {str(k): None if members is None else tuple(names[i] for i in members) for k, members in sets}
