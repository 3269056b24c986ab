"""Where a certificate comes from: its digest, its files, the command that checks it; and a certificate inside a page.

A page may come from anywhere: what is taken out of one is bounded, and checked by whoever reads the certificate.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import zlib
from collections.abc import Mapping, Sequence
from gzip import compress
from pathlib import PurePath
from typing import Any

import msgspec

from bbedge.certificate.document import plain
from bbedge.errors import Argument, DomainError, FormatError
from bbedge.records.certificate import Conclusions, Document
from bbedge.records.codec import canonical, parse_json
from bbedge.records.reading import TAKEN
from bbedge.records.values import TIME

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
    return hashlib.sha256(canonical(_with_whole_numbers(content)).encode("ascii")).hexdigest()


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


def _with_whole_numbers(value: Any) -> Any:  # noqa: ANN401 - any JSON
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() and abs(value) <= 2**53 else value
    if kind is dict:
        return {key: _with_whole_numbers(each) for key, each in value.items()}
    if kind in (list, tuple):
        return [_with_whole_numbers(each) for each in value]
    return value


_MOST_NAMED = 3
_CERTIFICATE, _SCORES, _ARCHIVE = "certificate.json", "SCORES...", "board.jsonl"


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
    names = [each.name for each in (record and record.sources) or () if PurePath(each.name).name != listing]
    files = shlex.join(names) if 0 < len(names) <= _MOST_NAMED else _SCORES
    options = shlex.join(reading.words(without=TAKEN)) if reading else ""
    return f"bbedge verify {_CERTIFICATE} {files} {options}".rstrip()


_START, _END = '<script type="application/json" id="data">', "</script>"


def packed_text(document: Document) -> str:
    """The document as compressed JSON, in letters that are safe on a page."""
    text = json.dumps(pack(document), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")


def pack(document: Document) -> dict[str, object]:
    """The document without what can be put together from the rest: see ``unpack``, here and in the script."""
    rest = plain(document)
    rest.pop("views", None)
    packed = _packed(document, rest)
    if document.views:
        packed["views"] = [_packed(view, plain(view)) for view in document.views]
    return packed


def _packed(record: Conclusions, rest: dict[str, Any]) -> dict[str, object]:
    place = {model.name: i for i, model in enumerate(record.models)}
    if record.edges is None:
        return {"rest": rest}
    pairs = {key: rest.pop(key) for key in ("current_edges", "unresolved", "equal") if key in rest}
    sets = rest.pop("top_k")
    return {
        "rest": {key: value for key, value in rest.items() if key != "edges"},
        "edges": [
            value
            for edge in record.edges
            for value in (
                place[edge.winner],
                place[edge.loser],
                edge.path_margin,
                edge.first_certified,
                edge.first_part or 0,
            )
        ],
        "pairs": {key: [place[name] for pair in listed for name in pair] for key, listed in pairs.items()},
        "top_k": {k: members and [place[name] for name in members] for k, members in sets.items()},
    }


def unpack(packed: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`pack` made smaller, as plain values."""
    rest = dict(packed["rest"])
    if "views" in packed:
        rest["views"] = [unpack(view) for view in packed["views"]]
    if "edges" not in packed:
        return rest
    names, log_e, margins = [model["name"] for model in rest["models"]], rest["log_e"], rest["margins"]
    edges = [
        {
            "winner": names[a],
            "loser": names[b],
            "log_e": log_e[a][b],
            "margin": margins[a][b],
            "path_margin": path_margin,
            "first_certified": first,
            **({"first_part": part} if part else {}),
        }
        for a, b, path_margin, first, part in _by(packed["edges"], 5)
    ]
    pairs = {key: [[names[i] for i in pair] for pair in _by(flat, 2)] for key, flat in packed["pairs"].items()}
    sets = {k: members and [names[i] for i in members] for k, members in packed["top_k"].items()}
    return {**rest, **pairs, "edges": edges, "top_k": sets}


def _by(flat: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [flat[i : i + size] for i in range(0, len(flat), size)]


def inside_page(text: str, *, source: str, most_bytes: int) -> dict[str, Any]:
    """The plain values of the certificate that a page contains."""
    _, found, rest = text.partition(_START)
    data, closed, _ = rest.partition(_END)
    if not found or not closed:
        raise FormatError(f"{source}: not a page with a certificate; expected what bbedge certify --html writes")
    damaged = FormatError(
        f"{source}: the certificate in the page is damaged; expected what bbedge certify --html writes"
    )
    content = parse_json(data, source=source, what="a page with a certificate")
    try:
        packed = content.get("packed")
        document = content["document"] if packed is None else unpack(_json_of(packed, source, most_bytes))
    except FormatError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise damaged from error
    if not isinstance(document, dict):
        raise damaged
    return document


def _json_of(packed: str, source: str, most_bytes: int) -> Any:  # noqa: ANN401 - any JSON
    unzip = zlib.decompressobj(wbits=31)
    text = unzip.decompress(base64.b64decode(packed, validate=True), most_bytes)
    if unzip.unconsumed_tail or not unzip.eof:
        raise FormatError(f"{source}: the certificate in the page is cut short, or has more than {most_bytes:,} bytes")
    return parse_json(text, source=source, what="a page with a certificate")
