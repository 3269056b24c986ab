"""How files of scores are read: every option once, for Python, the command line and certificates."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, Self, cast, get_args

from msgspec import structs

from bbedge.errors import Argument, DomainError, as_word
from bbedge.records.codec import record_from_arguments
from bbedge.records.values import HEADLINE, Names, ScaleArgument, ScoreRange, Sparse, by_key, option
from bbedge.text import quoted

UNIT = (0.0, 1.0)
Role = Literal["model", "item", "replicate", "block", "score"]
"""What a column of a table can hold."""
ROLES: tuple[Role, ...] = get_args(Role)
SUITE = ("macro", "weights", "views", "share")
"""The options that say which means are compared."""
TAKEN = (
    *("blocks", "incomplete", "less_is_better", "drop_column", "format", "metric", "filter", "subset"),
    *SUITE[:3],
)
"""The options that verification takes from a certificate."""
ABOUT_ITEMS = ("items", "item_column", "metric_range", "without_metric")
"""The options about what is known of items and metrics beyond their scores."""

_LOGS, _SUITES, _METRIC = "Options for logs", "Options for categories, weights and suites", "metric"


class ReadingRecord(Sparse, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The options that files were read with, where they are not the default; bbedge verify reads as they say.

    Names of models and runs, what to read, and ranges of metrics are not taken from it: who verifies passes them.
    """

    blocks: Annotated[
        str | None,
        option(
            "Which items may depend on each other. COLUMN: items with the same value in this column, or in this "
            "field of a log, such as metadata.dialogue_id; item: none; one: all. Default: the block column if there is "
            "one, else item.",
            metavar="COLUMN|item|one",
        ),
    ] = None
    incomplete: Annotated[
        str,
        option(
            "What to do about missing scores. worst-case: each counts against whichever model it could help, "
            "whatever made it missing. stopped: a model that lacks all later replicates was stopped. zero: a missing "
            "score is a failure. drop-models, drop-items, drop-replicates change what is measured. Combine as "
            "stopped,worst-case, or by kind of error (refusal, infrastructure, judge, unknown) as "
            "infrastructure=worst-case,refusal=zero. Decide before you see scores.",
            metavar="POLICY",
        ),
    ] = "refuse"
    less_is_better: Annotated[
        bool | None,
        option(
            "Whether less is better: then scores are mirrored in their range. Names such as error or latency need it.",
            names="--less-is-better/--more-is-better",
        ),
    ] = None
    drop_column: Annotated[
        Names,
        option(
            "A column of a wide table that is neither an item nor a model, such as a mean. May be repeated.",
            metavar="NAME",
        ),
    ] = ()
    format: Annotated[
        str | None,
        option(
            "Format of all files: lm-eval, inspect or another tool, table or wide; an unknown name lists all. "
            "Default: detect it.",
            metavar="KIND",
            panel=_LOGS,
        ),
    ] = None
    metric: Annotated[
        Names,
        option(
            "The metric to use as the score, of logs and of tables with a column metric. May be repeated if tasks "
            "have different metrics.",
            metavar="NAME",
            panel=_LOGS,
        ),
    ] = ()
    filter: Annotated[
        Names,
        option(
            "The filter whose scores to use, if a log has several filters. May be repeated.",
            metavar="NAME",
            panel=_LOGS,
        ),
    ] = ()
    macro: Annotated[
        str | None,
        option(
            "Headline: the mean of the means of categories, which are the values of this column. COLUMN is a "
            "column of the scores or of --items, or a field of a log such as metadata.category or task. Default: the "
            "mean over all items.",
            metavar="COLUMN",
            panel=_SUITES,
        ),
    ] = None
    weights: Annotated[
        str | None,
        option(
            "Weigh items by the numbers in this column, also inside categories and views.",
            metavar="COLUMN",
            panel=_SUITES,
        ),
    ] = None
    views: Annotated[
        str | None,
        option(
            "Besides the headline, compare the models on each value of this column, under the same alpha. With "
            "metric, on each metric of a log; --metric then says which one the headline is about.",
            metavar="COLUMN",
            panel=_SUITES,
        ),
    ] = None
    column: Annotated[
        Names,
        option(
            "The column that holds model, item, replicate, block or score: score=passed, a nested field such as "
            "score=evaluation.score, or several as one name: item=id+turn, item=file+id. May be repeated.",
            metavar="ROLE=NAME",
        ),
    ] = ()
    skip: Annotated[
        Names,
        option(
            "Leave out files whose path, its end, or a folder in it fits PATTERN, such as old/* or summary.csv. "
            "The certificate states it. May be repeated.",
            metavar="PATTERN",
        ),
    ] = ()
    subset: Annotated[
        bool,
        option(
            "Read logs of lm-evaluation-harness that hold fewer documents than their results state, because the "
            "publisher kept a part. The certificate says how many; nothing says how they were chosen.",
            panel=_LOGS,
        ),
    ] = False
    model_name: Annotated[
        Names,
        option(
            "Name of the model in all logs, or in logs whose path or model name matches PATTERN. May be repeated.",
            metavar="[PATTERN=]NAME",
            panel=_LOGS,
        ),
    ] = ()
    model_from: Annotated[
        str | None,
        option(
            "What names the model of a file: file, folder or path:REGEX; of a log also a field of its header such "
            "as task_args.prompt. Default: the model column, or what the log says.",
            metavar="WHERE",
        ),
    ] = None
    replicate_from: Annotated[
        str | None,
        option(
            "What identifies the replicate of a file: file, folder or path:REGEX; of a log also seed, or a field "
            "such as metadata.run. Default: the replicate column; of logs, number a model's runs by time.",
            metavar="WHERE",
        ),
    ] = None
    merge_names: Annotated[
        bool,
        option(
            "Read models whose names differ only by case, surrounding spaces, hyphens or look-alike characters as "
            "one model."
        ),
    ] = False
    items: Annotated[
        str | None,
        option(
            "A list of the items, CSV, JSONL or Parquet with a column item: its other columns describe the items "
            "where the scores do not, and its column block names their blocks if the scores name none.",
            metavar="FILE",
            panel=_SUITES,
        ),
    ] = None
    metric_range: Annotated[
        Names,
        option(
            "The worst and the best possible value of a metric, if that is not --score-range: judge=0:10, or "
            "wer=1:0 for a metric of which less is better. May be repeated.",
            metavar="NAME=WORST:BEST",
            panel=_SUITES,
        ),
    ] = ()
    without_metric: Annotated[
        Names,
        option(
            "With every metric of a log: leave out those that fit the pattern, such as num_*. May be repeated.",
            metavar="PATTERN",
            panel=_SUITES,
        ),
    ] = ()

    @property
    def suite(self) -> dict[str, Any]:
        """The means that are compared, as arguments of :func:`~bbedge.suite_options`."""
        columns = (self.macro, self.weights, self.views)
        metric = self.metric if self.metric and _METRIC in columns else None
        return {"macro": self.macro, "weights": self.weights, "views": self.views, "metric": metric}

    def changed(self) -> dict[str, Any]:
        """The options that are not the default."""
        usual = type(self)()
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value != getattr(usual, name)}

    def words(self, *, without: Collection[str] = ()) -> list[str]:
        """The options that are not the default, ``without`` some, as words of a command line.

        >>> ReadingRecord(metric=("acc", "f1"), merge_names=True).words()
        ['--metric', 'acc', '--metric', 'f1', '--merge-names']
        """
        given = (Argument(name, value) for name, value in self.changed().items() if name not in without)
        return [word for argument in given for word in argument.words]


