"""The one way in for certificate files: read, with every check that needs no scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bbedge.certificate.certificate import Certificate, Shown
from bbedge.certificate.document import read_document
from bbedge.certificate.provenance import is_changed
from bbedge.errors import FormatError
from bbedge.records.codec import parse_json
from bbedge.text import shown_path

MOST_BYTES = 1 << 28
"""A certificate of 500 models, the most that list their pairs, has about 50 million."""


def read_content(path: Path) -> dict[str, Any]:
    """The JSON of a certificate file as plain values."""
    name = shown_path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{name}: not a certificate: larger than {MOST_BYTES:,} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    content = parse_json(text, source=name, what="a certificate")
    if not isinstance(content, dict):
        raise FormatError(f"{name}: not a certificate; expected what bbedge certify --json writes")
    return content


def read_certificate(path: str | Path, *, shown: Shown = "all", force: bool = False) -> Certificate:
    """Read a certificate file, as ``bbedge certify --json`` writes it.

    A file that contradicts itself, or whose content is not that of its digest, is refused; ``force`` reads it all the
    same, and every display then says so first. :func:`bbedge.verify_certificate` checks the numbers against the scores.

    It shows everything that stands; ``shown="current"`` shows the last look.
    """
    source = shown_path(path)
    content = read_content(Path(path))
    document = read_document(content, source=source)
    changed = "the certificate was changed after it was written: its digest is not that of its content"
    if not is_changed(content, document):
        try:
            return Certificate.of(document, shown=shown, source=source)
        except FormatError as error:
            if not force:
                raise
            return Certificate.of(document, shown=shown, source=source, flaw=str(error).removeprefix(f"{source}: "))
    if force:
        return Certificate.of(document, shown=shown, source=source, flaw=changed)
    raise FormatError(
        f"{source}: {changed}. Do not rely on it; write it again with bbedge certify --json or bbedge board show --json"
    )
