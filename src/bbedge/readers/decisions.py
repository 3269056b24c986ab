"""Which column of tables has which role, where their names do not say it: one reading, or what has to be decided.

Names are judged by :mod:`bbedge.readers.evidence`, shapes here: a model has every item once, items are the same for all
models, a score varies, is a number, and differs between models. Two columns that give the same numbers are one reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from bbedge.errors import Argument
from bbedge.readers.choices import Candidate, Decision, NameSource, name_in_path, name_origin
from bbedge.readers.evidence import RULES, VERDICT, rules_for
from bbedge.readers.tables import PlainTable
from bbedge.readers.tables.columns import OPTIONAL, ROLES, Role, as_number
from bbedge.readers.tables.roles import chosen_columns, usual_columns
from bbedge.readers.tables.shaped import BETWEEN
from bbedge.records.reading import Reading
from bbedge.text import shown

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
_SAYS_NOTHING = re.compile(
    r"(results?|scores?|outputs?|predictions?|data|samples?|eval(uation)?s?|runs?|final|part|shard|split|test|[tvz]|[^a-z])*",
    re.IGNORECASE,
)
"""Names of files that say what is in them, a number or a date."""
_LACKING: Mapping[Role, str] = {
    "model": "No column names the model: name one, or say where in the path it is.",
    "item": "No column looks like the item: something that has each value once for every model.",
    "score": "No column looks like a score: numbers, true and false, or words such as passed and failed.",
}
Values = Sequence[object]


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
        flat = [dict(leaves(row)) for _, row in rows]
        names = dict.fromkeys(name for row in flat for name in row if name.strip())
        self.columns: dict[str, Values] = {name: [row.get(name) for row in flat] for name in names}
        self.files: Values = [path for path, _ in rows]
        self.known: dict[Role, Values | None] = {role: self._known(role, reading) for role in ROLES}

    def _known(self, role: Role, reading: Reading) -> Values | None:
        """The values of a role that somebody named, or that one column has by its usual name."""
        origin = name_origin(reading, role) if role in ("model", "replicate") else None
        if origin is not None and origin.is_of_path:
            return [name_in_path(reading, str(path), role) for path in self.files]  # type: ignore[arg-type]
        chosen = chosen_columns(reading)
        usual = [chosen[role]] if role in chosen else usual_columns(list(self.columns), role, taken=chosen.values())
        parts = usual if len(usual) == 1 and usual[0] in self.columns else "".join(usual[:1]).split(BETWEEN)
        if len(usual) != 1 or not all(part in self.columns for part in parts):
            return None
        return list(zip(*(map(str, self.columns[part]) for part in parts), strict=True))

    @cached_property
    def runs(self) -> Values:
        """What the rows of one run of one model have in common, as far as it is known; the file where it is not."""
        model = self.known["model"]
        return list(zip(self.files if model is None else model, self.known["replicate"] or self.files, strict=True))

    def numbers(self, name: str) -> list[float | None] | None:
        """The values as numbers, None where there is none; None for a column of anything else."""
        values = [None if value == "" else value for value in self.columns[name]]
        numbers = [1.0 if isinstance(value, str) and VERDICT.fullmatch(value) else as_number(value) for value in values]
        there = [value is not None for value in values]
        return numbers if any(there) and [number is not None for number in numbers] == there else None

    def is_name(self, name: str) -> bool:
        """Whether the values are texts or whole numbers."""
        return all(isinstance(value, str | int) and value != "" for value in self.columns[name])

    def candidate(self, role: Role, name: str) -> Candidate:
        """A column with its values, and what speaks for it."""
        values = dict.fromkeys(str(value) for value in self.columns[name] if value is not None and value != "")
        if role == "score":
            # In order, because the first row is of some model.
            values = dict.fromkeys(sorted(values))
        return Candidate(
            argument=Argument("column", {role: name}),
            examples=tuple(shown(value, _WIDTH) for value in list(values)[:_EXAMPLES]),
            reasons=(*(reason for _, reason in rules_for(name, role, "for")), *self.shapes(role, name)),
        )

    def shapes(self, role: Role, name: str) -> Iterator[str]:
        """What the values of a column say for a role."""
        values = self.columns[name]
        if role == "item" and _apart(self.runs, values):
            yield "every run has each value once"
        if role == "model":
            yield "a few values repeat over all others"
        numbers = self.numbers(name) if role == "score" else None
        if numbers is not None and is_unit(numbers):
            yield "numbers from 0 to 1"

    def free(self, role: Role) -> list[str]:
        """The columns that could have a role by their names and by those of the others."""
        taken = {name for each in ROLES for name in usual_columns(list(self.columns), each) if each != role}
        return [name for name in self.columns if name not in taken and not any(rules_for(name, role, "against"))]


def is_unit(numbers: Sequence[float | None]) -> bool:
    """Whether all numbers that are there lie in [0, 1]."""
    return all(value is None or 0 <= value <= 1 for value in numbers)


def _is_crossed(one: Iterable[object], other: Iterable[object]) -> bool:
    """Whether nearly every value of one comes with every value of the other."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) >= _COMPLETE * len({one for one, _ in pairs}) * len({other for _, other in pairs})


