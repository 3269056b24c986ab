"""Names of models that may be one model spelt in several ways: noticed, and merged where that is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from bbedge.errors import Part
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.choices import Choice, Choices
from bbedge.records.notes import Note
from bbedge.text import folded, listed, shown

_DIFFER = "differ only by case, spaces, hyphens or look-alike characters"
_MOST_GROUPS = 3


def alike(models: Sequence[str]) -> list[list[str]]:
    """Groups of two or more names that differ only by case, spaces, hyphens or look-alike characters.

    >>> alike(["GPT-4", "other", "gpt-4 "])
    [['GPT-4', 'gpt-4 ']]
    """
    groups = defaultdict(list)
    for model in models:
        groups[folded(model)].append(model)
    return [group for group in groups.values() if len(group) > 1]


def merged_names(models: Sequence[str], preferred: Sequence[str] = ()) -> dict[str, str]:
    r"""One name for every name: of spellings that are alike the preferred one, else the plainest, without outer spaces.

    >>> merged_names(["gpt-4 ", "GPT\u20114", "GPT-4"])["gpt-4 "], merged_names(["gpt-4"], ["GPT-4"])
    ('GPT-4', {'gpt-4': 'GPT-4'})
    """
    spellings = defaultdict(list)
    for model in models:
        spellings[folded(model)].append(model.strip())
    known = {folded(name): name for name in reversed(preferred)}
    names = {
        key: known.get(key) or min(group, key=lambda name: (not name.isascii(), name))
        for key, group in spellings.items()
    }
    return {model: names[folded(model)] for model in models}


def merge_models(coder: Coder, choices: Choices) -> Mapping[str, str]:
    """Give models whose names are alike one name, if that was chosen; the names that changed, with the new ones."""
    before = coder.names("model")
    names = merged_names(before, choices.preferred_names) if choices.merge_names else {}
    changed = {old: new for old, new in names.items() if old != new}
    if changed:
        coder.rename("model", lambda _: list(names.values()))
    return changed


def merged_notes(changed: Mapping[str, str]) -> Iterator[Note]:
    """Which names were read as another spelling of which."""
    groups = defaultdict(list)
    for old, new in sorted(changed.items()):
        groups[new].append(old)
    for name, others in groups.items():
        yield Note(
            kind="names",
            subject=(name, *others),
            text=f"Read as the model {shown(ascii(name))} on purpose: {_in_ascii(others)}.",
        )


def similar_models(models: Sequence[str]) -> Iterator[Note]:
    """Models that may be one, and are kept as different ones."""
    for group in alike(models):
        yield Note(
            kind="names",
            subject=tuple(group),
            text=f"The models {_in_ascii(group)} {_DIFFER}; they are kept as different models. If they are one, merge "
            "them with --merge-names (in Python with Choices(merge_names=True)), or give them one name.",
        )


def similar_hint(models: Sequence[str]) -> tuple[Part, ...]:
    """What to say of such models where scores are missing, for which other spellings may be the reason."""
    groups = alike(models)
    if not groups:
        return ()
    words = "; ".join(_in_ascii(group) for group in groups[:_MOST_GROUPS])
    more = f" and {len(groups) - _MOST_GROUPS} more" if len(groups) > _MOST_GROUPS else ""
    return f"The models {words}{more} {_DIFFER}: pass ", Choice("merge_names", value=True), " if they are one.\n"


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


def _in_ascii(names: Sequence[str]) -> str:
    # Some of these differences cannot be seen.
    return " and ".join(shown(ascii(name)) for name in names)
