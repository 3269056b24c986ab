"""What was noticed about scores: a fact for programs, and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NoteKind = Literal[
    "copies", "repeats", "seed", "cache", "protocol", "order", "content", "gaps", "names", "files", "log", "position"
]
"""Copied replicates; a model that always repeats itself; shared seeds; cached answers; settings that differ between
runs; how runs were numbered; changed questions; missing scores; names; files; what a log says of itself; scores
that change with the place in the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that a reader of the results should know."""

    kind: NoteKind
    """What it is about. Programs read this, never the text."""
    text: str
    """The sentence to show."""
    subject: tuple[str, ...] = ()
    """The models, items or files that it is about, as they are named in the data."""

    def __str__(self) -> str:
        return self.text
