"""Options that several commands share: declared once, alone or in groups that travel together."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import typer
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, structs

from bbedge.cli.output import spinner
from bbedge.errors import Argument, DomainError
from bbedge.files import read_text
from bbedge.records.codec import record_from_arguments
from bbedge.records.reading import SUITE, Reading

if TYPE_CHECKING:
    from bbedge.core.scores import Scores
    from bbedge.readers.read_scores import Wanted

SCORES_HELP = (
    "Score tables (CSV, JSON, JSONL or Parquet with columns model, item, score and optionally replicate and block), "
    "logs of evaluation tools, folders, patterns with *, or - for a table on standard input. All files are joined."
)
ScoreFiles = Annotated[list[Path], typer.Argument(help=SCORES_HELP, show_default=False)]

# The most arrays of this size that an evidence keeps, as docs/scale.md states it.
_PAIR_ARRAYS = 21


class Without:
    """Says in ``Annotated[Group, Without("field")]`` which options of a group a command does not have."""

    def __init__(self, *names: str) -> None:
        self.names = names


class Only(Without):
    """Says in ``Annotated[Group, Only("field")]`` which options of a group a command has."""


PlainReading = Annotated[Reading, Without(*SUITE, "item_column", "without_metric")]
"""The options of a command that needs scores alone."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every field that is in its groups: records, or arguments.

    Typer reads the signature, so that the options of a group come where the command has the group. What help says of a
    field is its :func:`~bbedge.records.values.option`; a value outside its bounds is refused by the name of the option.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        group = getattr(hint, "__origin__", hint)
        if not is_typeddict(group) and not (isinstance(group, type) and issubclass(group, Struct)):
            parameters.append(parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY))
            continue
        chosen = getattr(hint, "__metadata__", ())
        options = [
            _field_parameter(field)
            for field in structs.fields(_record(group))
            if get_origin(field.type) is Annotated
            and all((field.name in which.names) == isinstance(which, Only) for which in chosen)
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


def _field_parameter(field: structs.FieldInfo) -> Parameter:
    metas = [each for each in field.type.__metadata__ if isinstance(each, Meta)]
    extra = {key: value for meta in metas for key, value in (meta.extra or {}).items()}
    default = None if field.default in ((), UNSET) else field.default
    kind, numbers = _option_type(field.type), _numbers_of(field.type)
    shown_option = typer.Option(
        *extra.get("option", f"--{field.name.replace('_', '-')}").split(),
        parser=numbers,
        metavar=extra.get("metavar"),
        help=metas[-1].description,
        show_default=extra.get("default", default is not None),
        rich_help_panel=extra.get("panel"),
    )
    kind = str | None if numbers else kind
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown_option])


def _numbers_of(kind: Any) -> Callable[[str], tuple[float, ...]] | None:  # noqa: ANN401 - a type
    """What reads the numbers of a field that has any number of them, with commas between; ``None`` for other fields."""
    some = _option_type(kind)
    listed = [each for each in (some, *get_args(some)) if get_origin(each) is list]
    number = get_args(listed[0])[0] if listed else str
    return (lambda text: tuple(map(number, text.split(",")))) if number in (int, float) else None


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


def _record(group: type) -> type[Struct]:
    """A group as a record: for arguments of a function one with the same fields, None where nothing is given."""
    if not is_typeddict(group):
        return group
    hints = get_type_hints(group, include_extras=True)
    return defstruct(group.__name__, [(name, hint, None) for name, hint in hints.items()], kw_only=True)


def _made(group: type, given: dict[str, Any]) -> object:
    """The group with the options that were given, or with their defaults."""
    record = _record(group)
    defaults = {field.name: field.default for field in structs.fields(record) if field.default in ((), UNSET)}
    stated = {name: defaults.get(name) if value is None else value for name, value in given.items()}
    made = record_from_arguments(record, {name: value for name, value in stated.items() if value is not UNSET})
    return made if record is group else structs.asdict(made)


def read(
    files: Sequence[str | Path],
    reading: Reading,
    *,
    gaps: bool = False,
    **wanted: Unpack[Wanted],
) -> Scores:
    """Read the score files of a command, with a spinner; ``gaps`` is whether it can use what lacks scores."""
    from bbedge.readers.read_scores import Wanted, scores_in

    with spinner() as progress:
        scores = scores_in(files, reading, progress=progress, **Wanted(provenance=False) | wanted)
    if not gaps:
        check_complete(scores, reading)
    return scores


def check_complete(scores: Scores, reading: Reading) -> None:
    """Refuse scores of which some are missing, for a command that needs all of them."""
    if scores.gaps != "refuse" or scores.stops is not None:
        raise DomainError(
            Argument("incomplete", reading.incomplete),
            " leaves scores missing, and this command needs all of them; declare with --incomplete zero that a missing "
            "score is a failure, or drop with --incomplete drop-models, drop-items or drop-replicates",
        )


def names_given(texts: Sequence[str]) -> list[str]:
    """The names in an option that may be repeated: separated by commas, or in a @FILE with one on each line."""
    names: list[str] = []
    for text in texts:
        if text.startswith("@"):
            names += [line for line in read_text(Path(text[1:]), encoding="utf-8-sig").splitlines() if line.strip()]
        else:
            names += [name.strip() for name in text.split(",") if name.strip()]
    return names


def check_pairs(reading: Reading, n_models: int) -> None:
    """Raise if the arrays with a number for every pair of models would be too large for one machine's memory."""
    from bbedge.readers.limits import LimitError, Limits, size_words

    most = (Limits() if reading.max_size is None else Limits.of_text(reading.max_size)).pair_bytes
    needed = 8 * _PAIR_ARRAYS * n_models**2
    if needed > most:
        raise LimitError(
            f"{n_models:,} models: arrays with a number for every pair would take up to {size_words(needed)}, more "
            f"than {size_words(most)}; cut the pairs into tiles with bbedge.scale, which docs/scale.md "
            "describes, or allow more with --max-size"
        )


def as_option(argument: Argument) -> str:
    """An argument that a message names, as the option of the command line.

    >>> as_option(Argument("score_range", (0, 10))), as_option(Argument("column", {"item": "my task"}))
    ('--score-range 0 10', "--column 'item=my task'")
    """
    # The folder of the parts of a study, which the command puts into that of its results.
    return shlex.join((Argument("out") if argument.name == "keep" else argument).words)
