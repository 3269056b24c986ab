"""What a document says, in arrays: every name in it is a model, matrices fit the models, pairs are listed or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from bbedge.certificate.derive import (
    PairTable,
    counts,
    edge_records,
    ended_models,
    equal_pairs,
    largest,
    named_pairs,
    of_view,
    provenance,
    refusal,
    standing,
    top_sets,
)
from bbedge.certificate.numbers import outlook_on
from bbedge.core.checkpoints import POSITION_ALARM
from bbedge.core.eholm import log_threshold, weighted_log_thresholds
from bbedge.core.graph import Graph, Ranks
from bbedge.records.board import StageRecord
from bbedge.records.certificate import Document, LookRecord, Matrix, PartRecord
from bbedge.text import quoted

Mask = NDArray[np.bool_]

PAIRWISE = ("log_e", "log_w", "margins", "edges", "current_edges", "unresolved", "equal", "top_k")
"""What is null in a certificate of very many models; a method has log_w or current_edges, or neither."""
WHOLE = 1e-9
"""Shares may add up to this much more or less than one, by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """A document whose names and sizes fit; whether its facts agree is another question."""

    document: Document
    """The document itself."""
    names: tuple[str, ...]
    """The models, in the order of the document."""
    ranks: Ranks
    """For each model, the number of models certified better and worse than it."""
    pairs: PairTable | None
    """Pair by pair; a certificate of very many models has only counts."""
    source: str
    """What messages call it."""
    views: tuple[Parts, ...] = ()
    """The other views, each as a document of its own."""
    target_share: float = 1.0
    """What each of its targets has of every level."""

    @classmethod
    def of(cls, document: Document, *, source: str, target_share: float | None = None) -> Parts:
        """Take a document apart; ``source`` is what messages call it."""
        design = document.design
        target_share = target_share or design.target_alpha / design.alpha
        for is_so, what in _misfits(document):
            if is_so:
                raise refusal(what, source=source)
        best, worst = np.array([model.rank_interval for model in document.models], dtype=np.int64).T
        return cls(
            document=document,
            names=tuple(model.name for model in document.models),
            ranks=Ranks(n_better=best - 1, n_worse=len(best) - worst),
            pairs=_pair_table(document),
            source=source,
            views=tuple(
                cls.of(
                    of_view(document, view),
                    source=f"{source}, view {quoted(view.name)}",
                    target_share=target_share,
                )
                for view in document.views or ()
            ),
            target_share=target_share,
        )

    @property
    def share(self) -> float:
        """The part of alpha that its directions have."""
        return self.document.design.share or 1.0

    @property
    def is_complete(self) -> bool:
        """Whether all evidence that a threshold of direct e-Holm follows from is listed here."""
        # A claim that is continued may have models that were retired before.
        is_continued = any(claim.continues is not UNSET for each in (self, *self.views) for claim in each.claims)
        listed = all(each.pairs is not None for each in (self, *self.views))
        return self.document.view is UNSET and listed and not is_continued

    @property
    def is_about_new_items(self) -> bool:
        """Whether it is about new items of the same kind; of a document about both, its headline is not."""
        return self.document.design.target == "new-items"

    @property
    def claims(self) -> list[StageRecord]:
        """The claims of a board that this certificate is about."""
        board, target = self.document.board, "new-items" if self.is_about_new_items else "benchmark"
        claims = [claim for claim in board.claims if claim.epoch == board.epoch] if board else []
        return [claim for claim in claims if claim.target in (UNSET, target)]

    def families(self) -> Iterator[tuple[Mask, float]]:
        """The listed directions that are tested together, and their level: of a board, those of each claim."""
        if self.pairs is None:
            return
        tested, share = self.pairs.tested, self.document.design.certificate_share
        if not self.document.board:
            yield tested, self.document.design.target_alpha * share
        later = {claim.newcomer for claim in self.claims} - {None}
        for claim in self.claims:
            later.discard(claim.newcomer)
            there = np.array([name not in later for name in self.names])
            family = tested & there[:, None] & there
            if claim.newcomer is not None:
                touches = np.array([name == claim.newcomer for name in self.names])
                family &= touches[:, None] | touches
            yield family, claim.level * self.target_share * share

    def log_thresholds(self) -> tuple[Matrix, ...]:
        """What the evidence of each listed direction had to reach at the last look, for this and every other view.

        NaN where not tested. Of direct e-Holm it follows from the evidence of all views; where not all of it is listed,
        what follows from the listed evidence is a lower bound: see :attr:`is_complete`.
        """
        together = (self, *self.views)
        thresholds = tuple(
            np.full((0, 0) if each.pairs is None else each.pairs.log_e.shape, np.nan) for each in together
        )
        for target in (False, True):  # each is tested by itself
            listed = [i for i, each in enumerate(together) if each.pairs and each.is_about_new_items is target]
            for families in zip(*(together[i].families() for i in listed), strict=True):
                found = _thresholds([together[i] for i in listed], families)
                for i, (mask, _), values in zip(listed, families, found, strict=True):
                    thresholds[i][mask] = values[mask]
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
        ranks = self.ranks if self.pairs is None else self.pairs.graph
        last = document.looks[-1].edges if document.looks else document.counts.edges
        edges = last if self.pairs is None else self.pairs.graph.n_edges
        current = document.counts.current_edges if self.pairs is None else self.pairs.current.n_edges
        found = structs.replace(
            document,
            models=tuple(
                structs.replace(model, **places) for model, places in zip(document.models, standing(ranks), strict=True)
            ),
            certified_k=ranks.cuts,
            counts=counts(ranks, edges, current),
            looks=(
                *document.looks[:-1],
                *(structs.replace(look, edges=edges, resolved_pairs=ranks.n_resolved) for look in document.looks[-1:]),
            ),
            gaps=document.gaps and structs.replace(document.gaps, cells=sum(document.gaps.models.values())),
            **_of_design(document),
        )
        if self.pairs is None:
            return found
        return structs.replace(found, **self._of_pairs(self.pairs, log_thresholds, exact=exact))

    def _of_pairs(self, pairs: PairTable, log_thresholds: Matrix, *, exact: bool) -> dict[str, Any]:
        """What follows from single pairs."""
        document, names, graph = self.document, self.names, pairs.graph
        place = {name: i for i, name in enumerate(names)}
        open_ = np.array([(place[each.ahead], place[each.behind]) for each in document.outlook], dtype=np.intp)
        if not exact:
            log_thresholds = np.full_like(pairs.log_e, np.nan)
            for (a, b), each in zip(open_.tolist(), document.outlook, strict=True):
                log_thresholds[a, b] = each.log_threshold
        step = document.design.tau * document.design.score_width
        found: dict[str, Any] = {
            "edges": edge_records(pairs, np.argwhere(graph.edges), step),
            "unresolved": named_pairs(names, graph.unresolved_pairs),
            "equal": equal_pairs(names, pairs.margins, document.design),
            "top_k": top_sets(names, graph),
            "contradictions": tuple(tuple(names[i] for i in group) for group in graph.cycles),
            "outlook": outlook_on(
                open_.reshape(-1, 2),
                replace(pairs, log_thresholds=log_thresholds),
                replicates=document.replicates,
                stopped=ended_models(document),
            ),
        }
        if exact:
            found["log_threshold"] = largest(log_thresholds)
        if len(self.claims) <= 1:  # a new model's runs are paired with replicates of looks before it came
            looks, parts = document.looks, document.parts
            first, inside = pairs.first_certified, pairs.first_checkpoint
            found["looks"] = edges_after_each_look(looks, graph.edges, first, [look.replicate for look in looks])
            found["parts"] = parts and edges_after_each_look(
                parts, inside > 0, inside, [part.checkpoint for part in parts]
            )
        return found


