"""The digest of a certificate: one hash of everything that it says.

It shows that a file is as it was written. It is no signature: whoever changes a certificate on purpose can make a new
digest for it, and only the scores show that what it says is true.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bbedge.certificate.document import plain
from bbedge.certificate.provenance_shape import TIME
from bbedge.certificate.shape import Document
from bbedge.errors import Argument, DomainError

_NOT_HASHED = ("digest", "time")
_TIME = re.compile(TIME)


def digest(content: Mapping[str, Any]) -> str:
    """The digest of a document of plain values, as ``json.loads`` reads them.

    Keys are sorted and nothing stands between tokens; a number is the shortest text that reads back as the same double,
    whole ones without a fraction. So programs may write the file again, with other spaces or ``1`` for ``1.0``.
    """
    content = dict(content)
    if isinstance(content.get("provenance"), Mapping):
        content["provenance"] = {k: v for k, v in content["provenance"].items() if k not in _NOT_HASHED}
    text = json.dumps(_canonical(content), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def is_changed(content: Mapping[str, Any], document: Document) -> bool | None:
    """Whether a document was changed after it was written; ``None`` if it has no digest that could show it.

    ``content`` is everything that its file says, ``document`` the same, typed.
    """
    provenance = document.provenance
    if not provenance or not provenance.digest:
        return None
    return digest(content) != provenance.digest


def sealed(document: Document, time: str | None = None) -> Document:
    """The document with its digest, and with the time that it is written at if there is one.

    One that has a digest stays as it is, and so does one that says nothing of where it comes from.
    """
    if time is not None and not _TIME.fullmatch(time):
        raise DomainError(
            Argument("time", time), " is not a time in UTC with seconds; write it as 2026-01-31T12:00:00Z"
        )
    provenance = document.provenance
    if not provenance or provenance.digest:
        return document
    made = msgspec.structs.replace(
        provenance, digest=digest(plain(document)), time=msgspec.UNSET if time is None else time
    )
    return msgspec.structs.replace(document, provenance=made)


def _canonical(value: Any) -> Any:  # noqa: ANN401 - any JSON
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() and abs(value) <= 2**53 else value
    if kind is dict:
        return {key: _canonical(each) for key, each in value.items()}
    if kind in (list, tuple):
        return [_canonical(each) for each in value]
    return value
