"""Requests to models of lm-evaluation-harness, in the Python that has it: a short question, and failures written down.

``lm_eval_requests.py ORDER.json`` asks the question. The classes of the tool say where a request goes, with which key
and in which form, so that they are asked and nothing is guessed here. The request itself is sent without them: they
would send one that fails again and again. Started as a file and copied beside the driver, because that Python need not
have bbedge: nothing of bbedge is imported here.
"""

from __future__ import annotations

import http.client
import importlib
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

_QUESTION = "Reply with the word ok."
_AT_ONCE = 32
_LOCK = Lock()
_DEEPEST = 8  # causes of causes
_LONGEST = 1000  # characters
_KEY = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)")

_SAID = ("tool_calls", "function_call", "refusal", "reasoning", "reasoning_content", "reasoning_details", "audio")
_CUT_OFF = "length"
Tell = Callable[[Mapping[str, Any]], None]


class Refused(Exception):  # noqa: N818 - an outcome
    """The server answered with an HTTP status that is an error."""

    def __init__(self, status: int, text: str, reason: str) -> None:
        super().__init__(message_in_body(text) if text.strip() else reason)
        self.status = status


class Unusable(Exception):  # noqa: N818 - an outcome
    """The server answered, but not as such a server does."""


class EmptyAnswer(ValueError):  # noqa: N818 - an outcome
    """The server answered, but its message has no content."""


def refuse_empty(answer: Any) -> None:  # noqa: ANN401 - JSON
    """Raise if the first choice of an answer in the form of OpenAI's has ``null`` in place of its content.

    A tool call, a refusal and reasoning are answers without content, and so is one that the limit on tokens has cut
    off: the model has used its tokens. An empty text is an answer.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("finish_reason") == _CUT_OFF:
        return
    message = choice.get("message")
    if isinstance(message, dict):
        is_empty = message.get("content") is None and not any(message.get(key) for key in _SAID)
    else:
        is_empty = "text" in choice and choice["text"] is None
    if is_empty:
        reason = str(choice.get("finish_reason"))[:40]
        raise EmptyAnswer(f"the content of the message is null (finish_reason {reason})")


def main(order_file: str) -> None:
    """Ask every model of the order, all at once, and write what is heard line by line."""
    order = json.loads(Path(order_file).read_text(encoding="utf-8"))
    importlib.import_module("lm_eval.models")
    with Path(order["heard"]).open("a", encoding="utf-8") as file:

        def tell(what: Mapping[str, Any]) -> None:
            with _LOCK:
                file.write(json.dumps(what) + "\n")
                file.flush()

        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            for future in [pool.submit(ask, question, tell) for question in order["questions"]]:
                future.result()


def ask(question: Mapping[str, Any], tell: Tell) -> None:
    """Ask one model; its answer or its failure is one line."""
    name, began = question["name"], time.monotonic()
    endpoint, variable, stage = question["model_args"].get("base_url"), None, "making"
    try:
        # Without a tokenizer, which may come from the server: a wrong address would show as a missing tokenizer.
        model = make_model(question, {"tokenizer_backend": "none", "tokenized_requests": False})
        endpoint, variable, stage = model.base_url, key_variable(model), "key"
        headers = model.header
        stage = "asking"
        tell({"name": name, "asked": endpoint})
        answer = post_question(model, headers, question)
        tokens, served = tokens_of_answer(model, answer), answer.get("model") if isinstance(answer, dict) else None
        stage = "making"
        make_model(question, {})
    except Exception as error:  # whatever goes wrong is what the question is for
        tell({"name": name, "stage": stage, "failed": facts(error, endpoint, variable)})
    else:
        tell({"name": name, "tokens": tokens, "seconds": time.monotonic() - began, "served": served})


def make_model(question: Mapping[str, Any], other: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a model of the tool
    """The model, as the tool makes it."""
    registry = importlib.import_module("lm_eval.api.registry")
    return registry.get_model(question["model"])(**{**question["model_args"], **other})


def post_question(model: Any, headers: Mapping[str, str], question: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Send the question once; the answer."""
    if not str(model.base_url).lower().startswith(("http://", "https://")):
        raise http.client.InvalidURL(f"{model.base_url} does not begin with http:// or https://")
    # Some providers turn away the client library by its name.
    sent = {"Content-Type": "application/json", "User-Agent": "lm-evaluation-harness", **headers}
    body = json.dumps(question_payload(model, question)).encode()
    request = urllib.request.Request(model.base_url, data=body, headers=sent)
    try:
        with url_opener(model).open(request, timeout=question["timeout"]) as response:
            text = response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(error.code, error.read().decode("utf-8", "replace"), error.reason) from None
    try:
        return json.loads(text)
    except ValueError:
        raise Unusable(f"the answer is not JSON: {text[:200]}") from None


