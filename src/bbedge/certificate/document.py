"""Writes and reads a certificate: a leaderboard as the records of the definition, these as JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bbedge._version import __version__
from bbedge.certificate.derive import (
    PairTable,
    counts,
    document_order,
    edge_records,
    equal_pairs,
    largest,
    named_pairs,
    refusal,
    standing,
    top_sets,
)
from bbedge.certificate.numbers import MOST_PAIRS, outlook
from bbedge.core.arrays import UNIT
from bbedge.core.design import Design
from bbedge.core.leaderboard import Leaderboard
from bbedge.core.looks import EarlyRecord, History
from bbedge.errors import DesignError, DomainError, FormatError
from bbedge.records.board import BoardRecord
from bbedge.records.certificate import (
    Conclusions,
    CrossedRecord,
    Document,
    FirstRunRecord,
    GapsRecord,
    HistoryRecord,
    LookRecord,
    Matrix,
    Model,
    PartRecord,
    PositionRecord,
    ProvenanceRecord,
    SourceRecord,
    ViewRecord,
    matrix,
)
from bbedge.records.codec import FILE_VERSION, check_file_version, convert
from bbedge.records.design import Blocks, DesignRecord, Pilot, Weights
from bbedge.records.notes import Note
from bbedge.records.options import Options
from bbedge.records.values import Pair, Record

MOST_MODELS = 500
"""With more models than this, matrices and lists of pairs are left out: 5,041 models have 12 million pairs."""
MOST_CELLS = 250_000
"""All views besides the headline together have at most so many pairs, as many as 500 models have, or list none."""
_LEAST_OUTLOOK = 10


def certificate(
    leaderboard: Leaderboard,
    *,
    notes: Sequence[Note] | None = None,
    board: BoardRecord | None = None,
    most_models: int = MOST_MODELS,
    most_cells: int = MOST_CELLS,
) -> Document:
    """The whole certificate of a leaderboard.

    ``notes`` replaces the notes of the leaderboard. ``board`` is where it comes from: its registration stands for the
    hash of the design, and its retired models get no more replicates. With more than ``most_models`` models, whatever
    has an entry per pair or per Top-k set is ``None``; see :mod:`bbedge.certificate.exports` for that. So it is in the
    views if these have more than ``most_cells`` together.
    """
    design, pilot, early = leaderboard.design, leaderboard.pilot, leaderboard.early
    candidate, trend = design.family.candidate, early and early.position
    stops = zip(design.models, leaderboard.stops or (), strict=leaderboard.stops is not None)
    stopped = {name: after for name, after in stops if after < leaderboard.replicates}
    retired = board.retired if board else tuple(stopped)
    size, count = len(design.models), len(leaderboard.views)
    views = [
        _conclusions(
            view,
            retired,
            whole=size <= most_models and count * size**2 <= most_cells,
            history=count * size**2 * len(view.history.replicates if view.history else ()) <= most_cells,
            most=max(_LEAST_OUTLOOK, MOST_PAIRS // count),
        )
        for view in leaderboard.views
    ]
    return Document(
        version=FILE_VERSION,
        bbedge=__version__,
        design=_design(design, board.design_hash if board else design.hash),
        pilot=None if pilot is None else Pilot(k=len(candidate), replicates=pilot, candidate=candidate),
        items=len(design.items),
        replicates=leaderboard.replicates,
        first_pass=_first_run(early) if early else msgspec.UNSET,
        **_conclusions(leaderboard, retired, whole=size <= most_models),
        contradicted=leaderboard.is_contradicted or msgspec.UNSET,
        notes=tuple(
            Note(kind=note.kind, subject=note.subject, text=note.text)  # readers have notes that say more
            for note in (
                *(leaderboard.notes if notes is None else notes),
                *([trend.note] if trend and trend.is_alarm else []),
            )
        ),
        board=board or msgspec.UNSET,
        stopped=stopped or msgspec.UNSET,
        view=leaderboard.name or msgspec.UNSET,
        views=tuple(
            _view(view, its, is_of_new_items=design.target == "both" and view.design.target == "new-items")
            for view, its in zip(leaderboard.views, views, strict=True)
        )
        or msgspec.UNSET,
        provenance=_provenance(leaderboard, board),
    )


def _first_run(early: EarlyRecord) -> FirstRunRecord:
    """How far the first run has come."""
    of_blocks, trend = early.checkpoints[0].of_blocks, early.position
    seen = early.checkpoints[len(early.looks) - 1] if early.looks else None
    return FirstRunRecord(
        complete=early.is_complete,
        checkpoint=seen.number if seen else 0,
        checkpoints=len(early.checkpoints),
        blocks=of_blocks if early.is_complete else seen.blocks if seen else 0,
        of_blocks=of_blocks,
        position=PositionRecord(
            model=trend.model, correlation=trend.correlation, p_value=trend.adjusted, alarm=trend.is_alarm
        )
        if trend
        else msgspec.UNSET,
    )


def _provenance(leaderboard: Leaderboard, board: BoardRecord | None) -> ProvenanceRecord | msgspec.UnsetType:
    """What is known of where the leaderboard comes from, by hashes; the digest is made when the document is written."""
    if board is not None:
        return ProvenanceRecord(version=__version__, design=board.design_hash, head=board.head)
    origin = leaderboard.origin
    if origin is None:
        return msgspec.UNSET
    sources = tuple(SourceRecord(name=each.name, bytes=each.bytes, sha256=each.sha256) for each in origin.sources or ())
    return ProvenanceRecord(
        version=__version__,
        design=leaderboard.design.hash,
        sources=msgspec.UNSET if origin.sources is None else sources,
        scores=origin.scores,
        reading=origin.reading or msgspec.UNSET,
    )


def _view(leaderboard: Leaderboard, conclusions: Mapping[str, Any], *, is_of_new_items: bool) -> ViewRecord:
    design = leaderboard.design
    return ViewRecord(
        name=leaderboard.name or "",
        target="new-items" if is_of_new_items else msgspec.UNSET,
        share=design.share,
        weights=_weights(design),
        blocks=_blocks(design),
        stake_values=design.grid.values,
        stake_weights=design.grid.weights,
        **conclusions,
    )


def _conclusions(
    leaderboard: Leaderboard,
    stopped: Sequence[str],
    *,
    whole: bool,
    history: bool = True,
    most: int = MOST_PAIRS,
) -> dict[str, Any]:
    """The fields of :class:`Conclusions`, which the document and every view have."""
    design, order, graph = leaderboard.design, document_order(leaderboard), leaderboard.graph
    pairs, early, gaps = PairTable.from_leaderboard(leaderboard), leaderboard.early, leaderboard.gaps
    log_w: Matrix | msgspec.UnsetType | None = msgspec.UNSET
    if leaderboard.log_w is not None:
        log_w = _ordered(leaderboard.log_w, order) if whole else None
    current: tuple[Pair, ...] | msgspec.UnsetType | None = msgspec.UNSET
    if not design.has_memory:
        current = named_pairs(pairs.names, _ends(pairs.current.edges, order)) if whole else None
    names, margins = [design.models[i] for i in order], _ordered(pairs.margins, order)
    equal = equal_pairs(names, margins, design)
    record = Conclusions(
        models=_models(leaderboard, order),
        log_threshold=largest(leaderboard.log_thresholds),
        log_e=_ordered(pairs.log_e, order) if whole else None,
        log_w=log_w,
        margins=margins if whole else None,
        edges=edge_records(pairs, _ends(graph.edges, order), design.tau * design.score_width) if whole else None,
        current_edges=current,
        unresolved=named_pairs(pairs.names, graph.unresolved_pairs) if whole else None,
        equal=equal if whole or equal is msgspec.UNSET else None,
        fitted_stakes=leaderboard.fitted_stakes or msgspec.UNSET,
        top_k=top_sets(pairs.names, graph) if whole else None,
        counts=counts(graph, graph.n_edges, pairs.current.n_edges),
        certified_k=graph.cuts,
        looks=tuple(
            LookRecord(replicate=look.replicate, edges=look.edges, resolved_pairs=look.resolved_pairs)
            for look in leaderboard.looks
        ),
        parts=msgspec.UNSET
        if early is None
        else tuple(
            PartRecord(
                checkpoint=checkpoint.number,
                blocks=checkpoint.blocks,
                models=look.models,
                edges=look.edges,
                resolved_pairs=look.resolved_pairs,
            )
            for checkpoint, look in zip(early.checkpoints, early.looks, strict=False)
        ),
        history=history_record(leaderboard.history, order) if leaderboard.history and history else None,
        outlook=outlook(
            pairs,
            replicates=leaderboard.replicates,
            # What more runs of these items would show about new ones cannot be read off the runs so far.
            stopped=design.models if design.target == "new-items" else stopped,
            most=most,
        ),
        contradictions=leaderboard.contradictions,
        crossed_intervals=tuple(
            CrossedRecord(names=each.models, lower=each.lower, upper=each.upper) for each in leaderboard.crossed
        )
        or msgspec.UNSET,
        gaps=GapsRecord(
            cells=gaps.cells,
            models={name: missing for name, missing in zip(design.models, gaps.of_models, strict=True) if missing},
            resolved_if_means=gaps.resolved_if_means,
        )
        if gaps and gaps.cells
        else msgspec.UNSET,
    )
    return {key: getattr(record, key) for key in Conclusions.__struct_fields__}


def plain(document: Record | Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """The document, or a part of it, as dictionaries, lists, texts and numbers."""
    return msgspec.to_builtins(document, enc_hook=_rows)


def to_json(document: Document | Mapping[str, Any]) -> str:
    """The document as ASCII text, so that no name can disturb a terminal or a parser; NaN and infinity are refused."""
    # Python's own writer: msgspec's is faster, but cannot escape what is not ASCII, and writes 1e-7 for 1e-07.
    return json.dumps(plain(document), ensure_ascii=True, allow_nan=False, separators=(", ", ": ")) + "\n"


def read_document(content: Mapping[str, Any], *, source: str) -> Document:
    """Plain values as a document; a value of the wrong type is refused with its place and what belongs there."""
    if "bbedge" not in content:
        raise refusal("'bbedge' is missing", source=source)
    check_file_version(content.get("version"), what=f"{source}: the certificate", kind=FormatError)
    try:
        return convert(dict(content), Document, source=f"{source}: not a certificate", hook=matrix)
    except (FormatError, DesignError, DomainError) as error:
        raise FormatError(f"{error}; expected what bbedge certify --json writes") from error


def history_record(history: History, order: Sequence[int]) -> HistoryRecord:
    """What was kept of the looks, with the models in this order."""
    values = tuple(_ordered(each, order) for each in history.values)
    return HistoryRecord(
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


def _weights(design: Design) -> Weights:
    layout = design.layout
    largest = 1.0 / len(design.items) if layout.overall is None else float(layout.overall.max())
    return Weights(items=len(layout.order), largest=largest)


def _blocks(design: Design) -> Blocks:
    return Blocks(count=design.layout.count, sizes=tuple(sorted(design.layout.sizes.tolist(), reverse=True)))


def _design(design: Design, identity: str) -> DesignRecord:
    return DesignRecord(
        **{name: getattr(design, name) for name in Options.__struct_fields__},
        stake_values=design.grid.values,
        stake_weights=design.grid.weights,
        family=design.family.kind,
        directions=design.n_directions,
        share=msgspec.UNSET if design.share == 1.0 else design.share,
        weights=msgspec.UNSET if design.weights is None else _weights(design),
        gaps=msgspec.UNSET if design.gaps == "refuse" else design.gaps,
        checkpoints=design.checkpoints or msgspec.UNSET,
        hash=identity,
        blocks=_blocks(design),
    )


def _models(leaderboard: Leaderboard, order: Sequence[int]) -> tuple[Model, ...]:
    low, high = leaderboard.design.score_range
    places = standing(leaderboard.graph)
    # That of a part of the items is not the mean of the benchmark.
    seen = leaderboard.means.tolist() if leaderboard.replicates else [math.nan] * len(leaderboard.means)
    means = [None if mean != mean else low + mean * (high - low) for mean in seen]
    intervals = _mean_intervals(leaderboard)
    all_items = len(leaderboard.design.layout.order)
    over = leaderboard.mean_items or (all_items,) * len(means)
    return tuple(
        Model(
            name=leaderboard.design.models[i],
            mean=means[i],
            mean_items=msgspec.UNSET if means[i] is None or over[i] == all_items else over[i],
            mean_interval=msgspec.UNSET if intervals is None else intervals[i],
            **places[i],
        )
        for i in order
    )


def _mean_intervals(leaderboard: Leaderboard) -> list[tuple[float, float]] | None:
    """The bounds of the means in score units, rounded outwards."""
    if leaderboard.mean_bounds is None:
        return None
    low, high = leaderboard.design.score_range
    slack = 4 * UNIT * max(abs(low), abs(high), high - low)
    ends = low + leaderboard.mean_bounds * (high - low) + np.array([-slack, slack])
    return [(least, most) for least, most in np.clip(ends, low, high).tolist()]


def _ends(edges: NDArray[np.bool_], order: Sequence[int]) -> NDArray[np.intp]:
    """Winner and loser of every edge, models in this order."""
    places = np.array(order)
    return np.asarray(places[np.argwhere(edges[np.ix_(places, places)])])
