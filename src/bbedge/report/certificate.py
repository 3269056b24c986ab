"""A certificate read back from its document, checked, in the order in which it is shown.

Pages, figures, exports and badges are made from the document alone, so that what they show is what the JSON says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.core.graph import Graph, Ranks
from bbedge.errors import DomainError, FormatError
from bbedge.naming import display_names, shown_path
from bbedge.report.reading import Reader
from bbedge.report.units import Units

Matrix = NDArray[np.float64]
Shown = Literal["current", "standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """What a certificate says of pairs, models in the order shown."""

    log_e: Matrix
    """Evidence, row against column; NaN where not tested."""
    margins: Matrix
    """Lower bounds of row minus column, in score units; NaN where not tested."""
    graph: Graph
    """The graph that is shown."""
    first_certified: NDArray[np.int64]
    """The replicate at which each standing edge was first certified; 0 if it never was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate. Everything has the models in the order shown: by tier, then as in the document."""

    document: Mapping[str, Any]
    """The document as it was written, in its own order."""
    shown: Shown
    """Which graph is shown: that of the last look, or everything that stands."""
    names: tuple[str, ...]
    """Names of the models, as they are."""
    labels: tuple[str, ...]
    """The same, harmless and short enough for a table, still telling the models apart."""
    means: tuple[float | None, ...]
    """Mean scores, in score units."""
    ranks: Ranks
    """How many models the graph that is shown puts above and below each."""
    pairs: Pairs | None
    """Pair by pair; a certificate of very many models has only counts."""
    order: tuple[int, ...]
    """Where each model is in the document."""
    source: str
    """What it is called in messages."""

    @classmethod
    def of(cls, document: Mapping[str, Any], *, shown: Shown | None = None, source: str = "certificate") -> Certificate:
        """Check a document and read it. By default a board shows what stands, anything else the last look."""
        read = Reader(source)
        models = [read.record(model, "models") for model in read.sequence(document, "models")]
        names = [read.text(model, "name") for model in models]
        if len(names) < 2 or len(set(names)) < len(names):
            raise read.error("needs at least two models, each named once")
        place = {name: i for i, name in enumerate(names)}
        shown = shown or ("standing" if "board" in document else "current")
        whole = read.lists_pairs(document)
        first, graph = None, None
        if whole:
            listed = {key: read.edges(document, key, place) for key in ("edges", "standing_edges")}
            first = listed["standing_edges"]
            graph = Graph(listed["edges" if shown == "current" else "standing_edges"] > 0)
            ranks = graph.ranks
        else:
            ranks = read.ranks(models, "rank_interval" if shown == "current" else "standing_rank_interval")
        tier = {model: t for t, members in enumerate(ranks.tiers) for model in members}
        order = sorted(range(len(names)), key=lambda i: (tier[i], i))
        read.rest(document, place)
        pairs = None
        if graph is not None and first is not None:
            window = np.ix_(np.array(order), np.array(order))
            pairs = Pairs(
                log_e=read.matrix(document, "log_e", len(names))[window],
                margins=read.matrix(document, "margins", len(names))[window],
                graph=Graph(graph.edges[window], graph.reach[window]),
                first_certified=first[window],
            )
        return cls(
            document=document,
            shown=shown,
            names=tuple(names[i] for i in order),
            labels=tuple(display_names([names[i] for i in order], width=40)),
            means=tuple(read.number(models[i], "mean", missing=True) for i in order),
            ranks=Ranks(above=ranks.above[order], below=ranks.below[order]),
            pairs=pairs,
            order=tuple(order),
            source=source,
        )

    def by_pair(self) -> Pairs:
        """What it says of pairs, for what cannot do without."""
        if self.pairs is None:
            raise DomainError(
                f"{self.source}: a certificate of {len(self.names):,} models lists no pairs, and this needs them; "
                "bbedge certify --arrays OUT.npz and bbedge board export BOARD OUT.csv write them for programs"
            )
        return self.pairs

    @property
    def graph(self) -> Graph:
        """The graph that is shown; an error if only counts are known."""
        return self.by_pair().graph

    @property
    def log_e(self) -> Matrix:
        """Evidence, row against column; an error if only counts are known."""
        return self.by_pair().log_e

    @property
    def margins(self) -> Matrix:
        """Lower bounds of row minus column; an error if only counts are known."""
        return self.by_pair().margins

    @property
    def first_certified(self) -> NDArray[np.int64]:
        """The replicate at which each standing edge was first certified; an error if only counts are known."""
        return self.by_pair().first_certified

    @property
    def n_edges(self) -> tuple[int, int]:
        """Edges of the last look, and edges that stand."""
        counts = self.document.get("counts")
        current, standing = (
            int(counts[key]) if counts else len(self.document[key]) for key in ("edges", "standing_edges")
        )
        return current, standing

    @property
    def score_range(self) -> tuple[float, float]:
        """The scale of the scores."""
        low, high = self.document["design"]["score_range"]
        return float(low), float(high)

    @property
    def units(self) -> Units:
        """How its numbers are written."""
        return Units.of(self.score_range)

    @property
    def step(self) -> float:
        """What an edge proves at least: tau, in score units."""
        low, high = self.score_range
        return float(self.document["design"]["tau"]) * (high - low)

    @property
    def replicates(self) -> int:
        """Replicates in the evidence."""
        return int(self.document["replicates"])

    @property
    def log_threshold(self) -> float | None:
        """What ``log_e`` had to reach at the last look, at most."""
        value = self.document.get("log_threshold")
        return None if value is None else float(value)

    @property
    def n_pairs(self) -> int:
        """Pairs of models."""
        return self.ranks.n_pairs

    def lead(self, better: int, worse: int) -> str:
        """By how much a model is certified above another: its margin, or what the edges of a path prove."""
        known = int(self.graph.path_lengths[better, worse]) * self.step if self.step else 0.0
        margin, least = float(self.margins[better, worse]), self.units.at_least(known)
        # e-Holm may certify a direction before its simultaneous margin passes tau; then tau is what is known.
        if margin > known and self.units.at_least(margin) != least:
            return f"≥ {self.units.at_least(margin)}"
        return f"> {least if known else 0}"


def read_certificate(path: Path, *, shown: Shown | None = None) -> Certificate:
    """Read a certificate file, as ``bbedge certify --json`` writes it."""
    name = shown_path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name}: not a certificate: no JSON ({error})") from error
    if not isinstance(document, dict):
        raise FormatError(f"{name}: not a certificate; expected what bbedge certify --json writes")
    return Certificate.of(document, shown=shown, source=name)
