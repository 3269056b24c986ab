"""What a leaderboard says of every pair of models, as arrays: compact where a JSON document would not be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import write_archive
from bbedge.core.leaderboard import Leaderboard
from bbedge.files import replacing


def pair_arrays(leaderboard: Leaderboard) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays by name, each made when it is asked for, so that one of them is held at a time.

    Rows and columns are in the order of the leaderboard, which is that of ``models`` in the JSON document. ``log_e``
    and ``margins`` are as there, NaN where nothing is tested; ``edges`` is the graph of the last look, ``above`` what
    follows from it; ``first_certified`` is the replicate at which a direction was first certified, 0 if it never was;
    ``standing_above`` is what follows from everything that was ever certified.
    """
    order = np.array(leaderboard.order())
    window = np.ix_(order, order)
    low, high = leaderboard.design.score_range
    yield "models", np.array([leaderboard.design.models[i] for i in order.tolist()])
    yield "log_e", leaderboard.log_e[window]
    yield "margins", leaderboard.lower_bounds[window] * (high - low)
    yield "edges", leaderboard.current.edges[window]
    yield "above", leaderboard.current.above[window]
    yield "first_certified", leaderboard.first_certified[window].astype(np.int32)
    yield "standing_above", leaderboard.standing.above[window]


def write_arrays(path: Path, arrays: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Write arrays, one after the other, to a file that ``numpy.load`` reads; whole or not at all."""
    with replacing(path) as file:
        write_archive(file, arrays)
