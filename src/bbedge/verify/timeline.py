"""Whether what a certificate says of its board's history agrees with itself and with the rest of the certificate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import UNSET, UnsetType

from bbedge.certificate.parts import Parts
from bbedge.records.board import StepRecord

Contradictions = Iterator[tuple[object, str]]
"""What must not be so, and what to say if it is. Each may rely on all before it being in order."""


def history_contradictions(parts: Parts) -> Contradictions:
    """What must not be so of the timeline of a board, of which a view by itself has no look."""
    board = parts.document.board
    if not board or parts.document.view:
        return
    steps, kinds = board.timeline, [step.kind for step in board.timeline]
    in_order = all(a.event < b.event and a.time <= b.time and a.epoch <= b.epoch for a, b in pairwise(steps))
    yield (
        not in_order or kinds[:1] != ["init"] or "init" in kinds[1:] or steps[-1].event > board.events,
        "'timeline' is not the history of a ledger",
    )
    began = [step.epoch for step in steps if step.kind in ("init", "add-items")]
    yield began != list(range(1, board.epochs + 1)), "'timeline' and 'epochs' of the board do not agree"
    stopped = [name for step in steps if step.kind == "retire" for name in step.names or ()]
    yield stopped != list(board.retired), "'timeline' and 'retired' of the board do not agree"
    hidden = [(step.event, step.names) for step in steps if step.kind == "withdraw"]
    yield (
        hidden != [(each.event, (each.model,)) for each in board.withdrawn or ()]
        or len({names for _, names in hidden}) < len(hidden),
        "'timeline' and 'withdrawn' of the board do not agree",
    )
    added = {name for step in steps if step.kind == "add-model" for name in step.names or ()}
    claimed_by = {claim.newcomer: (claim.claim, claim.level) for claim in board.claims if claim.continues is UNSET}
    for each in board.announcements or ():
        yield (
            each.delivered > each.announced
            or (each.model in added) is not (each.delivered > 0)
            or (each.open and each.delivered > 0)
            or claimed_by.get(each.model, (each.claim, each.level)) != (each.claim, each.level),
            f"the announcement of {each.model!a} does not agree with the models and claims of the board",
        )
    shown = [step for step in steps if step.epoch == board.epoch]
    named = [name for step in shown if step.kind not in ("retire", "withdraw") for name in step.names or ()]
    yield sorted(named) != sorted(parts.names), "'timeline' and 'models' do not have the same names"
    joined = [step.names for step in shown if step.kind == "add-model"]
    claimed = [(claim.newcomer,) for claim in parts.claims if claim.newcomer is not None and claim.continues is UNSET]
    yield joined != claimed, "'timeline' and 'claims' of the board do not agree on the models that were added"
    yield from _looks(parts, shown, kept=max((step.kept or 0 for step in shown), default=0))
    if any(step.ranks for step in shown):
        yield from _ranks(parts, shown)


def _looks(parts: Parts, steps: Sequence[StepRecord], *, kept: int) -> Contradictions:
    """What stands only grows, ends with what the certificate counts, and was looked at when the certificate says so.

    ``kept`` is what stands from before items were added.
    """
    counts = parts.document.counts
    resolved = 0 if parts.document.looks or parts.document.parts else counts.resolved_pairs
    looks = [step for step in steps if step.edges is not UNSET]
    yield (
        any((step.edges is UNSET) != (step.resolved_pairs is UNSET) for step in steps)
        or any(step.kind not in ("replicate", "add-model") for step in looks)
        or any(before.edges > now.edges for before, now in pairwise(looks))  # type: ignore[operator]
        or any(look.edges < kept for look in looks)  # type: ignore[operator]
        or (looks[-1].edges if looks else kept) != counts.edges
        or (looks[-1].resolved_pairs if looks else resolved) != counts.resolved_pairs,
        "'timeline' does not lead to the 'counts' of edges and pairs",
    )
    complete = [step.run or UNSET for step in steps if step.kind == "replicate" and not step.checkpoint]
    yield complete != list(range(1, parts.document.replicates + 1)), "'timeline' and 'replicates' do not agree"
    run, found = 0, list[tuple[int, int | UnsetType, object, object]]()
    for step in looks:
        run = run if step.checkpoint else step.run or run
        found.append((run, step.checkpoint, step.edges, step.resolved_pairs))
    parted = ((0, part.checkpoint, part.edges, part.resolved_pairs) for part in parts.document.parts or ())
    whole = ((look.replicate, UNSET, look.edges, look.resolved_pairs) for look in parts.document.looks)
    for of_kind in (parted, whole):
        rest = iter(found)
        yield not all(look in rest for look in of_kind), "'timeline' does not have the looks of the certificate"


def _ranks(parts: Parts, steps: Sequence[StepRecord]) -> Contradictions:
    """The changes of ranks end with those of the certificate, and each decides as many pairs as its look says."""
    ranks = dict[str, tuple[int, int]]()
    for step in steps:
        ranks.update(step.ranks or {})
        decided = sum(len(ranks) - worst for _, worst in ranks.values())
        wrong = step.resolved_pairs is not UNSET and step.resolved_pairs != decided
        yield wrong, f"the ranks of 'timeline' after event {step.event} do not decide as many pairs as it says"
    stated = dict(zip(parts.names, parts.ranks.rank_intervals, strict=True))
    yield ranks != stated, "the ranks of 'timeline' do not lead to those of 'models'"
