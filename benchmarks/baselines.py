"""Cost of every method for one repetition (10 models, 100 items, 100 replicates), as a ratio to BB-EDGE's own.

.venv/bin/python benchmarks/baselines.py
"""

from __future__ import annotations

import time

import numpy as np

from bbedge.baselines import METHODS
from bbedge.study.synthetic import SyntheticBenchmark

TIMES = 7


def main() -> None:
    benchmark = SyntheticBenchmark(heterogeneity=0.2)
    panels = np.stack(list(benchmark.panels(np.random.default_rng(1), 100)))
    design = benchmark.design()
    best = {}
    for name, method in METHODS.items():
        seconds = []
        for _ in range(TIMES):
            start = time.perf_counter()
            method.run(design, panels, np.random.default_rng(2))
            seconds.append(time.perf_counter() - start)
        best[name] = min(seconds)
    for name, seconds in best.items():
        limit = 20 if name in ("SERPANT", "CBTL") else 2
        ratio = seconds / best["BB-EDGE"]
        print(f"{name:16} {ratio:6.2f} x BB-EDGE  (target {limit}){'' if ratio <= limit else '  ABOVE TARGET'}")


if __name__ == "__main__":
    main()
