"""An engine in this process, on a synthetic benchmark whose truth is known, that can fail as told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.evaluate.engine import Benchmark, Sample
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done, Failed, Sent, Usage
from bbedge.study.synthetic import SyntheticBenchmark


class FakeEngine:
    """Scores of replicate r are the panel that the generator of replicate r draws, whoever asks and however often."""

    def __init__(
        self,
        synthetic: SyntheticBenchmark,
        *,
        seed: int = 0,
        fails: Callable[[int, str, str, int], bool] = lambda *_: False,
        caveats: Iterable[str] = (),
        traced: bool = True,
        unseeded: tuple[str, ...] = (),
        announces: bool = False,
        columns: Mapping[str, Callable[[str], str]] | None = None,
    ) -> None:
        self.synthetic, self.seed, self.fails = synthetic, seed, fails
        self.notes, self.traced, self.unseeded = tuple(caveats), traced, unseeded
        self.announces = announces
        self.columns = columns or {}
        self.ran: list[tuple[int, str, str]] = []
        self.tries: dict[tuple[int, str, str], int] = {}

    def benchmark(self) -> Benchmark:
        by_block: dict[str, list[str]] = {}
        for item, block in zip(self.synthetic.items, self.synthetic.blocks, strict=True):
            by_block.setdefault(block, []).append(item)
        samples = [
            Sample(
                name=block,
                items=tuple(items),
                blocks=(block,) * len(items),
                columns={name: tuple(map(text_of, items)) for name, text_of in self.columns.items()},
            )
            for block, items in by_block.items()
        ]
        return Benchmark(samples=tuple(samples), fingerprint="synthetic")

    def caveats(self) -> tuple[str, ...]:
        return self.notes

    def run(self, replicate, jobs, seeds, report) -> None:
        panel = self.synthetic.panel(np.random.default_rng([self.seed, replicate]))
        row = {model: place for place, model in enumerate(self.synthetic.models)}
        column = {item: place for place, item in enumerate(self.synthetic.items)}
        for job in jobs:
            key = (replicate, job.model.name, job.sample.name)
            self.tries[key] = self.tries.get(key, 0) + 1
            if self.announces:
                report(Sent(model=job.model.name, sample=job.sample.name))
            usage = Usage(calls=1, tokens={job.model.model: (10, 2)}, seconds=0.1)
            if self.fails(*key, self.tries[key]):
                report(Failed(model=job.model.name, sample=job.sample.name, error="as told", usage=usage))
                continue
            self.ran.append(key)
            scores = {item: float(panel[row[job.model.name], column[item]]) for item in job.sample.items}
            report(
                Done(
                    model=job.model.name,
                    sample=job.sample.name,
                    scores=scores,
                    usage=usage,
                    trace=str(seeds(job, 0)) if self.traced else None,
                    unseeded=self.unseeded,
                )
            )


def fake_study(folder: Path, synthetic: SyntheticBenchmark, **values: Any) -> EvaluationSpec:
    """A study of the synthetic models; values as in study.toml."""
    given = {
        "budget": 20,
        "models": list(synthetic.models),
        "benchmark": {"task": "synthetic"},
        "run": {"pause": 0.0},
    } | values
    return EvaluationSpec.from_values(given, path=folder / "study.toml")
