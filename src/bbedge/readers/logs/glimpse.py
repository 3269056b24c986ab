"""The beginning of a file, from which readers recognise it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.json_stream import JsonStream
from bbedge.readers.logs.zipped import member_names
from bbedge.readers.opening import opened, told

_HEAD = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """What can be told of a file without reading it all. Nothing here raises on strange content."""

    path: str
    """Where the file is."""
    head: bytes = field(repr=False)
    """Its first bytes, unpacked if it is gzipped."""

    @classmethod
    def of(cls, path: str) -> Glimpse:
        """Look at a file that exists."""
        try:
            with told(path), opened(path) as file:
                head = file.read(_HEAD)
        except FormatError:
            # Not the gzip file that its name says; whoever reads it will complain properly.
            with told(path), Path(path).open("rb") as file:
                head = file.read(_HEAD)
        return cls(path=path, head=head.removeprefix(b"\xef\xbb\xbf"))

    @property
    def name(self) -> str:
        """The file's own name."""
        return Path(self.path).name

    @cached_property
    def members(self) -> frozenset[str]:
        """The names in a zip archive; empty if it is none."""
        return member_names(self.path) if self.head.startswith(b"PK") else frozenset()

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of a Parquet file; empty if it is none."""
        if not self.head.startswith(b"PAR1"):
            return frozenset()
        from bbedge.readers.tables.frames import ParquetFile

        try:
            return frozenset(ParquetFile(path=self.path).columns())
        except FormatError:
            return frozenset()

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first object: of a JSON file, of JSON lines or of an array. What did not fit has the value None."""
        return _first_object(self.head)

    def has(self, *keys: str) -> bool:
        """Whether the first object has all these keys."""
        return all(key in self.first for key in keys)


def _first_object(head: bytes) -> dict[str, Any]:
    start = head[:64].lstrip()
    if not start.startswith((b"{", b"[")):
        return {}
    # A key that comes twice is for the reader to refuse: a log that is not recognised would be passed over.
    stream = JsonStream(io.BytesIO(head.lstrip().removeprefix(b"[")), "the beginning", unique=False)
    found: dict[str, Any] = {}
    try:
        for key in stream.entries():
            found[key] = None
            found[key] = stream.value()
    except (FormatError, json.JSONDecodeError):
        # The head ends somewhere in the object, or it is no JSON after all.
        pass
    return found
