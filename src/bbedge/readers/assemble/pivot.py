"""From coded rows to complete panels, and what a user should know about their names and replicates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.core.copies import Copy, ScoreFingerprint, always_repeating, described, find_copies, fingerprints
from bbedge.core.scores import JudgedScores, Scores, SeenCopies
from bbedge.errors import Argument, DataError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.duplicates import check_unique
from bbedge.readers.assemble.grid import Grid, Names, Spool, one_by_one, ordered_replicates, spooled
from bbedge.readers.assemble.missing_refusal import LAID_OUT, refusal, too_large, why_not_covered
from bbedge.readers.assemble.missing_scores import (
    AXES,
    PLURALS,
    Axis,
    Kept,
    MissingCells,
    Plan,
    dropped,
    failed_cells,
    kept_in_words,
    size,
)
from bbedge.readers.assemble.pairing import check_paired
from bbedge.readers.choices import IncompletePolicy
from bbedge.readers.evidence import are_benchmarks
from bbedge.readers.logs.naming import padded_names, similar_models
from bbedge.readers.tables.columns import is_seed
from bbedge.records.notes import Note, without_folders
from bbedge.records.values import grouped
from bbedge.text import counted, listed, quoted

if TYPE_CHECKING:
    from bbedge.readers.assemble.joining import CodedRows

_PART = re.compile(r"(?:[^\\+]|\\.)+")
_AXIS_OF: dict[str, Axis] = {f"drop-{PLURALS[axis]}": axis for axis in AXES}
# A cell that no row is about. Scores are in [0, 1], and NaN in a row without one.
_NO_ROW = -1.0
# Below this many items, equal score vectors of independent runs are no surprise.
_FEW_ITEMS = 30
_MEANING = (
    "A run that repeats itself by greedy decoding or a cache adds little evidence, and a copied run breaks the "
    "independence that claims about these items need, and claims about scores that several runs make."
)


def build_panels(rows: CodedRows, *, policy: IncompletePolicy, least_models: int = 2) -> Scores:
    """Fill the panels; missing scores are dropped or counted by the policy, or refused.

    Every item is a block of its own until the blocks are known; the notes are about missing scores.
    """
    grid = Grid.from_coder(rows.coder, rows.replicates)
    shape = grid.shape
    if shape[1] < least_models:
        raise DataError(
            f"{rows.coder.chunks[0].table.name}: only one model, {quoted(grid.names[1][0])}; a leaderboard compares "
            "two or more: add the scores of the others"
        )
    if prod(shape) >= 2**62:
        raise DataError(
            f"{shape[1]} models x {shape[2]} items x {shape[0]} replicates are not a panel; check that ",
            Argument("column"),
            " names the right columns: every model, item and replicate must appear in many rows",
        )
    keeps = policy.drop is None and not policy.refuses
    if not (grid.is_dense(rows.coder) or (keeps and prod(shape) <= LAID_OUT)):
        return _from_sparse(rows, grid, policy)
    values, missing = _filled(rows.coder, grid)
    if not len(missing):
        return _panels(grid.names, values)
    gaps = _missing_cells(rows, grid, missing, "missing")
    if keeps:
        return _settled(gaps, policy, values, in_memory=grid.in_memory)
    kept = _by_dropping(gaps, policy)
    return _kept_panels(gaps, kept, _cut(values, kept, in_memory=grid.in_memory))


def _panels(names: Names, values: NDArray[np.float64]) -> Scores:
    return Scores(models=names[1], items=names[2], blocks=names[2], replicates=names[0], values=values)


def _missing_cells(
    rows: CodedRows, grid: Grid, cells: NDArray[np.int64], listing: Literal["missing", "present"]
) -> MissingCells:
    """What is missing; refused, whatever the policy, if there is nothing to compare."""
    tables = list(dict.fromkeys(chunk.table.name for chunk in rows.coder.chunks))
    gaps = MissingCells(
        names=grid.names,
        cells=cells,
        listing=listing,
        failed=failed_cells(rows.coder, grid),
        ordered=not rows.are_seeds,
        sources=tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1} more",
        hint=rows.missing_hint,
    )
    check_paired(rows.coder, gaps)
    return gaps


def _settled(gaps: MissingCells, policy: IncompletePolicy, values: NDArray[np.float64], *, in_memory: bool) -> Scores:
    """The panels with every missing cell as the policy counts it, unless the policy does not cover one."""
    if gaps.outline is None:
        raise refusal(gaps, *too_large(gaps, policy))
    plan = gaps.outline.plan(policy)
    if why := why_not_covered(plan):
        raise refusal(gaps, *why)
    names = (tuple(compress(gaps.names[0], plan.exists)), *gaps.names[1:])
    return replace(
        _panels(names, _completed(values, gaps.cells, plan, in_memory=in_memory)),
        gaps="worst-case" if plan.counts("worst-case").any() else "refuse",
        stops=plan.stops,
        notes=tuple(plan.notes()),
    )


def _completed(
    values: NDArray[np.float64], missing: NDArray[np.int64], plan: Plan, *, in_memory: bool
) -> NDArray[np.float64]:
    """The panels that exist, with what their missing cells count as; in memory or on disk as they are."""
    cells = values[0].size
    ends = np.searchsorted(missing, np.arange(len(values) + 1) * cells)

    def complete(place: int, panel: NDArray[np.float64]) -> NDArray[np.float64]:
        plan.fill(place, panel, missing[ends[place] : ends[place + 1]] - place * cells)
        return panel

    existing = ((place, panel) for place, panel in enumerate(one_by_one(values)) if plan.exists[place])
    if not in_memory:
        shape = (int(plan.exists.sum()), *values.shape[1:])
        return spooled((complete(place, panel.copy()) for place, panel in existing), shape)
    for place, panel in existing:
        complete(place, panel)
    return values if plan.exists.all() else values[plan.exists]


def _filled(coder: Coder, grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The panels, and their cells without a score. Panels that memory does not hold go to disk group by group."""
    panel = grid.shape[1] * grid.shape[2]
    spool = Spool()
    if not grid.in_memory:
        spool.require(8 * prod(grid.shape))
    groups = list(grid.groups())
    # One buffer for all groups, the first of which is the largest: two would take twice the memory.
    buffer = np.empty(len(groups[0]) * panel)
    missing = [np.empty(0, dtype=np.int64)]
    for group in groups:
        values = buffer[: len(group) * panel]
        values.fill(_NO_ROW)
        rows = filled = 0
        for chunk, inside, cells in grid.placed(coder, group):
            values[cells] = chunk.scores()[inside]
            rows += len(cells)
        for position, scores in zip(group, values.reshape(len(group), panel), strict=True):
            filled += panel
            # Written so that NaN fails, which is the smallest of the numbers that it is among.
            if not scores.min() >= 0.0:
                filled -= int(np.count_nonzero(scores == _NO_ROW))
                missing.append(np.flatnonzero(~(scores >= 0.0)) + position * panel)
        if filled < rows:
            check_unique(coder, grid)
        if not grid.in_memory:
            spool.write(values)
    return buffer.reshape(grid.shape) if grid.in_memory else spool.mapped(grid.shape), np.concatenate(missing)


