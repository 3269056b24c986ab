"""Two documents, field by field."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bbedge.core.scores import SourceFile
from bbedge.records.certificate import SourceRecord
from bbedge.records.notes import Note, NoteKind
from bbedge.text import counted, quoted

AT_THRESHOLD = 1e-6
"""Relative difference of two computations of one number: processors round differently."""
ROUNDING = 1e-9
"""Relative difference of two numbers that should be the same; other programs may have written the file again."""
KEPT = 1e-4
"""The evidence of single looks is kept with four decimals."""
MOST_LISTED = 1000
"""So many differences are listed; beyond them, their number says enough."""

_MATRICES = ("log_e", "log_w", "margins")
_BOUNDS = frozenset({"margins", "margin", "path_margin", "within", "mean_interval", "lower", "upper"})
_EVIDENCE = _BOUNDS | {"log_e", "log_w", "log_threshold", "log_thresholds"}
_IN_SCORE_UNITS = _BOUNDS | {"mean"}

Kind = Literal["changed", "only-stated", "only-computed"]
Order = tuple[Sequence[str], NDArray[np.intp]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not the same."""

    place: str
    """Where it is in the certificate, for instance ``models['a'].mean``."""
    kind: Kind
    """Both have it and differ; only the certificate has it; or only what was computed has it."""
    stated: object = None
    """What the certificate says."""
    computed: object = None
    """What follows from the scores."""


@dataclass(slots=True, kw_only=True)
class DifferenceList:
    """What was found so far."""

    scale: float = 1.0
    """How large scores are: rounding errors of means and margins grow with it."""
    found: list[Difference] = field(default_factory=list)
    """The first differences."""
    count: int = 0
    """The number of all differences."""

    def add(self, place: str, kind: Kind, stated: object = None, computed: object = None) -> None:
        """Count a difference, and keep it if there is room."""
        self.count += 1
        if len(self.found) < MOST_LISTED:
            self.found.append(Difference(place=place, kind=kind, stated=stated, computed=computed))

    def close(self, key: str, stated: float, computed: float, *, rounded: bool = False) -> bool:
        """Whether two numbers are the same but for rounding."""
        if type(stated) is int and type(computed) is int:
            return stated == computed
        largest = max(1.0, abs(computed))
        if key in _IN_SCORE_UNITS:
            largest = self.scale
        tolerance = (AT_THRESHOLD if key in _EVIDENCE else ROUNDING) * largest
        return abs(stated - computed) <= tolerance + (KEPT if rounded else 0.0)


def score_scale(low: float, high: float) -> float:
    """How large scores between these two are."""
    return max(abs(low), abs(high), high - low)


def unknown_keys(content: object, known: object, place: str = "") -> Iterator[str]:
    """Places of keys in ``content`` that ``known``, the same after it was converted, does not have.

    >>> list(unknown_keys({"a": [{"b": 1, "c": 2}], "d": 3}, {"a": [{"b": 1}]}))
    ['a[0].c', 'd']
    """
    if isinstance(content, Mapping) and isinstance(known, Mapping):
        for key, value in content.items():
            inside = f"{place}.{key}" if place else str(key)
            if key not in known:
                yield inside
            else:
                yield from unknown_keys(value, known[key], inside)
    elif isinstance(content, list | tuple) and isinstance(known, list | tuple):
        for i, (value, other) in enumerate(zip(content, known, strict=False)):
            yield from unknown_keys(value, other, f"{place}[{i}]")


def compare(stated: Mapping[str, Any], computed: Mapping[str, Any], *, without: Collection[str] = ()) -> DifferenceList:
    """Compare two documents of plain values, field by field, without some keys."""
    to = DifferenceList(scale=score_scale(*map(float, computed["design"]["score_range"])))
    rest = ({key: value for key, value in each.items() if key not in without} for each in (stated, computed))
    _record(to, "", *rest)
    return to


def _record(to: DifferenceList, place: str, stated: Mapping[str, Any], computed: Mapping[str, Any]) -> None:
    order = _order(stated, computed)
    for key in (*computed, *(key for key in stated if key not in computed)):
        where = f"{place}.{key}" if place else key
        if key not in stated or key not in computed:
            kind: Kind = "only-computed" if key not in stated else "only-stated"
            to.add(where, kind, _brief(stated.get(key)), _brief(computed.get(key)))
        elif key in _SETS:
            _value(to, where, key, _in_order(stated[key]), _in_order(computed[key]))
        elif order is not None and key in _MATRICES and isinstance(computed[key], list | tuple):
            _matrix(to, where, key, stated[key], computed[key], order)
        elif order is not None and key == "history" and isinstance(computed[key], dict) and stated[key]:
            _history(to, where, stated[key], computed[key], order)
        else:
            _value(to, where, key, stated[key], computed[key])


