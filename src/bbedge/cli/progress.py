"""What is shown while work goes on: on standard error, and only to a person."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_FILE_WIDTH = 120  # a file or a CI log has no width of its own


@contextmanager
def reading() -> Iterator[Callable[[str], None]]:
    """A spinner whose text the reader sets."""
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("reading", spinner="dots") as spinner:
        yield lambda text: spinner.update(escape(text))


def output(*, to_error: bool = False) -> Console:
    """The console that results go to."""
    from rich.console import Console

    console = Console(stderr=to_error)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    return console
