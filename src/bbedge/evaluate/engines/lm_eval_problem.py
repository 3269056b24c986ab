"""What the files that run in the Python of lm-evaluation-harness report of a failed request, as a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbedge.evaluate.problem import Problem, ProblemKind, kind_of_status

_SHOWN = 300  # characters of an answer that is none
# By the names of exceptions: requests, urllib3 and aiohttp have classes of their own.
_NO_CONNECTION = frozenset({
    "ClientConnectorError", "ConnectTimeout", "ConnectionRefusedError", "ConnectionTimeoutError", "gaierror",
    "InvalidSchema", "InvalidURL", "MissingSchema", "NameResolutionError", "NewConnectionError", "ProxyError",
    "SSLError",
})  # fmt: skip
_NO_ANSWER = frozenset({"ContentTypeError", "JSONDecodeError", "Unusable"})
_BROKEN = ("Connection", "Disconnected", "Protocol", "ChunkedEncodingError", "ClientPayloadError")


def problem_of(facts: Mapping[str, Any], *, model: str, stage: str = "asking") -> Problem:
    """The problem that a failed request is, at some stage: ``making`` the model, reading its ``key``, or ``asking``."""
    names, status = frozenset(facts["names"]), facts["status"]
    kind: ProblemKind = "program" if stage == "making" else "credentials" if stage == "key" else _kind(names, status)
    message = " ".join(str(facts["message"]).split())
    if stage == "making":
        message = f"lm_eval cannot make the model: {message}"
    if kind == "answer" and len(message) > _SHOWN:
        message = message[:_SHOWN] + "…"
    endpoint, variable = facts["endpoint"], facts["variable"]
    return Problem(kind=kind, model=model, message=message, endpoint=endpoint, status=status, variable=variable)


def _kind(names: frozenset[str], status: int | None) -> ProblemKind:
    if "EmptyAnswer" in names:
        return "empty"
    if names & _NO_ANSWER:
        return "answer"
    if status is not None:
        return kind_of_status(status)
    if names & _NO_CONNECTION:
        return "no-connection"
    if any("Timeout" in name for name in names):
        return "timeout"
    return "connection-lost" if any(part in name for name in names for part in _BROKEN) else "other"
