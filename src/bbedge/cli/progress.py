"""Progress on standard error, only if it is a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

Work = TypeVar("Work")

_FILE_WIDTH = 120  # a file or a CI log has no width of its own


@contextmanager
def reading() -> Iterator[Callable[[str], None]]:
    """A spinner whose text the reader sets."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status("reading", spinner="dots") as spinner:
        yield lambda text: spinner.update(escape(text))


def tracked(works: Iterable[Work], *, total: int, description: str) -> Iterator[Work]:
    """The works in turn, with a bar that shows how many are done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from works
        return
    from rich.progress import track

    yield from track(works, total=total, description=description, console=console, transient=True)


def output(*, to_error: bool = False) -> Console:
    """The console that results go to."""
    from rich.console import Console

    console = Console(stderr=to_error)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    return console