def _value(to: DifferenceList, place: str, key: str, stated: Any, computed: Any) -> None:  # noqa: ANN401 - any JSON
    if isinstance(stated, dict) and isinstance(computed, dict):
        _record(to, place, stated, computed)
    elif key in _KEYED and isinstance(stated, list | tuple) and isinstance(computed, list | tuple):
        _keyed(to, place, key, stated, computed)
    elif key == "more_replicates" and stated and computed:
        if not all(map(_next_to, stated, computed)):
            to.add(place, "changed", stated, computed)
    elif isinstance(stated, list | tuple) and isinstance(computed, list | tuple):
        if len(stated) != len(computed):
            to.add(place, "changed", _brief(stated), _brief(computed))
            return
        for at, pair in enumerate(zip(stated, computed, strict=True)):
            _value(to, f"{place}[{at}]", key, *pair)
    elif _is_number(stated) and _is_number(computed):
        if not to.close(key, stated, computed):
            to.add(place, "changed", stated, computed)
    elif stated != computed or type(stated) is not type(computed):
        to.add(place, "changed", _brief(stated), _brief(computed))


def _keyed(to: DifferenceList, place: str, key: str, stated: Sequence[Any], computed: Sequence[Any]) -> None:
    """Compare lists whose entries are known by names, so that one that is missing does not shift all others."""
    there, expected = ({_KEYED[key](each): each for each in entries} for entries in (stated, computed))
    between = " and " if key in _UNORDERED else " over "
    for entry in (*expected, *(entry for entry in there if entry not in expected)):
        where = f"{place}[{between.join(map(quoted, entry))}]"
        if entry not in there:
            to.add(where, "only-computed", None, _brief(expected[entry]))
        elif entry not in expected:
            to.add(where, "only-stated", _brief(there[entry]), None)
        elif isinstance(there[entry], dict):
            _value(to, where, "", there[entry], expected[entry])
    if len(there) != len(stated):
        to.add(place, "changed", f"{len(stated)} entries, some twice", f"{len(computed)} entries")
    if key in ("models", "views") and there.keys() == expected.keys() and list(there) != list(expected):
        to.add(f"the order of {place}", "changed", *(_brief([name for (name,) in each]) for each in (there, expected)))


def _matrix(
    to: DifferenceList,
    place: str,
    key: str,
    stated: object,
    computed: object,
    order: Order,
    *,
    rounded: bool = False,
) -> None:
    names, window = order
    given, expected = _array(stated), _array(computed)
    if given is None or expected is None or given.shape != expected.shape:
        to.add(place, "changed", _brief(stated), _brief(computed))
        return
    expected = expected[np.ix_(window, window)]
    scale = to.scale if key in _IN_SCORE_UNITS else np.maximum(1.0, np.abs(expected))
    tolerance = AT_THRESHOLD * scale + (KEPT if rounded else 0.0)
    with np.errstate(invalid="ignore"):
        same = (np.abs(given - expected) <= tolerance) | (np.isnan(given) & np.isnan(expected))
    for a, b in np.argwhere(~same).tolist():
        where = f"{place}[{quoted(names[a])} over {quoted(names[b])}]"
        to.add(where, "changed", _number(given[a, b]), _number(expected[a, b]))


def _history(
    to: DifferenceList,
    place: str,
    stated: Mapping[str, Any],
    computed: Mapping[str, Any],
    order: Order,
) -> None:
    """Compare what was kept of the looks, which is rounded to four decimals."""
    alike = stated.keys() == computed.keys() and all(len(stated[key]) == len(computed[key]) for key in computed)
    if not alike or stated["replicates"] != computed["replicates"]:
        to.add(place, "changed", _brief(stated), _brief(computed))
        return
    pairs = zip(stated["log_thresholds"], computed["log_thresholds"], strict=True)
    for at, (given, expected) in enumerate(pairs):
        if not to.close("log_thresholds", given, expected, rounded=True):
            to.add(f"{place}.log_thresholds[{at}]", "changed", given, expected)
    for key in _MATRICES:
        looks = zip(stated.get(key, ()), computed.get(key, ()), strict=True)
        for at, (given_look, expected_look) in enumerate(looks):
            _matrix(to, f"{place}.{key}[{at}]", key, given_look, expected_look, order, rounded=True)


def _order(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> Order | None:
    """The models as the certificate has them, and where each is in what was computed; None if they are not the same."""
    if not (isinstance(stated.get("models"), list | tuple) and isinstance(computed.get("models"), list | tuple)):
        return None
    names, there = ([model["name"] for model in each["models"]] for each in (stated, computed))
    if sorted(names) != sorted(there):
        return None
    place = {name: at for at, name in enumerate(there)}
    return names, np.array([place[name] for name in names], dtype=np.intp)


def _array(rows: object) -> NDArray[np.float64] | None:
    if not isinstance(rows, list | tuple) or not rows or any(len(row) != len(rows[0]) for row in rows):
        return None
    found = np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=np.float64)
    return found if found.ndim == 2 else None


def _next_to(stated: int, computed: int) -> bool:
    """Whether two counts that are rounded to their first digit are neighbours: a forecast is no exact number."""
    unit: int = 10 ** int(math.log10(max(1, min(stated, computed))))
    return abs(stated - computed) <= unit


