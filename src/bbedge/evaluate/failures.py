"""What went wrong with a request or a program, as facts: they are counted by kind, and the first of each is shown."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from bbedge.credentials import redacted, without_credentials
from bbedge.text import shown

ProblemKind = Literal[
    "no-connection",
    "credentials",
    "not-found",
    "refused",
    "rate-limit",
    "server",
    "timeout",
    "connection-lost",
    "answer",
    "empty",
    "program",
    "other",
]
"""No server listens at the address; the key is wrong or missing; there is no such model or path; the request is not
accepted as it is; too many requests; the server failed; no answer in time; the connection broke; the answer is not
that of such a server; the answer has no content; a program failed; anything else."""

_LASTING: frozenset[ProblemKind] = frozenset({"no-connection", "credentials", "not-found", "refused", "program"})
_PASSING: frozenset[ProblemKind] = frozenset({"rate-limit", "server"})
_LONGEST = 4000  # characters of a message
_EXCERPT = 300  # characters of an answer that is none
_BY_STATUS: dict[int, ProblemKind] = {
    401: "credentials",
    403: "credentials",
    404: "not-found",
    408: "timeout",
    429: "rate-limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One failure with its cause."""

    kind: ProblemKind
    """What kind of failure it is."""
    model: str
    """The model that was asked: its name on the board, or of a judge its model string."""
    message: str
    """What the server, the client library or the program said."""
    endpoint: str | None = None
    """The address that was asked, if it is known; :meth:`cleaned` removes credentials from it."""
    status: int | None = None
    """The HTTP status, if there was an answer."""
    output: tuple[str, ...] = ()
    """The last lines that a program wrote."""
    variable: str | None = None
    """The environment variable that holds the key, if it is known."""

    @property
    def key(self) -> tuple[str, str, str | None, int | None]:
        """What failures of the same kind have in common."""
        return self.kind, self.model, self.endpoint, self.status

    @property
    def lasting(self) -> bool:
        """Whether asking again would fail in the same way until something is changed."""
        return self.kind in _LASTING

    @property
    def passing(self) -> bool:
        """Whether the server itself says that it may answer later."""
        return self.kind in _PASSING

    def cleaned(self, secrets: Sequence[str]) -> Problem:
        """The same without credentials, and not too long for a journal or a terminal."""
        return replace(
            self,
            message=redacted(self.message[:_LONGEST], secrets),
            endpoint=None if self.endpoint is None else redacted(without_credentials(self.endpoint), secrets),
            output=tuple(redacted(line, secrets) for line in self.output),
        )


def kind_of_status(status: int) -> ProblemKind:
    """The kind of failure that an HTTP status stands for.

    >>> kind_of_status(401), kind_of_status(503), kind_of_status(422)
    ('credentials', 'server', 'refused')
    """
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "server" if status >= 500 else "refused" if status >= 400 else "answer"


def kind_of_failure(
    names: Set[str], status: int | None, *, unreachable: Set[str], broken: Sequence[str]
) -> ProblemKind:
    """The kind of a failed request, by the HTTP status or else by the names of the classes of its exceptions.

    Every client library has classes of its own: ``unreachable`` are those of a server that cannot be connected to, and
    ``broken`` are parts of the names of those of a connection that was lost.
    """
    if "EmptyAnswer" in names:
        return "empty"
    if status is not None:
        return kind_of_status(status)
    if names & unreachable:
        return "no-connection"
    if any("Timeout" in name for name in names):
        return "timeout"
    return "connection-lost" if any(part in name for name in names for part in broken) else "other"


def answer_excerpt(kind: ProblemKind, message: str) -> str:
    """A message; of an answer that is none, its beginning."""
    return message[:_EXCERPT] + "…" if kind == "answer" and len(message) > _EXCERPT else message


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCount:
    """How often a kind of failure was seen, with the first of its kind."""

    first: Problem
    """The first one."""
    count: int
    """How many there were, the first included."""


_WORDS: dict[ProblemKind, str] = {
    "no-connection": "no connection",
    "credentials": "key refused",
    "not-found": "not found",
    "refused": "request refused",
    "rate-limit": "too many requests",
    "server": "server error",
    "timeout": "no answer in time",
    "connection-lost": "connection lost",
    "answer": "not an answer of such a server",
    "empty": "no answer",
    "program": "the program failed",
    "other": "failed",
}
_PATH = "which usually ends in /v1 (with lm_eval in /v1/chat/completions or /v1/completions)"
_ADVICE: dict[ProblemKind, str] = {
    "no-connection": "check the address and the port in base_url, and that the server runs",
    "credentials": "set the environment variable {variable} to a key that the server accepts",
    "not-found": f"check the name of the model and the path of base_url, {_PATH}",
    "refused": "check config and args of the model",
    "timeout": "raise timeout under [run] if the server needs longer",
    "answer": f"check the path of base_url, {_PATH}",
}


def described(problem: Problem, *, width: int = 300) -> str:
    """A failure as a line of text, followed by the last lines of a program's output.

    >>> described(Problem(kind="credentials", model="a", message="bad key", endpoint="http://h/v1", status=401))
    'a at http://h/v1: key refused (HTTP 401): bad key'
    """
    place = f" at {shown(problem.endpoint, 200)}" if problem.endpoint else ""
    status = f" (HTTP {problem.status})" if problem.status is not None else ""
    line = f"{shown(problem.model)}{place}: {_WORDS[problem.kind]}{status}: {shown(problem.message, width)}"
    return "\n    | ".join([line, *problem.output])


def advice(problem: Problem) -> str:
    """What to do about a failure, or nothing.

    >>> advice(Problem(kind="credentials", model="a", message="bad key", variable="OPENAI_API_KEY"))
    'set the environment variable OPENAI_API_KEY to a key that the server accepts'
    """
    return _ADVICE.get(problem.kind, "").replace("{variable}", problem.variable or "that the provider reads")


def counted_lines(counts: Sequence[ProblemCount], *, most: int = 5) -> list[str]:
    """Every kind of failure with its number, the most frequent first."""
    ordered = sorted(counts, key=lambda each: -each.count)
    lines = [f"{each.count:,} x {described(replace(each.first, output=()))}" for each in ordered[:most]]
    return lines + ([f"and {len(ordered) - most} other kinds"] if len(ordered) > most else [])