def _apart(*columns: Values) -> bool:
    """Whether the columns together tell all rows apart."""
    return len(set(zip(*columns, strict=True))) == len(columns[0])


def _few(sketch: Sketch) -> list[str]:
    """The columns of names with a few values, each in several rows."""
    plain = {
        name: each for name, each in sketch.columns.items() if all(isinstance(one, str | float | int) for one in each)
    }
    counts = {name: len(set(each)) for name, each in plain.items()}
    return [name for name, count in counts.items() if 2 <= count <= min(_FEW, len(sketch.files) // 3)]


def _one_reading(role: Role, names: Sequence[str], sketch: Sketch) -> str | None:
    """The best of columns that all say the same, in the order of the rules that they fit; None if two differ."""
    values = {name: sketch.numbers(name) or sketch.columns[name] for name in names}
    first = next(iter(values.values()), ())
    same = all(each == first for each in values.values())
    if role == "item":  # names may differ that stand for the same rows
        pairs = (set(zip(first, each, strict=True)) for each in values.values())
        same = len({len(each) for each in pairs} | {len(set(each)) for each in values.values()}) == 1
    rank = {name: min((place for place, _ in rules_for(name, role, "for")), default=len(RULES)) for name in names}
    return min(names, key=lambda name: rank[name]) if names and same else None


def _items(sketch: Sketch) -> tuple[list[str], list[str]]:
    """The columns that are the item by name and shape, without a doubt, and those that could be.

    Each run has every item, and once: or, if the item comes with every value of another column, more often.
    """
    runs, few, columns = sketch.runs, _few(sketch), sketch.columns
    names = [name for name in sketch.free("item") if sketch.is_name(name) and len(set(columns[name])) > 2]
    shared = [name for name in names if _is_crossed(runs, columns[name])]
    once = [name for name in shared if _apart(runs, columns[name])]
    often = [
        name for name in shared if any(name != other and _is_crossed(columns[name], columns[other]) for other in few)
    ]
    fitting = once or often
    named = [name for name in fitting if any(rules_for(name, "item", "for"))]
    # What every one of several models has once is not their answer.
    texts = [name for name in once if len(set(runs)) > 1 and not sketch.numbers(name)]
    return named or texts, fitting


def _scores(sketch: Sketch, item: Values | None) -> tuple[list[str], list[str]]:
    """The columns that could be the score by their shape, those first that are called so if no other could be."""
    fitting = list[tuple[int, str]]()
    for name in sketch.free("score"):
        numbers = sketch.numbers(name)
        if numbers is None or _describes(sketch, item, name):
            continue
        called = any(rules_for(name, "score", "for"))
        varied = len(set(map(str, sketch.columns[name]))) > 1
        if not called and not varied:
            continue
        fitting.append((0 if called and varied else 1 if called or (varied and is_unit(numbers)) else 2, name))
    fitting.sort(key=lambda each: each[0])
    # A constant column that is called so, or another one of numbers from 0 to 1, may as well be the score.
    rival = any(rank == 1 for rank, _ in fitting)
    return [name for rank, name in fitting if rank == 0 and not rival], [name for _, name in fitting]


def _describes(sketch: Sketch, item: Values | None, name: str) -> bool:
    """Whether a column has one value for each item although several runs have the item: it describes the question."""
    if item is None or len(set(sketch.runs)) < 2:
        return False
    pairs = set(zip(item, map(str, sketch.columns[name]), strict=True))
    return len(pairs) == len(set(item)) < len(sketch.files)


def decide(
    tables: Sequence[PlainTable], reading: Reading, of_path: Sequence[Argument]
) -> tuple[tuple[Argument, ...], tuple[Decision, ...]]:
    """The columns of the open roles, where one reading is left; otherwise what has to be decided, for each of them.

    ``of_path`` is what to pass if the paths name the models.
    """
    sketch = Sketch(tables, reading)
    lacking = [role for role in ROLES if role not in OPTIONAL and sketch.known[role] is None]
    if not lacking or any(role in lacking for role in reading.columns):
        return (), ()
    item = sketch.known["item"]
    sure, fitting = _items(sketch) if item is None else ([], [])
    found: dict[Role, str | None] = {"item": _one_reading("item", sure, sketch)}
    could_be: dict[Role, Sequence[str]] = {"item": fitting}
    if found["item"] is not None:
        item = sketch.columns[found["item"]]
    found["model"], could_be["model"] = _models(sketch, item)
    sure, could_be["score"] = _scores(sketch, item)
    found["score"] = _one_reading("score", sure, sketch)
    # Files of one model each have the same items; and where a column may name the models, the path is a guess.
    by_path = item is not None and not could_be["model"] and _are_models(sketch.files, of_path)
    by_path = by_path and item is not None and _is_crossed(sketch.files, item)
    settled = [role for role in lacking if found[role] is not None or (role == "model" and by_path)]
    if settled == lacking:
        return (
            tuple(
                argument
                for role in lacking
                for argument in (of_path if found[role] is None else [Argument("column", {role: found[role]})])
            ),
            (),
        )
    decisions = []
    for role in lacking:
        names = [found[role]] if found[role] else could_be[role]
        candidates = [sketch.candidate(role, name) for name in names[:_MOST_CANDIDATES] if name is not None]
        if role == "model":
            candidates += [Candidate(argument=each, reasons=("if every file is of one model",)) for each in of_path[:1]]
        if not candidates:  # without which no other answer helps
            return (), (Decision(question=_LACKING[role], candidates=()),)
        decisions.append(Decision(question=_QUESTIONS[role], candidates=tuple(candidates)))
    return (), tuple(decisions)


def _are_models(files: Values, of_path: Sequence[Argument]) -> bool:
    """Whether paths may name models: there is one file, or what is to be taken from the paths is no number or date."""
    paths = {str(path) for path in files}
    if not of_path or len(paths) == 1:
        return bool(of_path)
    names = (NameSource.parse(str(of_path[0].value), role="model").in_path(path, "model") for path in paths)
    return any(_SAYS_NOTHING.fullmatch(name or "") is None for name in names)


def _models(sketch: Sketch, item: Values | None) -> tuple[str | None, list[str]]:
    """The column that names the models, if that is certain; and those of which a few values repeat over all items."""
    free = set(sketch.free("model"))
    once = item is not None and _apart(sketch.runs, item)
    repeating = [
        name
        for name in _few(sketch)
        if name in free
        and not any(rules_for(name, "replicate", "for"))
        and sketch.columns[name] != item
        and (item is None or _is_crossed(sketch.columns[name], item))
        and (not sketch.numbers(name) or (item is not None and _apart(item, sketch.columns[name]) and not once))
    ]
    named = [name for name in repeating if any(rules_for(name, "model", "for"))]
    return (named[0] if named == repeating and len(named) == 1 else None), repeating