def _in_order(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same with every list in one order."""
    if isinstance(value, Mapping):
        return {key: _in_order(each) for key, each in value.items()}
    return sorted(map(_in_order, value), key=str) if isinstance(value, list | tuple) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _brief(value: object) -> object:
    """A value for a message: of a long list only its length."""
    if isinstance(value, list | tuple) and len(value) > 10:
        return f"{len(value):,} entries"
    return value


# What an entry of a list is known by.
_KEYED: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "models": lambda entry: (entry["name"],),
    "views": lambda entry: (entry["name"],),
    "edges": lambda entry: (entry["winner"], entry["loser"]),
    "current_edges": tuple,
    "outlook": lambda entry: tuple(sorted((entry["ahead"], entry["behind"]))),
    "unresolved": lambda entry: tuple(sorted(entry)),
    "equal": lambda entry: tuple(sorted(entry)),
}
_UNORDERED = ("outlook", "unresolved", "equal")
_SETS = ("top_k", "contradictions")  # listed in the order of the design, which a certificate does not state

OF_SCORES: frozenset[NoteKind] = frozenset(get_args(NoteKind)) - {"beside"}
"""Notes that scores yield again; what lies beside their files may not be there any more."""
OF_TABLE_OF_BOARD: frozenset[NoteKind] = frozenset({"pilot", "retired", "epochs", "position"})
"""What a table of its scores yields of a board; readers and people have noted other things on it."""


def compare_notes(
    stated: Sequence[Note], computed: Sequence[Note], recomputed: frozenset[NoteKind]
) -> tuple[tuple[Difference, ...], tuple[Note, ...]]:
    """What differs, and which stated notes are of kinds that were not ``recomputed`` and could not be checked.

    A note is the same if its kind, its subject and its text are.
    """
    before, now = Counter(stated), Counter(computed)
    extra, missing = tuple((before - now).elements()), tuple((now - before).elements())
    differences = (
        *(
            Difference(place=f"notes[{note.kind}]", kind="only-stated", stated=note.text)
            for note in extra
            if note.kind in recomputed
        ),
        *(
            Difference(place=f"notes[{note.kind}]", kind="only-computed", computed=note.text)
            for note in missing
            if note.kind != "beside"
        ),
    )
    return differences, tuple(note for note in extra if note.kind not in recomputed)


_MOST_NAMED = 5  # files in a sentence
_FILE_WORDS: dict[Kind, str] = {
    "changed": "changed",
    "only-stated": "missing",
    "only-computed": "not named in the certificate",
}


def compare_files(stated: Sequence[SourceRecord], found: Sequence[SourceFile]) -> tuple[str, tuple[Difference, ...]]:
    """Files now against files as a certificate names them: what differs, in words and one by one.

    A file is known by its bytes, whatever it is called; then by its name, in full or without folders.
    """
    same, missing, added = _matched(stated, found, lambda file: f"{file.sha256} {file.bytes}")
    if not missing and not added:
        return f"the same {'file' if len(same) == 1 else f'{len(same):,} files'}, byte for byte", ()
    renamed, missing, added = _matched(missing, added, lambda file: file.name)
    moved, missing, added = _matched(missing, added, lambda file: file.name.rpartition("/")[2])
    changes: list[tuple[Kind, str, str | None, str | None]] = [
        # The certificate may state another size for the same bytes.
        ("changed", record.name, f"{record.bytes} bytes", f"{file.bytes} bytes")
        if record.sha256 == file.sha256
        else ("changed", record.name, record.sha256, file.sha256)
        for record, file in (*renamed, *moved)
    ]
    changes += [("only-stated", record.name, record.sha256, None) for record in missing]
    changes += [("only-computed", file.name, None, file.sha256) for file in added]
    named = {kind: [quoted(name, None) for each, name, *_ in changes if each == kind] for kind in _FILE_WORDS}
    text = ", ".join(
        f"{counted(len(names), 'file')} {_FILE_WORDS[kind]}: {', '.join(names[:_MOST_NAMED])}"
        + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
        for kind, names in named.items()
        if names
    )
    return text, tuple(
        Difference(place=f"provenance.sources[{quoted(name, None)}]", kind=kind, stated=before, computed=now)
        for kind, name, before, now in changes
    )


def _matched(
    stated: Sequence[SourceRecord], found: Sequence[SourceFile], key: Callable[[SourceRecord | SourceFile], str]
) -> tuple[list[tuple[SourceRecord, SourceFile]], list[SourceRecord], list[SourceFile]]:
    """Pairs with the same key, each file in one of them; and what is left on both sides."""
    waiting: defaultdict[str, list[SourceFile]] = defaultdict(list)
    for file in reversed(found):
        waiting[key(file)].append(file)
    pairs: list[tuple[SourceRecord, SourceFile]] = []
    left: list[SourceRecord] = []
    for record in stated:
        if there := waiting[key(record)]:
            pairs.append((record, there.pop()))
        else:
            left.append(record)
    return pairs, left, sorted(file for files in waiting.values() for file in files)
