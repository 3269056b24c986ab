"""Which replicate a sample belongs to: the runs and repetitions of each model, numbered.

A log knows its own repetitions at most. Whether two logs are two replicates of one model is only seen when all of them
have been read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bbedge.readers.assemble.grid import natural_key
from bbedge.readers.logs.contract import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass of a model over a task, as far as the logs tell."""

    model: str
    """The model, as it is called here."""
    path: str
    """The log."""
    run: Run
    """The run in it."""
    repeat: str | None
    """The repetition within the run."""
    label: str | None
    """What names the replicate, if the user said where that stands."""


@dataclass(slots=True)
class PassBook:
    """All passes; each has a code that stands for it until all are known."""

    passes: list[Pass] = field(default_factory=list)
    """The passes in the order in which they were met."""
    _codes: dict[tuple[str, int, str | None, str | None], str] = field(default_factory=dict)

    def code(self, model: str, path: str, run: Run, repeat: str | None, label: str | None) -> str:
        """The code of a pass."""
        # A run is one object for as long as its log is open.
        key = (path, id(run), repeat, label)
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = f"pass {len(self.passes)}"
            self.passes.append(Pass(model=model, path=path, run=run, repeat=repeat, label=label))
        return code

    def labels(self) -> dict[str, str]:
        """The replicate of every code: the label that was asked for, or the index of the pass of its model and task."""
        groups: dict[tuple[str, str], list[tuple[str, Pass]]] = {}
        for code, each in zip(self._codes.values(), self.passes, strict=True):
            groups.setdefault((each.model, each.run.task), []).append((code, each))
        labels: dict[str, str] = {}
        for group in groups.values():
            if group[0][1].label is None:
                for position, (code, _) in enumerate(sorted(group, key=_by_time), start=1):
                    labels[code] = str(position)
            else:
                labels.update(_labelled(group))
        return labels

    def runs(self) -> dict[str, list[Pass]]:
        """The runs of every model, each once."""
        runs: dict[str, dict[int, Pass]] = {}
        for each in self.passes:
            runs.setdefault(each.model, {}).setdefault(id(each.run), each)
        return {model: list(its.values()) for model, its in runs.items()}

    def identities(self) -> dict[str, tuple[str, ...]]:
        """The identities of the runs of every replicate, by its label; a repetition within a run adds its name."""
        found: dict[str, set[str]] = {}
        labels = self.labels()
        for code, each in zip(self._codes.values(), self.passes, strict=True):
            if each.run.identity:
                name = each.run.identity if each.repeat is None else f"{each.run.identity}/{each.repeat}"
                found.setdefault(labels[code], set()).add(name)
        return {label: tuple(sorted(names)) for label, names in found.items()}

    def order_note(self) -> str | None:
        """How replicates were numbered, where several runs of a model had to be put in order."""
        several: dict[tuple[str, str], set[int]] = {}
        for each in self.passes:
            if each.label is None:
                several.setdefault((each.model, each.run.task), set()).add(id(each.run))
        if not any(len(runs) > 1 for runs in several.values()):
            return None
        timed = all(each.run.when for each in self.passes)
        by = "the times in the logs" if timed else "the names of the files, because not all logs tell the time"
        return f"The logs do not number their runs: a model's replicates are its runs in the order of {by}."


def _by_time(entry: tuple[str, Pass]) -> tuple[object, ...]:
    _, each = entry
    return each.run.when, natural_key(each.path), natural_key(each.repeat or "")


def _labelled(group: Sequence[tuple[str, Pass]]) -> Mapping[str, str]:
    """The labels that were asked for; with the repetition where one label holds several."""
    repeats: dict[str, set[str | None]] = {}
    for _, each in group:
        repeats.setdefault(each.label or "", set()).add(each.repeat)
    several = any(len(found) > 1 for found in repeats.values())
    return {code: f"{each.label}/{each.repeat}" if several else each.label or "" for code, each in group}
