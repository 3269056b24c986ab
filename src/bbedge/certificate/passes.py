"""What a certificate says of looks inside the first pass."""

from __future__ import annotations

import msgspec

from bbedge.core.checkpoints import ALGORITHM, Checkpoints
from bbedge.core.looks import EarlyRecord
from bbedge.records import certificate as records
from bbedge.records.design import CheckpointsRecord
from bbedge.records.notes import Note


def checkpoints(given: Checkpoints) -> CheckpointsRecord:
    """The looks that a design plans inside the first pass."""
    return CheckpointsRecord(
        fractions=given.fractions,
        weights=given.weights,
        complete=given.complete,
        order=ALGORITHM,
        order_seed=given.order_seed,
    )


def first_pass(early: EarlyRecord | None) -> records.FirstPass | msgspec.UnsetType:
    """How far the first pass has come; absent without checkpoints."""
    if early is None:
        return msgspec.UNSET
    of_blocks = early.checkpoints[0].of_blocks
    seen = early.checkpoints[len(early.looks) - 1] if early.looks else None
    return records.FirstPass(
        complete=early.is_complete,
        checkpoint=seen.number if seen else 0,
        checkpoints=len(early.checkpoints),
        blocks=of_blocks if early.is_complete else seen.blocks if seen else 0,
        of_blocks=of_blocks,
        position=_position(early),
    )


def _position(early: EarlyRecord) -> records.PositionRecord | msgspec.UnsetType:
    trend = early.position
    if trend is None:
        return msgspec.UNSET
    return records.PositionRecord(
        model=trend.model, correlation=trend.correlation, p_value=trend.adjusted, alarm=trend.is_alarm
    )


def notes(early: EarlyRecord | None) -> tuple[Note, ...]:
    """What a reader should know of the looks inside the first pass."""
    trend = None if early is None else early.position
    return (trend.note,) if trend is not None and trend.is_alarm else ()


def parts(early: EarlyRecord | None) -> tuple[records.PartRecord, ...] | msgspec.UnsetType:
    """The looks inside the first pass; absent without checkpoints."""
    if early is None:
        return msgspec.UNSET
    return tuple(
        records.PartRecord(
            checkpoint=checkpoint.number,
            blocks=checkpoint.blocks,
            models=look.models,
            edges=look.edges,
            resolved_pairs=look.resolved_pairs,
        )
        for checkpoint, look in zip(early.checkpoints, early.looks, strict=False)
    )
