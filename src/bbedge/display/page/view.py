"""The content of the page as plain values; the page's script formats numbers from the same JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from bbedge._version import __version__
from bbedge.certificate.board_shape import BoardRecord
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.design_shape import DesignRecord
from bbedge.certificate.units import rank
from bbedge.display.page.charts import Chart, evidence_chart, pairs_chart
from bbedge.display.page.drawing import Drawing, MatrixDrawing, draw_graph, draw_matrix
from bbedge.display.page.words import Words
from bbedge.text import counted, display_names, listed, shown

MOST_ROWS = 200
"""Rows that are open at first, for a certificate with counts only: a browser takes seconds for thousands."""
MOST_SETS = 30
"""The number of Top-k sets that are listed; there is one for every certified cut."""
MOST_MEMBERS = 40
"""The number of members of a Top-k set that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A model on the leaderboard."""

    index: int
    """Its place, from 0."""
    label: str
    """Its name, harmless and short."""
    full: str
    """Its name, harmless and whole."""
    rank: str
    """Its rank interval."""
    left: str
    """Where its bar starts, in percent."""
    width: str
    """How wide its bar is, in percent."""
    mean: str
    """Its mean score."""
    lead: str
    """By how much it is certified above the next row; empty for the last, and where only counts are known."""
    is_open: bool
    """Whether the next row is not separated from it."""
    beats: int
    """Number of models that it is certified better than."""
    loses_to: int
    """Number of models that are certified better than it."""
    tier: int
    """Its tier."""
    opens_tier: bool
    """Whether it is the first of its tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopSet:
    """A certified Top-k set."""

    k: int
    """Its size."""
    before: int
    """The size of the next smaller one, all of whose members it has; 0 if there is none."""
    members: tuple[str, ...]
    """Those that it has beyond that one, as far as they are named."""
    more: int
    """How many are not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPair:
    """A pair that is not decided."""

    ahead: str
    """The model with more evidence so far."""
    behind: str
    """The other one."""
    difference: str
    """Of the means."""
    within: str
    """The interval of the true difference."""
    share: int
    """Evidence as a share of the threshold, in percent."""
    more: str
    """About how many more replicates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything on the page."""

    title: str
    """The heading."""
    words: Words
    """What is said in sentences."""
    rows: tuple[Row, ...]
    """The leaderboard."""
    open_rows: int
    """How many of them are open to see; the others are folded away."""
    graph: Drawing | None
    """The certified graph, unless there are too many models for one."""
    matrix: MatrixDrawing | None
    """What is drawn instead, unless there are too many models even for that."""
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
    contradictions: tuple[str, ...]
    """Groups of models certified above each other."""
    replicates: int
    """Replicates in the evidence."""
    version: str = __version__
    """Of the program."""

    @classmethod
    def of(cls, certificate: Certificate, *, title: str) -> View:
        """Everything that the page shows of a certificate."""
        content = certificate.content
        sets = list(_top_sets(certificate))
        graph = draw_graph(certificate) if certificate.pairs else None
        return cls(
            title=shown(title, 120),
            words=Words.of(certificate),
            rows=tuple(_rows(certificate)),
            open_rows=len(certificate.names) if certificate.pairs else MOST_ROWS,
            graph=graph,
            matrix=draw_matrix(certificate) if certificate.pairs and graph is None else None,
            by_pair=certificate.pairs is not None,
            pairs=pairs_chart(certificate),
            evidence=evidence_chart(certificate),
            top_sets=tuple(sets[:MOST_SETS]),
            more_sets=len(sets[MOST_SETS:]),
            open_pairs=tuple(_open_pairs(certificate)),
            n_open=certificate.ranks.n_unresolved,
            n_pairs=certificate.n_pairs,
            facts=tuple(_facts(certificate)),
            claims=tuple(_claims(content.board or None)),
            notes=tuple(shown(note, None) for note in content.notes),
            contradictions=tuple(", ".join(display_names(group)) for group in content.contradictions),
            replicates=certificate.replicates,
        )


def _rows(certificate: Certificate) -> Iterator[Row]:
    ranks, size = certificate.ranks, len(certificate.names)
    tiers = {model: t for t, members in enumerate(ranks.tiers, start=1) for model in members}
    beats, loses_to = ranks.n_worse.tolist(), ranks.n_better.tolist()
    for i, following in zip_longest(range(size), range(1, size)):
        best, worst = ranks.rank_intervals[i]
        lead = ""
        if certificate.pairs and following is not None:
            certified = certificate.pairs.graph.above[i, following]
            lead = certificate.lead(i, following) if certified else "open"
        yield Row(
            index=i,
            label=certificate.labels[i],
            full=shown(certificate.names[i], None),
            rank=rank((best, worst)),
            left=f"{100 * (best - 1) / size:.4g}",
            width=f"{100 * (worst - best + 1) / size:.4g}",
            mean=certificate.units.score(certificate.means[i]),
            lead=lead,
            is_open=lead == "open",
            beats=beats[i],
            loses_to=loses_to[i],
            tier=tiers[i],
            opens_tier=i == 0 or tiers[i] != tiers[i - 1],
        )


def _top_sets(certificate: Certificate) -> Iterator[TopSet]:
    done = 0
    for tier in certificate.ranks.tiers[:-1]:
        names = [certificate.labels[i] for i in sorted(tier)]
        yield TopSet(
            k=done + len(names),
            before=done,
            members=tuple(names[:MOST_MEMBERS]),
            more=len(names[MOST_MEMBERS:]),
        )
        done += len(names)


def _open_pairs(certificate: Certificate) -> Iterator[OpenPair]:
    place = {name: i for i, name in enumerate(certificate.names)}
    units, pairs = certificate.units, certificate.pairs
    for each in certificate.content.outlook or ():
        a, b = place[each.ahead], place[each.behind]
        if certificate.shown == "standing" and each.stands:
            continue
        if pairs and (pairs.graph.above[a, b] or pairs.graph.above[b, a]):
            continue
        low, high = each.within or ((pairs.margins[a, b], -pairs.margins[b, a]) if pairs else (None, None))
        first, second = certificate.means[a], certificate.means[b]
        yield OpenPair(
            ahead=certificate.labels[a],
            behind=certificate.labels[b],
            difference="-" if first is None or second is None else units.difference(first - second),
            within=f"{units.at_least(_known(low), '+')} to {units.at_most(_known(high), '+')}",
            share=share(each.log_e, each.log_threshold),
            more=more_replicates(each.more_replicates),
        )


def _known(end: float | None) -> float:
    return math.nan if end is None else float(end)


def share(log_e: float, log_threshold: float) -> int:
    """Evidence as a share of the threshold, in percent: 0 to 99, because the pair is open.

    >>> share(2.0, 4.0), share(-5.0, -1.0)
    (50, 0)
    """
    return min(99, round(100 * log_e / log_threshold)) if log_e > 0.0 else 0


def more_replicates(interval: tuple[int, int] | None) -> str:
    """A forecast as text.

    >>> more_replicates((3, 20)), more_replicates((4000, 20000)), more_replicates(None)
    ('3 to 20', 'thousands', 'no trend yet')
    """
    if interval is None:
        return "no trend yet"
    low, high = interval
    if low >= 1000:
        return "thousands"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _facts(certificate: Certificate) -> Iterator[tuple[str, str]]:
    content = certificate.content
    design, pilot, board = content.design, content.pilot, content.board
    low, high = design.score_range
    family = "all ordered pairs of models" if design.family == "all" else "the candidate set against all others"
    yield "Method", f"{design.method}: {design.evidence} evidence, {design.prediction} prediction"
    yield "Stakes", f"{design.stakes}, {len(design.stake_values)} values"
    each = f" in each of {1 + len(certificate.views):,} views" if certificate.views else ""
    yield "Tested", f"{counted(design.directions, 'comparison')}{each}: {family}"
    yield "tau", f"{design.tau:g} on the [0, 1] scale, {design.tau * (high - low):g} in score units"
    yield "Score range", f"{low:g} to {high:g}"
    yield "Items", f"{content.items:,} in {counted(design.blocks.count, 'block')}"
    if design.weights:
        weighed, largest = counted(design.weights.items, "item"), f"{100 * design.weights.largest:.3g} %"
        yield "Weights", f"{weighed} with a weight; the largest share of one item is {largest}"
    if certificate.views:
        yield "Views", f"the headline with {_percent(design)} of alpha, {_shares(certificate)}"
    if design.gaps:
        yield "Missing scores", f"{design.gaps}: each counts against whichever model it could help"
    yield "Replicates", f"{content.replicates:,}"
    if pilot:
        chosen = listed(pilot.candidate, limit=20)
        yield "Pilot", f"{counted(pilot.replicates, 'replicate')}, not part of the evidence; chose {chosen}"
    yield "Design hash", design.hash
    if board:
        yield "Board", f"epoch {board.epoch} of {board.epochs}, {counted(board.events, 'event')}"
        yield "Ledger head", board.head


def _percent(design: DesignRecord) -> str:
    return f"{100 * (design.share or 1.0):.3g} %"


def _shares(certificate: Certificate) -> str:
    """What each of the other views has of alpha, or all of them if that is the same."""
    shares = {shown(str(view.name)): _percent(view.content.design) for view in certificate.views}
    if len(set(shares.values())) == 1 and len(shares) > 1:
        return f"{len(shares):,} other views with {next(iter(shares.values()))} each"
    named = [f"{name} with {share}" for name, share in shares.items()]
    more = [f"{counted(len(named) - MOST_MEMBERS, 'more view')}"] if len(named) > MOST_MEMBERS else []
    return ", ".join([*named[:MOST_MEMBERS], *more])


def _claims(board: BoardRecord | None) -> Iterator[tuple[str, ...]]:
    for claim in board.claims if board else ():
        about = f"model {shown(claim.newcomer)}" if claim.newcomer else "its first models"
        yield (f"{claim.claim}", f"epoch {claim.epoch}: {about}", f"{claim.level:.3g}", f"{claim.directions:,}")
