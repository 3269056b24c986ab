"""``bbedge compare``: the claims of other methods on the same scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.claim import Claim
from bbedge.cli.options import Reading, ScoreFiles, Without, grouped
from bbedge.cli.output import JsonOut, tracked, write_json
from bbedge.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bbedge.baselines import Method
    from bbedge.core.design import Design
    from bbedge.display.comparison import Claims


@grouped
def compare(
    scores: ScoreFiles,
    *,
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Methods to compare. Default: all.", show_default=False),
    ] = None,
    claim: Annotated[
        Claim, Without("method", "margin_share", "mean_share", "planned", "evidence", "prediction", "stakes")
    ],
    reading: Reading,
    seed: Annotated[int, typer.Option(help="Seed of the methods that draw random numbers.")] = 1,
    json_out: JsonOut = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the references of the methods in full.")
    ] = False,
) -> None:
    """Show what BB-EDGE and other methods would claim on the same scores.

    A method that claims more is not better: the last column says whether its error is controlled.

    [cyan]bbedge compare scores.csv[/cyan]
    [cyan]bbedge compare scores.csv --methods bb-edge,bb-edge-x,t-holm,emr[/cyan]
    """
    import numpy as np

    from bbedge.baselines import METHODS, method
    from bbedge.display.comparison import claims_document, show_claims

    chosen = [method(name.strip()) for name in methods.split(",")] if methods else list(METHODS.values())
    table = reading.table(scores)
    reading.check_pairs(len(table.models))
    design = table.design(**claim.options)
    table.check_copies(design.copies)
    reference = METHODS["BB-EDGE-X"].run(design, table.values, np.random.default_rng(seed))
    claims = [
        _claims(each, design, table.values, reference, seed)
        for each in tracked(chosen, total=len(chosen), description="running each method")
    ]
    n_models, replicates = len(table.models), len(table.replicates)
    console = write_json(
        json_out,
        lambda: {
            "alpha": claim.alpha,
            "tau": claim.tau,
            "models": n_models,
            "items": len(table.items),
            "replicates": replicates,
            "seed": seed,
            "methods": claims_document(claims),
        },
    )
    show_claims(
        console,
        claims,
        title=f"{n_models} models · {len(table.items):,} items · {counted(replicates, 'replicate')} · "
        f"alpha {claim.alpha:g} · tau {claim.tau:g}",
        n_pairs=n_models * (n_models - 1) // 2,
        verbose=verbose,
    )


def _claims(
    method: Method, design: Design, panels: NDArray[np.float64], reference: NDArray[np.generic], seed: int
) -> Claims:
    import numpy as np

    from bbedge.baselines import NotApplicable
    from bbedge.core.graph import Graph
    from bbedge.display.comparison import Claims

    nothing = Claims(
        method=method.name,
        control=method.validity,
        assumes=method.assumes,
        target=method.target,
        references=method.references,
        edges=None,
        pairs=None,
        withdrawn=None,
        alone=None,
        width=None,
    )
    result = method.apply(design, panels, np.random.default_rng(seed))
    if isinstance(result, NotApplicable):
        return replace(nothing, not_applicable=result.reason)
    if method.claims == "ranks":
        return replace(nothing, width=_width(result[-1]))
    edges, certified = result.astype(bool), reference.astype(bool).any(axis=0)
    claimed = edges.any(axis=0)
    graph = Graph(np.asarray(claimed if method.validity == "all looks" else edges[-1]))
    return replace(
        nothing,
        edges=graph.n_edges,
        pairs=graph.n_resolved,
        withdrawn=int((claimed & ~graph.edges).sum()),
        alone=int((graph.edges & ~certified).sum()),
        width=_width(np.array(graph.rank_intervals)),
        current_edges=int(edges[-1].sum()),
    )


def _width(intervals: NDArray[np.generic]) -> float:
    import numpy as np

    return float(np.diff(intervals.astype(float), axis=1).mean())
