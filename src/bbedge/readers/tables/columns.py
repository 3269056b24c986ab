"""Columns of tables: which plays which role, and what a cell may hold.

Names are text or numbers, scores are numbers or true and false.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal, NoReturn, get_args

import numpy as np
import polars as pl

from bbedge.errors import Argument, Blank, DomainError, FormatError, Part
from bbedge.readers.choices import Choice
from bbedge.text import listed, quoted, shown

Role = Literal["model", "item", "replicate", "block", "score"]

ROLES: tuple[Role, ...] = get_args(Role)
OPTIONAL: frozenset[Role] = frozenset({"replicate", "block"})

ALIASES: Mapping[Role, tuple[str, ...]] = {
    "model": ("model_name", "model_id", "system", "llm"),
    "item": (
        "item_id",
        "task",
        "task_id",
        "question",
        "question_id",
        "prompt",
        "prompt_id",
        "sample_id",
        "instance_id",
        "doc_id",
    ),
    "replicate": ("run", "seed", "trial", "epoch", "rep", "repeat"),
    "block": ("block_id", "dialogue", "dialogue_id", "dialog", "group", "cluster"),
    "score": ("correct", "is_correct", "accuracy", "value", "rating"),
}
"""Other usual names of each role; case does not matter."""
Fail = Callable[[int, str], NoReturn]
"""Raises the error for a row, given its position and what is wrong with it."""
# Python does not write integers of more than some thousand digits.
_TOO_LONG = 10**1000


def chosen_columns(columns: Mapping[str, str] | None, blocks: str | None) -> dict[Role, str]:
    """The columns that the caller named, checked for roles that do not exist and for contradictions."""
    chosen: dict[Role, str] = {}
    for key, name in (columns or {}).items():
        if key not in ROLES:
            raise DomainError(
                f"no role {quoted(key)} for a column; the roles are {', '.join(ROLES)}: pass ",
                Argument("columns", {Blank("ROLE"): Blank("NAME")}),
                ", for instance ",
                Argument("columns", {"item": "question"}),
            )
        chosen[key] = name
    if blocks == "item" or blocks == "one":
        chosen.pop("block", None)
    elif blocks is not None:
        if chosen.get("block", blocks) != blocks:
            raise DomainError(
                f"blocks from column {quoted(blocks)} and from column {quoted(chosen['block'])}; pass ",
                Argument("blocks"),
                " or ",
                Argument("columns", {"block": Blank("NAME")}),
                ", not both",
            )
        chosen["block"] = blocks
    roles: dict[str, Role] = {}
    for role, name in chosen.items():
        # An item column may well also be the block; any other column with two roles is a mistake.
        if name in roles and {role, roles[name]} != {"item", "block"}:
            raise DomainError(f"column {quoted(name)} is named for both {roles[name]} and {role}; name two columns")
        roles[name] = role
    return chosen


def find_roles(
    found: Sequence[str],
    *,
    table: str,
    chosen: Mapping[Role, str],
    blocks: str | None = None,
    described: Collection[str] = (),
) -> dict[Role, str]:
    """The column of every role in a table with these columns; optional roles can be absent.

    ``described`` are columns that describe the items: where several could have a role, they are not meant.

    >>> find_roles(["Model", "task_id", "score"], table="a.csv", chosen={})
    {'model': 'Model', 'item': 'task_id', 'score': 'score'}
    """
    repeated = [name for name in repeated_names(found) if name.strip()]
    if repeated:
        raise FormatError(f"{table}: column {listed(repeated)} appears more than once; rename or remove one of them")
    roles: dict[Role, str] = {}
    for role in ROLES:
        if role == "block" and (blocks == "item" or blocks == "one"):
            continue
        if role in chosen:
            if chosen[role] not in found:
                wrong = shown(chosen[role])
                raise FormatError(
                    f"{table}: no column {quoted(chosen[role])} for the {role}; the columns are "
                    f"{listed(found, limit=20)}: correct ",
                    Argument("blocks", wrong) if blocks else Argument("columns", {role: wrong}),
                )
            roles[role] = chosen[role]
            continue
        name = _by_name(found, role, table=table, taken=set(chosen.values()), described=described)
        if name is not None:
            roles[role] = name
        elif role not in OPTIONAL:
            raise FormatError(
                f"{table}: no column for the {role}; "
                f"the columns are {listed(found, limit=20)}{_separator_hint(found)}; "
                f"expected one named {role} (or {', '.join(ALIASES[role])}), case ignored: "
                "rename it or pass ",
                Argument("columns", {role: Blank("NAME")}),
                *_wide_hint(role, found),
            )
    return roles


def repeated_names(names: Sequence[str]) -> list[str]:
    """The names that come more than once, sorted. A table can have a hundred thousand columns."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _by_name(
    found: Sequence[str], role: Role, *, table: str, taken: set[str], described: Collection[str]
) -> str | None:
    if role in found and role not in taken:
        return role
    free = [name for name in found if name not in taken]
    canonical = [name for name in free if name.strip().casefold() == role]
    matching = canonical or [name for name in free if name.strip().casefold() in ALIASES[role]]
    matching = [name for name in matching if name not in described] or matching
    if len(matching) > 1:
        raise FormatError(
            f"{table}: columns {listed(matching)} could each be the {role}; pass ",
            Argument("columns", {role: Blank("NAME")}),
            ", for instance ",
            Argument("columns", {role: shown(matching[0])}),
        )
    return matching[0] if matching else None


