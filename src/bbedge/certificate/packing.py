"""A certificate inside a page: as it is, or packed to a fraction of its size; and taken out again.

A page may come from anywhere: what is taken out of one is bounded, and checked by whoever reads the certificate.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from gzip import compress
from typing import Any

from bbedge.certificate.document import plain
from bbedge.errors import FormatError
from bbedge.records.certificate import Conclusions, Document, Edge
from bbedge.records.codec import parse_json

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
    pairs = {key: rest.pop(key) for key in ("current_edges", "unresolved") if key in rest}
    sets = rest.pop("top_k")
    return {
        "rest": {key: value for key, value in rest.items() if key != "edges"},
        "edges": [value for edge in record.edges for value in (place[edge.winner], place[edge.loser], *_numbers(edge))],
        "pairs": {key: [place[name] for pair in listed for name in pair] for key, listed in pairs.items()},
        "top_k": {k: members and [place[name] for name in members] for k, members in sets.items()},
    }


def _numbers(edge: Edge) -> tuple[float, int, int]:
    return edge.path_margin, edge.first_certified, edge.first_part or 0


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
