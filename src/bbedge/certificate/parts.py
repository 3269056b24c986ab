"""What a document says, in arrays: every name in it is a model, matrices fit the models, pairs are listed or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from bbedge.certificate.derive import (
    counts,
    edge_records,
    largest,
    named_pairs,
    of_view,
    path_margins,
    refusal,
    standing,
    top_sets,
)
from bbedge.certificate.numbers import Evidence, outlook_on
from bbedge.core.checkpoints import POSITION_ALARM
from bbedge.core.eholm import log_threshold, weighted_log_thresholds
from bbedge.core.graph import Graph, Ranks
from bbedge.records.certificate import Document, Edge, LookRecord, Matrix, Model, PartRecord
from bbedge.records.design import Claim
from bbedge.records.values import Pair
from bbedge.text import quoted

Mask = NDArray[np.bool_]

PAIRWISE = ("log_e", "log_w", "margins", "edges", "current_edges", "unresolved", "top_k")
"""What is null in a certificate of very many models; a method has log_w or current_edges, or neither."""
WHOLE = 1e-9
"""Shares may add up to this much more or less than one, by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairParts:
    """What a document says of pairs, in its own order."""

    log_e: Matrix
    """Evidence, row against column; NaN where not tested."""
    margins: Matrix
    """Lower bounds of row minus column; NaN where not tested."""
    first: NDArray[np.int64]
    """The replicate at which each listed edge was first certified; 0 where there is none."""
    first_part: NDArray[np.int64]
    """The checkpoint of the first replicate at which that was; 0 where it was after a complete replicate."""
    ends: NDArray[np.intp]
    """Winner and loser of every listed edge, one edge a row."""
    graph: Graph
    """The graph that the edges make."""
    current: Graph
    """The graph that the edges of the last look make."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """A document whose names and sizes fit; whether its facts agree is another question."""

    document: Document
    """The document itself."""
    names: tuple[str, ...]
    """The models, in the order of the document."""
    ranks: Ranks
    """For each model, the number of models certified better and worse than it."""
    pairs: PairParts | None
    """Pair by pair; a certificate of very many models has only counts."""
    source: str
    """What messages call it."""
    views: tuple[Parts, ...] = ()
    """The other views, each as a document of its own."""

    @classmethod
    def of(cls, document: Document, *, source: str) -> Parts:
        """Take a document apart; ``source`` is what messages call it."""
        names = tuple(model.name for model in document.models)
        place = {name: i for i, name in enumerate(names)}
        if len(names) < 2 or len(place) < len(names):
            raise refusal("needs at least two models, each named once", source=source)
        for key, groups in _named(document):
            if not all(name in place for group in groups for name in group):
                raise refusal(f"{quoted(key)} names a model that is not there", source=source)
        for key, matrix in _matrices(document):
            if matrix.shape != (len(names), len(names)):
                raise refusal(f"{quoted(key)} is not a matrix of {len(names)} x {len(names)}", source=source)
        pairs = None
        if _lists_pairs(document, source):
            ends = _ends(document.edges or (), place, source)
            first, first_part = (np.zeros((len(names), len(names)), dtype=np.int64) for _ in range(2))
            for (a, b), edge in zip(ends.tolist(), document.edges or (), strict=True):
                first[a, b], first_part[a, b] = edge.first_certified, edge.first_part or 0
            graph = Graph(first > 0)
            pairs = PairParts(
                log_e=_there(document.log_e),
                margins=_there(document.margins),
                first=first,
                first_part=first_part,
                ends=ends,
                graph=graph,
                current=graph if document.current_edges is UNSET else _current(document.current_edges or (), place),
            )
        ranks = _ranks(document, source)
        views = tuple(
            cls.of(of_view(document, view), source=f"{source}, view {quoted(view.name)}")
            for view in document.views or ()
        )
        return cls(document=document, names=names, ranks=ranks, pairs=pairs, source=source, views=views)

    @property
    def share(self) -> float:
        """The part of alpha that its directions have."""
        return self.document.design.share or 1.0

    @property
    def is_complete(self) -> bool:
        """Whether all evidence that a threshold of direct e-Holm follows from is listed here."""
        return self.document.view is UNSET and all(each.pairs is not None for each in (self, *self.views))

    @property
    def claims(self) -> list[Claim]:
        """The claims of a board that this certificate is about."""
        board = self.document.board
        return [claim for claim in board.claims if claim.epoch == board.epoch] if board else []

    def families(self) -> Iterator[tuple[Mask, float]]:
        """The listed directions that are tested together, and their level: of a board, those of each claim."""
        if self.pairs is None:
            return
        tested = ~np.isnan(self.pairs.log_e)
        share = self.document.design.certificate_share
        if not self.document.board:
            yield tested, self.document.design.alpha * share
        later = {claim.newcomer for claim in self.claims} - {None}
        for claim in self.claims:
            later.discard(claim.newcomer)
            there = np.array([name not in later for name in self.names])
            family = tested & there[:, None] & there
            if claim.newcomer is not None:
                touches = np.array([name == claim.newcomer for name in self.names])
                family &= touches[:, None] | touches
            yield family, claim.level * share

    def log_thresholds(self) -> tuple[Matrix, ...]:
        """What the evidence of each listed direction had to reach at the last look, for this and every other view.

        NaN where not tested. Of direct e-Holm it follows from the evidence of all views; where not all of it is listed,
        what follows from the listed evidence is a lower bound: see :attr:`is_complete`.
        """
        together = (self, *self.views)
        thresholds = tuple(np.full(_there(each.document.log_e).shape, np.nan) for each in together)
        listed = [i for i, each in enumerate(together) if each.pairs]
        for families in zip(*(together[i].families() for i in listed), strict=True):
            parts = [_Tested.of(together[i], *family) for i, family in zip(listed, families, strict=True)]
            for i, part, found in zip(listed, parts, _thresholds(parts), strict=True):
                thresholds[i][part.mask] = found[part.mask]
        return thresholds

    def highest_log_thresholds(self) -> tuple[Matrix, ...]:
        """The same; where not all evidence is listed the largest, which is at least as large as each."""
        together = zip((self, *self.views), self.log_thresholds(), strict=True)
        return tuple(found if self.is_complete else _at_most(each.document, found) for each, found in together)

    def again(self, log_thresholds: Matrix, *, exact: bool) -> Document:
        """The document with everything written again that follows from the rest of it.

        ``log_thresholds`` are those of its directions; without ``exact`` they are lower bounds, and nothing follows
        from them.
        """
        document = self.document
        ranks = self.ranks if self.pairs is None else self.pairs.graph.ranks
        last = document.looks[-1].edges if document.looks else document.counts.edges
        edges = last if self.pairs is None else self.pairs.graph.n_edges
        current = document.counts.current_edges if self.pairs is None else self.pairs.current.n_edges
        found = structs.replace(
            document,
            models=tuple(map(_with, document.models, standing(ranks))),
            certified_k=ranks.cuts,
            counts=counts(ranks, edges, current),
            looks=tuple(
                structs.replace(look, edges=edges, resolved_pairs=ranks.n_resolved)
                if look is document.looks[-1]
                else look
                for look in document.looks
            ),
            gaps=document.gaps and structs.replace(document.gaps, cells=sum(document.gaps.models.values())),
            **_of_design(document),
        )
        if self.pairs is None:
            return found
        return structs.replace(found, **self._of_pairs(self.pairs, log_thresholds, exact=exact))

    def _of_pairs(self, pairs: PairParts, log_thresholds: Matrix, *, exact: bool) -> dict[str, Any]:
        """What follows from single pairs."""
        document, names, graph = self.document, self.names, pairs.graph
        place = {name: i for i, name in enumerate(names)}
        open_ = np.array([(place[each.ahead], place[each.behind]) for each in document.outlook], dtype=np.intp)
        if not exact:
            log_thresholds = np.full_like(pairs.log_e, np.nan)
            for (a, b), each in zip(open_.tolist(), document.outlook, strict=True):
                log_thresholds[a, b] = each.log_threshold
        stopped = document.board.retired if document.board else tuple(document.stopped or ())
        low, high = document.design.score_range
        found: dict[str, Any] = {
            "edges": edge_records(
                names,
                pairs.ends,
                log_e=pairs.log_e,
                margins=pairs.margins,
                path_margins=path_margins(graph, document.design.tau * (high - low)),
                first=pairs.first,
                first_part=pairs.first_part,
            ),
            "unresolved": named_pairs(names, graph.unresolved_pairs),
            "top_k": top_sets(names, graph),
            "contradictions": tuple(tuple(names[i] for i in group) for group in graph.cycles),
            "outlook": outlook_on(
                Evidence(names, graph, pairs.log_e, log_thresholds, pairs.margins, document.replicates, stopped),
                open_.reshape(-1, 2),
            ),
        }
        if exact:
            found["log_threshold"] = largest(log_thresholds)
        if len(self.claims) <= 1:  # a new model's runs are paired with replicates of looks before it came
            found["looks"] = _stood(document.looks, pairs.first, [look.replicate for look in document.looks])
            found["parts"] = document.parts and _stood(
                document.parts, pairs.first_part, [part.checkpoint for part in document.parts]
            )
        return found


def _with(model: Model, standing: Mapping[str, Any]) -> Model:
    return structs.replace(model, **standing)


Counted = TypeVar("Counted", LookRecord, PartRecord)


def _stood(looks: Sequence[Counted], first: NDArray[np.int64], numbers: Sequence[int]) -> tuple[Counted, ...]:
    """The looks with the edges that were certified up to each, and the pairs that these decide."""
    found: list[Counted] = []
    graph = Graph(np.zeros(first.shape, dtype=np.bool_))
    for look, number in zip(looks, numbers, strict=True):
        edges = (first > 0) & (first <= number)
        # A closure takes seconds with hundreds of models, and most looks add nothing.
        graph = graph if np.array_equal(edges, graph.edges) else Graph(edges)
        found.append(structs.replace(look, edges=graph.n_edges, resolved_pairs=graph.n_resolved))
    return tuple(found)


def _of_design(document: Document) -> dict[str, Any]:
    """What follows from single facts about the design, the first replicate, the board and the provenance."""
    design, board, provenance, now = document.design, document.board, document.provenance, document.first_pass
    blocks = structs.replace(design.blocks, count=len(design.blocks.sizes))
    weights = design.weights and structs.replace(design.weights, items=sum(design.blocks.sizes))
    found: dict[str, Any] = {
        "design": structs.replace(design, blocks=blocks, weights=weights),
        "items": document.items if weights else sum(design.blocks.sizes),
    }
    if board:
        found["board"] = structs.replace(board, alpha_spent=sum(claim.level for claim in board.claims))
    if provenance:
        found["provenance"] = structs.replace(
            provenance, version=document.bbedge, design=design.hash, head=board.head if board else UNSET
        )
    if now:
        parts = document.parts or ()
        complete = document.replicates > 0
        so_far = parts[-1].blocks if parts else 0
        found["first_pass"] = structs.replace(
            now,
            complete=complete,
            checkpoint=len(parts),
            blocks=now.of_blocks if complete else so_far,
            position=now.position and structs.replace(now.position, alarm=now.position.p_value <= POSITION_ALARM),
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tested:
    """The directions of a view that are tested together with those of the other views."""

    mask: Mask
    level: float
    share: float
    log_e: Matrix
    log_w: Matrix | None

    @classmethod
    def of(cls, parts: Parts, mask: Mask, level: float) -> _Tested:
        log_w = parts.document.log_w
        return cls(
            mask=mask,
            level=level,
            share=parts.share,
            log_e=np.where(mask, _there(parts.document.log_e), np.nan),
            log_w=log_w if isinstance(log_w, np.ndarray) else None,
        )


def _thresholds(views: Sequence[_Tested]) -> Sequence[Matrix]:
    level = views[0].level
    wealth = [view.log_e - (view.log_w + np.log(level)) for view in views if view.log_w is not None]
    if len(wealth) == len(views) or not any(view.mask.any() for view in views):
        return wealth or [view.log_e for view in views]
    if len(views) == 1:
        return [np.full(views[0].log_e.shape, log_threshold(views[0].log_e, level))]
    bars = weighted_log_thresholds([view.log_e for view in views], [view.share for view in views], level)
    return [np.full(view.log_e.shape, bar) for view, bar in zip(views, bars, strict=True)]


def _at_most(document: Document, log_thresholds: Matrix) -> Matrix:
    if isinstance(document.log_w, np.ndarray):
        return log_thresholds  # which follow from the wealth alone
    largest = np.nan if document.log_threshold is None else document.log_threshold
    return np.where(np.isnan(log_thresholds), np.nan, largest)


def _there(matrix: Matrix | None) -> Matrix:
    return np.empty((0, 0)) if matrix is None else matrix


def _named(document: Document) -> Iterator[tuple[str, Iterable[Sequence[str]]]]:
    """Every list of names, with the key that it stands under."""
    for key in ("current_edges", "unresolved", "contradictions"):
        yield key, getattr(document, key) or ()
    yield "top_k", (names for names in (document.top_k or {}).values() if names)
    yield "pilot", [document.pilot.candidate] if document.pilot else []
    yield "stopped", [tuple(document.stopped or ())]
    yield "gaps", [tuple(document.gaps.models)] if document.gaps else []
    yield "crossed_intervals", [each.names for each in document.crossed_intervals or ()]
    yield "outlook", [(each.ahead, each.behind) for each in document.outlook]


def _matrices(document: Document) -> Iterator[tuple[str, Matrix]]:
    for key, matrix in (("log_e", document.log_e), ("log_w", document.log_w), ("margins", document.margins)):
        if isinstance(matrix, np.ndarray):
            yield key, matrix
    for matrix in document.history.values if document.history else ():
        yield "log_e" if document.log_w is UNSET else "log_w", matrix


def _lists_pairs(document: Document, source: str) -> bool:
    """Whether matrices and lists of pairs are there: all of them, or none."""
    written = [key for key in PAIRWISE if getattr(document, key) is not UNSET]
    absent = [key for key in written if getattr(document, key) is None]
    if absent and len(absent) < len(written):
        raise refusal(f"{quoted(absent[0])} is null and others are not", source=source)
    return not absent


def _ends(edges: Sequence[Edge], place: Mapping[str, int], source: str) -> NDArray[np.intp]:
    """Winner and loser of every edge, each named once."""
    seen: set[tuple[str, str]] = set()
    for edge in edges:
        if edge.winner not in place or edge.loser not in place or edge.winner == edge.loser:
            raise refusal("'edges' names a model that is not there", source=source)
        if (edge.winner, edge.loser) in seen:
            raise refusal(f"'edges' lists {quoted(edge.winner)} over {quoted(edge.loser)} twice", source=source)
        seen.add((edge.winner, edge.loser))
    return np.array([(place[edge.winner], place[edge.loser]) for edge in edges], dtype=np.intp).reshape(-1, 2)


def _current(edges: Sequence[Pair], place: Mapping[str, int]) -> Graph:
    listed = np.zeros((len(place), len(place)), dtype=np.bool_)
    for winner, loser in edges:
        listed[place[winner], place[loser]] = True
    return Graph(listed)


def _ranks(document: Document, source: str) -> Ranks:
    """The rank intervals of all models, as the number of better and worse models for each."""
    size = len(document.models)
    best, worst = np.array([model.rank_interval for model in document.models], dtype=np.int64).T
    if np.any(best > worst) or np.any(worst > size):
        raise refusal("'rank_interval' is not a range of ranks", source=source)
    if (best - 1).sum() != (size - worst).sum():
        raise refusal("'rank_interval' of the models do not fit together", source=source)
    return Ranks(n_better=best - 1, n_worse=size - worst)
