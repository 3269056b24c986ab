"""What is only known when all logs have been read: the replicate of every run, and what is suspicious.

A log knows its own repetitions at most. Whether two logs are two replicates of one model, share seeds, or differ in
settings or questions shows only between them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bbedge.errors import DataError
from bbedge.readers.assemble.grid import natural_key
from bbedge.readers.logs.contract import LogRun, LogSample
from bbedge.records.notes import Note
from bbedge.records.values import grouped
from bbedge.text import counted, listed, quoted, shown, shown_path

_EXAMPLES = 3


class Repetition(NamedTuple):
    """One repetition of a model's run over a task, as far as the logs show."""

    model: str
    """The model, as it is called here."""
    path: str
    """The log."""
    run: LogRun
    """The run in it, which is one object for as long as its log is open."""
    repeat: str | None
    """The repetition within the run."""
    label: str | None
    """What names the replicate, if the user chose where to find it."""


@dataclass(slots=True)
class RunBook:
    """All repetitions of all runs; each has a code that stands for it until all are known."""

    repetitions: list[Repetition] = field(default_factory=list)
    """The repetitions in the order in which they were met."""
    _codes: dict[Repetition, str] = field(default_factory=dict)

    def code(self, repetition: Repetition) -> str:
        """The code of a repetition."""
        if repetition not in self._codes:
            self._codes[repetition] = f"repetition {len(self.repetitions)}"
            self.repetitions.append(repetition)
        return self._codes[repetition]

    def rename(self, names: Mapping[str, str]) -> None:
        """Give models other names: runs of two that get one name are runs of one model."""
        self.repetitions[:] = [each._replace(model=names.get(each.model, each.model)) for each in self.repetitions]

    def labels(self) -> dict[str, str]:
        """The replicate of every code: the label that was asked for, or the index of the run of its model and task."""
        coded = zip(self._codes.values(), self.repetitions, strict=True)
        groups = grouped(((each.model, each.run.task), (code, each)) for code, each in coded)
        labels: dict[str, str] = {}
        for group in groups.values():
            numbers = {code: str(position) for position, (code, _) in enumerate(sorted(group, key=_by_time), start=1)}
            labels |= numbers if group[0][1].label is None else _labelled(group)
        return labels

    def runs(self) -> dict[str, list[Repetition]]:
        """The runs of every model, each once, as its first repetition."""
        first = {(each.model, each.run): each for each in reversed(self.repetitions)}
        return grouped((each.model, each) for each in self.repetitions if first[each.model, each.run] is each)

    def identities(self) -> dict[str, tuple[str, ...]]:
        """The identities of the runs of every replicate, by its label; a repetition within a run adds its name."""
        labels = self.labels()
        found = grouped(
            (labels[code], each.run.identity if each.repeat is None else f"{each.run.identity}/{each.repeat}")
            for code, each in zip(self._codes.values(), self.repetitions, strict=True)
            if each.run.identity
        )
        return {label: tuple(sorted(set(names))) for label, names in found.items()}

    def order_notes(self) -> Iterator[Note]:
        """How replicates were numbered, where several runs of a model had to be put in order."""
        unnamed = (each for each in self.repetitions if each.label is None)
        runs = grouped(((each.model, each.run.task), each.run) for each in unnamed)
        if any(len(set(of_task)) > 1 for of_task in runs.values()):
            timed = all(each.run.when for each in self.repetitions)
            by = "the times in the logs" if timed else "the names of the files, because not all logs give the time"
            said = f"The logs do not number their runs: a model's replicates are its runs in the order of {by}."
            yield Note(kind="order", text=said)


def _by_time(coded: tuple[str, Repetition]) -> tuple[object, ...]:
    _, each = coded
    return each.run.when, natural_key(each.path), natural_key(each.repeat or "")


def _labelled(group: Sequence[tuple[str, Repetition]]) -> Mapping[str, str]:
    """The labels that were asked for; with the repetition where one label holds several."""
    repeats = grouped((each.label or "", each.repeat) for _, each in group)
    several = any(len(set(found)) > 1 for found in repeats.values())
    return {code: f"{each.label}/{each.repeat}" if several else each.label or "" for code, each in group}


