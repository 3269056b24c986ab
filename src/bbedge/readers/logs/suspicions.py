"""What in logs can be read and is still suspicious: shared seeds, settings that vary, changed questions, caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bbedge.core.notes import Note
from bbedge.errors import DataError
from bbedge.readers.logs.contract import Sample
from bbedge.readers.logs.passes import Pass, PassBook
from bbedge.text import counted, listed, quoted, shown, shown_path

_EXAMPLES = 3


@dataclass(slots=True)
class Watch:
    """Looks at every sample that is read, and remembers what differs between runs."""

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
    filtered: dict[str, int] = field(default_factory=dict)
    """Rows left out because they were scored under another filter."""
    _contents: dict[str, str] = field(default_factory=dict)
    _prompts: dict[tuple[str, str], str] = field(default_factory=dict)
    _changed: dict[str, str] = field(default_factory=dict)
    _varying: dict[str, set[str]] = field(default_factory=dict)

    def see(self, sample: Sample, model: str, place: Callable[[Sample], str]) -> None:
        """Take note of one sample; ``place`` tells where it stands, which is only asked where it matters."""
        if sample.error is not None:
            self.errors += 1
            self.first_error = self.first_error or f"{place(sample)}: {shown(sample.error, 200)}"
        if sample.cached:
            self.cached += 1
            self.first_cached = self.first_cached or place(sample)
        if sample.content is not None:
            label = sample.label or sample.item
            if self._contents.setdefault(label, sample.content) != sample.content:
                self._changed.setdefault(label, place(sample))
        if sample.prompt is not None:
            known = self._prompts.setdefault((model, sample.item), sample.prompt)
            if known != sample.prompt:
                self._varying.setdefault(model, set()).add(sample.item)

    def notes(self) -> Iterator[Note]:
        """What was noticed."""
        if self._changed:
            examples = "; ".join(
                f"{quoted(label)} ({place})" for label, place in list(self._changed.items())[:_EXAMPLES]
            )
            yield Note(
                kind="content",
                subject=tuple(self._changed),
                text=f"{counted(len(self._changed), 'item')} with another text in some runs than in others: "
                f"{examples}. Scores on different questions cannot be compared: use runs of one version of the "
                "benchmark.",
            )
        for model, items in self._varying.items():
            yield Note(
                kind="protocol",
                subject=(model,),
                text=f"The prompts of {counted(len(items), 'item')} vary between runs of {quoted(model)}, as they do "
                "when few-shot examples are drawn anew. Such runs are replicates only if that draw is part of what is "
                "evaluated.",
            )
        for name, count in self.filtered.items():
            yield Note(kind="log", text=f"Left out: {counted(count, 'row')} scored as {quoted(name)}.")

    def gaps(self) -> str:
        """What to add to a message about missing cells."""
        parts = []
        if self.errors:
            parts.append(f"{counted(self.errors, 'sample')} ended with an error and have no score: {self.first_error}.")
        if self.unscored:
            parts.append(f"{counted(self.unscored, 'sample')} without an error, and without a score of this metric.")
        if self._changed:
            parts.append(next(self.notes()).text)
        return "".join(f"\n{part}" for part in parts)


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


def check_copies(passes: PassBook) -> None:
    """Refuse a run that is given twice."""
    seen: dict[str, Pass] = {}
    for model, runs in passes.runs().items():
        for each in runs:
            if not each.run.identity:
                continue
            first = seen.setdefault(each.run.identity, each)
            if first is not each:
                raise DataError(
                    f"{shown_path(each.path)}: the same run of {quoted(model)} as in {shown_path(first.path)} "
                    f"({shown(each.run.identity)}); a run counts once: leave one of them out"
                )


def run_notes(passes: PassBook) -> Iterator[Note]:
    """What the descriptions of the runs show: seeds and settings."""
    by_model = passes.runs()
    yield from _seeds(passes.passes)
    for model, runs in by_model.items():
        tasks = {each.run.task for each in runs}
        for task in sorted(tasks):
            of_task = [each for each in runs if each.run.task == task]
            for name, values in _varying([each.run.sampling for each in of_task]):
                yield Note(
                    kind="protocol",
                    subject=(model,),
                    text=f"Runs of {quoted(model)}{_on(task)} differ in {name}: {listed(values)}. If these are "
                    "different systems, name them apart with --model-name PATTERN=NAME.",
                )
    everything = [each for runs in by_model.values() for each in runs]
    for task in sorted({each.run.task for each in everything}):
        of_task = [each for each in everything if each.run.task == task]
        for name, values in _varying([each.run.protocol for each in of_task]):
            yield Note(
                kind="protocol",
                text=f"Runs{_on(task)} differ in {name}: {listed(values)}. Models can only be compared, and runs are "
                "only replicates, under one protocol.",
            )


def _seeds(passes: Sequence[Pass]) -> Iterator[Note]:
    counts: dict[tuple[str, str, str], int] = {}
    for each in passes:
        if each.run.seed is not None:
            key = (each.model, each.run.task, each.run.seed)
            counts[key] = counts.get(key, 0) + 1
    seeds = {seed for _, _, seed in counts}
    repeated: dict[str, set[str]] = {}
    for (model, _, seed), count in counts.items():
        if count > 1:
            repeated.setdefault(model, set()).add(seed)
    if repeated:
        model, twice = next(iter(repeated.items()))
        others = len(repeated) - 1
        more = f" and of {others} more model{'' if others == 1 else 's'}" if others else ""
        yield Note(
            kind="seed",
            subject=tuple(repeated),
            text=f"Replicates of {quoted(model)}{more} share a seed ({listed(sorted(twice))}): with one seed, sampling "
            "can repeat itself, and replicates that repeat each other are not independent. Give every run a seed of "
            "its own, or none.",
        )
    elif seeds:
        yield Note(
            kind="seed",
            text=f"All items of a run share one seed ({listed(sorted(seeds))}), so that their random numbers may be "
            "the same: if the tool sends it with every request, items are not independent, and --blocks one is the "
            "safe choice.",
        )


def _varying(settings: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, list[str]]]:
    for name in sorted({name for each in settings for name in each}):
        values = sorted({each.get(name, "not set") for each in settings})
        if len(values) > 1:
            yield name, values


def _on(task: str) -> str:
    return f" on {quoted(task)}" if task else ""
