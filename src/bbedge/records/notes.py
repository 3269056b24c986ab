"""What was noticed about scores: a fact for programs, and a sentence for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from bbedge.text import listed, shown_path

NoteKind = Literal[
    "copies",
    "repeats",
    "seed",
    "cache",
    "protocol",
    "order",
    "content",
    "gaps",
    "names",
    "files",
    "beside",
    "log",
    "subset",
    "position",
    "pilot",
    "retired",
    "epochs",
    "attempts",
    "remark",
]
"""Copied replicates; a model that always repeats itself; shared seeds; cached answers; settings that differ between
runs; how runs were numbered; changed questions; missing scores; names; files; other files beside them, which were not
read; what a log says of itself; a part of the documents that a publisher kept; scores that change with the place in the
run. Of a board: its pilot; retired models; other versions of the benchmark; runs that were begun again; what people
wrote down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that a reader of the results should know."""

    kind: NoteKind
    """What it is about. Programs read this, never the text."""
    text: str
    """The sentence to show."""
    subject: tuple[str, ...] = ()
    """The models, items or files that it is about, as they are named in the data; files without their folders."""

    def __str__(self) -> str:
        return self.text


def files_beside(names: Sequence[str]) -> Note:
    """The note about files of a folder that were not read; nothing in it but their names."""
    return Note(
        kind="beside",
        subject=tuple(names),
        text=f"{len(names)} files of the folders were not read, because they hold no known scores: "
        f"{listed(names, limit=3)}.",
    )


def without_folders(note: Note, paths: Iterable[str]) -> Note:
    """A note that names these files without their folders, so that it is the same wherever they lie."""
    text, names = note.text, {path: PurePath(path).name for path in paths}
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(shown_path(path), shown_path(names[path]))
    return replace(note, text=text, subject=tuple(names.get(each, each) for each in note.subject))