@dataclass(slots=True)
class Watch:
    """Looks at every sample that is read, and remembers what differs between runs."""

    book: RunBook = field(default_factory=RunBook)
    """The repetitions of all runs."""
    errors: int = 0
    """Samples with an error."""
    first_error: str = ""
    """The first of them, with its place."""
    unscored: int = 0
    """Samples without an error that have no score."""
    cached: int = 0
    """Samples whose answer came from a cache."""
    first_cached: str = ""
    """The place of the first of them."""
    filtered: Counter[str] = field(default_factory=Counter)
    """Rows left out because they were scored under another filter."""
    wrong: Counter[str] = field(default_factory=Counter)
    """By metric of numbers: answers that are wrong, and not a number."""
    stated: dict[str, list[Note]] = field(default_factory=dict)
    """By path: where the samples differ from what their log states."""
    _contents: dict[str, str] = field(default_factory=dict)
    _prompts: dict[tuple[str, str], str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    """What the logs call the items that have several texts, each with the place of the second one."""
    _varying: dict[str, set[str]] = field(default_factory=dict)

    def add(self, sample: LogSample, model: str, place: Callable[[LogSample], str]) -> None:
        """Remember one sample; ``place`` finds where it is, and is called only where that matters."""
        if sample.error is not None:
            self.errors += 1
            self.first_error = self.first_error or f"{place(sample)}: {shown(sample.error, 200)}"
        if sample.cached:
            self.cached += 1
            self.first_cached = self.first_cached or place(sample)
        if sample.content is not None:
            label = sample.label or sample.item
            if self._contents.setdefault(label, sample.content) != sample.content:
                self.changed.setdefault(label, place(sample))
        prompt, key = sample.prompt, (model, sample.item)
        if prompt is not None and self._prompts.setdefault(key, prompt) != prompt:
            self._varying.setdefault(model, set()).add(sample.item)

    def notes(self) -> Iterator[Note]:
        """What was noticed."""
        if self.changed:
            examples = "; ".join(
                f"{quoted(label)} ({place})" for label, place in list(self.changed.items())[:_EXAMPLES]
            )
            yield Note(
                kind="content",
                subject=tuple(self.changed),
                text=f"{counted(len(self.changed), 'item')} with another text in some runs than in others: "
                f"{examples}. Scores on different questions cannot be compared: use runs of one version of the "
                "benchmark.",
            )
        for model, items in self._varying.items():
            yield Note(
                kind="protocol",
                subject=(model,),
                text=f"The prompts of {counted(len(items), 'item')} vary between runs of {quoted(model)}, as they do "
                "when few-shot examples are drawn for each run. Such runs are replicates only if that draw is part of "
                "what is evaluated.",
            )
        for of_log in self.stated.values():
            yield from of_log
        for name, count in self.wrong.items():
            yield Note(
                kind="log",
                subject=(name,),
                text=f"Counted as 0: {counted(count, 'wrong answer')} in the metric {quoted(name)}, which has numbers.",
            )
        for name, count in self.filtered.items():
            yield Note(kind="log", text=f"Left out: {counted(count, 'row')} scored as {quoted(name)}.")

    def gaps(self) -> str:
        """What to add to a message about missing cells."""
        failed = f"{counted(self.errors, 'sample')} ended with an error and have no score: {self.first_error}."
        unscored = f"{counted(self.unscored, 'sample')} without an error, and without a score of this metric."
        changed = next(self.notes()).text if self.changed else ""
        parts = ((self.errors, failed), (self.unscored, unscored), (self.changed, changed))
        return "".join(f"\n{part}" for holds, part in parts if holds)


def check_caches(watch: Watch, replicates: Sequence[str]) -> Iterator[Note]:
    """Refuse cached answers where there are several replicates: a copy is no replicate."""
    if not watch.cached:
        return
    said = f"{counted(watch.cached, 'answer')} came from a cache, the first at {watch.first_cached}"
    if len(replicates) > 1:
        raise DataError(
            f"{said}; an answer that is repeated from a cache is not a replicate: run again without the cache, or "
            "leave these runs out"
        )
    yield Note(kind="cache", text=f"{said}. Do not join them with the runs that filled the cache.")


def check_copies(book: RunBook) -> None:
    """Refuse a run that is given twice."""
    seen: dict[str, Repetition] = {}
    for each in itertools.chain.from_iterable(book.runs().values()):
        first = seen.setdefault(each.run.identity, each)
        # A run whose samples name several models is there for each of them.
        if each.run.identity and first.run is not each.run:
            raise DataError(
                f"{shown_path(each.path)}: the same run of {quoted(each.model)} as in {shown_path(first.path)} "
                f"({shown(each.run.identity)}); a run counts once: leave one of them out"
            )


def run_notes(book: RunBook) -> Iterator[Note]:
    """What the descriptions of the runs show: seeds and settings."""
    by_model = book.runs()
    yield from _seeds(book.repetitions)
    for model, runs in by_model.items():
        for task, name, values in _varying(runs, lambda run: run.sampling):
            yield Note(
                kind="protocol",
                subject=(model,),
                text=f"Runs of {quoted(model)}{task} differ in {name}: {listed(values)}. If these are different "
                "systems, name them apart with --model-name PATTERN=NAME.",
            )
    yield from _graded(by_model)
    for task, name, values in _varying([each for runs in by_model.values() for each in runs], lambda run: run.protocol):
        yield Note(
            kind="protocol",
            text=f"Runs{task} differ in {name}: {listed(values)}. Models can only be compared, and runs are only "
            "replicates, under one protocol.",
        )


def _graded(by_model: Mapping[str, Sequence[Repetition]]) -> Iterator[Note]:
    judged = [model for model, runs in by_model.items() if any(each.run.model in each.run.graders for each in runs)]
    if judged:
        who = f"{quoted(judged[0])} graded its own answers" if len(judged) == 1 else "Each model graded its own answers"
        if 1 < len(judged) < len(by_model):
            who = f"{listed(judged)} graded their own answers"
        yield Note(
            kind="protocol",
            subject=tuple(judged),
            text=f"{who}. Scores by different graders cannot be compared, and models tend to favour themselves: grade "
            "all models with one other model, in Inspect with --model-role grader=MODEL.",
        )


def _seeds(repetitions: Sequence[Repetition]) -> Iterator[Note]:
    counts = Counter((each.model, each.run.task, each.run.seed) for each in repetitions if each.run.seed is not None)
    seeds = {seed for _, _, seed in counts}
    repeated = grouped((model, seed) for (model, _, seed), count in counts.items() if count > 1)
    if repeated:
        model, twice = next(iter(repeated.items()))
        others = len(repeated) - 1
        more = f" and of {others} more model{'' if others == 1 else 's'}" if others else ""
        yield Note(
            kind="seed",
            subject=tuple(repeated),
            text=f"Replicates of {quoted(model)}{more} share a seed ({listed(sorted(set(twice)))}): with one seed, "
            "sampling can repeat itself, and replicates that repeat each other are not independent. Give every run a "
            "seed of its own, or none.",
        )
    if seeds:
        yield shared_seed_note(sorted(seeds))


def shared_seed_note(seeds: Sequence[str]) -> Note:
    """That all items of a run have its seed."""
    return Note(
        kind="seed",
        text=f"All items of a run share one seed ({listed(seeds)}), so that their random numbers may be the same: if "
        "the tool sends it with every request, items are not independent, and --blocks one is the safe choice.",
    )


def _varying(
    runs: Sequence[Repetition], settings: Callable[[LogRun], Mapping[str, str]]
) -> Iterator[tuple[str, str, list[str]]]:
    """The settings in which runs of one task differ, with their values; the task in words."""
    for task in sorted({each.run.task for each in runs}):
        of_task = [settings(each.run) for each in runs if each.run.task == task]
        for name in sorted({name for each in of_task for name in each}):
            values = sorted({each.get(name, "not set") for each in of_task})
            if len(values) > 1:
                yield f" on {quoted(task)}" if task else "", name, values
