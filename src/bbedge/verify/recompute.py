"""What a certificate states, computed again from scores: its leaderboard, or the board that it comes from.

Where a board is not at hand, the certificate has its frozen design, the seed of the order and the models that were
retired; a table of its scores shows when each of these stopped. That is everything that happened, unless models or
items were added. A board is made again from both, in a folder that is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from bbedge.board import Board, BoardDesign
from bbedge.certificate.of_board import board_certificate
from bbedge.core.checkpoint_evidence import plan_of
from bbedge.core.checkpoints import FirstRunPlan
from bbedge.core.conclusions import GapCount
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier, Leaderboard, certify_design, pilot_design
from bbedge.core.scores import DesignOptions, Scores
from bbedge.core.stakes import given_stakes
from bbedge.core.views import HEADLINE, SuiteOptions, suite_options
from bbedge.errors import Argument, Blank, BoardError, DesignError, DomainError
from bbedge.records.board import BoardRecord, StepRecord
from bbedge.records.certificate import Document
from bbedge.records.codec import plain
from bbedge.records.options import declared


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The scores between two looks."""

    replicate: int
    """The place of the replicate in the table, from 0."""
    upto: int | None
    """The blocks before the checkpoint that the first replicate comes to; ``None`` if it is complete after the step."""
    rows: NDArray[np.intp]
    """The models that ran."""
    new: NDArray[np.intp]
    """The places of the items that they ran, in their order."""


def has_steps(document: Document) -> bool:
    """Whether a certificate was looked at inside its first run."""
    return bool(document.design.checkpoints) and (bool(document.parts) or not document.replicates)


def steps(document: Document, values: NDArray[np.float64], plan: FirstRunPlan) -> tuple[Step, ...]:
    """The steps that these replicates of models x items were run in, NaN where there is no score.

    What nothing was concluded from is left out: what was run after the last look at a first run that is not complete.
    A step that no model ran does not exist.
    """
    looks = min(len(document.parts or ()), len(plan.checkpoints))  # a changed certificate may state more
    there = ~np.isnan(values)
    made: list[tuple[int, int | None, NDArray[np.intp]]] = [
        (0, each.blocks, plan.new_places(each.number)) for each in plan.checkpoints[:looks]
    ]
    if document.replicates:
        made.append((0, None, plan.order[len(plan.places(looks)) :]))
        made += [(replicate, None, np.arange(there.shape[2])) for replicate in range(1, len(there))]
    running = np.zeros(there.shape[1], dtype=np.bool_)
    found: list[Step] = []
    for replicate, upto, new in reversed(made):
        running = running | there[replicate][:, new].any(axis=1)
        if running.any():
            found.append(Step(replicate=replicate, upto=upto, rows=np.flatnonzero(running), new=new))
    return tuple(reversed(found))


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
    return bool(document.design.weights or any(not view.target for view in document.views or ()))


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
    if has_steps(document):  # without scores is also what was not run
        scores = replace(scores, gaps=document.design.gaps or "refuse", stops=None)
    first: tuple[Scores, Design] | None = None
    for fitted in block_candidates(document, scores):
        made = _design(document, fitted, {**_options(document), **suite, **_shares(document, suite)})
        if made.hash == document.design.hash:
            return fitted, made
        first = first or (fitted, made)
    assert first is not None  # the scores as they are come first
    return first


def leaderboard_from_scores(document: Document, scores: Scores, design: Design) -> Leaderboard:
    """The leaderboard that follows from the scores under the design, with the looks that the certificate states."""
    pilot = document.pilot.replicates if document.pilot else None
    if not has_steps(document):
        return certify_design(scores, design, pilot=pilot)
    values, certifier = scores.values[pilot or 0 :], Certifier(design)
    missing = np.zeros(len(design.models), dtype=np.int64)
    for step in steps(document, values, plan_of(design)):
        still = {design.models[row] for row in step.rows}
        certifier.stop([model for model in certifier.evidence.active if model not in still])
        panel = values[step.replicate][step.rows]
        missing[step.rows] += np.isnan(panel[:, step.new]).sum(axis=1)
        certifier.update(panel if step.upto is None else panel[:, step.new], step.upto)
    gaps = None if design.gaps == "refuse" else GapCount(of_models=tuple(missing.tolist()))
    return replace(certifier.leaderboard().of_scores(scores), pilot=pilot, gaps=gaps)


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
    options = cast("DesignOptions", declared(design))
    options["checkpoints"] = design.checkpoints or None
    if design.target == "new-items":  # whose evidence predicts nothing
        del options["prediction"]
    if design.stakes == "given":
        options["stakes"], options["grid"] = None, given_stakes(design.stake_values, design.stake_weights)
    return options


