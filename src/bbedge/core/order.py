"""The order in which the blocks of the first pass are run: drawn from a seed, and never that of a file.

Looks inside a pass are valid because the blocks before a checkpoint are a random subset of all blocks. The order is
therefore a function of the seed and of the benchmark, and of nothing else: each block has a key, the SHA-256 of the
seed, of all blocks and of the block itself, and the blocks are run in the order of their keys. The key names a block by
its items, as the hash of a design does, so that neither the order of rows in a file nor the spelling of a label
matters. A benchmark with one more item has an unrelated order. SHA-256 is the same on every platform and with every
version of Python and NumPy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

ALGORITHM: Final = "sha256-1"
"""What a design's hash calls this order; another algorithm would have another name."""


def run_order(items: Sequence[str], blocks: Sequence[str], seed: int) -> tuple[tuple[int, ...], ...]:
    """The blocks in the order in which they are run, each as the places of its items.

    >>> run_order(["q1", "q2", "q3"], ["x", "x", "y"], seed=1)
    ((2,), (0, 1))
    >>> run_order(["q3", "q2", "q1"], ["b", "a", "a"], seed=1)
    ((0,), (1, 2))
    """
    members: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        members.setdefault(block, []).append(place)
    named = {json.dumps(sorted(items[i] for i in places)): tuple(places) for places in members.values()}
    benchmark = _digest(*sorted(named))
    keys = {_digest(ALGORITHM, str(seed), benchmark, name): places for name, places in named.items()}
    return tuple(keys[key] for key in sorted(keys))


@lru_cache(maxsize=16)  # every view of a design and every look asks for the same order
def item_order(items: tuple[str, ...], blocks: tuple[str, ...], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of all items in the order in which they are run, and how many items the first n blocks have."""
    order = run_order(items, blocks, seed)
    places = np.array([place for block in order for place in block], dtype=np.intp)
    counts = np.cumsum([0, *(len(block) for block in order)]).astype(np.intp)
    places.flags.writeable = counts.flags.writeable = False
    return places, counts


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
