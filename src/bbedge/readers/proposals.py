"""Choices with which files could be read: found by making the ones that each refusal proposes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bbedge.errors import Argument, BbedgeError
from bbedge.readers.choices import Choice, Choices, OpenChoiceError
from bbedge.readers.limits import LimitError

# Every choice means that the files are read once more.
_MOST = 8
# Names of files that say what is in them, not whose it is.
_USUAL = re.compile(r"^(results?|scores?|outputs?|predictions?|data|samples?)\b|_results$", re.IGNORECASE)


def proposed(
    error: BbedgeError,
    read: Callable[[Choices, Mapping[str, str] | None], object],
    choices: Choices,
    columns: Mapping[str, str] | None,
    paths: Sequence[str],
) -> tuple[tuple[Argument, ...], BbedgeError | None]:
    """The choices that an error proposes, those that are proposed once they are made, and the error that is left.

    ``read`` reads the files, which have these paths, with other choices and columns.
    """
    made: list[Argument] = []
    while isinstance(error, OpenChoiceError) and error.proposal and len(made) < _MOST:
        for argument in error.proposal:
            one = _of_paths(argument, choices, paths)
            if one in made:
                return tuple(made), error
            made.append(one)
            choices, columns = _with(one, choices, columns)
        try:
            read(choices, columns)
        except LimitError:
            raise
        except BbedgeError as next_error:
            error = next_error
        else:
            return tuple(made), None
    return tuple(made), error


def _of_paths(argument: Argument, choices: Choices, paths: Sequence[str]) -> Argument:
    """The argument; the model from the folder where files have the same name, or one that all tools give."""
    if argument != Choice("model_from", "file"):
        return argument
    names = {replace(choices, model_from="file").model_in_path(path) for path in paths}
    folders = {replace(choices, model_from="folder").model_in_path(path) for path in paths}
    usual = any(name is not None and _USUAL.search(name) for name in names)
    same = len(names) < len(paths) and len(folders) > len(names)
    return Choice("model_from", "folder") if same or (usual and len(folders) == len(paths)) else argument


def _with(
    argument: Argument, choices: Choices, columns: Mapping[str, str] | None
) -> tuple[Choices, Mapping[str, str] | None]:
    """The choices and columns with one more."""
    value: Any = argument.value
    if argument.name == "columns" and isinstance(value, Mapping):
        return choices, {**(columns or {}), **value}
    if isinstance(value, tuple):
        value = (*getattr(choices, argument.name), *value)
    return replace(choices, **{argument.name: value}), columns
