"""Any program as the engine: one call per model and replicate, which writes the scores of its items to a file."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bbedge.errors import BbedgeError, EvaluationError
from bbedge.evaluate.engine import Benchmark, Done, Failed, Job, Report, Sample, Seeds
from bbedge.evaluate.engines.calls import Calls, checked_scores
from bbedge.evaluate.engines.output import last_lines
from bbedge.evaluate.engines.process import (
    Stopped,
    TimeUp,
    call,
    hashes,
    program_file,
    program_files,
    stamps,
    why_not_startable,
)
from bbedge.evaluate.problem import Problem
from bbedge.evaluate.servers import variables
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.evaluate.usage import Usage
from bbedge.readers import read_items, read_scores
from bbedge.text import listed, quoted, shown, shown_path

_WHOLE = "all items"


class CommandEngine:
    """Runs ``command`` with ``{model}``, ``{seed}``, ``{items}``, ``{out}`` and the like filled in, without a shell."""

    def __init__(self, study: EvaluationSpec) -> None:
        if study.items is None:
            raise EvaluationError(f"{shown_path(study.path)}: [benchmark] items is missing")
        self._study = study
        self._items = read_items(study.items)
        self._home = study.path.resolve().parent
        self._files = program_files(study.command, self._home)
        self._stamps = stamps(self._files)
        self._calls = Calls(study)

    def benchmark(self) -> Benchmark:
        """The listed items, as one sample: a call runs them all."""
        program = self._study.command[0]
        if program_file(program, self._home) is None:
            raise EvaluationError(
                f"{shown_path(self._study.path)}: command: there is no program {shown(program, None)}; give a path "
                "that starts at the study's folder, or the name of a program that is installed"
            )
        cannot_start = why_not_startable(program, self._home)
        if cannot_start is not None:
            raise EvaluationError(
                f"{shown_path(self._study.path)}: command: {shown(program, None)} cannot be started: {cannot_start}"
            )
        items = self._items
        self._refuse_torn_names()
        text = repr(sorted(zip(items.items, items.blocks, strict=True)))
        whole = Sample(
            name=_WHOLE,
            items=items.items,
            blocks=items.blocks,
            columns=self._columns(),
            is_divisible=any("{items}" in word or "{items.json}" in word for word in self._study.command),
        )
        return Benchmark(
            samples=(whole,),
            fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        )

    def _refuse_torn_names(self) -> None:
        """Refuse names that a list of lines would tear apart, if the command reads such a list."""
        torn = [item for item in self._items.items if "\n" in item or "\r" in item]
        if torn and any("{items}" in word for word in self._study.command):
            raise EvaluationError(
                f"{shown_path(str(self._study.items))}: item {quoted(torn[0])} has a line break in its name, and the "
                "file of {items} has a name on every line; use {items.json} in the command instead"
            )

    def _columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of the list of items that the design uses."""
        name = shown_path(str(self._study.items))
        missing = [column for column in self._study.design.columns if column not in self._items.columns]
        if missing:
            raise EvaluationError(f"{name}: there is no column {quoted(missing[0])}, which the design uses; add it")
        return {column: self._items.columns[column] for column in self._study.design.columns}

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
        """Call the program for every job, a few at a time."""
        self._check_programs()
        self._calls.run(jobs, lambda job, _: self._call(replicate, job, seeds(job, 0)), report)

    def _check_programs(self) -> None:
        """Refuse to go on with a program that was changed while the study ran."""
        if stamps(self._files) == self._stamps:
            return
        self._files = program_files(self._study.command, self._home)
        now = hashes(self._files)
        changed = [word for word, digest in self._study.programs.items() if now.get(word) != digest]
        if changed:
            raise EvaluationError(
                f"{shown_path(self._study.path)}: command: {listed(changed)} changed while the study ran; what is "
                "measured is frozen with the design. Restore it and run the same command again"
            )
        self._stamps = stamps(self._files)

    def _call(self, replicate: int, job: Job, seed: int) -> Done | Failed:
        with self._calls.folder_of(replicate, job.model.name) as folder:
            return self._call_in(folder, replicate, job, seed)

    def _call_in(self, folder: Path, replicate: int, job: Job, seed: int) -> Done | Failed:
        model = job.model
        out, log = folder / self._study.out, folder / "log.txt"
        try:
            items = self._write_items(folder, self._order(job, seed))
        except OSError as error:
            raise EvaluationError(f"{shown_path(folder)}: cannot be written ({error.strerror})") from error
        filled = {
            "{model}": model.model,
            "{name}": model.name,
            "{seed}": str(seed),
            "{replicate}": str(replicate),
            **items,
            "{out}": str(out),
        }
        words = [_filled(word, filled) for word in self._study.command]
        began = time.monotonic()
        problem = self._execute(words, folder, log)
        usage = Usage(calls=len(job.sample.items), seconds=time.monotonic() - began)
        if problem is None:
            try:
                scores = self._scores(out, job.sample)
            except BbedgeError as error:
                problem = str(error)
            else:
                return Done(model=model.name, sample=job.sample.name, scores=scores, usage=usage)
        said = f"{problem}; the command's output is in {shown_path(log)}"
        return Failed(
            model=model.name,
            sample=job.sample.name,
            error=said,
            usage=usage,
            problem=Problem(kind="program", model=model.name, message=said, output=last_lines(log)),
        )

    def _write_items(self, folder: Path, order: Sequence[str]) -> dict[str, str]:
        """Write the items in their order in every form that the command names; the path of each, by placeholder."""
        lines, objects = folder / "items.txt", folder / "items.json"
        lines.write_text("".join(f"{item}\n" for item in order), encoding="utf-8")
        if any("{items.json}" in word for word in self._study.command):
            place = {item: row for row, item in enumerate(self._items.items)}
            known = {"block": self._items.blocks, **self._items.columns}
            rows = [{"item": item} | {key: texts[place[item]] for key, texts in known.items()} for item in order]
            objects.write_text(json.dumps(rows, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        return {"{items}": str(lines), "{items.json}": str(objects)}

    def _order(self, job: Job, seed: int) -> list[str]:
        """The items with their blocks in an order of this call's own."""
        by_block: dict[str, list[str]] = {}
        for item, block in zip(job.sample.items, job.sample.blocks, strict=True):
            by_block.setdefault(block, []).append(item)
        order = Seeds.of("items", seed).shuffled(tuple(by_block), model=job.model.name, replicate=0)
        return [item for block in order for item in by_block[block]]

    def _execute(self, words: Sequence[str], folder: Path, log: Path) -> str | None:
        """Run the program; what went wrong, or nothing."""
        timeout = self._study.running.timeout
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

    def _scores(self, out: Path, sample: Sample) -> dict[str, float]:
        if not out.exists():
            raise EvaluationError(f"the command did not write {shown_path(out)}")
        rule = "worst-case" if self._study.on_error == "worst-case" else "refuse"
        read = read_scores(
            out,
            blocks="item",
            score_range=self._study.design.score_range,
            least_models=1,
            incomplete=rule,
            provenance=False,
        )
        if len(read.models) != 1 or len(read.replicates) != 1:
            raise EvaluationError(
                f"{shown_path(out)} has {len(read.models)} models and {len(read.replicates)} replicates; a call is "
                "for one of each"
            )
        scores = {item: float(score) for item, score in zip(read.items, read.values[0, 0], strict=True)}
        return checked_scores(scores, sample, out, may_be_missing=rule == "worst-case")


def _filled(word: str, filled: dict[str, str]) -> str:
    """The word with its placeholders replaced, each once: what a model's name contains stays as it is."""
    for place, character in enumerate(word):
        if character == "{":
            for name, value in filled.items():
                if word.startswith(name, place):
                    return word[:place] + value + _filled(word[place + len(name) :], filled)
    return word
