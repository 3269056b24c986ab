"""Which column of a table plays which role, named by the caller or found by its usual names; and which describe items.

The item column ``metric`` is special: an item that is scored by several metrics becomes one item for each of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from bbedge.errors import Argument, Blank, DomainError, FormatError, Part
from bbedge.readers.choices import Candidate, Decision, OpenChoiceError
from bbedge.readers.tables.columns import ALIASES, FIRST_ALIASES, LATER_ALIASES, OPTIONAL, ROLES, Role
from bbedge.records.reading import Reading
from bbedge.text import listed, quoted, shown

# Names of a question's text or of a whole benchmark, which may come more than once: an identifier says more.
_BEATEN_BY_IDS = ("task", "question", "prompt")
KEY = "key"
"""The column of the keys of a JSON document whose values are alike: models or items, as the user says."""
METRIC = "metric"
"""The item column that makes one item of each metric of an item."""
METRICS = frozenset({METRIC, "metric_name", "metric_id"})
"""Usual names of such a column in tables; case does not matter."""
ORIGINAL = cast("Role", "original item")
"""The key of the item that a metric belongs to, in batches that have one row for each metric."""
_PREFIX = "column "
_ANSWERS = frozenset({"answer", "target", "label", "gold", "expected", "ground_truth", "reference", "correct_answer"})
_PREDICTIONS = frozenset({"prediction", "predicted", "pred", "output", "response", "model_answer", "model_output"})
_WINNER = re.compile(
    r"(^|_)(winner|preferred|preference|better|label|verdict|judge?ment|votes?|outcome|decision|wins?|scores?_?[12ab])(_|$)"
)
_OF_PAIR = re.compile(
    r"(name_)?(model|system|assistant|agent|llm|player|answer|response|output|generator)_?([12ab]|left|right)(_name|_id)?"
    r"|(baseline|candidate|reference|opponent|first|second|left|right)(_(model|system|assistant|agent|llm))?"
)
_OF_PROVIDER = re.compile(r"\[[^]]+\] .")
_OF_ONE_MODEL: tuple[Part, ...] = ("; or ", Argument("model_from", "file"), " if every file is of one model")


class ColumnError(OpenChoiceError):
    """A table of which no column, or more than one, could have a role."""

    by_columns = True
    role: Role | None = None
    """The role."""

    @classmethod
    def about(cls, role: Role, proposal: Sequence[Argument], *parts: Part) -> ColumnError:
        """The error with its facts."""
        error = cls.proposing(proposal, *parts)
        error.role = role
        return error


def chosen_columns(reading: Reading) -> dict[Role, str]:
    """The columns that the caller named, checked for contradictions."""
    chosen: dict[Role, str] = dict(reading.columns)
    blocks = reading.blocks
    if blocks == "item" or blocks == "one":
        chosen.pop("block", None)
    elif blocks is not None:
        if chosen.get("block", blocks) != blocks:
            raise DomainError(
                f"blocks from column {quoted(blocks)} and from column {quoted(chosen['block'])}; pass ",
                Argument("blocks"),
                " or ",
                Argument("column", {"block": Blank("NAME")}),
                ", not both",
            )
        chosen["block"] = blocks
    roles: dict[str, Role] = {}
    for role, name in chosen.items():
        # An item column may well also be the block; any other column with two roles is a mistake.
        if name in roles and {role, roles[name]} != {"item", "block"}:
            raise DomainError(f"column {quoted(name)} is named for both {roles[name]} and {role}; name two columns")
        roles[name] = role
    return chosen


def find_roles(
    found: Sequence[str],
    *,
    table: str,
    chosen: Mapping[Role, str],
    blocks: str | None = None,
    described: Collection[str] = (),
    given: Collection[Role] = (),
) -> dict[Role, str]:
    """The column of every role in a table with these columns; optional roles can be absent.

    ``described`` are columns that describe the items: where several could have a role, they are not meant. ``given``
    are roles that no column has, because the path of the file says the name.

    >>> find_roles(["Model", "task_id", "score"], table="a.csv", chosen={})
    {'model': 'Model', 'item': 'task_id', 'score': 'score'}
    """
    repeated = [name for name in repeated_names(found) if name.strip()]
    if repeated:
        advice = _promptfoo_hint(found) or "; rename or remove one of them"
        raise FormatError(f"{table}: column {listed(repeated)} appears more than once{advice}")
    roles: dict[Role, str] = {}
    for role in ROLES:
        if role in given or (role == "block" and (blocks == "item" or blocks == "one")):
            continue
        if role in chosen and chosen[role] not in found:
            wrong = shown(chosen[role])
            raise ColumnError.about(
                role,
                (),
                f"{table}: no column {quoted(chosen[role])} for the {role}; the columns are "
                f"{listed(found, limit=20)}: correct ",
                Argument("blocks", wrong) if blocks else Argument("column", {role: wrong}),
            )
        taken = set(chosen.values())
        name = chosen[role] if role in chosen else _by_name(found, role, table=table, taken=taken, described=described)
        if name is not None:
            roles[role] = name
        elif role == "model" and (pair := _pair(found)):
            raise FormatError(
                f"{table}: a file of pairwise judgements: every row says which of two is better ({listed(pair)}), and "
                "so no score of one model on one item; needed are scores of each model, such as its wins against one "
                "baseline, as AlpacaEval and Arena-Hard have them"
            )
        elif role not in OPTIONAL:
            raise ColumnError.about(
                role,
                (Argument("model_from", "file"),) if role == "model" else (),
                f"{table}: no column for the {role}; "
                f"the columns are {listed(found, limit=20)}{_separator_hint(found)}{_promptfoo_hint(found)}; "
                f"expected one named {role} (or {', '.join(ALIASES[role])}), case ignored: "
                "rename it or pass ",
                Argument("column", {role: Blank("NAME")}),
                *(_OF_ONE_MODEL if role == "model" else ()),
                *_wide_hint(role, found),
                *_content_hint(role, found),
                *(
                    ("; or ", Argument("column", {role: KEY}), f" if the keys of the document are {role}s")
                    if (found[0] == KEY and KEY not in taken and role != "score")
                    else ()
                ),
            )
    return roles


def _pair(found: Sequence[str]) -> list[str]:
    """The columns of the two that rows compare, and of what says which is better; empty unless there are both."""
    plain = {name: name.strip().casefold().replace(" ", "_") for name in found}
    pair = [name for name in found if _OF_PAIR.fullmatch(plain[name])]
    better = [name for name in found if _WINNER.search(plain[name])]
    return [*pair, better[0]] if better and len(pair) == 2 else [name for name in found if plain[name] == "winner"]


def repeated_names(names: Sequence[str]) -> list[str]:
    """The names that come more than once, sorted. A table can have a hundred thousand columns."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _by_name(
    found: Sequence[str], role: Role, *, table: str, taken: set[str], described: Collection[str]
) -> str | None:
    matching = usual_columns(found, role, taken=taken)
    matching = [name for name in matching if name not in described] or matching
    if len(matching) > 1:
        raise ColumnError.about(
            role,
            (),
            f"{table}: columns {listed(matching)} could each be the {role}; pass ",
            Argument("column", {role: Blank("NAME")}),
        )
    return matching[0] if matching else None


