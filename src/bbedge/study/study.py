"""A study: settings that are repeated, what is shown of them, and what was published about them."""

from __future__ import annotations

from dataclasses import dataclass, field

from bbedge.study.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a study's table."""

    metric: str
    """Name of the metric."""
    at: int | None = None
    """The look it is read at; the last one if not given."""
    reaches: float | None = None
    """If given, the column is the first look at which the metric's mean reaches this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A number of the paper."""

    setting: str
    """Setting that it belongs to."""
    method: str
    """Whose number it is."""
    column: Column
    """What it is a value of."""
    value: float
    """The printed value."""
    deviation: float | None = None
    """The printed standard deviation over its 500 repetitions, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """An experiment."""

    name: str
    """What it is called on the command line."""
    title: str
    """What it is about."""
    question: str
    """What it asks, in a sentence or two."""
    source: str
    """The table or figure of the paper that it repeats, or that it is ours."""
    setup: str
    """How data are made and what is run, for a reader who wants to judge it."""
    settings: tuple[Setting, ...]
    """What is repeated."""
    figure: tuple[str, ...]
    """Metrics drawn over looks, one column of panels each."""
    table: tuple[Column, ...]
    """Columns of the table."""
    published: tuple[Published, ...] = ()
    """What the paper printed."""
    notes: tuple[str, ...] = field(default=())
    """What a reader should know: where ours differs and why, what is not claimed."""
    needs_data: str | None = None
    """What files ``--data`` may add to it; nothing if it takes none."""

    def setting(self, name: str) -> Setting:
        """The setting of this name."""
        return next(each for each in self.settings if each.name == name)
