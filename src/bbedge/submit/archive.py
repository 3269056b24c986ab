"""Open a submission, which may come from anyone: what it lists is what it has, and nothing else is unpacked."""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from bbedge.errors import FormatError
from bbedge.files import system_errors
from bbedge.readers.limits import limits_in_force, size_words
from bbedge.records.codec import check_file_version, convert, parse_json
from bbedge.records.submission import LOGS, MOST_FILES, RECORD, TABLE, PackedFile, Submission
from bbedge.text import quoted, shown_path

_DAMAGED = (BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_PIECE = 1 << 20
_LONGEST_RECORD = 16 << 20
_LONGEST_NAME = 1_000
_RESERVED = frozenset('<>:"|?*\\')


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
