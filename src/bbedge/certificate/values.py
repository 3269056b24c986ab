"""The types of the values in a certificate, and what every record in it is."""

from __future__ import annotations

import sys
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

LARGEST_COUNT = 2**53
"""Whole numbers beyond it are not exact in every program that reads JSON."""
LARGEST = sys.float_info.max

Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
NotNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
Level = Annotated[float, Meta(gt=0, lt=1)]
Share = Annotated[float, Meta(gt=0, le=1)]
Text = Annotated[str, Meta(min_length=1)]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[str, Meta(pattern="^[1-9][0-9]*$")]
Matrix = NDArray[np.float64]
"""Rows and columns in the order of ``models``; null in JSON, NaN here, where a direction is not tested."""
Names = tuple[str, ...]
Pair = tuple[str, str]
Group = Annotated[tuple[str, ...], Meta(min_length=2)]
TopSets = dict[Size, Names | None]


class Record(Struct, frozen=True, eq=False):
    """A JSON object; unknown keys are ignored, so that later versions may add some."""
