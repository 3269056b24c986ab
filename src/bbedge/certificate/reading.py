"""Takes a certificate apart whose values may have any type."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.standing import Shown
from bbedge.core.graph import Graph, Ranks
from bbedge.errors import FormatError
from bbedge.text import quoted

LARGEST = 2**53
"""Whole numbers beyond it are not exact in every program that reads JSON."""
PAIRWISE = ("log_e", "margins", "edges", "standing_edges", "unresolved", "top_k")
"""What is null in a certificate of very many models."""
ADDED = ("standing_unresolved", "standing_top_k")
"""The same, which certificates of earlier versions do not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairParts:
    """What a document says of pairs, in its own order."""

    log_e: NDArray[np.float64]
    """Evidence, row against column; NaN where not tested."""
    margins: NDArray[np.float64]
    """Lower bounds of row minus column; NaN where not tested."""
    first: Mapping[Shown, NDArray[np.int64]]
    """The replicate at which each listed edge was first certified; 0 where there is none."""
    graphs: Mapping[Shown, Graph]
    """The graphs that the lists of edges make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A document whose values have the right types; whether they fit together is another question."""

    document: Mapping[str, Any]
    """The document itself."""
    names: tuple[str, ...]
    """The models, in the order of the document."""
    means: tuple[float | None, ...]
    """Their means."""
    ranks: Mapping[Shown, Ranks]
    """For each model, the number of models certified better and worse than it."""
    pairs: PairParts | None
    """Pair by pair; a certificate of very many models has only counts."""


