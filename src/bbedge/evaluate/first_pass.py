"""The first pass in parts: when a study looks inside it, and which samples each part has.

The board draws the order of the blocks before the first request, and it is the same for all models. A part is what lies
between two checkpoints of that order; the order of a file is never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bbedge.board import Board, BoardDesign
from bbedge.board.epoch import Epoch
from bbedge.board.passes import CheckpointRule
from bbedge.core.checkpoints import LEAST_BLOCKS, Checkpoint
from bbedge.errors import DesignError, EvaluationError
from bbedge.evaluate.engine import Benchmark, Job, Sample
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.text import shown_path

_REMEDIES = {
    "command": ", or let the command read the items to run from {items}",
    "lm_eval": ", or install a newer version of lm_eval, which can be run on chosen documents",
}


def asks_for_looks(study: EvaluationSpec, benchmark: Benchmark) -> bool:
    """Whether a new board of the study has checkpoints, as far as the engine can stop at them."""
    design = study.design
    if "checkpoints" not in study.left_out:
        return design.checkpoints is not None
    return design.method == "bb-edge-x" and design.family == "all" and len(set(benchmark.blocks)) >= LEAST_BLOCKS


def can_stop_inside(benchmark: Benchmark) -> bool:
    """Whether the engine can run the benchmark block by block: no sample that is run as a whole has several blocks."""
    return all(sample.is_divisible or len(set(sample.blocks)) == 1 for sample in benchmark.samples)


def frozen_design(study: EvaluationSpec, benchmark: Benchmark) -> BoardDesign:
    """The design that a new board of the study freezes."""
    design = study.design
    if not asks_for_looks(study, benchmark):
        return design
    if can_stop_inside(benchmark):
        return design if design.checkpoints is not None else replace(design, checkpoints=CheckpointRule())
    if design.checkpoints is None:
        return design
    raise DesignError(
        f"{shown_path(study.path)}: checkpoints: the engine {study.engine} runs the whole benchmark in one call here, "
        "so that there is nothing to look at inside a pass; leave out checkpoints" + _REMEDIES.get(study.engine, "")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The first pass from one checkpoint to the next."""

    checkpoint: Checkpoint | None
    """The checkpoint at its end; ``None`` at the end of the pass."""
    samples: tuple[Sample, ...]
    """Its samples, in the order in which they are run."""

    def jobs(self, study: EvaluationSpec, active: Sequence[str]) -> list[Job]:
        """Every sample of the part for each of the models, in the same order."""
        models = [model for model in study.models if model.name in active]
        return [Job(model=model, sample=sample) for model in models for sample in self.samples]


class FirstPass:
    """The first pass of a study whose board is open; without checkpoints it has no parts."""

    def __init__(self, benchmark: Benchmark, board: Board) -> None:
        self._benchmark, self._board = benchmark, board
        self._parts: tuple[Part, ...] | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its parts; none before a pilot is complete."""
        if self._board.state.in_pilot:
            return ()
        if self._parts is None:
            self._parts = parts_of(self._benchmark, self._board.state.epoch)
        return self._parts

    @property
    def place(self) -> int | None:
        """The number of the replicate that is run in parts; ``None`` if there is none."""
        return self._board.state.epoch.pilots + 1 if self.parts else None

    @property
    def next_part(self) -> Part | None:
        """The part that is run next; ``None`` if a whole replicate is."""
        epoch = self._board.state.epoch
        return self.parts[len(epoch.parts)] if self.parts and not epoch.replicates else None

    def samples_of(self, place: int) -> tuple[Sample, ...]:
        """The samples of a replicate, in the order of the benchmark: answers of two replicates are compared in it."""
        if place != self.place:
            return self._benchmark.samples
        number = {item: row for row, sample in enumerate(self._benchmark.samples) for item in sample.items}
        samples = (sample for part in self.parts for sample in part.samples)
        return tuple(sorted(samples, key=lambda sample: number[sample.items[0]]))


def parts_of(benchmark: Benchmark, epoch: Epoch) -> tuple[Part, ...]:
    """The parts of the first pass; none if the board has no checkpoints."""
    plan = epoch.plan
    if plan is None:
        return ()
    if not can_stop_inside(benchmark):
        raise EvaluationError(
            "the design of the board has checkpoints, but the engine runs the whole benchmark in one call; make a "
            "board without checkpoints"
        )
    ends = [0, *(checkpoint.items for checkpoint in plan.checkpoints), len(plan.order)]
    sample_of = {item: sample for sample in benchmark.samples for item in sample.items}
    parts = []
    for number, checkpoint in enumerate((*plan.checkpoints, None), start=1):
        by_sample: dict[str, list[str]] = {}
        for place in plan.order[ends[number - 1] : ends[number]]:
            item = epoch.items[place]
            by_sample.setdefault(sample_of[item].name, []).append(item)
        samples = (
            _whole_or_part(sample_of[items[0]], items, number=number, of=len(ends) - 1) for items in by_sample.values()
        )
        parts.append(Part(checkpoint=checkpoint, samples=tuple(samples)))
    return tuple(parts)


def _whole_or_part(sample: Sample, items: list[str], *, number: int, of: int) -> Sample:
    if len(items) == len(sample.items):
        return sample
    return sample.part(items, name=f"{sample.name}, part {number} of {of}")
