r"""Replicates that repeat each other score by score, and how many are to be expected by chance.

Whether two results belong to one run never follows from their scores: a model may repeat itself honestly, and leaving
out what looks the same would be a selection by scores. So a repetition is a question to the user. It stops the work
unless the design says that repetitions count, and nothing is ever left out.

Chance is judged by how much the runs differ otherwise. Given what each unit (an item, or a block of items) has in the
runs, without the order of the runs, independent runs and units make every order equally probable, unit by unit. So the
expected number of sets of ``k`` equal runs is known,

.. math:: \binom{R}{k} \prod_u s_u(k),

with ``s_u(k)`` the share of all sets of ``k`` runs that agree in unit ``u``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, log

import numpy as np

from bbedge.core.arrays import Floats
from bbedge.core.panels import BlockLayout
from bbedge.records.values import grouped
from bbedge.text import listed, quoted

FEW = 8
"""Fewer scores than these are equal by chance too easily; fewer blocks tell too little about chance."""

COINCIDENCE = 0.05
"""The expected number of coincidences above which one is no sign of a copy."""


def may_be_chance(runs: Floats, equal: Sequence[int], *, tests: int = 1, blocks: Sequence[str] | None = None) -> bool:
    """Whether so many equal runs are no surprise among all of these: runs x models x items, NaN for a missing score.

    ``equal`` are the places of runs that agree wherever they have scores. ``tests`` is how many such searches share
    the level. The units are the ``blocks``, or the items where there are none, or few blocks.

    **Guarantee:** the probability that independent runs have equal ones for which the answer is no, and others that
    differ, is at most ``COINCIDENCE / tests``: by Markov's inequality, with ``1 / (k (k - 1))`` of the level for sets
    of ``k`` runs. A missing score agrees with everything, which only raises what is expected.

    **Needs:** independent and identically distributed runs, and independent units. If all runs are equal, nothing shows
    how much they differ by chance, and items of a model are taken as alike: what is expected is then how probable it is
    that runs repeat the scores of the first. A system that is nearly deterministic repeats itself more often than that.
    """
    count, size = len(runs), len(equal)
    if size == count:
        return _may_all_repeat(runs, count)
    log_shares = np.log(_agreeing(_contents(runs, blocks), size)).sum()
    return log(comb(count, size)) + float(log_shares) + log(tests * size * (size - 1)) > log(COINCIDENCE)


def _may_all_repeat(runs: Floats, count: int) -> bool:
    """Whether it is no surprise that so many runs are equal, and nothing shows how much they differ."""
    return (count - 1) * _log_chance_of_repeating(runs) > log(COINCIDENCE)


def _contents(runs: Floats, blocks: Sequence[str] | None) -> Floats:
    """A number that stands for what each unit has in each run: runs x units; NaN where a score is missing."""
    of_items: Floats = (runs * np.random.default_rng(0).uniform(1.0, 2.0, runs.shape[1:])).sum(axis=1)
    layout = None if blocks is None else BlockLayout.of(blocks)
    if layout is None or layout.count < FEW:
        return of_items
    return np.asarray(np.add.reduceat(of_items[:, layout.order], layout.starts, axis=1))


def _agreeing(contents: Floats, size: int) -> Floats:
    """For each unit the share of all sets of so many runs that agree in it, wherever they have scores."""
    missing = np.isnan(contents).sum(axis=0)
    share = np.array([comb(n, size) / comb(len(contents), size) for n in range(len(contents) + 1)])
    found: Floats = share[missing]
    for run in contents:
        same = (contents == run).sum(axis=0)
        # Each group of equal runs is met once for each of its members.
        found = found + np.where(same > 0, (share[same + missing] - share[missing]) / np.maximum(same, 1), 0.0)
    return found


def _log_chance_of_repeating(runs: Floats) -> float:
    """Logarithm of the probability that a run has the same scores again, if the items of each model are alike."""
    total = 0.0
    for scores, missing in zip(runs[0], np.isnan(runs).sum(axis=0) > 0, strict=True):
        counts = np.unique(scores[~missing], return_counts=True)[1]
        total += float((counts * np.log(counts / max(1, counts.sum()))).sum())
    return total


_MOST_SCORES = 2**23  # that are compared to see how much replicates differ; some models tell as much as all


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFingerprint:
    """What stands for the scores of one model in one replicate."""

    digest: str
    """Equal for equal scores, with gaps in the same places."""
    size: int = field(default=0, compare=False)
    """The number of scores; gaps are none."""
    varied: bool = field(default=False, compare=False)
    """Whether they differ from each other. A model that solves everything, or nothing, repeats itself honestly."""

    @classmethod
    def of(cls, scores: Floats, digest: str | None = None) -> ScoreFingerprint:
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


Vectors = Callable[[int, str], Floats]
"""The scores of a model in the replicate at a position."""


def fingerprints(models: Sequence[str], panel: Floats) -> dict[str, ScoreFingerprint]:
    """The fingerprints of a panel, models x items; a model without any score has none."""
    prints = {model: ScoreFingerprint.of(row) for model, row in zip(models, panel, strict=True)}
    return {model: each for model, each in prints.items() if each.size or not panel.shape[1]}


def find_copies(
    replicates: Sequence[Mapping[str, ScoreFingerprint]], vectors: Vectors, *, blocks: Sequence[str] | None = None
) -> tuple[Copy, ...]:
    """Copies among the replicates, each with the earliest replicate that it repeats; see :class:`CopySearch`.

    ``blocks`` has the block of each item.
    """
    search = CopySearch(blocks)
    for prints in replicates:
        search.add(prints)
    return tuple(copy for place, prints in enumerate(replicates) for copy in search.copies(place, prints, vectors))


class CopySearch:
    """The replicates so far, by their fingerprints, and which of them repeat earlier ones.

    A replicate is a copy if every model that both have repeats its scores, or if one model does, and the replicates
    differ so much otherwise that fewer than 0.05 such coincidences are expected; see
    :func:`~bbedge.core.copies.may_be_chance`. With fewer than ``least`` scores, or where every model solves
    everything or nothing, neither is a sign of a copy; nor is a model that repeats itself always, beside others that do
    not. ``least=0`` finds every repetition of all models.
    """

    def __init__(self, blocks: Sequence[str] | None = None) -> None:
        self._blocks = blocks
        self._replicates: list[dict[str, ScoreFingerprint]] = []
        self._places: dict[str, dict[str, list[int]]] = {}  # of each model and digest
        self._known: dict[tuple[tuple[str, ...], tuple[int, ...]], bool] = {}

    def add(self, prints: Mapping[str, ScoreFingerprint]) -> None:
        """Add the next replicate."""
        self._replicates.append({})
        for model, each in prints.items():
            self.join(len(self._replicates) - 1, model, each)

    def join(self, place: int, model: str, each: ScoreFingerprint) -> None:
        """Add a model to the replicate at a position; a model comes to its replicates in their order."""
        self._replicates[place][model] = each
        self._places.setdefault(model, {}).setdefault(each.digest, []).append(place)
        self._known.clear()

    def copies(
        self, place: int, prints: Mapping[str, ScoreFingerprint], vectors: Vectors, *, least: int = FEW
    ) -> tuple[Copy, ...]:
        """What the replicate at a position repeats; ``prints`` are its fingerprints, with sizes."""
        whole = self._first_equal(place, prints, vectors, least)
        if whole is not None:
            return (Copy(replicate=place, of=whole, models=tuple(prints), whole=True),)
        of: dict[int, list[str]] = {}
        for model, each in prints.items():
            equal = self._places[model][each.digest]
            varies = _may_be_copy(each) and len(self._places[model]) > 1
            if equal[0] < place and varies and not self._may_be_chance((model,), equal, vectors):
                of.setdefault(equal[0], []).append(model)
        return tuple(Copy(replicate=place, of=other, models=tuple(of[other]), whole=False) for other in sorted(of))

    def _first_equal(
        self, place: int, prints: Mapping[str, ScoreFingerprint], vectors: Vectors, least: int
    ) -> int | None:
        """The first replicate that has the same scores for all models that both have, unless that may be chance."""
        earlier = {other for model, each in prints.items() for other in self._places[model][each.digest]}
        for other in sorted(each for each in earlier if each < place):
            shared = tuple(model for model in prints if model in self._replicates[other])
            if (
                all(prints[model] == self._replicates[other][model] for model in shared)
                and sum(prints[model].size for model in shared if prints[model].varied) >= least
                and not (least and self._may_be_chance(shared, self._equal(shared, prints), vectors))
            ):
                return other
        return None

    def _equal(self, models: Sequence[str], prints: Mapping[str, ScoreFingerprint]) -> list[int]:
        """The replicates in which all of these models have these scores."""
        return sorted(set.intersection(*(set(self._places[model][prints[model].digest]) for model in models)))

    def _may_be_chance(self, models: tuple[str, ...], equal: Sequence[int], vectors: Vectors) -> bool:
        key = models, tuple(equal)
        if key not in self._known:
            there = [place for place, prints in enumerate(self._replicates) if all(each in prints for each in models)]
            most = max(1, _MOST_SCORES // max(1, len(vectors(there[0], models[0])) * len(there)))
            # Those that vary most: a model that always repeats itself shows nothing.
            chosen = sorted(models, key=lambda model: -len(self._places[model]))[:most]
            if len(equal) == len(there):  # one stands for all
                runs = np.stack([[vectors(there[0], model) for model in chosen]])
                self._known[key] = _may_all_repeat(runs, len(there))
            else:
                runs = np.stack([[vectors(place, model) for model in chosen] for place in there])
                # Each model is searched by itself, and all of them together.
                tests, places = len(self._places) + (len(self._places) > 1), [there.index(place) for place in equal]
                self._known[key] = may_be_chance(runs, places, tests=tests, blocks=self._blocks)
        return self._known[key]


def _may_be_copy(each: ScoreFingerprint) -> bool:
    """Whether the same scores again are a sign of anything."""
    return each.varied and each.size >= FEW


def always_repeating(replicates: Sequence[Mapping[str, ScoreFingerprint]]) -> tuple[str, ...]:
    """Models with the same scores in all of several replicates, where that is a sign of anything."""
    runs = grouped(each for prints in replicates for each in prints.items())
    return tuple(model for model, its in runs.items() if len(its) > 1 and len(set(its)) == 1 and _may_be_copy(its[0]))


def described(copies: Iterable[Copy], labels: Sequence[str]) -> str:
    """The copies in a sentence or two; ``labels`` name the replicates."""
    groups: dict[tuple[int, tuple[str, ...]], list[int]] = {}  # of all models, or of these
    for copy in copies:
        groups.setdefault((copy.of, () if copy.whole else copy.models), [copy.of]).append(copy.replicate)
    named = [(models, listed(labels[place] for place in group)) for (_, models), group in groups.items()]
    sentences = [
        f"Replicates {names} have the same score for every model on every item."
        for models, names in named
        if not models
    ]
    sentences += [
        f"{quoted(models[0])}{f' and {len(models) - 1} more models' if len(models) > 1 else ''} "
        f"{'have' if len(models) > 1 else 'has'} the same score on every item in replicates "
        f"{names}, and other scores elsewhere."
        for models, names in named
        if models
    ]
    more = len(sentences) - _MOST
    return " ".join(sentences[:_MOST]) + (f" And {more} more such repetitions." if more > 0 else "")


_MOST = 3  # sentences that are shown
