"""From folders and patterns to the files in them."""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from bbedge.errors import FormatError
from bbedge.readers.opening import check_path, naming_errors
from bbedge.text import shown_path

_ANY_DEPTH = "**"


def files_of(given: str) -> tuple[list[str], bool]:
    """The files of a path, and whether it was searched for them."""
    check_path(given)
    # os.path and not pathlib, which raises on names that are too long.
    if os.path.isdir(given):  # noqa: PTH112
        return files_below(given), True
    if glob.has_magic(given) and not os.path.lexists(given):
        found = files_matching(given)
        if not found:
            raise FormatError(f"{shown_path(given)}: no such file, and none that fits it as a pattern; check the path")
        return found, True
    return [given], False


def files_below(folder: str) -> list[str]:
    """All files below a folder, in order; hidden ones are left alone.

    A folder that is reached by its own path and by links is entered by its own path, and by one link otherwise.
    """
    return sorted(_search(folder, (_ANY_DEPTH,)))


def files_matching(pattern: str) -> list[str]:
    """All files that fit a pattern, and all below the folders that fit it, in order."""
    path = PurePath(pattern)
    parts = path.parts[1:] if path.anchor else path.parts
    return sorted(set(_search(path.anchor, (*parts, _ANY_DEPTH))))


def _search(start: str, parts: Sequence[str]) -> Iterator[str]:
    """The files whose path below ``start`` fits the parts, the last of which stands for everything below.

    A folder is entered once for each part, so that links in a circle come to an end. Links wait until all other folders
    have been entered.
    """
    last = len(parts) - 1
    waiting, links = deque([(start, 0)]), deque[tuple[str, int]]()
    seen: set[tuple[int, int, int]] = set()
    while waiting or links:
        folder, at = (waiting or links).popleft()
        with naming_errors(folder):
            place = os.stat(folder or os.curdir)  # noqa: PTH116 - of where a link points to
        if (place.st_dev, place.st_ino, at) in seen:
            continue
        seen.add((place.st_dev, place.st_ino, at))
        deep = parts[at] == _ANY_DEPTH
        if deep and at < last:
            waiting.append((folder, at + 1))
        for path in _fitting(folder, parts[at]):
            if os.path.isdir(path):  # noqa: PTH112 - false where pathlib raises
                queue = links if os.path.islink(path) else waiting  # noqa: PTH114
                queue.append((path, at if deep else at + 1))
            elif at == last or (not deep and at + 1 == last):
                yield path


def _fitting(folder: str, part: str) -> Iterator[str]:
    """The entries of a folder that fit one part of a pattern, in order."""
    if part != _ANY_DEPTH and not glob.has_magic(part):
        path = os.path.join(folder, part)  # noqa: PTH118 - as text, which keeps how the pattern was written
        if os.path.lexists(path):
            yield path
        return
    with naming_errors(folder):
        names = sorted(os.listdir(folder or os.curdir))  # noqa: PTH208
    for name in names:
        hidden = name.startswith(".") and not part.startswith(".")
        if not hidden and (part == _ANY_DEPTH or fnmatchcase(name, part)):
            yield os.path.join(folder, name)  # noqa: PTH118
