"""Every error that bbedge raises on purpose.

A bad input raises one of these, with a message that says what was given, what is allowed and what to do.
Anything else that escapes is a bug and keeps its traceback.

A message that names an argument holds it as an :class:`Argument`, so that ``str(error)`` writes ``blocks='one'`` and
the command line ``--blocks one``.

::

    BbedgeError
    ├── DomainError (ValueError)    an argument outside its range: alpha = 1.5
    ├── DesignError (ValueError)    parts of a design that do not fit together
    ├── BoardError                  a board that refuses, or that is damaged
    │   ├── NoBoardError            a place where no board has been made yet
    │   └── HistoryError            a ledger that is not the one whose heads were published
    │       ├── RolledBackError     published events are missing at its end
    │       ├── RewrittenError      other events are in the place of published ones
    │       └── ForkedError         two heads of one number were published
    ├── EvaluationError             an evaluation that cannot begin or go on
    │   └── ReportedError           one whose causes its watcher has been shown
    └── DataError (ValueError)      scores that cannot be used as they are
        ├── FormatError             a file that cannot be read as what it should be
        └── CopiedReplicateError    replicates that repeat each other, and no word that they count
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

CONTRADICTION_EXIT_CODE = 5
"""What a command exits with where certificates or bounds contradict each other."""


_OPPOSITES = {"less_is_better": "more_is_better"}
_IN_ONE_WORD = ("looks", "look_weights")  # lists of numbers with commas between them


class Blank(str):
    """A word that stands for a value to fill in: ``NAME``, written without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that a message names, with the value to give it if there is one.

    >>> str(Argument("blocks", "one")), str(Argument("column", {"item": Blank("NAME")})), str(Argument("blocks"))
    ("blocks='one'", "column={'item': NAME}", 'blocks')
    """

    name: str
    """Its name in Python."""
    value: object = None
    """A text, a tuple, a mapping or a :class:`Blank`."""

    def __str__(self) -> str:
        """The argument as Python code."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"

    @property
    def words(self) -> list[str]:
        """The option of the command line as words, each of which may have to be quoted for a shell.

        >>> Argument("column", {"item": "my task"}).words, Argument("score_range", (0.0, 10.0)).words
        (['--column', 'item=my task'], ['--score-range', '0', '10'])
        >>> Argument("metric", ("a", "b")).words, Argument("metric_range", {"wer": (1.0, 0.0)}).words
        (['--metric', 'a', '--metric', 'b'], ['--metric-range', 'wer=1:0'])
        >>> Argument("looks", (5, 10)).words, Argument("look_weights", (0.3, 0.7)).words
        (['--looks', '5,10'], ['--look-weights', '0.3,0.7'])
        >>> Argument("less_is_better", True).words, Argument("less_is_better", False).words
        (['--less-is-better'], ['--more-is-better'])
        """
        value, name = self.value, self.name if self.value is not False else _OPPOSITES[self.name]
        option = f"--{name.replace('_', '-')}"
        if value is None or isinstance(value, bool):
            return [option]
        if isinstance(value, Mapping):
            value = tuple(f"{key}={as_word(each)}" for key, each in value.items())
        values = value if isinstance(value, tuple) else (value,)
        if self.name in _IN_ONE_WORD:
            return [option, ",".join(map(as_word, values))]
        # Several texts are given one by one, numbers and the words that stand for them together.
        if all(type(each) is str for each in values):
            return [word for each in values for word in (option, each)]
        return [option, *map(as_word, values)]


def as_word(value: object) -> str:
    """A value as people write it on a command line: 2 for 2.0, and a range as 1:0."""
    if isinstance(value, tuple):
        return ":".join(map(as_word, value))
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


Part = str | Argument
"""A piece of a message."""


class BbedgeError(Exception):
    """Base of all errors raised on purpose."""

    exit_code: ClassVar[int] = 2
    """What a command ends with."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        """The message, with every argument as Python code."""
        return self.render(str)

    def render(self, write: Callable[[Argument], str]) -> str:
        """The message, with every argument as ``write`` writes it."""
        return "".join(part if isinstance(part, str) else write(part) for part in self.args)


class DomainError(BbedgeError, ValueError):
    """An argument lies outside the range in which it means something."""


class DesignError(BbedgeError, ValueError):
    """The parts of a design contradict each other."""


class DataError(BbedgeError, ValueError):
    """The scores cannot be used as they are."""


class FormatError(DataError):
    """A file cannot be read as the kind of file it should be."""


class CopiedReplicateError(DataError):
    """Replicates repeat each other score by score, and the design does not say that such replicates count."""

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what, self.remedy = what, remedy
        """Which replicates repeat which, and what else can be done about it."""
        super().__init__(
            f"{what} Likely causes: greedy decoding, a cache that repeats its answers, or a copied file. If it is a "
            f"copy, remove it.{remedy and f' {remedy}'} If every replicate was run separately, count them all with ",
            Argument("copies", "allow"),
            "; the result then states it. Do not run again only because the scores repeat: that selects replicates by "
            "their scores",
        )

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Pickle the arguments, not the message made from them."""
        return type(self), (self.what, self.remedy)


class BoardError(BbedgeError):
    """A board refuses what would break its guarantee, or is damaged."""


def refuse_unless(holds: bool, *problem: Part) -> None:
    """Refuse what does not hold on a board or a gate's ledger, with a :class:`BoardError` that says the problem."""
    if not holds:
        raise BoardError(*problem)


class NoBoardError(BoardError):
    """No board has been made at this place."""


class HistoryError(BoardError):
    """A ledger is not the one whose heads were published."""


class RolledBackError(HistoryError):
    """Published events are missing at the end of a ledger."""

    exit_code = 7


class RewrittenError(HistoryError):
    """Other events are in the place of published ones."""

    exit_code = 8


class ForkedError(HistoryError):
    """Two different heads of one number were published."""

    exit_code = 9


class EvaluationError(BbedgeError):
    """An evaluation cannot start or continue until the cause is fixed."""


class ReportedError(EvaluationError):
    """An evaluation ends because of failures that it has reported as events."""

    def __init__(self, message: str, brief: str) -> None:
        super().__init__(message)
        self.brief = brief
        """The message without the failures, for whoever has seen the events."""

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Pickle both messages."""
        return type(self), (str(self), self.brief)


def raise_first(kind: type[BbedgeError], *problems: tuple[object, str]) -> None:
    """Raise an error with the first sentence whose condition holds; nothing happens if none does."""
    for is_so, what in problems:
        if is_so:
            raise kind(what)
