"""``study.toml`` read key by key: what is missing, of the wrong type or unknown is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, cast, get_args

from bbedge.credentials import redacted
from bbedge.errors import FormatError
from bbedge.evaluate.usage import SpendingLimits
from bbedge.text import did_you_mean, quoted, shown

Copies = Literal["refuse", "allow"]
T = TypeVar("T")


class StudyTable:
    """A table and its place. Take every key out, then :meth:`finish`.

    >>> table = StudyTable({"budget": 3}, "study.toml")
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

    def _typed(
        self,
        key: str,
        default: T | None,
        kind: type[T] | tuple[type[T], ...],
        expected: str,
        allowed: Callable[[T], bool] = lambda value: True,
    ) -> T:
        """The value of a key, if it is of this kind and allowed; otherwise the message ends with what is expected."""
        value = self._take(key, default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool) or not allowed(value):
            raise FormatError(f"{self.at(key)} = {_given(value)}{expected}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not empty; a default may be."""
        expected = " is not a string; put it in quotes"
        return self._typed(key, default, str, expected, lambda value: bool(value.strip()) or value is default)

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of a few strings."""
        value = self.text(key, default)
        if value not in allowed:
            raise FormatError(f"{self.at(key)} = {quoted(value)} is not allowed; choose one of {', '.join(allowed)}")
        return value

    def whole(self, key: str, default: int | None = None, *, least: int) -> int:
        """A whole number."""
        return self._typed(
            key, default, int, f"; give a whole number of at least {least}", lambda value: value >= least
        )

    def number(self, key: str, default: float | None = None, *, least: float) -> float:
        """A number."""
        expected = f"; give a number of at least {least:g}"
        return float(self._typed(key, default, (int, float), expected, lambda value: value >= least))

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        return self._typed(key, default, bool, "; write true or false")

    def boolean(self, key: str) -> bool:
        """True or false; false where it is not given."""
        return self._typed(key, False, bool, "; give true or false")

    def words(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        expected = '; give a list of strings, for instance ["./harness", "--seed", "{seed}"]'
        return tuple(
            self._typed(key, None, list, expected, lambda words: bool(words) and all(isinstance(w, str) for w in words))
        )

    def texts(self, key: str) -> tuple[str, ...]:
        """A string, or a list of strings."""
        value = self._take(key, None)
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(each, str) and each.strip() for each in several):
            raise FormatError(f"{self.at(key)} = {_given(value)}; give a string or a list of strings")
        return tuple(several)

    def take(self, key: str) -> Any:  # noqa: ANN401 - any TOML value
        """Any value, or ``None`` where it is not given."""
        return self._take(key, None) if self.has(key) else None

    def mapping(self, key: str) -> dict[str, Any]:
        """A table of anything, or an empty one."""
        return self._typed(key, {}, dict, " is not a table")

    def table(self, key: str) -> StudyTable:
        """A table in this one, or an empty one."""
        return StudyTable(self.mapping(key), f"{self._source}: [{shown(key)}]")

    def tables(self, key: str, *, shorthand: str) -> list[StudyTable]:
        """A list of tables; a string in place of one stands for a table with that key alone."""
        value = self._take(key, None)
        if not isinstance(value, list) or not all(isinstance(row, str | dict) for row in value):
            raise FormatError(f"{self.at(key)}: give a list of strings, or one [[{key}]] for each")
        return [
            StudyTable({shorthand: row} if isinstance(row, str) else row, f"{self._source}: {key} {place}")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How the work is done. None of it changes what is measured, so all of it may change between calls."""

    retries: int = 3
    """How often failed samples are tried again before the study stops."""
    pause: float = 5.0
    """Seconds before the first of these tries; the next ones wait twice as long each, up to a minute."""
    connections: int | None = None
    """Requests to one model at a time; ``None`` leaves it to the engine."""
    timeout: float | None = None
    """Seconds after which a request, or a command, has failed."""
    request_retries: int = 5
    """How often the engine sends a failed request again before the sample fails."""
    workers: int = 1
    """Commands at a time."""
    copies: Copies = "refuse"
    """What to do about a replicate that repeats an earlier one answer by answer."""
    preflight: bool = True
    """Whether every model is asked a short question before the first sample."""


def read_running(table: StudyTable) -> Execution:
    """What ``[run]`` says."""
    defaults = Execution()
    running = Execution(
        retries=table.whole("retries", defaults.retries, least=0),
        pause=table.number("pause", defaults.pause, least=0.0),
        connections=table.whole("connections", least=1) if table.has("connections") else None,
        timeout=table.number("timeout", least=0.01) if table.has("timeout") else None,
        request_retries=table.whole("request_retries", defaults.request_retries, least=0),
        workers=table.whole("workers", defaults.workers, least=1),
        copies=cast("Copies", table.choice("copies", get_args(Copies), defaults.copies)),
        preflight=table.flag("preflight", default=defaults.preflight),
    )
    table.finish()
    if not math.isfinite(running.pause):
        raise FormatError(f"{table.at('pause')}: {running.pause} seconds; give a finite number")
    return running


def read_limits(top: StudyTable) -> SpendingLimits:
    """What the study says about money, tokens and time."""
    return SpendingLimits(
        max_cost=_positive(top, "max_cost"),
        max_tokens=top.whole("max_tokens", least=1) if top.has("max_tokens") else None,
        max_hours=_positive(top, "max_hours"),
    )


def _positive(top: StudyTable, key: str) -> float | None:
    if not top.has(key):
        return None
    value = top.number(key, least=0.0)
    if not value > 0.0 or not math.isfinite(value):
        raise FormatError(f"{top.at(key)} = {value:g}; give a number above 0")
    return value
