"""Runs of different models are compared within a replicate: tables in which none has two models, and what paths show.

A policy for missing scores would make a number of such a table that compares each model with nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from bbedge.core.notes import Note
from bbedge.errors import Blank, FormatError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.gaps import Gaps
from bbedge.readers.assemble.settling import Outline
from bbedge.readers.choices import Choice, OpenChoiceError
from bbedge.readers.logs.table import LogTable
from bbedge.readers.path_patterns import PathPattern, path_pattern
from bbedge.readers.tables.roles import ColumnError
from bbedge.readers.tables.telling import path_of
from bbedge.text import quoted

# Two runs of each of two models.
_FEWEST = 4


class UnpairedRunsError(OpenChoiceError):
    """No replicate has runs of two models."""


def check_paired(coder: Coder, gaps: Gaps, sources: str) -> None:
    """Raise if no replicate has runs of two models."""
    outline = Outline.of(gaps)
    replicates, models, _ = gaps.shape
    if outline is None or min(replicates, models) < 2 or (outline.made.sum(axis=1) > 1).any():
        return
    found = int(outline.made.any(axis=1).argmax())
    label, model = gaps.names[0][found], gaps.names[1][int(outline.made[found].argmax())]
    said = (
        f"{sources}: no replicate has runs of two models, so that there is nothing to compare: replicate "
        f"{quoted(label)}, for example, has runs of {quoted(model)} only. A replicate is one run of every model"
    )
    pattern = paired_by_paths(coder)
    if pattern is None:
        raise UnpairedRunsError(
            f"{said}. Number the runs of every model in the same way, in a column named replicate; or, where paths "
            "name them, pass ",
            Choice("replicate_from", Blank("path:REGEX")),
            " with the part of the path that is the same for all models in parentheses (and ",
            Choice("model_from", Blank("path:REGEX")),
            " with the part that names the model)",
        )
    raise UnpairedRunsError.proposing(pattern.choices, f"{said}. The paths name the runs: pass ", pattern.argument)


def with_runs(error: FormatError, paths: Sequence[str]) -> FormatError:
    """The error; one about a model that no column names with what the paths show, where each file is one run."""
    of_file = Choice("model_from", "file")
    pattern = path_pattern(paths) if isinstance(error, ColumnError) and of_file in error.args else None
    if pattern is None:
        return error
    at = error.args.index(of_file)
    runs = pattern.argument, " if every file is one run of one model, as the paths show"
    return ColumnError.about("model", pattern.choices, *error.args[:at], *runs, *error.args[at + 2 :])


def path_notes(coder: Coder) -> Iterator[Note]:
    """What paths show where each file was read as a model of its own."""
    if len({id(chunk.table) for chunk in coder.chunks}) < _FEWEST:
        return
    models = model_of_files(coder)
    if models is None or len(set(models.values())) < len(models):
        return
    pattern = path_pattern(list(models))
    if pattern is not None:
        yield Note(
            kind="files",
            subject=tuple(models),
            text=f"Each of the {len(models)} files was read as a model of its own, but their paths look like several "
            f"runs of each model. To read them so, pass --model-from {shlex.quote(pattern.model_from or '')} "
            f"--replicate-from {shlex.quote(pattern.replicate_from)}.",
        )


def paired_by_paths(coder: Coder) -> PathPattern | None:
    """What the paths show where every file has one model: what names the run, and the model if the files do not."""
    models = model_of_files(coder)
    if models is None:
        return None
    return path_pattern(list(models), list(models.values())) or path_pattern(list(models))


def model_of_files(coder: Coder) -> dict[str, str] | None:
    """The model of every file; None if a file has several, or something else is read than files."""
    names = coder.names("model")
    found: dict[str, set[int]] = {}
    for chunk in coder.chunks:
        path = chunk.table.path if isinstance(chunk.table, LogTable) else path_of(chunk.table)
        found.setdefault(path, set()).update(np.flatnonzero(np.bincount(chunk.codes("model"))).tolist())
    if "" in found or any(len(codes) > 1 for codes in found.values()):
        return None
    return {path: names[codes.pop()] for path, codes in found.items()}
