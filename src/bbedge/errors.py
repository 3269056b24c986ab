"""Every error that bbedge raises on purpose.

A bad input raises one of these, with a message that says what was given, what is allowed and what to do.
Anything else that escapes is a bug and keeps its traceback.

::

    BbedgeError
    ├── DomainError (ValueError)    an argument outside its range: alpha = 1.5
    ├── DesignError (ValueError)    parts of a design that do not fit together
    ├── BoardError                  a board that refuses, or that is damaged
    │   └── NoBoardError            a place where no board has been made yet
    ├── EvaluationError             an evaluation that cannot begin or go on
    └── DataError (ValueError)      scores that cannot be used as they are
        ├── FormatError             a file that cannot be read as what it should be
        └── CopiedReplicateError    replicates that repeat each other, and no word that they count
"""


class BbedgeError(Exception):
    """Base of all errors raised on purpose."""


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

    def __init__(self, what: str, *, remedy: str = "") -> None:
        self.what = what
        """Which replicates repeat which."""
        self.remedy = remedy
        """What else can be done about it."""
        super().__init__(self.explained("copies='allow'"))

    def explained(self, allow: str) -> str:
        """The whole message; ``allow`` is how the caller can say that such replicates count."""
        other = f" {self.remedy}" if self.remedy else ""
        return (
            f"{self.what} Likely causes: greedy decoding, a cache that repeats its answers, or a copied file. If it is "
            f"a copy, remove it.{other} If every replicate was run separately, count them all with {allow}; the result "
            "then states it. Do not run again only because the scores repeat: that selects replicates by their scores"
        )


class BoardError(BbedgeError):
    """A board refuses what would break its guarantee, or is damaged."""


class NoBoardError(BoardError):
    """No board has been made at this place."""


class EvaluationError(BbedgeError):
    """An evaluation cannot begin, or cannot go on before somebody has seen to something."""
