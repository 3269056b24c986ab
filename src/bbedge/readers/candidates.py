"""Whether a table that was found in a folder looks like scores, and choices with which files could be read.

A table that looks like scores is read or refused by its name: a model that disappears changes the leaderboard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from bbedge.errors import Argument, BbedgeError
from bbedge.readers.assemble.grid import grouped
from bbedge.readers.choices import OpenChoiceError, name_in_path, name_origin
from bbedge.readers.limits import LimitError
from bbedge.readers.tables import Table
from bbedge.readers.tables.columns import ALIASES, FIRST_ALIASES, OPTIONAL, ROLES, Role
from bbedge.readers.tables.roles import ColumnError, chosen_columns
from bbedge.readers.tables.wide import as_wide
from bbedge.readers.tables.wrappers import as_number, rows_of, with_chosen
from bbedge.records.reading import Reading

# Names that columns of other tables have as well, such as lists of tasks: alone they do not make a table of scores.
_WEAK_ITEMS = frozenset({"id", "index", "test", "task", "prompt", "question"})
_NO_SCORES = frozenset(
    {"time", "latency", "duration", "cost", "token", "length", "timestamp", "date", "count", "size", "index"}
)
# Every choice means that the files are read once more.
_MOST = 8
# Names of files that say what is in them, not whose it is.
_USUAL = re.compile(r"^(results?|scores?|outputs?|predictions?|data|samples?)\b|_results$", re.IGNORECASE)


def looks_like_scores(table: Table, reading: Reading, *, by_name: bool = False) -> bool:
    """Whether a table may be one of scores, also where its columns do not say which is which.

    ``by_name`` asks for usual names of columns instead.
    """
    chosen = chosen_columns(reading)
    table = with_chosen(table, chosen)
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
        models = [str(row.get(column)) for row in rows_of(table)]
        return len(models) > len(set(models))
    strong = bool(names & ({"item", *ALIASES["item"]} - _WEAK_ITEMS))
    return (has["model"] or strong) and has["item"] and bool(score_columns(table))


def with_score_proposal(error: ColumnError, table: Table, chosen: Mapping[Role, str]) -> ColumnError:
    """The error about a column, with a proposal where a column could be the score or the item."""
    if error.proposal or error.role not in ("score", "item") or error.role in chosen:
        return error
    columns = score_columns(table) if error.role == "score" else _item_columns(table)
    if columns:
        error.proposal = (Argument("column", {error.role: columns[0]}),)
    return error


def score_columns(table: Table) -> list[str]:
    """Columns and nested fields that have no usual name, and only numbers or truth values in the first rows.

    Those in [0, 1] come first: they are scores more often than counts, times and costs are.
    """
    usual = {name for role in ROLES if role != "score" for name in (role, *ALIASES[role])}
    found: list[tuple[bool, str]] = []
    for name, of_name in grouped(leaf for row in rows_of(table) for leaf in _leaves(row)).items():
        plain = name.strip().casefold()
        words = {word.removesuffix("s") for word in re.split(r"[^a-z0-9]+", plain)}
        if not plain or plain in usual or words & _NO_SCORES:
            continue
        numbers = [as_number(value) for value in of_name if value is not None and value != ""]
        if numbers and None not in numbers:
            on_scale = all(each is not None and 0 <= each <= 1 for each in numbers)
            found.append((not on_scale, name))
    return [name for _, name in sorted(found, key=lambda each: each[0])]


def _item_columns(table: Table) -> list[str]:
    """Columns that could name the item: with many different texts or whole numbers, identifiers first."""
    rows = rows_of(table)
    taken = {name for role in ("model", "score", *OPTIONAL) for name in (role, *FIRST_ALIASES[role])}
    found = []
    for name in table.columns():
        values, plain = [row.get(name) for row in rows], name.strip().casefold()
        if plain and plain not in taken and all(isinstance(each, str | int) for each in values):
            found.append((not name.casefold().endswith("id"), -len(set(values)), name))
    return [name for _, _, name in sorted(found)]


def _leaves(row: Mapping[str, Any], prefix: str = "", depth: int = 0) -> list[tuple[str, Any]]:
    """The values of a row with their paths, also those of objects in it."""
    leaves: list[tuple[str, Any]] = []
    for name, value in row.items():
        if isinstance(value, Mapping) and depth < 4:
            leaves += _leaves(value, f"{prefix}{name}.", depth + 1)
        else:
            leaves.append((f"{prefix}{name}", value))
    return leaves


def proposed(
    error: BbedgeError, read: Callable[[Reading], object], reading: Reading, paths: Sequence[str]
) -> tuple[tuple[Argument, ...], BbedgeError | None]:
    """The choices that an error proposes, those that are proposed once they are made, and the error that is left.

    ``read`` reads the files, which have these paths, with other options.
    """
    made: list[Argument] = []
    while isinstance(error, OpenChoiceError) and error.proposal and len(made) < _MOST:
        for argument in error.proposal:
            one = _of_paths(argument, reading, paths)
            if one in made:
                return tuple(made), error
            made.append(one)
            reading = reading.with_argument(one)
        try:
            read(reading)
        except LimitError:
            raise
        except BbedgeError as next_error:
            error = next_error
        else:
            return tuple(made), None
    return tuple(made), error


def _of_paths(argument: Argument, reading: Reading, paths: Sequence[str]) -> Argument:
    """The argument; the model from the folder where files have the same name, or one that all tools give."""
    if argument != Argument("model_from", "file"):
        return argument
    names, folders = (
        {name_in_path(structs.replace(reading, model_from=where), path, "model") for path in paths}
        for where in ("file", "folder")
    )
    usual = any(name is not None and _USUAL.search(name) for name in names)
    same = len(names) < len(paths) and len(folders) > len(names)
    return Argument("model_from", "folder") if same or (usual and len(folders) == len(paths)) else argument
