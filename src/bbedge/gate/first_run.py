"""The first run in parts: what a study has looked at inside it, for a gate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstRun:
    """The looks inside the first run.

    **Needs:** the blocks were run in the order of the seed, which was drawn at random before the first request.
    """

    checkpoints: Checkpoints
    """The checkpoints and the order of the blocks, as the study has frozen them."""
    parts: tuple[NDArray[np.float64], ...]
    """What came with each checkpoint that was passed: models x items, new items only, in the order of the run."""
