"""What is known of a failed request, for the files that run in the Python of lm-evaluation-harness.

Copied beside them, because that Python need not have bbedge: nothing of bbedge is imported here.
"""

from __future__ import annotations

import json
from typing import Any

_DEEPEST = 8  # causes of causes
_LONGEST = 1000  # characters


def facts(error: BaseException, endpoint: object) -> dict[str, Any]:
    """The classes, the HTTP status and the message of an exception of an HTTP client."""
    causes = chain(error)
    return {
        "names": sorted({kind.__name__ for each in causes for kind in type(each).__mro__}),
        "status": next((found for each in causes if (found := status(each)) is not None), None),
        "message": message(causes)[:_LONGEST],
        "endpoint": None if endpoint is None else str(endpoint),
    }


def chain(error: BaseException) -> list[BaseException]:
    """An exception and what caused it, outermost first; urllib3 has causes as arguments and reasons."""
    found: list[BaseException] = []
    todo: list[object] = [error]
    while todo and len(found) < _DEEPEST:
        each = todo.pop(0)
        if isinstance(each, BaseException) and each not in found:
            found.append(each)
            todo += [each.__cause__, getattr(each, "reason", None), *each.args, each.__context__]
    return found


def status(error: BaseException) -> int | None:
    """The HTTP status: requests has it on the answer, aiohttp on the exception."""
    for owner, name in ((getattr(error, "response", None), "status_code"), (error, "status")):
        found = getattr(owner, name, None)
        if isinstance(found, int):
            return found
    return None


def message(causes: list[BaseException]) -> str:
    """What the server said; without an answer, what the system said, and otherwise the exception."""
    text = getattr(getattr(causes[0], "response", None), "text", None)
    if isinstance(text, str) and text.strip():
        return said(text)
    system = [each for each in causes if isinstance(each, OSError) and type(each).__module__ in ("builtins", "socket")]
    if system and not isinstance(system[0], TimeoutError) and causes[0] is not system[0]:
        return f"Connection error ({system[0]})"
    return str(getattr(causes[0], "message", None) or causes[0]) or type(causes[0]).__name__


def said(text: str) -> str:
    """The message in the body of an answer."""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return error if isinstance(error, str) else json.dumps(error)
