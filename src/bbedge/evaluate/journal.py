"""The memory of a run: every finished sample on disk before it counts, so that a crash loses only what was in flight.

A replicate in progress has a file of lines, one per finished sample (or failed attempt), each flushed to the disk.
When the board has taken the replicate, what it cost goes into ``usage.jsonl`` as one line and its file is removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Done, Failed
from bbedge.evaluate.usage import Usage
from bbedge.naming import quoted, shown_path

_USAGE = "usage.jsonl"
_LOCK = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A replicate that is on the board: what it cost and a hash of its answers, by model."""

    replicate: int
    """Its number, pilots counted."""
    usage: Mapping[str, Usage]
    """What each model used."""
    traces: Mapping[str, str]
    """A hash of all answers of each model whose answers the engine sees."""


class Journal:
    """The folder of a run. Only one process at a time may use it: a context manager."""

    def __init__(self, folder: Path, *, root: str) -> None:
        self._folder, self._root = folder, root
        self._lock: IO[bytes] | None = None
        self._finished: list[Finished] | None = None

    def __enter__(self) -> Journal:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self._folder / _LOCK).open("ab")
        except OSError as error:
            raise EvaluationError(f"{shown_path(self._folder)}: cannot be written ({error.strerror})") from error
        _claim(self._lock, self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder

    def pages(self) -> tuple[int, ...]:
        """The replicates that have a file."""
        return tuple(sorted(int(path.stem.rpartition("-")[2]) for path in self._folder.glob("replicate-*.jsonl")))

    def page(self, replicate: int) -> Page:
        """The file of a replicate in progress."""
        return Page(self._folder / f"replicate-{replicate:05d}.jsonl", root=self._root, replicate=replicate)

    def finished(self) -> list[Finished]:
        """What is known of the replicates that are on the board."""
        if self._finished is None:
            lines, _ = _lines(self._folder / _USAGE)
            self._finished = [_finished(line) for line in lines if line["root"] == self._root]
        return self._finished

    def finish(self, page: Page, *, traces: Mapping[str, str]) -> None:
        """Note what a replicate cost, now that the board has it, and remove its file. Doing it twice does no harm."""
        done = self.finished()
        if all(each.replicate != page.replicate for each in done):
            record = Finished(replicate=page.replicate, usage=page.usage(), traces=traces)
            path = self._folder / _USAGE
            _, end = _lines(path)
            with path.open("ab") as file:
                file.truncate(end)
                _write(
                    file,
                    {
                        "root": self._root,
                        "replicate": record.replicate,
                        "usage": {model: usage.content for model, usage in record.usage.items()},
                        "traces": dict(record.traces),
                    },
                )
            done.append(record)
        page.remove()


class Page:
    """The file of one replicate in progress."""

    def __init__(self, path: Path, *, root: str, replicate: int) -> None:
        self._path, self.replicate = path, replicate
        self.done: dict[tuple[str, str], Done] = {}
        self.wasted: dict[str, Usage] = {}
        lines, end = _lines(path)
        for place, line in enumerate(lines, start=1):
            if place == 1:
                if line != _header(root, replicate):
                    raise EvaluationError(
                        f"{shown_path(path)}: belongs to another study; give this one a folder of its own, or remove it"
                    )
                continue
            try:
                if "error" in line:
                    self._waste(line["model"], Usage.from_content(line["usage"]))
                else:
                    self.done[line["model"], line["sample"]] = _done(line)
            except (KeyError, TypeError, ValueError) as error:
                raise _damaged(path, place) from error
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self._file.truncate(end)  # a line that was being written when the power went
        if not lines:
            _write(self._file, _header(root, replicate))

    def add(self, what: Done | Failed) -> None:
        """Write a finished sample, or what a failed attempt cost; when this returns it is on the disk."""
        usage = {"usage": what.usage.content}
        if isinstance(what, Failed):
            self._waste(what.model, what.usage)
            _write(self._file, {"model": what.model, "sample": what.sample, "error": what.error[:2000]} | usage)
            return
        self.done[what.model, what.sample] = what
        _write(
            self._file,
            {
                "model": what.model,
                "sample": what.sample,
                "scores": dict(what.scores),
                "trace": what.trace,
                "length": what.length,
                "unseeded": list(what.unseeded),
            }
            | usage,
        )

    def usage(self) -> dict[str, Usage]:
        """What each model has used so far, failed attempts included."""
        total = dict(self.wasted)
        for (model, _), done in self.done.items():
            total[model] = total.get(model, Usage()) + done.usage
        return total

    def remove(self) -> None:
        """Close and delete the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _waste(self, model: str, usage: Usage) -> None:
        self.wasted[model] = self.wasted.get(model, Usage()) + usage


def _header(root: str, replicate: int) -> dict[str, Any]:
    return {"root": root, "replicate": replicate}


def _write(file: IO[bytes], line: Mapping[str, Any]) -> None:
    try:
        file.write(json.dumps(line, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n")
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise EvaluationError(
            f"{shown_path(file.name)}: cannot be written ({error.strerror}); make room and run the same command again"
        ) from error


def _lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The complete lines of a file and where they end; a torn last line is left out, any other damage is an error."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be read ({error.strerror})") from error
    end = data.rfind(b"\n") + 1
    lines = []
    for place, text in enumerate(data[:end].splitlines(), start=1):
        try:
            line = json.loads(text)
        except ValueError as error:
            raise _damaged(path, place) from error
        lines.append(line)
    return lines, end


def _damaged(path: Path, place: int) -> EvaluationError:
    return EvaluationError(
        f"{shown_path(path)}:{place}: the line is damaged; remove the file to run its replicate again"
    )


def _done(line: Mapping[str, Any]) -> Done:
    return Done(
        model=line["model"],
        sample=line["sample"],
        scores=line["scores"],
        usage=Usage.from_content(line["usage"]),
        trace=line["trace"],
        length=int(line["length"]),
        unseeded=tuple(line["unseeded"]),
    )


def _finished(line: Mapping[str, Any]) -> Finished:
    return Finished(
        replicate=line["replicate"],
        usage={model: Usage.from_content(usage) for model, usage in line["usage"].items()},
        traces=line["traces"],
    )


def _claim(lock: IO[bytes], folder: Path) -> None:
    """Refuse to share the folder; the claim ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on this platform; the board's own transactions still hold
        return
    try:
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise EvaluationError(
            f"{quoted(str(folder), None)} is in use: the study is being run by another process; wait for it or stop it"
        ) from error
