"""Certificates as they are read: with every check that needs no scores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.certificate.certificate import Certificate, Shown
from bbedge.certificate.document import read_document
from bbedge.certificate.packing import inside_page
from bbedge.certificate.parts import Parts
from bbedge.certificate.provenance import is_changed
from bbedge.errors import FormatError
from bbedge.records.certificate import Document
from bbedge.records.codec import parse_json
from bbedge.text import shown_path
from bbedge.verify.consistency import check_consistency, check_views

_ENOUGH = 1024  # bytes that tell a page from JSON
MOST_BYTES = 1 << 28
"""A certificate of 500 models, the most that list their pairs, has about 50 million."""


def read_content(path: Path) -> tuple[dict[str, Any], bool]:
    """A certificate file as plain values, and whether it is a page that contains a certificate."""
    name = shown_path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{name}: not a certificate: larger than {MOST_BYTES:,} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    if text[:_ENOUGH].lstrip().startswith(b"<"):
        page = text.decode("utf-8", errors="replace")
        return inside_page(page, source=name, most_bytes=MOST_BYTES), True
    content = parse_json(text, source=name, what="a certificate")
    if not isinstance(content, dict):
        raise FormatError(f"{name}: not a certificate; expected what bbedge certify --json writes")
    return content, False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A certificate as it was read: what was typed, and everything that the file says."""

    content: Mapping[str, Any]
    """Plain values, keys that this version does not know included."""
    document: Document
    """The same, typed."""
    source: str
    """What it is called in messages."""
    in_page: bool = False
    """Whether it was taken out of a page."""

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Mapping[str, Any] | Certificate) -> Stated:
        """Read a file or plain values; what is no certificate is refused."""
        if isinstance(given, Certificate):
            given = given.document
        if isinstance(given, Mapping):
            return cls(content=given, document=read_document(given, source="certificate"), source="certificate")
        source = shown_path(given)
        content, in_page = read_content(Path(given))
        return cls(content=content, document=read_document(content, source=source), source=source, in_page=in_page)


def read_certificate(path: str | os.PathLike[str], *, shown: Shown = "all", force: bool = False) -> Certificate:
    """Read a certificate file, as ``bbedge certify --json`` writes it, or the one inside a page.

    A file that contradicts itself, or whose content is not that of its digest, is refused; ``force`` reads it all the
    same, and every display then says so first. :func:`bbedge.verify_certificate` checks the numbers against the scores.

    It shows everything that stands; ``shown="current"`` shows the last look.
    """
    stated = Stated.of(path)
    parts = Parts.of(stated.document, source=stated.source)
    flaw = _flaw(stated, parts)
    if flaw is not None:
        if not force:
            raise flaw
        check_views(parts)
    why = None if flaw is None else str(flaw).removeprefix(f"{stated.source}: ")
    return Certificate.of(stated.document, shown=shown, source=stated.source, flaw=why)


def _flaw(stated: Stated, parts: Parts) -> FormatError | None:
    """Why a certificate should be refused, as far as it shows by itself."""
    if is_changed(stated.content, stated.document):
        return FormatError(
            f"{stated.source}: the certificate does not match its digest. Do not rely on it; write it again with "
            "bbedge certify --json or bbedge board show --json"
        )
    try:
        check_consistency(parts)
    except FormatError as error:
        return error
    return None
