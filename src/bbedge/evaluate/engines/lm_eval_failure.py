"""What is known of a failed request, for the files that run in the Python of lm-evaluation-harness.

Copied beside them, because that Python need not have bbedge: nothing of bbedge is imported here.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_DEEPEST = 8  # causes of causes
_LONGEST = 1000  # characters
_KEY = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)")

# Beside this file, also where it is copied to.
empty_answer = importlib.import_module(f"{__package__}.empty_answer" if __package__ else "empty_answer")


def watch_requests(kind: Any, path: Path) -> None:  # noqa: ANN401 - a class of the tool
    """Write down every failed request of a type of models as it happens: the tool only sends it again."""

    def failed(error: Exception, model: object) -> None:
        error.was_heard = True  # type: ignore[attr-defined]
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts(error, getattr(model, "base_url", None), key_variable(model))) + "\n")

    if hasattr(kind, "model_call"):
        send: Callable[..., Any] = kind.model_call

        def model_call(model: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool has it
            try:
                answer = send(model, *args, **kwargs)
                empty_answer.refuse_empty(answer)
            except Exception as error:
                failed(error, model)
                raise
            return answer

        kind.model_call = model_call
    if hasattr(kind, "amodel_call"):
        send_later: Callable[..., Any] = kind.amodel_call

        async def amodel_call(model: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool has it
            try:
                return await send_later(model, *args, **kwargs)
            except Exception as error:
                # Once one request has failed for good, the session is closed and the others break off.
                if not getattr(kwargs.get("session"), "closed", False):
                    failed(error, model)
                raise

        kind.amodel_call = amodel_call
        keep_bodies()


def was_heard(error: BaseException) -> bool:
    """Whether an exception is one of these failures."""
    return getattr(error, "was_heard", False)


def keep_bodies() -> None:
    """Have exceptions of aiohttp hold what the server said: the tool has read it by then, and they lack it."""
    response: Any = importlib.import_module("aiohttp").ClientResponse
    refuse = response.raise_for_status

    def raise_for_status(self: Any) -> None:  # noqa: ANN401 - as aiohttp has it
        try:
            refuse(self)
        except Exception as error:
            body = getattr(self, "_body", None)
            if isinstance(body, bytes):
                error.body = body.decode("utf-8", "replace")  # type: ignore[attr-defined]
            raise

    response.raise_for_status = raise_for_status


def key_variable(model: object) -> str | None:
    """The environment variable that a type of models reads its key from, as its code names it."""
    found = getattr(type(model), "api_key", None)
    code = getattr(getattr(found, "fget", None) or getattr(found, "func", None), "__code__", None)
    texts = [each for each in getattr(code, "co_consts", ()) if isinstance(each, str)]
    return next((each for each in texts if _KEY.fullmatch(each)), None)


def facts(error: BaseException, endpoint: object, variable: str | None = None) -> dict[str, Any]:
    """The classes, the HTTP status and the message of an exception of an HTTP client."""
    causes = chain(error)
    return {
        "names": sorted({kind.__name__ for each in causes for kind in type(each).__mro__}),
        "status": next((found for each in causes if (found := status(each)) is not None), None),
        "message": message(causes)[:_LONGEST],
        "endpoint": None if endpoint is None else str(endpoint),
        "variable": variable,
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
    text = getattr(causes[0], "body", None) or getattr(getattr(causes[0], "response", None), "text", None)
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