def _pair_table(document: Document) -> PairTable | None:
    """What a document says pair by pair, without thresholds; ``None`` if it has only counts."""
    if document.log_e is None or document.margins is None:  # and so nothing else that has an entry per pair
        return None
    place = {model.name: i for i, model in enumerate(document.models)}
    first, first_checkpoint = np.zeros((2, len(place), len(place)), dtype=np.int64)
    for edge in document.edges or ():
        ends = place[edge.winner], place[edge.loser]
        first[ends], first_checkpoint[ends] = edge.first_certified, edge.first_part or 0
    stands = np.zeros_like(first, dtype=np.bool_)
    for edge in document.edges or ():
        stands[place[edge.winner], place[edge.loser]] = True
    graph = Graph(stands)
    listed = np.zeros_like(graph.edges)
    for winner, loser in document.current_edges or ():
        listed[place[winner], place[loser]] = True
    return PairTable(
        names=tuple(place),
        log_e=document.log_e,
        log_thresholds=np.full_like(document.log_e, np.nan),
        margins=document.margins,
        graph=graph,
        current=graph if document.current_edges is UNSET else Graph(listed),
        first_certified=first,
        first_checkpoint=first_checkpoint,
    )


Counted = TypeVar("Counted", LookRecord, PartRecord)


def edges_after_each_look(
    looks: Sequence[Counted], stands: Mask, first: NDArray[np.int64], numbers: Sequence[int]
) -> tuple[Counted, ...]:
    """The looks with those of the edges that were certified up to each, and the pairs that these decide."""
    found: list[Counted] = []
    graph = Graph(np.zeros(first.shape, dtype=np.bool_))
    for look, number in zip(looks, numbers, strict=True):
        edges = stands & (first <= number)
        # A closure takes seconds with hundreds of models, and most looks add nothing.
        graph = graph if np.array_equal(edges, graph.edges) else Graph(edges)
        found.append(structs.replace(look, edges=graph.n_edges, resolved_pairs=graph.n_resolved))
    return tuple(found)


