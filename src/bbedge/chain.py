"""A file of JSON lines, each with a checksum over its content and the checksum of the line before.

The first line states the version of the file.
A line that was edited, inserted, removed or moved is noticed when the file is read, because the checksums after it no
longer fit. Only the end of the file can be lost unnoticed, which is what a crash does: a torn last line is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bbedge.errors import BbedgeError, EvaluationError
from bbedge.records.codec import FILE_VERSION, check_file_version
from bbedge.text import shown_path

_SUM, _VERSION = "sum", "version"
_FIRST = hashlib.sha256(b"bbedge journal").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The complete lines of a file."""

    lines: tuple[dict[str, Any], ...]
    """Their contents, without the version and checksums."""
    end: int
    """The size of the complete lines in bytes; what follows is a torn line."""
    head: str
    """The checksum that the next line builds on."""


def read_chain(path: Path, *, remedy: str, kind: type[BbedgeError] = EvaluationError) -> Chain:
    """Read and check a file; one that does not exist is empty. What is wrong is raised as an error of ``kind``."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise kind(f"{shown_path(path)}: cannot be read ({error.strerror})") from error
    end = data.rfind(b"\n") + 1
    head, lines = _FIRST, []
    for place, text in enumerate(data[:end].split(b"\n")[:-1], start=1):
        content = _parsed(text)
        if content is None:
            raise damaged(path, place, remedy, kind)
        given = content.pop(_SUM, None)
        if given is None:
            raise kind(f"{shown_path(path)}:{place}: the line has no checksum; {remedy}")
        if place == 1:
            check_file_version(content.get(_VERSION), what=f"{shown_path(path)}:1: the file", kind=kind)
        head = _next(head, content)
        if given != head or text != _text(content | {_SUM: head}):
            raise kind(
                f"{shown_path(path)}:{place}: the checksum does not fit: this line was changed, or lines before it "
                f"were inserted, removed or moved; {remedy}"
            )
        if place == 1:
            del content[_VERSION]
        lines.append(content)
    return Chain(lines=tuple(lines), end=end, head=head)


def append(
    file: IO[bytes],
    head: str,
    content: Mapping[str, Any],
    *,
    durable: bool,
    kind: type[BbedgeError] = EvaluationError,
) -> str:
    """Write a line and return its checksum. It then survives the end of this process, if ``durable`` a power failure.

    A line that is not durable is for what only has to be counted.
    """
    if head == _FIRST:
        content = {_VERSION: FILE_VERSION, **content}
    new = _next(head, content)
    try:
        file.write(_text({**content, _SUM: new}) + b"\n")
        file.flush()
        if durable:
            os.fsync(file.fileno())
    except OSError as error:
        raise kind(
            f"{shown_path(file.name)}: cannot be written ({error.strerror}); make room and run the same command again"
        ) from error
    return new


def damaged(path: Path, place: int, remedy: str, kind: type[BbedgeError] = EvaluationError) -> BbedgeError:
    """The error for a line that does not hold what it should."""
    return kind(f"{shown_path(path)}:{place}: the line is damaged; {remedy}")


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
        json.dumps(content, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _next(head: str, content: Mapping[str, Any]) -> str:
    return hashlib.sha256(head.encode("ascii") + b"\n" + _text(content)).hexdigest()


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
