"""Types of single values in records: bounded numbers, names, digests."""

from __future__ import annotations

import sys
from typing import Annotated

from msgspec import Meta, Struct

LARGEST = sys.float_info.max
LARGEST_COUNT = 2**53
"""Whole numbers beyond it are not exact in every program that reads JSON."""
LARGEST_STORED = 2**31 - 1
"""The largest whole number of an event: what an integer column of PostgreSQL holds."""

NOT_BLANK = r"\S"
"""The pattern of a text that is more than spaces."""

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Stored = Annotated[int, Meta(ge=0, le=LARGEST_STORED)]
Ordinal = Annotated[int, Meta(ge=1, le=LARGEST_STORED)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1)]
Text = Annotated[str, Meta(pattern=NOT_BLANK)]
# Bounded as well, because the end of a pattern also matches before a line break.
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]


class Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object or a TOML table in which every key is known."""