def _separator_hint(found: Sequence[str]) -> str:
    if len(found) == 1:
        for separator, title in ((";", "a semicolon"), ("\t", "a tab"), ("|", "a bar")):
            if separator in found[0]:
                return f" (the separator seems to be {title}; .csv needs commas and .tsv tabs)"
        if "," in found[0]:
            return " (the separator seems to be a comma; name the file .csv)"
    return ""


def _wide_hint(role: Role, found: Sequence[str]) -> tuple[Part, ...]:
    if role == "score" or len(found) < 3:
        return ()
    return "; or ", Choice("format", "wide"), f" if there is a column for every {role}"


def is_seed(name: str) -> bool:
    """Whether a replicate column holds seeds, which are labels and not a count."""
    return name.strip().casefold().endswith("seed")


def text_problem(value: str) -> str:
    """What to say about a score that is text."""
    return (
        f"score {quoted(value)} is text; expected a number, or true and false in the whole column: "
        "write the number, and leave the score empty where the sample failed"
    )


def names_of(column: pl.Series, *, role: str, fail: Fail) -> pl.Series:
    """A column of names as text; null where there is none."""
    if column.dtype == pl.String:
        return column
    if column.dtype == pl.Object:
        return names_from_objects(column.to_list(), role=role, fail=fail)
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        fail(0, f"the {role} is of type {column.dtype}; expected text or a number")
    if column.dtype.is_integer() and len(column) and column.min() == column.max() and not column.null_count():
        # A replicate's number is often the same for a million rows, and need not be spelt a million times.
        return column[:1].cast(pl.String).new_from_index(0, len(column))
    text = column.cast(pl.String)
    # pandas turns whole numbers into 1.0 as soon as one value is missing: the same name as 1.
    return text.str.strip_suffix(".0") if column.dtype.is_float() else text


def scores_of(column: pl.Series, *, fail: Fail) -> pl.Series:
    """A column of scores that are not text, as Float64 or Boolean; null where there is none."""
    kind = column.dtype
    if kind in (pl.Float64, pl.Boolean):
        return column
    if kind == pl.Object:
        return scores_from_objects(column.to_list(), fail=fail)
    if kind.is_numeric() or kind == pl.Null:
        return column.cast(pl.Float64)
    first = int(column.is_not_null().arg_max() or 0)
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        fail(first, f"the score is of type {kind}; expected a number or true/false")
    if column.null_count() < len(column):
        fail(first, text_problem(str(column[first])))
    return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)


def scores_from_text(column: pl.Series, *, fail: Fail) -> pl.Series:
    """A column of texts as Float64, or as Boolean if all of them are true or false."""
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() == column.null_count():
        return numbers
    trimmed = column.str.strip_chars()
    numbers = trimmed.cast(pl.Float64, strict=False)
    flags = trimmed.str.to_lowercase().replace_strict(
        {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
    )
    given = trimmed.is_not_null() & (trimmed != "")
    text = given & numbers.is_null() & flags.is_null()
    if text.any():
        row = int(text.arg_max() or 0)
        fail(row, text_problem(str(column[row])))
    if not flags.is_not_null().any():
        return numbers
    if numbers.is_not_null().any():
        first = int(given.arg_max() or 0)
        other = flags if numbers[first] is not None else numbers
        row = int(other.is_not_null().arg_max() or 0)
        fail(row, mixed(str(column[row]), "numbers" if other is flags else "true and false"))
    return flags


def mixed(given: str, kind: str) -> str:
    """What to say where numbers and truth values meet in one column."""
    return (
        f"{quoted(given)} in a score column that held {kind} before; write the whole column as numbers or the whole "
        "column as true and false"
    )


def names_from_objects(values: Sequence[Any], *, role: str, fail: Fail) -> pl.Series:
    """Names from Python values."""
    names: list[str | None] = []
    for row, value in enumerate(values):
        if value is None:
            names.append(None)
        elif isinstance(value, str):
            if any("\ud800" <= character <= "\udfff" for character in value):
                fail(row, f"the {role} {quoted(value)} holds an unpaired surrogate; write valid Unicode")
            names.append(str(value))
        elif isinstance(value, bool | np.bool_):
            names.append(str(bool(value)).lower())
        elif isinstance(value, Integral):
            if abs(int(value)) >= _TOO_LONG:
                fail(row, f"the {role} is a number of very many digits; write it as text")
            names.append(str(int(value)))
        elif isinstance(value, Real):
            names.append(str(float(value)).removesuffix(".0"))
        else:
            fail(row, f"the {role} is a {type(value).__name__}: {quoted(repr(value))}; expected text or a number")
    return pl.Series(role, names, dtype=pl.String)


def scores_from_objects(values: Sequence[Any], *, fail: Fail) -> pl.Series:
    """Scores from Python values."""
    scores: list[float | bool | None] = []
    kind: type[bool] | type[float] | None = None
    for row, value in enumerate(values):
        if value is None:
            scores.append(None)
            continue
        if isinstance(value, str):
            fail(row, text_problem(value))
        if not isinstance(value, Real | Decimal | np.bool_):
            fail(row, f"the score is a {type(value).__name__}: {quoted(repr(value))}; expected one number")
        this = bool if isinstance(value, bool | np.bool_) else float
        kind = kind or this
        if this is not kind:
            fail(row, mixed(str(value).lower(), "numbers" if kind is float else "true and false"))
        scores.append(this(value) if this is bool else _as_float(value))
    return pl.Series("score", scores, dtype=pl.Boolean if kind is bool else pl.Float64)


def _as_float(value: Any) -> float:  # noqa: ANN401 - any kind of real number
    try:
        return float(value)
    except OverflowError:
        return math.inf
