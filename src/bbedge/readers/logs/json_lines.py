"""JSON lines of logs, one object at a time, and small JSON documents read whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.readers.opening import decoded, lines, told
from bbedge.readers.tables.keys import unique_keys
from bbedge.text import quoted, shown_path


def objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its line."""
    name = shown_path(path)
    for line, content in lines(path):
        yield line, _object(content, f"{name}:{line}")


def document(path: str) -> dict[str, Any]:
    """A small JSON document that is one object."""
    name = shown_path(path)
    with told(path):
        # A summary that stands beside a log is kilobytes; a much larger file is something else.
        limits_in_force().check_line(Path(path).stat().st_size, place=name, what="the summary of a run")
        content = Path(path).read_bytes()
    return _object(content.removeprefix(b"\xef\xbb\xbf"), name)


def _object(content: bytes, place: str) -> dict[str, Any]:
    try:
        text = decoded(content, place=place)
        value = json.loads(text, object_pairs_hook=partial(unique_keys, place=lambda: place))
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{place}: not valid JSON ({error.msg} at character {error.colno}); if the run was cut off, let it end or "
            "leave the file out"
        ) from None
    except RecursionError:
        raise FormatError(f"{place}: JSON nested too deeply; expected one object") from None
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{place}: not readable JSON ({error}); expected one object") from None
    if not isinstance(value, dict):
        raise FormatError(f"{place}: a JSON {type(value).__name__}, {quoted(repr(value))}; expected an object")
    return value
