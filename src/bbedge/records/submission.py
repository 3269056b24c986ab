"""A submission: one file with the scores of models, what they were read from, and who hands them in.

The file is a zip archive. ``submission.json`` in it is a :class:`Submission`; the members that it lists are all that
the archive has besides.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from bbedge.records.codec import FILE_VERSION
from bbedge.records.reading import UNIT, ReadingRecord
from bbedge.records.values import Count, Digest, Name, Number, Positive, Strict, Text, Trust

RECORD, TABLE, LOGS = "submission.json", "scores.csv", "logs/"
"""The members of the archive: this record, the table of scores, and where the files are that it was made from."""
MOST_FILES = 10_000
"""The most files that a submission keeps."""

CheckStatus = Literal["holds", "fails", "not-checked"]
"""What became of a check."""


class PackedFile(Strict, frozen=True, kw_only=True):
    """A file that scores were read from, or the table of them."""

    name: Name
    """What it is called, with ``/`` between folders."""
    bytes: Count
    """Its size."""
    sha256: Digest
    """The SHA-256 of its bytes."""


class SubmittedModel(Strict, frozen=True, kw_only=True):
    """A model, and what the submission claims of it."""

    model: Name
    """Its name."""
    mean: Number
    """The mean of its scores, without those missing, in score units."""
    scores: Positive
    """How many scores it has."""


class SubmittedScores(Strict, frozen=True, kw_only=True):
    """The scores in numbers: what anyone can compute from the table."""

    models: Annotated[tuple[SubmittedModel, ...], Meta(min_length=1)]
    """The models, in the order of their names."""
    items: Positive
    """The number of items."""
    runs: Positive
    """The number of runs."""


class Submission(Strict, frozen=True, kw_only=True):
    """What a submission states."""

    kind: Literal["bbedge-submission"] = "bbedge-submission"
    """What the file is."""
    version: Positive = FILE_VERSION
    """The version of its keys."""
    who: Annotated[str, Meta(min_length=1, max_length=200)]
    """Who hands it in."""
    protocol: Annotated[str, Meta(max_length=20_000)] = ""
    """How the runs were made, in words."""
    scores: SubmittedScores
    """What it claims of the scores."""
    table: PackedFile
    """The table of all scores, as they are."""
    sources: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=MOST_FILES)]
    """The files and folders that the table was made from, as they are called below ``logs/``."""
    files: Annotated[tuple[PackedFile, ...], Meta(min_length=1, max_length=MOST_FILES)]
    """All files in these, likewise."""
    keeps_files: bool
    """Whether the files are in the archive."""
    reading: ReadingRecord = ReadingRecord()
    """The options that they were read with."""
    scale: tuple[Number, Number] = UNIT
    """The lowest and the highest possible score."""
    registration: Digest | UnsetType = UNSET
    """The hash of what is frozen on the board that it is for."""


class SubmissionCheck(Strict, frozen=True, kw_only=True):
    """Something that was checked."""

    what: Text
    """What it is about."""
    status: CheckStatus
    """What became of it."""
    text: Text
    """What was found."""


class SubmissionVerdict(Strict, frozen=True, kw_only=True):
    """What became of all checks of a submission."""

    accepted: bool
    """Whether no check failed."""
    sha256: Digest
    """The SHA-256 of the whole file."""
    submission: Submission | None = None
    """What it states; ``None`` if it cannot be read."""
    trust: Trust | None = None
    """How far its scores can be trusted, if it is accepted."""
    checks: tuple[SubmissionCheck, ...]
    """The checks, in the order in which they were made."""
    news: tuple[str, ...] = ()
    """What adding it to the board would bring, line by line."""
