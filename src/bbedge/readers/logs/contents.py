"""Whether the items of all logs are the same questions.

A benchmark that changed between two runs keeps the names of its items. Scores of one model on other questions than
those of the others cannot be compared, whatever is done about missing scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from bbedge.errors import DataError
from bbedge.readers.logs.contract import Sample
from bbedge.readers.logs.fields import digest
from bbedge.text import counted, quoted, shown_path

# Inspect cuts the texts of its summaries at 5,120 characters; its other logs have all of them.
_COMPARED = 4096
_MOST_FILES = 3


def question_digest(*texts: str | None) -> str:
    """A hash of the words of a question in any order: the order of choices may be drawn anew for every run.

    >>> question_digest("Which? (A) two (B) three") == question_digest("Which? (A) three (B) two")
    True
    """
    return digest(sorted(word for text in texts if text for word in text[:_COMPARED].split()))


def answer_text(target: object) -> str | None:
    """The answer as part of a question's content; None for a letter, which names a choice in the order drawn.

    >>> answer_text("B"), answer_text(["Paris", "paris"])
    (None, 'Paris paris')
    """
    parts = target if isinstance(target, list) else [target]
    texts = [str(part).strip() for part in parts if part is not None]
    return " ".join(text for text in texts if not (len(text) == 1 and text.isalpha())) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One sample of one file, as far as its question matters."""

    path: str
    """The log."""
    model: str
    """The model, as it is called here."""
    place: str
    """Where the sample stands."""
    sample: Sample
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

    def add(self, asked: Asked, content: str) -> None:
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


def check_same_questions(asked: Iterable[Asked], changed: Collection[str], *, reworded: bool = False) -> None:
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
        if label not in changed and sample.content is not None:
            same.add(each.path)
        if label in changed and sample.content is not None:
            texts.setdefault(label, _Texts()).add(each, sample.content)
            if sample.label is not None:
                holders.setdefault(sample.item, set()).add(each.path)
    tasks = [frozenset(paths) for paths in files.values()]
    other = {
        label: found
        for label, found in texts.items()
        if found.differ()
        and not found.is_drawn()
        and not _reordered(found, holders, tasks)
        # A model that is sent every question in other words has a wrapper; one that is sent some has other questions.
        and not ((found.as_sent or reworded) and same.isdisjoint(found.odd_files()))
    }
    if other:
        raise _refusal(other)


def _reordered(found: _Texts, holders: Mapping[str, set[str]], tasks: Collection[frozenset[str]]) -> bool:
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
