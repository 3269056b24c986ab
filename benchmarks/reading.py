"""What it costs to read a long table: seconds and peak memory, next to a matrix product of the same size.

One look at L models on N items takes one product of an L x N matrix with its transpose for the bernstein evidence, and
four for the sharp one. The product that is timed is A @ A.T, which is symmetric, so that NumPy does half of the work
of a product of two different matrices.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

FULL = (5041, 12032, 1)
"""Models, items and replicates of a very large leaderboard: 60,653,312 rows."""
DEFAULT = (2000, 6000, 1)
_ROWS = 1 << 20
ROOT = Path(__file__).resolve().parents[1]

# In a process of its own, so that the peak is that of reading alone. The product comes last.
_READ = """
import sys, time
import numpy as np
from bbedge.readers import read_scores
from benchmarks.memory import peak_bytes
start, cpu = time.perf_counter(), time.process_time()
scores = read_scores(sys.argv[1])
print(time.perf_counter() - start, time.process_time() - cpu, peak_bytes(), *scores.values.shape)
panel = np.array(scores.values[0])
best = best_cpu = np.inf
for _ in range(2):
    start, cpu = time.perf_counter(), time.process_time()
    panel @ panel.T
    best, best_cpu = min(best, time.perf_counter() - start), min(best_cpu, time.process_time() - cpu)
print(best, best_cpu)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The cost of reading one table."""

    models: int
    items: int
    replicates: int
    file_bytes: int
    seconds: float
    """Wall-clock time of `read_scores`, polars' import included."""
    cpu_seconds: float
    """The same on all cores together."""
    peak_bytes: int
    """The most memory that the process held, everything included."""
    product_seconds: float
    """One product of a models x items matrix of float64 with its transpose, on all cores, the better of two."""
    product_cpu_seconds: float
    """The same on all cores together."""

    @property
    def rows(self) -> int:
        return self.models * self.items * self.replicates

    @property
    def peak_over_scores(self) -> float:
        """Peak memory as a multiple of the scores in float64."""
        return self.peak_bytes / (8 * self.rows)

    @property
    def products(self) -> float:
        """Reading time of one replicate, in matrix products."""
        return self.seconds / self.replicates / self.product_seconds

    @property
    def cpu_products(self) -> float:
        """The same in CPU time, which says more where the machine is busy with something else."""
        return self.cpu_seconds / self.replicates / self.product_cpu_seconds


def make_table(
    path: Path, models: int, items: int, replicates: int, order: Literal["sorted", "shuffled"] = "shuffled"
) -> None:
    """Write a table of binary scores with names as they are in use, some rows at a time."""
    rng = np.random.default_rng(0)
    cells = models * items * replicates
    shuffled = rng.permutation(cells) if order == "shuffled" else None
    names = pl.Series([f"lab-{m % 97}/model-{m:05d}-instruct" for m in range(models)])
    questions = pl.Series([f"benchmark/question-{i:05d}" for i in range(items)])
    blocks = pl.Series([f"topic-{i // 6:05d}" for i in range(items)])

    def part(first: int) -> pl.DataFrame:
        last = min(first + _ROWS, cells)
        cell = np.arange(first, last) if shuffled is None else shuffled[first:last]
        item = cell % items
        return pl.DataFrame(
            {
                "model": names.gather(cell // items % models),
                "item": questions.gather(item),
                "block": blocks.gather(item),
                "replicate": cell // (items * models) + 1,
                "score": (rng.random(len(cell)) < 0.5).astype(np.float64),
            }
        )

    def parts(*_: object) -> Iterator[pl.DataFrame]:
        return (part(first) for first in range(0, cells, _ROWS))

    register_io_source(parts, schema=part(0).schema).sink_parquet(path, row_group_size=_ROWS)


def measure(
    models: int, items: int, replicates: int = 1, *, order: Literal["sorted", "shuffled"] = "shuffled"
) -> Reading:
    """Make a table in a temporary folder, and read it in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        make_table(path, models, items, replicates, order)
        done = subprocess.run(
            [sys.executable, "-c", _READ, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        seconds, cpu, peak, *shape, product, product_cpu = done.stdout.split()
        if list(map(int, shape)) != [replicates, models, items]:
            raise RuntimeError(f"read panels of shape {shape}, wrote {replicates} x {models} x {items}")
        return Reading(
            models=models,
            items=items,
            replicates=replicates,
            file_bytes=path.stat().st_size,
            seconds=float(seconds),
            cpu_seconds=float(cpu),
            peak_bytes=int(peak),
            product_seconds=float(product),
            product_cpu_seconds=float(product_cpu),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=DEFAULT[0])
    parser.add_argument("--items", type=int, default=DEFAULT[1])
    parser.add_argument("--replicates", type=int, default=DEFAULT[2])
    parser.add_argument("--order", choices=["sorted", "shuffled", "both"], default="both")
    parser.add_argument("--full", action="store_true", help="5,041 models x 12,032 items, 60 million rows")
    given = parser.parse_args()
    size = FULL if given.full else (given.models, given.items, given.replicates)
    print("Reading a Parquet table with a row per score")
    for order in ["sorted", "shuffled"] if given.order == "both" else [given.order]:
        found = measure(*size, order=order)
        print(
            f"{order:8}  {found.models:,} models x {found.items:,} items x {found.replicates:,} replicates, "
            f"{found.rows:,} rows, {found.file_bytes / 1e6:,.0f} MB on disk\n"
            f"          {found.seconds:.1f} s ({found.cpu_seconds:.1f} s of CPU), "
            f"{found.rows / found.seconds / 1e6:.2f} million rows/s\n"
            f"          peak memory {found.peak_bytes / 1e9:.2f} GB, {found.peak_over_scores:.2f} times the scores in "
            f"float64 (at most 3 are allowed where they are large)\n"
            f"          a replicate is read in the time of {found.products:.2f} products A @ A.T, A of "
            f"{found.models:,} x {found.items:,}, each {found.product_seconds:.2f} s; "
            f"in CPU time, of {found.cpu_products:.2f}"
        )


if __name__ == "__main__":
    main()
