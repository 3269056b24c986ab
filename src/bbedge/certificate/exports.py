"""A certificate for other programs: frames, arrays, and graphs as CSV, DOT, GraphML and Mermaid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.derive import document_order
from bbedge.certificate.numbers import has_partial, mean_items, n_items, rank
from bbedge.core.arrays import write_archive
from bbedge.core.leaderboard import Leaderboard
from bbedge.files import csv_text, replacing
from bbedge.text import shown


def model_frame(certificate: Certificate) -> pl.DataFrame:
    """What is certified of each model, in the order shown; means in score units.

    Where scores are missing, ``mean_items`` is the number of items that each mean is over. Of a design about both
    targets, the columns that end with ``_new`` are about new items, and the others about these.
    """
    best, worst = np.array(certificate.ranks.rank_intervals).T
    intervals = np.array(certificate.mean_intervals or ()).reshape(-1, 2).T
    bounds = dict(zip(("mean_low", "mean_high"), intervals, strict=True)) if certificate.mean_intervals else {}
    return pl.DataFrame(
        {
            "model": certificate.names,
            "mean": pl.Series(certificate.means, dtype=pl.Float64),
            **({"mean_items": mean_items(certificate)} if has_partial(certificate) else {}),
            **bounds,
            "rank_best": best,
            "rank_worst": worst,
            "wins": certificate.ranks.n_worse,
            "losses": certificate.ranks.n_better,
        }
        | _ranks_on_new_items(certificate)
    )


def _ranks_on_new_items(certificate: Certificate) -> dict[str, NDArray[np.int64]]:
    """What is certified of each model in the same view of new items, if there is one."""
    other = certificate.on_new_items
    if other is None:
        return {}
    order = _places(certificate, other)
    best, worst = np.array(other.ranks.rank_intervals)[order].T
    ranks = {"rank_best": best, "rank_worst": worst, "wins": other.ranks.n_worse[order]}
    ranks["losses"] = other.ranks.n_better[order]
    return {f"{name}_new": values for name, values in ranks.items()}


def pairs_frame(certificate: Certificate) -> pl.DataFrame:
    """What is known of each tested direction, in the order shown; differences, model minus other, in score units.

    The ``difference`` of means that are not both over all items is null. Where the design states ``equal_within``,
    ``equal`` says whether the bounds lie within it. Of a design about both targets, the columns that end with ``_new``
    are about new items; bounds and evidence about these are null before the first look.
    """
    a, b = np.nonzero(~np.isnan(certificate.by_pair(known=True).margins))
    names = pl.Series(certificate.names, dtype=pl.String)
    means = np.array(certificate.means, dtype=np.float64)
    means[np.array(mean_items(certificate)) < n_items(certificate)] = np.nan
    return pl.DataFrame(
        {
            "model": names.gather(a),
            "other": names.gather(b),
            "difference": _known(means[a] - means[b]),
            **_of_pairs(certificate, a, b),
            **_on_new_items(certificate, a, b),
        }
    )


Places = NDArray[np.intp]


def _of_pairs(certificate: Certificate, a: Places, b: Places) -> dict[str, Any]:
    """What is known of these directions, column by column."""
    pairs = certificate.by_pair(known=True)
    # Before the first look at new items nothing is known, and its numbers only say that.
    unknown = np.nan if certificate.is_about_new_items and not certificate.content.looks else 0.0
    return {
        "lower": _known(pairs.margins[a, b] + unknown),
        "upper": _known(-pairs.margins[b, a] + unknown),
        "log_e": _known(pairs.log_e[a, b] + unknown),
        "certified": pairs.graph.above[a, b],
        **({} if certificate.equal is None else {"equal": certificate.equal[a, b]}),
        "since": pl.Series(pairs.first_certified[a, b]).replace(0, None),
    }


def _on_new_items(certificate: Certificate, a: Places, b: Places) -> dict[str, Any]:
    """The same of new items, if the design is about both."""
    other = certificate.on_new_items
    if other is None:
        return {}
    there = _places(certificate, other)
    return {f"{name}_new": values for name, values in _of_pairs(other, there[a], there[b]).items()}


def _places(certificate: Certificate, other: Certificate) -> Places:
    """Where the models of a certificate are in another one."""
    place = {name: i for i, name in enumerate(other.names)}
    return np.array([place[name] for name in certificate.names], dtype=np.intp)


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64).fill_nan(None)


def pair_arrays(leaderboard: Leaderboard) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays by name, each made when it is asked for, so that one of them is held at a time.

    Rows and columns are in the order of the leaderboard, which is that of ``models`` in the JSON document. ``log_e``
    and ``margins`` are as there, NaN where nothing is tested; ``edges`` is everything certified at any look, ``above``
    what follows from it; ``first_certified`` is the replicate at which a direction was first certified, 0 if it never
    was; ``current_edges`` is what the last look alone certifies.
    """
    order = np.array(document_order(leaderboard))
    window = np.ix_(order, order)
    yield "models", np.array([leaderboard.design.models[i] for i in order.tolist()])
    yield "log_e", leaderboard.log_e[window]
    yield "margins", leaderboard.lower_bounds[window] * leaderboard.design.score_width
    yield "edges", leaderboard.edges[window]
    yield "above", leaderboard.graph.above[window]
    yield "first_certified", leaderboard.first_certified[window].astype(np.int32)
    yield "current_edges", leaderboard.current_edges[window]


