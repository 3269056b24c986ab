"""Logs that are a list of records: JSON lines or one JSON array, each record naming its model.

What the rows of such a log have in common, the runs in it, shows only when all of them have been seen once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Run
from bbedge.readers.logs.fields import digest, number, settings, text
from bbedge.readers.logs.files import JsonStream, objects
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

_HEAD = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of a file, one at a time."""

    path: str
    """Where the file is."""
    expected: str
    """What a record should be, for messages: ``a judgment of MT-Bench``."""
    form: Literal["lines", "array", "page"]
    """JSON lines, an array, or an object with the array under ``data``."""

    @classmethod
    def of(cls, path: str, *, expected: str, page: bool = False) -> Records:
        """Look at how a file begins; ``page`` says that an object holds the array."""
        with opened(path) as file:
            start = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        return cls(
            path=path, expected=expected, form="array" if start.startswith(b"[") else "page" if page else "lines"
        )

    @property
    def counts(self) -> Literal["line", "sample"]:
        """What the place of a record counts."""
        return "line" if self.form == "lines" else "sample"

    def at(self, place: int) -> str:
        """The file and the place, for messages."""
        name = shown_path(self.path)
        return f"{name}:{place}" if self.form == "lines" else f"{name}: sample {place}"

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every record with its place, from 1."""
        if self.form == "lines":
            yield from objects(self.path)
            return
        with opened(self.path) as file:
            stream = JsonStream(file, shown_path(self.path))
            if self.form == "array":
                yield from self._elements(stream)
            else:
                for key in stream.entries():
                    if key == "data" and stream.opens() == "[":
                        yield from self._elements(stream)
            stream.end()

    def _elements(self, stream: JsonStream) -> Iterator[tuple[int, dict[str, Any]]]:
        for place, row in enumerate(stream.elements(), start=1):
            if not isinstance(row, dict):
                raise FormatError(f"{self.at(place)}: {quoted(str(row))} is no object; expected {self.expected}")
            yield place, row

    def name(self, row: Mapping[str, Any], place: int, *keys: str) -> str:
        """The name under the first of these keys that is in a record; it must be there."""
        found = next((text(row[key]) for key in keys if row.get(key) is not None), None)
        if found is None or not found.strip():
            raise FormatError(f"{self.at(place)}: no {' or '.join(keys)} in this record; expected {self.expected}")
        return found

    def none(self) -> FormatError:
        """The error of a file without records."""
        return FormatError(f"{shown_path(self.path)}: no records in the file; expected {self.expected}")


def holds_no_score(glimpse: Glimpse, *known: str) -> bool:
    """Whether nothing in the first record could be a score; ``known`` are keys that are not, whatever they hold.

    A file that stands beside logs is passed over, so that a table of scores with the same keys must not look like one.
    """
    return all(
        value is None or isinstance(value, str | list) for key, value in glimpse.first.items() if key not in known
    )


Key = tuple[str | None, str]
"""A run of a log: the model, and the task or another name that distinguishes its runs."""


@dataclass(slots=True)
class _Seen:
    answers: set[str] = field(default_factory=set)
    first: float | None = None


@dataclass(slots=True)
class RunBook:
    """The runs in a log, collected from its records."""

    _seen: dict[Key, _Seen] = field(default_factory=dict)

    def add(self, key: Key, *, answer: object = None, when: object = None) -> None:
        """Remember what one record says: what was answered, and the time in seconds."""
        seen = self._seen.setdefault(key, _Seen())
        if answer is not None:
            seen.answers.add(digest(answer))
        time = number(when)
        if time is not None:
            seen.first = float(time) if seen.first is None else min(seen.first, float(time))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._seen)

    def __iter__(self) -> Iterator[Key]:
        """The runs, in the order in which they were met."""
        return iter(self._seen)

    def identity(self, key: Key) -> str:
        """A name of the run made from its answers, so that the same answers, also if judged again, are the same run.

        Where there are no answers it is made from the time of the first record, and empty without that, too.
        """
        seen = self._seen[key]
        what = sorted(seen.answers) or ([] if seen.first is None else [self.when(key)])
        return f"{key[0]} {digest(key, what)}" if what else ""

    def when(self, key: Key) -> str:
        """The time of the first record, as text that sorts by time."""
        first = self._seen[key].first
        return "" if first is None else f"{first:020.6f}"

    def runs(self, protocol: Mapping[Key, Mapping[str, object]]) -> dict[Key, Run]:
        """A run for each; ``protocol`` has settings that all runs should have in common."""
        return {
            key: Run(
                model=key[0],
                task=key[1],
                identity=self.identity(key),
                when=self.when(key),
                protocol=settings(protocol.get(key, {})),
            )
            for key in self
        }


def graded_by_itself(path: str, judges: Mapping[Key, set[str]]) -> tuple[str, ...]:
    """A note about models that judged their own answers."""
    own = sorted(model for (model, _), names in judges.items() if model is not None and model in names)
    if not own:
        return ()
    return (f"{shown_path(path)}: the judge of {listed(own)} is the model itself, which may favour its own answers.",)
