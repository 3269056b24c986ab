"""The leaderboard of a certificate computed again from scores, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.core.checkpoint_evidence import plan_of
from bbedge.core.checkpoints import Checkpoints, PassPlan
from bbedge.core.conclusions import GapCount
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier, Leaderboard, certify_design, pilot_design
from bbedge.core.scores import DesignOptions, Scores
from bbedge.core.stakes import Stakes
from bbedge.core.views import HEADLINE, SuiteOptions, suite_options
from bbedge.errors import Argument, Blank, DesignError
from bbedge.records.certificate import Document


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The scores between two looks."""

    replicate: int
    """The place of the replicate in the table, from 0."""
    checkpoint: int
    """The number of the checkpoint that the first replicate comes to; 0 if the replicate is complete after the step."""
    rows: NDArray[np.intp]
    """The models that ran."""
    new: NDArray[np.intp]
    """The places of the items that they ran, in their order."""


def has_steps(document: Document) -> bool:
    """Whether a certificate was looked at inside its first run."""
    return bool(document.design.checkpoints) and (bool(document.parts) or not document.replicates)


def steps(document: Document, values: NDArray[np.float64], plan: PassPlan) -> tuple[Step, ...]:
    """The steps that these replicates of models x items were run in, NaN where there is no score.

    What nothing was concluded from is left out: what was run after the last look at a first run that is not complete.
    A step that no model ran does not exist.
    """
    looks = min(len(document.parts or ()), len(plan.checkpoints))  # a changed certificate may state more
    there = ~np.isnan(values)
    made = [(0, number, plan.new_places(number)) for number in range(1, looks + 1)]
    if document.replicates:
        made.append((0, 0, plan.order[len(plan.places(looks)) :]))
        made += [(replicate, 0, np.arange(there.shape[2])) for replicate in range(1, len(there))]
    running = np.zeros(there.shape[1], dtype=np.bool_)
    found: list[Step] = []
    for replicate, checkpoint, new in reversed(made):
        running = running | there[replicate][:, new].any(axis=1)
        if running.any():
            found.append(Step(replicate=replicate, checkpoint=checkpoint, rows=np.flatnonzero(running), new=new))
    return tuple(reversed(found))


def missing_scores(values: NDArray[np.float64], made: tuple[Step, ...]) -> tuple[int, ...]:
    """How many scores each model lacks in the steps that it ran."""
    counts = np.zeros(values.shape[1], dtype=np.int64)
    for step in made:
        counts[step.rows] += np.isnan(values[step.replicate][np.ix_(step.rows, step.new)]).sum(axis=1)
    return tuple(counts.tolist())


def stated_gaps(document: Document, scores: Scores) -> Scores:
    """The scores with the rule for missing scores of the certificate: without scores is also what was not run."""
    return replace(scores, gaps=document.design.gaps or "refuse", stops=None)


def with_items(
    scores: Scores, items: Sequence[str], blocks: Sequence[str] | None, columns: Mapping[str, Sequence[str]]
) -> Scores:
    """The scores with all of these items: what was not run yet has a place and no score.

    ``blocks`` are those of the items, where they are known, and ``columns`` what else is known of them; the columns
    that the scores have are kept.
    """
    known = set(scores.items)
    added = [place for place, item in enumerate(items) if item not in known]
    if not added:
        return scores
    new = tuple(items[place] for place in added)
    block_of = dict(zip(items, items if blocks is None else blocks, strict=True))
    own = dict(zip(scores.items, scores.blocks, strict=True)) if blocks is None else {}
    every = (*scores.items, *new)
    nothing = np.full((*scores.values.shape[:2], len(new)), np.nan)
    return replace(
        scores,
        items=every,
        blocks=tuple(own.get(item, block_of.get(item, item)) for item in every),
        values=np.concatenate([scores.values, nothing], axis=2),
        columns={name: (*texts, *(columns[name][place] for place in added)) for name, texts in scores.columns.items()},
        notes=tuple(note for note in scores.notes if set(note.subject) != set(new)),
        gaps="worst-case",
        seen=None,
    )


def needs_suite(document: Document) -> bool:
    """Whether the design weighs items or has views: by columns of the scores that the certificate does not name."""
    return bool(document.design.weights or document.views)


def stated_suite(document: Document, scores: Scores) -> SuiteOptions:
    """The weights and views that follow from the columns that a certificate names; nothing if it names none."""
    reading = (document.provenance and document.provenance.reading) or None
    if reading is None or not needs_suite(document) or not any(reading.suite.values()):
        return {}
    return suite_options(scores, **reading.suite)


def check_given(document: Document, scores: Scores, suite: SuiteOptions) -> None:
    """Raise if something must be given that neither the certificate nor the scores say."""
    if needs_suite(document) and not suite:
        what = "weighs items" if document.design.weights else "has views besides the headline"
        raise DesignError(
            f"the certificate {what}, by a column of the scores or of a list of items that it does not name; pass ",
            Argument("macro", Blank("COLUMN")),
            ", ",
            Argument("weights", Blank("COLUMN")),
            " or ",
            Argument("views", Blank("COLUMN")),
            " as they were given when it was made",
        )
    check_items(document, scores)


