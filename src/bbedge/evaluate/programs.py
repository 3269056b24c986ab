"""The files that a command consists of, and their hashes: a program that changes measures something else."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bbedge.errors import EvaluationError
from bbedge.text import shown_path


def program_files(command: Sequence[str], home: Path) -> dict[str, Path]:
    """The program, and every other word that names a file, by word; relative paths start at ``home``."""
    found = {}
    for place, word in enumerate(command):
        path = program_file(word, home) if place == 0 else _file(home / word) if word and "\0" not in word else None
        if path is not None:
            found[word] = path
    return found


def program_file(word: str, home: Path) -> Path | None:
    """The file that a command's first word runs: a path, or the name of an installed program."""
    if "\0" in word or not word:
        return None
    installed = None if os.sep in word else shutil.which(word)
    return _file(Path(installed) if installed is not None else home / word)


def hashes(files: dict[str, Path]) -> dict[str, str]:
    """SHA-256 of every file, in hexadecimal, by word."""
    return {word: _hash(path) for word, path in files.items()}


def stamps(files: dict[str, Path]) -> dict[str, tuple[int, int, int] | None]:
    """What tells without reading a file that it was not touched: its number, size and time of change, by word."""
    return {word: _stamp(path) for word, path in files.items()}


def _file(path: Path) -> Path | None:
    try:
        return path.resolve() if path.is_file() else None
    except OSError:  # a word too long to be a name
        return None


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EvaluationError(
            f"{shown_path(path)}: cannot be read ({error.strerror}); the hash of every file in the command is frozen "
            "with the study, so make the file readable"
        ) from error


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
