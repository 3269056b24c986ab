"""Options that several commands share: declared once, alone or in groups that travel together."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from bbedge.cli.output import spinner
from bbedge.errors import Argument, DomainError
from bbedge.readers import Choices, LimitError, Limits
from bbedge.readers.limits import size_words
from bbedge.records.codec import record_from_arguments
from bbedge.records.options import Options
from bbedge.records.values import Copies
from bbedge.text import quoted

if TYPE_CHECKING:
    from bbedge.core.scores import JudgedScores, Scores

SCORES_HELP = (
    "Score tables (CSV, JSON, JSONL or Parquet with columns model, item, score and optionally replicate and block), "
    "logs of evaluation tools, folders, patterns with *, or - for a table on standard input. All files are joined."
)
ScoreFiles = Annotated[list[Path], typer.Argument(help=SCORES_HELP, show_default=False)]

# Options whose name is not that of the argument; those for several values are repeated.
_NAMES = {
    "columns": "column",
    "metrics": "metric",
    "filters": "filter",
    "model_names": "model-name",
    "keep": "out",
    "item_columns": "item-column",
    "metric_ranges": "metric-range",
    "without_metrics": "without-metric",
    "skip": "skip",
    "drop_columns": "drop-column",
}
_LOGS = "Options for logs"
_ROLES = ("model", "item", "replicate", "block", "score")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
# The most arrays of this size that an evidence keeps, as docs/scale.md states it.
_PAIR_ARRAYS = 21


class Without:
    """Says in ``Annotated[Group, Without("field")]`` which options of a group a command does not have."""

    def __init__(self, *names: str) -> None:
        self.names = names


class Only(Without):
    """Says in ``Annotated[Group, Only("field")]`` which options of a group a command has."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every field of its parameters that are groups, which are records.

    Typer reads the signature, so that the options of a group come where the command has the group. What help says of a
    field is its :func:`~bbedge.records.values.option`; a value outside its bounds is refused by the name of the option.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        group = getattr(hint, "__origin__", hint)
        if not (isinstance(group, type) and (is_dataclass(group) or issubclass(group, Struct))):
            parameters.append(parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY))
            continue
        chosen = getattr(hint, "__metadata__", ())
        options = [
            each
            for each in _group_parameters(group)
            if all((each.name in which.names) == isinstance(which, Only) for which in chosen)
        ]
        groups[parameter.name] = group, [each.name for each in options]
        parameters += options

    def run(**given: Any) -> None:  # noqa: ANN401 - as many types as options
        made = {name: _made(group, {key: given.pop(key) for key in keys}) for name, (group, keys) in groups.items()}
        command(**given, **made)

    update_wrapper(run, command)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = Signature(parameters)
    return run


def option_help(group: type[Struct], name: str) -> str | None:
    """What help says of a field, for a command that has it with another meaning of its absence."""
    (field,) = (each for each in structs.fields(group) if each.name == name)
    metas: list[Meta] = [each for each in field.type.__metadata__ if isinstance(each, Meta)]
    return metas[-1].description


CopiesRule = Annotated[Copies | None, typer.Option(help=option_help(Options, "copies"), show_default="refuse")]


def _group_parameters(group: Any) -> list[Parameter]:  # noqa: ANN401 - the class of a record or a dataclass
    """The parameters that Typer makes options from, one for each field of a group."""
    if issubclass(group, Struct):
        return [_field_parameter(field) for field in structs.fields(group)]
    types = get_type_hints(group, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name])
        for field in fields(group)
    ]


def _field_parameter(field: structs.FieldInfo) -> Parameter:
    metas = [each for each in field.type.__metadata__ if isinstance(each, Meta)]
    extra = {key: value for meta in metas for key, value in (meta.extra or {}).items()}
    default = None if field.default in ((), UNSET) else field.default
    kind = _option_type(field.type)
    told = typer.Option(
        *extra.get("option", f"--{field.name.replace('_', '-')}").split(),
        metavar=extra.get("metavar"),
        help=metas[-1].description,
        show_default=extra.get("default", default is not None),
        rich_help_panel=extra.get("panel"),
    )
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def _option_type(kind: Any) -> Any:  # noqa: ANN401 - a type, or what typing has for one
    """The type of a field as Typer knows it: without bounds, and with a list where an option may be repeated."""
    inner, made_from = get_args(kind), get_origin(kind)
    if made_from is Annotated:
        return _option_type(inner[0])
    if made_from in (Union, UnionType):
        (some,) = (each for each in inner if each not in (NoneType, UnsetType))
        return _option_type(some) | None
    if made_from is tuple and inner[1:] == (...,):
        return GenericAlias(list, (_option_type(inner[0]),)) | None
    if made_from is tuple:
        return GenericAlias(tuple, tuple(map(_option_type, inner)))
    return kind


