"""The core on an accelerator: the same numbers as on the CPU, and how long a leaderboard of thousands takes.

Run ``python benchmarks/gpu.py`` on a machine with PyTorch and a CUDA device.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bbedge.core.arrays import space_on, to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.leaderboard import Certifier
from bbedge.core.paths import closure
from bbedge.records.values import EvidenceKind
from bbedge.study.contenders import KINDS as KIND_OPTIONS
from bbedge.study.experiments.comparison import four
from bbedge.study.monte_carlo import RepetitionChunk, run_on_device
from bbedge.study.study import RepetitionSeeds

KINDS: tuple[EvidenceKind, ...] = ("hoeffding", "bernstein", "sharp", "betting")


def main() -> None:
    """Print the equality of the numbers and the cost of every part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--models", type=int, default=5041)
    parser.add_argument("--items", type=int, default=12032)
    parser.add_argument("--replicates", type=int, default=20)
    chosen = parser.parse_args()
    equality(chosen.device)
    studies(chosen.device)
    for kind in ("sharp", "bernstein"):
        whole(chosen.device, kind, chosen.models, chosen.items, chosen.replicates)
        parts(chosen.device, kind, chosen.models, chosen.items)


def equality(device: str, n_models: int = 200, n_items: int = 3000, replicates: int = 3) -> None:
    """Print the largest difference from the CPU for every kind of evidence."""
    rng = np.random.default_rng(1)
    ability, hardness = np.linspace(0.3, 0.7, n_models)[:, None], rng.normal(0, 0.15, n_items)
    chances = np.clip(ability + hardness, 0.05, 0.95)
    panels = [(rng.random(chances.shape) < chances).astype(np.float64) for _ in range(replicates)]
    blocks = [str(i // (1 + i % 3)) for i in range(n_items)]
    for kind in KINDS:
        for tau in (0.0, 0.02):
            count = 60 if kind == "betting" else n_models
            design = Design.make(
                names("m", count), names("i", n_items), blocks=blocks, method="bb-edge", evidence=kind, tau=tau
            )
            here, there = Certifier(design), Certifier(design, device=device)
            for panel in panels:
                look = here.update(panel[:count]), there.update(panel[:count])
            boards = here.leaderboard(), there.leaderboard()
            apart = float(np.nanmax(np.abs(look[0].log_e - look[1].log_e)))
            bounds = float(np.nanmax(np.abs(boards[0].lower_bounds - boards[1].lower_bounds)))
            same = bool(np.array_equal(look[0].edges, look[1].edges))
            highest = float(np.nanmax(look[0].log_e))
            print(
                f"{kind:10} tau {tau:4}: log_e apart {apart:.1e} of {highest:.0f}, bounds {bounds:.1e}, "
                f"edges equal {same}"
            )


def panels_on(device: str, n_models: int, n_items: int, replicates: int) -> Iterator[Any]:
    """Right and wrong answers, made on the device."""
    import torch

    torch.manual_seed(0)
    ability = torch.linspace(0.2, 0.8, n_models, dtype=torch.float64, device=device)[:, None]
    chances = (ability + 0.15 * torch.randn(n_items, dtype=torch.float64, device=device)).clip(0.02, 0.98)
    for _ in range(replicates):
        yield (torch.rand_like(chances) < chances).double()


def whole(device: str, kind: EvidenceKind, n_models: int, n_items: int, replicates: int) -> None:
    """Print the time of a complete run with a look after each replicate; the scores are on the device before."""
    import torch

    design = Design.make(
        names("m", n_models),
        names("i", n_items),
        method="bb-edge",
        evidence=kind,
        stakes="design" if kind == "sharp" else "paper",
    )
    panels = list(panels_on(device, n_models, n_items, replicates))
    for trial in ("first", "second"):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        certifier = Certifier(design, device=device)
        for panel in panels:
            certifier.update(panel)
        torch.cuda.synchronize()
        looks = time.perf_counter() - start
        margins = certifier.evidence.lower_bounds()
        torch.cuda.synchronize()
        end = time.perf_counter() - start
        ranks = certifier.graph().rank_intervals
        memory = torch.cuda.max_memory_allocated() / 1e9
        print(
            f"{kind} {n_models} x {n_items} x {replicates}, {trial}: {looks:.2f} s with a look after each, margins "
            f"{end - looks:.2f} s, {certifier.edges().sum()} edges, first rank {ranks[-1]}, peak {memory:.1f} GB"
        )
        del certifier, margins


def parts(device: str, kind: EvidenceKind, n_models: int, n_items: int) -> None:
    """Print what a replicate costs, part by part."""
    import torch

    design = Design.make(
        names("m", n_models),
        names("i", n_items),
        method="bb-edge",
        evidence=kind,
        stakes="design" if kind == "sharp" else "paper",
    )
    evidence = Evidence(design, device=device)
    panel, second = panels_on(device, n_models, n_items, 2)
    evidence.update(panel)

    def timed(work: Callable[[], Any]) -> tuple[float, Any]:
        work()
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        return time.perf_counter() - start, result

    half = panel - 0.5
    product, _ = timed(lambda: half @ half.T)
    update, _ = timed(lambda: evidence.update(second))
    look, log_e = timed(evidence.log_e)
    holm, edges = timed(lambda: e_holm(log_e, alpha=0.05))
    reach, _ = timed(lambda: closure(edges))
    margins, _ = timed(evidence.lower_bounds)
    host, _ = timed(lambda: to_numpy(edges))
    print(
        f"{kind}: one product {product:.4f} s; update {update:.4f}, log_e {look:.4f}, e-Holm {holm:.4f}, "
        f"closure {reach:.4f}, edges to the host {host:.4f}, margins {margins:.4f}"
    )


def studies(device: str, repetitions: int = 500) -> None:
    """Print the time of the power study of every kind of evidence in the four settings, and that it is the CPU's."""
    contests = four(tuple(KIND_OPTIONS))
    for trial in ("first", "second"):
        start = time.perf_counter()
        chunks = [
            RepetitionChunk(
                setting=contest,
                place=place,
                seeds=(RepetitionSeeds(seed=1, place=f"evidence/{contest.name}", repetition=repetition),),
            )
            for place, contest in enumerate(contests)
            for repetition in range(repetitions)
        ]
        found = {(chunk.place, chunk.seeds[0].repetition): sums for chunk, sums in run_on_device(chunks, device)}
        print(
            f"{len(KIND_OPTIONS)} kinds x {len(contests)} settings x {repetitions} repetitions x 100 looks, {trial}: "
            f"{time.perf_counter() - start:.2f} s"
        )
    same = True
    for place, contest in enumerate(contests):
        for repetition in (0, 1):
            alone = contest.repeat(RepetitionSeeds(seed=1, place=f"evidence/{contest.name}", repetition=repetition))
            together = found[place, repetition]
            same = same and all(np.array_equal(alone[key], together[key][1]) for key in alone)
    print(f"two repetitions of each setting equal those of the CPU: {same}")


def names(letter: str, count: int) -> list[str]:
    """Names of so many models or items."""
    return [f"{letter}{i}" for i in range(count)]


if __name__ == "__main__":
    space_on("cpu")
    main()
