"""An Atom feed of what a board certified: an entry for each event that certified something new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import NAMESPACE_OID, uuid5
from xml.sax.saxutils import escape

from bbedge.board import Board
from bbedge.ledger.chain import LedgerEvent
from bbedge.records.events import ModelAdded, NewEdge, ReplicateAdded
from bbedge.text import counted, shown

MOST_ENTRIES = 100
"""So many entries are in the feed, the latest ones."""
MOST_NAMED = 50
"""Of one entry, so many comparisons are named."""


def atom_feed(board: Board, *, title: str, address: str | None) -> str:
    """The feed, latest first. Ids follow from the hashes of events, times are theirs: it never changes by itself."""
    news = [event for event in board.events if any(edges for _, edges in _certified(event))]
    address = address and f"{address.rstrip('/')}/"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{_id(board.events[0])}</id>",
        f"<title>{_text(title)}</title>",
        f"<author><name>{_text(title)}</name></author>",
        f"<updated>{_time((news or board.events)[-1])}</updated>",
        f'<link rel="alternate" type="text/html" href="{_text(address or "")}index.html"/>',
        *([f'<link rel="self" type="application/atom+xml" href="{_text(address)}feed.xml"/>'] if address else []),
    ]
    for event in news[: -MOST_ENTRIES - 1 : -1]:
        lines += _entry(event)
    return "\n".join([*lines, "</feed>"]) + "\n"


def _certified(event: LedgerEvent) -> list[tuple[str, Sequence[NewEdge]]]:
    """What an event certified for the first time: in the headline, whose name is empty, and in each other view."""
    content = event.content
    outcome = content.outcome if isinstance(content, ReplicateAdded | ModelAdded) else None
    if outcome is None:
        return []
    return [("", outcome.certified), *((name, each.certified) for name, each in outcome.views.items())]


def _entry(event: LedgerEvent) -> Iterator[str]:
    content, found = event.content, _certified(event)
    new = sum(len(edges) for _, edges in found)
    noun = "comparison" if new == 1 else "comparisons"
    what = f"{shown(content.model)} was added" if isinstance(content, ModelAdded) else f"Run {content.replicate}"  # type: ignore[union-attr]
    epoch = f" of epoch {content.epoch}" if content.epoch > 1 else ""  # type: ignore[union-attr]
    if isinstance(content, ReplicateAdded) and content.upto:
        what += f", up to {counted(content.upto, 'block')}"
    named = [
        f"{shown(edge.winner)} beats {shown(edge.loser)}{f' in {shown(view)}' if view else ''}"
        for view, edges in found
        for edge in edges
    ]
    more = [f"and {new - MOST_NAMED:,} more"] if new > MOST_NAMED else []
    listed = "".join(f"<li>{escape(text)}</li>" for text in (*named[:MOST_NAMED], *more))
    yield "<entry>"
    yield f"<id>{_id(event)}</id>"
    yield f"<title>{_text(f'{what}{epoch}: {new:,} new {noun} certified')}</title>"
    yield f"<updated>{_time(event)}</updated>"
    yield f'<content type="html">{_text(f"<ul>{listed}</ul><p>Event {event.seq}, {event.hash}</p>")}</content>'
    yield "</entry>"


def _id(event: LedgerEvent) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_OID, event.hash)}"


def _time(event: LedgerEvent) -> str:
    return event.at.replace("+00:00", "Z")


def _text(text: str) -> str:
    """A text between tags or quotes. What XML does not allow was escaped with everything else that is invisible."""
    return escape(shown(text, None), {'"': "&quot;"})
