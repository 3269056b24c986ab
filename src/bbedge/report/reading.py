"""Takes a certificate apart that nobody has checked yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.core.graph import Ranks
from bbedge.errors import FormatError
from bbedge.naming import quoted

PAIRWISE = ("log_e", "margins", "edges", "standing_edges", "unresolved", "top_k")
"""What is null in a certificate of very many models."""


class Reader:
    """Takes values out of a document, or says which one is wrong."""

    def __init__(self, source: str) -> None:
        self._source = source

    def error(self, what: str) -> FormatError:
        """What to raise."""
        return FormatError(f"{self._source}: not a certificate: {what}; expected what bbedge certify --json writes")

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
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(f"{quoted(key)} is not a number")
        return float(value)

    def whole(self, holder: Mapping[str, Any], key: str) -> int:
        """A value that must be a count."""
        value = self.value(holder, key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
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
        values = np.array(rows, dtype=np.float64)
        if np.isinf(values).any():
            raise self.error(f"{quoted(key)} has a number that is not finite")
        return values

    def edges(self, holder: Mapping[str, Any], key: str, place: Mapping[str, int]) -> NDArray[np.int64]:
        """The replicate at which each listed edge was first certified; 0 where there is none."""
        first = np.zeros((len(place), len(place)), dtype=np.int64)
        for each in self.sequence(holder, key):
            edge = self.record(each, key)
            ends = [place.get(self.text(edge, end)) for end in ("winner", "loser")]
            if None in ends or ends[0] == ends[1]:
                raise self.error(f"{quoted(key)} names a model that is not there")
            first[ends[0], ends[1]] = max(1, self.whole(edge, "first_certified"))
        return first

    def lists_pairs(self, document: Mapping[str, Any]) -> bool:
        """Whether matrices and lists of pairs are there: all of them, or none."""
        absent = [key for key in PAIRWISE if self.value(document, key) is None]
        if absent and len(absent) < len(PAIRWISE):
            raise self.error(f"{quoted(absent[0])} is null and others are not")
        if absent and "counts" not in document:
            raise self.error("'counts' is missing")
        return not absent

    def ranks(self, models: Sequence[Mapping[str, Any]], key: str) -> Ranks:
        """The rank intervals of all models, as the number of models above and below each."""
        ends = []
        for model in models:
            interval = self.sequence(model, key)
            if [type(end) for end in interval] != [int, int] or not 1 <= interval[0] <= interval[1] <= len(models):
                raise self.error(f"{quoted(key)} is not a range of ranks")
            ends.append(interval)
        best, worst = np.array(ends, dtype=np.int64).T
        ranks = Ranks(above=best - 1, below=len(models) - worst)
        if ranks.above.sum() != ranks.below.sum():
            raise self.error(f"{quoted(key)} of the models do not fit together")
        return ranks

    def rest(self, document: Mapping[str, Any], place: Mapping[str, int]) -> None:
        """Check everything else that is shown."""
        self.whole(document, "replicates")
        self.whole(document, "items")
        self.number(document, "log_threshold", missing=True)
        self._design(self.record(self.value(document, "design"), "design"))
        for look in self.sequence(document, "looks"):
            for key in ("replicate", "edges", "resolved_pairs"):
                self.whole(self.record(look, "looks"), key)
        whole = document["edges"] is not None
        for key in ("unresolved", "contradictions") if whole else ("contradictions",):
            for names in self.sequence(document, key):
                self._names(names, key, place)
        if not all(isinstance(note, str) for note in self.sequence(document, "notes")):
            raise self.error("'notes' are not texts")
        for k, names in self.record(self.value(document, "top_k"), "top_k").items() if whole else ():
            if not k.isdecimal():
                raise self.error("'top_k' has a key that is not a number")
            if names is not None:
                self._names(names, "top_k", place)
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
            if more is not None and (not isinstance(more, list) or [type(end) for end in more] != [int, int]):
                raise self.error("'more_replicates' is not a range")
            if not isinstance(prospect.get("stands", False), bool):
                raise self.error("'stands' is not true or false")
            ends = self.sequence(prospect, "within") if "within" in prospect else [None, None]
            if len(ends) != 2:
                raise self.error("'within' is not a range")
            for end in ends:
                self.number({"within": end}, "within", missing=True)
        for key in ("edges", "standing_edges") if "counts" in document else ():
            self.whole(self.record(document["counts"], "counts"), key)
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

    def _board(self, board: Mapping[str, Any]) -> None:
        self.number(self.record(self.value(board, "design"), "design"), "alpha")
        for key in ("alpha_spent", "next_level"):
            self.number(board, key)
        for key in ("epoch", "epochs", "events"):
            self.whole(board, key)
        self.text(board, "head")
        for each in self.sequence(board, "claims"):
            claim = self.record(each, "claims")
            for key in ("claim", "epoch", "directions"):
                self.whole(claim, key)
            self.number(claim, "level")
            if self.value(claim, "newcomer") is not None:
                self.text(claim, "newcomer")

    def _names(self, names: object, key: str, place: Mapping[str, int]) -> None:
        if not isinstance(names, list) or not all(isinstance(name, str) and name in place for name in names):
            raise self.error(f"{quoted(key)} names a model that is not there")

    def _design(self, design: Mapping[str, Any]) -> None:
        for key in ("alpha", "tau"):
            self.number(design, key)
        for key in ("method", "evidence", "prediction", "stakes", "family", "hash"):
            self.text(design, key)
        self.whole(design, "directions")
        self.sequence(design, "stake_values")
        ends = [self.number({"score_range": end}, "score_range") for end in self.sequence(design, "score_range")]
        if len(ends) != 2 or not ends[0] < ends[1]:  # type: ignore[operator]
            raise self.error("'score_range' is not two numbers, lower first")
        blocks = self.record(self.value(design, "blocks"), "blocks")
        self.whole(blocks, "count")
        for size in self.sequence(blocks, "sizes"):
            self.whole({"sizes": size}, "sizes")
