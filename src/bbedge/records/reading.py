"""How scores were read from files: the options of the command, as a certificate states them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from bbedge.records.values import Names, Record


class ReadingRecord(Record, frozen=True, kw_only=True):
    """The options that files were read with, where they are not the default; bbedge verify reads as they say.

    Those that decide what a model or a run is called, which files and columns are read, and in which direction a metric
    counts are not taken from a certificate: whoever verifies it passes them.
    """

    blocks: str | UnsetType = UNSET
    """Which items may depend on each other."""
    incomplete: str | UnsetType = UNSET
    """What was done about missing scores."""
    drop_column: Names | UnsetType = UNSET
    """Columns of wide tables that are neither items nor models."""
    format: str | UnsetType = UNSET
    """The format of all files."""
    metric: Names | UnsetType = UNSET
    """The metrics that are the score."""
    filter: Names | UnsetType = UNSET
    """The filters whose scores are used."""
    macro: str | UnsetType = UNSET
    """The column of categories whose means have the same weight in the headline."""
    weights: str | UnsetType = UNSET
    """The column with the weight of each item."""
    views: str | UnsetType = UNSET
    """The column of which each value is a view."""
    column: Names | UnsetType = UNSET
    """The columns that hold the roles, such as score=passed; to be passed again."""
    skip: Names | UnsetType = UNSET
    """Patterns of files that were left out; to be passed again."""
    model_name: Names | UnsetType = UNSET
    """Names of models in logs; to be passed again."""
    model_from: str | UnsetType = UNSET
    """What names the model of a file; to be passed again."""
    replicate_from: str | UnsetType = UNSET
    """What identifies the replicate of a file; to be passed again."""
    merge_names: bool | UnsetType = UNSET
    """Whether models whose names are alike are one; to be passed again."""
    items: str | UnsetType = UNSET
    """The name of the list of the items; to be passed again."""
    metric_range: Names | UnsetType = UNSET
    """The worst and the best possible value of metrics; to be passed again."""
    without_metric: Names | UnsetType = UNSET
    """Patterns of metrics that were left out; to be passed again."""

    @property
    def is_given(self) -> bool:
        """Whether any option is not the default."""
        return any(getattr(self, name) is not UNSET for name in self.__struct_fields__)


TAKEN = ("blocks", "incomplete", "drop_column", "format", "metric", "filter", "macro", "weights", "views")
"""The options that verification takes from a certificate."""


def as_options(record: ReadingRecord, *, taken: bool) -> list[str]:
    """Words of a command line: the options that verification takes from a certificate, or those to be passed again."""
    words: list[str] = []
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if value is UNSET or (name in TAKEN) != taken:
            continue
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [word for each in _each(value) for word in (option, each)]
    return words


def _each(value: str | Names) -> Names:
    return (value,) if isinstance(value, str) else value
