"""What a reader notices in scores that can be read, and a user should know."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.formats.ordering import folded
from bbedge.formats.spool import one_by_one
from bbedge.naming import listed, quoted, shown

# Below this many items, equal score vectors of independent runs are no surprise.
_FEW_ITEMS = 30


def similar_models(models: Sequence[str]) -> Iterator[str]:
    """Models whose names differ only by case, spaces or Unicode form."""
    groups = defaultdict(list)
    for model in models:
        groups[folded(model)].append(model)
    for group in groups.values():
        if len(group) > 1:
            # In ASCII, because some of these differences cannot be seen.
            names = " and ".join(shown(ascii(model)) for model in group)
            yield (
                f"The models {names} differ only by case, spaces or Unicode form; they are kept as different models: "
                "if they are one, give them one name."
            )


def padded_names(models: Sequence[str], items: Sequence[str]) -> Iterator[str]:
    """Names with white space at an end, which are kept as they are."""
    for role, names in (("models", models), ("items", items)):
        padded = [name for name in names if name != name.strip()]
        if padded:
            yield f"{len(padded)} of {len(names)} {role} have white space at an end of the name: {listed(padded)}."


def identical_replicates(
    values: NDArray[np.float64], models: Sequence[str], replicates: Sequence[str]
) -> Iterator[str]:
    """Runs of a model that gave the same score on every item."""
    if len(replicates) < 2:
        return
    digests, varies = [], []
    for panel in one_by_one(values):
        digests.append([_digest(row) for row in panel])
        # A model that solves everything, or nothing, repeats itself honestly.
        varies.append(panel.min(axis=1) < panel.max(axis=1))
    whole = list(_equal(tuple(panel) for panel in digests))
    for group in whole:
        yield (
            f"Replicates {listed(replicates[r] for r in group)} are identical in every score of every model. {_MEANING}"
        )
    if whole:
        return
    repeated: dict[str, list[list[int]]] = {}
    for position, model in enumerate(models):
        varied = [r for r in range(len(replicates)) if varies[r][position]]
        groups = [[varied[k] for k in group] for group in _equal(digests[r][position] for r in varied)]
        if groups:
            repeated[model] = groups
    if repeated:
        examples = "; ".join(
            f"{quoted(model)} in replicates {listed(replicates[r] for r in groups[0])}"
            for model, groups in list(repeated.items())[:3]
        )
        items = values.shape[2]
        chance = f" With only {items} items this can be chance." if items < _FEW_ITEMS else ""
        yield (
            f"{len(repeated)} of {len(models)} models have replicates with the same score on every item: {examples}. "
            f"{_MEANING}{chance}"
        )


_MEANING = (
    "A repeated greedy or cached run adds no evidence, and if it is a copy it breaks the independence that the "
    "guarantee needs."
)


def _digest(row: NDArray[np.float64]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(row).data, digest_size=16).digest()


def _equal(keys: Iterable[object]) -> Iterator[list[int]]:
    """Positions with the same key, in groups of two or more."""
    groups = defaultdict(list)
    for position, key in enumerate(keys):
        groups[key].append(position)
    return (group for group in groups.values() if len(group) > 1)
