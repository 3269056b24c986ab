"""What a published folder has besides certificates: the history of every row, and the list of its own files."""

from __future__ import annotations

from typing import Literal

from bbedge.records.values import Count, Digest, Name, Positive, Record, Time

RowEvent = Literal["announced", "announcement closed", "added", "re-scored", "trust stated", "retired", "withdrawn"]
"""What happens to the row of a model: its runs are announced, and waited for no more; it comes, has new scores, is
trusted so far, is run no more, or is hidden."""


class SiteManifest(Record, frozen=True, kw_only=True):
    """The file that makes a folder one that may be published into again: only what it lists is ever replaced."""

    kind: Literal["bbedge-site"] = "bbedge-site"
    version: int
    """The version of its keys."""
    files: dict[Name, Digest]
    """The SHA-256 of every other file that was written, by its path inside the folder."""


class RowChange(Record, frozen=True, kw_only=True):
    """Something that happened to a row of the leaderboard."""

    model: Name
    """The model of the row."""
    what: RowEvent
    """What happened."""
    event: Positive
    """The place of the event in the ledger."""
    hash: Digest
    """Its hash."""
    time: Time
    """When it was recorded."""
    epoch: Positive
    """The epoch that it is part of, or that it began."""
    why: str
    """What the event was."""
    means: tuple[float | None, ...] = ()
    """The mean of each run that came with it, in score units, every item with the same weight; null without scores."""
    missing: Count = 0
    """How many scores these runs lack."""
    scores: tuple[Digest, ...] = ()
    """The checksum of the scores of each."""