def _of_design(document: Document) -> dict[str, Any]:
    """What follows from single facts about the design, the first replicate, the board and the provenance."""
    design, board, now, parts = document.design, document.board, document.first_pass, document.parts or ()
    blocks = structs.replace(design.blocks, count=len(design.blocks.sizes))
    weights = design.weights and structs.replace(design.weights, items=sum(design.blocks.sizes))
    complete, blocks_so_far = document.replicates > 0, parts[-1].blocks if parts else 0
    return {
        "design": structs.replace(design, blocks=blocks, weights=weights),
        "items": document.items if weights else sum(design.blocks.sizes),
        "board": board and structs.replace(board, alpha_spent=board.spent),
        "provenance": document.provenance and provenance(document),
        "first_pass": now
        and structs.replace(
            now,
            complete=complete,
            checkpoint=len(parts),
            blocks=now.of_blocks if complete else blocks_so_far,
            position=now.position and structs.replace(now.position, alarm=now.position.p_value <= POSITION_ALARM),
        ),
    }


def _thresholds(views: Sequence[Parts], families: Sequence[tuple[Mask, float]]) -> Sequence[Matrix]:
    """The thresholds of directions of these views that are tested together: which, and at what level, of each view."""
    level = families[0][1]
    # About new items, what stands has left the family.
    log_e = [
        np.where(mask & ~view.pairs.graph.edges if view.is_about_new_items else mask, view.pairs.log_e, np.nan)
        for view, (mask, _) in zip(views, families, strict=True)
        if view.pairs
    ]
    wealth = [
        each - (view.document.log_w + np.log(level))
        for view, each in zip(views, log_e, strict=True)
        if isinstance(view.document.log_w, np.ndarray)
    ]
    if len(wealth) == len(views) or not any(mask.any() for mask, _ in families):
        return wealth or log_e
    if len(views) == 1:
        return [np.full(log_e[0].shape, log_threshold(log_e[0], level))]
    bars = weighted_log_thresholds(log_e, [view.share for view in views], level)
    return [np.full(each.shape, bar) for each, bar in zip(log_e, bars, strict=True)]


def _at_most(document: Document, log_thresholds: Matrix) -> Matrix:
    if isinstance(document.log_w, np.ndarray):
        return log_thresholds  # which follow from the wealth alone
    largest = np.nan if document.log_threshold is None else document.log_threshold
    return np.where(np.isnan(log_thresholds), np.nan, largest)


def _misfits(document: Document) -> Iterator[tuple[object, str]]:
    """What must not be so, and what to say if it is. Each may rely on all before it being in order."""
    names = [model.name for model in document.models]
    known, size = set(names), len(names)
    yield size < 2 or len(known) < size, "needs at least two models, each named once"
    lists: list[tuple[str, Iterable[Iterable[str]]]] = [
        ("current_edges", document.current_edges or ()),
        ("unresolved", document.unresolved or ()),
        ("equal", document.equal or ()),
        ("contradictions", document.contradictions),
        ("top_k", [each for each in (document.top_k or {}).values() if each]),
        ("pilot", [document.pilot.candidate] if document.pilot else []),
        ("stopped", [document.stopped or ()]),
        ("gaps", [document.gaps.models] if document.gaps else []),
        ("crossed_intervals", [each.names for each in document.crossed_intervals or ()]),
        ("outlook", [(each.ahead, each.behind) for each in document.outlook]),
    ]
    for key, groups in lists:
        yield not known.issuperset(chain.from_iterable(groups)), f"{quoted(key)} names a model that is not there"
    kept = [(key, getattr(document, key)) for key in ("log_e", "log_w", "margins")]
    if document.history:
        kept += [("log_e" if document.log_w is UNSET else "log_w", each) for each in document.history.values]
    for key, matrix in kept:
        wrong = isinstance(matrix, np.ndarray) and matrix.shape != (size, size)
        yield wrong, f"{quoted(key)} is not a matrix of {size} x {size}"
    written = [key for key in PAIRWISE if getattr(document, key) is not UNSET]
    absent = [key for key in written if getattr(document, key) is None]
    yield absent and len(absent) < len(written), f"{quoted(''.join(absent[:1]))} is null and others are not"
    seen: set[tuple[str, str]] = set()
    for edge in document.edges or ():
        if not {edge.winner, edge.loser} <= known or edge.winner == edge.loser:
            yield True, "'edges' names a model that is not there"
        if (edge.winner, edge.loser) in seen:
            yield True, f"'edges' lists {quoted(edge.winner)} over {quoted(edge.loser)} twice"
        seen.add((edge.winner, edge.loser))
    best, worst = np.array([model.rank_interval for model in document.models], dtype=np.int64).T
    yield np.any(best > worst) or np.any(worst > size), "'rank_interval' is not a range of ranks"
    yield (best - 1).sum() != (size - worst).sum(), "'rank_interval' of the models do not fit together"
