"""Item columns: what else files say of each item, such as its category, read beside the roles.

The column ``metric`` is special: an item that is scored by several metrics becomes one item for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from bbedge.errors import DomainError
from bbedge.readers.tables.columns import Role
from bbedge.text import quoted

METRIC = "metric"
"""The item column that makes one item of each metric of an item."""
ORIGINAL = cast("Role", "original item")
"""The key of the item that a metric belongs to, in batches that have one row for each metric."""
_PREFIX = "column "


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
