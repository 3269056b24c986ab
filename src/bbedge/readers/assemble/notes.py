"""What a reader notices in scores that can be read, and a user should know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from bbedge.core.copies import Copy, Fingerprint, always_repeating, described
from bbedge.core.notes import Note
from bbedge.readers.assemble.grid import folded
from bbedge.text import listed, shown

# Below this many items, equal score vectors of independent runs are no surprise.
_FEW_ITEMS = 30


def similar_models(models: Sequence[str]) -> Iterator[Note]:
    """Models whose names differ only by case, spaces or Unicode form."""
    groups = defaultdict(list)
    for model in models:
        groups[folded(model)].append(model)
    for group in groups.values():
        if len(group) > 1:
            # In ASCII, because some of these differences cannot be seen.
            names = " and ".join(shown(ascii(model)) for model in group)
            yield Note(
                kind="names",
                subject=tuple(group),
                text=f"The models {names} differ only by case, spaces or Unicode form; they are kept as different "
                "models: if they are one, give them one name.",
            )


def padded_names(models: Sequence[str], items: Sequence[str]) -> Iterator[Note]:
    """Names with white space at an end, which are kept as they are."""
    for role, names in (("models", models), ("items", items)):
        padded = [name for name in names if name != name.strip()]
        if padded:
            yield Note(
                kind="names",
                subject=tuple(padded),
                text=f"{len(padded)} of {len(names)} {role} have white space at an end of the name: {listed(padded)}.",
            )


def repeated_replicates(
    copies: Sequence[Copy], prints: Sequence[Mapping[str, Fingerprint]], replicates: Sequence[str], *, n_items: int
) -> Iterator[Note]:
    """Replicates that repeat others, and models that repeat themselves in all of them."""
    if copies:
        chance = f" With only {n_items} items this can be chance." if n_items < _FEW_ITEMS else ""
        yield Note(
            kind="copies",
            subject=tuple(dict.fromkeys(model for copy in copies for model in copy.models)),
            text=f"{described(copies, replicates)} {_MEANING}{chance}",
        )
    steady = always_repeating(prints)
    if steady and not any(copy.whole for copy in copies):
        yield Note(
            kind="repeats",
            subject=steady,
            text=f"{len(steady)} of {len(prints[0])} models have the same score on every item in all "
            f"{len(replicates)} replicates: {listed(steady)}. {_MEANING}",
        )


_MEANING = (
    "A run that repeats itself by greedy decoding or a cache adds little evidence, and a copied run breaks the "
    "independence that the guarantee needs."
)