def check_items(document: Document, scores: Scores) -> None:
    """Raise if the scores lack items of a first run that is not complete: its order follows from all of them."""
    if not document.replicates and document.design.checkpoints and len(scores.items) < document.items:
        raise DesignError(
            "the first run of the certificate is not complete. The order of its blocks follows from all "
            f"{document.items:,} items, and the scores have {len(scores.items):,}; list all items with ",
            Argument("items", Blank("FILE")),
            ", or give a table that has them all, without scores where nothing was run",
        )


def design_of(document: Document, scores: Scores, suite: SuiteOptions) -> tuple[Scores, Design]:
    """The scores, with the blocks of the certificate as far as it states them, and the design for them.

    ``suite`` has the weights and views, which a certificate sums up but does not list.
    """
    if has_steps(document):
        scores = stated_gaps(document, scores)
    first: tuple[Scores, Design] | None = None
    for fitted in blocked(document, scores):
        made = _design(document, fitted, {**_options(document), **suite, **_shares(document, suite)})
        if made.hash == document.design.hash:
            return fitted, made
        first = first or (fitted, made)
    assert first is not None  # the scores as they are come first
    return first


def rebuilt(document: Document, scores: Scores, design: Design) -> Leaderboard:
    """The leaderboard that follows from the scores under the design."""
    pilot = document.pilot.replicates if document.pilot else None
    if has_steps(document):
        return _in_steps(document, scores, design, pilot)
    return certify_design(scores, design, pilot=pilot)


def _in_steps(document: Document, scores: Scores, design: Design, pilot: int | None) -> Leaderboard:
    """The same with the looks inside the first run that the certificate states."""
    values, certifier = scores.values[pilot or 0 :], Certifier(design)
    made = steps(document, values, plan_of(design))
    for step in made:
        still = {design.models[row] for row in step.rows}
        certifier.stop([model for model in certifier.evidence.active if model not in still])
        panel = values[step.replicate][step.rows]
        if step.checkpoint:
            certifier.update_part(panel[:, step.new])
        else:
            certifier.update(panel)
    gaps = None if design.gaps == "refuse" else GapCount(of_models=missing_scores(values, made))
    origin = replace(scores, blocks=design.blocks).origin
    return replace(certifier.leaderboard(), notes=scores.notes, pilot=pilot, gaps=gaps, origin=origin)


def _design(document: Document, scores: Scores, options: DesignOptions) -> Design:
    pilot = document.pilot
    if pilot is not None:
        return pilot_design(scores, k=pilot.k, pilot=pilot.replicates, **options)
    if document.design.family != "all":
        options["candidate"] = _candidate(document)
    return scores.design(**options)


def _options(document: Document) -> DesignOptions:
    """What the certificate states of its design."""
    design = document.design
    stakes = (
        Stakes(rule="given", values=design.stake_values, weights=design.stake_weights)
        if design.stakes == "given"
        else design.stakes
    )
    return {
        "alpha": design.alpha,
        "tau": design.tau,
        "method": design.method,
        "evidence": design.evidence,
        "prediction": design.prediction,
        "stakes": stakes,
        "copies": design.copies,
        "margin_share": design.margin_share,
        "mean_share": design.mean_share or 0.0,
        "holm": design.holm,
        "planned": design.planned,
        "checkpoints": _checkpoints(document),
    }


def _checkpoints(document: Document) -> Checkpoints | None:
    """Those of the certificate."""
    given = document.design.checkpoints
    if not given:
        return None
    return Checkpoints(
        order_seed=given.order_seed, fractions=given.fractions, weights=given.weights, complete=given.complete
    )


def _shares(document: Document, suite: SuiteOptions) -> DesignOptions:
    """The shares that the certificate states, unless others were given or the views are not the same."""
    views = {view.name: view.share for view in document.views or ()}
    if "shares" in suite or not views or views.keys() != suite.get("views", {}).keys():
        return {}
    return {"shares": {HEADLINE: 1.0 if document.design.share is UNSET else document.design.share, **views}}


def blocked(document: Document, scores: Scores) -> Iterator[Scores]:
    """The scores as they are, then with the blocks that rules make, where the sizes in the certificate fit a rule."""
    yield scores
    blocks = document.design.blocks
    rules: list[Sequence[str]] = []
    if blocks.count == 1:
        rules.append(("one",) * len(scores.items))
    if set(blocks.sizes) == {1}:
        rules.append(scores.items)
    for labels in rules:
        if tuple(labels) != scores.blocks:
            yield replace(scores, blocks=tuple(labels))


def _candidate(document: Document) -> list[str]:
    """The models that were tested against all others, from the evidence."""
    if document.log_e is None:
        raise DesignError(
            "the certificate tests some models against the others, and with so many models it does not list which; it "
            "cannot be computed again from the scores alone"
        )
    tested = ~np.isnan(document.log_e)
    return [model.name for model, row in zip(document.models, tested, strict=True) if row.any()]
