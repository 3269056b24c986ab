"""The files behind scores, as a certificate names them: harmless names, sizes and hashes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from bbedge.core.scores import SourceFile
from bbedge.readers.sources import Source, fingerprint
from bbedge.text import shown


def source_files(sources: Sequence[Source]) -> list[SourceFile]:
    """The files of sources.

    A certificate is made to be published, so that its names must not reveal the folders of a machine: a relative path
    is kept as it was given, of absolute ones what they have in common is left out.
    """
    names = iter(harmless_names([source.path for source in sources if source.called is None]))
    return [_source_file(source.path, source.called or next(names)) for source in sources]


def source_file(path: str) -> SourceFile:
    """A single file."""
    return _source_file(path, harmless_names([path])[0])


def harmless_names(paths: Sequence[str]) -> list[str]:
    """The names of files for others to read.

    >>> harmless_names(["runs/a.csv", "../b.csv"]), harmless_names(["/home/me/x/a.csv", "/home/me/y/a.csv"])
    (['runs/a.csv', 'b.csv'], ['x/a.csv', 'y/a.csv'])
    >>> harmless_names(["/home/me/a.csv"])
    ['a.csv']
    """
    absolute = [PurePath(os.path.normpath(path)) for path in paths if PurePath(path).is_absolute()]
    parents = {str(path.parent) for path in absolute}
    # Paths on different drives of Windows have nothing in common.
    together = len({path.anchor for path in absolute}) == 1
    common = PurePath(os.path.commonpath(parents)) if together else None
    return [shown(_name(PurePath(os.path.normpath(path)), common), None) for path in paths]


def _name(path: PurePath, common: PurePath | None) -> str:
    if path.is_absolute():
        return path.relative_to(common).as_posix() if common is not None else path.name
    parts = [part for part in path.parts if part != os.pardir]
    return PurePath(*parts).as_posix()


def _source_file(path: str, name: str) -> SourceFile:
    sha256 = fingerprint(path)
    return SourceFile(name=name, bytes=Path(path).stat().st_size, sha256=sha256)
