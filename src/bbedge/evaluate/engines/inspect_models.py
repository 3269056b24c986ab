"""The models of the Inspect engine: made with a key or without, listened to, and asked a short question.

Inspect asks a model's ``should_retry`` about every exception of a request before it waits or gives up. Listening there
shows a failure with its cause at once, while the sample's own error comes only after all retries.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from inspect_ai._util._async import run_coroutine
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, get_model

from bbedge.evaluate.engine import Answered, CheckReport, StillSilent
from bbedge.evaluate.engines.empty_answer import refuse_empty
from bbedge.evaluate.failures import Problem, ProblemKind, kind_of_status
from bbedge.records.journal import Usage

NO_KEY = "no-key"
"""What is sent in place of a key to a server of one's own."""

_QUESTION = "Reply with the word ok."
_PATIENCE = 5.0  # seconds after which a model that has not answered is mentioned
_SHOWN = 300  # characters of an answer that is none
# A server at one of these has accounts: a key that is missing there is an error, which Inspect explains.
_PROVIDERS = (
    "ai21.com", "amazonaws.com", "anthropic.com", "azure.com", "cerebras.ai", "cloudflare.com", "cohere.ai",
    "cohere.com", "deepinfra.com", "deepseek.com", "fireworks.ai", "googleapis.com", "groq.com", "huggingface.co",
    "mistral.ai", "moonshot.ai", "moonshot.cn", "nvidia.com", "openai.com", "openrouter.ai", "perplexity.ai",
    "replicate.com", "sambanova.ai", "together.ai", "together.xyz", "x.ai",
)  # fmt: skip


def made_model(name: str, config: GenerateConfig, base_url: str | None, args: Mapping[str, Any]) -> Model:
    """A model; if there is no key in the environment and its server is one's own, with a key that says nothing."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return get_model(name, config=config, base_url=base_url, memoize=False, **args)
        except PrerequisiteError as error:
            # The address of an openai-api/service/model has no default.
            service = os.environ.get(address_variable(name)) if name.startswith("openai-api/") else None
            address = base_url or service
            if address is None or _is_provider(address) or "api_key" in args:
                raise
            try:
                return get_model(name, config=config, base_url=base_url, api_key=NO_KEY, memoize=False, **args)
            except (PrerequisiteError, ValueError, TypeError):
                raise error from None  # it is not the key that is missing, and the first message says what is


def address_variable(name: str) -> str:
    """The environment variable that a provider, or a service, reads its address from.

    >>> address_variable("openai-api/my-server/m"), address_variable("openai/gpt-4o")
    ('MY_SERVER_BASE_URL', 'OPENAI_BASE_URL')
    """
    kind, _, rest = name.partition("/")
    provider = rest.partition("/")[0] if kind == "openai-api" and "/" in rest else kind
    return f"{provider.upper().replace('-', '_')}_BASE_URL"


def _is_provider(address: str) -> bool:
    host = (urlsplit(address).hostname or "").rstrip(".")
    return any(host == domain or host.endswith(f".{domain}") for domain in _PROVIDERS)


def listen(model: Model, name: str, heard: Callable[[Problem], None]) -> Model:
    """Report every failed request of a model, an answer without content included; the model itself."""
    ask, generate = model.should_retry, model.api.generate

    def should_retry(error: BaseException) -> bool:
        if isinstance(error, Exception):
            heard(_problem(error, name, model))
        return ask(error)

    @wraps(generate)
    async def generate_content(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as Inspect has it
        result = await generate(*args, **kwargs)
        # What Inspect makes of an answer has an empty text where the server said nothing.
        if isinstance(result, tuple) and isinstance(result[0], ModelOutput) and result[1] is not None:
            refuse_empty(result[1].response)
        return result

    model.should_retry = should_retry  # type: ignore[method-assign,assignment]
    model.api.generate = generate_content  # type: ignore[method-assign]
    return model


def _problem(error: BaseException, name: str, model: Model) -> Problem:
    variables = model.api.api_key_vars
    variable = next((each for each in variables if each in os.environ), variables[0] if variables else None)
    return replace(problem_of(error, name, endpoint_of(model)), variable=variable)


def endpoint_of(model: Model) -> str | None:
    """The address of a model's server, as far as Inspect knows it."""
    address = model.api.base_url or getattr(getattr(model.api, "client", None), "base_url", None)
    return None if address is None else str(address)


