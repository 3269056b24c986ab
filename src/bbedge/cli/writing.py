"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbedge.errors import DataError
from bbedge.naming import shown_path

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write beside the target and move into place, so that a crash leaves the old file or the new one."""
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
        beside.replace(path)
    except OSError as error:
        raise DataError(f"{shown_path(path)}: cannot be written ({error.strerror}); choose another place") from error


def write_arrays(path: Path, arrays: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Write arrays, one after the other, to a file that ``numpy.load`` reads; whole or not at all."""
    from zipfile import ZipFile, ZipInfo

    from numpy.lib.format import write_array

    beside = path.with_name(path.name + ".part")
    try:
        with ZipFile(beside, "w") as archive:
            for name, array in arrays:
                # A date of its own would make two files of the same arrays differ.
                with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                    write_array(entry, array, allow_pickle=False)
        beside.replace(path)
    except OSError as error:
        raise DataError(f"{shown_path(path)}: cannot be written ({error.strerror}); choose another place") from error
