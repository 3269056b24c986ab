"""Where a certificate comes from: its digest, its files, and the command that checks it."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import msgspec

from bbedge.certificate.document import plain
from bbedge.errors import Argument, DomainError
from bbedge.records.certificate import TIME, Document, SourceRecord
from bbedge.records.reading import TAKEN

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


_MOST_NAMED = 3
_CERTIFICATE, _SCORES, _ARCHIVE = "certificate.json", "SCORES...", "board.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a certificate says of where it comes from; what is ``None`` it does not say."""

    version: str
    """The version of bbedge that wrote it."""
    time: str | None
    """When it was written, in UTC."""
    design: str
    """The hash of the design; of a board, its registration."""
    sources: tuple[SourceRecord, ...] | None
    """The files that the scores were read from."""
    scores: str | None
    """The hash of the scores."""
    head: str | None
    """The hash of the last event, if it is of a board."""
    digest: str | None
    """The hash of the certificate itself, without the time."""
    command: str
    """The command that checks it."""


def provenance(document: Document) -> Provenance:
    """The facts about a document."""
    record = document.provenance or None
    return Provenance(
        version=document.bbedge,
        time=(record and record.time) or None,
        design=document.design.hash,
        sources=(record and record.sources) or None,
        scores=(record and record.scores) or None,
        head=document.board.head if document.board else None,
        digest=(record and record.digest) or None,
        command=verify_command(document),
    )


def verify_command(document: Document) -> str:
    """The command that computes a certificate again: with the names of its files, where there are few.

    The names of the certificate and of a board are not in the document; ``certificate.json`` and ``board.jsonl``, the
    archive of the board, stand for them. Options about reading that the certificate states are not repeated.
    """
    if document.board:
        return f"bbedge verify {_CERTIFICATE} {_ARCHIVE}"
    record = document.provenance or None
    reading = (record and record.reading) or None
    listing = (reading and reading.items) or None
    names = [each.name for each in (record and record.sources) or () if listing is None or not _is(each.name, listing)]
    files = shlex.join(names) if 0 < len(names) <= _MOST_NAMED else _SCORES
    options = shlex.join(reading.words(without=TAKEN)) if reading else ""
    return f"bbedge verify {_CERTIFICATE} {files} {options}".rstrip()


def _is(path: str, name: str) -> bool:
    return PurePath(path).name == name
