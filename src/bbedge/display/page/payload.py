"""The certificate inside the page: as it is while it is small, packed when it is large.

A certificate of 500 models has a hundred thousand edges, each of which repeats two names and two numbers of the
matrices. Packed, an edge is four numbers and all of it is compressed; the page's script puts it together again.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import plain
from bbedge.certificate.shape import Conclusions, Document, Edge
from bbedge.display.page.heat import address
from bbedge.display.page.items import ItemScores
from bbedge.display.page.model_info import InfoColumn, ModelInfo
from bbedge.display.page.table import Table

MOST_PLAIN = 80
"""A certificate of more models than this, or of as many pairs in its views, about a million characters, is packed."""


def embedded(
    certificate: Certificate,
    shown: Sequence[Certificate] = (),
    *,
    tables: Sequence[Table] = (),
    opened: int = 0,
    items: ItemScores | None = None,
    most_plain: int = MOST_PLAIN,
) -> str:
    """A JSON text that is safe inside a script element: the certificate, and the order in which it is shown.

    ``shown`` is what the page can show in full, by default the headline alone, and ``tables`` are their tables;
    ``opened`` is what it opens with.
    """
    every = shown or (certificate,)
    made = tables or [Table.of(each, ModelInfo()) for each in every]
    content: dict[str, object] = {
        "shown": certificate.shown,
        "decimals": certificate.units.decimals,
        "step": certificate.step,
        "opened": opened,
        "panels": [_panel(certificate, each, table) for each, table in zip(every, made, strict=True)],
        "info": [_info(certificate, column) for column in made[0].info],
        "items": items and items.packed(),
    }
    if (1 + len(certificate.views)) * len(certificate.names) ** 2 <= most_plain**2:
        return _script_safe(content | {"document": plain(certificate.content)})
    packed = gzip.compress(_json(pack(certificate.content)).encode("ascii"), compresslevel=6, mtime=0)
    return _script_safe(content | {"packed": base64.b64encode(packed).decode("ascii")})


def _info(certificate: Certificate, column: InfoColumn) -> dict[str, object]:
    """A column that the user gave, models in the order of the document."""
    names = [model.name for model in certificate.content.models]
    cells = [column.cell(name) for name in names]
    return {
        "title": column.title,
        "kind": column.kind,
        "texts": [cell.text for cell in cells],
        "links": [cell.link for cell in cells] if column.kind == "link" else None,
        "keys": [column.key(name) for name in names],
    }


def _panel(whole: Certificate, view: Certificate, table: Table) -> dict[str, object]:
    """What the script needs besides the certificate to show a view; ``view`` is its place among the views."""
    places = [each.name for each in whole.views]
    return {
        "view": places.index(view.name) if view.name in places else None,
        "link": address(view.name),
        "order": view.order,
        "labels": view.labels,
        "table": table.for_script(),
    }


def pack(document: Document) -> dict[str, object]:
    """The document without what can be put together from the rest: see ``unpack`` in the script."""
    rest = plain(document)
    rest.pop("views", None)
    packed = _packed(document, rest)
    if document.views:
        packed["views"] = [_packed(view, plain(view)) for view in document.views]
    return packed


def _packed(record: Conclusions, rest: dict[str, Any]) -> dict[str, object]:
    place = {model.name: i for i, model in enumerate(record.models)}

    def flat(edges: Sequence[Edge]) -> list[float]:
        return [
            value
            for edge in edges
            for value in (place[edge.winner], place[edge.loser], edge.path_margin, edge.first_certified)
        ]

    if record.edges is None:
        return {"rest": rest}
    pairs = {key: rest.pop(key) for key in ("current_edges", "unresolved") if key in rest}
    sets = rest.pop("top_k")
    return {
        "rest": {key: value for key, value in rest.items() if key != "edges"},
        "edges": flat(record.edges),
        "pairs": {key: [place[name] for pair in listed for name in pair] for key, listed in pairs.items()},
        "top_k": {k: members and [place[name] for name in members] for k, members in sets.items()},
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _script_safe(value: object) -> str:
    return _json(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
