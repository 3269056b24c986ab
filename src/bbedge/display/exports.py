"""The certified graph for other programs: DOT, GraphML, Mermaid, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.means import has_partial, mean_items
from bbedge.certificate.units import rank
from bbedge.text import shown

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"


def to_dot(certificate: Certificate) -> str:
    """The reduced graph for Graphviz, best on top."""
    lines = ["digraph certified {", '  rankdir="TB";', '  node [shape="box", style="rounded", fontname="sans-serif"];']
    for i, label in enumerate(_labels(certificate)):
        lines.append(f"  m{i} [label={_dot_text(label)}];")
    lines += [f"  m{a} -> m{b};" for a, b in _reduced(certificate)]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(certificate: Certificate) -> str:
    """The reduced graph as a Mermaid flowchart, which many READMEs show as a picture."""
    lines = ["flowchart TD"]
    lines += [f'  m{i}["{_mermaid_text(label)}"]' for i, label in enumerate(_labels(certificate))]
    lines += [f"  m{a} --> m{b}" for a, b in _reduced(certificate)]
    return "\n".join(lines) + "\n"


def to_graphml(certificate: Certificate) -> str:
    """Every certified edge, with its evidence and margin; models with their means and ranks."""
    from xml.etree import ElementTree

    root = ElementTree.Element("graphml", {"xmlns": _GRAPHML})
    keys = (
        ("node", "name", "string"),
        ("node", "mean", "double"),
        *((("node", "mean_items", "int"),) if has_partial(certificate) else ()),
        ("node", "best_rank", "int"),
        ("node", "worst_rank", "int"),
        ("edge", "log_e", "double"),
        ("edge", "margin", "double"),
        ("edge", "first_certified", "int"),
        ("edge", "reduced", "boolean"),
    )
    for kind, name, form in keys:
        ElementTree.SubElement(root, "key", {"id": name, "for": kind, "attr.name": name, "attr.type": form})
    graph = ElementTree.SubElement(root, "graph", {"id": "certified", "edgedefault": "directed"})
    items = mean_items(certificate) if has_partial(certificate) else (None,) * len(certificate.names)
    for i, (name, mean, ends) in enumerate(
        zip(certificate.names, certificate.means, certificate.graph.rank_intervals, strict=True)
    ):
        node = ElementTree.SubElement(graph, "node", {"id": f"m{i}"})
        for key, value in (
            ("name", _xml_text(name)),
            ("mean", mean),
            ("mean_items", items[i]),
            ("best_rank", ends[0]),
            ("worst_rank", ends[1]),
        ):
            if value is not None:
                ElementTree.SubElement(node, "data", {"key": key}).text = str(value)
    for a, b in np.argwhere(certificate.graph.edges).tolist():
        edge = ElementTree.SubElement(graph, "edge", {"source": f"m{a}", "target": f"m{b}"})
        for key, value in _about(certificate, a, b):
            ElementTree.SubElement(edge, "data", {"key": key}).text = str(value).lower()
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii") + "\n"


def to_csv(certificate: Certificate) -> str:
    """Every certified edge, one a row. Names are plain ASCII, and no spreadsheet runs them as formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["winner", "loser", "log_e", "margin", "first_certified", "reduced"])
    names = [cell(name) for name in certificate.names]
    for a, b in np.argwhere(certificate.graph.edges).tolist():
        writer.writerow([names[a], names[b], *(_number(value) for _, value in _about(certificate, a, b))])
    return text.getvalue()


EXPORTS: dict[str, Callable[[Certificate], str]] = {
    ".dot": to_dot,
    ".gv": to_dot,
    ".graphml": to_graphml,
    ".mmd": to_mermaid,
    ".csv": to_csv,
}
"""By the ending of the file."""


def _about(certificate: Certificate, a: int, b: int) -> Iterator[tuple[str, float | int | bool]]:
    yield "log_e", float(certificate.log_e[a, b])
    yield "margin", float(certificate.margins[a, b])
    yield "first_certified", int(certificate.first_certified[a, b])
    yield "reduced", bool(certificate.graph.reduction[a, b])


def _reduced(certificate: Certificate) -> list[tuple[int, int]]:
    return [(a, b) for a, b in np.argwhere(certificate.graph.reduction).tolist()]


def _labels(certificate: Certificate) -> list[str]:
    return [
        f"{shown(name, 60)} (rank {rank(ends)})"
        for name, ends in zip(certificate.names, certificate.graph.rank_intervals, strict=True)
    ]


def _dot_text(text: str) -> str:
    # In DOT a backslash starts an escape of its own (\N is the node's name), so that it is doubled too.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_references(escaped.replace("&", "&amp;"))}"'


def _mermaid_text(text: str) -> str:
    # Mermaid has no escape but its own form of character references.
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in " -_.:()") else f"#{ord(letter)};"
        for letter in text
    )


def _references(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _xml_text(name: str) -> str:
    """XML has no way to write most control characters, so that they are shown escaped."""
    return "".join(letter if letter >= " " and letter.isprintable() else shown(letter) for letter in name)


def _number(value: float | int | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)


_FORMULA = ("=", "+", "-", "@")


def cell(text: str) -> str:
    r"""The text in plain ASCII, escaped like a Python text, and with an apostrophe before what would be a formula.

    Numbers need none of this: write them as they are.

    >>> cell("=1+1"), cell(" @sum"), cell("a-b"), cell("\t=1")
    ("'=1+1", "' @sum", 'a-b', "'\\t=1")
    """
    escaped = text.encode("unicode_escape").decode("ascii")
    # White space in front does not keep a spreadsheet from running a formula; nor may a program undo the escape first.
    runs = text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r"))
    return f"'{escaped}" if runs else escaped
