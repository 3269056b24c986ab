"""Every error that bbedge raises on purpose.

A bad input raises one of these, with a message that says what was given, what is allowed and what to do.
Anything else that escapes is a bug and keeps its traceback.

::

    BbedgeError
    ├── DomainError (ValueError)    an argument outside its range: alpha = 1.5
    ├── DesignError (ValueError)    parts of a design that do not fit together
    ├── BoardError                  a board that refuses, or that is damaged
    ├── EvaluationError             an evaluation that cannot begin or go on
    └── DataError (ValueError)      scores that cannot be used as they are
        └── FormatError             a file that cannot be read as what it should be
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


class BoardError(BbedgeError):
    """A board refuses what would break its guarantee, or is damaged."""


class EvaluationError(BbedgeError):
    """An evaluation cannot begin, or cannot go on before somebody has seen to something."""