def _made(group: type, given: dict[str, Any]) -> Any:  # noqa: ANN401 - a group
    """The group with the options that were given, or with their defaults."""
    if not issubclass(group, Struct):
        return group(**given)
    fields = {field.name: field for field in structs.fields(group)}
    defaults = {name: field.default for name, field in fields.items() if field.default in ((), UNSET)}
    stated = {name: defaults.get(name) if value is None else value for name, value in given.items()}
    return record_from_arguments(group, {name: value for name, value in stated.items() if value is not UNSET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read score files."""

    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|item|one",
            help="Which items may depend on each other. COLUMN: items with the same value in this column, or in this "
            "field of a log, such as metadata.dialogue_id; item: none; one: all. Default: the block column if there is "
            "one, else item.",
            show_default=False,
        ),
    ] = None
    score_range: Annotated[
        tuple[float, float], typer.Option(metavar="LO HI", help="Lowest and highest possible score, for instance 0 10.")
    ] = (0.0, 1.0)
    incomplete: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help="What to do about missing scores. worst-case: each counts against whichever model it could help, "
            "whatever made it missing. stopped: a model that lacks all later replicates was stopped. zero: a missing "
            "score is a failure. drop-models, drop-items, drop-replicates change what is measured. Combine as "
            "stopped,worst-case, or by kind of error (refusal, infrastructure, judge, unknown) as "
            "infrastructure=worst-case,refusal=zero. Decide before you see scores.",
        ),
    ] = "refuse"
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME",
            help="The column that holds model, item, replicate, block or score: score=passed, a nested field such as "
            "score=evaluation.score, or several columns as one name such as item=question_id+turn. May be repeated.",
            show_default=False,
        ),
    ] = None
    drop_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A column of a wide table that is neither an item nor a model, such as a mean. May be repeated.",
            show_default=False,
        ),
    ] = None
    skip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Leave out files whose path, its end, or a folder in it fits PATTERN, such as old/* or summary.csv. "
            "The certificate states it. May be repeated.",
            show_default=False,
        ),
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="KIND",
            help="Format of all files: lm-eval, inspect or another tool, table or wide; an unknown name lists all. "
            "Default: detect it.",
            show_default=False,
            rich_help_panel=_LOGS,
        ),
    ] = None
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The metric to use as the score, of logs and of tables with a column metric. May be repeated if tasks "
            "have different metrics.",
            show_default=False,
            rich_help_panel=_LOGS,
        ),
    ] = None
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="NAME",
            help="The filter whose scores to use, if a log has several filters. May be repeated.",
            show_default=False,
            rich_help_panel=_LOGS,
        ),
    ] = None
    model_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PATTERN=]NAME",
            help="Name of the model in all logs, or in logs whose path or model name matches PATTERN. May be repeated.",
            show_default=False,
            rich_help_panel=_LOGS,
        ),
    ] = None
    replicate_from: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="What identifies the replicate of a file: file, folder or path:REGEX; of a log also seed, or a field "
            "such as metadata.run. Default: the replicate column; of logs, number a model's runs by time.",
            show_default=False,
        ),
    ] = None
    model_from: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="What names the model of a file: file, folder or path:REGEX; of a log also a field of its header such "
            "as task_args.prompt. Default: the model column, or what the log says.",
            show_default=False,
        ),
    ] = None
    merge_names: Annotated[
        bool,
        typer.Option(
            "--merge-names",
            help="Read models whose names differ only by case, surrounding spaces, hyphens or look-alike characters as "
            "one model.",
        ),
    ] = False
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Raise the limits on lines, names, unpacked files and arrays of pairs to this size: 500M, 8G. "
            "docs/formats.md lists the limits.",
            show_default=False,
        ),
    ] = None

    def table(
        self,
        files: Sequence[Path],
        *,
        least_models: int = 2,
        identify: bool = False,
        gaps: bool = False,
        choices: Choices | None = None,
        item_columns: Sequence[str] = (),
        items: Path | None = None,
        provenance: bool = False,
    ) -> Scores:
        """Read the score files of a command, with a spinner; ``gaps`` is whether it can use what lacks scores."""
        from bbedge.readers import read_scores

        with spinner() as progress:
            scores = read_scores(
                *files,
                blocks=self.blocks,
                score_range=self.score_range,
                columns=self.columns,
                incomplete=self.incomplete,
                choices=choices or self.choices,
                least_models=least_models,
                identify=identify,
                provenance=provenance,
                progress=progress,
                limits=self.limits,
                item_columns=item_columns,
                items=items,
            )
        if not gaps:
            self._check_complete(scores)
        return scores

    def judgements(self, files: Sequence[Path], column: str) -> JudgedScores:
        """Read the score files of a command in which every answer was judged several times, with a spinner."""
        from bbedge.readers import read_judgements

        with spinner() as progress:
            judged = read_judgements(
                *files,
                judgement=column,
                blocks=self.blocks,
                score_range=self.score_range,
                columns=self.columns,
                incomplete=self.incomplete,
                choices=self.choices,
                least_models=1,
                progress=progress,
                limits=self.limits,
            )
        self._check_complete(judged.scores)
        return judged

    def _check_complete(self, scores: Scores) -> None:
        if scores.gaps != "refuse" or scores.stops is not None:
            raise DomainError(
                f"--incomplete {self.incomplete} leaves scores missing, and this command needs all of them; declare "
                "with --incomplete zero that a missing score is a failure, or drop with --incomplete drop-models, "
                "drop-items or drop-replicates"
            )

    @property
    def choices(self) -> Choices:
        """What the options for logs choose."""
        return Choices(
            format=self.kind,
            metrics=tuple(self.metric or ()),
            filters=tuple(self.filter_ or ()),
            model_names=tuple(self.model_name or ()),
            replicate_from=self.replicate_from,
            model_from=self.model_from,
            skip=tuple(self.skip or ()),
            drop_columns=tuple(self.drop_column or ()),
            merge_names=self.merge_names,
        )

    @property
    def columns(self) -> dict[str, str]:
        """The columns of roles, from texts such as item=question_id."""
        columns = {}
        for text in self.column or ():
            role, equals, name = text.partition("=")
            if not equals or not name or role not in _ROLES:
                raise DomainError(f"--column {quoted(text)} is not ROLE=NAME with ROLE one of {', '.join(_ROLES)}")
            columns[role] = name
        return columns

    @property
    def limits(self) -> Limits | None:
        """The limits for a size such as 8G; None if none was given.

        >>> Reading(max_size="1.5k").limits.line_bytes, Reading(max_size="2GiB").limits.unpacked_bytes
        (67108864, 2147483648)
        """
        if self.max_size is None:
            return None
        size = _SIZE.fullmatch(self.max_size.strip())
        if size is None:
            raise DomainError(
                f"--max-size {quoted(self.max_size)} is not a size; write a number and K, M, G or T, such as 8G"
            )
        return Limits.up_to(int(float(size[1]) * 1024 ** " KMGT".index((size[2] or " ").upper())))

    def check_pairs(self, n_models: int) -> None:
        """Raise if the arrays with a number for every pair of models would be too large for one machine's memory."""
        most = (self.limits or Limits()).pair_bytes
        needed = 8 * _PAIR_ARRAYS * n_models**2
        if needed > most:
            raise LimitError(
                f"{n_models:,} models: arrays with a number for every pair would take up to {size_words(needed)}, more "
                f"than {size_words(most)}; cut the pairs into tiles with bbedge.scale, which docs/scale.md "
                "describes, or allow more with --max-size"
            )

    def words(self) -> list[str]:
        """The options of this call, for the next command."""
        words: list[str] = []
        for option, values in (
            ("--format", [self.kind]),
            ("--metric", self.metric or []),
            ("--filter", self.filter_ or []),
            ("--model-name", self.model_name or []),
            ("--replicate-from", [self.replicate_from]),
            ("--model-from", [self.model_from]),
            ("--blocks", [self.blocks]),
            ("--column", self.column or []),
            ("--drop-column", self.drop_column or []),
            ("--skip", self.skip or []),
            ("--max-size", [self.max_size]),
        ):
            words += [part for value in values if value for part in (option, value)]
        if self.score_range != (0.0, 1.0):
            words += ["--score-range", *(f"{end:g}" for end in self.score_range)]
        return [*words, "--merge-names"] if self.merge_names else words


def as_option(argument: Argument) -> str:
    """An argument that a message names, as the option of the command line.

    >>> as_option(Argument("score_range", (0, 10))), as_option(Argument("columns", {"item": "task"}))
    ('--score-range 0 10', '--column item=task')
    >>> as_option(Argument("metric_ranges", {"wer": (1.0, 0.0)}))
    '--metric-range wer=1:0'
    """
    return shlex.join(option_words(argument))


def option_words(argument: Argument) -> list[str]:
    """The words of an option, each of which may have to be quoted for a shell.

    >>> option_words(Argument("columns", {"item": "my task"}))
    ['--column', 'item=my task']
    """
    name, value = argument.name, argument.value
    if name == "limits":
        return ["--max-size", "SIZE"]
    if name == "choices" and isinstance(value, tuple):
        return [word for each in value for word in option_words(each)]
    option = f"--{_NAMES.get(name, name).replace('_', '-')}"
    if value is None or value is True:
        return [option]
    if isinstance(value, Mapping):
        value = tuple(f"{role}={_range_words(column)}" for role, column in value.items())
    values = [_word(each) for each in value] if isinstance(value, tuple) else [_word(value)]
    return [word for each in values for word in (option, each)] if name in _NAMES else [option, *values]


def _range_words(value: object) -> str:
    """A range as the command line writes it, WORST:BEST; anything else as it is."""
    return ":".join(map(_word, value)) if isinstance(value, tuple) else str(value)


def _word(value: object) -> str:
    """A value as people write it: 2 for 2.0."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
