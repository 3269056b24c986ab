"""What the runner asks of an engine and gets back, and the seeds that it hands out.

Seeds and orders are hashes of the study, the model, the replicate and the sample, so that they are the same after a
crash and on every machine, and no two samples share a seed by design (31 bits: two of a hundred thousand may collide by
chance, which does no harm).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from bbedge.errors import DataError
from bbedge.evaluate.failures import Problem
from bbedge.records.journal import Done, Failed, Judged, Sent, Usage
from bbedge.records.study import StudyModel
from bbedge.text import quoted

_BITS = 31  # what every provider accepts: a positive signed 32-bit integer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is run as a whole: a dialogue, a problem, or for a command the complete benchmark."""

    name: str
    """By which it is found again after a crash."""
    items: tuple[str, ...]
    """The items that it scores."""
    blocks: tuple[str, ...]
    """The block of each item."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else is known of each item and the design uses, by the name of its column."""
    is_divisible: bool = False
    """Whether the engine also runs any part of its items, as a sample of its own."""

    def part(self, items: Sequence[str], *, name: str) -> Sample:
        """Some of its items as a sample of their own, in their order."""
        place = {item: i for i, item in enumerate(self.items)}
        places = [place[item] for item in items]
        return Sample(
            name=name,
            items=tuple(items),
            blocks=tuple(self.blocks[i] for i in places),
            columns={key: tuple(texts[i] for i in places) for key, texts in self.columns.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The samples of a study, known before the first request."""

    samples: tuple[Sample, ...]
    """In the order of the source."""
    fingerprint: str
    """A hash of what is asked, so that a benchmark that changed is noticed."""

    def __post_init__(self) -> None:
        counts = Counter(self.items)
        if not counts:
            raise DataError("the benchmark has no items; nothing can be run")
        for item, count in counts.items():
            if count > 1:
                raise DataError(f"item {quoted(item)} appears twice in the benchmark; every item needs its own name")

    @property
    def items(self) -> tuple[str, ...]:
        """All items."""
        return tuple(item for sample in self.samples for item in sample.items)

    @property
    def blocks(self) -> tuple[str, ...]:
        """The block of each item."""
        return tuple(block for sample in self.samples for block in sample.blocks)

    @property
    def block_of(self) -> dict[str, str]:
        """The block of each item, by item."""
        return dict(zip(self.items, self.blocks, strict=True))

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """What else is known of each item; a column that a sample lacks is not there."""
        names = [name for name in self.samples[0].columns if all(name in sample.columns for sample in self.samples)]
        return {name: tuple(text for sample in self.samples for text in sample.columns[name]) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementKey:
    """One judgement of an answer: requests that are made for it belong to it and not to the answer."""

    scorer: str
    """The scorer that judges."""
    number: int
    """The number of the judgement, of this scorer and sample, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One model on one sample in one replicate."""

    model: StudyModel
    sample: Sample
    judged: tuple[Judged, ...] = ()
    """Judgements of earlier attempts at it. They hold for the same answer, which need not be judged again."""

    @property
    def key(self) -> tuple[str, str]:
        """The names of the model and the sample."""
        return self.model.name, self.sample.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A request of a sample, or the program that runs it, failed. The engine may send the request again."""

    model: str
    """The model's name on the board."""
    sample: str
    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWaits:
    """The engine waits before it sends a request of a sample again."""

    model: str
    """The model's name on the board."""
    seconds: float


Reported = Done | Failed | Sent | Judged | Trouble | RequestWaits
Report = Callable[[Reported], None]


class CallSeeds(Protocol):
    """Gives every call of a job its seed."""

    def __call__(self, job: Job, call: int, /, judging: JudgementKey | None = None) -> int:
        """The seed of a job's n-th call, from 0; with ``judging``, of the n-th call of that judgement."""


class Engine(Protocol):
    """Runs models on samples. It must score a sample completely or report that it failed, and keep nothing between."""

    def benchmark(self) -> Benchmark:
        """The samples. Called before the design is frozen; whatever would stop every run should raise here."""

    def caveats(self) -> Sequence[str]:
        """What this engine cannot guarantee about independence, to be written on the board."""

    def run(self, replicate: int, jobs: Sequence[Job], seeds: CallSeeds, report: Report) -> None:
        """Run the jobs, in their order as far as order goes, and report each as soon as it has ended.

        ``seeds`` gives the seed of every call. A job that is not reported as done counts as failed.
        All reports come from the thread that called.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A model, or a judge, answered the short question."""

    model: str
    """Its name on the board, or of a judge its model string."""
    usage: Usage
    """What the question cost."""
    served: str | None = None
    """What the server calls its model, if the answer states it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillSilent:
    """A model has not answered the short question yet."""

    model: str
    """Its name on the board, or of a judge its model string."""
    endpoint: str | None
    """The address that was asked."""
    seconds: float
    """For how long."""


CheckReport = Callable[[Answered | StillSilent | Problem], None]


@runtime_checkable
class Checking(Protocol):
    """An engine that can ask every model a short question before the first sample."""

    def check(self, models: Sequence[StudyModel], seeds: Callable[[str], int], report: CheckReport) -> None:
        """Ask each of the models, and every judge, one question, and report each answer and each failure at once.

        ``seeds`` gives the seed of a question by the model's name.
        """


@runtime_checkable
class Located(Protocol):
    """An engine that knows the servers it asks."""

    def addresses(self) -> Mapping[str, str]:
        """The address of each server, by what asks there: a model, ``role NAME``, or an environment variable.

        Called after :meth:`Engine.benchmark`. Where an engine leaves the address to a provider, there is none.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeeds:
    """Where the seeds of a study come from.

    >>> seeds = RequestSeeds.from_parts("design hash", 1)
    >>> seeds.seed(model="a", sample="q1", replicate=1) == seeds.seed(model="a", sample="q1", replicate=1)
    True
    >>> seeds.seed(model="a", sample="q1", replicate=1) == seeds.seed(model="a", sample="q1", replicate=2)
    False
    """

    root: str
    """A hash of the design and of everything else that distinguishes this study, in hexadecimal."""

    @classmethod
    def from_parts(cls, *parts: object) -> RequestSeeds:
        """Seeds that depend on every part."""
        return cls(root=_digest(parts).hex())

    @property
    def number(self) -> int:
        """The root as a number of 63 bits, for records that have no place for more."""
        return int(self.root[:16], 16) >> 1

    def seed(
        self, *, model: str, sample: str, replicate: int, call: int = 0, judging: JudgementKey | None = None
    ) -> int:
        """The seed of one call to a model; ``call`` counts the calls of a sample from 0.

        The calls of each judgement are counted by themselves, so that their seeds do not depend on how many calls the
        answer or another judgement took.
        """
        kind, place = ("seed", (call,)) if judging is None else ("judge", (judging.scorer, judging.number, call))
        digest = _digest((kind, self.root, model, sample, replicate, *place))
        return int.from_bytes(digest[:8], "big") >> (64 - _BITS)

    def shuffled(self, blocks: Sequence[str], *, model: str, replicate: int) -> list[str]:
        """The distinct blocks in the order in which a model meets them in a replicate."""
        return sorted({*blocks}, key=lambda block: _digest(("order", self.root, model, replicate, block)))


def _digest(parts: Sequence[object]) -> bytes:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), ensure_ascii=True).encode("ascii")).digest()
