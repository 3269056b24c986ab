"""Where chunks of repetitions are worked on: this machine's cores through joblib, or a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from bbedge.errors import BbedgeError

Backend = Literal["joblib", "ray"]
Task = TypeVar("Task")
Result = TypeVar("Result")

_WAITING = 4  # tasks handed to Ray per core before the first comes back: enough to keep it busy, little to hold


def map_unordered(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    backend: Backend = "joblib",
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[Result]:
    """Yield the results as they come, in any order. ``workers``: all cores by default."""
    try:
        import threadpoolctl  # noqa: F401 - what every chunk is run under
    except ImportError as error:
        raise BbedgeError("studies need more packages; install them with: pip install 'bbedge[study]'") from error
    if backend == "ray":
        yield from _on_ray(work, tasks, workers, address)
    else:
        yield from _on_cores(work, tasks, workers)


def _on_cores(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None) -> Iterator[Result]:
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise BbedgeError("studies need more packages; install them with: pip install 'bbedge[study]'") from error
    count = min(workers or os.cpu_count() or 1, max(1, len(tasks)))
    yield from Parallel(n_jobs=count, return_as="generator_unordered")(delayed(work)(task) for task in tasks)


def _on_ray(
    work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None, address: str | None
) -> Iterator[Result]:
    try:
        import ray
    except ImportError as error:
        raise BbedgeError("--backend ray needs Ray; install it with: pip install 'bbedge[ray]'") from error
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if address is None:
        options |= {"num_cpus": workers or os.cpu_count() or 1, "include_dashboard": False}
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise BbedgeError(f"no Ray cluster could be reached or started ({error}); check --address") from error
    try:
        remote = ray.remote(num_cpus=1)(work)
        room = _WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
        queue = iter(tasks)
        pending = [remote.remote(task) for _, task in zip(range(room), queue, strict=False)]
        while pending:
            done, pending = ray.wait(pending)
            for reference in done:
                yield ray.get(reference)
            pending += [remote.remote(task) for _, task in zip(done, queue, strict=False)]
    finally:
        ray.shutdown()