def _cut(values: NDArray[np.float64], kept: Kept, *, in_memory: bool) -> NDArray[np.float64]:
    """What is kept of the panels, in memory or on disk as they are."""
    replicates, models, items = kept
    if in_memory:
        return values[np.ix_(*kept)]
    shape = (int(replicates.sum()), int(models.sum()), int(items.sum()))
    stay = (panel for panel, stays in zip(one_by_one(values), replicates, strict=True) if stays)
    return spooled((panel[np.ix_(models, items)] for panel in stay), shape)


def _from_sparse(rows: CodedRows, grid: Grid, policy: IncompletePolicy) -> Scores:
    """What a policy that drops leaves, where there are far more cells than rows."""
    check_unique(rows.coder, grid)
    scores = np.concatenate([chunk.scores() for chunk in rows.coder.chunks])
    scored = ~np.isnan(scores)
    gaps = _missing_cells(rows, grid, grid.all_cells(rows.coder)[scored], "present")
    kept = _by_dropping(gaps, policy)
    places = gaps.coordinates()
    stays = kept[0][places[0]] & kept[1][places[1]] & kept[2][places[2]]
    # What stays is complete, so its cells in order are the panels.
    order = np.argsort(gaps.cells[stays])
    return _kept_panels(gaps, kept, scores[scored][stays][order].reshape([int(keep.sum()) for keep in kept]))


def _by_dropping(gaps: MissingCells, policy: IncompletePolicy) -> Kept:
    """What stays of the panels if the policy drops something, otherwise an error."""
    if policy.drop is None:
        raise refusal(gaps, *(() if policy.refuses else too_large(gaps, policy)))
    kept = gaps.without_holes(_AXIS_OF[policy.drop])
    if not size(kept):
        why = f" would drop {dropped(gaps, kept)} and leave no two models with a complete panel.\n"
        raise refusal(gaps, Argument("incomplete", policy.drop), why)
    return kept


