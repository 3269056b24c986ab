"""Everything on the page, as plain values: the headline and the other views, each in full."""

from __future__ import annotations

from dataclasses import dataclass

from bbedge._version import __version__
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.provenance import Provenance, provenance
from bbedge.display.answer import Alarm, Answer, alarm, answer
from bbedge.display.page.charts import Chart, CostPlot, cost_plots, evidence_chart, pairs_chart
from bbedge.display.page.drawing import Drawing, Heat, MatrixDrawing, draw_graph, draw_matrix, view_names
from bbedge.display.page.facts import MOST_SETS, OpenPair, TopSet, Words, claims, design_facts, open_pairs, top_sets
from bbedge.display.page.payload import ItemScores
from bbedge.display.page.table import ModelInfo, PageTable
from bbedge.display.scope import has_evidence
from bbedge.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """Everything on the page about one view."""

    title: str
    """The heading."""
    verdict: Answer
    """The answer."""
    words: Words
    """What is said in other sentences."""
    table: PageTable
    """The leaderboard."""
    graph: Drawing | None
    """The certified graph, unless there are too many models for one."""
    matrix: MatrixDrawing | None
    """The comparisons of all pairs, unless there are too many models even for that."""
    costs: tuple[CostPlot, ...]
    """Cost against score, where the user knows a cost."""
    by_pair: bool
    """Whether the certificate says anything of single pairs; with very many models it has counts only."""
    pairs: Chart | None
    """Decided pairs over the looks."""
    evidence: Chart | None
    """Evidence over the looks."""
    top_sets: tuple[TopSet, ...]
    """Certified Top-k sets, smallest first."""
    more_sets: int
    """How many are not listed."""
    open_pairs: tuple[OpenPair, ...]
    """What is open, soonest decided first."""
    n_open: int
    """How many pairs are open in all."""
    n_pairs: int
    """How many pairs there are."""
    facts: tuple[tuple[str, str], ...]
    """The design, topic by topic."""
    claims: tuple[tuple[str, ...], ...]
    """What each claim of a board spends."""
    notes: tuple[str, ...]
    """What a reader noticed."""
    alarm: Alarm | None
    """Why nothing on the page is reliable; ``None`` if nothing is wrong."""
    replicates: int
    """Replicates in the evidence."""
    has_evidence: bool
    """Whether there is a complete run, or a part of the first."""
    provenance: Provenance
    """Where the certificate comes from, and how to check it."""
    version: str = __version__
    """Of the program."""

    @classmethod
    def of(cls, certificate: Certificate, *, title: str, info: ModelInfo) -> PageView:
        """Everything that the page shows of a certificate."""
        content = certificate.content
        sets = [] if certificate.is_contradicted else list(top_sets(certificate))
        return cls(
            title=shown(title, 120),
            verdict=answer(certificate),
            words=Words.of(certificate),
            table=PageTable.of(certificate, info),
            graph=draw_graph(certificate) if certificate.pairs else None,
            matrix=draw_matrix(certificate) if certificate.pairs else None,
            costs=cost_plots(certificate, info),
            by_pair=certificate.pairs is not None,
            pairs=pairs_chart(certificate),
            evidence=evidence_chart(certificate),
            top_sets=tuple(sets[:MOST_SETS]),
            more_sets=len(sets[MOST_SETS:]),
            open_pairs=tuple(open_pairs(certificate)),
            n_open=certificate.ranks.n_unresolved,
            n_pairs=certificate.n_pairs,
            facts=tuple(design_facts(certificate)),
            claims=tuple(claims(content.board or None)),
            notes=tuple(shown(note.text, None) for note in content.notes),
            alarm=alarm(certificate),
            replicates=certificate.replicates,
            has_evidence=has_evidence(certificate),
            provenance=provenance(content),
        )


MOST_VIEW_ROWS = 5_000
"""All views together have at most so many rows, or the page shows one view in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a page."""

    shown: tuple[Certificate, ...]
    """What can be shown in full: the headline and the other views, or the one that was asked for."""
    views: tuple[PageView, ...]
    """The same as plain values."""
    opened: int
    """Which of them the page opens with."""
    switch: tuple[str, ...]
    """The names of them in the switch; empty if there is nothing to choose."""
    heat: Heat | None
    """The rank intervals of all models in all views; ``None`` without views."""
    items: ItemScores | None
    """Scores of single items, if they were asked for."""

    @classmethod
    def of(
        cls, certificate: Certificate, *, title: str, info: ModelInfo | None = None, items: ItemScores | None = None
    ) -> Content:
        """The content of a page that opens with this certificate, which may be a view of another."""
        whole = certificate.headline or certificate
        rows = len(whole.views) * len(whole.names)
        shown = (whole, *whole.views) if rows <= MOST_VIEW_ROWS else (certificate,)
        choice = len(shown) > 1
        return cls(
            shown=shown,
            views=tuple(PageView.of(each, title=title, info=info or ModelInfo()) for each in shown),
            opened=[each.name for each in shown].index(certificate.name),
            switch=tuple(view_names(whole)) if choice else (),
            heat=Heat.of(whole, linked=choice),
            items=items if certificate.pairs is not None else None,
        )
