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
from functools import wraps
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, get_model

from bbedge.evaluate.engine import Answered, CheckReport, StillSilent
from bbedge.evaluate.engines.lm_eval_requests import refuse_empty
from bbedge.evaluate.failures import Problem, answer_excerpt, kind_of_failure
from bbedge.records.journal import Usage

NO_KEY = "no-key"
"""What is sent in place of a key to a server of one's own."""

_QUESTION = "Reply with the word ok."
_PATIENCE = 5.0  # seconds after which a model that has not answered is mentioned
_DEEPEST = 6  # causes of causes
_UNREACHABLE = frozenset({"ConnectError", "ConnectTimeout", "gaierror", "ConnectionRefusedError"})
_BROKEN = ("Connection", "Protocol", "ReadError", "WriteError")
_NO_ANSWER = (ValueError, TypeError, LookupError, AttributeError)
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
            heard(problem_of(error, name, model))
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


def endpoint_of(model: Model) -> str | None:
    """The address of a model's server, as far as Inspect knows it."""
    address = model.api.base_url or getattr(getattr(model.api, "client", None), "base_url", None)
    return None if address is None else str(address)


def problem_of(error: BaseException, name: str, model: Model) -> Problem:
    """The facts about an exception of the client library that asks a model."""
    variables = model.api.api_key_vars
    causes = list(islice(_causes(error), _DEEPEST))
    owners = [owner for each in causes for owner in (each, getattr(each, "response", None))]
    statuses = (getattr(owner, "status_code", None) for owner in owners)
    status = next((found for found in statuses if isinstance(found, int)), None)
    names = {kind.__name__ for each in causes for kind in type(each).__mro__}
    kind = kind_of_failure(names, status, unreachable=_UNREACHABLE, broken=_BROKEN)
    if kind == "other" and ("OpenAIResponseError" in names or isinstance(error, _NO_ANSWER)):
        kind = "answer"
    message = str(getattr(error, "provider_message", None) or error) or type(error).__name__
    if kind == "timeout" and status is None:
        message = message.replace("attempt_timeout", "timeout").rstrip(".")
    elif kind in ("no-connection", "connection-lost") and len(causes) > 1:
        message = f"{message.rstrip('.')} ({causes[-1] or type(causes[-1]).__name__})"
    return Problem(
        kind=kind,
        model=name,
        message=" ".join(answer_excerpt(kind, message).split()),
        endpoint=endpoint_of(model),
        status=status,
        variable=next((each for each in variables if each in os.environ), variables[0] if variables else None),
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what caused it, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__


async def ask_all(
    models: Mapping[str, Model], seeds: Callable[[str], int], *, timeout: float, report: CheckReport
) -> None:
    """Ask every model the short question, all at once, and report each as soon as it has answered or failed.

    Models and seeds are known by their names in reports.
    """
    loop = asyncio.get_running_loop()
    tasks = {
        asyncio.ensure_future(_ask(name, model, seeds(name), max(1, round(timeout)), report)): name
        for name, model in models.items()
    }
    began = loop.time()
    done, waiting = await asyncio.wait(tasks, timeout=_PATIENCE)
    for name in map(tasks.__getitem__, waiting):
        report(StillSilent(model=name, endpoint=endpoint_of(models[name]), seconds=loop.time() - began))
    if waiting:
        done |= (await asyncio.wait(waiting))[0]
    for task in done:
        task.result()  # raises what went wrong in a report


async def _ask(name: str, model: Model, seed: int, timeout: int, report: CheckReport) -> None:
    problems = list[Problem]()
    listen(model, name, problems.append)
    try:
        config = GenerateConfig(seed=seed, max_retries=0, attempt_timeout=timeout)
        output = await model.generate(_QUESTION, config=config)
    except Exception as error:  # whatever a client library raises is an answer to whether the model can be asked
        report(problems[-1] if problems else problem_of(error, name, model))
    else:
        tokens = {} if output.usage is None else {str(model): tokens_of(output.usage)}
        usage = Usage(calls=1, tokens=tokens, seconds=output.time or 0.0)
        report(Answered(model=name, usage=usage, served=output.model or None))
    finally:
        with contextlib.suppress(Exception):  # a connection that cannot be closed is of no interest any more
            await model.api.aclose()


def tokens_of(spent: ModelUsage) -> tuple[int, int]:
    """Tokens of the prompt and of the answer; some providers count those of their prompt cache apart."""
    cached = (spent.input_tokens_cache_read or 0) + (spent.input_tokens_cache_write or 0)
    return spent.input_tokens + cached, spent.output_tokens
