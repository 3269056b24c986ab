"""Types of single values in records: bounded numbers, names, digests, and words that several rooms know."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from msgspec import Meta, Struct

LARGEST = sys.float_info.max
LARGEST_COUNT = 2**53
"""Whole numbers beyond it are not exact in every program that reads JSON."""
LARGEST_STORED = 2**31 - 1
"""The largest whole number of an event: what an integer column of PostgreSQL holds."""

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Stored = Annotated[int, Meta(ge=0, le=LARGEST_STORED)]
Ordinal = Annotated[int, Meta(ge=1, le=LARGEST_STORED)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1)]
# Bounded as well, because the end of a pattern also matches before a line break.
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]

EvidenceKind = Literal["bernstein", "hoeffding", "sharp", "betting"]
"""How a block's outcome is turned into evidence."""
Copies = Literal["refuse", "allow"]
"""Whether replicates that repeat earlier ones score by score stop the work, or count."""
Gaps = Literal["refuse", "worst-case"]
"""What a missing score does: it stops the work, or counts against whichever model it could help."""

HEADLINE = "headline"
"""How the main view is called among shares; no other view may have this name."""
MOST_SHARES = 100_000
"""The most claims that share an error budget equally."""


class Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object or a TOML table in which every key is known."""
