"""What a document says, in arrays: every name in it is a model, matrices fit the models, pairs are listed or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.certificate.document import of_view, refusal
from bbedge.core.eholm import log_threshold, weighted_log_thresholds
from bbedge.core.graph import Graph, Ranks
from bbedge.records.certificate import Document, Edge, Matrix
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
            first = _first(document.edges or (), place, source)
            graph = Graph(first > 0)
            pairs = PairParts(
                log_e=_there(document.log_e),
                margins=_there(document.margins),
                first=first,
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


def _first(edges: Sequence[Edge], place: Mapping[str, int], source: str) -> NDArray[np.int64]:
    """The replicate at which each listed edge was first certified; 0 where there is none."""
    first = np.zeros((len(place), len(place)), dtype=np.int64)
    for edge in edges:
        a, b = place.get(edge.winner), place.get(edge.loser)
        if a is None or b is None or a == b:
            raise refusal("'edges' names a model that is not there", source=source)
        if first[a, b]:
            raise refusal(f"'edges' lists {quoted(edge.winner)} over {quoted(edge.loser)} twice", source=source)
        first[a, b] = edge.first_certified
    return first


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
