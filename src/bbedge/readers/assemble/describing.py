"""What else is known of the items of the scores, from the score files or from a list of items."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.choices import Choice
from bbedge.readers.lists import Items, read_items
from bbedge.readers.logs.table import LogTable
from bbedge.readers.tables import Table
from bbedge.readers.tables.roles import METRIC, ORIGINAL, column_key
from bbedge.readers.tables.wide import WideTable, wide_inside
from bbedge.readers.tables.wrappers import has_nested
from bbedge.records.notes import Note
from bbedge.text import counted, listed, quoted, shown, shown_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What is asked for about the items."""

    names: tuple[str, ...] = ()
    """The item columns."""
    listing: Items | None = None
    """The list of items, if there is one."""
    listed_in: str = ""
    """The path of the list, for messages."""
    path: str | None = None
    """The path of the list."""

    def in_table(self, table: Table) -> list[str]:
        """The item columns that a table has."""
        if isinstance(table, LogTable):
            return list(table.described)
        wide = wide_inside(table)
        if wide is not None:
            return [name for name in self.names if column_key(name) in wide.kept]
        found = set(table.columns())
        return [name for name in self.names if name in found or has_nested(table, name)]

    def check_found(self, tables: Sequence[Table], found: Sequence[Sequence[str]]) -> None:
        """Raise if an item column is nowhere, before all rows are read."""
        for name in self.names:
            if any(name in of_table for of_table in found) or (self.listing and name in self.listing.columns):
                continue
            there = f"; the columns are {listed(_columns(tables[0]), limit=20)}"
            if self.listing is not None:
                there += f", and those of {self.listed_in} are {listed(self.listing.columns, limit=20) or 'none'}"
            raise FormatError(
                f"{tables[0].name}: no column {quoted(name)} that describes the items{there}: correct the name, or "
                "list the items and their values with ",
                Argument("items", Blank("FILE")),
            )

    def columns(self, coder: Coder, items: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The values of every item column, one per item."""
        originals = original_items(coder, items)
        return {name: tuple(self._values(name, coder, items, originals)) for name in self.names}

    def blocks(self, coder: Coder, items: Sequence[str]) -> tuple[str, ...] | None:
        """The blocks of the items from their list; None if it has none."""
        if self.listing is None or not self.listing.blocked:
            return None
        of_item = dict(zip(self.listing.items, self.listing.blocks, strict=True))
        return tuple(of_item[item] for item in original_items(coder, items))

    def check_listed(self, coder: Coder, items: Sequence[str]) -> None:
        """Raise if the list lacks items of the scores."""
        if self.listing is None:
            return
        there = set(self.listing.items)
        missing = [item for item in dict.fromkeys(original_items(coder, items)) if item not in there]
        if missing:
            raise FormatError(
                f"{self.listed_in}: {counted(len(missing), 'item')} of the scores {_are(missing)} not in the list: "
                f"{listed(missing)}; add {'it' if len(missing) == 1 else 'them'}"
            )

    def notes(self, coder: Coder, items: Sequence[str]) -> Iterator[Note]:
        """Items of the list that have no scores."""
        if self.listing is not None:
            there = set(original_items(coder, items))
            without = [item for item in self.listing.items if item not in there]
            if without:
                yield Note(
                    kind="files",
                    subject=tuple(without),
                    text=f"{counted(len(without), 'item')} of {self.listed_in} {_are(without)} not among the scores: "
                    f"{listed(without)}. Means are over the items that have scores.",
                )

    def _values(self, name: str, coder: Coder, items: Sequence[str], originals: Sequence[str]) -> Iterator[str]:
        known = coder.known(column_key(name))
        in_list: Mapping[str, str] = {}
        if self.listing is not None and name in self.listing.columns:
            in_list = dict(zip(self.listing.items, self.listing.columns[name], strict=True))
        for item, original in zip(items, originals, strict=True):
            value = known.get(item) or in_list.get(original, "")
            if not value.strip():
                raise self._refusal(name, original, listed=bool(in_list))
            yield value

    def _refusal(self, name: str, item: str, *, listed: bool) -> FormatError:
        said = f"item {quoted(item)} has no value for {quoted(name)}; every item needs one: fill it in"
        if listed:
            return FormatError(f"{self.listed_in}: {said}")
        return FormatError(f"{said}, or list the items and their values with ", Argument("items", Blank("FILE")))


def check_headline(coder: Coder, metrics: Sequence[str]) -> None:
    """Raise unless every item has exactly one of the metrics that were chosen, where there is an item for each metric.

    Without one it would not be part of the headline, with two it would count twice.
    """
    if ORIGINAL not in coder.columns or not metrics:
        return
    originals = coder.known(ORIGINAL)
    of_item: dict[str, list[str]] = {original: [] for original in originals.values()}
    for item, metric in coder.known(column_key(METRIC)).items():
        if metric in metrics:
            of_item[originals[item]].append(metric)
    for original, chosen in of_item.items():
        if len(chosen) != 1:
            what = f"metrics {listed(chosen)} are both chosen for" if chosen else "none of the chosen metrics is on"
            raise FormatError(
                f"{what} item {quoted(original)}; choose exactly one metric for every item with ",
                Choice("metrics", tuple(map(shown, metrics))),
            )


def describe(names: Sequence[str], items: str | os.PathLike[str] | None) -> Described:
    """What is asked for by names of columns and the path of a list of items."""
    if isinstance(names, str):
        raise DomainError(Argument("item_columns", names), " is a single text; give a list of names of columns")
    return Described(
        names=tuple(dict.fromkeys(names)),
        listing=None if items is None else read_items(items),
        listed_in="" if items is None else shown_path(items),
        path=None if items is None else os.fspath(items),
    )


def original_items(coder: Coder, items: Sequence[str]) -> tuple[str, ...]:
    """The items as the files name them, also where there is an item for each of their metrics."""
    known = coder.known(ORIGINAL)
    return tuple(known.get(item, item) for item in items)


def _columns(table: Table) -> Sequence[str]:
    if isinstance(table, LogTable):
        return table.field_names()
    return table.inner.columns() if isinstance(table, WideTable) else table.columns()


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
