"""From sources to tables that are read alike: long, with a column or a name for every role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.describing import Described
from bbedge.readers.candidates import with_score_proposal
from bbedge.readers.choices import OTHER_BLOCKS, Choice, Choices
from bbedge.readers.logs.table import LogTable
from bbedge.readers.scales import MetricScales
from bbedge.readers.sources import Source, open_table
from bbedge.readers.tables import Table
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.roles import METRIC, ORIGINAL, ColumnError, column_key, find_roles, with_columns
from bbedge.readers.tables.wide import as_wide, wide_inside
from bbedge.readers.tables.wrappers import (
    ChosenMetric,
    MetricTable,
    NamedTable,
    WatchedMetric,
    has_texts,
    layers,
    several_metrics,
    with_chosen,
)
from bbedge.records.notes import Note
from bbedge.text import listed, quoted, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """What every table is read with."""

    chosen: Mapping[Role, str]
    """The columns that the caller named."""
    choices: Choices
    """What else was chosen."""
    blocks: str | None
    """Where blocks come from."""
    described: Described
    """What is asked for about the items."""
    scales: MetricScales | None
    """The scales of metrics, where they may have several."""

    def opened(self, source: Source) -> Table:
        """The table of a file."""
        in_path: dict[Role, str | None] = {
            "model": self.choices.model_in_path(source.path),
            "replicate": self.choices.replicate_in_path(source.path),
        }
        names = {role: name for role, name in in_path.items() if name is not None}
        return self.shaped(open_table(source.path, source.called), names)

    def shaped(self, table: Table, names: Mapping[Role, str] | None = None) -> Table:
        """A table as one with a row for every score; ``names`` are what its path says."""
        given = names or {}
        chosen = {role: name for role, name in self.chosen.items() if role not in given}
        table = with_chosen(table, chosen)
        if self.choices.format != "table":
            wide = as_wide(
                table,
                chosen=chosen,
                asked=self.choices.format == "wide",
                described=self.described.names,
                dropped=self.choices.drop_columns,
                given=given,
            )
            table = wide or table
        if given:
            table = NamedTable(table, given)
        return self._by_metric(table)

    def roles(self, table: Table, described: Sequence[str]) -> dict[Role, str]:
        """The column of every role of a table, and those of the item columns that it has."""
        if isinstance(table, LogTable):
            return table.roles()
        wide = wide_inside(table)
        given = next((each.names for each in layers(table) if isinstance(each, NamedTable)), {})
        roles = self._columns(table, described, given) if wide is None else wide.roles()
        roles |= {role: role for role in given}
        if isinstance(table, MetricTable):
            roles[ORIGINAL] = "item"
        if isinstance(table, WatchedMetric):
            roles[column_key(METRIC)] = METRIC
        return roles

    def _columns(self, table: Table, described: Sequence[str], given: Mapping[Role, str]) -> dict[Role, str]:
        chosen = {role: name for role, name in self.chosen.items() if role not in given}
        try:
            found = find_roles(
                table.columns(),
                table=table.name,
                chosen=chosen,
                blocks=self.blocks,
                described=described,
                given=tuple(given),
            )
        except ColumnError as error:
            raise with_score_proposal(error, table, chosen) from None
        return with_columns(found, described, table=table.name)

    def _by_metric(self, table: Table) -> Table:
        if METRIC in self.described.names:
            return MetricTable(table, self.scales) if METRIC in self.described.in_table(table) else table
        if wide_inside(table) or not has_texts(table, METRIC) or METRIC in self.chosen.values():
            return table
        return ChosenMetric(table, self.choices.metrics, self.scales) if self.choices.metrics else WatchedMetric(table)

    def check(self, tables: Sequence[Table], logs: Sequence[LogTable]) -> None:
        """Refuse options that would have no effect: they were given for a reason."""
        by_metric = any(isinstance(table, MetricTable | ChosenMetric) for table in tables)
        needless = None if logs else self.choices.any_for_logs(metrics=by_metric)
        if needless is not None:
            raise DomainError(
                needless,
                f" is for logs, and {tables[0].name} is a table; name its columns with ",
                Argument("columns"),
                ", for instance ",
                Argument("columns", {"score": "accuracy"}),
            )
        plain = [table.name for table in tables if not isinstance(table, LogTable | MetricTable | ChosenMetric)]
        if self.choices.metric_ranges and plain:
            raise DomainError(
                Choice("metric_ranges"),
                f" is for metrics, and {plain[0]} names none; convert the logs, or read them alone",
            )
        self._check_names(tables, logs)
        self._check_dropped(tables)

    def _check_names(self, tables: Sequence[Table], logs: Sequence[LogTable]) -> None:
        columns = [role for role in self.chosen if role != "block"]
        if len(logs) == len(tables) and columns:
            raise DomainError(
                Argument("columns", {columns[0]: self.chosen[columns[0]]}),
                f" is for tables, and {logs[0].name} is a log; use ",
                Choice("metrics"),
                ", ",
                Choice("model_names"),
                ", ",
                Choice("replicate_from"),
                " or ",
                Argument("blocks"),
            )
        for role, choice in (("model", self.choices.model_origin), ("replicate", self.choices.replicate_origin)):
            if choice is not None and choice.is_of_path and role in columns:
                raise DomainError(
                    Choice(f"{role}_from"),
                    " and ",
                    Argument("columns", {role: self.chosen[columns[columns.index(role)]]}),
                    f" both say where the {role} is; leave one of them out",
                )
        self.choices.check_names([seen for log in logs for seen in log.models()])

    def _check_dropped(self, tables: Sequence[Table]) -> None:
        there = {name for wide in map(wide_inside, tables) if wide for name in wide.dropped}
        for name in self.choices.drop_columns:
            if name not in there:
                raise DomainError(
                    Choice("drop_columns", (shown(name),)),
                    f": no wide table has a column {quoted(name)}; other columns are not read: leave the option out",
                )


def wide_notes(tables: Sequence[Table], choices: Choices) -> Iterator[Note]:
    """Which tables were read as wide ones without being asked for, and what was dropped from them."""
    for table in filter(None, map(wide_inside, tables)):
        if choices.format is None:
            yield Note(
                kind="files",
                subject=(table.name,),
                text=f"{table.name} was read as a wide table: each of its {len(table.scored):,} other columns is one "
                f"{table.across}.",
            )
        if table.dropped:
            yield Note(
                kind="files",
                subject=(table.name,),
                text=f"Dropped from {table.name} on purpose: column {listed(table.dropped)}.",
            )


def check_alike(tables: Sequence[Table], roles: Sequence[Mapping[Role, str]], role: Role) -> None:
    """Raise if some tables have the role and others do not: what the others mean would be a guess."""
    having = [table.name for table, its_roles in zip(tables, roles, strict=True) if role in its_roles]
    lacking = [table.name for table, its_roles in zip(tables, roles, strict=True) if role not in its_roles]
    if having and lacking and role == ORIGINAL:
        raise FormatError(f"{lacking[0]}: no column {METRIC}, but {having[0]} has one; add the column")
    if having and lacking:
        others = f" ({len(having)} files have the column, {len(lacking)} do not: {listed(lacking)})"
        by_file = (", or pass ", Choice("replicate_from", "file"), " if every file is one run")
        raise FormatError(
            f"{lacking[0]}: no {role} column, but {having[0]} has one{others if len(tables) > 2 else ''}; add the "
            "column or name it with ",
            Argument("columns", {role: Blank("NAME")}),
            *((", or pass ", *OTHER_BLOCKS) if role == "block" else ()),
            *(by_file if role == "replicate" else ()),
        )


def check_one_metric(coder: Coder) -> None:
    """Raise if an item has scores of several metrics, in tables that name them, and none was chosen."""
    key = column_key(METRIC)
    if ORIGINAL in coder.columns or key not in coder.columns:
        return
    conflict = coder.columns[key].conflict
    if conflict is None:
        return
    raise several_metrics(conflict.table.place(conflict.row), coder.names(key))