def usual_columns(found: Sequence[str], role: Role, *, taken: Collection[str] = ()) -> list[str]:
    """The columns with a usual name of the role that means more than those of the others."""
    free = [name for name in found if name not in taken]
    named = [str(name) for name in free if name == role] or [name for name in free if name.strip().casefold() == role]
    if named:
        return named
    first = [name for name in free if name.strip().casefold() in FIRST_ALIASES[role]]
    later = [name for name in free if name.strip().casefold() in LATER_ALIASES[role]]
    if role == "item":
        named = [name for name in first if name.strip().casefold() not in _BEATEN_BY_IDS]
        return named or [name for name in later if name.strip().casefold().endswith("_id")] or first or later
    return first or later


def _separator_hint(found: Sequence[str]) -> str:
    titles = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma"}
    sign = next((sign for sign in titles if sign in found[0]), None) if len(found) == 1 else None
    advice = "name the file .csv" if sign == "," else ".csv needs commas and .tsv tabs"
    return f" (the separator seems to be {titles[sign]}; {advice})" if sign else ""


def _promptfoo_hint(found: Sequence[str]) -> str:
    """What to do with its tables, in which a column for every provider has texts and verdicts together."""
    advice = (
        "; a table of promptfoo: write its results as JSON with promptfoo eval --output results.json, and read that"
    )
    return advice if any(_OF_PROVIDER.match(name) for name in found) else ""


def _wide_hint(role: Role, found: Sequence[str]) -> tuple[Part, ...]:
    hint = ("; or ", Argument("format", "wide"), f" if there is a column for every {role}")
    return () if role == "score" or len(found) < 3 else hint


def _content_hint(role: Role, found: Sequence[str]) -> tuple[Part, ...]:
    """What the columns hold instead, where that shows."""
    names = {name.strip().casefold() for name in found}
    if role == "score" and names & _ANSWERS and names & _PREDICTIONS:
        return ("; it has answers and predictions, but not which are right: compare them by the rule of the benchmark",)
    if role == "item" and names & METRICS:
        return ("; its rows are metrics, which are no items: read the scores of each item that they are made of",)
    return ()


def summary_error(table: str, column: str, across: str, *, why: str, means: bool = False) -> OpenChoiceError:
    """The refusal of a column; the others may be ``means``, too."""
    drop = Argument("drop_column", (shown(column),))
    error = OpenChoiceError.proposing(
        (Argument("drop_column", (column,)),),
        f"{table}: column {quoted(column)} is {why}, not one {across}; drop it with ",
        drop,
        f"; if it is one {across} after all, write the table with a row for every score",
    )
    if means:
        reason = "if it sums up the others, and each of these is the score of one item and no mean"
        error.decision = Decision(
            question=f"What is {quoted(column)}?", candidates=(Candidate(argument=drop, reasons=(reason,)),)
        )
    return error


def column_key(name: str) -> Role:
    """The key under which batches of a table hold an item column, apart from those of the roles."""
    return cast("Role", f"{_PREFIX}{name}")


def column_name(key: str) -> str | None:
    """The item column of a key; None if it is the key of a role.

    >>> column_name(column_key("block")), column_name("block")
    ('block', None)
    """
    return key.removeprefix(_PREFIX) if key.startswith(_PREFIX) else None


def is_of_item(key: str) -> bool:
    """Whether the values under a key are the same in all rows of an item, and are kept once."""
    return key == ORIGINAL or key.startswith(_PREFIX)


def with_columns(roles: Mapping[Role, str], names: Sequence[str], *, table: str) -> dict[Role, str]:
    """The roles and the item columns of a table, by their keys.

    >>> with_columns({"item": "id", "score": "s"}, ["topic"], table="a.csv")
    {'item': 'id', 'score': 's', 'column topic': 'topic'}
    """
    if roles["score"] in names:
        raise DomainError(f"{table}: column {quoted(roles['score'])} holds the scores, so it cannot describe the items")
    return {**roles, **{column_key(name): name for name in names}}


def metric_item(item: str, metric: str) -> str:
    """The name of an item for one of its metrics.

    >>> metric_item("q1", "acc")
    'q1 [acc]'
    """
    return f"{item} [{metric}]"
