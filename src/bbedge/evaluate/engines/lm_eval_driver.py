"""Runs lm-evaluation-harness in the Python that has it: ``lm_eval_driver.py ORDER.json``.

Started as a file, because that Python need not have bbedge: nothing of bbedge is imported here. The tool sends one seed
with all requests of a run. Its models of APIs make every request in a method that gets the seed as an argument, and
this gives it one for each request, hashed from the run's seed and what is asked, so that a request that is sent again
keeps its seed. What was really sent is counted and written to the report, also when the run fails.

A run may be of some documents only. The tool has an option for that, but with it the few-shot examples of a document
depend on which others are run, because they are drawn one document after the other. Here all requests are made, and
those of the chosen documents are sent.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_BITS = 31

# Beside this file, also where it is copied to.
requests = importlib.import_module(f"{__package__}.lm_eval_requests" if __package__ else "lm_eval_requests")


def main(order_file: str) -> None:
    """Do what the order says: describe types of models, run the tool, write the report."""
    order = json.loads(Path(order_file).read_text(encoding="utf-8"))
    report: dict[str, Any] = {"requests": 0, "seeded": 0, "tokens": [0, 0], "types": {}, "chooses": False, "served": []}
    try:
        importlib.import_module("lm_eval.models")
        for name in order.get("types", []):
            kind = model_type(name)
            report["types"][name] = {"requests": sends_requests(kind), "address": default_address(kind)}
        words = list(order["words"])
        if "model" in order:
            words += ["--model", order["model"], "--model_args", json.dumps(prepared_arguments(order, report))]
        choose_documents(order.get("documents"), report)
        sys.argv = ["lm_eval", *words]
        importlib.import_module("lm_eval.__main__").cli_evaluate()
    except Exception as error:
        # In a log the last error is often another one: requests that were cancelled because of this one.
        report["error"] = f"{type(error).__name__}: {error}"
        report["heard"] = getattr(error, "was_heard", False)
        report["installed"] = not (isinstance(error, ModuleNotFoundError) and error.name == "lm_eval")
        raise
    finally:
        Path(order["report"]).write_text(json.dumps(report), encoding="utf-8")


def model_type(name: str) -> type:
    """The class of a type of models."""
    found: type = importlib.import_module("lm_eval.api.registry").get_model(name)
    return found


def default_address(kind: type) -> str | None:
    """The address that the class itself states, or the first of its bases that does."""
    for base in kind.__mro__:
        made = inspect.signature(vars(base)["__init__"]).parameters if "__init__" in vars(base) else {}
        if base is not object and "base_url" in made:
            stated = made["base_url"].default
            return stated if isinstance(stated, str) else None
    return None


def sends_requests(kind: type) -> bool:
    """Whether it is a model of an API whose requests get their seed one by one."""
    try:
        return issubclass(kind, importlib.import_module("lm_eval.models.api_models").TemplateAPI)
    except ImportError:
        return False


def takes_seed(kind: type) -> bool:
    """Whether an argument of the model is the seed."""
    made = (vars(base)["__init__"] for base in kind.__mro__ if "__init__" in vars(base) and base is not object)
    return any("seed" in inspect.signature(each).parameters for each in made)


def prepared_arguments(order: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the model, with its seed; from now on its requests have theirs."""
    kind, arguments = model_type(order["model"]), dict(order["model_args"])
    if takes_seed(kind):
        arguments["seed"] = order["seed"]
    if sends_requests(kind):
        arguments = {**order["requests"], **arguments}
        seed_requests(kind, order["seed"], report)
        watch_answers(kind, report)
        requests.watch_requests(kind, Path(order["heard"]))
    return arguments


def request_seed(seed: int, asked: object) -> int:
    """The seed of a request."""
    digest = hashlib.sha256(json.dumps([seed, asked], default=str).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _BITS)


def seed_requests(kind: Any, seed: int, report: dict[str, Any]) -> None:  # noqa: ANN401 - a class of the tool
    """Give every request its seed, and count those that were sent with it."""
    made: Callable[..., Any] = kind._create_payload

    def create(self: object, messages: object, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool has it
        own = request_seed(seed, messages)
        payload = made(self, messages, *args, **{**kwargs, "seed": own})
        report["requests"] += 1
        report["seeded"] += isinstance(payload, dict) and payload.get("seed") == own
        return payload

    kind._create_payload = create


def watch_answers(kind: Any, report: dict[str, Any]) -> None:  # noqa: ANN401 - a class of the tool
    """Add up the tokens that answers state, and refuse errors that the tool would score as empty answers."""
    for name in ("parse_generations", "parse_logprobs"):
        read = inspect.getattr_static(kind, name)

        def parse(self: object, outputs: Any, *args: Any, _read: Any = read, **kwargs: Any) -> Any:  # noqa: ANN401
            for each in outputs if isinstance(outputs, list) else [outputs]:
                if isinstance(each, dict):
                    count_answer(each, report)
            return _read.__get__(self, type(self))(outputs, *args, **kwargs)

        setattr(kind, name, parse)


def choose_documents(chosen: dict[str, list[int]] | None, report: dict[str, Any]) -> None:
    """Run only the chosen documents of each task; without a choice, find out whether the tool could."""
    evaluator: Any = importlib.import_module("lm_eval.evaluator")
    run: Callable[..., Any] = evaluator.evaluate

    def evaluate(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool has it
        loaded = kwargs.get("task_dict")
        tasks = loaded.get("tasks") if isinstance(loaded, dict) else None
        report["chooses"] = isinstance(tasks, dict) and all(map(is_narrowable, tasks.values()))
        if chosen is None:
            return run(*args, **kwargs)
        if not isinstance(loaded, dict) or not isinstance(tasks, dict) or not report["chooses"]:
            raise RuntimeError("this version of lm_eval cannot be run on chosen documents")
        kept = {name: narrow_task(task, frozenset(chosen[name])) for name, task in tasks.items() if name in chosen}
        # Without groups: a mean over some documents of some of their tasks says nothing.
        return run(*args, **{**kwargs, "task_dict": {**loaded, "tasks": kept, "groups": {}}})

    evaluator.evaluate = evaluate


def is_narrowable(task: object) -> bool:
    """Whether a task makes its requests and hands out its documents in the way that :func:`narrow_task` changes."""
    return callable(getattr(task, "build_all_requests", None)) and callable(getattr(task, "doc_iterator", None))


def narrow_task(task: Any, numbers: frozenset[int]) -> Any:  # noqa: ANN401 - a task of the tool
    """The task with only these documents, by their numbers from 0."""
    build, documents = task.build_all_requests, task.doc_iterator

    def build_chosen(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as the tool has it
        build(*args, **kwargs)
        task._instances = [each for each in task._instances if each.doc_id in numbers]
        task.doc_iterator = chosen_documents

    def chosen_documents(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool has it
        return (each for each in documents(*args, **kwargs) if each[0] in numbers)

    task.build_all_requests = build_chosen
    return task


def count_answer(answer: dict[str, Any], report: dict[str, Any]) -> None:
    """Add the tokens of one answer, and what it calls the model; refuse one that says nothing."""
    if answer.get("error") and not answer.get("choices"):
        raise RuntimeError(f"the server answered with an error: {json.dumps(answer['error'])[:400]}")
    requests.refuse_empty(answer)
    if isinstance(answer.get("model"), str) and answer["model"] not in report["served"]:
        report["served"].append(answer["model"])
    report["tokens"] = [
        total + more for total, more in zip(report["tokens"], requests.stated_tokens(answer), strict=True)
    ]


if __name__ == "__main__":
    main(sys.argv[1])
