"""The one way in for certificate files: read, with every check that needs no scores."""

from __future__ import annotations

from pathlib import Path

from bbedge.certificate.certificate import Certificate, Shown
from bbedge.certificate.provenance import is_changed
from bbedge.certificate.reading import read_content, read_document
from bbedge.errors import FormatError
from bbedge.text import shown_path


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
