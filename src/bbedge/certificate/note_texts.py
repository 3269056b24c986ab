"""The notes of two certificates, made comparable: files may lie in other folders now."""

from __future__ import annotations

import re

from bbedge.certificate.shape import Document
from bbedge.text import listed

_QUOTED, _FOLDERS = re.compile("'([^']*)'"), re.compile(r"[^\s']*[/\\]")
_FILE, _CUT = re.compile(r"[/\\]|\.\w{1,8}$"), re.compile(r"[/\\…]")
_END = 20  # of a long path messages show less than thirty characters at its end


def comparable_notes(document: Document) -> list[str]:
    """The notes about the scores, without folders; those about other files depend on what lies beside them."""
    asides = _asides(document)
    return [without_folders(note) for place, note in enumerate(document.notes) if place not in asides]


def not_compared(document: Document) -> str:
    """The notes that are left out of a comparison, as the end of a sentence; empty if there are none."""
    asides = _asides(document)
    if not asides:
        return ""
    return f"; not compared, because it is about other files: {listed(document.notes[i] for i in asides)}"


def without_folders(note: str) -> str:
    """A note with the ends of paths only: the same files may lie elsewhere, and long paths are cut in the middle.

    >>> without_folders("Left out: 'runs/old/a.csv', /tmp/b.csv and 'gpt-4'.")
    "Left out: 'a.csv', b.csv and 'gpt-4'."
    """
    return _FOLDERS.sub("", _QUOTED.sub(lambda found: f"'{_end(found[1])}'", note))


def _end(name: str) -> str:
    return _CUT.split(name)[-1][-_END:] if _FILE.search(name) else name


def _asides(document: Document) -> tuple[int, ...]:
    return (document.provenance.unverified_notes if document.provenance else None) or ()
