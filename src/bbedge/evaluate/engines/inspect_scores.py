"""The scores of items from the scores that Inspect has of a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bbedge.errors import DataError
from bbedge.text import listed, quoted, shown

JUDGEMENTS = "bbedge_judgements"
"""The key in the metadata of a score under which every judgement is."""
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def item_scores(
    sample: str, items: tuple[str, ...], scores: Mapping[str, Any] | None, *, scorer: str | None
) -> dict[str, float]:
    """The score of every item, in [0, 1].

    A single value scores the sample, a table of values its parts, each named ``sample/part``. Letters are Inspect's
    grades: C correct, P partly, I incorrect, N no answer.
    """
    value = _chosen(sample, scores, scorer).value
    given = (
        {f"{sample}/{part}": each for part, each in value.items()} if isinstance(value, Mapping) else {sample: value}
    )
    named = {item: item_number(item, each) for item, each in given.items()}
    missing = [item for item in items if item not in named]
    if missing:
        raise DataError(
            f"sample {quoted(sample)} was not scored on {listed(missing)}; a sample that scores several items names "
            "them in metadata items"
        )
    extra = sorted(set(named) - set(items))
    if extra:
        raise DataError(
            f"sample {quoted(sample)} was scored on {listed(extra)}, which it did not announce in metadata items"
        )
    return {item: named[item] for item in items}


def judgements(
    sample: str, items: tuple[str, ...], scores: Mapping[str, Any] | None, *, scorer: str | None
) -> dict[str, tuple[float, ...]]:
    """Every judgement of each item, where the sample was judged several times."""
    found = (_chosen(sample, scores, scorer).metadata or {}).get(JUDGEMENTS, [])
    tables = [each if isinstance(each, Mapping) else {sample: each} for each in found]
    parts = {item: item if item == sample else item.removeprefix(f"{sample}/") for item in items}
    return {item: tuple(float(table[part]) for table in tables) for item, part in parts.items()} if tables else {}


def _chosen(sample: str, scores: Mapping[str, Any] | None, scorer: str | None) -> Any:  # noqa: ANN401 - any score
    if not scores:
        raise DataError(f"sample {quoted(sample)} has no score; the task needs a scorer")
    if scorer is None and len(scores) > 1:
        raise DataError(
            f"sample {quoted(sample)} has several scores: {listed(scores)}; choose one with scorer under [benchmark]"
        )
    if scorer is not None and scorer not in scores:
        raise DataError(f"sample {quoted(sample)} has no score {quoted(scorer)}; it has {listed(scores)}")
    return next(iter(scores.values())) if scorer is None else scores[scorer]


def item_number(item: str, value: object) -> float:
    """A score in [0, 1] from what a scorer gave."""
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    if isinstance(value, bool | int | float):
        if math.isnan(value):
            raise DataError(f"item {quoted(item)} was left without a score")
        if 0.0 <= value <= 1.0:
            return float(value)
    raise DataError(
        f"item {quoted(item)}: score {shown(repr(value))}; expected a number from 0 to 1, or one of C, P, I, N"
    )
