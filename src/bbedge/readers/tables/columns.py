"""Which column of a table plays which role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from bbedge.errors import Argument, Blank, DomainError, FormatError, Part
from bbedge.readers.choices import Choice
from bbedge.text import listed, quoted, shown

Role = Literal["model", "item", "replicate", "block", "score"]

ROLES: tuple[Role, ...] = get_args(Role)
OPTIONAL: frozenset[Role] = frozenset({"replicate", "block"})

ALIASES: Mapping[Role, tuple[str, ...]] = {
    "model": ("model_name", "model_id", "system", "llm"),
    "item": (
        "item_id",
        "task",
        "task_id",
        "question",
        "question_id",
        "prompt",
        "prompt_id",
        "sample_id",
        "instance_id",
        "doc_id",
    ),
    "replicate": ("run", "seed", "trial", "epoch", "rep", "repeat"),
    "block": ("block_id", "dialogue", "dialogue_id", "dialog", "group", "cluster"),
    "score": ("correct", "is_correct", "accuracy", "value", "rating"),
}
"""Other usual names of each role; case does not matter."""


def chosen_columns(columns: Mapping[str, str] | None, blocks: str | None) -> dict[Role, str]:
    """The columns that the caller named, checked for roles that do not exist and for contradictions."""
    chosen: dict[Role, str] = {}
    for key, name in (columns or {}).items():
        if key not in ROLES:
            raise DomainError(
                f"no role {quoted(key)} for a column; the roles are {', '.join(ROLES)}: pass ",
                Argument("columns", {Blank("ROLE"): Blank("NAME")}),
                ", for instance ",
                Argument("columns", {"item": "question"}),
            )
        chosen[key] = name
    if blocks == "item" or blocks == "one":
        chosen.pop("block", None)
    elif blocks is not None:
        if chosen.get("block", blocks) != blocks:
            raise DomainError(
                f"blocks from column {quoted(blocks)} and from column {quoted(chosen['block'])}; pass ",
                Argument("blocks"),
                " or ",
                Argument("columns", {"block": Blank("NAME")}),
                ", not both",
            )
        chosen["block"] = blocks
    roles: dict[str, Role] = {}
    for role, name in chosen.items():
        # An item column may well also be the block; any other column with two roles is a slip.
        if name in roles and {role, roles[name]} != {"item", "block"}:
            raise DomainError(f"column {quoted(name)} is named for both {roles[name]} and {role}; name two columns")
        roles[name] = role
    return chosen


def find_roles(
    found: Sequence[str], *, table: str, chosen: Mapping[Role, str], blocks: str | None = None
) -> dict[Role, str]:
    """The column of every role in a table with these columns; optional roles can be absent.

    >>> find_roles(["Model", "task_id", "score"], table="a.csv", chosen={})
    {'model': 'Model', 'item': 'task_id', 'score': 'score'}
    """
    repeated = [name for name in repeated_names(found) if name.strip()]
    if repeated:
        raise FormatError(f"{table}: column {listed(repeated)} appears more than once; rename or remove one of them")
    roles: dict[Role, str] = {}
    for role in ROLES:
        if role == "block" and (blocks == "item" or blocks == "one"):
            continue
        if role in chosen:
            if chosen[role] not in found:
                wrong = shown(chosen[role])
                raise FormatError(
                    f"{table}: no column {quoted(chosen[role])} for the {role}; the columns are "
                    f"{listed(found, limit=20)}: correct ",
                    Argument("blocks", wrong) if blocks else Argument("columns", {role: wrong}),
                )
            roles[role] = chosen[role]
            continue
        name = _by_name(found, role, table=table, taken=set(chosen.values()))
        if name is not None:
            roles[role] = name
        elif role not in OPTIONAL:
            raise FormatError(
                f"{table}: no column for the {role}; "
                f"the columns are {listed(found, limit=20)}{_separator_hint(found)}; "
                f"expected one named {role} (or {', '.join(ALIASES[role])}), case ignored: "
                "rename it or pass ",
                Argument("columns", {role: Blank("NAME")}),
                *_wide_hint(role, found),
            )
    return roles


def repeated_names(names: Sequence[str]) -> list[str]:
    """The names that come more than once, sorted. A table can have a hundred thousand columns."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _by_name(found: Sequence[str], role: Role, *, table: str, taken: set[str]) -> str | None:
    if role in found and role not in taken:
        return role
    free = [name for name in found if name not in taken]
    canonical = [name for name in free if name.strip().casefold() == role]
    matching = canonical or [name for name in free if name.strip().casefold() in ALIASES[role]]
    if len(matching) > 1:
        raise FormatError(
            f"{table}: columns {listed(matching)} could each be the {role}; pass ",
            Argument("columns", {role: Blank("NAME")}),
            ", for instance ",
            Argument("columns", {role: shown(matching[0])}),
        )
    return matching[0] if matching else None


def _separator_hint(found: Sequence[str]) -> str:
    if len(found) == 1:
        for separator, title in ((";", "a semicolon"), ("\t", "a tab"), ("|", "a bar")):
            if separator in found[0]:
                return f" (the separator seems to be {title}; .csv needs commas and .tsv tabs)"
        if "," in found[0]:
            return " (the separator seems to be a comma; name the file .csv)"
    return ""


def _wide_hint(role: Role, found: Sequence[str]) -> tuple[Part, ...]:
    if role == "score" or len(found) < 3:
        return ()
    return "; or ", Choice("format", "wide"), f" if there is a column for every {role}"


def is_seed(name: str) -> bool:
    """Whether a replicate column holds seeds, which are labels and not a count."""
    return name.strip().casefold().endswith("seed")
