"""The refusal of missing scores: how many there are, where, and what each policy would make of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from operator import itemgetter
from types import MappingProxyType

import numpy as np

from bbedge.errors import Argument, Blank, DataError, Part
from bbedge.readers.assemble.missing_scores import (
    PLURALS,
    Axis,
    Kept,
    MissingCells,
    Outline,
    Plan,
    dropped,
    kept_in_words,
    kinds_in_words,
    size,
)
from bbedge.readers.choices import ERROR_KINDS, ErrorKind, IncompletePolicy
from bbedge.readers.logs.naming import similar_hint
from bbedge.text import counted, quoted

LAID_OUT = 1 << 26
"""Cells of mostly missing panels that are laid out at most, which takes up to 48 bytes each."""

MissingByModel = Mapping[str, Mapping[ErrorKind, int]]
"""By model how many scores of each kind are missing; models without a missing score are not in it."""

_MOST_STOPS = 3
_AXES_SHOWN: tuple[Axis, ...] = (1, 2, 0)


class MissingCellsError(DataError):
    """Cells have no score.

    ``remedy`` is a policy that would keep something usable, if any does; ``missing`` says what lacks, by model.
    """

    remedy: str | None = None
    missing: MissingByModel = MappingProxyType({})


def refusal(gaps: MissingCells, *why: Part) -> MissingCellsError:
    """The error for missing scores; ``why`` is what is in the way of the policy that was asked for."""
    hints = similar_hint(gaps.names[1])
    # Where each of several models lacks at least half of all rows, items, rather than scores, are not what they seem.
    replicates, models, items = gaps.shape
    absent = None if gaps.outline is None else (gaps.outline.by_kind - gaps.outline.failed).sum(axis=(0, 1))
    apart = absent is not None and models > 1 and 2 * int(absent.min()) >= replicates * items
    if apart:
        hints = (
            "No model has a score on most items, as where every answer has an identifier of its own: check that ",
            Argument("column", {"item": Blank("NAME")}),
            " names what all models have in common.\n",
            *hints,
        )
    error = MissingCellsError(f"{gaps.sources}: ", *why, *hints, *_report(gaps), gaps.hint)
    if gaps.outline is not None:
        error.missing = {
            model: dict(zip(ERROR_KINDS, of_model.tolist(), strict=True))
            for model, of_model in zip(gaps.names[1], gaps.outline.by_kind.sum(axis=1).T, strict=True)
            if of_model.any()
        }
    error.remedy = None if apart else _remedy(gaps)
    return error


def why_not_covered(plan: Plan) -> tuple[Part, ...]:
    """Why a plan cannot be followed; nothing if it can."""
    gaps, policy = plan.outline.gaps, plan.policy
    given = Argument("incomplete", str(policy))
    scoreless = np.flatnonzero(~plan.outline.scored.any(axis=0))
    if len(scoreless):
        return (
            f"{counted(len(scoreless), 'model')} without any score, first {quoted(gaps.names[1][scoreless[0]])}, about "
            "which nothing can be said, and ",
            given,
            " does not leave models out.\n",
        )
    if plan.stops is not None and not gaps.ordered:
        return (
            given,
            ": the replicates are named by seeds, which have no order, so that no run comes after another; number the "
            "runs of every model in the order in which they were made, in a column named replicate.\n",
        )
    left = plan.counts("refuse")
    if not left.any():
        return ()
    stops = f" stops {plan.stops_in_words()}, but" if plan.stopped.any() else ""
    kinds = kinds_in_words(left)
    return (
        given,
        f"{stops} does not cover {counted(int(left.sum()), 'missing score')}{f' ({kinds})' if kinds else ''}. ",
        Argument("incomplete", str(policy.with_worst_case())),
        " would count each of them against whichever model it could help.\n",
    )


def too_large(gaps: MissingCells, policy: IncompletePolicy) -> tuple[Part, ...]:
    """Why missing scores are not kept where nearly all are missing."""
    return (
        Argument("incomplete", str(policy)),
        f" would lay out all {prod(gaps.shape):,} cells, nearly all of them without a score, which is too large; check "
        "that ",
        Argument("column"),
        " names the right columns, or drop.\n",
    )


def _drops(gaps: MissingCells) -> dict[str, Kept]:
    return {f"drop-{PLURALS[axis]}": gaps.without_holes(axis) for axis in _AXES_SHOWN}


def _remedy(gaps: MissingCells) -> str | None:
    """The first policy of those that keep everything that can be followed, else the one that keeps most cells."""
    if gaps.outline is not None and prod(gaps.shape) <= LAID_OUT:
        for text in ("stopped", "stopped,worst-case", "worst-case"):
            plan = gaps.outline.plan(IncompletePolicy.of(text))
            if not why_not_covered(plan) and (plan.stopped.any() or not plan.policy.stopped):
                return text
    cells, best = max(((size(kept), policy) for policy, kept in _drops(gaps).items()), key=itemgetter(0))
    return best if cells else None


def _report(gaps: MissingCells) -> list[Part]:
    """What is missing and what can be done."""
    cells = prod(gaps.shape)
    replicates, models, items = gaps.shape
    where = "; ".join(_worst(gaps, axis) for axis in _AXES_SHOWN)
    kinds = kinds_in_words(gaps.outline.by_kind.sum(axis=1)) if gaps.outline is not None else ""
    by_kind = f"By kind of error: {kinds}.\n" if kinds else ""
    examples = "; ".join(
        f"model {quoted(gaps.names[1][m])}, item {quoted(gaps.names[2][i])}, replicate {quoted(gaps.names[0][r])}"
        for r, m, i in gaps.examples()
    )
    keeping = _keeping(gaps.outline) if gaps.outline is not None and cells <= LAID_OUT else []
    return [
        f"{gaps.missing} of {cells} cells ({100 * gaps.missing / cells:.3g}%) have no score, but the panels of "
        f"{models} models x {items} items x {replicates} replicates must be complete.\n"
        f"Most missing: {where}.\n{by_kind}"
        f"For example: {examples}.\n"
        "Complete the runs",
        *((", or say what the missing scores count as: ", *keeping) if keeping else ()),
        ".\nOr drop, which changes what is measured: ",
        *_dropping(gaps),
        ".\nDecide without looking at the scores; dropping items changes the benchmark that the claims are about. A "
        "missing score is never counted as zero unless you declare that it is a failure.",
    ]


def _keeping(outline: Outline) -> list[Part]:
    """What the policies that drop nothing would make of the missing scores."""
    worst = outline.plan(IncompletePolicy.of("worst-case"))
    if why_not_covered(worst):
        return []
    empty = int((~worst.exists).sum())
    but = f" but {counted(empty, 'replicate')} without any score" if empty else ""
    against = f": {_against(worst)}" if worst.counts("worst-case").any() else ""
    offers: list[Part] = [Argument("incomplete", "worst-case"), f" keeps everything{but}{against}"]
    stopped = outline.plan(IncompletePolicy.of("stopped"))
    if stopped.stopped.any() and outline.gaps.ordered:
        policy = IncompletePolicy.of("stopped" if not stopped.counts("refuse").any() else "stopped,worst-case")
        plan = outline.plan(policy)
        rest = f", and {_against(plan)}" if plan.counts("worst-case").any() else ""
        offers += ["; ", Argument("incomplete", str(policy)), f" stops {plan.stops_in_words(_MOST_STOPS)}{rest}"]
    return [*offers, "; ", Argument("incomplete", "zero"), " keeps everything: a missing score is a failure"]


def _against(plan: Plan) -> str:
    counts = plan.counts("worst-case").sum(axis=0)
    many = int(counts.sum()) != 1
    return (
        f"{counted(int(counts.sum()), 'missing score')} of {counted(int((counts > 0).sum()), 'model')} "
        f"{'count' if many else 'counts'} against whichever model {'they' if many else 'it'} could help"
    )


def _dropping(gaps: MissingCells) -> list[Part]:
    """What the policies that drop would keep."""
    policies, mix = _drops(gaps), gaps.greedy()
    offers: list[Part] = []
    for policy, kept in policies.items():
        offers += ["; " if offers else "", Argument("incomplete", policy), f" would keep {kept_in_words(kept)}"]
    best = max(policies, key=lambda policy: size(policies[policy]))
    largest = "No way of dropping leaves two models with a complete panel"
    if mix is not None and size(mix) > size(policies[best]):
        largest = (
            f"The largest complete panel found is a mix of these, which keeps {kept_in_words(mix)}, "
            f"if you leave out {dropped(gaps, mix)}"
        )
    elif size(policies[best]):
        largest = f"{best} leaves the largest complete panel found"
    return [*offers, f". {largest}"]


def _worst(gaps: MissingCells, axis: Axis, most: int = 3) -> str:
    counts, of = gaps.counts[axis], prod(gaps.shape) // gaps.shape[axis]
    order = [place for place in np.argsort(-counts, kind="stable")[:most] if counts[place]]
    names = ", ".join(f"{quoted(gaps.names[axis][place])} ({counts[place]} of {of})" for place in order)
    return f"{int((counts > 0).sum())} of {gaps.shape[axis]} {PLURALS[axis]}, first {names}"
