"""The ways from scores to a leaderboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Unpack, cast

import numpy as np
from numpy.typing import NDArray

from bbedge.core.certifier import Certifier
from bbedge.core.conclusions import GapCount, Leaderboard, check_k
from bbedge.core.design import Design
from bbedge.core.family import check_pilot
from bbedge.core.looks import Look, LookCount
from bbedge.core.panels import scored_items
from bbedge.core.scores import DesignOptions, Scores
from bbedge.core.views import check_weights
from bbedge.errors import DesignError
from bbedge.records.notes import Note

__all__ = [
    "Certifier",
    "Leaderboard",
    "Look",
    "LookCount",
    "certify",
    "certify_design",
    "certify_pilot_top_k",
    "pilot_design",
    "run",
]

Matrix = NDArray[np.float64]

AnyScores = Scores | str | os.PathLike[str] | object
"""Scores, the path of a file or a folder, or a polars, pandas or Arrow table."""

COUNTED = Note(kind="copies", text="Replicates with the same scores as others were counted, as the design allows.")
"""What a leaderboard says where copies were found and the design counts them."""
REPEATED = Note(
    kind="copies", text="Replicates have the same scores as others. About new items they say nothing that one did not."
)
"""What it says where copies were found that cannot make a false claim."""


def run(
    design: Design, panels: Iterable[Matrix], *, stops: Sequence[int] | None = None, device: str | None = None
) -> Leaderboard:
    """Feed panels to a fresh certifier and read the leaderboard.

    ``stops`` is for every model the number of panels after which it is stopped; its later rows are not read.
    """
    certifier = Certifier(design, device=device)
    for panel in panels:
        _feed(certifier, design, panel, stops)
        del panel  # before the next is made: panels may be large
    return certifier.leaderboard()


def _feed(certifier: Certifier, design: Design, panel: Matrix, stops: Sequence[int] | None) -> None:
    if stops is None:
        certifier.update(panel)
        return
    rows = [place for place, after in enumerate(stops) if after > certifier.runs]
    still = {design.models[place] for place in rows}
    certifier.stop([model for model in certifier.evidence.active if model not in still])
    if rows:
        certifier.update(panel[rows])


def certify(scores: AnyScores, *, device: str | None = None, **options: Unpack[DesignOptions]) -> Leaderboard:
    """Certify scores in one go, as ``bbedge certify`` does.

    ``scores`` are :class:`Scores`, or anything that :func:`bbedge.read_scores` reads without options: the path of a
    table, a log or a folder, or a polars, pandas or Arrow table with a row per score.

    The options are those of :class:`~bbedge.records.options.Options` and the further arguments of
    :meth:`Design.make <bbedge.Design.make>`; the scale is that of the scores. ``planned`` is the number of replicates
    that were planned before any was seen (never the number there are). Intervals for the models' own means
    (``Leaderboard.mean_bounds``) need a ``mean_share``, other views (:meth:`Leaderboard.view`) ``views``. ``device`` is
    where to compute, for instance ``"cuda"``; ``None`` is NumPy.

    **Needs:** options chosen before the scores were seen, and the independence of ``docs/guarantees.md``.

    >>> scores = Scores.of(np.eye(2)[None], models=["a", "b"], items=["q1", "q2"])
    >>> certify(scores, tau=0.01).graph.n_edges
    0
    """
    table = _table(scores)
    return certify_design(table, table.design(**options), device=device)


def _table(scores: AnyScores) -> Scores:
    """Scores as they are, or read. By name: the core knows nothing of files, and works without readers."""
    if isinstance(scores, Scores):
        return scores
    return cast("Scores", import_module("bbedge.readers").read_scores(scores))


def certify_pilot_top_k(
    scores: AnyScores,
    *,
    k: int,
    pilot: int,
    device: str | None = None,
    **options: Unpack[DesignOptions],
) -> Leaderboard:
    """Pilot-targeted Top-k: the first ``pilot`` replicates pick the candidate, the others test it.

    Only the ``k (L - k)`` directions from the candidate to the other models are tested, which certifies sooner than
    the full graph. The pilot's panels choose the candidate and never enter the evidence. Equal pilot means go to
    the model that comes first. The other options are those of :func:`certify`.

    **Guarantee:** whatever the pilot picked, the probability of any false edge at any look is at most ``alpha``.

    **Needs:** ``k`` and ``pilot`` fixed beforehand, besides what :func:`certify` needs.
    """
    table = _table(scores)
    design = pilot_design(table, k=k, pilot=pilot, **options)
    return certify_design(table, design, pilot=pilot, device=device)


def certify_design(
    scores: Scores,
    design: Design,
    *,
    pilot: int | None = None,
    device: str | None = None,
    watch: Callable[[Matrix], Iterable[Matrix]] = iter,
) -> Leaderboard:
    """Look after each replicate, leaving out those of the pilot: what the functions above and the command line do.

    ``watch`` gets the panels and hands them on one by one, for those who show progress.
    """
    if not design.repeats_are_harmless:
        scores.check_copies(design.copies)
    if scores.copies:
        scores = replace(scores, notes=(*scores.notes, COUNTED if design.copies == "allow" else REPEATED))
    skipped = pilot or 0
    values, stops = scores.values[skipped:], scores.stops
    if stops is not None:
        stops = tuple(max(0, after - skipped) for after in stops)
    leaderboard = run(design, watch(values), stops=stops, device=device)
    gaps = None if design.gaps == "refuse" else _gap_count(values, design, stops, device)
    if gaps is not None:
        leaderboard = leaderboard.with_mean_items(scored_items(values))
    return replace(leaderboard.of_scores(scores), pilot=pilot, gaps=gaps, stops=stops)


def _gap_count(values: Matrix, design: Design, stops: Sequence[int] | None, device: str | None) -> GapCount | None:
    """How many scores are missing, and how many pairs they may cost."""
    counted = np.zeros(len(design.models), dtype=np.int64)
    totals, present = np.zeros(len(counted)), np.zeros(len(counted))
    until = np.array([len(values)] * len(counted) if stops is None else stops)
    for place, panel in enumerate(values):
        missing = np.isnan(panel)
        counted += np.where(until > place, missing.sum(axis=1), 0)
        totals += np.nansum(panel, axis=1)
        present += (~missing).sum(axis=1)
    if not counted.any():
        return None
    means = totals / np.maximum(present, 1)
    filled = (np.where(np.isnan(panel), means[:, None], panel) for panel in values)
    hint = run(design, filled, stops=stops, device=device)
    return GapCount(of_models=tuple(counted.tolist()), resolved_if_means=hint.graph.n_resolved)


def pilot_design(scores: Scores, *, k: int, pilot: int, **options: Unpack[DesignOptions]) -> Design:
    """The design that tests the ``k`` models with the highest means over the first ``pilot`` replicates."""
    n_replicates = len(scores.replicates)
    check_k(k, len(scores.models))
    if not 1 <= pilot < n_replicates:
        raise DesignError(
            f"a pilot of {pilot} replicates is not possible with {n_replicates} in all; "
            "at least one replicate is needed for the pilot and one for the evidence"
        )
    weights = options.get("weights")
    # Any choice is valid; a missing score counts as if it were 0.
    seen = np.nan_to_num(scores.values[:pilot], nan=0.0) if scores.gaps == "worst-case" else scores.values[:pilot]
    means = seen.mean(axis=(0, 2))
    if weights is not None:
        check_weights(weights, scores.items)
        means = np.average(seen.mean(axis=0), axis=1, weights=weights)
    options["candidate"] = [scores.models[i] for i in np.argsort(-means, kind="stable")[:k]]
    design = scores.design(**options)
    check_pilot(design)
    return design
