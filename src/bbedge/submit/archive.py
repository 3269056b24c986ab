"""The file of a submission: made from scores, and opened again, wherever it comes from.

What is packed is the table of scores, the hashes of the files that it was made from, and these files if they are kept.
What is unpacked is what the record lists, and nothing else.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from msgspec import UNSET

from bbedge.errors import FormatError
from bbedge.files import replacing, system_errors
from bbedge.readers.convert import convert as write_table
from bbedge.readers.limits import limits_in_force, size_words
from bbedge.readers.read_scores import harmless_names, scores_in
from bbedge.records.codec import check_file_version, convert, parse_json, to_json
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
_DAMAGED = (BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_PIECE = 1 << 20
_LONGEST_RECORD = 16 << 20
_LONGEST_NAME = 1_000
_RESERVED = frozenset('<>:"|?*\\')


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
        write_table(sources, table, reading, progress=progress)
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
            scale=reading.score_range,
            registration=registration or UNSET,
        )
        with replacing(Path(out)) as stream, ZipFile(stream, "w", ZIP_DEFLATED) as archive:
            archive.writestr(_member(RECORD), to_json(submission))
            kept = {f"{LOGS}{name}": path for name, path in files.items()} if keep_files else {}
            for name, path in {TABLE: table, **kept}.items():
                with system_errors(path, "read"), path.open("rb") as file, archive.open(_member(name), "w") as member:
                    shutil.copyfileobj(file, member)
    return submission


def submitted(table: Path, scale: tuple[float, float]) -> SubmittedScores:
    """The scores of a table in numbers."""
    scores = scores_in([table], Reading(incomplete="worst-case", score_range=scale), least_models=1, provenance=False)
    low, high = scale
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


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[Submission, Path]]:
    """What a submission states, and a folder that has its members as long as the block runs.

    A member that is not listed, or not what the list says, is refused, and so is a name that leads elsewhere.
    """
    name = shown_path(path)
    with TemporaryDirectory(prefix="bbedge-") as folder:
        with system_errors(path, "read", kind=FormatError), Path(path).open("rb") as file:
            try:
                with ZipFile(file) as archive:
                    submission = _unpack(archive, Path(folder), name, os.fstat(file.fileno()).st_size)
            except _DAMAGED as error:
                raise FormatError(f"{name}: not a submission ({error}); make one with bbedge submit pack") from error
        yield submission, Path(folder)


def digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a submission: of the whole file."""
    with system_errors(path, "read", kind=FormatError), Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(archive: ZipFile, folder: Path, name: str, size: int) -> Submission:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise FormatError(f"{name}: two members have one name; make the submission again with bbedge submit pack")
    if len(members) > MOST_FILES + 2:
        raise FormatError(f"{name}: more than {MOST_FILES:,} files")
    limits_in_force().check_unpacked(sum(info.file_size for info in members.values()), packed=size, name=name)
    if RECORD not in members:
        raise FormatError(f"{name}: no {RECORD} in it, so it is no submission; make one with bbedge submit pack")
    submission = _record(archive, members[RECORD], name)
    kept = submission.files if submission.keeps_files else ()
    wanted = {TABLE: submission.table} | {f"{LOGS}{_checked(each.name, name)}": each for each in kept}
    if submission.table.name != TABLE:
        raise FormatError(f"{name}: the table is called {quoted(submission.table.name)}; expected {TABLE}")
    if len(wanted) != len(kept) + 1:
        raise FormatError(f"{name}: two files have one name")
    if extra := members.keys() - wanted.keys() - {RECORD}:
        raise FormatError(f"{name}: {quoted(min(extra))} is in it and not listed in {RECORD}")
    for called, listed_file in wanted.items():
        if called not in members:
            raise FormatError(f"{name}: {quoted(called)} is listed in {RECORD} and not in it")
        _copy(archive, members[called], listed_file, folder / called, name)
    return submission


def _record(archive: ZipFile, info: ZipInfo, name: str) -> Submission:
    source = f"{name}: {RECORD}"
    if info.file_size > _LONGEST_RECORD:
        raise FormatError(f"{source} has more than {size_words(_LONGEST_RECORD)}")
    with archive.open(info) as member:
        text = member.read(_LONGEST_RECORD + 1)
    values = parse_json(text, source=source, what="a submission")
    check_file_version(values.get("version") if isinstance(values, dict) else None, what=source, kind=FormatError)
    return convert(values, Submission, source=source)


def _checked(called: str, name: str) -> str:
    """The name of a file, if it is one that stays below a folder on every system."""
    parts = PurePosixPath(called).parts
    is_plain = (
        PurePosixPath(called).as_posix() == called
        and not called.startswith("/")
        and len(called) <= _LONGEST_NAME
        and not any(part in ("..", ".") for part in parts)
        and not any(letter in _RESERVED or ord(letter) < 32 for letter in called)
    )
    if not is_plain:
        raise FormatError(f"{name}: {quoted(called)} is not the name of a file below a folder; rename the file")
    return called


def _copy(archive: ZipFile, info: ZipInfo, stated: PackedFile, target: Path, name: str) -> None:
    """Unpack a member, and refuse it unless it is what the list says."""
    where, kind = f"{name}: {quoted(info.filename)}", info.external_attr >> 16
    if info.flag_bits & 1 or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or stat.S_ISLNK(kind):
        raise FormatError(f"{where} is encrypted, a link, or packed in an unknown way; pack it with bbedge submit pack")
    if info.file_size != stated.bytes:
        raise FormatError(f"{where} has {info.file_size:,} bytes; {RECORD} states {stated.bytes:,}")
    target.parent.mkdir(parents=True, exist_ok=True)
    found = hashlib.sha256()
    with archive.open(info) as member, target.open("xb") as file:
        while piece := member.read(_PIECE):
            found.update(piece)
            file.write(piece)
    if found.hexdigest() != stated.sha256:
        raise FormatError(f"{where} is not the file that {RECORD} lists: its SHA-256 differs")
