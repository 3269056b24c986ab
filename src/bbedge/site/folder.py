"""A folder that is replaced as a whole: at every moment it is the one before or the one after, for all who read it.

Everything is written into a folder beside it, and then the two exchange their names, in one step where the system can
do that. What was killed before is thrown away by the next call, what was killed afterwards is cleaned up by it.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.files import exchange, lock, read_text, sync_folder, system_errors
from bbedge.records.codec import FILE_VERSION, check_file_version, convert, parse_json, to_json
from bbedge.records.site import SiteManifest
from bbedge.text import listed, shown_path

MANIFEST = "manifest.json"
"""The file that lists all others."""

Content = str | Iterable[str] | Callable[[Path], None]
"""A text, its pieces, or what writes the file that it is given."""

_NAME_KEPT = 40  # characters of the folder's name in those beside it: names may have 255 bytes in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a call changed."""

    changed: tuple[str, ...]
    """The files that are new or have other bytes."""
    removed: tuple[str, ...]
    """The files of an earlier call that are not written any more."""
    unchanged: int
    """How many have the bytes that they had, and the time of their last change."""


def write_folder(folder: Path, files: Iterable[tuple[str, Content]]) -> Written:
    """Make these files the content of a folder, by their paths inside it with ``/`` between names.

    The folder is new, empty, or one that this function wrote. Files in it that others put there stay what they are.
    If nothing changed, nothing is done.
    """
    _refuse_place(folder)
    target = Path(os.path.realpath(folder))
    with system_errors(folder, "written", "; choose another folder"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(target.parent):
            _repair(target)
            before = _read_manifest(target)
            return _replace(target, before, files)


def _refuse_place(folder: Path) -> None:
    """Refuse a folder whose name must not come to stand for another one."""
    target, here = Path(os.path.realpath(folder)), Path(os.path.realpath(Path.cwd()))
    if target == here or target in here.parents:
        raise DomainError(
            f"{shown_path(folder)}: is the current folder or contains it, and would be replaced by another one; choose "
            "a folder inside it"
        )
    if target.exists() and not target.is_dir():
        raise DomainError(f"{shown_path(folder)}: is a file; choose a folder")
    if os.path.ismount(target):
        raise DomainError(
            f"{shown_path(folder)}: is where a disk is mounted, and cannot be replaced; choose a folder inside it"
        )


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Wait until no other process writes a folder here."""
    try:
        number = os.open(parent, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders; a folder may be writable and not readable
        yield
        return
    try:
        lock(number, wait=True)
        yield
    finally:
        os.close(number)


def _beside(target: Path, ending: str) -> Path:
    """A name that belongs to this folder alone."""
    own = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return target.with_name(f".{target.name[:_NAME_KEPT]}.{own}.{ending}")


def _repair(target: Path) -> None:
    """Finish or undo what was killed."""
    unfinished, aside = _beside(target, "publishing"), _beside(target, "published")
    if aside.exists() and not target.exists():
        aside.rename(target)
    for left in (aside, unfinished):
        if left.exists():
            _remove(left, target)


def _read_manifest(folder: Path) -> Mapping[str, str]:
    """The files that an earlier call wrote into a folder; a folder with files of others alone is refused."""
    if not folder.exists() or not any(folder.iterdir()):
        return {}
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise DomainError(
            f"{shown_path(folder)}: is not empty, and bbedge publish did not write it; choose a new or an empty folder"
        )
    return read_manifest(manifest).files


def read_manifest(path: Path) -> SiteManifest:
    """The list of the files of a published folder."""
    name = shown_path(path)
    try:
        values = parse_json(read_text(path), source=name, what="the manifest of a published folder")
        check_file_version(values.get("version") if isinstance(values, dict) else None, what=name, kind=FormatError)
        return convert(values, SiteManifest, source=name)
    except FormatError as error:
        raise FormatError(f"{error}; publish into a new folder") from error


def _replace(target: Path, before: Mapping[str, str], files: Iterable[tuple[str, Content]]) -> Written:
    made = _beside(target, "publishing")
    made.mkdir()
    try:
        digests: dict[str, str] = {}
        changed: list[str] = []
        for path, content in files:
            file, old = made / path, target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, content)
            digests[path] = _digest(file)
            if _digest_or_none(old) == digests[path]:
                file.unlink()
                _link(old, file)
            else:
                changed.append(path)
        removed = sorted(path for path in before if path not in digests and (target / path).is_file())
        if changed or removed or before != digests:
            _keep_others(target, made, before, digests)
            _write(made / MANIFEST, to_json(SiteManifest(version=FILE_VERSION, files=dict(sorted(digests.items())))))
            _sync(made, changed)
            _switch(target, made)
    finally:
        if made.exists():
            _remove(made, target)
    return Written(changed=tuple(changed), removed=tuple(removed), unchanged=len(digests) - len(changed))


def _write(file: Path, content: Content) -> None:
    if callable(content):
        content(file)
        return
    with file.open("wb") as stream:
        for piece in [content] if isinstance(content, str) else content:
            stream.write(piece.encode("utf-8"))


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest_or_none(file: Path) -> str | None:
    """The digest of a file; ``None`` of anything else, links among it."""
    return _digest(file) if file.is_file() and not file.is_symlink() else None


def _link(file: Path, to: Path) -> None:
    """The same file under another name, or where the disk cannot do that, a copy with its times."""
    if file.is_symlink():
        to.symlink_to(file.readlink())
        return
    if not file.is_file():
        raise DataError(f"{shown_path(file)}: is neither a file nor a folder; move it elsewhere")
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)


def _keep_others(target: Path, made: Path, before: Mapping[str, str], digests: Mapping[str, str]) -> None:
    """Bring along what others put into the folder: what the manifest does not list, and what they changed since."""
    if not target.exists():
        return
    shutil.copymode(target, made)
    own = {MANIFEST, *(path for path in before if path in digests or _digest_or_none(target / path) == before[path])}
    own |= {str(folder) for path in before for folder in PurePosixPath(path).parents}
    for path, is_folder in _entries(target):
        old, new = target / path, made / path
        if path in own:
            continue
        if os.path.lexists(new) and not (is_folder and new.is_dir()):
            raise DataError(f"{shown_path(old)}: bbedge publish did not write it, and needs its name; move it away")
        if is_folder:
            new.mkdir(exist_ok=True)
        else:
            new.parent.mkdir(parents=True, exist_ok=True)
            _link(old, new)


def _entries(folder: Path, inside: str = "") -> Iterator[tuple[str, bool]]:
    """Everything in a folder by its path inside it, folders before what they hold; links are not followed."""
    for entry in sorted(os.scandir(folder / inside), key=lambda entry: entry.name):
        is_folder = entry.is_dir(follow_symlinks=False)
        yield f"{inside}{entry.name}", is_folder
        if is_folder:
            yield from _entries(folder, f"{inside}{entry.name}/")


def _sync(folder: Path, changed: Iterable[str]) -> None:
    """Have everything on the disk before any of it is shown."""
    for path in (*changed, MANIFEST):
        with (folder / path).open("rb+") as file:
            os.fsync(file.fileno())
    for path, is_folder in _entries(folder):
        if is_folder:
            sync_folder(folder / path)
    sync_folder(folder)


def _switch(target: Path, made: Path) -> None:
    """Give the new folder the name of the old one, and the old one another."""
    aside = _beside(target, "published")
    if not target.exists():
        made.rename(target)
    elif not exchange(made, target):
        target.rename(aside)
        made.rename(target)
        _remove(aside, target)
    sync_folder(target.parent)


def _remove(old: Path, target: Path) -> None:
    """Remove a folder that is not shown: files that were written here, and those that ``target`` has as well."""
    manifest = old / MANIFEST
    # Without a manifest it was never shown, and all of it was written here.
    own = read_manifest(manifest).files if manifest.is_file() else None
    left = []
    for path, is_folder in reversed(list(_entries(old))):
        there = old / path
        if path == MANIFEST:
            continue
        if is_folder:
            with suppress(OSError):  # something was left in it
                there.rmdir()
        elif own is None or path in own or _is_same(there, target / path):
            there.unlink()
        else:
            left.append(path)
    if left:
        raise DataError(
            f"{shown_path(old)}: {listed(left)} changed while {shown_path(target)} was written; move there what you "
            "need, and delete this folder"
        )
    manifest.unlink(missing_ok=True)  # last: it says which files are whose
    old.rmdir()


def _is_same(one: Path, other: Path) -> bool:
    """Whether two names have the same content, without following links."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return other.is_file() and (one.samefile(other) or filecmp.cmp(one, other, shallow=False))
