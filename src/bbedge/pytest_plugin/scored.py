"""Scores that tests record, and the file in which a session's scores wait as a baseline for later ones."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.files import write_whole
from bbedge.text import listed, quoted, shown_path

CLAIMS = ("not_worse_by", "better_by", "at_least")
"""The claims that a marker may make."""

_COLUMNS = ("model", "item", "block", "test", "replicate", "score")
_STORED = "baseline"


@dataclass(slots=True, kw_only=True)
class Recorder:
    """What one run of one test records: the ``gate`` fixture."""

    test: str
    """The test, without parameters."""
    case: str
    """The test with its parameters."""
    run: int
    """The index of the run, from 1."""
    claim: dict[str, object] | None
    """The claim of its marker."""
    _scores: dict[str, tuple[str, float]] = field(default_factory=dict, init=False)

    def score(self, item: str, value: float, *, block: str | None = None) -> None:
        """Record the score of an item in this run: a number from 0 to 1, or whether it is right.

        Items with one ``block`` may depend on each other, such as the turns of a dialogue; others must not.
        """
        if not isinstance(item, str) or not item:
            raise DomainError(f"the item {item!r} is not a name")
        if block is not None and (not isinstance(block, str) or not block):
            raise DomainError(f"the block {block!r} of item {quoted(item)} is not a name")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0.0 <= number <= 1.0:
            raise DomainError(f"item {quoted(item)}: score {value!r} is not a number from 0 to 1; scale it first")
        name = f"{self.case}::{item}"
        if name in self._scores:
            raise DataError(f"item {quoted(item)} was scored twice in one run; the runs of a test are its repetitions")
        self._scores[name] = (name if block is None else f"{self.test}::{block}", number)

    def to_values(self) -> dict[str, Any]:
        """Plain values that travel between processes."""
        scores = [[item, block, number] for item, (block, number) in self._scores.items()]
        return {"test": self.test, "run": self.run, "claim": self.claim, "scores": scores}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of an item."""

    block: str
    """Its block."""
    test: str
    """The test that scores it, without parameters."""


@dataclass(slots=True, kw_only=True)
class Scored:
    """The scores of one system: every item in every run."""

    source: str
    """Where they come from, for messages."""
    items: dict[str, About] = field(default_factory=dict)
    """The items."""
    scores: dict[tuple[int, str], float] = field(default_factory=dict)
    """The score of a run and an item."""

    def add(self, run: int, item: str, about: About, score: float) -> None:
        """Take in a score; a second one is refused, because choosing between them would be a choice by scores."""
        if self.items.setdefault(item, about) != about:
            raise DataError(f"{self.source}: item {quoted(item, 120)} is in two blocks")
        if (run, item) in self.scores:
            raise DataError(
                f"{self.source}: item {quoted(item, 120)} has two scores in run {run}; run every test once per run "
                "(do not rerun tests that scored)"
            )
        self.scores[run, item] = score

    @property
    def runs(self) -> int:
        """The number of runs."""
        return max((run for run, _ in self.scores), default=0)

    def check_complete(self) -> None:
        """Refuse missing scores: nothing may be read into them."""
        missing = [
            f"{item} (run {run})"
            for run in range(1, self.runs + 1)
            for item in self.items
            if (run, item) not in self.scores
        ]
        if missing:
            raise DataError(
                f"{self.source}: no score of {listed(missing, limit=3)}; every item needs a score in each of "
                f"{self.runs} runs: give all tests the same number of runs, and let none end before it has scored"
            )

    def in_order(self) -> Iterable[tuple[int, str, About, float]]:
        """The scores by run and item, in an order that does not depend on which worker was first."""
        for run, item in sorted(self.scores):
            yield run, item, self.items[item], self.scores[run, item]


def store(path: Path, scored: Scored) -> None:
    """Write scores as a table that every command of bbedge reads, too."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for run, item, about, score in scored.in_order():
        rows.writerow([_STORED, item, about.block, about.test, run, repr(score)])
    write_whole(path, out.getvalue())


def read_stored(path: Path) -> Scored:
    """Read what :func:`store` wrote."""
    name = shown_path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(
            f"there is no baseline {name}; run the tests of the baseline system once with --gate-store {name}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{name}: cannot be read ({error})") from error
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    found = Scored(source=name)
    try:
        if tuple(rows.fieldnames or ()) != _COLUMNS:
            raise FormatError(f"{name}: not a file that --gate-store wrote; expected the columns {', '.join(_COLUMNS)}")
        for row in rows:
            run, score = _numbers(row, f"{name}:{rows.line_num}")
            found.add(run, row["item"], About(block=row["block"], test=row["test"]), score)
    except csv.Error as error:
        raise FormatError(f"{name}:{rows.line_num}: not valid CSV ({error})") from error
    if not found.scores:
        raise FormatError(f"{name}: has no scores; write it again with --gate-store {name}")
    found.check_complete()
    return found


def _numbers(row: Mapping[str | None, Any], place: str) -> tuple[int, float]:
    if None in row or None in row.values():
        raise FormatError(f"{place}: expected {len(_COLUMNS)} values")
    try:
        run, score = int(row["replicate"]), float(row["score"])
    except ValueError:
        run, score = 0, math.nan
    if run < 1 or not 0.0 <= score <= 1.0:
        raise FormatError(f"{place}: expected a replicate of 1 or more and a score from 0 to 1")
    return run, score
