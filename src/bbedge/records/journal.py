"""What the files in the folder of a run say, line by line: finished samples, judgements, failed attempts, usage.

A line has no key that says its kind: :data:`LINES` has the key by which each kind is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import force_setattr

from bbedge.records.values import LARGEST_COUNT, Number, Stored, Strict

Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
ExtraKind = Literal["check", "pilot"]
"""Short questions before a start; pilots of dry runs."""


class Usage(Strict, frozen=True, kw_only=True):
    """Calls, tokens and seconds; they add up.

    >>> (Usage(calls=1, tokens={"m": (10, 2)}) + Usage(calls=2, tokens={"m": (5, 1)})).tokens
    {'m': (15, 3)}
    """

    calls: Count = 0
    """Requests to models that were answered; for a command, items."""
    tokens: Mapping[str, tuple[Count, Count]] = field(default_factory=dict)
    """Tokens in and out, by engine model string: a judge's are counted where they were spent."""
    seconds: Number = 0.0
    """Time that samples took, added up although they ran side by side; to the millisecond, as it is written."""

    def __post_init__(self) -> None:
        force_setattr(self, "seconds", round(self.seconds, 3))

    def __add__(self, other: Usage) -> Usage:
        tokens = dict(self.tokens)
        for model, (read, written) in other.tokens.items():
            before = tokens.get(model, (0, 0))
            tokens[model] = (before[0] + read, before[1] + written)
        return Usage(calls=self.calls + other.calls, tokens=tokens, seconds=self.seconds + other.seconds)

    def __sub__(self, other: Usage) -> Usage:
        return self + other.scaled(-1)

    @property
    def total_tokens(self) -> int:
        """All tokens, in and out."""
        return sum(read + written for read, written in self.tokens.values())

    def scaled(self, factor: float) -> Usage:
        """So many times as much."""
        tokens = {model: (round(read * factor), round(out * factor)) for model, (read, out) in self.tokens.items()}
        return Usage(calls=round(self.calls * factor), tokens=tokens, seconds=self.seconds * factor)


class _OfSample(Strict, frozen=True, kw_only=True):
    """What happened to one sample of a model."""

    model: str
    """The model's name on the board."""
    sample: str


class Done(_OfSample, frozen=True, kw_only=True):
    """A sample that was run and scored."""

    scores: Mapping[str, Number | None]
    """The score of every item, mapped to [0, 1]; ``None`` if it is missing for good."""
    trace: str | None = None
    """A hash of the answers, or ``None`` if the engine does not see them."""
    length: Count = 0
    """Characters of the answers: only long ones distinguish a copy from a coincidence."""
    unseeded: tuple[str, ...] = ()
    """Models that were asked without a seed, although one was given: their provider takes none."""
    usage: Usage = field(default_factory=Usage)
    """What it cost; an engine leaves out the judgements that it has reported as :class:`Judged`."""
    judgements: Mapping[str, tuple[Number, ...]] = field(default_factory=dict)
    """Every judgement of each item, where answers are judged several times; their mean is the score."""
    judged: tuple[str, ...] = ()
    """The hashes of the answers whose :class:`Judged` judgements have made this score."""
    served: tuple[str, ...] = ()
    """What the server calls the model, as its answers state."""


class Judged(_OfSample, frozen=True, kw_only=True):
    """A judgement of an answer that is finished, while the sample may not be."""

    judgement: Count
    """The number of the judgement, of this scorer and sample, from 1."""
    scorer: str
    """The scorer that judged."""
    answer: str
    """A hash of what was judged: everything that the model answered."""
    score: Mapping[str, Any]
    """The score as the scorer gave it, as plain values."""
    replies: tuple[str, ...]
    """What the judge replied, request by request."""
    unseeded: tuple[str, ...] = ()
    """Judges that were asked without a seed, although one was given."""
    usage: Usage
    """What the judge's requests cost."""


class Failed(_OfSample, frozen=True, kw_only=True):
    """An attempt at a sample that gave no score."""

    error: str
    """What went wrong, in a few lines at most."""
    usage: Usage
    """What it cost all the same, without the judgements that were reported as :class:`Judged`."""


class Sent(_OfSample, frozen=True, kw_only=True):
    """Requests of a sample were sent; if the sample does not end, they count as lost."""

    calls: Count = field(name="sent", default=1)
    """Requests; for a command, items."""


class Lost(Strict, frozen=True, kw_only=True):
    """Requests that were in flight at an interruption: their samples are run again."""

    lost: Mapping[str, Count]
    """How many, by model."""


Line = Done | Judged | Failed | Sent | Lost
LINES: Mapping[str, type[Line]] = {
    "lost": Lost,
    "sent": Sent,
    "judgement": Judged,
    "error": Failed,
    "scores": Done,
}
"""The kinds of lines in the file of a replicate, by the key that only they have."""


class Replicate(Strict, frozen=True, kw_only=True):
    """What one replicate has used, finished or not."""

    replicate: Stored
    """Its number, pilots counted."""
    usage: Mapping[str, Usage]
    """By model, failed and repeated attempts included."""
    wasted: Mapping[str, Usage]
    """The part of it that was failed and repeated attempts."""
    samples: Count
    """Samples that were run and scored."""
    lost: Count
    """Requests that were sent again because an interruption came before their sample was in the journal; they are part
    of both."""
    traces: Mapping[str, str]
    """A hash of all answers of each model whose answers the engine sees, once the replicate is on the board."""
    shares: Mapping[str, Number] = field(default_factory=dict)
    """The part of the items that a model has run, by model, where it has not run all: its directions were decided
    inside the first run, or the replicate is not complete."""

    @property
    def useful(self) -> dict[str, Usage]:
        """What the samples that were scored have used, by model."""
        return {model: usage - self.wasted.get(model, Usage()) for model, usage in self.usage.items()}

    @property
    def total(self) -> Usage:
        """What all models have used."""
        return sum(self.usage.values(), Usage())

    @property
    def wasted_calls(self) -> int:
        """Calls of failed and repeated attempts."""
        return sum(used.calls for used in self.wasted.values())


class Extra(Strict, frozen=True, kw_only=True):
    """Requests that are no part of a replicate."""

    kind: ExtraKind
    usage: Usage
    """What they cost."""
