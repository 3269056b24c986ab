"""Tables as codes: every name once, every row two or three small integers and a score.

Sixty million rows of names are gigabytes of text; as codes they are a few hundred megabytes. Where they are more than
memory should hold, they go to a temporary file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Argument, Blank, DataError, FormatError, Part
from bbedge.readers.assemble import grid
from bbedge.readers.assemble.grid import Spool, StoredArray
from bbedge.readers.choices import OTHER_BLOCKS
from bbedge.readers.limits import HOW_TO_RAISE, LimitError, limits_in_force, size_words
from bbedge.readers.tables import Table
from bbedge.readers.tables.columns import Role, failing, mapped_to_unit, mixed, scores_from_text
from bbedge.readers.tables.roles import column_name, is_of_item
from bbedge.text import quoted

Codes = NDArray[np.unsignedinteger[Any]]
"""Positions in a vocabulary, in as few bytes as its size needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A row that gives an item another value than an earlier row did."""

    place: str
    """Where the row is, for a message."""
    item: int
    """The code of the item."""
    value: int
    """The code of the value in this row."""
    before: int
    """The code of its value before."""


@dataclass(slots=True)
class ItemBook:
    """One value for every item. The first row that contradicts it is kept for an error message."""

    column: str | None = None
    """The item column that the values are from; None for blocks."""
    _value_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    conflict: Conflict | None = None
    """The first row that gives an item another value than an earlier one, if there is one."""

    def add(self, items: Codes, values: Codes, *, table: Table, first_row: int) -> None:
        """Learn from rows, which begin with row ``first_row`` of the table."""
        if self.conflict is not None:
            return
        known, most = len(self._value_of), int(items.max()) + 1
        if most > known:
            # Room for twice as many, so that a column of ever new items does not copy the book at every turn.
            self._value_of = np.append(self._value_of, np.full(max(most - known, known), -1, dtype=np.int64))
        before = self._value_of[items]
        new = before < 0
        if new.any():
            # Backwards, because of several values for one position NumPy keeps the last: the first row shall count.
            self._value_of[items[new][::-1]] = values[new][::-1]
            before = self._value_of[items]
        other = before != values
        if other.any():
            row = int(other.argmax())
            self.conflict = Conflict(
                place=table.location_of_row(first_row + row),
                item=int(items[row]),
                value=int(values[row]),
                before=int(before[row]),
            )

    def known(self, *, names: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        """The value of each item that has one; ``names`` and ``labels`` are the items and values by code."""
        found = self.conflict
        if found is None:
            values = zip(names, self._value_of.tolist(), strict=False)
            return {name: labels[value] for name, value in values if value >= 0}
        item, here, before = quoted(names[found.item]), quoted(labels[found.value]), quoted(labels[found.before])
        if self.column is not None:
            raise FormatError(
                f"{found.place}: item {item} has {here} as {quoted(self.column)} here and {before} before; an item has "
                "one value in a column that describes the items: correct the column, or choose another"
            )
        raise DataError(
            f"{found.place}: item {item} is in block {here} here and in block {before} before; an item belongs "
            "to one block: correct the column, or pass ",
            *OTHER_BLOCKS,
        )


class Vocabulary:
    """The different names of one role, in the order in which they came."""

    def __init__(self) -> None:
        self._names = pl.Series("names", [], dtype=pl.String)
        self.codes = pl.Enum(self._names)
        """The type whose physical values are the codes."""

    def names(self) -> list[str]:
        """All names; the position of a name is its code."""
        return self._names.to_list()

    def encode(self, column: pl.Series, coded: pl.Series) -> tuple[Codes, pl.Series]:
        """The codes of a column without nulls, and the names that are new and get new codes.

        ``coded`` is the column cast to :attr:`codes`, with nulls for new names.
        """
        new = column.filter(coded.is_null()).unique(maintain_order=True)
        if len(new):
            self._names = self._names.append(new)
            self.codes = pl.Enum(self._names)
            coded = column.cast(self.codes)
        return coded.to_physical().to_numpy(), new


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChunk:
    """Some consecutive rows of one table."""

    table: Table
    """The table they are from."""
    columns: Mapping[Role, str]
    """The column of every role."""
    first_row: int
    """The row of the table with which they begin."""
    height: int
    """How many they are."""
    kept: Mapping[Role, NDArray[Any] | StoredArray]
    """The codes of the names, in memory or on disk, and the scores; a role that the table does not have is absent."""
    replicates: NDArray[np.int64] | None
    """The codes of the replicates that come in these rows; None where the table has none."""

    def codes(self, role: Role) -> Codes:
        """The codes of the names of a role."""
        kept = self.kept[role]
        return kept() if callable(kept) else kept

    def scores(self) -> NDArray[np.float64]:
        """Scores mapped to [0, 1]; NaN where there is none."""
        return np.asarray(self.codes("score"), dtype=np.float64)


@dataclass(slots=True, kw_only=True)
class Coder:
    """Collects the rows of all tables as codes."""

    scale: tuple[float, float] | None
    """The scale to map scores from; None keeps scores as they are, and the block of every row."""
    less_is_better: bool = False
    """Whether scores are mirrored in their scale."""
    vocabularies: dict[Role, Vocabulary] = field(default_factory=dict)
    """The names of each role."""
    chunks: list[RowChunk] = field(default_factory=list)
    """The rows so far."""
    columns: dict[Role, ItemBook] = field(default_factory=dict)
    """What is known of every item, such as its block, by the key of its column."""
    _held: int = 0
    _spool: Spool = field(default_factory=Spool)

    def read(self, table: Table, roles: Mapping[Role, str]) -> Iterator[int]:
        """Read a table; yields the number of rows read so far."""
        row, kind = 0, None
        for batch in table.batches(roles):
            if not batch.height:
                continue
            values: dict[Role, NDArray[Any]] = {**self._codes(batch, roles, table, row)}
            scores, this = batch["score"], None
            if scores.dtype == pl.String:
                scores = scores_from_text(scores, fail=failing(table.location_of_row, row))
                # Where values have types, a text among numbers is a mistake.
                this = None if table.text_scores else "texts"
            # Without a score a batch is of neither kind: the next one decides.
            if scores.null_count() < len(scores):
                this = this or ("true and false" if scores.dtype == pl.Boolean else "numbers")
                if kind is not None and this != kind:
                    first = int(scores.is_not_null().arg_max() or 0)
                    raise DataError(f"{table.location_of_row(row + first)}: {mixed(str(scores[first]).lower(), kind)}")
                kind = this
            values["score"] = _narrow(self._mapped(scores, table, row))
            for key in [key for key in values if is_of_item(key) or (key == "block" and self.scale is not None)]:
                book = self.columns.setdefault(key, ItemBook(column=column_name(key)))
                book.add(values["item"], values.pop(key), table=table, first_row=row)
            self._keep(table, roles, row, values)
            row += batch.height
            yield row
        if not row:
            raise FormatError(f"{table.name}: a header but no rows; expected one row for every score")

    def _keep(
        self, table: Table, roles: Mapping[Role, str], first_row: int, values: Mapping[Role, NDArray[Any]]
    ) -> None:
        """Add rows in memory, or on disk if there are too many."""
        size = sum(column.nbytes for column in values.values())
        on_disk = self._held + size > grid.ROWS_IN_MEMORY
        self._held += 0 if on_disk else size
        self.chunks.append(
            RowChunk(
                table=table,
                columns=roles,
                first_row=first_row,
                height=len(values["score"]),
                kept={role: self._spool.write(column) if on_disk else column for role, column in values.items()},
                replicates=_present(values["replicate"]) if "replicate" in values else None,
            )
        )

    def rename(self, role: Role, names_in: Callable[[Table], Sequence[str]]) -> None:
        """Give the names of a role other names, by their codes; those of one table may differ from those of another."""
        vocabulary = Vocabulary()
        for position, chunk in enumerate(self.chunks):
            before, names = chunk.codes(role), names_in(chunk.table)
            used = _present(before)
            column = pl.Series([names[code] for code in used], dtype=pl.String)
            new, _ = vocabulary.encode(column, column.cast(vocabulary.codes, strict=False))
            recoded = np.zeros(len(names), dtype=new.dtype)
            recoded[used] = new
            codes = recoded[before]
            kept = self._spool.write(codes) if callable(chunk.kept[role]) else codes
            present = _present(codes) if role == "replicate" else chunk.replicates
            self.chunks[position] = replace(chunk, kept={**chunk.kept, role: kept}, replicates=present)
        self.vocabularies[role] = vocabulary

    def names(self, role: Role) -> list[str]:
        """The names of a role; the position of a name is its code."""
        return self.vocabularies[role].names()

    def known(self, key: Role) -> Mapping[str, str]:
        """The value of each item that has one under a key."""
        book = self.columns.get(key)
        return {} if book is None else book.known(names=self.names("item"), labels=self.names(key))

    def located(self, row: int) -> tuple[RowChunk, str]:
        """The chunk with row ``row`` of all tables together, and where it is, for a message."""
        for chunk in self.chunks:
            if row < chunk.height:
                return chunk, chunk.table.location_of_row(chunk.first_row + row)
            row -= chunk.height
        raise IndexError(row)

    def _codes(self, batch: pl.DataFrame, roles: Iterable[Role], table: Table, first_row: int) -> dict[Role, Codes]:
        named: list[Role] = [role for role in roles if role != "score"]
        most = limits_in_force().name_bytes
        # Each name is looked up as often as it comes.
        long = batch.select(pl.col(role).str.len_bytes() > most for role in named)
        for role in named:
            if long[role].any():
                place = table.location_of_row(first_row + int(long[role].arg_max() or 0))
                raise LimitError(
                    f"{place}: the name of the {role} is longer than {size_words(most)}; use short names, or ",
                    *HOW_TO_RAISE,
                )
            self.vocabularies.setdefault(role, Vocabulary())
        # All columns in one call, which works on them side by side.
        coded = batch.select(pl.col(role).cast(self.vocabularies[role].codes, strict=False) for role in named)
        return {role: self._checked(batch[role], coded[role], role, table, first_row) for role in named}

    def _checked(self, column: pl.Series, coded: pl.Series, role: Role, table: Table, first_row: int) -> Codes:
        if not column.null_count():
            codes, new = self.vocabularies[role].encode(column, coded)
            if not (new.str.strip_chars() == "").any():
                return codes
        blank = column.is_null() | (column.str.strip_chars() == "")
        place = table.location_of_row(first_row + int(blank.arg_max() or 0))
        name = column_name(role)
        if name is not None:
            raise DataError(f"{place}: no value for {quoted(name)} in this row; every item needs one: fill it in")
        raise DataError(f"{place}: no {role} in this row; every row needs one: fill it in or remove the row")

    def _mapped(self, column: pl.Series, table: Table, first_row: int) -> NDArray[np.float64]:
        if self.scale is None:
            return np.array(column.cast(pl.Float64).to_numpy(), dtype=np.float64)
        low, high = self.scale
        return mapped_to_unit(
            column,
            *((high, low) if self.less_is_better else (low, high)),
            place=lambda row: table.location_of_row(first_row + row),
            problem=lambda given: _range_problem(given, low, high, table.usual_range),
        )


def _present(codes: Codes) -> NDArray[np.int64]:
    """The different codes. Counted, because there are few of them in many rows."""
    return np.flatnonzero(np.bincount(codes))


def _narrow(scores: NDArray[np.float64]) -> NDArray[Any]:
    """The same numbers in fewer bytes, if not one of them changes."""
    if np.signbit(scores).any():
        # Of -0.0 a whole number would lose the sign.
        return scores
    for kind in (np.uint8, np.float32):
        # A missing score is NaN, which no whole number is; and the smallest numbers become zero.
        with np.errstate(invalid="ignore", under="ignore"):
            narrow = scores.astype(kind)
        if np.array_equal(narrow, scores, equal_nan=kind is np.float32):
            return narrow
    return scores


def _range_problem(given: float | bool, low: float, high: float, usual: tuple[float, float] | None) -> tuple[Part, ...]:
    if isinstance(given, bool):
        return (
            f"score {str(given).lower()} is not a number in the range {low:g} to {high:g}; leave ",
            Argument("score_range"),
            " out for true and false, or write numbers",
        )
    score = float(given)
    if math.isnan(score):
        return ("score NaN is not a number; leave the score empty where the sample failed, or repeat the sample",)
    if math.isinf(score):
        return (f"score {score} is infinite; expected a number in [{low:g}, {high:g}]: check the metric",)
    if usual is not None and usual != (low, high):
        return f"score {score!r} is outside [{low:g}, {high:g}]; pass ", Argument("score_range", usual)
    wider = ((0, top) for top in (1, 10, 100) if top >= high and (low, high) != (0, top) and 0 <= score <= top)
    return (
        f"score {score!r} is outside [{low:g}, {high:g}]; pass ",
        Argument("score_range", next(wider, (Blank("LOW"), Blank("HIGH")))),
        " if the metric is on that scale",
    )
