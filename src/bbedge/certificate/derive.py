"""What follows from stated facts: ranks, tiers, counts, sets, what edges say of their pairs, a view by itself.

Whoever writes a document and whoever checks one take these from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bbedge.core.graph import Graph, Ranks
from bbedge.errors import FormatError
from bbedge.records import certificate as records
from bbedge.records.certificate import Conclusions, Document, Matrix, TopSets, ViewRecord
from bbedge.records.values import Pair


def refusal(what: str, *, source: str) -> FormatError:
    """What to raise about a file that is no certificate."""
    return FormatError(f"{source}: not a certificate: {what}; expected what bbedge certify --json writes")


def of_view(whole: Document, view: ViewRecord) -> Document:
    """The document of a view by itself: the design and board of the whole, with what the view has of its own."""
    return msgspec.structs.replace(
        whole,
        design=msgspec.structs.replace(
            whole.design,
            share=view.share,
            weights=view.weights,
            blocks=view.blocks,
            stake_values=view.stake_values,
            stake_weights=view.stake_weights,
        ),
        view=view.name,
        views=msgspec.UNSET,
        **{key: getattr(view, key) for key in Conclusions.__struct_fields__},
    )


def standing(ranks: Ranks) -> list[dict[str, Any]]:
    """The fields of each model that follow from how many are certified better and worse."""
    tiers = {model: tier for tier, members in enumerate(ranks.tiers, start=1) for model in members}
    numbers = zip(ranks.rank_intervals, ranks.n_worse.tolist(), ranks.n_better.tolist(), strict=True)
    return [
        {"rank_interval": interval, "tier": tiers[i], "certified_above": above, "certified_below": below}
        for i, (interval, above, below) in enumerate(numbers)
    ]


def counts(ranks: Ranks, edges: int, current: int) -> records.Counts:
    """How long the lists of pairs are."""
    return records.Counts(pairs=ranks.n_pairs, resolved_pairs=ranks.n_resolved, edges=edges, current_edges=current)


def named_pairs(names: Sequence[str], pairs: NDArray[np.integer[Any]]) -> tuple[Pair, ...]:
    """Pairs of places, one a row, by name."""
    return tuple((names[a], names[b]) for a, b in pairs.tolist())


def top_sets(names: Sequence[str], graph: Graph) -> TopSets:
    """The certified set of every size."""
    sets = ((k, graph.top_k(k)) for k in range(1, len(names)))
    return {str(k): None if members is None else tuple(names[i] for i in members) for k, members in sets}


def path_margins(graph: Graph, step: float) -> Matrix:
    """What the longest path of edges implies, if an edge implies ``step``."""
    return np.asarray(graph.path_lengths * step if step else np.zeros(graph.edges.shape), dtype=np.float64)


def edge_records(
    names: Sequence[str],
    ends: NDArray[np.intp],
    *,
    log_e: Matrix,
    margins: Matrix,
    path_margins: Matrix,
    first: NDArray[np.int64],
    first_part: NDArray[np.int64],
) -> tuple[records.Edge, ...]:
    """The edges whose winners and losers are listed, with what the matrices say of them."""
    a, b = ends[:, 0], ends[:, 1]
    columns = (matrix[a, b].tolist() for matrix in (log_e, margins, path_margins, first, first_part))
    return tuple(
        records.Edge(
            winner=names[winner],
            loser=names[loser],
            log_e=evidence,
            margin=margin,
            path_margin=path_margin,
            first_certified=replicate,
            first_part=part or msgspec.UNSET,
        )
        for (winner, loser), evidence, margin, path_margin, replicate, part in zip(ends.tolist(), *columns, strict=True)
    )


def largest(values: NDArray[np.float64]) -> float | None:
    """The largest number; ``None`` if there is none."""
    found = float(np.fmax.reduce(values, axis=None))
    return None if np.isnan(found) else found
