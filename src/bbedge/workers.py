"""Where tasks are worked on: one after the other, on this machine's cores through joblib, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from bbedge.errors import BbedgeError

Backend = Literal["serial", "joblib", "ray"]
Task = TypeVar("Task")
Result = TypeVar("Result")

_WAITING = 4  # tasks handed to Ray per core before the first comes back: enough to keep it busy, little to hold
_MORE_PACKAGES = "working on several cores needs more packages; install them with: pip install joblib threadpoolctl"


class Crew:
    """Workers for several maps in a row: a Ray cluster is joined or started once, and left at the end.

    ``workers``: all cores by default. ``address``: of a running Ray cluster; without one a cluster is started here,
    unless this process has joined one already.

    >>> with Crew("serial") as crew:
    ...     sorted(crew.map_unordered(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, backend: Backend, *, workers: int | None = None, address: str | None = None) -> None:
        self._backend = backend
        self._workers = workers
        self._address = address
        self._ray: Any = None
        self._leave = False

    def __enter__(self) -> Self:
        if self._backend != "serial":
            try:
                import threadpoolctl  # noqa: F401 - what every task is run under
            except ImportError as error:
                raise BbedgeError(_MORE_PACKAGES) from error
        if self._backend == "ray":
            self._join()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._leave:
            self._ray.shutdown()

    def _join(self) -> None:
        try:
            import ray
        except ImportError as error:
            raise BbedgeError("the ray backend needs Ray; install it with: pip install ray") from error
        self._ray = ray
        if ray.is_initialized() and self._address is None:
            return
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self._address is None:
            options |= {"num_cpus": self._workers or os.cpu_count() or 1, "include_dashboard": False}
        else:
            options["address"] = self._address
        try:
            ray.init(**options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BbedgeError(f"no Ray cluster could be reached or started ({error}); check the address") from error
        self._leave = True

    def map_unordered(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results as they come, in any order."""
        if self._backend == "ray":
            yield from self._on_ray(work, tasks)
        elif self._backend == "joblib":
            yield from self._on_cores(work, tasks)
        else:
            yield from map(work, tasks)

    def _on_cores(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        try:
            from joblib import Parallel, delayed
        except ImportError as error:
            raise BbedgeError(_MORE_PACKAGES) from error
        count = min(self._workers or os.cpu_count() or 1, max(1, len(tasks)))
        yield from Parallel(n_jobs=count, return_as="generator_unordered")(delayed(work)(task) for task in tasks)

    def _on_ray(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        ray = self._ray
        remote = ray.remote(num_cpus=1)(work)
        room = _WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))
        queue = iter(tasks)
        pending = [remote.remote(task) for _, task in zip(range(room), queue, strict=False)]
        while pending:
            done, pending = ray.wait(pending)
            for reference in done:
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, BbedgeError):
                        raise error.cause from None  # as any other backend would raise it
                    raise
            pending += [remote.remote(task) for _, task in zip(done, queue, strict=False)]
