"""What a certificate says of where it comes from: the definition of its keys, as in :mod:`bbedge.certificate.shape`."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from bbedge.certificate.values import Count, Hash, Record, Text

TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
"""A time in UTC with seconds."""
Time = Annotated[str, Meta(pattern=TIME)]


class SourceRecord(Record, frozen=True, kw_only=True):
    """A file that the scores were read from."""

    name: Text
    """Its path as it was given; of absolute paths, without the folders that they have in common."""
    bytes: Count
    """Its size."""
    sha256: Hash
    """SHA-256 of its bytes."""


class ProvenanceRecord(Record, frozen=True, kw_only=True):
    """What the certificate was made from, by hashes, and when; ``bbedge verify`` checks all of it.

    What is not known is absent: scores that Python code made have no sources, a board has its head instead of both.
    """

    version: Text
    """Version that wrote the document; the same as bbedge."""
    design: Hash
    """SHA-256 of the whole design; the same as design.hash."""
    sources: tuple[SourceRecord, ...] | UnsetType = UNSET
    """The files with the scores and the list of items, if there is one; sorted by name."""
    scores: Hash | UnsetType = UNSET
    """SHA-256 of the scores in one canonical form, which does not depend on the order or format of files and rows."""
    head: Hash | UnsetType = UNSET
    """Of a board: the hash of the last event of its ledger."""
    unverified_notes: tuple[Count, ...] | UnsetType = UNSET
    """Places in notes, from 0, of those about other files that lay beside the scores; bbedge verify leaves them out."""
    digest: Hash | UnsetType = UNSET
    """SHA-256 of the document in canonical JSON, without this key and time."""
    time: Time | UnsetType = UNSET
    """When it was written, in UTC, as the writer said; no hash covers it."""
