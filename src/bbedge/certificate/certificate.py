"""A certificate: a document, checked, in the order in which it is shown.

Every display is made from it alone, so that what they show is what the JSON says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, cast

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from bbedge.certificate.derive import PairTable, document_order, is_equal
from bbedge.certificate.document import certificate, read_document, to_json
from bbedge.certificate.numbers import Units
from bbedge.certificate.parts import Parts
from bbedge.certificate.provenance import sealed
from bbedge.core.graph import Graph, Ranks
from bbedge.core.leaderboard import Leaderboard
from bbedge.errors import DesignError, DomainError
from bbedge.records.board import TrustRecord, WithdrawnRecord
from bbedge.records.certificate import Document, Matrix
from bbedge.text import counted, display_names, listed, quoted, shown

Shown = Literal["all", "current"]
"""Which edges are shown, with what follows from them: all that stand, or those of the last look alone."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Certificate:
    """A certificate in the order shown: models by their best possible rank, then as in the document."""

    content: Document
    """The document, in its own order."""
    shown: Shown
    """Which edges are shown: all that stand, or those of the last look."""
    names: tuple[str, ...]
    """Names of the models, as they are."""
    labels: tuple[str, ...]
    """The same, harmless and short, still telling the models apart; those of withdrawn models say so."""
    means: tuple[float | None, ...]
    """Mean scores, in score units."""
    ranks: Ranks
    """For each model, the number of models that the displayed graph certifies as better and worse."""
    pairs: PairTable | None
    """Pair by pair, as the document lists them; a document of very many models has only counts."""
    order: tuple[int, ...]
    """Where each model is in the document."""
    source: str
    """What it is called in messages."""
    leaderboard: Leaderboard | None
    """What it was made from; ``None`` if it was read."""
    others: tuple[Certificate, ...] = ()
    """The other views by themselves; :attr:`views` has them as parts of this certificate."""
    headline: Certificate | None = None
    """The certificate that this is a view of; ``None`` for the headline."""
    flaw: str | None = None
    """Why it should have been refused, if it was read all the same; every display says it first."""

    def __repr__(self) -> str:
        return (
            f"Certificate({f'{shown(self.name)}: ' if self.name else ''}{counted(len(self.names), 'model')}, "
            f"{counted(self.replicates, 'replicate')}: {self.ranks.n_resolved:,} of {self.n_pairs:,} pairs certified)"
        )

    @classmethod
    def of(
        cls,
        document: Document | Mapping[str, Any],
        *,
        shown: Shown = "all",
        source: str = "certificate",
        flaw: str | None = None,
    ) -> Certificate:
        """A document as it is shown. Nothing is checked here: :func:`bbedge.read_certificate` does that.

        ``flaw`` is why it should not be relied upon, if that is known.
        """
        content = document if isinstance(document, Document) else read_document(document, source=source)
        parts = Parts.of(content, source=source)
        pairs = [
            each.pairs and replace(each.pairs, log_thresholds=thresholds)
            for each, thresholds in zip((parts, *parts.views), parts.highest_log_thresholds(), strict=True)
        ]
        return replace(cls._of(parts, pairs, [None] * len(pairs), shown=shown), flaw=flaw)

    @classmethod
    def made(
        cls,
        leaderboard: Leaderboard,
        document: Document | None = None,
        *,
        shown: Shown = "all",
        source: str = "certificate",
    ) -> Certificate:
        """The certificate of a leaderboard; ``document`` is what a board makes of it. It cannot contradict itself."""
        parts = Parts.of(certificate(leaderboard) if document is None else document, source=source)
        leaderboards = (leaderboard, *leaderboard.views)
        pairs = [
            each.pairs and _pairs_in_document_order(made)
            for each, made in zip((parts, *parts.views), leaderboards, strict=True)
        ]
        return cls._of(parts, pairs, leaderboards, shown=shown)

    @classmethod
    def _of(
        cls,
        parts: Parts,
        pairs: Sequence[PairTable | None],
        leaderboards: Sequence[Leaderboard | None],
        *,
        shown: Shown,
        labels: Mapping[str, str] | None = None,
    ) -> Certificate:
        """The certificate of the parts and of their views; what is given comes for each of them, the headline first."""
        table, leaderboard, ranks = pairs[0], leaderboards[0], parts.ranks
        if shown == "current":  # a document does not state these ranks
            found = _pairs_in_document_order(leaderboard) if leaderboard and table is None else table
            if found is None:
                raise DomainError(
                    f"{parts.source}: a certificate of {len(parts.names):,} models does not list the edges of the last "
                    "look; show all looks, or the last look when the certificate is made"
                )
            ranks, table = found.current, table and replace(table, graph=found.current)
        # By best possible rank: models of one tier stay together, because those of the tiers before are all better.
        order = tuple(np.argsort(ranks.n_better, kind="stable").tolist())
        names = tuple(parts.names[i] for i in order)
        labels = labels or _labels(names, parts.document)  # the same in all views
        return cls(
            content=parts.document,
            shown=shown,
            names=names,
            labels=tuple(labels[name] for name in names),
            means=tuple(parts.document.models[i].mean for i in order),
            ranks=Ranks(n_better=ranks.n_better[list(order)], n_worse=ranks.n_worse[list(order)]),
            pairs=table and table.ordered(order),
            order=order,
            source=parts.source,
            leaderboard=leaderboard,
            others=tuple(
                cls._of(view, [its_pairs], [its], shown=shown, labels=labels)
                for view, its_pairs, its in zip(parts.views, pairs[1:], leaderboards[1:], strict=True)
            ),
        )

    @property
    def is_contradicted(self) -> bool:
        """Whether anything in any view contradicts something else: then nothing that it says is reliable."""
        whole = self.headline or self
        parts = (each.content for each in (self, whole, *whole.others))
        return any(part.contradicted or part.contradictions or part.crossed_intervals for part in parts)

    @property
    def name(self) -> str | None:
        """The name of the view that this is the certificate of; ``None`` for the headline."""
        return self.content.view or None

    @cached_property
    def views(self) -> tuple[Certificate, ...]:
        """The certificates of the other views, in the order of the design; see :meth:`view`."""
        return tuple(replace(each, headline=self) for each in self.others)

    def view(self, name: str) -> Certificate:
        """The certificate of another view of the design, for instance of a category; every display takes it.

        Its :meth:`to_json` is that of the whole certificate: what it says is under one alpha with all other views.
        """
        for each in self.views:
            if each.name == name:
                return each
        names = [str(each.name) for each in self.views]
        there = f"its views are {listed(names, limit=20)}" if names else "it has no views besides the headline"
        raise DesignError(f"{self.source}: {quoted(name)} is not a view of this certificate; {there}")

    @property
    def document(self) -> dict[str, Any]:
        """The document as plain values, as ``json.loads`` reads what :meth:`to_json` writes."""
        return cast("dict[str, Any]", json.loads(self.to_json()))

    @cached_property
    def all_pairs(self) -> PairTable | None:
        """Pair by pair, also where the document has only counts; ``None`` if such a document was read from a file."""
        if self.pairs is not None or self.leaderboard is None:
            return self.pairs
        table = _pairs_in_document_order(self.leaderboard)
        return (table if self.shown == "all" else replace(table, graph=table.current)).ordered(self.order)

    def sealed(self, time: str | None = None) -> Certificate:
        """The same with its digest, as it is written; ``time`` is when, in UTC, such as ``"2026-01-31T12:00:00Z"``.

        The digest covers everything but the time. A certificate that was read stays as it is.
        """
        if self.headline is not None:
            return self.headline.sealed(time).view(str(self.name))
        content = sealed(self.content, time)
        if content is self.content:
            return self
        others = (
            replace(each, content=structs.replace(each.content, provenance=content.provenance)) for each in self.others
        )
        return replace(self, content=content, others=tuple(others))

    def to_json(self, *, time: str | None = None) -> str:
        """The document as text, :meth:`sealed`; of a view, the whole document that it is part of."""
        return to_json(sealed((self.headline or self).content, time))

    def to_html(self, title: str | None = None, *, time: str | None = None) -> str:
        """The whole page: one text that needs no network."""
        # By name, here and below: a certificate knows nothing of displays.
        render, certificate = import_module("bbedge.display.page").render_page, self.sealed(time)
        return cast("str", render(certificate, title=title) if title else render(certificate))

    @property
    def answer(self) -> str:
        """The answer in a few sentences: who is best, or how many could be, and the risk that this is wrong."""
        return str(import_module("bbedge.display.answer").answer(self))

    def to_markdown(self, title: str | None = None) -> str:
        """The answer and the table of models, for a pull request or a job summary."""
        return cast("str", import_module("bbedge.display.compact").to_markdown(self, title=title))

    def to_latex(self) -> str:
        """A table for a paper; it needs the LaTeX package booktabs."""
        return cast("str", import_module("bbedge.display.compact").to_latex(self))

    def _repr_html_(self) -> str:
        """What a notebook shows; :meth:`to_html` makes the whole page."""
        return cast("str", import_module("bbedge.display.compact").leaderboard_html(self))

    def by_pair(self, *, known: bool = False) -> PairTable:
        """What it says of pairs, or all that is ``known`` of them, for what cannot do without."""
        pairs = self.all_pairs if known else self.pairs
        if pairs is None:
            raise DomainError(
                f"{self.source}: a certificate of {len(self.names):,} models lists no pairs, and this needs them; "
                "bbedge certify --arrays OUT.npz and bbedge board export BOARD OUT.csv write them for programs"
            )
        return pairs

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
        """The replicate at which each edge was first certified; an error if only counts are known."""
        return self.by_pair().first_certified

    @property
    def n_edges(self) -> int:
        """The number of edges that are shown."""
        counts = self.content.counts
        return counts.edges if self.shown == "all" else counts.current_edges

    @property
    def n_earlier(self) -> int:
        """How many edges stand that the last look alone does not certify."""
        return self.content.counts.edges - self.content.counts.current_edges

    @property
    def mean_intervals(self) -> tuple[tuple[float, float], ...] | None:
        """Simultaneous bounds of each model's true mean, in score units; ``None`` if the design has none."""
        found = tuple(self.content.models[i].mean_interval for i in self.order)
        return tuple(each for each in found if each is not UNSET) or None

    @cached_property
    def equal(self) -> NDArray[np.bool_] | None:
        """The pairs whose margins bound their difference by the ``equal_within`` of the design, certified or not.

        ``None`` if the design does not state it, or only counts are known.
        """
        limit = self.content.design.equal_limit
        return None if limit is None or self.all_pairs is None else is_equal(self.all_pairs.margins, limit)

    @property
    def is_about_new_items(self) -> bool:
        """Whether it is about new items of the same kind; of a certificate about both, its headline is not."""
        return self.content.design.target == "new-items"

    @cached_property
    def on_new_items(self) -> Certificate | None:
        """The same view of new items; ``None`` if it is one, or if the design is not about both."""
        whole = self.headline or self
        views = (whole, *whole.views)
        these, new = ([each for each in views if each.is_about_new_items is is_new] for is_new in (False, True))
        # Both in the order of the design; a view that was taken out by itself has no other.
        return next((other for each, other in zip(these, new, strict=False) if each.name == self.name), None)

    @property
    def history(self) -> tuple[NDArray[np.int64], Matrix, Matrix] | None:
        """The replicate, the threshold and what had to reach it, of each look that was kept, in the order shown."""
        history = self.content.history
        if not history or not history.replicates:
            return None
        window = np.ix_(np.array(self.order), np.array(self.order))
        values = np.array([look[window] for look in history.values])
        return np.array(history.replicates), np.array(history.log_thresholds), values

    @property
    def candidate(self) -> tuple[str, ...]:
        """The set that a pilot chose, by name: the only models that are tested against the others."""
        if self.content.pilot is not None:
            return self.content.pilot.candidate
        if self.content.design.family == "all" or self.all_pairs is None:
            return ()
        tested = (self.all_pairs.log_e == self.all_pairs.log_e).any(axis=1)
        return tuple(sorted(name for name, is_tested in zip(self.names, tested, strict=True) if is_tested))

    @property
    def pilot_replicates(self) -> int | None:
        """Replicates of the pilot that chose the candidate; ``None`` if there was none."""
        pilot, board = self.content.pilot, self.content.board
        if pilot is not None:
            return pilot.replicates
        return (board.design.pilot or None) if board else None

    @property
    def withdrawn(self) -> tuple[WithdrawnRecord, ...]:
        """The models of this certificate whose rows the board hides, with the reasons."""
        board = (self.headline or self).content.board
        return tuple(each for each in (board.withdrawn or () if board else ()) if each.model in self.names)

    @property
    def trust(self) -> dict[str, TrustRecord]:
        """How far the scores of models can be trusted, by model, where the board states it."""
        board = (self.headline or self).content.board
        return {each.model: each for each in (board.trust or () if board else ()) if each.model in self.names}

    @property
    def score_range(self) -> tuple[float, float]:
        """The scale of the scores."""
        return self.content.design.score_range

    @cached_property
    def units(self) -> Units:
        """How its numbers are written."""
        return Units.of(self.content.design.score_width)

    @cached_property
    def step(self) -> float:
        """What an edge proves at least: tau, in score units."""
        return self.content.design.tau * self.content.design.score_width

    @property
    def replicates(self) -> int:
        """Replicates in the evidence."""
        return self.content.replicates

    @property
    def n_pairs(self) -> int:
        """Pairs of models."""
        return self.ranks.n_pairs

    def proved(self, better: int, worse: int) -> float:
        """What the certified edges alone prove of a difference, in score units."""
        # Longest paths among thousands of models are slow to find; that a path has one edge is certain.
        is_long = self.step and self.pairs
        edges = int(self.by_pair(known=True).graph.path_lengths[better, worse]) if is_long else 1
        return edges * self.step

    def lead(self, better: int, worse: int) -> str:
        """By how much a model is certified above another: its margin, or what the edges of a path prove."""
        margin = float(self.by_pair(known=True).margins[better, worse])
        return self.units.lead(margin, self.proved(better, worse))


def _labels(names: Sequence[str], document: Document) -> dict[str, str]:
    hidden = {each.model for each in document.board.withdrawn or ()} if document.board else set()
    labels = display_names(names)
    if hidden:
        said = (f"{label} (withdrawn)" if name in hidden else label for name, label in zip(names, labels, strict=True))
        labels = display_names(said)
    return dict(zip(names, labels, strict=True))


def _pairs_in_document_order(leaderboard: Leaderboard) -> PairTable:
    return PairTable.from_leaderboard(leaderboard).ordered(document_order(leaderboard))
