"""What to run next: the items up to a checkpoint, the rest of the first pass, or a complete replicate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bbedge.board.state import BoardState
from bbedge.core.checkpoints import Checkpoint

NextKind = Literal["part", "rest", "replicate", "pilot"]
"""The first pass up to its next checkpoint; all that is left of it after the last one; a complete replicate; or one of
the pilot, which is complete too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """What the models have to run before the board can look again."""

    kind: NextKind
    """What it is."""
    epoch: int
    """The version of the benchmark."""
    replicate: int
    """The number of the replicate that it belongs to, from 1; a pilot is numbered by itself."""
    models: tuple[str, ...]
    """The active models, all of which run."""
    items: tuple[str, ...]
    """The items to run, in their order: of a first pass with checkpoints that of the seed."""
    blocks: tuple[str, ...]
    """The block of each item."""
    columns: Mapping[str, tuple[str, ...]]
    """What else the design uses of each item, by the name of the column."""
    checkpoint: Checkpoint | None
    """The checkpoint that the first pass comes to with these items; ``None`` if there is none ahead."""
    checkpoints: int
    """How many checkpoints the first pass has; 0 if the design has none, and during a pilot."""

    @classmethod
    def of(cls, state: BoardState) -> NextRun:
        """What is next on a board."""
        epoch = state.epoch
        plan, inside = epoch.plan, epoch.next_places.tolist()
        places = inside or list(range(len(epoch.items)))
        upcoming = epoch.next_checkpoint
        kind: NextKind = "replicate"
        if state.in_pilot:
            kind = "pilot"
        elif upcoming is not None:
            kind = "part"
        elif inside:
            kind = "rest"
        return cls(
            kind=kind,
            epoch=epoch.number,
            replicate=(epoch.pilots if state.in_pilot else epoch.replicates) + 1,
            models=tuple(state.active),
            items=tuple(epoch.items[place] for place in places),
            blocks=tuple(epoch.blocks[place] for place in places),
            columns={name: tuple(texts[place] for place in places) for name, texts in epoch.columns.items()},
            checkpoint=upcoming,
            checkpoints=0 if plan is None else len(plan.checkpoints),
        )

    @property
    def content(self) -> dict[str, object]:
        """The same as plain values, for programs."""
        at = self.checkpoint
        return {
            "kind": self.kind,
            "epoch": self.epoch,
            "replicate": self.replicate,
            "checkpoint": None
            if at is None
            else {"number": at.number, "blocks": at.blocks, "of_blocks": at.of_blocks, "fraction": at.fraction},
            "checkpoints": self.checkpoints,
            "models": list(self.models),
            "items": list(self.items),
        }
