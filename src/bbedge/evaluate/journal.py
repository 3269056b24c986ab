"""The memory of a run: every finished sample on disk before it counts, so that a crash loses only what was in flight.

A replicate in progress has a file of lines: a finished sample, a finished judgement of an answer, a failed attempt, a
request that was sent. A judgement is kept even if its sample fails later, so that the same answer is not judged again.
When the board has taken the replicate, what it cost goes into ``usage.jsonl`` as one line and its file is removed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from msgspec.structs import replace

from bbedge.errors import EvaluationError
from bbedge.evaluate.journal_file import (
    append,
    append_line,
    each_line,
    is_line_of_study,
    line_of,
    opened_at,
    read_chain,
    record_from,
    write_judgements,
)
from bbedge.files import LockedError, lock, system_errors
from bbedge.records.codec import convert
from bbedge.records.journal import Done, Failed, Judged, Line, Lost, Replicate, Sent, Usage
from bbedge.text import shown_path

_USAGE = "usage.jsonl"
_LOCK = "lock"
_STUDY = ("root", "protocol", "order")
_PAGE = re.compile(r"replicate-(\d{5,9})\.jsonl")
RUN_AGAIN = (
    "restore the file from a copy, or move it to another folder: the replicate is then run again as another attempt, "
    "which the board and its certificates state"
)
"""What to do about the file of a replicate that cannot be used."""
_RESTORE = "restore the file from a copy"


class Journal:
    """The folder of a run. Only one process at a time may use it: a context manager.

    ``root`` and ``protocol`` say which study the files belong to, and ``order`` is the seed of the order of its first
    run, if that has checkpoints: another board of the same study has another. ``blocks`` are those of the items, for
    the table of judgements.
    """

    def __init__(
        self,
        folder: Path,
        *,
        root: str,
        protocol: str = "",
        order: int | None = None,
        blocks: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.protocol = folder, protocol
        self._blocks = blocks or {}
        self._study = {"root": root, "protocol": protocol} | ({} if order is None else {"order": str(order)})
        self._lock: IO[bytes] | None = None
        self._finished: list[Replicate] | None = None

    def __enter__(self) -> Journal:
        with system_errors(self.folder, "written", kind=EvaluationError):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / _LOCK).open("ab")
        try:
            lock(self._lock)
        except LockedError as error:
            self._lock.close()
            raise EvaluationError(
                f"{shown_path(self.folder)} is in use: another process runs this study; wait for it, or stop it"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def pages(self) -> tuple[int, ...]:
        """The replicates that have a file."""
        found = []
        for path in self.folder.glob("replicate-*.jsonl"):
            name = _PAGE.fullmatch(path.name)
            if name is None:
                raise EvaluationError(f"{shown_path(path)}: not a file of the journal; move it to another folder")
            found.append(int(name[1]))
        return tuple(sorted(found))

    def unfinished(self) -> dict[int, Replicate]:
        """What is known of the replicates that have a file."""
        found = {}
        for place in self.pages():
            with closing(self.page(place)) as page:
                found[place] = page.record(len(self._blocks))
        return found

    def page(self, replicate: int) -> ReplicateFile:
        """The file of a replicate in progress."""
        return ReplicateFile(self.folder / f"replicate-{replicate:05d}.jsonl", study=self._study, replicate=replicate)

    def finished(self) -> list[Replicate]:
        """What is known of the replicates that are on the board."""
        if self._finished is None:

            def replicate_from(line: Mapping[str, Any], source: str) -> Replicate | None:
                content = {key: value for key, value in line.items() if key not in _STUDY}
                return convert(content, Replicate, source=source) if is_line_of_study(line, self._study) else None

            chain = read_chain(self.folder / _USAGE, remedy=_RESTORE)
            self._finished = [each for each in each_line(chain, replicate_from) if each is not None]
        return self._finished

    def of_other_orders(self) -> set[int]:
        """Replicates that the same study has run for another board, which drew another order of the first run."""
        any_order = {key: value for key, value in self._study.items() if key != "order"}
        return {
            convert(line["replicate"], int, source=_USAGE)
            for line in read_chain(self.folder / _USAGE, remedy=_RESTORE).lines
            if is_line_of_study(line, any_order) and not is_line_of_study(line, self._study)
        }

    def finish(self, page: ReplicateFile, *, traces: Mapping[str, str]) -> None:
        """Note what a replicate cost, now that the board has it, and remove its file. Doing it twice does no harm.

        Judgements stay as a table, because the board has only their means.
        """
        write_judgements(self.folder, page.replicate, page.done.values(), self._blocks)
        done = self.finished()
        if all(each.replicate != page.replicate for each in done):
            record = page.record(len(self._blocks), traces)
            append_line(self.folder / _USAGE, self._study | line_of(record), remedy=_RESTORE)
            done.append(record)
        page.close()
        page.path.unlink(missing_ok=True)


class ReplicateFile:
    """The file of one replicate in progress."""

    def __init__(self, path: Path, *, study: Mapping[str, str], replicate: int) -> None:
        self.path, self.replicate = path, replicate
        self.done: dict[tuple[str, str], Done] = {}
        """Finished samples; their usage includes that of their judgements."""
        self.judged: dict[tuple[str, str], tuple[Judged, ...]] = {}
        """Finished judgements of samples that are not finished."""
        self.lost: Counter[str] = Counter()
        """Requests in flight at an interruption, by model."""
        self._wasted: dict[str, Usage] = {}
        self._sent: Counter[tuple[str, str]] = Counter()
        chain = read_chain(path, remedy=RUN_AGAIN)
        self._head = chain.head
        self._header: dict[str, Any] = {**study, "replicate": replicate}
        if chain.lines and not is_line_of_study(chain.lines[0], self._header):
            raise EvaluationError(f"{shown_path(path)}: belongs to another study; give this one a folder of its own")
        self.attempt: int | None = chain.lines[0].get("attempt", 0) if chain.lines else None
        """The attempt at the replicate that the lines are of, 0 if they do not say; ``None`` before the first line."""
        for line in each_line(chain, record_from, first=2):
            self._take(line)
        self._file = opened_at(path, chain.end)

    def begin(self, attempt: int = 0) -> None:
        """State the attempt, if it is known, in the first line. When this returns, it is on the disk."""
        self.attempt = attempt
        self._header |= {"attempt": attempt} if attempt else {}
        self._head = append(self._file, self._head, self._header, durable=True)

    def add(self, what: Done | Failed | Judged | Sent) -> None:
        """Write what happened. When this returns, it is on the disk, unless it is a request that was sent."""
        line = replace(what, error=what.error[:2000]) if isinstance(what, Failed) else what
        self._take(line)
        self._write(line_of(line), durable=not isinstance(line, Sent))

    def settle(self) -> int:
        """Count requests of samples that did not end as lost: those samples are about to be run again. How many."""
        lost: Counter[str] = Counter()
        for (model, _), calls in self._sent.items():
            lost[model] += calls
        if lost:
            self._take(Lost(lost=lost))
            self._write({"lost": lost})
        return lost.total()

    def total(self) -> Usage:
        """What all models have used so far, failed and lost attempts included."""
        return self.record(0).total

    @property
    def wasted(self) -> dict[str, Usage]:
        """What failed attempts and requests that were lost have used, by model.

        The judgements that a failed attempt has left are part of it until their sample is finished.
        """
        total = dict(self._wasted)
        for (model, _), found in self.judged.items():
            total[model] = sum((each.usage for each in found), total.get(model, Usage()))
        return total

    def record(self, items: int, traces: Mapping[str, str] | None = None) -> Replicate:
        """What the replicate has used so far, of a benchmark with so many items."""
        usage, run = self.wasted, Counter[str]()
        for (model, _), done in self.done.items():
            usage[model] = usage.get(model, Usage()) + done.usage
            run[model] += len(done.scores)
        return Replicate(
            replicate=self.replicate,
            usage=usage,
            wasted=self.wasted,
            samples=len(self.done),
            lost=self.lost.total(),
            traces=traces or {},
            shares={model: done / items for model, done in run.items() if done < items},
        )

    def set_aside(self) -> None:
        """Close the file and keep it under a name that no replicate has."""
        self.close()
        names = (self.path.with_name(f"set-aside-{number:05d}-{self.path.name}") for number in count(1))
        self.path.rename(next(name for name in names if not name.exists()))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _take(self, what: Line) -> None:
        """Change the state as a line says."""
        if isinstance(what, Lost):
            for model, calls in what.lost.items():
                self.lost[model] += calls
                self._waste(model, Usage(calls=calls))
            self._sent.clear()
            return
        key = what.model, what.sample
        if isinstance(what, Sent):
            self._sent[key] += what.calls
        elif isinstance(what, Judged):
            self.judged[key] = (*self.judged.get(key, ()), what)
            self._sent[key] -= what.usage.calls  # they have ended with it, whatever becomes of the sample
            if self._sent[key] <= 0:
                del self._sent[key]
        else:
            self._sent.pop(key, None)
            if isinstance(what, Failed):
                self._waste(key[0], what.usage)
                return
            usage = what.usage
            for judged in self.judged.pop(key, ()):
                if judged.answer in what.judged:
                    usage += judged.usage
                else:  # of another answer than the one that is scored, and so in vain
                    self._waste(key[0], judged.usage)
            self.done[key] = replace(what, usage=usage)

    def _waste(self, model: str, usage: Usage) -> None:
        self._wasted[model] = self._wasted.get(model, Usage()) + usage

    def _write(self, line: Mapping[str, Any], *, durable: bool = True) -> None:
        if self.attempt is None:
            self.begin()
        self._head = append(self._file, self._head, line, durable=durable)
