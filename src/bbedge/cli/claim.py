"""Options about what to certify: declared once, as a group that travels together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.records.values import Copies, EvidenceKind, Method, PredictionRule, StakeRule

if TYPE_CHECKING:
    from bbedge.core.scores import DesignOptions

CopiesRule = Annotated[
    Copies | None,
    typer.Option(
        help="Replicates with the same scores as another one: stop (refuse) or count them (allow). Decide before the "
        "runs; the certificate records it.",
        show_default="refuse",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What to certify, at which level, and by which method."""

    alpha: Annotated[
        float,
        typer.Option(
            help="Error level: the largest probability of any false certificate, over all pairs and all looks."
        ),
    ] = 0.05
    tau: Annotated[
        float,
        typer.Option(
            help="Certify only differences above this margin, a fraction of the score range (0.02 is two points of "
            "100)."
        ),
    ] = 0.0
    method: Annotated[
        Method,
        typer.Option(
            help="bb-edge-x certifies sooner, and its comparisons and margins hold together; bb-edge is the published "
            "method. Choose before you see results."
        ),
    ] = "bb-edge-x"
    margin_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The part of alpha that the margins of bb-edge-x use. With 0, comparisons and margins use alpha each.",
            show_default="0.2",
        ),
    ] = None
    mean_share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The part of alpha that intervals for the models' own mean scores use, out of that of the "
            "comparisons; 0.1 is usual. Without it there are no such intervals.",
            show_default="0",
        ),
    ] = 0.0
    planned: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            help="Number of runs that were planned before the first one; bb-edge-x then bets for that many. Never "
            "count the runs in the file: how many there are may depend on their results, which voids the guarantee.",
            show_default=False,
        ),
    ] = None
    evidence: Annotated[
        EvidenceKind | None, typer.Option(help="Override the method's evidence.", show_default=False)
    ] = None
    prediction: Annotated[
        PredictionRule | None, typer.Option(help="Override the method's prediction rule.", show_default=False)
    ] = None
    stakes: Annotated[StakeRule | None, typer.Option(help="Override the method's stakes.", show_default=False)] = None
    copies: CopiesRule = None

    @property
    def options(self) -> DesignOptions:
        """The options of a design."""
        return {
            "alpha": self.alpha,
            "tau": self.tau,
            "method": self.method,
            "evidence": self.evidence,
            "prediction": self.prediction,
            "stakes": self.stakes,
            "copies": self.copies or "refuse",
            "margin_share": self.margin_share,
            "mean_share": self.mean_share,
            "planned": self.planned,
        }
