"""Make a submission: the table of scores, hashes of the files that it was made from, and these if they are kept."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from msgspec import UNSET

from bbedge.errors import FormatError
from bbedge.files import replacing, system_errors
from bbedge.readers.convert import convert
from bbedge.readers.read_scores import harmless_names, scores_in
from bbedge.records.codec import to_json
from bbedge.records.reading import Reading
from bbedge.records.submission import (
    LOGS,
    MOST_FILES,
    RECORD,
    TABLE,
    PackedFile,
    Submission,
    SubmittedModel,
    SubmittedScores,
)
from bbedge.text import listed, quoted, shown_path

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of zip archives; without a time the same scores give the same bytes


def pack(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    reading: Reading,
    *,
    who: str,
    protocol: str = "",
    registration: str | None = None,
    keep_files: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Submission:
    """Write a submission: the scores of all sources as one table, and what it states of them.

    ``registration`` is the hash of what is frozen on the board that it is for. With ``keep_files`` the archive has the
    files as well, so that others can read the scores from them again.
    """
    with TemporaryDirectory(prefix="bbedge-") as folder:
        table = Path(folder) / TABLE
        convert(sources, table, reading, progress=progress)
        files = _files(sources)
        submission = Submission(
            who=who,
            protocol=protocol,
            scores=submitted(table, reading.score_range),
            table=packed(table, TABLE),
            sources=tuple(_names(sources).values()),
            files=tuple(packed(path, name) for name, path in files.items()),
            keeps_files=keep_files,
            reading=reading.stated,
            score_range=reading.score_range,
            registration=registration or UNSET,
        )
        with replacing(Path(out)) as stream, ZipFile(stream, "w", ZIP_DEFLATED) as archive:
            archive.writestr(_member(RECORD), to_json(submission))
            kept = {f"{LOGS}{name}": path for name, path in files.items()} if keep_files else {}
            for name, path in {TABLE: table, **kept}.items():
                with system_errors(path, "read"), path.open("rb") as file, archive.open(_member(name), "w") as member:
                    shutil.copyfileobj(file, member)
    return submission


def submitted(table: Path, score_range: tuple[float, float]) -> SubmittedScores:
    """The scores of a table in numbers."""
    scores = scores_in(
        [table], Reading(incomplete="worst-case", score_range=score_range), least_models=1, provenance=False
    )
    low, high = score_range
    models = []
    for place, model in sorted(enumerate(scores.models), key=lambda each: each[1]):
        given = scores.values[:, place, :]
        given = given[~np.isnan(given)]
        mean = low + (high - low) * float(np.sum(given)) / given.size
        models.append(SubmittedModel(model=model, mean=round(mean, 12), scores=given.size))
    return SubmittedScores(models=tuple(models), items=len(scores.items), runs=len(scores.replicates))


def packed(path: Path, name: str) -> PackedFile:
    """A file as a submission lists it."""
    with system_errors(path, "read"), path.open("rb") as file:
        return PackedFile(name=name, bytes=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def _member(name: str) -> ZipInfo:
    info = ZipInfo(name, _FIRST_DAY)
    info.compress_type, info.external_attr = ZIP_DEFLATED, 0o644 << 16
    return info


def _names(sources: Sequence[str]) -> Mapping[str, str]:
    """What each source is called in the archive: patterns as what they stand for, and no folder of this machine."""
    paths: list[str] = []
    for each in sources:
        if each == "-":
            raise FormatError("standard input has no files to list; write it to a file, and pack that")
        paths += sorted(glob.glob(each, recursive=True)) if glob.has_magic(each) and not Path(each).exists() else [each]  # noqa: PTH207
    paths = list(dict.fromkeys(map(os.path.normpath, paths)))
    return dict(zip(paths, harmless_names(paths), strict=True))


def _files(sources: Sequence[str]) -> dict[str, Path]:
    """All files in the sources, by what they are called in the archive."""
    found: dict[str, Path] = {}
    for path, name in _names(sources).items():
        for file, called in _below(Path(path), PurePath(name)):
            if called in found and not found[called].samefile(file):
                both = listed([shown_path(found[called]), shown_path(file)])
                raise FormatError(
                    f"{both} would both be called {quoted(called)}; pack them from a folder that has both"
                )
            found[called] = file
            if len(found) > MOST_FILES:
                raise FormatError(f"{shown_path(path)}: more than {MOST_FILES:,} files; convert them to a table first")
    return dict(sorted(found.items()))


def _below(path: Path, name: PurePath) -> Iterator[tuple[Path, str]]:
    """The files below a path, or itself, and what they are called; hidden ones are not part of logs."""
    if not path.is_dir():
        yield path, name.as_posix()
        return
    with system_errors(path, "read"):
        entries = sorted(path.iterdir())
    for entry in entries:
        if not entry.name.startswith(".") and (entry.is_dir() or entry.is_file()):
            yield from _below(entry, name / entry.name)
