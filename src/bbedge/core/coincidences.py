r"""How many equal runs are to be expected by chance, judged by how much the runs differ otherwise.

Given what each unit (an item, or a block of items) has in the runs, without the order of the runs, independent runs and
units make every order equally probable, unit by unit. So the expected number of sets of ``k`` equal runs is known,

.. math:: \binom{R}{k} \prod_u s_u(k),

with ``s_u(k)`` the share of all sets of ``k`` runs that agree in unit ``u``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from bbedge.core.blocks import BlockLayout

FEW = 8
"""Fewer scores than these are equal by chance too easily; fewer blocks tell too little about chance."""

COINCIDENCE = 0.05
"""The expected number of coincidences above which one is no sign of a copy."""

Runs = NDArray[np.float64]


def may_be_chance(runs: Runs, equal: Sequence[int], *, tests: int = 1, blocks: Sequence[str] | None = None) -> bool:
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
        return (count - 1) * _log_chance_of_repeating(runs) > log(COINCIDENCE)
    log_shares = np.log(_agreeing(_contents(runs, blocks), size))
    log_expected = log(comb(count, size)) + float(log_shares.sum())
    return log_expected + log(tests * size * (size - 1)) > log(COINCIDENCE)


def _contents(runs: Runs, blocks: Sequence[str] | None) -> NDArray[np.float64]:
    """A number that stands for what each unit has in each run: runs x units; NaN where a score is missing."""
    weights = np.random.default_rng(0).uniform(1.0, 2.0, runs.shape[1:])
    of_items: NDArray[np.float64] = (runs * weights).sum(axis=1)
    layout = None if blocks is None else BlockLayout.of(blocks)
    if layout is None or layout.count < FEW:
        return of_items
    of_blocks: NDArray[np.float64] = np.add.reduceat(of_items[:, layout.order], layout.starts, axis=1)
    return of_blocks


def _agreeing(contents: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """For each unit the share of all sets of so many runs that agree in it, wherever they have scores."""
    missing = np.isnan(contents).sum(axis=0)
    total = comb(len(contents), size)
    share = np.array([comb(n, size) / total for n in range(len(contents) + 1)])
    found: NDArray[np.float64] = share[missing]
    for run in contents:
        same = (contents == run).sum(axis=0)
        # Each group of equal runs is met once for each of its members.
        found = found + np.where(same > 0, (share[same + missing] - share[missing]) / np.maximum(same, 1), 0.0)
    return found


def _log_chance_of_repeating(runs: Runs) -> float:
    """Logarithm of the probability that a run has the same scores again, if the items of each model are alike."""
    is_missing = np.isnan(runs).sum(axis=0) > 0
    total = 0.0
    for scores, missing in zip(runs[0], is_missing, strict=True):
        counts = np.unique(scores[~missing], return_counts=True)[1]
        total += float((counts * np.log(counts / max(1, counts.sum()))).sum())
    return total
