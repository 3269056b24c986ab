"""Replicates that repeat each other score by score.

Whether two results belong to one run never follows from their scores: a model may repeat itself honestly, and leaving
out what looks the same would be a selection by scores. So a repetition is a question to the user. It stops the work
unless the design says that repetitions count, and nothing is ever left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from bbedge.text import listed, quoted

FEW = 8
"""Fewer scores than these are equal by chance too easily."""

_COINCIDENCE = 0.05  # repetitions expected by chance, over all models and replicates, above which one is no sign
_MOST_RUNS = 10  # different runs of a model that are compared to see how much they differ


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What stands for the scores of one model in one replicate."""

    digest: str
    """Equal for equal scores, with gaps in the same places."""
    size: int = field(default=0, compare=False)
    """The number of scores; gaps are none."""
    varied: bool = field(default=False, compare=False)
    """Whether they differ from each other. A model that solves everything, or nothing, repeats itself honestly."""

    @classmethod
    def of(cls, scores: NDArray[np.float64], digest: str | None = None) -> Fingerprint:
        """The fingerprint of a vector of scores, NaN where one is missing; ``digest`` replaces the one made here."""
        present = scores
        if scores.size and np.isnan(scores.min()):
            missing = np.isnan(scores)
            # NaN has many bit patterns, of which the digest shall see one.
            present, scores = scores[~missing], np.where(missing, np.nan, scores)
        if digest is None:
            digest = hashlib.blake2b(np.ascontiguousarray(scores).data, digest_size=16).hexdigest()
        return cls(digest=digest, size=present.size, varied=bool(present.size and present.min() < present.max()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A replicate with the scores of an earlier one."""

    replicate: int
    """Its position, from 0."""
    of: int
    """The position of the first replicate with these scores."""
    models: tuple[str, ...]
    """The models that repeat their scores."""
    whole: bool
    """Whether every model does that both replicates have."""


Vectors = Callable[[int, str], NDArray[np.float64]]
"""The scores of a model in the replicate at a position."""


def fingerprints(models: Sequence[str], panel: NDArray[np.float64]) -> dict[str, Fingerprint]:
    """The fingerprints of a panel, models x items; a model without any score has none."""
    prints = {model: Fingerprint.of(row) for model, row in zip(models, panel, strict=True)}
    return {model: each for model, each in prints.items() if each.size or not panel.shape[1]}


def find_copies(
    replicates: Sequence[Mapping[str, Fingerprint]], vectors: Vectors, *, first: int = 0, least: int = FEW
) -> tuple[Copy, ...]:
    """Copies among the replicates from position ``first`` on, each with the earliest replicate that it repeats.

    A replicate is a copy if every model that both have repeats its scores; or if one model does whose runs differ so
    much otherwise that two of them would hardly be equal by chance. With fewer than ``least`` scores, or where every
    model solves everything or nothing, neither is a sign of a copy. ``least=0`` finds every repetition of all models.
    """
    places: dict[tuple[str, str], list[int]] = {}
    distinct: dict[str, dict[str, int]] = {}
    for place, prints in enumerate(replicates):
        for model, each in prints.items():
            places.setdefault((model, each.digest), []).append(place)
            distinct.setdefault(model, {}).setdefault(each.digest, place)
    chances: dict[str, float] = {}

    def by_chance(model: str) -> bool:
        if model not in chances:
            runs = [vectors(place, model) for place in list(distinct[model].values())[:_MOST_RUNS]]
            chances[model] = chance_of_equal(runs) * comb(len(replicates), 2) * len(distinct)
        return chances[model] > _COINCIDENCE

    found: list[Copy] = []
    for place in range(first, len(replicates)):
        prints = replicates[place]
        whole = _first_equal(place, replicates, places, least)
        if whole is not None and least and len(prints) == 1 and all(len(distinct[model]) > 1 for model in prints):
            whole = None  # one model whose runs vary is judged below
        if whole is not None:
            found.append(Copy(replicate=place, of=whole, models=tuple(prints), whole=True))
            continue
        of: dict[int, list[str]] = {}
        for model, each in prints.items():
            earliest = places[model, each.digest][0]
            varies = each.varied and each.size >= FEW and len(distinct[model]) > 1
            if earliest < place and varies and not by_chance(model):
                of.setdefault(earliest, []).append(model)
        found += [Copy(replicate=place, of=other, models=tuple(of[other]), whole=False) for other in sorted(of)]
    return tuple(found)


def chance_of_equal(runs: Sequence[NDArray[np.float64]]) -> float:
    """How probable equal scores of two runs are, from how much different runs of the same model differ.

    >>> chance_of_equal([np.array([0.0, 1.0]), np.array([0.0, 0.0])])
    0.25
    """
    differing, sizes = [], []
    for one, other in combinations(runs, 2):
        # Where a run has a gap nothing can be compared, and gaps may follow a pattern that says nothing about scores.
        both = ~(np.isnan(one) | np.isnan(other))
        if both.any():
            differing.append(float(np.mean(one[both] != other[both])))
            sizes.append(int(both.sum()))
    if not differing:
        return 1.0
    return float((1.0 - sum(differing) / len(differing)) ** (sum(sizes) / len(sizes)))


def _first_equal(
    place: int,
    replicates: Sequence[Mapping[str, Fingerprint]],
    places: Mapping[tuple[str, str], Sequence[int]],
    least: int,
) -> int | None:
    prints = replicates[place]
    candidates = {other for model, each in prints.items() for other in places[model, each.digest] if other < place}
    for other in sorted(candidates):
        shared = [model for model in prints if model in replicates[other]]
        if (
            all(prints[model] == replicates[other][model] for model in shared)
            and sum(prints[model].size for model in shared if prints[model].varied) >= least
        ):
            return other
    return None


def always_repeating(replicates: Sequence[Mapping[str, Fingerprint]]) -> tuple[str, ...]:
    """Models with the same scores in all of several replicates, where that is a sign of anything."""
    runs: dict[str, list[Fingerprint]] = {}
    for prints in replicates:
        for model, each in prints.items():
            runs.setdefault(model, []).append(each)
    return tuple(
        model
        for model, its in runs.items()
        if len(its) > 1 and len(set(its)) == 1 and its[0].varied and its[0].size >= FEW
    )


def described(copies: Iterable[Copy], labels: Sequence[str]) -> str:
    """The copies in a sentence or two; ``labels`` name the replicates."""
    whole: dict[int, list[int]] = {}
    single: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for copy in copies:
        if copy.whole:
            whole.setdefault(copy.of, [copy.of]).append(copy.replicate)
        else:
            single.setdefault((copy.models, copy.of), [copy.of]).append(copy.replicate)
    sentences = [
        f"Replicates {_names(group, labels)} have the same score for every model on every item."
        for group in whole.values()
    ]
    sentences += [
        f"{quoted(models[0])}{f' and {len(models) - 1} more models' if len(models) > 1 else ''} "
        f"{'have' if len(models) > 1 else 'has'} the same score on every item in replicates "
        f"{_names(group, labels)}, and other scores elsewhere."
        for (models, _), group in single.items()
    ]
    more = len(sentences) - _MOST
    return " ".join(sentences[:_MOST]) + (f" And {more} more such repetitions." if more > 0 else "")


_MOST = 3  # sentences that are shown


def _names(group: Sequence[int], labels: Sequence[str]) -> str:
    return listed(labels[place] for place in group)