def _kept_panels(gaps: MissingCells, kept: Kept, values: NDArray[np.float64]) -> Scores:
    """The panels that stay, with a note of what was dropped."""
    replicates, models, items = (tuple(compress(*each)) for each in zip(gaps.names, kept, strict=True))
    about = "" if kept[2].all() else ", and the claims are about the items that stay"
    note = Note(
        kind="gaps",
        text=f"Dropped {dropped(gaps, kept)} because {gaps.missing} of {prod(gaps.shape)} cells had no score; "
        f"{kept_in_words(kept)} stay{about}. This is only valid if it was decided without looking at the scores.",
    )
    return replace(_panels((replicates, models, items), values), notes=(note,))


def repeated_replicates(
    copies: Sequence[Copy], prints: Sequence[Mapping[str, ScoreFingerprint]], replicates: Sequence[str], *, n_items: int
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
        # A model that was stopped has fewer replicates than there are.
        everywhere = all(model in each for each in prints for model in steady)
        those = f"{len(replicates)} replicates" if everywhere else "replicates that they have"
        yield Note(
            kind="repeats",
            subject=steady,
            text=f"{len(steady)} of {len(set().union(*prints))} models have the same score on every item in all "
            f"{those}: {listed(steady)}. {_MEANING}",
        )


def _names_of_others(items: Sequence[str], labels: Sequence[str]) -> Iterator[Note]:
    """Items that are called as benchmarks are, and runs of tables that are called as settings may be."""
    if are_benchmarks(items):
        yield Note(
            kind="names",
            subject=tuple(items),
            text=f"The items are called as benchmarks are: {listed(items)}. Where their scores are means over "
            "questions, claims are about the mean of these benchmarks, each of which counts as one observation; to "
            "compare models on questions, read the scores of the questions.",
        )
    if len(labels) > 1 and not any(character.isdigit() for label in labels for character in label):
        yield Note(
            kind="names",
            subject=tuple(labels),
            text=f"The replicates are called {listed(labels)}. If these are prompts or settings, and not repeated runs "
            "of the same thing, they are no replicates: make them a part of the model, or read one of them.",
        )


def named_scores(rows: CodedRows, panels: Scores, blocks: tuple[str, ...], *, blocked: bool) -> Scores:
    """The panels with their blocks, what was noticed and where they came from."""
    labels, models, items = panels.replicates, panels.models, panels.items
    prints = [fingerprints(models, panel) for panel in one_by_one(panels.values)] if len(labels) > 1 else []
    found = find_copies(prints, lambda place, model: panels.values[place, models.index(model)], blocks=blocks)
    notes = (
        *panels.notes,
        *rows.notes,
        *rows.described.notes(rows.coder, items),
        *similar_models(models),
        *padded_names(models, items),
        *_names_of_others(items, () if rows.runs else labels),
        *repeated_replicates(found, prints, labels, n_items=len(items)),
    )
    listing = [rows.described.path] if rows.described.path else []
    paths = [*(source.path for source in rows.sources.files), *rows.sources.beside, *listing]
    return replace(
        panels,
        blocks=blocks,
        numbered=rows.numbered,
        blocked=blocked,
        score_range=rows.scale or (0.0, 1.0),
        columns=rows.described.columns(rows.coder, items),
        notes=tuple(without_folders(note, paths) for note in notes),
        runs=tuple(rows.runs.get(label, ()) for label in labels) if rows.runs else (),
        seen=SeenCopies(values=panels.values, models=models, blocks=blocks, copies=found),
    )


def arranged_judgements(read: Scores, *, column: str) -> JudgedScores:
    """Scores whose replicates are judgements, a mean for each answer; ``column`` is what names the replicates."""
    places = grouped((_parts(label)[0], place) for place, label in enumerate(read.replicates))
    order = ordered_replicates(list(places), are_seeds=is_seed(column), tables="the judgements")
    counts = {label: len(places[label]) for label in order}
    most = max(counts.values())
    fewer = next((label for label in order if counts[label] < most), None)
    if fewer is not None:
        raise DataError(
            f"replicate {quoted(fewer)} has {counted(counts[fewer], 'judgement')} of each answer, and another one has "
            f"{most}; every answer must be judged equally often: leave the further judgements out, or add those that "
            "are missing"
        )
    judgements = np.stack([read.values[places[label]] for label in order])
    scores = replace(
        read,
        replicates=tuple(order),
        values=judgements.mean(axis=1),
        # What was noticed about copies is about judgements; copies of replicates are looked for anew.
        notes=tuple(note for note in read.notes if note.kind not in ("copies", "repeats")),
        seen=None,
    )
    return JudgedScores(scores=scores, judgements=judgements)


def _parts(label: str) -> list[str]:
    r"""The parts of a name that was made of several columns.

    >>> _parts("1+2"), _parts("a\\+b+2")
    (['1', '2'], ['a+b', '2'])
    """
    return [re.sub(r"\\(.)", r"\1", part) for part in _PART.findall(label)]
