"""Asks models of lm-evaluation-harness a short question, in the Python that has it: ``lm_eval_question.py ORDER.json``.

The classes of the tool say where a request goes, with which key and in which form, so that they are asked and nothing
is guessed here. The request itself is sent without them: they would send one that fails again and again. Started as a
file, because that Python need not have bbedge: nothing of bbedge is imported here.
"""

from __future__ import annotations

import http.client
import importlib
import json
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

# Beside this file, also where it is copied to.
failure = importlib.import_module(f"{__package__}.lm_eval_failure" if __package__ else "lm_eval_failure")
Tell = Callable[[Mapping[str, Any]], None]


class Refused(Exception):  # noqa: N818 - an outcome
    """The server answered with an HTTP status that is an error."""

    def __init__(self, status: int, text: str, reason: str) -> None:
        super().__init__(failure.said(text) if text.strip() else reason)
        self.status = status


class Unusable(Exception):  # noqa: N818 - an outcome
    """The server answered, but not as such a server does."""


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
        model = made(question, {"tokenizer_backend": "none", "tokenized_requests": False})
        endpoint, variable, stage = model.base_url, failure.key_variable(model), "key"
        headers = model.header
        stage = "asking"
        tell({"name": name, "asked": endpoint})
        answer = posted(model, headers, question)
        tokens, served = answered(model, answer), answer.get("model") if isinstance(answer, dict) else None
        stage = "making"
        made(question, {})
    except Exception as error:  # whatever goes wrong is what the question is for
        tell({"name": name, "stage": stage, "failed": failure.facts(error, endpoint, variable)})
    else:
        tell({"name": name, "tokens": tokens, "seconds": time.monotonic() - began, "served": served})


def made(question: Mapping[str, Any], other: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a model of the tool
    """The model, as the tool makes it."""
    kind = importlib.import_module("lm_eval.api.registry").get_model(question["model"])
    return kind(**{**question["model_args"], **other})


def posted(model: Any, headers: Mapping[str, str], question: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Send the question once; the answer."""
    if not str(model.base_url).lower().startswith(("http://", "https://")):
        raise http.client.InvalidURL(f"{model.base_url} does not begin with http:// or https://")
    body = json.dumps(payload(model, question)).encode()
    # Some providers turn away the client library by its name.
    sent = {"Content-Type": "application/json", "User-Agent": "lm-evaluation-harness", **headers}
    request = urllib.request.Request(model.base_url, data=body, headers=sent)
    try:
        with opener(model).open(request, timeout=question["timeout"]) as response:
            text = response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(error.code, error.read().decode("utf-8", "replace"), error.reason) from None
    try:
        return json.loads(text)
    except ValueError:
        raise Unusable(f"the answer is not JSON: {text[:200]}") from None


def opener(model: Any) -> urllib.request.OpenerDirector:  # noqa: ANN401 - a model of the tool
    """What opens connections as the tool does: with its certificates, and its proxies."""
    context = ssl.create_default_context()
    if not model.verify_certificate:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # With several requests at a time the tool uses aiohttp, which knows nothing of proxies in the environment.
    proxies = {} if getattr(model, "_concurrent", 1) > 1 else urllib.request.getproxies()
    return urllib.request.build_opener(
        urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
    )


def payload(model: Any, question: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a model of the tool
    """The request as the type of model writes it: with messages where it writes them, otherwise with a prompt."""
    for asked in ([{"role": "user", "content": _QUESTION}], _QUESTION):
        settings = {"until": ["\n\n"], **question["generation"]}
        written: dict[str, Any] = model._create_payload(
            asked, generate=True, gen_kwargs=settings, seed=question["seed"]
        )
        if "messages" in written:
            break
    return written


def answered(model: Any, answer: Any) -> list[int]:  # noqa: ANN401 - a model of the tool, and JSON
    """The tokens that an answer states, read and written; raise if it is none."""
    if isinstance(answer, dict):
        if answer.get("error"):
            raise Unusable(failure.said(json.dumps(answer)))
        if not any(answer.get(key) for key in ("choices", "content", "text")):
            raise Unusable(f"the answer has no choices: {json.dumps(answer)[:200]}")
    failure.empty_answer.refuse_empty(answer)
    try:
        model.parse_generations(outputs=answer)
    except (LookupError, TypeError, AttributeError) as error:
        raise Unusable(f"{type(error).__name__} {error} in the answer: {json.dumps(answer)[:200]}") from None
    used = (answer.get("usage") if isinstance(answer, dict) else None) or {}
    return [
        next((used[key] for key in keys if isinstance(used.get(key), int)), 0)
        for keys in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]


if __name__ == "__main__":
    main(sys.argv[1])
