"""Removes credentials from the files that engines and their programs write, right after they were written.

A server may repeat the key that it was sent, and a program may print its environment. Inspect, lm-evaluation-harness
and programs write their logs themselves, so the files are read when a run has ended, and those that hold a credential
are replaced. Files that a killed run has left are read when the same replicate is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from bbedge.credentials import redacted, redacted_record, secret_values
from bbedge.files import replacing
from bbedge.readers.json_files import zip_library

Clean = Callable[[str], str]


def redact_files(place: Path) -> None:
    """Remove credentials from a file, or from all files in a folder that are logs by the ending of their name."""
    known = secret_values(os.environ)
    for path in [place] if place.is_file() else sorted(place.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix == ".eval":
            _redact_archive(path, known)
        elif path.suffix in (".json", ".jsonl"):
            _redact_text(path, lambda text: _redacted_json(text, known), whole=path.suffix == ".json")
        elif path.suffix in (".txt", ".log"):
            _redact_text(path, lambda text: redacted(text, known))


def _redacted_json(text: str, known: Sequence[str]) -> str:
    """A document without credentials; exactly as it was if it has none."""
    try:
        document = json.loads(text)
        clean = redacted_record(document, known)
    except (ValueError, RecursionError):
        return redacted(text, known)
    ending = text[len(text.rstrip()) :]
    return text if clean == document else json.dumps(clean) + ending


def _redact_text(path: Path, clean: Clean, *, whole: bool = False) -> None:
    """Replace a file of text if a line of it, or the whole of it, is not clean."""
    if all(clean(piece) == piece for piece in _pieces(path, whole=whole)):
        return
    with replacing(path) as file:
        for piece in _pieces(path, whole=whole):
            file.write(clean(piece).encode("utf-8", "surrogateescape"))


def _pieces(path: Path, *, whole: bool) -> Iterator[str]:
    with path.open("rb") as file:
        for piece in [file.read()] if whole else file:
            yield piece.decode("utf-8", "surrogateescape")


def _redact_archive(path: Path, known: Sequence[str]) -> None:
    """Replace a log of Inspect, a zip archive of JSON documents, if one of them is not clean.

    A file that cannot be read is left unchanged.
    """
    zipfile, broken = zip_library()
    with suppress(*broken), zipfile.ZipFile(path) as old:
        members = [old.getinfo(name) for name in dict.fromkeys(old.namelist())]

        def clean(name: str) -> str:
            text: str = old.read(name).decode("utf-8", "surrogateescape")
            return _redacted_json(text, known) if name.endswith(".json") else redacted(text, known)

        if all(clean(each.filename).encode("utf-8", "surrogateescape") == old.read(each) for each in members):
            return
        with replacing(path) as file, zipfile.ZipFile(file, "w") as new:
            for each in members:
                info = zipfile.ZipInfo(each.filename, each.date_time)
                data = clean(each.filename).encode("utf-8", "surrogateescape")
                new.writestr(info, data, compress_type=each.compress_type)
