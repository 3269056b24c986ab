"""Tables that are read alike: long, with a column or a name for every role, and with what describes the items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.choices import (
    NAMED,
    OTHER_BLOCKS,
    Candidate,
    NeedlessColumnError,
    OpenChoiceError,
    check_model_names,
    choice_for_logs,
    name_in_path,
    name_origin,
)
from bbedge.readers.evidence import are_settings, check_name
from bbedge.readers.lists import Items, read_items
from bbedge.readers.logs.table import LogTable
from bbedge.readers.metrics import MetricScales, several_metrics
from bbedge.readers.sources import Source, open_table
from bbedge.readers.tables import PlainTable, Table
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.roles import METRIC, METRICS, ORIGINAL, column_key, find_roles, with_columns
from bbedge.readers.tables.shaped import BETWEEN, ShapedTable, as_wide, with_chosen
from bbedge.records.notes import Note
from bbedge.records.reading import Reading
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

    def in_table(self, table: LogTable | ShapedTable) -> list[str]:
        """The item columns that a table has."""
        if isinstance(table, LogTable):
            return list(table.described)
        if table.wide is not None:
            return [name for name in self.names if column_key(name) in table.wide.kept]
        found = set(table.columns())
        return [name for name in self.names if name in found or table.has_field(name)]

    def check_found(self, tables: Sequence[LogTable | ShapedTable], found: Sequence[Sequence[str]]) -> None:
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
        there = set() if self.listing is None else set(self.listing.items)
        missing = [item for item in dict.fromkeys(original_items(coder, items)) if item not in there]
        if self.listing is not None and missing:
            raise FormatError(
                f"{self.listed_in}: {counted(len(missing), 'item')} of the scores {_are(missing)} not in the list: "
                f"{listed(missing)}; add {'it' if len(missing) == 1 else 'them'}"
            )

    def notes(self, coder: Coder, items: Sequence[str]) -> Iterator[Note]:
        """Items of the list that have no scores."""
        there = set(original_items(coder, items))
        without = [item for item in (self.listing.items if self.listing else ()) if item not in there]
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
                said = f"item {quoted(original)} has no value for {quoted(name)}; every item needs one: fill it in"
                if in_list:
                    raise FormatError(f"{self.listed_in}: {said}")
                raise FormatError(f"{said}, or list the items and their values with ", Argument("items", Blank("FILE")))
            yield value


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
                Argument("metric", tuple(map(shown, metrics))),
            )


def describe(reading: Reading) -> Described:
    """What is asked for by names of columns and the path of a list of items."""
    items = reading.items
    return Described(
        names=reading.item_columns,
        listing=None if items is None else read_items(items),
        listed_in="" if items is None else shown_path(items),
        path=items,
    )


def original_items(coder: Coder, items: Sequence[str]) -> tuple[str, ...]:
    """The items as the files name them, also where there is an item for each of their metrics."""
    known = coder.known(ORIGINAL)
    return tuple(known.get(item, item) for item in items)


def _columns(table: LogTable | ShapedTable) -> Sequence[str]:
    return table.field_names() if isinstance(table, LogTable) else replace(table, wide=None).columns()


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """What every table is read with."""

    chosen: Mapping[Role, str]
    """The columns that the caller named."""
    reading: Reading
    """What else was chosen."""
    described: Described
    """What is asked for about the items."""
    scales: MetricScales | None
    """The scales of metrics, where they may have several."""

    def opened(self, source: Source) -> ShapedTable:
        """The table of a file."""
        in_path = {role: name_in_path(self.reading, source.path, role) for role in NAMED}
        given: dict[Role, str] = {role: name for role, name in in_path.items() if name is not None}
        return self.shaped(open_table(source.path, source.called), given)

    def shaped(self, plain: PlainTable, given: Mapping[Role, str]) -> ShapedTable:
        """A table as one with a row for every score; ``given`` are the names that its path says."""
        chosen = {role: name for role, name in self.chosen.items() if role not in given}
        table, wide = with_chosen(plain, chosen), None
        if self.reading.format != "table":
            wide = as_wide(
                table,
                chosen=chosen,
                asked=self.reading.format == "wide",
                described=self.described.names,
                dropped=self.reading.drop_column,
                given=given,
            )
        table = replace(table if wide else _with_metric(table), wide=wide, given=given, scales=self.scales)
        if METRIC in self.described.names:
            return replace(table, metrics="every") if METRIC in self.described.in_table(table) else table
        if wide or METRIC not in {*plain.text_columns(), *table.joined} or METRIC in self.chosen.values():
            return table
        return replace(table, metrics=self.reading.metric or "watched")

    def roles(self, table: LogTable | ShapedTable, described: Sequence[str]) -> dict[Role, str]:
        """The column of every role of a table, and those of the item columns that it has."""
        if isinstance(table, LogTable):
            return table.roles()
        roles = self._columns(table, described) if table.wide is None else table.wide.roles()
        roles |= {role: role for role in table.given}
        if table.metrics == "every":
            roles[ORIGINAL] = "item"
        if table.metrics == "watched":
            roles[column_key(METRIC)] = METRIC
        return roles

    def _columns(self, table: ShapedTable, described: Sequence[str]) -> dict[Role, str]:
        found = find_roles(
            table.columns(),
            table=table.name,
            chosen={role: name for role, name in self.chosen.items() if role not in table.given},
            blocks=self.reading.blocks,
            described=described,
            given=tuple(table.given),
        )
        return with_columns(found, described, table=table.name)

    def check(self, tables: Sequence[LogTable | ShapedTable], logs: Sequence[LogTable]) -> None:
        """Refuse options that would have no effect: they were given for a reason."""
        by_metric = any(isinstance(table, ShapedTable) and table.by_metric for table in tables)
        needless = None if logs else choice_for_logs(self.reading, metrics=by_metric)
        if needless is not None:
            raise DomainError(
                needless,
                f" is for logs, and {tables[0].name} is a table; name its columns with ",
                Argument("column"),
                ", for instance ",
                Argument("column", {"score": "accuracy"}),
            )
        plain = [table.name for table in tables if isinstance(table, ShapedTable) and not table.by_metric]
        if self.reading.metric_ranges and plain:
            raise DomainError(
                Argument("metric_range"),
                f" is for metrics, and {plain[0]} names none; convert the logs, or read them alone",
            )
        self._check_names(tables, logs)
        there = {name for table in tables if table.wide for name in table.wide.dropped}
        for name in self.reading.drop_column:
            if name not in there:
                raise DomainError(
                    Argument("drop_column", (shown(name),)),
                    f": no wide table has a column {quoted(name)}; other columns are not read: leave the option out",
                )

    def _check_names(self, tables: Sequence[Table], logs: Sequence[LogTable]) -> None:
        columns = [role for role in self.chosen if role != "block"]
        if len(logs) == len(tables) and columns:
            raise NeedlessColumnError(
                f"{logs[0].name}: a log of {logs[0].reader.title}, which is read without ",
                Argument("column", {columns[0]: self.chosen[columns[0]]}),
                ": leave it out; ",
                Argument("metric"),
                ", ",
                Argument("model_name"),
                ", ",
                Argument("replicate_from"),
                " and ",
                Argument("blocks"),
                " choose where a log leaves a choice. If it is no such log, pass ",
                Argument("format", "table"),
            )
        for role in NAMED:
            origin = name_origin(self.reading, role)
            if origin is not None and origin.is_of_path and role in columns:
                raise DomainError(
                    Argument(f"{role}_from"),
                    " and ",
                    Argument("column", {role: self.chosen[role]}),
                    f" both say where the {role} is; leave one of them out",
                )
        check_model_names(self.reading, [seen for log in logs for seen in log.models()])


def _with_metric(table: ShapedTable) -> ShapedTable:
    """The table with a column of metrics of this name, where it has one with another usual name."""
    named = [name for name in table.plain.text_columns() if name.strip().casefold() in METRICS]
    if METRIC in table.columns() or len(named) != 1:
        return table
    return replace(table, joined={**table.joined, METRIC: (named[0],)})


def wide_notes(tables: Sequence[Table], reading: Reading) -> Iterator[Note]:
    """Which tables were read as wide ones without being asked for, and what was dropped from them."""
    for name, wide in ((table.name, table.wide) for table in tables if table.wide):
        if reading.format is None:
            yield Note(
                kind="files",
                subject=(name,),
                text=f"{name} was read as a wide table: each of its {len(wide.scored):,} other columns is one "
                f"{wide.across}.",
            )
        if wide.dropped:
            yield Note(
                kind="files",
                subject=(name,),
                text=f"Dropped from {name} on purpose: column {listed(wide.dropped)}.",
            )


def check_alike(tables: Sequence[Table], roles: Sequence[Mapping[Role, str]], role: Role) -> None:
    """Raise if some tables have the role and others do not: what the others mean would be a guess."""
    having = [table.name for table, its_roles in zip(tables, roles, strict=True) if role in its_roles]
    lacking = [table.name for table, its_roles in zip(tables, roles, strict=True) if role not in its_roles]
    if having and lacking and role == ORIGINAL:
        raise FormatError(f"{lacking[0]}: no column {METRIC}, but {having[0]} has one; add the column")
    if having and lacking:
        others = f" ({len(having)} files have the column, {len(lacking)} do not: {listed(lacking)})"
        by_file = (", or pass ", Argument("replicate_from", "file"), " if every file is one run")
        raise FormatError(
            f"{lacking[0]}: no {role} column, but {having[0]} has one{others if len(tables) > 2 else ''}; add the "
            "column or name it with ",
            Argument("column", {role: Blank("NAME")}),
            *((", or pass ", *OTHER_BLOCKS) if role == "block" else ()),
            *(by_file if role == "replicate" else ()),
        )


def check_directions(
    tables: Sequence[LogTable | ShapedTable], roles: Sequence[Mapping[Role, str]], reading: Reading
) -> None:
    """Raise if the name of a score or metric of a table leaves open whether more is better; logs are asked apart."""
    for table, its_roles in zip(tables, roles, strict=True):
        if reading.less_is_better is not None or isinstance(table, LogTable) or table.wide is not None:
            continue
        if not table.by_metric:
            check_name(its_roles["score"], table.name, of="score", beside=table.columns())
        for metric in reading.metric if table.by_metric else ():
            if metric not in reading.metric_ranges:
                check_name(metric, table.name, of="metric")


def check_runs(labels: Sequence[str], roles: Sequence[Mapping[Role, str]], reading: Reading) -> None:
    """Raise if a usual column of runs has prompts or settings, unless it was named for them."""
    columns = {its_roles.get("replicate", "") for its_roles in roles}
    if reading.replicate_from is not None or "replicate" in reading.columns or not are_settings(labels):
        return
    run, model = columns.pop(), roles[0]["model"]
    compared = Argument("column", {"model": f"{model}{BETWEEN}{run}"})
    repeated = Argument("column", {"replicate": run})
    raise OpenChoiceError.asking(
        f"What are {listed(labels)}?",
        (
            Candidate(argument=repeated, reasons=("if they are repeated runs of the same thing",)),
            Candidate(argument=compared, reasons=("if they are prompts or settings, which are compared",)),
        ),
        f"the column {quoted(run)} has {listed(labels)}, which are called as prompts or settings are; pass ",
        repeated,
        " if they are repeated runs, or ",
        compared,
        " if they are compared",
    )


def check_one_metric(coder: Coder) -> None:
    """Raise if an item has scores of several metrics, in tables that name them, and none was chosen."""
    key = column_key(METRIC)
    book = coder.columns.get(key)
    if ORIGINAL not in coder.columns and book is not None and book.conflict is not None:
        raise several_metrics(book.conflict.place, coder.names(key))
