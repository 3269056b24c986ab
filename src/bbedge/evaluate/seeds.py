"""Seeds and orders that belong to one study, one model, one replicate and one sample, and to nothing else.

Everything is derived from one root by hashing, so that it is the same after a crash and on every machine, and no two
samples share a seed by design (31 bits: two of a hundred thousand may collide by chance, which does no harm).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

_BITS = 31  # what every provider accepts: a positive signed 32-bit integer


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """Where the seeds of a study come from.

    >>> seeds = Seeds.of("design hash", 1)
    >>> seeds.seed(model="a", sample="q1", replicate=1) == seeds.seed(model="a", sample="q1", replicate=1)
    True
    >>> seeds.seed(model="a", sample="q1", replicate=1) == seeds.seed(model="a", sample="q1", replicate=2)
    False
    """

    root: str
    """A hash of the design and all that makes this study another than the next one, in hexadecimal."""

    @classmethod
    def of(cls, *parts: object) -> Seeds:
        """Seeds that depend on every part."""
        return cls(root=_digest(parts).hex())

    def seed(self, *, model: str, sample: str, replicate: int, call: int = 0) -> int:
        """The seed of one call to a model; ``call`` counts the calls of a sample from 0."""
        digest = _digest(("seed", self.root, model, sample, replicate, call))
        return int.from_bytes(digest[:8], "big") >> (64 - _BITS)

    def shuffled(self, blocks: Sequence[str], *, model: str, replicate: int) -> list[str]:
        """The distinct blocks in the order in which a model meets them in a replicate."""
        distinct = dict.fromkeys(blocks)
        return sorted(distinct, key=lambda block: _digest(("order", self.root, model, replicate, block)))


def _digest(parts: Sequence[object]) -> bytes:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), ensure_ascii=True).encode("ascii")).digest()
