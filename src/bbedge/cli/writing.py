"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bbedge.errors import DataError
from bbedge.naming import shown_path


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write beside the target and move into place, so that a crash leaves the old file or the new one."""
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
        beside.replace(path)
    except OSError as error:
        raise DataError(f"{shown_path(path)}: cannot be written ({error.strerror}); choose another place") from error