def problem_of(error: BaseException, model: str, endpoint: str | None) -> Problem:
    """The facts about an exception of a client library."""
    causes = list(_causes(error))
    status = next((found for each in causes if (found := _status(each)) is not None), None)
    kind = _kind({kind.__name__ for each in causes for kind in type(each).__mro__}, causes, status)
    message = str(getattr(error, "provider_message", None) or error) or type(error).__name__
    if kind == "timeout" and status is None:
        message = message.replace("attempt_timeout", "timeout").rstrip(".")
    elif kind in ("no-connection", "connection-lost") and len(causes) > 1:
        message = f"{message.rstrip('.')} ({causes[-1] or type(causes[-1]).__name__})"
    if len(message) > _SHOWN and kind == "answer":
        message = message[:_SHOWN] + "…"
    return Problem(kind=kind, model=model, message=" ".join(message.split()), endpoint=endpoint, status=status)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and what caused it, outermost first."""
    seen: BaseException | None = error
    for _ in range(6):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__


def _status(error: BaseException) -> int | None:
    for owner in (error, getattr(error, "response", None)):
        status = getattr(owner, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _kind(names: set[str], causes: list[BaseException], status: int | None) -> ProblemKind:
    """By the HTTP status, or else by the names of exceptions: every client library has classes of its own."""
    if status is not None:
        return kind_of_status(status)
    if names & {"ConnectError", "ConnectTimeout", "gaierror", "ConnectionRefusedError"}:
        return "no-connection"
    if any("Timeout" in name for name in names):
        return "timeout"
    if any("Connection" in name or "Protocol" in name or name in ("ReadError", "WriteError") for name in names):
        return "connection-lost"
    if "EmptyAnswer" in names:
        return "empty"
    if "OpenAIResponseError" in names or isinstance(causes[0], ValueError | TypeError | LookupError | AttributeError):
        return "answer"
    return "other"


def ask_all(models: Mapping[str, Model], seeds: Callable[[str], int], *, timeout: float, report: CheckReport) -> None:
    """Ask every model the short question, all at once, and report each as soon as it has answered or failed.

    Models and seeds are known by their names in reports.
    """
    run_coroutine(_ask_all(models, seeds, max(1, round(timeout)), report))


async def _ask_all(models: Mapping[str, Model], seeds: Callable[[str], int], timeout: int, report: CheckReport) -> None:
    tasks = {
        asyncio.ensure_future(_ask(name, model, seeds(name), timeout, report)): name for name, model in models.items()
    }
    began = asyncio.get_running_loop().time()
    done, waiting = await asyncio.wait(tasks, timeout=_PATIENCE)
    for task in waiting:
        seconds = asyncio.get_running_loop().time() - began
        report(StillSilent(model=tasks[task], endpoint=endpoint_of(models[tasks[task]]), seconds=seconds))
    if waiting:
        done |= (await asyncio.wait(waiting))[0]
    for task in done:
        task.result()  # raises what went wrong in a report


async def _ask(name: str, model: Model, seed: int, timeout: int, report: CheckReport) -> None:
    problems = list[Problem]()
    listen(model, name, problems.append)
    config = GenerateConfig(seed=seed, max_retries=0, attempt_timeout=timeout)
    try:
        output = await model.generate(_QUESTION, config=config)
    except Exception as error:  # whatever a client library raises is an answer to whether the model can be asked
        report(problems[-1] if problems else _problem(error, name, model))
    else:
        usage = _usage(str(model), output.usage, output.time or 0.0)
        report(Answered(model=name, usage=usage, served=output.model or None))
    finally:
        with contextlib.suppress(Exception):  # a connection that cannot be closed is of no interest any more
            await model.api.aclose()


def _usage(model: str, spent: ModelUsage | None, seconds: float) -> Usage:
    return Usage(
        calls=1, tokens={} if spent is None else {model: (read_tokens(spent), spent.output_tokens)}, seconds=seconds
    )


def read_tokens(spent: ModelUsage) -> int:
    """Tokens of the prompt; some providers count those of their prompt cache apart."""
    return spent.input_tokens + (spent.input_tokens_cache_read or 0) + (spent.input_tokens_cache_write or 0)
