"""Cost of every method for one repetition (10 models, 100 items, 100 replicates), as a ratio to BB-EDGE's own.

.venv/bin/python -m benchmarks.baselines
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines import METHODS, Method
from bbedge.core.design import Design
from bbedge.study.synthetic import SyntheticBenchmark
from benchmarks.rows import Row, plain
from benchmarks.timing import interleaved, seconds_text

OURS = "BB-EDGE"
COSTLY = ("SERPANT", "CBTL")


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each method."""
    replicates, times = (10, 2) if quick else (100, 7)
    benchmark = SyntheticBenchmark(heterogeneity=0.2)
    panels = np.stack(list(benchmark.panels(np.random.default_rng(1), replicates)))
    design = benchmark.design(method="bb-edge")
    took = interleaved({name: partial(_once, method, design, panels) for name, method in METHODS.items()}, times)
    ours = took[OURS].least
    return [
        Row(
            target=f"{name} against {OURS}, 10 models x 100 items x {replicates} replicates",
            measured=each.least / ours,
            limit=20.0 if name in COSTLY else 2.0,
            sides=f"{name} {seconds_text(each.least)}, {OURS} {seconds_text(ours)} (shortest of {times})",
        )
        for name, each in took.items()
        if name != OURS
    ]


def _once(method: Method, design: Design, panels: NDArray[np.float64]) -> object:
    return method.run(design, panels, np.random.default_rng(2))


def main() -> None:
    """Print the rows."""
    print(plain(rows()))


if __name__ == "__main__":
    main()