class Reading(ReadingRecord, frozen=True, kw_only=True):
    """How to read files: what a certificate states of it, and what it states elsewhere or need not state.

    >>> Reading(column=("item=a=b",), metric_range=("wer=1:0",)).columns
    {'item': 'a=b'}
    """

    score_range: ScoreRange = UNIT
    share: Annotated[
        Names,
        option(
            "The part of alpha that a view has: math=0.3, or headline=0.6. Default: the headline has half of "
            "what is left, the other views share the rest equally. May be repeated.",
            metavar="VIEW=PART",
            panel=_SUITES,
        ),
    ] = ()
    item_column: Annotated[
        Names,
        option(
            "A column, or a field of a log such as metadata.category, to keep for every item; task is the name "
            "of a log's task, metric keeps every metric of a log. May be repeated.",
            metavar="NAME",
            panel=_SUITES,
        ),
    ] = ()
    max_size: Annotated[
        str | None,
        option(
            "Raise the limits on lines, names, unpacked files and arrays of pairs to this size: 500M, 8G. "
            "docs/formats.md lists the limits.",
            metavar="SIZE",
        ),
    ] = None
    preferred_names: Names = ()
    """The spellings that merged names get, such as those of a board's models; else the plainest one in the files."""

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.score_range
        if not (low < high and math.isfinite(high - low)):
            raise DomainError(f"score range {low:g} to {high:g}; expected two finite numbers, the lower one first")
        _ = self.metric_ranges  # refuses what is no range
        for text in self.column:
            role, _, name = text.partition("=")
            if role not in ROLES or not name:
                roles = ", ".join(ROLES)
                raise DomainError(Argument("column"), f" {quoted(text)} is not ROLE=NAME with ROLE one of {roles}")

    @classmethod
    def of(cls, options: ReadingOptions) -> Self:
        """The record of the arguments of a call."""
        return record_from_arguments(cls, {name: _plain(name, value) for name, value in options.items()})

    def with_argument(self, argument: Argument) -> Self:
        """The same with one more choice; one that may be repeated keeps what it has."""
        value, repeated = _plain(argument.name, argument.value), argument.name in REPEATED
        value = (*getattr(self, argument.name), *value) if repeated else value
        if argument.name == "column":  # a role has one, the last that was named
            value = tuple({each.partition("=")[0]: each for each in value}.values())
        return structs.replace(self, **{argument.name: value})

    @property
    def columns(self) -> dict[Role, str]:
        """The column of each role that one was named for."""
        return {cast("Role", role): name for role, _, name in (text.partition("=") for text in self.column)}

    @property
    def item_columns(self) -> tuple[str, ...]:
        """The columns that describe the items: those to keep, and those that the compared means need."""
        return tuple(dict.fromkeys((*self.item_column, *filter(None, (self.macro, self.weights, self.views)))))

    @property
    def metric_ranges(self) -> dict[str, tuple[float, float]]:
        """The worst and the best possible value of metrics that are not on the common scale.

        >>> Reading(metric_range=("wer=1:0", "a=b=0:10")).metric_ranges
        {'wer': (1.0, 0.0), 'a=b': (0.0, 10.0)}
        """
        expected = (
            "NAME=WORST:BEST with two different finite numbers, once for every metric; write for instance judge=0:10, "
            "or wer=1:0 for a metric of which less is better"
        )
        return by_key("metric_range", self.metric_range, _range_of, expected)

    @property
    def shares(self) -> dict[str, float]:
        """The part of alpha that views have.

        >>> Reading(views="category", share=("math=0.3", "a=b=0.1")).shares
        {'math': 0.3, 'a=b': 0.1}
        """
        expected = f"VIEW=PART with a number, once for every view; write for instance {HEADLINE}=0.6"
        shares = by_key("share", self.share, _number, expected)
        if shares and self.views is None:
            raise DomainError(
                Argument("share"), " needs ", Argument("views"), " COLUMN; without views the headline has all of alpha"
            )
        return shares

    @property
    def stated(self) -> ReadingRecord:
        """What a certificate states of it; of the list of items only the name, not the folder."""
        values = {name: getattr(self, name) for name in ReadingRecord.__struct_fields__}
        return ReadingRecord(**{**values, "items": self.items and os.path.basename(self.items)})  # noqa: PTH119

    def with_stated(self, stated: ReadingRecord) -> Self:
        """The same with the options that a certificate states and that may be taken from it, where none was given."""
        given = self.changed()
        taken = {name: value for name, value in stated.changed().items() if name in TAKEN and name not in given}
        return structs.replace(self, **taken)