def write_pair_arrays(leaderboard: Leaderboard, path: Path) -> None:
    """Write the :func:`pair_arrays` of a leaderboard to a file that ``numpy.load`` reads; whole or not at all."""
    with replacing(path) as file:
        write_archive(file, pair_arrays(leaderboard))


_GRAPHML = "http://graphml.graphdrawing.org/xmlns"


def to_dot(certificate: Certificate) -> str:
    """The reduced graph for Graphviz, best on top."""
    lines = ["digraph certified {", '  rankdir="TB";', '  node [shape="box", style="rounded", fontname="sans-serif"];']
    lines += [f"  m{i} [label={_dot_text(label)}];" for i, label in enumerate(_labels(certificate))]
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

    best, worst = zip(*certificate.graph.rank_intervals, strict=True)
    nodes: dict[str, tuple[str, Sequence[Any]]] = {
        "name": ("string", [_xml_text(name) for name in certificate.names]),
        "mean": ("double", certificate.means),
        **({"mean_items": ("int", mean_items(certificate))} if has_partial(certificate) else {}),
        "best_rank": ("int", best),
        "worst_rank": ("int", worst),
    }
    root = ElementTree.Element("graphml", {"xmlns": _GRAPHML})
    for kind, names in (("node", {name: form for name, (form, _) in nodes.items()}), ("edge", _EDGE_FORMS)):
        for name, form in names.items():
            ElementTree.SubElement(root, "key", {"id": name, "for": kind, "attr.name": name, "attr.type": form})
    graph = ElementTree.SubElement(root, "graph", {"id": "certified", "edgedefault": "directed"})
    for i in range(len(certificate.names)):
        node = ElementTree.SubElement(graph, "node", {"id": f"m{i}"})
        for key, (_, values) in nodes.items():
            if values[i] is not None:
                ElementTree.SubElement(node, "data", {"key": key}).text = str(values[i])
    for a, b, *values in _edges(certificate):
        edge = ElementTree.SubElement(graph, "edge", {"source": f"m{a}", "target": f"m{b}"})
        for key, value in zip(_EDGE_FORMS, values, strict=True):
            ElementTree.SubElement(edge, "data", {"key": key}).text = str(value).lower()
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii") + "\n"


def to_csv(certificate: Certificate) -> str:
    """Every certified edge, one a row. Names are plain ASCII, and no spreadsheet runs them as formulas."""
    names = [cell(name) for name in certificate.names]
    edges = (
        (names[a], names[b], *map(repr, numbers), int(is_reduced)) for a, b, *numbers, is_reduced in _edges(certificate)
    )
    return csv_text(["winner", "loser", *_EDGE_FORMS], edges)


EXPORTS: dict[str, Callable[[Certificate], str]] = {
    ".dot": to_dot,
    ".gv": to_dot,
    ".graphml": to_graphml,
    ".mmd": to_mermaid,
    ".csv": to_csv,
}
"""By the ending of the file."""


_EDGE_FORMS = {"log_e": "double", "margin": "double", "first_certified": "int", "reduced": "boolean"}
"""What is written of an edge, and its type in GraphML."""


def _edges(certificate: Certificate) -> Iterator[list[Any]]:
    """Every certified edge: its ends, then what is written of it."""
    pairs = certificate.by_pair()
    matrices = (pairs.log_e, pairs.margins, pairs.first_certified, pairs.graph.reduction)
    for a, b in np.argwhere(pairs.graph.edges).tolist():
        yield [a, b, *(matrix[a, b].item() for matrix in matrices)]


def _reduced(certificate: Certificate) -> list[list[int]]:
    ends: list[list[int]] = np.argwhere(certificate.graph.reduction).tolist()
    return ends


def _labels(certificate: Certificate) -> list[str]:
    return [
        f"{shown(name, 60)} (rank {rank(ends)})"
        for name, ends in zip(certificate.names, certificate.graph.rank_intervals, strict=True)
    ]


def _dot_text(text: str) -> str:
    # In DOT a backslash starts an escape of its own (\N is the node's name), so that it is doubled too.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped.encode("ascii", "xmlcharrefreplace").decode("ascii")}"'


def _mermaid_text(text: str) -> str:
    # Mermaid has no escape but its own form of character references.
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in " -_.:()") else f"#{ord(letter)};"
        for letter in text
    )


def _xml_text(name: str) -> str:
    """XML has no way to write most control characters, so that they are shown escaped."""
    return "".join(letter if letter >= " " and letter.isprintable() else shown(letter) for letter in name)


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