def url_opener(model: Any) -> urllib.request.OpenerDirector:  # noqa: ANN401 - a model of the tool
    """What opens connections as the tool does: with its certificates, and its proxies."""
    context = ssl.create_default_context()
    if not model.verify_certificate:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # With several requests at a time the tool uses aiohttp, which knows nothing of proxies in the environment.
    proxies = {} if getattr(model, "_concurrent", 1) > 1 else urllib.request.getproxies()
    return urllib.request.build_opener(
        urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
    )


def question_payload(model: Any, question: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a model of the tool
    """The request as the type of model writes it: with messages where it writes them, otherwise with a prompt."""
    for asked in ([{"role": "user", "content": _QUESTION}], _QUESTION):
        settings = {"until": ["\n\n"], **question["generation"]}
        written: dict[str, Any] = model._create_payload(
            asked, generate=True, gen_kwargs=settings, seed=question["seed"]
        )
        if "messages" in written:
            break
    return written


def tokens_of_answer(model: Any, answer: Any) -> list[int]:  # noqa: ANN401 - a model of the tool, and JSON
    """The tokens that an answer states, read and written; raise if it is none."""
    if isinstance(answer, dict):
        if answer.get("error"):
            raise Unusable(message_in_body(json.dumps(answer)))
        if not any(answer.get(key) for key in ("choices", "content", "text")):
            raise Unusable(f"the answer has no choices: {json.dumps(answer)[:200]}")
    refuse_empty(answer)
    try:
        model.parse_generations(outputs=answer)
    except (LookupError, TypeError, AttributeError) as error:
        raise Unusable(f"{type(error).__name__} {error} in the answer: {json.dumps(answer)[:200]}") from None
    return stated_tokens(answer)


def stated_tokens(answer: Any) -> list[int]:  # noqa: ANN401 - JSON
    """The tokens that an answer states, read and written; none where it states nothing."""
    used = (answer.get("usage") if isinstance(answer, dict) else None) or {}
    return [
        next((used[key] for key in keys if isinstance(used.get(key), int)), 0)
        for keys in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]


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
                refuse_empty(answer)
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
    causes = causes_of(error)
    return {
        "names": sorted({kind.__name__ for each in causes for kind in type(each).__mro__}),
        "status": next((found for each in causes if (found := http_status(each)) is not None), None),
        "message": message_of(causes)[:_LONGEST],
        "endpoint": None if endpoint is None else str(endpoint),
        "variable": variable,
    }


def causes_of(error: BaseException) -> list[BaseException]:
    """An exception and what caused it, outermost first; urllib3 has causes as arguments and reasons."""
    found: list[BaseException] = []
    todo: list[object] = [error]
    while todo and len(found) < _DEEPEST:
        each = todo.pop(0)
        if isinstance(each, BaseException) and each not in found:
            found.append(each)
            todo += [each.__cause__, getattr(each, "reason", None), *each.args, each.__context__]
    return found


def http_status(error: BaseException) -> int | None:
    """The HTTP status: requests has it on the answer, aiohttp on the exception."""
    found = (getattr(getattr(error, "response", None), "status_code", None), getattr(error, "status", None))
    return next((each for each in found if isinstance(each, int)), None)


def message_of(causes: list[BaseException]) -> str:
    """What the server said; without an answer, what the system said, and otherwise the exception."""
    text = getattr(causes[0], "body", None) or getattr(getattr(causes[0], "response", None), "text", None)
    if isinstance(text, str) and text.strip():
        return message_in_body(text)
    system = [each for each in causes if isinstance(each, OSError) and type(each).__module__ in ("builtins", "socket")]
    if system and not isinstance(system[0], TimeoutError) and causes[0] is not system[0]:
        return f"Connection error ({system[0]})"
    return str(getattr(causes[0], "message", None) or causes[0]) or type(causes[0]).__name__


def message_in_body(text: str) -> str:
    """The message in the body of an answer."""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return error if isinstance(error, str) else json.dumps(error)


if __name__ == "__main__":
    main(sys.argv[1])
