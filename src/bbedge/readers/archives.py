"""Zip archives of a folder, unpacked into a temporary one that is searched like any other folder."""

from __future__ import annotations

import atexit
import stat
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from shutil import copyfileobj, rmtree
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.assemble.grid import spool_folder
from bbedge.readers.json_files import Archive
from bbedge.readers.limits import limits_in_force
from bbedge.text import listed, show_folder_as, shown_path

ZIP = ".zip"
_PACKED = (ZIP, ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".bz2", ".xz", ".zst")
# What a file takes at least: an archive of very many empty files is a bomb, too.
_LEAST_BYTES = 4096


def unpacked(path: str) -> str:
    """The folder with the files of an archive, which is there until the program ends."""
    found = Path(path).stat()
    return _unpacked(path, found.st_size, found.st_mtime_ns)


# Sources are looked at more than once.
@cache
def _unpacked(path: str, size: int, _changed: int) -> str:
    name = shown_path(path)
    with Archive(path) as archive:
        members = [each for each in archive.infos() if not each.filename.endswith("/")]
        limits_in_force().check_unpacked(
            sum(max(each.file_size, _LEAST_BYTES) for each in members), packed=size, name=name
        )
        for problem, names in _problems(members).items():
            raise FormatError(f"{name}: {problem}, {listed(names)}; unpack it if you trust it, and name the folder")
        within = Path(tempfile.mkdtemp(prefix="bbedge-", dir=spool_folder()))
        atexit.register(rmtree, within, ignore_errors=True)
        folder = within / Path(path).name
        show_folder_as(str(folder), folder.name)
        folder.mkdir()
        try:
            for member in members:
                to = folder / member.filename
                to.parent.mkdir(parents=True, exist_ok=True)
                with archive.member(member.filename) as file, to.open("wb") as copy:
                    copyfileobj(file, copy)
        except (OSError, UnicodeError) as error:
            # Also a file where another member needs a folder, or no room.
            raise FormatError(
                f"{name}: cannot be unpacked into {spool_folder()} ({error}); unpack it yourself"
            ) from None
    return str(folder)


def _problems(members: Sequence[Any]) -> dict[str, list[str]]:
    """What an archive of a folder does not have, each with the names of such members."""
    seen: set[str] = set()
    found: dict[str, list[str]] = {} if members else {"no files": [""]}
    for member in members:
        name, path = member.filename, PurePosixPath(member.filename)
        leads_out = path.is_absolute() or not path.parts or ".." in path.parts or "\\" in name or ":" in path.parts[0]
        problems = {
            "paths that lead out of the archive": leads_out,
            "links": stat.S_ISLNK(member.external_attr >> 16),
            "archives inside the archive": name.lower().endswith(_PACKED),
            "encrypted files": member.flag_bits & 1,
            "several files of one name": name in seen,
        }
        seen.add(name)
        for problem in (each for each, holds in problems.items() if holds):
            found.setdefault(problem, []).append(name)
    return found
