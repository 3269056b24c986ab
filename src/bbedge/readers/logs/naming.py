"""What models are called, which spellings may be one model, and whether all logs have the same questions.

One model with two prompts is two systems, which a tool logs under one name: the difference is in the header. A
benchmark that changed between two runs keeps the names of its items: scores of one model on other questions than those
of the others cannot be compared, whatever is done about missing scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bbedge.errors import Argument, Blank, DataError, FormatError, Part
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.choices import OpenChoiceError, field_naming_models, model_of_log
from bbedge.readers.logs.contract import LogRun, LogSample
from bbedge.readers.logs.fields import field_at, field_paths, mapping
from bbedge.readers.logs.runs import RunBook
from bbedge.records.notes import Note
from bbedge.records.reading import Reading
from bbedge.records.values import grouped
from bbedge.text import counted, folded, listed, quoted, shown, shown_path

_JOINT = " | "
# What a run was started with, in the words of the tools.
_ARGUMENTS = ("task_args", "solver_args", "model_args", "metadata")
# Such arguments number runs of one system.
_NUMBERS = frozenset(["seed", "run", "epoch", "replicate", "repeat", "trial", "index"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """An argument in which runs of one model on one task differ."""

    model: str
    """What the logs call the model."""
    task: str
    """The task."""
    field: str
    """The name of the argument, as ``model_from`` takes it."""
    values: tuple[str, ...]
    """Its values, in order."""


def model_in(path: str, run: LogRun, reading: Reading, sample: LogSample | None = None) -> str | None:
    """What to call the model of a run; the sample is asked for a field that the header does not have."""
    return model_of_log(reading, path, model_named_by_log(run, reading, sample))


def model_named_by_log(run: LogRun, reading: Reading, sample: LogSample | None = None) -> str | None:
    """What the log calls the model, or what the field says that was chosen for it."""
    chosen = field_naming_models(reading)
    return run.model if chosen is None else _named(run, sample, chosen)


def check_found(model: str | None, path: str, run: LogRun, reading: Reading) -> str:
    """The name, or an error that says where names can be found."""
    chosen = field_naming_models(reading)
    if model is not None:
        return model
    if chosen is not None:
        raise FormatError(
            f"{shown_path(path)}: nothing there for ",
            Argument("model_from", shown(chosen)),
            f"; the header has {listed((name for name, _ in _header(run)), limit=12) or 'no fields'}",
        )
    raise OpenChoiceError.proposing(
        (Argument("model_from", "file"),),
        f"{shown_path(path)}: the log does not name its model; say it with ",
        Argument("model_name", (Blank("NAME"),)),
        ", or with ",
        Argument("model_name", (Blank("PATTERN=NAME"),)),
        " for files that fit a pattern, or with ",
        Argument("model_from", "folder"),
        " if the path names it",
    )


def refuse_shared_names(book: RunBook, reading: Reading) -> None:
    """Refuse a field that gives one name to different models: their runs would become replicates of each other."""
    chosen = field_naming_models(reading)
    if chosen is None:
        return
    for name, runs in book.runs().items():
        models = sorted({each.run.model for each in runs if each.run.model is not None})
        if len(models) > 1:
            raise DataError(
                Argument("model_from", shown(chosen)),
                f" gives the name {shown(name)!r} to {listed(models)}; name them apart with ",
                Argument("model_from", shown(f"model+{chosen}")),
            )


def differing_arguments(runs: Iterable[LogRun]) -> tuple[Differing, ...]:
    """The arguments in which runs of one model on one task differ, and which may make them different systems."""
    named = ((run.model, run) for run in runs if run.model is not None)
    found = grouped(((model, run.task), dict(_header(run, only=_ARGUMENTS))) for model, run in named)
    return tuple(
        Differing(model=model, task=task, field=name, values=tuple(values))
        for (model, task), of_runs in found.items()
        for name in dict.fromkeys(name for each in of_runs for name in each)
        if len(values := sorted({each[name] for each in of_runs if name in each})) > 1
        and all(name in each for each in of_runs)
        and name.rpartition(".")[2].casefold() not in _NUMBERS
    )


def _named(run: LogRun, sample: LogSample | None, fields: str) -> str | None:
    """The value of a field, or of several that are joined by ``+``."""
    whole = _value(run, sample, fields)
    if whole is not None or "+" not in fields:
        return whole
    parts = [_value(run, sample, name.strip()) for name in fields.split("+")]
    known = [part for part in parts if part is not None]
    return _JOINT.join(known) if len(known) == len(parts) else None


def _value(run: LogRun, sample: LogSample | None, name: str) -> str | None:
    if name in ("model", "task"):
        return (run.model if name == "model" else run.task) or None
    of_sample = () if sample is None else (sample.fields,)
    places = (run.fields, *(mapping(part) for part in run.fields.values()), *of_sample)
    # A field without text names nothing.
    return next((value for place in places if (value := field_at(place, name)) and value.strip()), None)


def _header(run: LogRun, only: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The fields of a header with their values, by the shortest name that is understood."""
    for part in run.fields.values():
        fields = mapping(part)
        # Arguments in one text are rather a whole command line, with seeds and devices.
        yield from field_paths({key: fields[key] for key in only if mapping(fields.get(key))} if only else fields)


