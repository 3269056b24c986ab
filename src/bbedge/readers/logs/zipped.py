"""Members of zip archives, also those compressed with Zstandard."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bbedge.errors import FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.readers.opening import told
from bbedge.text import quoted, shown_path


class Archive:
    """A zip archive whose damage is told in one sentence."""

    def __init__(self, path: str) -> None:
        zipfile, self._broken = _libraries()
        self._name = shown_path(path)
        self._unpacked = 0
        try:
            with told(path):
                self._packed = Path(path).stat().st_size
                self._archive = zipfile.ZipFile(path)
        except self._broken as error:
            raise self._damaged(error) from None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def names(self) -> list[str]:
        """The names of all members."""
        names: list[str] = self._archive.namelist()
        return names

    @contextmanager
    def member(self, name: str) -> Iterator[Member]:
        """A member, unpacked while it is read."""
        try:
            # No more than the size that the archive states is ever unpacked.
            self._unpacked += self._archive.getinfo(name).file_size
            limits_in_force().check_unpacked(self._unpacked, packed=self._packed, name=self._name)
            file = self._archive.open(name)
        except KeyError:
            raise FormatError(f"{self._name}: no {quoted(name)} in the archive; write the log again") from None
        except self._broken as error:
            raise self._damaged(error) from None
        with file:
            yield Member(file, self)

    def _damaged(self, error: Exception) -> FormatError:
        return FormatError(
            f"{self._name}: not a complete zip archive ({error}); if the run was cut off, let it end or leave the "
            "file out"
        )


class Member:
    """A member of an archive, open for reading."""

    def __init__(self, file: IO[bytes], archive: Archive) -> None:
        self._file, self._archive = file, archive

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        try:
            return self._file.read(size)
        except self._archive._broken as error:
            raise self._archive._damaged(error) from None


def member_names(path: str) -> frozenset[str]:
    """The names of all members; none if the archive cannot be read."""
    try:
        with Archive(path) as archive:
            return frozenset(archive.names())
    except FormatError:
        return frozenset()


def _libraries() -> tuple[Any, tuple[type[Exception], ...]]:
    """The module zipfile, and what it raises on an archive that is damaged, encrypted or packed in an unknown way."""
    if sys.version_info >= (3, 14):
        import zipfile

        from compression.zstd import ZstdError
    else:
        # The standard library before 3.14 does not know the compression that Inspect uses.
        from backports.zstd import ZstdError, zipfile
    return zipfile, (zipfile.BadZipFile, ZstdError, zlib.error, EOFError, RuntimeError)