def _shares(document: Document, suite: SuiteOptions) -> DesignOptions:
    """The shares that the certificate states, unless others were given or the views are not the same."""
    views = {view.name: view.share for view in document.views or () if not view.target}
    if "shares" in suite or not views or views.keys() != suite.get("views", {}).keys():
        return {}
    return {"shares": {HEADLINE: 1.0 if document.design.share is UNSET else document.design.share, **views}}


def block_candidates(document: Document, scores: Scores) -> Iterator[Scores]:
    """The scores as they are, then with the blocks that rules make, where the sizes in the certificate fit a rule."""
    yield scores
    blocks = document.design.blocks
    rules = ((blocks.count == 1, ("one",) * len(scores.items)), (set(blocks.sizes) == {1}, scores.items))
    for is_fitting, labels in rules:
        if is_fitting and labels != scores.blocks:
            yield replace(scores, blocks=labels)


def _candidate(document: Document) -> list[str]:
    """The models that were tested against all others, from the evidence."""
    if document.log_e is None:
        raise DesignError(
            "the certificate tests some models against the others, and with so many models it does not list which; it "
            "cannot be computed again from the scores alone"
        )
    tested = ~np.isnan(document.log_e)
    return [model.name for model, row in zip(document.models, tested, strict=True) if row.any()]


def board_of(document: Document) -> BoardRecord:
    """What a certificate says of its board, if it can be computed again from a table of scores."""
    record = document.board
    if not record:
        raise ValueError("not the certificate of a board")
    if not record.design.checkpoints:
        raise DomainError("the certificate of a board; give the board, not score files")
    others = (
        ("items were added to", record.epochs > 1),
        ("models were added to", len(record.claims) > 1),
        ("runs were announced for", bool(record.announcements)),
        ("a pilot chose the candidate of", bool(record.design.pilot)),
    )
    for what, is_so in others:
        if is_so:
            raise DomainError(
                f"the certificate of a board, and {what} this board: only its ledger says in which order that was; "
                "give the board, not score files"
            )
    return record


def board_design(document: Document) -> BoardDesign:
    """The design of a certificate's board."""
    return BoardDesign.from_values(plain(board_of(document).design), source="the design of the board")


def design_hashes(document: Document) -> set[str]:
    """The designs of the claims of a certificate's board."""
    return {claim.design_hash for claim in document.board.claims} if document.board else set()


def document_from_table(document: Document, scores: Scores) -> Document:
    """The certificate of a board that was given these scores under the design of the certificate.

    What only a ledger says is as stated: its head, and the order of names.
    """
    record = board_of(document)

    def has_same_design(fitted: Scores) -> bool:
        with _board(document, fitted) as board:
            return {stage.design.hash for stage in board.state.epoch.stages} <= design_hashes(document)

    # The scores with the blocks of the certificate, as far as a rule makes them; as they are, if no rule does.
    candidates = list(block_candidates(document, _in_board_order(document, record, _with_retired(record, scores))))
    fitted = next(filter(has_same_design, candidates), candidates[0])
    with _board(document, fitted) as board:
        plan = plan_of(board.leaderboard(1).design)
        rule = None if board.design.incomplete == "refuse" else board.design.incomplete
        for step in steps(document, fitted.values, plan):
            ran = [fitted.models[row] for row in step.rows]
            _retire(board, [model for model in record.retired if model not in ran])
            board.add(_of_step(fitted, step, plan), upto=step.upto, copies="allow", incomplete=rule)
        _retire(board, record.retired)
        computed = board_certificate(board, 1).content
    assert computed.board  # it comes from one
    orders = {key: (getattr(computed.board, key), getattr(record, key)) for key in ("active", "retired")}
    of_ledger = {
        key: getattr(record, key) for key in ("design_hash", "head", "events", "attempts", "withdrawn", "trust")
    }
    return structs.replace(
        computed,
        design=structs.replace(computed.design, hash=document.design.hash),
        board=structs.replace(
            computed.board,
            **of_ledger,
            timeline=_as_recorded(computed.board.timeline, record.timeline),
            **{key: stated if sorted(found) == sorted(stated) else found for key, (found, stated) in orders.items()},
        ),
    )