class Reader:
    """Takes values out of a document, or says which one is wrong."""

    def __init__(self, source: str) -> None:
        self._source = source

    def error(self, what: str) -> FormatError:
        """What to raise."""
        return FormatError(f"{self._source}: not a certificate: {what}; expected what bbedge certify --json writes")

    def parts(self, document: Mapping[str, Any]) -> Parts:
        """The document with every value that is shown, or used to check another, of the right type."""
        models = [self.record(model, "models") for model in self.sequence(document, "models")]
        names = [self.text(model, "name") for model in models]
        if len(names) < 2 or len(set(names)) < len(names):
            raise self.error("needs at least two models, each named once")
        place = {name: i for i, name in enumerate(names)}
        ranks: dict[Shown, Ranks] = {
            "current": self.ranks(models, "rank_interval"),
            "standing": self.ranks(models, "standing_rank_interval"),
        }
        pairs = None
        if self.lists_pairs(document):
            first: dict[Shown, NDArray[np.int64]] = {
                "current": self.edges(document, "edges", place),
                "standing": self.edges(document, "standing_edges", place),
            }
            pairs = PairParts(
                log_e=self.matrix(document, "log_e", len(names)),
                margins=self.matrix(document, "margins", len(names)),
                first=first,
                graphs={shown: Graph(listed > 0) for shown, listed in first.items()},
            )
        means = tuple(self.number(model, "mean", missing=True) for model in models)
        self.rest(document, place)
        return Parts(document=document, names=tuple(names), means=means, ranks=ranks, pairs=pairs)

    def value(self, holder: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - anything may be in a file
        """A value that must be there."""
        if key not in holder:
            raise self.error(f"{quoted(key)} is missing")
        return holder[key]

    def record(self, value: object, key: str) -> Mapping[str, Any]:
        """A value that must be a record."""
        if not isinstance(value, dict):
            raise self.error(f"{quoted(key)} is not what it should be")
        return value

    def sequence(self, holder: Mapping[str, Any], key: str) -> list[Any]:
        """A value that must be a list."""
        value = self.value(holder, key)
        if not isinstance(value, list):
            raise self.error(f"{quoted(key)} is not a list")
        return value

    def text(self, holder: Mapping[str, Any], key: str) -> str:
        """A value that must be a text."""
        value = self.value(holder, key)
        if not isinstance(value, str) or not value:
            raise self.error(f"{quoted(key)} is not a text")
        return value

    def number(self, holder: Mapping[str, Any], key: str, *, missing: bool = False) -> float | None:
        """A value that must be a finite number, or may be missing."""
        value = self.value(holder, key)
        if value is None and missing:
            return None
        if not _is_number(value):
            raise self.error(f"{quoted(key)} is not a number")
        return float(value)

    def whole(self, holder: Mapping[str, Any], key: str) -> int:
        """A value that must be a count."""
        value = self.value(holder, key)
        if type(value) is not int or not 0 <= value <= LARGEST:
            raise self.error(f"{quoted(key)} is not a count")
        return value

    def matrix(self, holder: Mapping[str, Any], key: str, size: int) -> NDArray[np.float64]:
        """A value that must be a square of numbers; null becomes NaN."""
        rows = self.sequence(holder, key)
        for row in rows:
            if not isinstance(row, list) or any(type(value) not in (int, float, type(None)) for value in row):
                raise self.error(f"{quoted(key)} is not a matrix of numbers")
        if len(rows) != size or any(len(row) != size for row in rows):
            raise self.error(f"{quoted(key)} is not a matrix of {size} x {size}")
        if not all(value is None or _is_number(value) for row in rows for value in row):
            raise self.error(f"{quoted(key)} has a number that is not finite")
        return np.array(rows, dtype=np.float64)

    def edges(self, holder: Mapping[str, Any], key: str, place: Mapping[str, int]) -> NDArray[np.int64]:
        """The replicate at which each listed edge was first certified; 0 where there is none."""
        first = np.zeros((len(place), len(place)), dtype=np.int64)
        for each in self.sequence(holder, key):
            edge = self.record(each, key)
            ends = [place.get(self.text(edge, end)) for end in ("winner", "loser")]
            if None in ends or ends[0] == ends[1]:
                raise self.error(f"{quoted(key)} names a model that is not there")
            if first[ends[0], ends[1]]:
                raise self.error(f"{quoted(key)} lists {quoted(edge['winner'])} over {quoted(edge['loser'])} twice")
            for number in ("log_e", "margin", "path_margin"):
                self.number(edge, number)
            first[ends[0], ends[1]] = self.whole(edge, "first_certified")
            if not first[ends[0], ends[1]]:
                raise self.error("'first_certified' is not a replicate")
        return first

    def lists_pairs(self, document: Mapping[str, Any]) -> bool:
        """Whether matrices and lists of pairs are there: all of them, or none."""
        absent = [key for key in PAIRWISE if self.value(document, key) is None]
        added = [document[key] is None for key in ADDED if key in document]
        if (absent and len(absent) < len(PAIRWISE)) or any(null != bool(absent) for null in added):
            raise self.error(f"{quoted((absent or ADDED)[0])} is null and others are not")
        if absent and "counts" not in document:
            raise self.error("'counts' is missing")
        return not absent

    def ranks(self, models: Sequence[Mapping[str, Any]], key: str) -> Ranks:
        """The rank intervals of all models, as the number of better and worse models for each."""
        ends = []
        for model in models:
            interval = self.sequence(model, key)
            if not self._is_range(interval) or interval[1] > len(models):
                raise self.error(f"{quoted(key)} is not a range of ranks")
            ends.append(interval)
        best, worst = np.array(ends, dtype=np.int64).T
        ranks = Ranks(n_better=best - 1, n_worse=len(models) - worst)
        if ranks.n_better.sum() != ranks.n_worse.sum():
            raise self.error(f"{quoted(key)} of the models do not fit together")
        return ranks

    def rest(self, document: Mapping[str, Any], place: Mapping[str, int]) -> None:
        """Check everything else that is shown."""
        self.whole(document, "replicates")
        self.whole(document, "items")
        self.number(document, "log_threshold", missing=True)
        self._design(self.record(self.value(document, "design"), "design"))
        for look in self.sequence(document, "looks"):
            added = [key for key in ("standing_edges", "standing_resolved_pairs") if key in self.record(look, "looks")]
            for key in ("replicate", "edges", "resolved_pairs", *added):
                self.whole(look, key)
        whole = document["edges"] is not None
        pairs = [key for key in ("unresolved", "standing_unresolved") if whole and key in document]
        for key in (*pairs, "contradictions"):
            for names in self.sequence(document, key):
                self._names(names, key, place)
        if not all(isinstance(note, str) for note in self.sequence(document, "notes")):
            raise self.error("'notes' are not texts")
        for key in [key for key in ("top_k", "standing_top_k") if whole and key in document]:
            for k, names in self.record(document[key], key).items():
                if not k.isdecimal():
                    raise self.error(f"{quoted(key)} has a key that is not a number")
                if names is not None:
                    self._names(names, key, place)
        counts = self.record(document["counts"], "counts") if "counts" in document else {}
        for key in {"edges", "standing_edges", *counts} if "counts" in document else ():
            self.whole(counts, key)
        self._optional(document, place)

    def _optional(self, document: Mapping[str, Any], place: Mapping[str, int]) -> None:
        """Parts that certificates of earlier versions, or those that are not of a board, do not have."""
        if document.get("pilot") is not None:
            pilot = self.record(document["pilot"], "pilot")
            self.whole(pilot, "replicates")
            self._names(self.value(pilot, "candidate"), "pilot", place)
        for each in self.sequence(document, "outlook") if "outlook" in document else ():
            prospect = self.record(each, "outlook")
            self._names([self.value(prospect, "ahead"), self.value(prospect, "behind")], "outlook", place)
            self.number(prospect, "log_e")
            if not (self.number(prospect, "log_threshold") or 0.0) > 0.0:
                raise self.error("'log_threshold' is not above zero")
            more = self.value(prospect, "more_replicates")
            if more is not None and not self._is_range(more):
                raise self.error("'more_replicates' is not a range")
            if not isinstance(prospect.get("stands", False), bool):
                raise self.error("'stands' is not true or false")
            ends = self.sequence(prospect, "within") if "within" in prospect else [None, None]
            if len(ends) != 2:
                raise self.error("'within' is not a range")
            for end in ends:
                self.number({"within": end}, "within", missing=True)
        if document.get("history") is not None:
            history = self.record(document["history"], "history")
            sizes = {len(self.sequence(history, key)) for key in ("replicates", "log_thresholds", "log_e")}
            if len(sizes) > 1:
                raise self.error("'history' has lists of different lengths")
            for i, (replicate, threshold) in enumerate(
                zip(history["replicates"], history["log_thresholds"], strict=True)
            ):
                self.whole({"replicates": replicate}, "replicates")
                self.number({"log_thresholds": threshold}, "log_thresholds")
                self.matrix({"log_e": history["log_e"][i]}, "log_e", len(place))
        if "board" in document:
            self._board(self.record(document["board"], "board"))

    def _is_range(self, ends: object) -> bool:
        return (
            isinstance(ends, list) and [type(end) for end in ends] == [int, int] and 1 <= ends[0] <= ends[1] <= LARGEST
        )

    def _board(self, board: Mapping[str, Any]) -> None:
        self._level(self.record(self.value(board, "design"), "design"), "alpha")
        for key in ("alpha_spent", "next_level"):
            self.number(board, key)
        for key in ("epoch", "epochs", "events"):
            self.whole(board, key)
        if not all(isinstance(name, str) for name in self.sequence(board, "retired")):
            raise self.error("'retired' are not names")
        self.text(board, "head")
        for each in self.sequence(board, "claims"):
            claim = self.record(each, "claims")
            for key in ("claim", "epoch", "directions"):
                self.whole(claim, key)
            self._level(claim, "level")
            if self.value(claim, "newcomer") is not None:
                self.text(claim, "newcomer")

    def _names(self, names: object, key: str, place: Mapping[str, int]) -> None:
        if not isinstance(names, list) or not all(isinstance(name, str) and name in place for name in names):
            raise self.error(f"{quoted(key)} names a model that is not there")

    def _design(self, design: Mapping[str, Any]) -> None:
        self._level(design, "alpha")
        if not 0.0 <= (self.number(design, "tau") or 0.0) < 1.0:
            raise self.error("'tau' is not from 0 up to 1")
        for key in ("method", "evidence", "prediction", "stakes", "family", "hash"):
            self.text(design, key)
        self.whole(design, "directions")
        self.sequence(design, "stake_values")
        ends = [self.number({"score_range": end}, "score_range") for end in self.sequence(design, "score_range")]
        if len(ends) != 2 or not 0.0 < ends[1] - ends[0] < math.inf:  # type: ignore[operator]
            raise self.error("'score_range' is not two numbers, lower first")
        blocks = self.record(self.value(design, "blocks"), "blocks")
        self.whole(blocks, "count")
        for size in self.sequence(blocks, "sizes"):
            self.whole({"sizes": size}, "sizes")

    def _level(self, holder: Mapping[str, Any], key: str) -> None:
        if not 0.0 < (self.number(holder, key) or 0.0) < 1.0:
            raise self.error(f"{quoted(key)} is not between 0 and 1")


def _is_number(value: object) -> bool:
    if type(value) is int:
        return abs(value) <= LARGEST
    return type(value) is float and math.isfinite(value)


MOST_DEPTH = 16
"""So deep may lists and records be nested; a certificate needs six levels."""


def parsed(text: str, *, source: str) -> dict[str, Any]:
    """The record that a text of JSON holds."""

    def record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            again = next(key for key in keys if keys.count(key) > 1)
            raise FormatError(f"{source}: not a certificate: {quoted(again)} comes twice in one record")
        return values

    try:
        document = json.loads(text, object_pairs_hook=record, parse_float=_finite, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{source}: not a certificate: no JSON ({error})") from error
    if not isinstance(document, dict):
        raise FormatError(f"{source}: not a certificate; expected what bbedge certify --json writes")
    level: list[Any] = [document]
    for _ in range(MOST_DEPTH):
        inside = [value for each in level for value in (each.values() if isinstance(each, dict) else each)]
        level = [value for value in inside if isinstance(value, dict | list)]
        if not level:
            return document
    raise FormatError(f"{source}: not a certificate: lists and records are nested more than {MOST_DEPTH} deep")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not a number")
