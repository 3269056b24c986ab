"""Where tasks are worked on: one after the other, on this machine's cores through joblib, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from typing import Any, Literal, Self, TypeVar

from bbedge.errors import BbedgeError

Backend = Literal["serial", "joblib", "ray"]
Task = TypeVar("Task")
Result = TypeVar("Result")

_WAITING = 4  # tasks handed to Ray per core before the first comes back: enough to keep it busy, little to hold
_MORE_PACKAGES = "working on several cores needs more packages; install them with: pip install joblib threadpoolctl"
_NEEDS_RAY = "the ray backend needs Ray; install it with: pip install ray"


class Crew:
    """Workers for several maps in a row: a Ray cluster is joined or started once, and left at the end.

    ``workers``: all cores by default. ``address``: of a running Ray cluster; without one a cluster is started here,
    unless this process has joined one already.

    >>> with Crew("serial") as crew:
    ...     sorted(crew.map_unordered(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, backend: Backend, *, workers: int | None = None, address: str | None = None) -> None:
        self._backend, self._address = backend, address
        self._workers = workers or os.cpu_count() or 1
        self._joined = ExitStack()

    def __enter__(self) -> Self:
        if self._backend != "serial":
            _needed("threadpoolctl", _MORE_PACKAGES)  # what every task is run under
        if self._backend == "ray":
            self._join(_needed("ray", _NEEDS_RAY))
        return self

    def __exit__(self, *_: object) -> None:
        self._joined.close()

    def _join(self, ray: Any) -> None:  # noqa: ANN401 - an optional module
        if ray.is_initialized() and self._address is None:
            return
        here: dict[str, Any] = {"num_cpus": self._workers, "include_dashboard": False}
        where = here if self._address is None else {"address": self._address}
        try:
            ray.init(log_to_driver=False, configure_logging=False, **where)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BbedgeError(f"no Ray cluster could be reached or started ({error}); check the address") from error
        self._joined.callback(ray.shutdown)

    def map_unordered(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results as they come, in any order."""
        if self._backend == "ray":
            yield from _on_ray(work, tasks)
        elif self._backend == "joblib":
            joblib = _needed("joblib", _MORE_PACKAGES)
            count = min(self._workers, max(1, len(tasks)))
            parallel = joblib.Parallel(n_jobs=count, return_as="generator_unordered")
            yield from parallel(joblib.delayed(work)(task) for task in tasks)
        else:
            yield from map(work, tasks)


def _needed(module: str, message: str) -> Any:  # noqa: ANN401 - an optional module
    try:
        return import_module(module)
    except ImportError as error:
        raise BbedgeError(message) from error


def _on_ray(work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    ray = _needed("ray", _NEEDS_RAY)
    begun = map(ray.remote(num_cpus=1)(work).remote, tasks)
    pending = list(islice(begun, _WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))))
    while pending:
        done, pending = ray.wait(pending)
        for reference in done:
            try:
                yield ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, BbedgeError):
                    raise error.cause from None  # as any other backend would raise it
                raise
        pending += islice(begun, len(done))
