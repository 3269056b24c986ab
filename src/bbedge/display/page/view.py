"""One view on the page as plain values; the page's script formats numbers from the same JSON."""

from __future__ import annotations

from dataclasses import dataclass

from bbedge._version import __version__
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.provenance import Provenance, provenance
from bbedge.display.alarm import Alarm, alarm
from bbedge.display.page.charts import Chart, evidence_chart, pairs_chart
from bbedge.display.page.cost import CostPlot, cost_plots
from bbedge.display.page.design_facts import claims, design_facts
from bbedge.display.page.drawing import Drawing, MatrixDrawing, draw_graph, draw_matrix
from bbedge.display.page.model_info import ModelInfo
from bbedge.display.page.open_pairs import OpenPair, open_pairs
from bbedge.display.page.table import Table
from bbedge.display.page.top_sets import MOST_SETS, TopSet, top_sets
from bbedge.display.page.words import Words
from bbedge.display.scope import has_evidence
from bbedge.display.verdict import Verdict, verdict
from bbedge.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything on the page about one view."""

    title: str
    """The heading."""
    verdict: Verdict
    """The answer."""
    words: Words
    """What is said in other sentences."""
    table: Table
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
    def of(cls, certificate: Certificate, *, title: str, info: ModelInfo) -> View:
        """Everything that the page shows of a certificate."""
        content = certificate.content
        sets = [] if certificate.is_contradicted else list(top_sets(certificate))
        return cls(
            title=shown(title, 120),
            verdict=verdict(certificate),
            words=Words.of(certificate),
            table=Table.of(certificate, info),
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
            notes=tuple(shown(note, None) for note in content.notes),
            alarm=alarm(certificate),
            replicates=certificate.replicates,
            has_evidence=has_evidence(certificate),
            provenance=provenance(content),
        )
