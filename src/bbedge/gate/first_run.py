"""The first run in parts: what a study has looked at inside it, for a gate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoint, Checkpoints, planned_pass
from bbedge.core.scores import Scores
from bbedge.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstRun:
    """The looks inside the first run.

    **Needs:** the blocks were run in the order of the seed, which was drawn at random before the first request.
    """

    checkpoints: Checkpoints
    """The checkpoints and the order of the blocks, as the study has frozen them."""
    parts: tuple[NDArray[np.float64], ...]
    """What came with each checkpoint that was passed: models x items, new items only, in the order of the run."""

    @classmethod
    def of_complete(cls, checkpoints: Checkpoints, scores: Scores) -> FirstRun:
        """The first of complete runs, divided at its checkpoints."""
        plan = planned_pass(scores.items, scores.blocks, checkpoints)
        parts = (scores.values[0][:, plan.new_places(each.number)] for each in plan.checkpoints)
        return cls(checkpoints=checkpoints, parts=tuple(parts))

    def passed(self, scores: Scores) -> tuple[Checkpoint, ...]:
        """The checkpoints that were passed; parts that do not fit the models and items of the scores are refused."""
        plan = planned_pass(scores.items, scores.blocks, self.checkpoints)
        shapes = [(len(scores.models), len(plan.new_places(each.number))) for each in plan.checkpoints]
        if [part.shape for part in self.parts] != shapes[: len(self.parts)]:
            raise DataError("the parts of the first run do not fit its checkpoints, models and items")
        return plan.checkpoints[: len(self.parts)]

    def completed(self, scores: Scores) -> FirstRun:
        """The same first run once the scores have it whole, with every checkpoint passed; itself before that.

        A first run that differs from the parts that were seen of it is refused.
        """
        if not len(scores.values):
            return self
        whole = FirstRun.of_complete(self.checkpoints, scores)
        for seen, now in zip(self.parts, whole.parts, strict=False):
            if not np.array_equal(seen, now, equal_nan=True):
                raise DataError(
                    "the first run differs from the parts of it that were seen; give the scores of that run"
                )
        return whole