_MOST_FILES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """One sample of one file, as far as its question matters."""

    path: str
    """The log."""
    model: str
    """The model, as it is called here."""
    place: str
    """Where the sample stands."""
    sample: LogSample
    """The sample."""


@dataclass(slots=True)
class _Texts:
    """The texts under which the logs know one item."""

    files: dict[str, dict[str, str]] = field(default_factory=dict)
    """For every text the files that have it, each with the place."""
    models: dict[str, set[str]] = field(default_factory=dict)
    """For every model its texts."""
    items: set[str] = field(default_factory=set)
    """The names of the items here."""
    as_sent: bool = True
    """Whether the texts are what was sent, which may be worded otherwise for some models."""

    def add(self, asked: AskedQuestion, content: str) -> None:
        self.as_sent = self.as_sent and asked.sample.as_sent
        self.files.setdefault(content, {}).setdefault(asked.path, asked.place)
        self.models.setdefault(asked.model, set()).add(content)
        self.items.add(asked.sample.item)

    def is_drawn(self) -> bool:
        """Whether one file has several of the texts: then a text is drawn, and no version of the benchmark."""
        files = Counter(path for of_text in self.files.values() for path in of_text)
        return any(count > 1 for count in files.values())

    def differ(self) -> bool:
        """Whether some models were asked what others were not."""
        first, *others = self.models.values()
        return any(texts != first for texts in others)

    def odd_files(self) -> dict[str, str]:
        """The files that do not have the text of most files, each with the place; all of them if there is no such."""
        ranked = sorted(self.files.values(), key=len, reverse=True)
        tied = len(ranked) > 1 and len(ranked[0]) == len(ranked[1])
        return {path: place for of_text in ranked[0 if tied else 1 :] for path, place in of_text.items()}


def check_same_questions(asked: Iterable[AskedQuestion], changed: Collection[str], *, reworded: bool = False) -> None:
    """Raise if some models were asked other questions than others under the same names.

    ``changed`` are the names that were seen with several texts. Documents that are known by their content may have
    changed their order only: they are the same questions if every file has all of them. ``reworded`` says that models
    are named by an argument such as the prompt, which may be part of the text of every question.
    """
    texts: dict[str, _Texts] = {}
    holders: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    same: set[str] = set()
    for each in asked:
        sample = each.sample
        label = sample.label or sample.item
        files.setdefault(sample.run.task, set()).add(each.path)
        if sample.content is not None and label not in changed:
            same.add(each.path)
        elif sample.content is not None:
            texts.setdefault(label, _Texts()).add(each, sample.content)
            if sample.label is not None:
                holders.setdefault(sample.item, set()).add(each.path)
    tasks = [frozenset(paths) for paths in files.values()]
    other = {
        label: found
        for label, found in texts.items()
        if found.differ()
        and not found.is_drawn()
        and not _documents_only_moved(found, holders, tasks)
        # A model that is sent every question in other words has a wrapper; one that is sent some has other questions.
        and not ((found.as_sent or reworded) and same.isdisjoint(found.odd_files()))
    }
    if other:
        raise _refusal(other)


def _documents_only_moved(found: _Texts, holders: Mapping[str, set[str]], tasks: Collection[frozenset[str]]) -> bool:
    """Whether documents only moved, or one was added: then no document has taken the place of another."""
    apart = [item for item in found.items if item in holders and frozenset(holders[item]) not in tasks]
    return len(found.items) > 1 and len(apart) < 2