class ReadingOptions(ScaleArgument, total=False):
    """The arguments of :func:`~bbedge.read_scores` and others: the fields of :class:`Reading`, as Python has them."""

    blocks: str | None
    incomplete: str
    less_is_better: bool | None
    column: Mapping[str, str] | str | Iterable[str]
    drop_column: str | Iterable[str]
    skip: str | Iterable[str]
    format: str | None
    metric: str | Iterable[str]
    filter: str | Iterable[str]
    subset: bool
    model_name: str | Iterable[str]
    replicate_from: str | None
    model_from: str | None
    merge_names: bool
    max_size: str | int | None
    macro: str | None
    weights: str | None
    views: str | None
    share: Mapping[str, float] | str | Iterable[str]
    items: str | os.PathLike[str] | None
    item_column: str | Iterable[str]
    metric_range: Mapping[str, tuple[float, float]] | str | Iterable[str]
    without_metric: str | Iterable[str]
    preferred_names: Iterable[str]


REPEATED = frozenset(field.name for field in structs.fields(Reading) if field.default == ())
"""The options that may be given several times."""


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - what people pass
    """An argument of a call as its field has it: several texts where the option may be repeated."""
    if name in REPEATED and isinstance(value, Mapping):
        return tuple(f"{key}={as_word(each)}" for key, each in value.items())
    if name in REPEATED:
        return (value,) if isinstance(value, str) else tuple(value or ())
    if name == "max_size" and value is not None:
        return str(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _range_of(text: str) -> tuple[float, float]:
    worst, best = map(_number, text.split(":"))
    if worst == best or not math.isfinite(best - worst):
        raise ValueError
    return worst, best


def _number(text: str) -> float:
    number = float(text)
    if math.isnan(number):
        raise ValueError
    return number