def _as_recorded(found: Sequence[StepRecord], stated: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """The computed steps with what only a ledger says: place, time, the order of names, who was withdrawn."""
    steps = iter(found)
    if [step.kind for step in found] != [step.kind for step in stated if step.kind != "withdraw"]:
        return tuple(found)
    return tuple(other if other.kind == "withdraw" else _step_as_recorded(next(steps), other) for other in stated)


def _step_as_recorded(step: StepRecord, stated: StepRecord) -> StepRecord:
    """A computed step with the place and the time of a stated one, and its names in their order."""
    are_same = sorted(stated.names or ()) == sorted(step.names or ())
    names = stated.names if are_same else step.names
    return structs.replace(step, event=stated.event, time=stated.time, names=names)


def _with_retired(record: BoardRecord, scores: Scores) -> Scores:
    """The scores with a row for every retired model: one that never ran is in no file."""
    absent = tuple(model for model in record.retired if model not in scores.models)
    if not absent:
        return scores
    replicates, _, items = scores.values.shape
    values = np.concatenate([scores.values, np.full((replicates, len(absent), items), np.nan)], axis=1)
    return replace(scores, models=(*scores.models, *absent), values=values, seen=None)


def _in_board_order(document: Document, record: BoardRecord, scores: Scores) -> Scores:
    """The scores with the models in an order that the certificate allows: pairs of names in it follow the board's."""
    before: dict[str, set[str]] = {model: set() for model in scores.models}
    chains: list[Sequence[str]] = [record.active]
    for part in (document, *(document.views or ())):
        chains += [*(part.unresolved or ()), *(each.names for each in part.crossed_intervals or ())]
    for first, second in chain.from_iterable(map(pairwise, chains)):
        if first in before and second in before:
            before[second].add(first)
    try:
        order = tuple(TopologicalSorter(before).static_order())
    except CycleError:  # these lists contradict each other: the comparison finds it
        return scores
    rows = [scores.models.index(model) for model in order]
    return replace(scores, models=order, values=scores.values[:, rows], seen=None)


@contextmanager
def _board(document: Document, scores: Scores) -> Iterator[Board]:
    given = document.design.checkpoints
    if not given:
        raise BoardError("the design of the board has checkpoints, and that of the certificate has none")
    with (
        TemporaryDirectory(prefix="bbedge-") as folder,
        Board.create(
            Path(folder) / "board",
            board_design(document),
            models=scores.models,
            items=scores.items,
            blocks=scores.blocks,
            columns=scores.columns,
            order_seed=given.order_seed,
        ) as board,
    ):
        yield board


def _of_step(scores: Scores, step: Step, plan: FirstRunPlan) -> Scores:
    """The scores of a step; of a complete replicate all of them, those that were seen before included."""
    columns = step.new if step.upto or step.replicate else plan.order
    return replace(
        Scores.of(
            scores.values[step.replicate][step.rows][:, columns],
            models=[scores.models[row] for row in step.rows],
            items=[scores.items[place] for place in columns],
        ),
        score_range=scores.score_range,
        gaps="worst-case",
    )


def _retire(board: Board, models: Sequence[str]) -> None:
    for model in models:
        if model in board.state.active:
            board.retire(model)
