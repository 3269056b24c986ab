"""Options about the items of scores: what describes them, and the views of a leaderboard that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import UNSET

from bbedge.errors import DomainError
from bbedge.readers import Choices
from bbedge.records.reading import TAKEN, ReadingRecord
from bbedge.text import quoted

if TYPE_CHECKING:
    from bbedge.cli.options import Reading
    from bbedge.core.scores import Scores
    from bbedge.core.views import SuiteOptions

_PANEL = "Options for categories, weights and suites"
_METRIC = "metric"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of the items beyond their scores, and where it is."""

    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A list of the items, CSV, JSONL or Parquet with a column item: its other columns describe the items "
            "where the scores do not, and its column block names their blocks if the scores name none.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    item_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A column, or a field of a log such as metadata.category, to keep for every item; task is the name "
            "of a log's task, metric keeps every metric of a log. May be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    metric_range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=WORST:BEST",
            help="The worst and the best possible value of a metric, if that is not --score-range: judge=0:10, or "
            "wer=1:0 for a metric of which less is better. May be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    without_metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="With every metric of a log: leave out those that fit the pattern, such as num_*. May be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None

    def choices(self, reading: Reading) -> Choices:
        """The choices of a command for logs, with those about metrics."""
        return replace(reading.choices, metric_ranges=self._ranges(), without_metrics=tuple(self.without_metric or ()))

    def table(
        self,
        reading: Reading,
        files: Sequence[Path],
        columns: Sequence[str] = (),
        *,
        identify: bool = False,
        provenance: bool = False,
    ) -> Scores:
        """Read score files, which may lack scores, with the columns that were asked for, and with these."""
        return reading.table(
            files,
            gaps=True,
            choices=self.choices(reading),
            items=self.items,
            item_columns=(*(self.item_column or ()), *columns),
            identify=identify,
            provenance=provenance,
        )

    def _ranges(self) -> dict[str, tuple[float, float]]:
        """Ranges from texts such as wer=1:0.

        >>> About(metric_range=["wer=1:0", "a=b=0:10"])._ranges()
        {'wer': (1.0, 0.0), 'a=b': (0.0, 10.0)}
        """
        ranges: dict[str, tuple[float, float]] = {}
        for text in self.metric_range or ():
            name, _, ends = text.rpartition("=")
            worst, _, best = ends.partition(":")
            try:
                pair = float(worst), float(best)
            except ValueError:
                pair = math.nan, math.nan
            if not name or name in ranges or not math.isfinite(pair[1] - pair[0]):
                raise DomainError(
                    f"--metric-range {quoted(text)} is not NAME=WORST:BEST with two numbers, once for every metric; "
                    "write for instance judge=0:10, or wer=1:0 for a metric of which less is better"
                )
            ranges[name] = pair
        return ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Which means are compared: the headline, and views besides it."""

    macro: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Headline: the mean of the means of categories, which are the values of this column. COLUMN is a "
            "column of the scores or of --items, or a field of a log such as metadata.category or task. Default: the "
            "mean over all items.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Weigh items by the numbers in this column, also inside categories and views.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    views: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Besides the headline, compare the models on each value of this column, under the same alpha. With "
            "metric, on each metric of a log; --metric then says which one the headline is about.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VIEW=PART",
            help="The part of alpha that a view has: math=0.3, or headline=0.6. Default: the headline has half of "
            "what is left, the other views share the rest equally. May be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that describe the items."""
        return tuple(dict.fromkeys(name for name in (self.macro, self.weights, self.views) if name is not None))

    def options(self, table: Scores, metrics: Sequence[str] | None) -> SuiteOptions:
        """The weights, views and shares of the design; ``metrics`` were chosen for the headline."""
        from bbedge.core.views import suite_options

        return suite_options(
            table,
            macro=self.macro,
            weights=self.weights,
            views=self.views,
            shares=self.shares,
            metric=metrics if metrics and _METRIC in self.columns else None,
        )

    @property
    def shares(self) -> dict[str, float]:
        """Shares from texts such as math=0.3.

        >>> Suite(views="category", share=["math=0.3", "a=b=0.1"]).shares
        {'math': 0.3, 'a=b': 0.1}
        """
        shares: dict[str, float] = {}
        for text in self.share or ():
            name, _, number = text.rpartition("=")
            try:
                part = float(number)
            except ValueError:
                part = math.nan
            if not name or name in shares or math.isnan(part):
                raise DomainError(
                    f"--share {quoted(text)} is not VIEW=PART with a number, once for every view; write for instance "
                    "headline=0.6"
                )
            shares[name] = part
        if shares and self.views is None:
            raise DomainError("--share needs --views COLUMN; without views the headline has all of alpha")
        return shares


_ATTRIBUTES = {"format": "kind", "filter": "filter_"}  # whose names Python has for something else
_Groups = tuple["Reading", About, Suite]


def reading_record(groups: _Groups) -> ReadingRecord:
    """The options about reading that were given, as a certificate states them."""
    found: dict[str, Any] = {}
    for name in ReadingRecord.__struct_fields__:
        group, attribute = _holder(groups, name)
        value = getattr(group, attribute)
        if value and value != getattr(type(group)(), attribute):
            found[name] = value.name if isinstance(value, Path) else tuple(value) if isinstance(value, list) else value
    return ReadingRecord(**found)


def with_stated(groups: _Groups, stated: ReadingRecord) -> _Groups:
    """The options with those that a certificate states and that may be taken from it, where none was given."""
    given, made = reading_record(groups), list[Any](groups)
    for name in TAKEN:
        value = getattr(stated, name)
        if value is not UNSET and getattr(given, name) is UNSET:
            group, attribute = _holder(groups, name)
            place = groups.index(group)
            made[place] = replace(made[place], **{attribute: list(value) if isinstance(value, tuple) else value})
    reading, about, suite = made
    return reading, about, suite


def _holder(groups: _Groups, name: str) -> tuple[Any, str]:
    attribute = _ATTRIBUTES.get(name, name)
    return next(group for group in groups if hasattr(group, attribute)), attribute
