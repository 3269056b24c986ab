"""A certificate read back from its document, checked, in the order in which it is shown.

Pages, figures, exports and badges are made from the document alone, so that what they show is what the JSON says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.consistency import check_consistency
from bbedge.certificate.document import to_json
from bbedge.certificate.reading import Reader, parsed
from bbedge.certificate.standing import Shown, Stood, look_of, stood
from bbedge.certificate.units import Units
from bbedge.core.graph import Graph, Ranks
from bbedge.errors import DomainError, FormatError
from bbedge.text import counted, display_names, shown_path

Matrix = NDArray[np.float64]

MOST_BYTES = 1 << 28
"""A certificate of 500 models, the most that list their pairs, has about 50 million."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    """For each model, the number of models that the displayed graph certifies as better and worse."""
    pairs: Pairs | None
    """Pair by pair; a certificate of very many models has only counts."""
    order: tuple[int, ...]
    """Where each model is in the document."""
    source: str
    """What it is called in messages."""

    def __repr__(self) -> str:
        return (
            f"Certificate({counted(len(self.names), 'model')}, {counted(self.replicates, 'replicate')}: "
            f"{self.ranks.n_resolved:,} of {self.n_pairs:,} pairs certified)"
        )

    @classmethod
    def of(cls, document: Mapping[str, Any], *, shown: Shown = "standing", source: str = "certificate") -> Certificate:
        """Check a document and read it. A document that contradicts itself is refused."""
        parts = Reader(source).parts(document)
        check_consistency(parts, source=source)
        ranks = parts.ranks[shown]
        tier = {model: t for t, members in enumerate(ranks.tiers) for model in members}
        order = sorted(range(len(parts.names)), key=lambda i: (tier[i], i))
        pairs = None
        if parts.pairs is not None:
            window = np.ix_(np.array(order), np.array(order))
            graph = parts.pairs.graphs[shown]
            pairs = Pairs(
                log_e=parts.pairs.log_e[window],
                margins=parts.pairs.margins[window],
                graph=Graph(graph.edges[window], graph.reach[window]),
                first_certified=parts.pairs.first["standing"][window],
            )
        return cls(
            document=document,
            shown=shown,
            names=tuple(parts.names[i] for i in order),
            labels=tuple(display_names([parts.names[i] for i in order], width=40)),
            means=tuple(parts.means[i] for i in order),
            ranks=Ranks(n_better=ranks.n_better[order], n_worse=ranks.n_worse[order]),
            pairs=pairs,
            order=tuple(order),
            source=source,
        )

    def to_json(self) -> str:
        """The document as text."""
        return to_json(self.document)

    def to_html(self, title: str | None = None) -> str:
        """The whole page: one text that needs no network."""
        # By name, here and below: a certificate knows nothing of displays.
        render = import_module("bbedge.display.page").render_page
        return cast("str", render(self, title=title) if title else render(self))

    def to_latex(self) -> str:
        """A table for a paper; it needs the LaTeX package booktabs."""
        return cast("str", import_module("bbedge.display.latex").to_latex(self))

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
    def looks(self) -> list[Stood] | None:
        """How much the graph that is shown had after each look; ``None`` where an earlier version did not write it."""
        looks = self.document["looks"]
        keys = ("edges", "resolved_pairs") if self.shown == "current" else ("standing_edges", "standing_resolved_pairs")
        if all(key in look for look in looks for key in keys):
            return [Stood(*(int(look[key]) for key in keys)) for look in looks]
        if self.pairs is None:
            return None
        replicates = [int(look["replicate"]) for look in looks]
        return stood(look_of(self.pairs.first_certified, replicates), len(looks))

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
        return self.units.lead(float(self.margins[better, worse]), known)


def read_certificate(path: Path, *, shown: Shown = "standing") -> Certificate:
    """Read a certificate file, as ``bbedge certify --json`` writes it."""
    name = shown_path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{name}: not a certificate: larger than {MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not a certificate: not a text in UTF-8 ({error})") from error
    return Certificate.of(parsed(text, source=name), shown=shown, source=name)
