"""Any program as the engine: one call per model and replicate, which writes the scores of its items to a file.

Calls are made a few at a time, each in a folder that no other call has. lm-evaluation-harness is called like that, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import queue
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast

from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, EvaluationError
from bbedge.evaluate.engine import Benchmark, Job, Report, RequestSeeds, Sample, Trouble
from bbedge.evaluate.engines.process import (
    Stopped,
    TimeUp,
    call,
    end_leftovers,
    file_hashes,
    program_file,
    program_files,
    redact_files,
    why_not_startable,
)
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.servers import variables
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.files import system_errors
from bbedge.readers import read_items, read_scores
from bbedge.records.journal import Done, Failed, Sent, Usage
from bbedge.records.study import CommandBenchmark
from bbedge.records.values import grouped
from bbedge.text import listed, quoted, shown, shown_path

_WHOLE = "all items"
_LOOK = 0.2  # seconds after which an interrupt is noticed
Tell = Callable[[Trouble], None]
Progress = TypeVar("Progress")
Result = TypeVar("Result")
_LINES = 12
_WIDTH = 200
_BYTES = 16_384
# Colours, cursor movements and titles: a program meant them for a terminal of its own.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


class CommandEngine:
    """Runs ``command`` with ``{model}``, ``{seed}``, ``{items}``, ``{out}`` and the like filled in, without a shell."""

    def __init__(self, study: EvaluationSpec) -> None:
        self._study, self._home = study, study.path.resolve().parent
        self._list = self._home / cast("CommandBenchmark", study.benchmark).items
        self._items = read_items(self._list)
        self._words = study.file.command or ()
        self._calls = Calls(study)

    def benchmark(self) -> Benchmark:
        """The listed items, as one sample: a call runs them all."""
        where, program = f"{shown_path(self._study.path)}: command", self._words[0]
        if program_file(program, self._home) is None:
            raise EvaluationError(
                f"{where}: there is no program {shown(program, None)}; give a path that starts at the study's folder, "
                "or the name of a program that is installed"
            )
        cannot_start = why_not_startable(program, self._home)
        if cannot_start is not None:
            raise EvaluationError(f"{where}: {shown(program, None)} cannot be started: {cannot_start}")
        items, columns = self._items, self._study.design.columns
        torn = [item for item in items.items if "\n" in item or "\r" in item]
        if torn and self._asks_for("{items}"):
            raise EvaluationError(
                f"{shown_path(self._list)}: item {quoted(torn[0])} has a line break in its name, and the file of "
                "{items} has a name on every line; use {items.json} in the command instead"
            )
        missing = [column for column in columns if column not in items.columns]
        if missing:
            raise EvaluationError(
                f"{shown_path(self._list)}: there is no column {quoted(missing[0])}, which the design uses; add it"
            )
        whole = Sample(
            name=_WHOLE,
            items=items.items,
            blocks=items.blocks,
            columns={column: items.columns[column] for column in columns},
            is_divisible=self._asks_for("{items}") or self._asks_for("{items.json}"),
        )
        text = repr(sorted(zip(items.items, items.blocks, strict=True)))
        return Benchmark(samples=(whole,), fingerprint=hashlib.sha256(text.encode()).hexdigest())

    def _asks_for(self, placeholder: str) -> bool:
        return any(placeholder in word for word in self._words)

    def addresses(self) -> Mapping[str, str]:
        """What the study and the environment say: the program may read both."""
        return {model.name: model.base_url for model in self._study.models if model.base_url} | variables()

    def caveats(self) -> Sequence[str]:
        """A seed goes to the program; what it does with it is not seen."""
        return (
            "Each call of the command got a seed of its own. That the program uses it, keeps no cache, and gives items "
            "of different blocks different random numbers, rests on the program.",
        )

    def run(self, replicate: int, jobs: Sequence[Job], seeds: Callable[[Job, int], int], report: Report) -> None:
        """Call the program for every job, a few at a time; refuse one that was changed while the study ran."""
        now = file_hashes(program_files(self._words, self._home))
        changed = [word for word, digest in self._study.programs.items() if now.get(word) != digest]
        if changed:
            raise EvaluationError(
                f"{shown_path(self._study.path)}: command: {listed(changed)} changed while the study ran; what is "
                "measured is frozen with the design. Restore it and run the same command again"
            )
        self._calls.run(
            replicate, jobs, lambda folder, job, tell: self._call(folder, replicate, job, seeds(job, 0), tell), report
        )

    def _call(self, folder: Path, replicate: int, job: Job, seed: int, tell: Tell) -> Done | Failed:
        model, sample = job.model, job.sample
        out, log = folder / self._study.file.written, folder / "log.txt"
        with system_errors(folder, "written", kind=EvaluationError):
            items = self._write_items(folder, job, seed)
        filled = {
            "{model}": model.model,
            "{name}": model.name,
            "{seed}": str(seed),
            "{replicate}": str(replicate),
            **items,
            "{out}": str(out),
        }
        began = time.monotonic()
        problem = self._execute([_filled(word, filled) for word in self._words], folder, log)
        usage = Usage(calls=len(sample.items), seconds=time.monotonic() - began)
        try:
            if problem is None:
                return Done(model=model.name, sample=sample.name, scores=self._scores(out, sample), usage=usage)
        except BbedgeError as error:
            problem = str(error)
        said = f"{problem}; the command's output is in {shown_path(log)}"
        cause = Problem(kind="program", model=model.name, message=said, output=last_lines(log))
        tell(Trouble(model=model.name, sample=sample.name, problem=cause))
        return Failed(model=model.name, sample=sample.name, error=said, usage=usage)

    def _write_items(self, folder: Path, job: Job, seed: int) -> dict[str, str]:
        """Write the items of a call in every form that the command names; the path of each, by placeholder.

        Their blocks are in an order of this call's own.
        """
        by_block = grouped(zip(job.sample.blocks, job.sample.items, strict=True))
        blocks = RequestSeeds.from_parts("items", seed).shuffled(tuple(by_block), model=job.model.name, replicate=0)
        order = [item for block in blocks for item in by_block[block]]
        lines, objects = folder / "items.txt", folder / "items.json"
        lines.write_text("".join(f"{item}\n" for item in order), encoding="utf-8")
        if self._asks_for("{items.json}"):
            place = {item: row for row, item in enumerate(self._items.items)}
            known = {"item": self._items.items, "block": self._items.blocks, **self._items.columns}
            rows = [{key: texts[place[item]] for key, texts in known.items()} for item in order]
            objects.write_text(json.dumps(rows, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        return {"{items}": str(lines), "{items.json}": str(objects)}

    def _execute(self, words: Sequence[str], folder: Path, log: Path) -> str | None:
        """Run the program; what went wrong, or nothing."""
        timeout = self._study.file.run.timeout
        with log.open("wb") as file:
            try:
                code = call(words, home=self._home, folder=folder, log=file, timeout=timeout, stop=self._calls.stop)
            except OSError as error:
                return f"{shown(words[0], None)} cannot be run ({error.strerror})"
            except TimeUp:
                return f"the command took longer than {timeout:g} seconds"
            except Stopped:
                return "the command was stopped with the study"
        if code < 0:
            return f"the command was ended by {signal.Signals(-code).name}"
        return f"the command ended with exit code {code}" if code else None

    def _scores(self, out: Path, sample: Sample) -> dict[str, float | None]:
        if not out.exists():
            raise EvaluationError(f"the command did not write {shown_path(out)}")
        read = read_scores(
            out,
            blocks="item",
            least_models=1,
            provenance=False,
            **self._study.reading,
        )
        if len(read.models) != 1 or len(read.replicates) != 1:
            raise EvaluationError(
                f"{shown_path(out)} has {len(read.models)} models and {len(read.replicates)} replicates; a call is "
                "for one of each"
            )
        return checked_scores(scores_by_item(read), sample, out, may_be_missing=self._study.file.gaps == "worst-case")


def scores_by_item(read: Scores) -> dict[str, float]:
    """The scores of the only model in the only replicate."""
    return dict(zip(read.items, read.values[0, 0].tolist(), strict=True))


def _filled(word: str, filled: dict[str, str]) -> str:
    """The word with its placeholders replaced, each once: what a model's name contains stays as it is."""
    for place, character in enumerate(word):
        if character == "{":
            for name, value in filled.items():
                if word.startswith(name, place):
                    return word[:place] + value + _filled(word[place + len(name) :], filled)
    return word


