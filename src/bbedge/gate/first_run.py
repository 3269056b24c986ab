"""The first run up to its checkpoints: what a study has looked at inside it, for a gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints, planned_first_run
from bbedge.core.scores import Scores
from bbedge.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstRun:
    """The looks inside the first run.

    **Needs:** the blocks were run in the order of the seed, which was drawn at random before the first request.
    """

    checkpoints: Checkpoints
    """The checkpoints and the order of the blocks, as the study has frozen them."""
    panels: Mapping[int, NDArray[np.float64]]
    """What came with each checkpoint that was passed, by the blocks before it: models x items, new items only, in the
    order of the run."""

    @classmethod
    def of_complete(cls, checkpoints: Checkpoints, scores: Scores) -> FirstRun:
        """The first of complete runs, divided at its checkpoints."""
        plan = planned_first_run(scores.items, scores.blocks, checkpoints)
        panels = {each.blocks: scores.values[0][:, plan.new_places(each.number)] for each in plan.checkpoints}
        return cls(checkpoints=checkpoints, panels=panels)

    def check_panels(self, scores: Scores) -> None:
        """Refuse panels that do not fit the checkpoints, or the models and items of the scores."""
        plan = planned_first_run(scores.items, scores.blocks, self.checkpoints)
        shapes = [(each.blocks, (len(scores.models), len(plan.new_places(each.number)))) for each in plan.checkpoints]
        if [(upto, panel.shape) for upto, panel in self.panels.items()] != shapes[: len(self.panels)]:
            raise DataError("the parts of the first run do not fit its checkpoints, models and items")

    def completed(self, scores: Scores) -> FirstRun:
        """The same first run once the scores have it whole, with every checkpoint passed; itself before that.

        A first run that differs from what was seen of it is refused.
        """
        if not len(scores.values):
            return self
        whole = FirstRun.of_complete(self.checkpoints, scores)
        if not all(np.array_equal(seen, whole.panels[upto], equal_nan=True) for upto, seen in self.panels.items()):
            raise DataError("the first run differs from the parts of it that were seen; give the scores of that run")
        return whole
