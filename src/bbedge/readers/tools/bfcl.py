"""BFCL, the Berkeley Function Calling Leaderboard: score files, which list the failures and count the rest.

``score/MODEL/.../BFCL_v3_CATEGORY_score.json`` begins with the counts and goes on with a line for every failure. What
was asked is in ``result/MODEL/.../BFCL_v3_CATEGORY_result.json``. A task that is in no line has passed only if it was
asked, so that the tasks must be known: from the file of results, or from a list of items that the user declares; and
there must be as many as the file counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bbedge.errors import FormatError
from bbedge.readers.json_files import objects
from bbedge.readers.logs import (
    Log,
    LogRun,
    LogSample,
    Row,
    ToolReader,
    check_count,
    digest,
    kind_of_error,
    refused_without_items,
    stated_count,
    text,
)
from bbedge.text import listed, quoted, shown_path

_NAME = re.compile(r"(?P<begin>(?:BFCL_v\d+_)?(?P<category>[a-z_]+))_score\.json(?:\.gz)?")
_COUNTS = frozenset(["accuracy", "correct_count", "total_count"])
_ANSWERS = ("result", "model_result", "model_result_raw")
_NOT_ANSWERED = "Error during inference"


class _Lines(NamedTuple):
    """What the lines of failures or of results say."""

    tasks: Mapping[str, str | None]
    """The tasks, each with the error that kept it from being answered, if there was one."""
    said: Mapping[str, str]
    """What they say of all."""
    answers: Sequence[str]
    """Hashes of the answers, in no order of the file."""


def _open_bfcl(path: str) -> Log:
    """Open a score file, and the results beside it."""
    place, rows = shown_path(path), objects(path)
    _, counts = next(rows, (0, {}))
    total, correct = stated_count(counts.get("total_count")), stated_count(counts.get("correct_count"))
    if total is None or correct is None:
        raise FormatError(f"{place}:1: no correct_count and total_count; expected a score file of BFCL")
    failures, said, answers = _lines(rows, place)
    check_count(len(failures), total - correct, place=place, what="failures")
    named = _NAME.fullmatch(Path(path).name)
    folder = next((each for each in Path(path).parents if each.parent.name.startswith("score")), None)
    category = named["category"] if named else said.get("test_category", "")
    model = said.get("model_name") or (folder.name if folder else None)
    results = _results(Path(path), named, folder)
    asked = failures
    if results is not None:
        asked, _, answers = _lines(objects(str(results)), shown_path(str(results)))
    identity = f"{model} {digest(category, answers)}" if model and answers else ""
    run = LogRun(model=model, task=category, identity=identity)

    def samples(asked: Mapping[str, str | None]) -> Iterator[LogSample]:
        check_count(len(asked), total, place=place, what=f"tasks of {category} in the list")
        if unknown := sorted(failures.keys() - asked.keys()):
            raise FormatError(f"{place}: {listed(unknown)} failed, and not in the list; use files of one version")
        for position, task in enumerate(sorted(asked), start=1):
            error = failures.get(task) or asked[task]
            yield LogSample(
                run=run,
                item=task,
                scores={} if error else {"valid": task not in failures},
                place=position,
                error=error,
                failure=kind_of_error(error),
            )

    if not correct or results is not None:
        return Log(runs=(run,), samples=lambda: samples(asked), beside=(str(results),) if results else ())
    of_category = re.compile(rf"{re.escape(category)}_\d.*")
    return Log(
        runs=(run,),
        samples=lambda: refused_without_items(
            f"{place}: lists the {len(failures):,} failures of {total:,} tasks, but not the others, which have no name "
            "here; keep the folder result of the same run beside the folder score"
        ),
        of_items=lambda items: samples(dict.fromkeys(filter(of_category.fullmatch, items))),
    )


def _lines(rows: Iterator[tuple[int, Row]], place: str) -> _Lines:
    """What failures or results say, one in every line."""
    found: dict[str, str | None] = {}
    said: dict[str, str] = {}
    answers = []
    for line, row in rows:
        task = text(row.get("id"))
        if not task or task in found or row.get("valid", False) is not False:
            raise FormatError(
                f"{place}:{line}: {quoted(task)} a second time, or valid; expected each failure of BFCL once"
                if task
                else f"{place}:{line}: no id; expected a failure or a result of BFCL"
            )
        given = [row.get(key) for key in _ANSWERS]
        found[task] = next((each for each in given if isinstance(each, str) and each.startswith(_NOT_ANSWERED)), None)
        answers.append(digest(task, given))
        said |= {key: name for key in ("model_name", "test_category") if (name := text(row.get(key)))}
    return _Lines(found, said, sorted(answers))


def _results(path: Path, named: re.Match[str] | None, folder: Path | None) -> Path | None:
    """The results of the same model and category: in the folder result beside the folder score, or in the same one."""
    beside = [path.with_name(f"{named['begin']}_result.json")] if named else []
    if folder is not None:
        results = folder.parent.with_name(folder.parent.name.replace("score", "result", 1))
        beside += [results / each.relative_to(folder.parent) for each in beside]
    return next((each for each in beside if each.is_file()), None)


BFCL = ToolReader(
    name="bfcl",
    title="BFCL",
    has_samples=lambda glimpse: glimpse.first.keys() == _COUNTS,
    # The answers.
    stands_beside=lambda glimpse: glimpse.has("id", "result") and "_result.json" in glimpse.name,
    open=_open_bfcl,
)
"""Reads score files of BFCL 3 and 4."""
