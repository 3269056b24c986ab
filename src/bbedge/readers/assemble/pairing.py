"""Runs of different models are compared within a replicate: tables in which none has two models, and what paths show.

A policy for missing scores would make a number of such a table that compares each model with nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from bbedge.errors import Argument, Blank, FormatError, Part
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.missing_scores import MissingCells
from bbedge.readers.choices import ABOVE, Named, NameSource, OpenChoiceError, without_ending
from bbedge.readers.tables.roles import ColumnError
from bbedge.records.notes import Note
from bbedge.text import quoted

# Two runs of each of two models.
_FEWEST = 4
# Words before the number of a run; they begin where a word begins.
_WORDS = "replicate|repetition|repeat|rep|run|seed|trial|epoch|attempt|pass|iteration|iter|rollout|try|r|s"
_NUMBERED = re.compile(rf"(?<![a-zA-Z])({_WORDS})([-_=. ]?)[0-9]+", re.IGNORECASE)
_SEPARATORS = "-_=., "
_SPECIAL = re.compile(r"([.^$*+?{}\[\]\\|()])")
_ENDING = r"(?:\.[a-zA-Z]+)*$"
# More names, or longer ones, are not listed in a command.
_MOST_NAMES, _MOST_CHARACTERS = 6, 80


class UnpairedRunsError(OpenChoiceError):
    """No replicate has runs of two models."""


def check_paired(coder: Coder, gaps: MissingCells) -> None:
    """Raise if no replicate has runs of two models."""
    outline = gaps.outline
    replicates, models, _ = gaps.shape
    if outline is None or min(replicates, models) < 2 or (outline.made.sum(axis=1) > 1).any():
        return
    found = int(outline.made.any(axis=1).argmax())
    label, model = gaps.names[0][found], gaps.names[1][int(outline.made[found].argmax())]
    said = (
        f"{gaps.sources}: no replicate has runs of two models, so that there is nothing to compare: replicate "
        f"{quoted(label)}, for example, has runs of {quoted(model)} only. A replicate is one run of every model"
    )
    of_files = model_of_files(coder) or {}
    pattern = path_pattern(list(of_files), list(of_files.values())) or path_pattern(list(of_files))
    if pattern is None:
        raise UnpairedRunsError(
            f"{said}. Number the runs of every model in the same way, in a column named replicate; or, where paths "
            "name them, pass ",
            Argument("replicate_from", Blank("path:REGEX")),
            " with the part of the path that is the same for all models in parentheses (and ",
            Argument("model_from", Blank("path:REGEX")),
            " with the part that names the model)",
        )
    raise UnpairedRunsError.proposing(pattern.choices, f"{said}. The paths name the runs: pass ", *pattern.words)


def with_runs(error: FormatError, paths: Sequence[str]) -> FormatError:
    """The error; one about a model that no column names with what the paths show, where each file is one run."""
    of_file = Argument("model_from", "file")
    pattern = path_pattern(paths) if isinstance(error, ColumnError) and of_file in error.args else None
    if pattern is None:
        return error
    at = error.args.index(of_file)
    runs = *pattern.words, " if every file is one run of one model, as the paths show"
    return ColumnError.about("model", pattern.choices, *error.args[:at], *runs, *error.args[at + 2 :])


def path_notes(coder: Coder) -> Iterator[Note]:
    """What paths show where each file was read as a model of its own."""
    few = len({id(chunk.table) for chunk in coder.chunks}) < _FEWEST
    models = {} if few else model_of_files(coder) or {}
    pattern = path_pattern(list(models)) if len(set(models.values())) == len(models) else None
    if pattern is not None:
        yield Note(
            kind="files",
            subject=tuple(models),
            text=f"Each of the {len(models)} files was read as a model of its own, but their paths look like several "
            f"runs of each model. To read them so, pass --model-from {shlex.quote(pattern.model_from or '')} "
            f"--replicate-from {shlex.quote(pattern.replicate_from)}.",
        )


def model_of_files(coder: Coder) -> dict[str, str] | None:
    """The model of every file; None if a file has several, or something else is read than files."""
    names = coder.names("model")
    found: dict[str, set[int]] = {}
    for chunk in coder.chunks:
        found.setdefault(chunk.table.path, set()).update(np.flatnonzero(np.bincount(chunk.codes("model"))).tolist())
    if "" in found or any(len(codes) > 1 for codes in found.values()):
        return None
    return {path: names[codes.pop()] for path, codes in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """Choices with which every file is one run of one model, and runs of different models are paired."""

    replicate_from: str
    """What names the replicate."""
    model_from: str | None = None
    """What names the model; None where the files say it."""

    @property
    def choices(self) -> tuple[Argument, ...]:
        """The choices one by one."""
        model = () if self.model_from is None else (Argument("model_from", self.model_from),)
        return *model, Argument("replicate_from", self.replicate_from)

    @property
    def words(self) -> tuple[Part, ...]:
        """The choices together, for a message."""
        first, *other = self.choices
        return (first, *(part for each in other for part in (" ", each)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    """An expression for the number of a run: a word or a sign, the digits, and where in the path it is."""

    word: str
    expression: str
    counts: bool = False
    """Whether it is believed only if it counts the runs: a number alone may also be the version of a model."""


def path_pattern(paths: Sequence[str], models: Sequence[str] | None = None) -> PathPattern | None:
    r"""The pattern that the paths show, or None; ``models`` are the model of every file, where the files say it.

    >>> path_pattern(["old_run1.csv", "old_run2.csv", "new_run1.csv", "new_run2.csv"])
    PathPattern(replicate_from='path:run(\\d+)', model_from='path:(old|new)_run')
    >>> path_pattern(["gpt-3.csv", "gpt-4.csv", "claude-3.csv", "claude-4.csv"]) is None
    True
    """
    whole = [PurePath(path).as_posix() for path in paths]
    for number in _numbers(whole) if whole else ():
        choice = f"path:{number.expression}"
        labels = _named(whole, choice, "replicate")
        if labels is None or (number.counts and not _counts(labels)):
            continue
        for model_from in [None] if models is not None else _models(whole, number):
            names = models if model_from is None else _named(whole, model_from, "model")
            if names is not None and _are_paired(names, labels, complete=number.counts):
                return PathPattern(replicate_from=choice, model_from=model_from)
    for choice in () if models is None else (*_beside_models(whole, models), "folder", "file"):
        labels = _named(whole, choice, "replicate")
        if models is not None and labels is not None and _are_paired(models, labels, complete=True):
            return PathPattern(replicate_from=choice)
    return None


def _named(paths: Sequence[str], given: str, role: Named) -> list[str] | None:
    """The model or the replicate that each path names; None if one names none."""
    origin = NameSource.parse(given, role=role)
    names = [origin.in_path(path, role) or "" for path in paths]
    return names if all(names) else None


def _are_paired(models: Sequence[str], labels: Sequence[str], *, complete: bool) -> bool:
    """Whether every file is another run, models have several, and runs of different models have the same label."""
    pairs = len(set(zip(models, labels, strict=True)))
    kinds, runs = len(set(models)), len(set(labels))
    return max(kinds, runs) < pairs == len(labels) and (pairs == kinds * runs or not complete)


def _counts(labels: Sequence[str]) -> bool:
    numbers = sorted({int(label) for label in labels})
    return numbers[0] in (0, 1) and numbers[-1] - numbers[0] + 1 == len(numbers)


def _numbers(paths: Sequence[str]) -> Iterator[_Number]:
    """Expressions that may find the number of the run in all paths, those with a word first."""
    words = [dict.fromkeys(match.group(1, 2) for match in _NUMBERED.finditer(path)) for path in paths]
    for word in (name + _plain(sign) for name, sign in words[0] if all((name, sign) in found for found in words)):
        yield from (_Number(word=word, expression=rf"{word}(\d+){place}") for place in ("", "[^/]*$", "[^/]*/[^/]*$"))
    names = [PurePath(path).name for path in paths]
    endings = {name[len(without_ending(name)) :] for name in names}
    signs = {without_ending(name).rstrip("0123456789")[-1:] for name in names}
    sign = next(iter(signs)) if len(signs) == 1 and signs <= set(_SEPARATORS) else ""
    ending = _plain(next(iter(endings))) if len(endings) == 1 else "[^0-9/]*"
    yield _Number(word=_plain(sign), expression=rf"{_plain(sign)}(\d+){ending}$", counts=True)
    yield _Number(word="", expression=r"(\d+)/[^/]*$", counts=True)


def _models(paths: Sequence[str], number: _Number) -> Iterator[str]:
    """Choices that may name the model where a number names the run: what is left of the name, or another part."""
    # Every path has the number: it was found there.
    found = [(path, match) for path in paths if (match := re.search(number.expression, path))]
    heads = [path[: match.start()].rpartition("/")[2] for path, match in found]
    rests = [path[match.end(1) :].partition("/") for path, match in found]
    tails = [folder if inside else without_ending(folder) for folder, inside, _ in rests]
    if len(set(tails)) == 1:
        names = [head.rstrip(_SEPARATORS) for head in heads]
        between = {head[len(name) :] for head, name in zip(heads, names, strict=True)}
        if len(between) == 1 and all(names):
            sign = _plain(between.pop()) + number.word
            digit = "" if sign[-1:].isalpha() else r"\d"
            yield f"path:({_alternatives(names) or '[^/]+'}){sign}{digit}"
    if len(set(heads)) == 1:
        names = [tail.lstrip(_SEPARATORS) for tail in tails]
        between = {tail[: len(tail) - len(name)] for tail, name in zip(tails, names, strict=True)}
        if len(between) == 1 and all(names):
            listed = _alternatives(names)
            name = f"({listed})" if listed else f"([^/]+?){_ENDING}"
            yield rf"path:{number.word}\d+{_plain(between.pop())}{name}"
    yield from ("file", "folder", ABOVE)


def _beside_models(paths: Sequence[str], models: Sequence[str]) -> Iterator[str]:
    """Choices that may name the run by what stands in the name of a file beside the name of its model."""
    listed = _alternatives(models)
    stems = [without_ending(PurePath(path).name) for path in paths]
    for separator in _SEPARATORS if listed else "":
        if all(stem.startswith(f"{model}{separator}") for stem, model in zip(stems, models, strict=True)):
            yield rf"path:(?:{listed}){_plain(separator)}([^/]+?){_ENDING}"
        if all(stem.endswith(f"{separator}{model}") for stem, model in zip(stems, models, strict=True)):
            yield rf"path:([^/]+){_plain(separator)}(?:{listed}){_ENDING}"


def _alternatives(names: Sequence[str]) -> str | None:
    """An expression for one of the names, the longest first; None if they are many or long."""
    different = dict.fromkeys(names)
    if len(different) > _MOST_NAMES or sum(map(len, different)) > _MOST_CHARACTERS:
        return None
    return "|".join(_plain(name) for name in sorted(different, key=len, reverse=True))


def _plain(text: str) -> str:
    """An expression for exactly this text."""
    return _SPECIAL.sub(r"\\\1", text)
