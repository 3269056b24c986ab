"""Whether a table that was found in a folder looks like scores, and choices with which files can be read.

A table that looks like scores is read or refused by its name: a model that disappears changes the leaderboard.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from msgspec import structs

from bbedge.errors import Argument, BbedgeError
from bbedge.readers.choices import ABOVE, Decision, NameSource, NeedlessColumnError, OpenChoiceError, name_origin
from bbedge.readers.decisions import are_of_models, decide, may_have_scores, model_decision
from bbedge.readers.limits import LimitError
from bbedge.readers.sources import Source, open_table
from bbedge.readers.tables import HEAD, PlainTable
from bbedge.readers.tables.columns import ALIASES, ROLES, Role
from bbedge.readers.tables.roles import chosen_columns
from bbedge.readers.tables.shaped import as_wide, with_chosen
from bbedge.records.reading import Reading

if TYPE_CHECKING:
    from bbedge.readers.survey import MetricFacts, Survey

# Names that columns of other tables have as well, such as lists of tasks: alone they do not make a table of scores.
_WEAK_ITEMS = frozenset({"id", "index", "test", "task", "prompt", "question"})
_BOOKKEEPING = re.compile(
    r"^(num|n|inference|training|finish_reason|batch|max|predicted|prompt|estimated)_|logprob|perplexity|bits_per|"
    r"runtime|latency|duration|tokens|truncated|cost$|time$|length$"
)
# Every choice means that the files are read once more.
_MOST = 8
# Names of files that say what is in them, not whose it is.
_USUAL = re.compile(r"^(results?|scores?|outputs?|predictions?|data|samples?)\b|_results$", re.IGNORECASE)


def looks_like_scores(plain: PlainTable, reading: Reading, *, by_name: bool = False) -> bool:
    """Whether a table may be one of scores, also where its columns do not say which is which.

    ``by_name`` asks for usual names of columns instead.
    """
    chosen = chosen_columns(reading)
    table = with_chosen(plain, chosen)
    found = table.columns()
    if reading.format in ("table", "wide") or any(name in found for name in chosen.values()):
        return True
    by_path: tuple[Role, ...] = ("model",) if (origin := name_origin(reading, "model")) and origin.is_of_path else ()
    if as_wide(table, chosen=chosen, asked=False, dropped=reading.drop_column, given=by_path) is not None:
        return True
    names = {name.strip().casefold() for name in found}
    has = {role: bool(names & {role, *ALIASES[role]}) for role in ROLES}
    if (has["score"] and has["item"]) or by_name:
        return has["score"] and (has["item"] or has["model"])
    if has["score"] and has["model"]:
        # A row for every model is a summary; several rows of a model are its scores.
        column = next(name for name in found if name.strip().casefold() in ("model", *ALIASES["model"]))
        models = [str(row.get(column)) for row in plain.head(HEAD)]
        return len(models) > len(set(models))
    strong = bool(names & ({"item", *ALIASES["item"]} - _WEAK_ITEMS))
    return (has["model"] or strong) and has["item"] and may_have_scores(plain, reading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """How files can be read that cannot be read as they are: one reading, or what has to be decided first."""

    arguments: tuple[Argument, ...] = ()
    """What is certain, or of logs an example."""
    decisions: tuple[Decision, ...] = ()
    """What is not."""
    left: BbedgeError | None = None
    """Why files cannot be read with the arguments, if they cannot."""


def proposed(
    error: BbedgeError, read: Callable[[Reading], object], reading: Reading, sources: Sequence[Source]
) -> Proposal:
    """What follows from an error, and from those that come once its answer is known.

    ``read`` reads the files with other options.
    """
    made: list[Argument] = []
    paths = [source.path for source in sources]
    while isinstance(error, OpenChoiceError) and len(made) < _MOST:
        runs = any(each.name == "replicate_from" for each in error.proposal)  # found together with the models
        step = tuple(
            named for each in error.proposal for named in ((each,) if runs else _of_paths(each, reading, paths))
        )
        decisions: tuple[Decision, ...] = () if error.decision is None else (error.decision,)
        if error.by_columns:
            tables = [open_table(source.path, source.called) for source in sources if source.reader is None]
            step, decisions = decide(tables, reading, step)
        elif any(each.name == "model_from" for each in step) and not are_of_models(paths, step):
            decisions = (model_decision(step),)
        if decisions or not step or any(one in made for one in step):
            return Proposal(arguments=tuple(made), decisions=decisions, left=error)
        # A later column of a role is a finer one, such as the item with its turn.
        made = [each for each in made if not _roles([each]) & _roles(step)]
        made += step
        reading = reduce(Reading.with_argument, step, reading)
        try:
            read(reading)
        except LimitError:
            raise
        except BbedgeError as next_error:
            error = next_error
        else:
            return Proposal(arguments=tuple(made))
    return Proposal(arguments=tuple(made), left=error)


def _of_paths(argument: Argument, reading: Reading, paths: Sequence[str]) -> tuple[Argument, ...]:
    """The argument; of files of one model each, what in the path may name it, alone if it names all files apart.

    A name of a file that all tools give says less than that of its folder.
    """
    if argument != Argument("model_from", "file"):
        return () if argument.name == "blocks" and reading.blocks is not None else (argument,)
    ways = {where: NameSource.parse(where, role="model") for where in ("file", "folder", ABOVE)}
    named = {where: {way.in_path(path, "model") for path in paths} - {None, ""} for where, way in ways.items()}
    apart = [where for where, names in named.items() if len(names) == len(paths)]
    if apart[1:] and any(_USUAL.search(name or "") for name in named["file"]):
        apart = apart[1:]
    several = [where for where, names in named.items() if len(names) > 1]
    return tuple(Argument("model_from", where) for where in apart[:1] or several)


def _roles(arguments: Sequence[Argument]) -> set[str]:
    """The roles that the arguments name columns for."""
    return {
        role for each in arguments if each.name == "column" and isinstance(each.value, Mapping) for role in each.value
    }


def model_from_fields(found: Survey) -> str | None:
    """The fields that name apart what the logs call by one name; None if nothing differs."""
    if not found.differing:
        return None
    fields = "+".join(dict.fromkeys(each.field for each in found.differing))
    return f"model+{fields}" if len({model for file in found.files for model in file.models}) > 1 else fields


def next_command(found: Survey, sources: Sequence[str], reading: Reading) -> str:
    """The next command: certify if the scores can be read, else inspect-scores with the missing choices."""
    replaced = {each.name for each in found.proposal} & {"model_from", "replicate_from"}
    replaced |= {"column"} if isinstance(found.error, NeedlessColumnError) else set()
    reading = structs.replace(
        reading, column=tuple(each for each in reading.column if each.partition("=")[0] not in _roles(found.proposal))
    )
    made = [Argument(name, value) for name, value in reading.changed().items() if name not in replaced]
    command, fields = "inspect-scores", model_from_fields(found)
    if found.scores is not None and fields is not None and len(found.scores.models) == 1:
        # As it is there is nothing to compare; what the arguments name apart may be.
        made.append(Argument("model_from", fields))
    elif found.scores is not None:
        command = "certify" if len(found.scores.models) > 1 else "diagnose"
    elif found.remedy is not None:
        # One model cannot be certified; the models of tables are not known here.
        of_one_model = len({file.models for file in found.files}) == 1 and len(found.files[0].models) == 1
        command = "diagnose" if of_one_model else "certify"
        made.append(Argument("incomplete", "zero" if of_one_model else found.remedy))
    made += found.proposal
    if found.decisions:
        return shlex.join(["bbedge", command, *sources, *(word for argument in made for word in argument.words)])
    if found.to_choose and not any(each.name == "metric" for each in made):
        made.append(Argument("metric", _metrics(found)))
    several_filters = any(len(of_task) > 1 for of_task in found.samples.filters.values())
    if found.to_choose and several_filters and not any(each.name == "filter" for each in made):
        made.append(
            Argument("filter", tuple(dict.fromkeys(next(iter(each)) for each in found.samples.filters.values())))
        )
    if found.scores is None and not any(each.name in ("score_range", "metric_range") for each in made):
        made += _range(found, made)
    return shlex.join(["bbedge", command, *sources, *(word for argument in made for word in argument.words)])


def _range(found: Survey, made: Sequence[Argument]) -> list[Argument]:
    """The range of the chosen metrics, as far as the values show it, if they pass the usual one."""
    named = {name for each in made if each.name == "metric" and isinstance(each.value, tuple) for name in each.value}
    off = [each for each in found.metrics if each.name in named and each.samples and not each.on_unit_scale]
    if not off:
        return []
    low, high = math.floor(min(each.low for each in off)), math.ceil(max(each.high for each in off))
    return [Argument("score_range", (low, high))] if low < high else []


def _metrics(found: Survey) -> tuple[str, ...]:
    """The fewest metrics that give every task exactly one, as far as that can be done."""
    if len(found.metrics) < 2:
        return ()
    chosen: list[MetricFacts] = []
    open_tasks = {task for metric in found.metrics for task in metric.tasks}
    for metric in sorted(ranked_metrics(found), key=lambda each: (_is_bookkeeping(each), -len(each.tasks))):
        if metric.on_unit_scale and not metric.lower_is_better and open_tasks.issuperset(metric.tasks):
            chosen.append(metric)
            open_tasks.difference_update(metric.tasks)
    if not chosen:  # no metric is on the usual scale: the next answer is about the range of one
        chosen = [metric for metric in ranked_metrics(found) if not metric.lower_is_better][:1]
    return tuple(metric.name for metric in chosen)


def ranked_metrics(found: Survey) -> list[MetricFacts]:
    """The metrics, those first that a leaderboard is most likely about."""
    return sorted(
        found.metrics,
        key=lambda each: (
            each.lower_is_better,
            not each.on_unit_scale,
            _is_bookkeeping(each),
            each.low >= each.high,
        ),
    )


def _is_bookkeeping(metric: MetricFacts) -> bool:
    """Whether a metric counts or times something, and is on the unit scale only by accident: num_prompt_tokens."""
    return _BOOKKEEPING.search(metric.name) is not None
