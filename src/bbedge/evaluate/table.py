"""A TOML table read key by key: what is missing, of the wrong type or unknown is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from bbedge.credentials import redacted
from bbedge.errors import FormatError
from bbedge.text import did_you_mean, quoted, shown


class Table:
    """A table and its place. Take every key out, then :meth:`finish`.

    >>> table = Table({"budget": 3}, "study.toml")
    >>> table.whole("budget", least=1)
    3
    >>> table.finish()
    """

    def __init__(self, values: Mapping[str, Any], source: str) -> None:
        self._values, self._source = dict(values), source
        self._known: list[str] = []

    def at(self, key: str) -> str:
        """The place of a key, for a message."""
        return f"{self._source}: {shown(key)}"

    def has(self, key: str) -> bool:
        """Whether the table has the key."""
        self._known.append(key)
        return key in self._values

    def left(self) -> tuple[str, ...]:
        """The keys that were not taken yet."""
        return tuple(self._values)

    def _take(self, key: str, default: Any) -> Any:  # noqa: ANN401 - any TOML value
        self._known.append(key)
        if key not in self._values and default is None:
            near = get_close_matches(key, self._values, n=1, cutoff=0.75)
            written = (
                f"; did you write it as {quoted(near[0])}?" if near else "; see docs/evaluate.md for what it takes"
            )
            raise FormatError(f"{self.at(key)} is missing{written}")
        return self._values.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not empty; a default may be."""
        value = self._take(key, default)
        if not isinstance(value, str) or (not value.strip() and value is not default):
            raise FormatError(f"{self.at(key)} = {_given(value)} is not a string; put it in quotes")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of a few strings."""
        value = self.text(key, default)
        if value not in allowed:
            raise FormatError(f"{self.at(key)} = {quoted(value)} is not allowed; choose one of {', '.join(allowed)}")
        return value

    def whole(self, key: str, default: int | None = None, *, least: int) -> int:
        """A whole number."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise FormatError(f"{self.at(key)} = {_given(value)}; give a whole number of at least {least}")
        return value

    def number(self, key: str, default: float | None = None, *, least: float) -> float:
        """A number."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
            raise FormatError(f"{self.at(key)} = {_given(value)}; give a number of at least {least:g}")
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise FormatError(f"{self.at(key)} = {_given(value)}; write true or false")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self._take(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
            raise FormatError(
                f"{self.at(key)} = {_given(value)}; give a list of strings, for instance "
                '["./harness", "--seed", "{seed}"]'
            )
        return tuple(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A string, or a list of strings."""
        value = self._take(key, None)
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(each, str) and each.strip() for each in several):
            raise FormatError(f"{self.at(key)} = {_given(value)}; give a string or a list of strings")
        return tuple(several)

    def boolean(self, key: str) -> bool:
        """True or false; false where it is not given."""
        value = self._take(key, False)
        if not isinstance(value, bool):
            raise FormatError(f"{self.at(key)} = {_given(value)}; give true or false")
        return value

    def take(self, key: str) -> Any:  # noqa: ANN401 - any TOML value
        """Any value, or ``None`` where it is not given."""
        return self._take(key, None) if self.has(key) else None

    def mapping(self, key: str) -> dict[str, Any]:
        """A table of anything, or an empty one."""
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise FormatError(f"{self.at(key)} = {_given(value)} is not a table")
        return value

    def table(self, key: str) -> Table:
        """A table in this one, or an empty one."""
        return Table(self.mapping(key), f"{self._source}: [{shown(key)}]")

    def tables(self, key: str, *, shorthand: str) -> list[Table]:
        """A list of tables; a string in place of one stands for a table with that key alone."""
        value = self._take(key, None)
        if not isinstance(value, list) or not all(isinstance(row, str | dict) for row in value):
            raise FormatError(f"{self.at(key)}: give a list of strings, or one [[{key}]] for each")
        return [
            Table({shorthand: row} if isinstance(row, str) else row, f"{self._source}: {key} {place}")
            for place, row in enumerate(value, start=1)
        ]

    def finish(self) -> None:
        """Refuse keys that are not known."""
        if self._values:
            unknown, known = next(iter(self._values)), dict.fromkeys(self._known)
            what = did_you_mean(unknown, known) or f"; allowed are {', '.join(known)}"
            raise FormatError(f"{self._source}: unknown key {quoted(unknown)}{what}")


def _given(value: object) -> str:
    return shown(redacted(repr(value)))
