"""Columns of tables: usual names of each role, what a cell may hold, and values inside values.

Names are text or numbers, scores are numbers or true and false.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import DataError, Part
from bbedge.readers.logs.fields import digest, number
from bbedge.records.reading import ROLES as ROLES
from bbedge.records.reading import Role as Role
from bbedge.text import quoted

OPTIONAL: frozenset[Role] = frozenset({"replicate", "block"})

FIRST_ALIASES: Mapping[Role, tuple[str, ...]] = {
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
    "score": ("correct", "is_correct", "accuracy"),
}
"""Other usual names of each role; case does not matter."""
LATER_ALIASES: Mapping[Role, tuple[str, ...]] = {
    "model": ("provider_id",),
    "item": ("problem_id", "example_id", "case_id", "test_id", "id", "index", "test"),
    "replicate": (),
    "block": (),
    "score": (
        "value",
        "rating",
        "acc",
        "pass@1",
        "passed",
        "success",
        "is_success",
        "reward",
        "solved",
        "is_solved",
        "resolved",
        "is_resolved",
        "follow_all_instructions",
    ),
}
"""Names that mean the role only where no column has one of the others: many tables have such columns besides."""
ALIASES: Mapping[Role, tuple[str, ...]] = {role: (*FIRST_ALIASES[role], *LATER_ALIASES[role]) for role in ROLES}
"""All usual names of each role."""
Fail = Callable[[int, str], NoReturn]
"""Raises the error for a row, given its position and what is wrong with it."""
_COMMA_NUMBER = re.compile(r"[+-]?[0-9.]*[0-9],[0-9][0-9.,]*(e[+-]?[0-9]+)?", re.IGNORECASE)
# Python does not write integers of more than some thousand digits.
_TOO_LONG = 10**1000
# Longer texts are prompts and answers, not names.
_LONGEST = 200
_VERDICTS: Mapping[str, Mapping[str, bool]] = {
    names: dict.fromkeys([names.split()[0], *right.split()], True)
    | dict.fromkeys([names.split()[2], *wrong.split()], False)
    for names, right, wrong in (
        ("true and false", "", ""),
        ("passed and failed", "pass success succeeded successful", "fail failure"),
        ("correct and incorrect", "", "wrong"),
        ("yes and no", "", ""),
        ("resolved and unresolved", "", ""),
        ("solved and unsolved", "", ""),
        ("c and i", "", ""),
    )
}
"""Words for right and wrong that belong together, by the names of the two; case does not matter."""


def failing(place: Callable[[int], str], first_row: int = 0) -> Fail:
    """Errors about rows, of which ``place`` says where each is; they are counted from ``first_row``."""

    def fail(row: int, problem: str) -> NoReturn:
        raise DataError(f"{place(first_row + row)}: {problem}")

    return fail


def as_number(value: object) -> float | None:
    """A number, or a truth value as one, also where it is text; None for anything else.

    A decimal comma counts as well: this is for looking at a table, not for reading its scores.

    >>> as_number("0.5"), as_number("True"), as_number("0,5"), as_number("half")
    (0.5, 1.0, 0.5, None)
    """
    if not isinstance(value, str):
        found = number(value)
        return None if found is None else float(found)
    text = value.strip().lower()
    if text in ("true", "false"):
        return float(text == "true")
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 else text)
    except ValueError:
        return None


def is_seed(name: str) -> bool:
    """Whether a replicate column holds seeds, which are labels and not a count."""
    return name.strip().casefold().endswith("seed")


def text_problem(value: str) -> str:
    """What to say about a score that is text."""
    if _COMMA_NUMBER.fullmatch(value.strip()):
        return (
            f"score {quoted(value)} is text, because it has a comma in it; write numbers with a decimal point, or save "
            "the table with semicolons between the fields if it is a decimal comma"
        )
    return (
        f"score {quoted(value)} is text; expected a number, or true and false in the whole column (also passed and "
        "failed, correct and incorrect, yes and no, resolved and unresolved, C and I): write the number, and leave the "
        "score empty where the sample failed"
    )


def verdict(value: object) -> bool | None:
    """What a word for right or wrong says; None for anything else.

    >>> verdict("PASS"), verdict(" no "), verdict("timeout")
    (True, False, None)
    """
    word = value.strip().lower() if isinstance(value, str) else ""
    return next((family[word] for family in _VERDICTS.values() if word in family), None)


def values_of(values: pl.Series | Sequence[Any], *, role: str, fail: Fail) -> pl.Series:
    """The names or the scores of a typed column, or of Python values."""
    return scores_of(values, fail=fail) if role == "score" else names_of(values, role=role, fail=fail)


def names_of(column: pl.Series | Sequence[Any], *, role: str, fail: Fail) -> pl.Series:
    """A column of names as text; null where there is none."""
    if not isinstance(column, pl.Series) or column.dtype == pl.Object:
        return names_from_objects(list(column), role=role, fail=fail)
    if column.dtype == pl.String:
        return column
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        fail(0, f"the {role} is of type {column.dtype}; expected text or a number")
    if column.dtype.is_integer() and len(column) and column.min() == column.max() and not column.null_count():
        # A replicate's number is often the same for a million rows, and need not be spelt a million times.
        return column[:1].cast(pl.String).new_from_index(0, len(column))
    text = column.cast(pl.String)
    # pandas turns whole numbers into 1.0 as soon as one value is missing: the same name as 1.
    return text.str.strip_suffix(".0") if column.dtype.is_float() else text


def scores_of(column: pl.Series | Sequence[Any], *, fail: Fail) -> pl.Series:
    """A column of scores as Float64 or Boolean, or as the texts that it has; null where there is none."""
    if not isinstance(column, pl.Series) or column.dtype == pl.Object:
        return scores_from_objects(list(column), fail=fail)
    kind = column.dtype
    if kind in (pl.Float64, pl.Boolean):
        return column
    if kind.is_numeric() or kind == pl.Null:
        return column.cast(pl.Float64)
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        fail(int(column.is_not_null().arg_max() or 0), f"the score is of type {kind}; expected a number or true/false")
    return column.cast(pl.String)


def scores_from_text(column: pl.Series, *, fail: Fail) -> pl.Series:
    """A column of texts as Float64, or as Boolean if all of them are words of one family for right and wrong."""
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() == column.null_count():
        return numbers
    trimmed = column.str.strip_chars()
    numbers = trimmed.cast(pl.Float64, strict=False)
    given, words = trimmed.is_not_null() & (trimmed != ""), trimmed.str.to_lowercase()
    text = given & numbers.is_null()
    unknown = text & ~words.is_in([word for family in _VERDICTS.values() for word in family])
    if unknown.any():
        row = int(unknown.arg_max() or 0)
        fail(row, text_problem(str(column[row])))
    if not text.any():
        return numbers
    row = int(text.arg_max() or 0)
    if int(given.arg_max() or 0) < row:
        fail(row, mixed(str(column[row]), "numbers"))
    kind = next(names for names, family in _VERDICTS.items() if words[row] in family)
    flags = words.replace_strict(_VERDICTS[kind], default=None, return_dtype=pl.Boolean)
    other = given & flags.is_null()
    if other.any():
        row = int(other.arg_max() or 0)
        fail(row, mixed(str(column[row]), kind))
    return flags


def mapped_to_unit(
    column: pl.Series,
    worst: float,
    best: float,
    *,
    place: Callable[[int], str],
    problem: Callable[[float | bool], tuple[Part, ...]],
) -> NDArray[np.float64]:
    """Numbers or truth values on the scale from 0 to 1, NaN where there is none.

    Truth values fit no other range than 0 to 1. A value outside is refused with its ``place`` and its ``problem``.
    """
    low, high = min(worst, best), max(worst, best)
    misfit = column.dtype == pl.Boolean and (low, high) != (0.0, 1.0)
    numbers = column.cast(pl.Float64)
    values = np.array(numbers.to_numpy(), dtype=np.float64)
    # Written so that NaN fails: it is the smallest and the largest of the numbers that it is among.
    if misfit or not (values.min() >= low and values.max() <= high):
        # A null has become NaN here, a NaN in the file was one before: only the first is a missing score.
        bad = (misfit | ~((values >= low) & (values <= high))) & numbers.is_not_null().to_numpy()
        if bad.any():
            row = int(bad.argmax())
            raise DataError(f"{place(row)}: ", *problem(column[row]))
    if (worst, best) != (0.0, 1.0):
        values -= worst
        values /= best - worst
    # Adding zero turns -0.0 into 0.0, so that equal scores are equal bytes.
    values += 0.0
    return values


def mixed(given: str, kind: str) -> str:
    """What to say where numbers and truth values meet in one column."""
    return (
        f"{quoted(given)} in a score column that held {kind} before; write the whole column as numbers or the whole "
        f"column as {kind if ' and ' in kind else 'true and false'}"
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


def may_be_score(value: object) -> bool:
    """Whether a cell is a number, a word for right or wrong, or empty.

    >>> may_be_score("0.5"), may_be_score("PASS"), may_be_score(None), may_be_score("because")
    (True, True, True, False)
    """
    return value in (None, "") or as_number(value) is not None or verdict(value) is not None


def scores_from_objects(values: Sequence[Any], *, fail: Fail) -> pl.Series:
    """Scores from Python values; texts only where all of them are texts, for one reading of these in all tables."""
    scores: list[float | bool | None] = []
    kind: type[bool] | type[float] | None = None
    texts = sum(isinstance(value, str) for value in values)
    if texts and texts == sum(value is not None for value in values):
        return pl.Series("score", values, dtype=pl.String)
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


def without_long_values(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value without long texts and lists: enough to look at it, and small enough to keep many.

    >>> without_long_values({"a": "b" * 300, "c": [1, 2], "d": 0.5})["c"]
    []
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]} {digest(value)}"
    if isinstance(value, Mapping):
        return {key: without_long_values(inner) for key, inner in value.items()}
    return [] if isinstance(value, list) else value


def expression_at(schema: Mapping[str, Any], path: str) -> pl.Expr | None:
    """The column at a path, the field of a structure where there are dots; None if there is none.

    >>> expression_at({"a": pl.Struct({"b": pl.Int64})}, "a.c") is None
    True
    """
    names = _fields_at(schema, path.split("."))
    return None if names is None else reduce(lambda of, name: of.struct.field(name), names[1:], pl.col(names[0]))


def _fields_at(schema: Mapping[str, Any], parts: Sequence[str]) -> list[str] | None:
    """The names of the column and of the fields, one inside the other, that a path leads through."""
    if not parts:
        return []
    for cut in range(len(parts), 0, -1):
        name, rest = ".".join(parts[:cut]), parts[cut:]
        kind = schema.get(name)
        fields = {each.name: each.dtype for each in kind.fields} if isinstance(kind, pl.Struct) else {}
        inner = _fields_at(fields, rest) if name in schema else None
        if inner is not None:
            return [name, *inner]
    return None