def _refusal(other: Mapping[str, _Texts]) -> DataError:
    odd = Counter(path for found in other.values() for path in found.odd_files())
    label, found = next(iter(other.items()))
    names = [shown_path(path) for path, _ in odd.most_common()]
    more = f" and {len(names) - _MOST_FILES:,} more" if len(names) > _MOST_FILES else ""
    everything = {path for each in other.values() for of_text in each.files.values() for path in of_text}
    whom = "than each other" if len(odd) == len(everything) else "than the other files"
    have = "has" if len(names) == 1 else "have"
    return DataError(
        f"{', '.join(names[:_MOST_FILES])}{more} {have} other texts for {counted(len(other), 'item')} {whom}, such as "
        f"{quoted(label)} at {' and '.join(list(found.odd_files().values())[:2])}; scores on different questions "
        "cannot be compared, whatever missing scores count as: run all models on one version of the benchmark, or "
        "leave the logs of the other version out"
    )


_DIFFER = "differ only by case, spaces, hyphens or look-alike characters"
_MOST_GROUPS = 3


def alike(models: Sequence[str]) -> list[list[str]]:
    """Groups of two or more names that differ only by case, spaces, hyphens or look-alike characters.

    >>> alike(["GPT-4", "other", "gpt-4 "])
    [['GPT-4', 'gpt-4 ']]
    """
    return [group for group in grouped((folded(model), model) for model in models).values() if len(group) > 1]


def merged_names(models: Sequence[str], preferred: Sequence[str] = ()) -> dict[str, str]:
    r"""One name for every name: of spellings that are alike the preferred one, else the plainest, without outer spaces.

    >>> merged_names(["gpt-4 ", "GPT\u20114", "GPT-4"])["gpt-4 "], merged_names(["gpt-4"], ["GPT-4"])
    ('GPT-4', {'gpt-4': 'GPT-4'})
    """
    spellings = grouped((folded(model), model.strip()) for model in models)
    known = {folded(name): name for name in reversed(preferred)}
    names = {
        key: known.get(key) or min(group, key=lambda name: (not name.isascii(), name))
        for key, group in spellings.items()
    }
    return {model: names[folded(model)] for model in models}


def merge_models(coder: Coder, reading: Reading) -> Mapping[str, str]:
    """Give models whose names are alike one name, if that was chosen; the names that changed, with the new ones."""
    names = merged_names(coder.names("model"), reading.preferred_names) if reading.merge_names else {}
    changed = {old: new for old, new in names.items() if old != new}
    if changed:
        coder.rename("model", lambda _: list(names.values()))
    return changed


def merged_notes(changed: Mapping[str, str]) -> Iterator[Note]:
    """Which names were read as another spelling of which."""
    for name, others in grouped((new, old) for old, new in sorted(changed.items())).items():
        yield Note(
            kind="names",
            subject=(name, *others),
            text=f"Read as the model {shown(ascii(name))} on purpose: {_in_ascii(others)}.",
        )


def similar_models(models: Sequence[str]) -> Iterator[Note]:
    """Models that may be one, and are kept as different ones."""
    for group in alike(models):
        yield Note(
            kind="names",
            subject=tuple(group),
            text=f"The models {_in_ascii(group)} {_DIFFER}; they are kept as different models. If they are one, merge "
            "them with --merge-names (in Python with merge_names=True), or give them one name.",
        )


def similar_hint(models: Sequence[str]) -> tuple[Part, ...]:
    """What to say of such models where scores are missing, for which other spellings may be the reason."""
    groups = alike(models)
    if not groups:
        return ()
    words = "; ".join(_in_ascii(group) for group in groups[:_MOST_GROUPS])
    more = f" and {len(groups) - _MOST_GROUPS} more" if len(groups) > _MOST_GROUPS else ""
    return f"The models {words}{more} {_DIFFER}: pass ", Argument("merge_names", value=True), " if they are one.\n"


def padded_names(models: Sequence[str], items: Sequence[str]) -> Iterator[Note]:
    """Names with white space at an end, which are kept as they are."""
    for role, names in (("models", models), ("items", items)):
        if padded := [name for name in names if name != name.strip()]:
            yield Note(
                kind="names",
                subject=tuple(padded),
                text=f"{len(padded)} of {len(names)} {role} have white space at an end of the name: {listed(padded)}.",
            )


def _in_ascii(names: Sequence[str]) -> str:
    # Some of these differences cannot be seen.
    return " and ".join(shown(ascii(name)) for name in names)
