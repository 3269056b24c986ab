"""Which column of tables has which role, where their names do not say it: one reading, or what has to be decided.

Names are judged by :mod:`bbedge.readers.evidence`, shapes here: a run has every item once, items are the same for all
models, and a score is a number that differs between models. Two columns that give the same numbers are one reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import chain
from numbers import Real
from typing import Any, cast

from bbedge.errors import Argument
from bbedge.readers.choices import ABOVE, Candidate, Decision, NameSource, name_in_path, name_origin
from bbedge.readers.evidence import (
    GROUP,
    INDEX,
    NO_SCORE,
    RULES,
    SPEAKS,
    VERDICT,
    are_models,
    is_called,
    may_be_less,
    plain_name,
    rules_for,
)
from bbedge.readers.tables import PlainTable
from bbedge.readers.tables.columns import ALIASES, OPTIONAL, ROLES, Role, as_number
from bbedge.readers.tables.roles import KEY, chosen_columns, usual_columns
from bbedge.readers.tables.shaped import BETWEEN
from bbedge.records.reading import Reading
from bbedge.text import shown

Values = Sequence[object]
_PLAIN = (str, Real, Decimal)
_WIDE = Argument("format", "wide")
_WHEN = {
    "wide": "if there is a column for every model",
    "file": "if every file is of one model",
    "folder": "if every folder is of one model",
    ABOVE: "if every folder of folders is of one model",
}
"""When to pass an option that names models, by its value."""
# Rows that are looked at, in all files together, and at least in each.
_ROWS, _LEAST = 20_000, 200
# A column with more values is no list of models; and what part of all pairs makes a table of two columns.
_FEW, _COMPLETE = 50, 0.8
_MOST_CANDIDATES, _EXAMPLES, _WIDTH = 8, 3, 28
_QUESTIONS: Mapping[Role, str] = {
    "model": "What is compared? Which column, or what in the path, names the model?",
    "item": "Which column names the item?",
    "score": "Which column is the score?",
}
_NONE: Mapping[Role, str] = {
    "item": "No column looks like the item: something that every model has once.",
    "score": "No column looks like a score: numbers, true and false, or passed and failed, that are not always the "
    "same.",
}
"""What to ask, and what to say where there is no answer."""
_KEYS, _OF_KEYS = "What do the keys of the document name?", cast("Sequence[Role]", ("model", "item"))
_NAME = re.compile(r"(?!(None|nan)$|-?\d*\.\d+$)(?s:.)+", re.IGNORECASE)
"""What may name an item: anything but a number with decimals."""


def leaves(row: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The values of a row with their paths, also those of objects in it."""
    for name, value in row.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from leaves(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


class Sketch:
    """The first rows of tables that cannot be read yet, column by column, with what is known of their roles."""

    def __init__(self, tables: Sequence[PlainTable], reading: Reading) -> None:
        rows = [(table.path, row) for table in tables for row in table.head(max(_LEAST, _ROWS // len(tables)))]
        flat = [{name: value for name, value in leaves(row) if isinstance(value, _PLAIN)} for _, row in rows]
        names = dict.fromkeys(name for row in flat for name in row if name.strip())
        self.columns: dict[str, Values] = {name: [row.get(name) for row in flat] for name in names}
        self.files: Values = [path for path, _ in rows]
        self.known: dict[Role, Values | None] = {role: self._known(role, reading) for role in ROLES}

    def _known(self, role: Role, reading: Reading) -> Values | None:
        """The values of a role that somebody named, or that one column has by its usual name."""
        if role == "model" or role == "replicate":
            origin = name_origin(reading, role)
            if origin is not None and origin.is_of_path:
                return [name_in_path(reading, str(path), role) for path in self.files]
        chosen = chosen_columns(reading)
        usual = [chosen[role]] if role in chosen else usual_columns(list(self.columns), role, taken=chosen.values())
        parts = usual if self.columns.keys() >= set(usual) else usual[0].split(BETWEEN)
        if len(usual) != 1 or not self.columns.keys() >= set(parts):
            return None
        return list(zip(*(map(str, self.columns[part]) for part in parts), strict=True))

    @cached_property
    def runs(self) -> Values:
        """What the rows of one run of one model have in common, as far as it is known; the file where it is not."""
        return list(zip(self.known["model"] or self.files, self.known["replicate"] or self.files, strict=True))

    @cached_property
    def few(self) -> list[str]:
        """The columns with a few values, each in several rows."""
        columns = self.columns.items()
        counts = {
            name: len(set(each)) for name, each in columns if all(isinstance(one, str | float | int) for one in each)
        }
        return [name for name, count in counts.items() if 2 <= count <= min(_FEW, len(self.files) // 3)]

    def numbers(self, name: str) -> list[float | None] | None:
        """The values as numbers, None where there is none; None for a column of anything else."""
        values = [None if value == "" else value for value in self.columns[name]]
        words = {value for value in values if isinstance(value, str) and VERDICT.fullmatch(value)}
        # One such word alone, over and over, may be anything.
        verdicts = words if len(words) > 1 else set[str]()
        numbers = [1.0 if isinstance(value, str) and value in verdicts else as_number(value) for value in values]
        there = [value is not None for value in values]
        return numbers if any(there) and [number is not None for number in numbers] == there else None

    def may_name_items(self, name: str) -> bool:
        """Whether every row has a text or a whole number, and these are not the names of metrics."""
        values = set(map(str, self.columns[name]))
        metrics = len(values) <= _FEW and sum(is_called(each, "score", "for") or may_be_less(each) for each in values)
        return all(map(_NAME.fullmatch, values)) and 2 * metrics < len(values)

    def is_unit(self, name: str) -> bool:
        """Whether the values are numbers in [0, 1]."""
        return all(value is None or 0 <= value <= 1 for value in self.numbers(name) or [-1])

    def candidate(self, role: Role, name: str) -> Candidate:
        """A column with its values, and what speaks for it."""
        values = dict.fromkeys(str(value) for value in self.columns[name] if value is not None and value != "")
        return Candidate(
            argument=Argument("column", {role: name}),
            examples=tuple(shown(value, _WIDTH) for value in (sorted(values) if role == "score" else values))[
                :_EXAMPLES
            ],
            reasons=(
                *(reason for speaks in SPEAKS for _, reason in rules_for(name, role, speaks)),
                *(reason for of, reason, holds in _SHAPES if of == role and holds(self, name)),
            ),
        )

    def others(self, role: Role) -> list[str]:
        """The columns without a usual name of another role."""
        taken = {name for each in ROLES for name in (each, *ALIASES[each]) if each != role}
        return [name for name in self.columns if name.strip().casefold() not in taken]

    def free(self, role: Role) -> list[str]:
        """Those of them whose names do not speak against the role."""
        others = [name for name in self.others(role) if role != "item" or not is_called(name, "model", "for")]
        return [name for name in others if not is_called(name, role, "against")]


def _is_crossed(one: Iterable[object], other: Iterable[object]) -> bool:
    """Whether nearly every value of one comes with every value of the other."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) >= _COMPLETE * len({one for one, _ in pairs}) * len({other for _, other in pairs})


def _apart(*columns: Values) -> bool:
    """Whether the columns together tell all rows apart."""
    return len(set(zip(*columns, strict=True))) == len(columns[0])


_SHAPES: Sequence[tuple[Role, str, Callable[[Sketch, str], bool]]] = (
    ("model", "a few values repeat over all others", lambda sketch, name: name in sketch.few),
    ("item", "every run has each value once", lambda sketch, name: _apart(sketch.runs, sketch.columns[name])),
    ("score", "numbers from 0 to 1", Sketch.is_unit),
)
"""What values say for a role."""


def _one_reading(role: Role, names: Sequence[str], sketch: Sketch) -> str | None:
    """The best of columns that all say the same, in the order of the rules that they fit; None if two differ."""
    values = [sketch.numbers(name) or sketch.columns[name] for name in names]
    # Names may differ that stand for the same rows, scores may not.
    pairs = [list(zip(values[0], each, strict=True)) for each in values]
    same = (
        all(one == other for of_pair in pairs for one, other in of_pair)
        if role == "score"
        else len({len(set(each)) for each in (*pairs, *values)}) == 1
    )
    ranks = {name: min(rules_for(name, role, "for"), default=(len(RULES), "")) for name in names}
    return min(ranks, key=lambda name: ranks[name]) if names and same else None


def _items(sketch: Sketch) -> tuple[str | None, Sequence[str]]:
    """The column that is the item by name and shape, if there is no doubt, and those that could be."""
    once, repeated = _that_fit(sketch, sketch.free("item"))
    named = [name for name in once or repeated if is_called(name, "item", "for")]
    # What every one of several models has once is not their answer.
    texts = [name for name in once if len(set(sketch.runs)) > 1 and not sketch.numbers(name)]
    # The number of a row may be that of the question, which only the user knows.
    numbers = [
        name
        for name in sketch.others("item")
        if {reason for _, reason in rules_for(name, "item", "against")} <= {INDEX, GROUP}
    ]
    fitting = dict.fromkeys((*once, *repeated)) or dict.fromkeys(chain(*_that_fit(sketch, numbers)))
    return _one_reading("item", named or texts, sketch), list(fitting)


def _that_fit(sketch: Sketch, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns that every run has: with each value once, or more often but with every value of another column."""
    runs, columns = sketch.runs, {name: sketch.columns[name] for name in names if sketch.may_name_items(name)}
    shared = {name: each for name, each in columns.items() if len(set(each)) > 2 and _is_crossed(runs, each)}
    once = [name for name, each in shared.items() if _apart(runs, each)]
    few = {name: sketch.columns[name] for name in sketch.few}
    return once, [
        name for name, each in shared.items() if any(name != other and _is_crossed(each, few[other]) for other in few)
    ]


def _models(sketch: Sketch, item: Values | None) -> tuple[str | None, Sequence[str]]:
    """The column that names the models, if that is certain; and those of which a few values repeat over all items."""
    repeating = [
        name
        for name in sketch.few
        if name in sketch.free("model")
        and not is_called(name, "replicate", "for")
        and sketch.columns[name] != item
        and (item is None or _is_crossed(sketch.columns[name], item))
        # Numbers are settings, rather than scores, only where they make rows of one item differ.
        and (
            not sketch.numbers(name) or (item and not _apart(sketch.runs, item) and _apart(item, sketch.columns[name]))
        )
    ]
    return repeating[0] if len(repeating) == 1 and is_called(repeating[0], "model", "for") else None, repeating


def _scores(sketch: Sketch, item: Values | None) -> tuple[str | None, Sequence[str]]:
    """The column that is called a score, if no other number could be one; and those that could be."""
    ranks = {name: _rank(sketch, item, name) for name in sketch.free("score")}
    fitting = sorted((name for name, rank in ranks.items() if rank is not None), key=lambda name: ranks[name] or 0)
    sure = [name for name in fitting if not any(ranks[other] for other in fitting)]
    return _one_reading("score", sure, sketch), fitting


def _rank(sketch: Sketch, item: Values | None, name: str) -> int | None:
    """0 for a column that is called a score, 1 for one that may be a score as well, 2 for other numbers, else None.

    What is the same for every run that has an item describes the question.
    """
    values, called = list(map(str, sketch.columns[name])), is_called(name, "score", "for")
    varied, several = len(set(values)) > 1, len(set(sketch.runs)) > 1
    of_item = several and item is not None and len(set(zip(item, values, strict=True))) == len(set(item)) < len(values)
    if not sketch.numbers(name) or of_item or not (called or varied):
        return None
    return 0 if called and varied else 1 if called or sketch.is_unit(name) else 2


def may_have_scores(table: PlainTable, reading: Reading) -> bool:
    """Whether a column of a table could be the score, whatever it is called."""
    sketch = Sketch([table], reading)
    others = (name for name in sketch.others("score") if not NO_SCORE.search(plain_name(name)))
    return any(sketch.numbers(name) for name in others)


def decide(
    tables: Sequence[PlainTable], reading: Reading, of_path: Sequence[Argument]
) -> tuple[tuple[Argument, ...], tuple[Decision, ...]]:
    """The columns of the open roles, where one reading is left; otherwise what has to be decided, for each of them.

    ``of_path`` is what to pass if the paths name the models; several such arguments if that is not certain.
    """
    sketch = Sketch(tables, reading)
    lacking = [role for role in ROLES if role not in OPTIONAL and sketch.known[role] is None]
    if not lacking or any(role in lacking for role in reading.columns):
        return (), ()
    if KEY in sketch.columns and set(_OF_KEYS) <= set(lacking) and len(set(sketch.files)) == 1:
        # A document may be a summary of models, or hold the items of one.
        return (), (Decision(question=_KEYS, candidates=tuple(sketch.candidate(role, KEY) for role in _OF_KEYS)),)
    found: dict[Role, tuple[str | None, Sequence[str]]] = {"item": _items(sketch)}
    if KEY in sketch.columns and not found["item"][1]:
        found["item"] = None, [KEY]
    item = sketch.known["item"] or sketch.columns.get(found["item"][0] or "")
    found |= {"model": _models(sketch, item), "score": _scores(sketch, item)}
    made: dict[Role, tuple[Argument, ...]]
    made = {role: (Argument("column", {role: name}),) for role in lacking if (name := found[role][0]) is not None}
    # Files of one model each have the same items; and where a column may name the models, the path is a guess.
    if item and not found["model"][1] and are_of_models(sketch.files, of_path) and _are_alike(sketch, item):
        made.setdefault("model", tuple(of_path))
    if len(made) >= len(lacking):
        return tuple(argument for role in lacking for argument in made[role]), ()
    decisions = [_decision(sketch, role, *found[role], of_path) for role in lacking]
    # Where a role has no candidate, no answer about the others helps.
    return (), tuple([each for each in decisions if not each.candidates][:1] or decisions)


def _decision(
    sketch: Sketch, role: Role, found: str | None, could_be: Sequence[str], of_path: Sequence[Argument]
) -> Decision:
    names = could_be[:_MOST_CANDIDATES] if found is None else [found]
    candidates = tuple(sketch.candidate(role, name) for name in names)
    if role == "model":
        return model_decision((*of_path, _WIDE), candidates)
    return Decision(question=(_QUESTIONS if candidates else _NONE)[role], candidates=candidates)


def model_decision(of_path: Sequence[Argument], columns: Sequence[Candidate] = ()) -> Decision:
    """What is compared, where neither columns nor paths name models for certain."""
    named = (each for each in of_path if each.name != "replicate_from")
    others = (Candidate(argument=each, reasons=(_WHEN.get(str(each.value), _WHEN["file"]),)) for each in named)
    return Decision(question=_QUESTIONS["model"], candidates=(*columns, *others))


def _are_alike(sketch: Sketch, item: Values) -> bool:
    """Whether all files have the same items: the same questions, and not only the same numbers."""
    named = [sketch.columns[name] for name in sketch.free("item") if is_called(name, "item", "for")]
    texts = [each for each in named if is_text(each)]
    numbered = not is_text(item) and not texts and len(set(sketch.files)) > 1
    pairs = (set(zip(item, each, strict=True)) for each in texts)
    alike = _is_crossed(sketch.files, item) and all(len(each) == len(set(item)) for each in pairs)
    return not numbered and _apart(sketch.runs, item) and alike


def is_text(values: Values) -> bool:
    """Whether values are texts and not numbers of something."""
    return all(str(value).strip("0123456789(),' ") for value in values)


def are_of_models(files: Iterable[object], of_path: Sequence[Argument]) -> bool:
    """Whether paths name models: there is one file, or what is to be taken from the paths is called as models are.

    Files of prompts, languages, judges or parts of the data have names, too.
    """
    paths = {str(path) for path in files}
    if not of_path or len({each.name for each in of_path}) < len(of_path):
        return False
    source = NameSource.parse(str(of_path[0].value), role="model")
    return len(paths) == 1 or are_models([source.in_path(path, "model") or "" for path in sorted(paths)])