def work_in_threads(
    calls: Iterator[Callable[[Callable[[Progress], None]], Result]],
    report: Callable[[Progress | Result], None],
    *,
    workers: int,
    stop: threading.Event,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Make calls, a few at a time, and report from this thread what they tell before their end and what they return.

    A call is taken when a worker is free. An interrupt, or an error, sets ``stop``. ``look`` is called now and then.
    """
    progress: queue.SimpleQueue[Progress] = queue.SimpleQueue()
    stop.clear()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        waiting: set[Future[Result]] = set()
        try:
            while True:
                waiting |= {pool.submit(call, progress.put) for call in islice(calls, workers - len(waiting))}
                if not waiting:
                    return
                # Polars has system calls restarted after a signal: a wait without an end would not notice one.
                done, waiting = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                while not progress.empty():
                    report(progress.get())
                for future in done:
                    report(future.result())
                look()
        except BaseException:
            stop.set()
            raise


class Calls:
    """The calls that the engine of a study makes."""

    def __init__(self, study: EvaluationSpec) -> None:
        self._study = study
        self._cleaned = False
        self.stop = threading.Event()
        """Set when the programs that are running must end."""

    def run(
        self, replicate: int, jobs: Sequence[Job], call: Callable[[Path, Job, Tell], Done | Failed], report: Report
    ) -> None:
        """Make every call and report from this thread; an interrupt, or an error, stops those that are running.

        A call has a new folder, and hands requests that fail before its end to its last argument. When it has ended,
        logs in its folder lose their credentials.
        """
        if not self._cleaned:  # no other runner uses the folder now, so what runs in it is left from a killed one
            redact_files(*end_leftovers(self._study.folder))
            self._cleaned = True

        def called(job: Job, tell: Tell) -> Done | Failed:
            folder = self._new_folder(replicate, job.model.name)
            try:
                return call(folder, job, tell)
            finally:
                redact_files(folder)

        def begun() -> Iterator[Callable[[Tell], Done | Failed]]:
            for job in jobs:
                report(Sent(model=job.model.name, sample=job.sample.name, calls=len(job.sample.items)))
                yield partial(called, job)

        work_in_threads(begun(), report, workers=self._study.file.run.workers, stop=self.stop)

    def _new_folder(self, replicate: int, model: str) -> Path:
        """A folder that no call has had: what an earlier one still writes cannot get into it."""
        models = self._study.folder / f"replicate-{replicate:05d}"
        parent = models / f"model-{self._study.names.index(model) + 1:03d}"
        with system_errors(parent, "written", kind=EvaluationError):
            used = [int(path.name[8:]) for path in parent.glob("attempt-*[0-9]") if path.name[8:].isdigit()]
            folder = parent / f"attempt-{max(used, default=0) + 1:05d}"
            folder.mkdir(parents=True)
        return folder


def checked_scores(
    scores: Mapping[str, float], sample: Sample, place: Path, *, may_be_missing: bool
) -> dict[str, float | None]:
    """The scores that a call wrote for exactly the items of its sample; those that may be missing are ``None``."""
    missing = [item for item in sample.items if item not in scores]
    if missing and not may_be_missing:
        raise EvaluationError(f"{shown_path(place)} lacks {len(missing)} items: {listed(missing)}")
    extra = sorted(set(scores) - set(sample.items))
    if extra:
        raise EvaluationError(f"{shown_path(place)} has {len(extra)} items that are not listed: {listed(extra)}")
    there = {item: score for item, score in scores.items() if not math.isnan(score)}
    if not there:
        raise EvaluationError(f"{shown_path(place)} has no score at all")
    return {item: there.get(item) for item in sample.items}


def last_lines(log: Path) -> tuple[str, ...]:
    """The last lines of a log that are not empty; of a progress bar, what it showed last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _BYTES))
            text = file.read(_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    # A line shows what is after the last of its carriage returns that something follows.
    states = [_ESCAPES.sub("", line).rstrip().rpartition("\r")[2].expandtabs(4) for line in text.split("\n")]
    return tuple(shown(line, _WIDTH) for line in states if line)[-_LINES:]
