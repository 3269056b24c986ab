"""What follows from stated facts: ranks, tiers, counts, sets, what edges say of their pairs, a view by itself.

Whoever writes a document and whoever checks one take these from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.core.graph import Graph, Ranks
from bbedge.core.leaderboard import Leaderboard
from bbedge.errors import FormatError
from bbedge.records.certificate import (
    Conclusions,
    Counts,
    Document,
    Edge,
    Matrix,
    ProvenanceRecord,
    TopSets,
    ViewRecord,
)
from bbedge.records.options import Options
from bbedge.records.values import Pair


def refusal(what: str, *, source: str) -> FormatError:
    """What to raise about a file that is no certificate."""
    return FormatError(f"{source}: not a certificate: {what}; expected what bbedge certify --json writes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTable:
    """What is known of every pair, all of it with the models in one order."""

    names: tuple[str, ...]
    """The models."""
    log_e: Matrix
    """Evidence, row against column; NaN where not tested."""
    log_thresholds: Matrix
    """What ``log_e`` had to reach at the last look; NaN where not tested, and while that has not been worked out."""
    margins: Matrix
    """Lower bounds of row minus column, in score units; NaN where not tested."""
    graph: Graph
    """Everything certified at any look; in a certificate that shows the last look, what that look certifies."""
    current: Graph
    """What the last look certifies."""
    first_certified: NDArray[np.int64]
    """The replicate at which each edge was first certified; 0 if it never was."""
    first_checkpoint: NDArray[np.int64]
    """The checkpoint of the first replicate at which that was; 0 where it was after a complete replicate."""

    @classmethod
    def from_leaderboard(cls, leaderboard: Leaderboard) -> PairTable:
        """What a leaderboard says of its pairs, models in the order of the design."""
        early, first = leaderboard.early, leaderboard.first_certified
        return cls(
            names=leaderboard.design.models,
            log_e=leaderboard.log_e,
            log_thresholds=leaderboard.log_thresholds,
            margins=leaderboard.lower_bounds * leaderboard.design.score_width,
            graph=leaderboard.graph,
            current=Graph(leaderboard.current_edges),
            first_certified=first,
            first_checkpoint=np.zeros_like(first) if early is None else early.first_certified,
        )

    @property
    def tested(self) -> NDArray[np.bool_]:
        """The directions that are tested."""
        return ~np.isnan(self.log_e)

    def ordered(self, order: Sequence[int]) -> PairTable:
        """The same with the models in another order."""
        if list(order) == list(range(len(self.names))):
            return self
        window = np.ix_(np.array(order), np.array(order))
        return PairTable(
            names=tuple(self.names[i] for i in order),
            graph=Graph(self.graph.edges[window], self.graph.reach[window]),
            current=Graph(self.current.edges[window]),
            log_e=self.log_e[window],
            log_thresholds=self.log_thresholds[window],
            margins=self.margins[window],
            first_certified=self.first_certified[window],
            first_checkpoint=self.first_checkpoint[window],
        )


def document_order(leaderboard: Leaderboard) -> tuple[int, ...]:
    """The order of the models; inside the first replicate without their means, which are of a part of the items."""
    if leaderboard.replicates or leaderboard.early is None:
        return leaderboard.order()
    return replace(leaderboard, means=np.full(len(leaderboard.means), np.nan)).order()


_DESIGN_OF_VIEW = ("share", "weights", "blocks", "stake_values", "stake_weights")


def of_view(whole: Document, view: ViewRecord) -> Document:
    """The document of a view by itself: the design and board of the whole, with what the view has of its own."""
    own: dict[str, Any] = {key: getattr(view, key) for key in _DESIGN_OF_VIEW}
    if whole.design.target == "both":
        own |= {"target": view.target, "alpha": whole.design.target_alpha}
        of_new_items = {"stakes": "design", "holm": "direct", "checkpoints": UNSET}
        own |= of_new_items if view.target else {"looks": UNSET, "look_weights": UNSET}
    return msgspec.structs.replace(
        whole,
        design=msgspec.structs.replace(whole.design, **own),
        first_pass=UNSET if view.target else whole.first_pass,  # inside of it there is no look at new items
        view=view.name,
        views=msgspec.UNSET,
        **{key: getattr(view, key) for key in Conclusions.__struct_fields__},
    )


def provenance(document: Document) -> ProvenanceRecord:
    """What a document says of where it comes from; version, design and head follow from the rest of it."""
    head = document.board.head if document.board else msgspec.UNSET
    facts: dict[str, Any] = {"version": document.bbedge, "design": document.design.hash, "head": head}
    record = document.provenance
    return msgspec.structs.replace(record, **facts) if record else ProvenanceRecord(**facts)


def ended_models(document: Document) -> tuple[str, ...]:
    """The models that get no more replicates; of new items, where more runs say nothing of other items, all."""
    if document.design.target == "new-items":
        return tuple(model.name for model in document.models)
    return document.board.retired if document.board else tuple(document.stopped or ())


def standing(ranks: Ranks) -> list[dict[str, Any]]:
    """The fields of each model that follow from how many are certified better and worse."""
    tiers = {model: tier for tier, members in enumerate(ranks.tiers, start=1) for model in members}
    numbers = zip(ranks.rank_intervals, ranks.n_worse.tolist(), ranks.n_better.tolist(), strict=True)
    return [
        {"rank_interval": interval, "tier": tiers[i], "certified_above": above, "certified_below": below}
        for i, (interval, above, below) in enumerate(numbers)
    ]


def counts(ranks: Ranks, edges: int, current: int) -> Counts:
    """How long the lists of pairs are."""
    return Counts(pairs=ranks.n_pairs, resolved_pairs=ranks.n_resolved, edges=edges, current_edges=current)


def named_pairs(names: Sequence[str], pairs: NDArray[np.integer[Any]]) -> tuple[Pair, ...]:
    """Pairs of places, one a row, by name."""
    return tuple((names[a], names[b]) for a, b in pairs.tolist())


_ROUNDED = 1.0 - 2.0**-50  # margins and their limit are rounded: less than four times each


def is_equal(margins: Matrix, limit: float) -> NDArray[np.bool_]:
    """The pairs whose difference is at most the limit either way, both tested; margins and limit in score units."""
    within = margins >= -limit * _ROUNDED  # not where NaN
    return within & within.T


def equal_pairs(names: Sequence[str], margins: Matrix, design: Options) -> tuple[Pair, ...] | msgspec.UnsetType:
    """The pairs that are equal within what the design states, by name."""
    if design.equal_limit is None:
        return UNSET
    return named_pairs(names, np.argwhere(np.triu(is_equal(margins, design.equal_limit))))


def top_sets(names: Sequence[str], graph: Graph) -> TopSets:
    """The certified set of every size."""
    sets = ((k, graph.top_k(k)) for k in range(1, len(names)))
    return {str(k): None if members is None else tuple(names[i] for i in members) for k, members in sets}


def edge_records(pairs: PairTable, ends: NDArray[np.intp], step: float) -> tuple[Edge, ...]:
    """The edges whose winners and losers are listed, with what is known of them; each implies at least ``step``."""
    a, b = ends[:, 0], ends[:, 1]
    lengths = pairs.graph.path_lengths[a, b] if step else np.zeros(len(ends))
    columns = (pairs.log_e, pairs.margins, pairs.first_certified, pairs.first_checkpoint)
    return tuple(
        Edge(
            winner=pairs.names[winner],
            loser=pairs.names[loser],
            log_e=evidence,
            margin=margin,
            path_margin=path_margin,
            first_certified=replicate,
            first_part=checkpoint or msgspec.UNSET,
        )
        for (winner, loser), path_margin, evidence, margin, replicate, checkpoint in zip(
            ends.tolist(), (lengths * step).tolist(), *(matrix[a, b].tolist() for matrix in columns), strict=True
        )
    )


def largest(values: NDArray[np.float64]) -> float | None:
    """The largest number; ``None`` if there is none."""
    found = float(np.fmax.reduce(values, axis=None))
    return None if np.isnan(found) else found
