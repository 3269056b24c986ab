"""Types of single values in records: bounded numbers, names, digests, and the choices that make up a method."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, TypedDict, TypeVar, get_args

from msgspec import Meta, Struct, structs

from bbedge.errors import Argument, DomainError
from bbedge.text import quoted

S = TypeVar("S", bound=Struct)
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LARGEST = sys.float_info.max
LARGEST_COUNT = 2**53
"""Whole numbers beyond it are not exact in every program that reads JSON."""
LARGEST_STORED = 2**31 - 1
"""The largest whole number of an event: what an integer column of PostgreSQL holds."""

NOT_BLANK = r"\S"
"""The pattern of a text that is more than spaces."""

TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
"""A time in UTC with seconds."""

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
NotNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
Level = Annotated[float, Meta(gt=0, lt=1)]
Part = Annotated[float, Meta(ge=0, lt=1)]
Share = Annotated[float, Meta(gt=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Stored = Annotated[int, Meta(ge=0, le=LARGEST_STORED)]
Ordinal = Annotated[int, Meta(ge=1, le=LARGEST_STORED)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1)]
Text = Annotated[str, Meta(pattern=NOT_BLANK)]
# Bounded as well, because the end of a pattern also matches before a line break.
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Size = Annotated[str, Meta(pattern="^[1-9][0-9]*$")]
Time = Annotated[str, Meta(pattern=TIME)]
Names = tuple[str, ...]
Pair = tuple[str, str]
Group = Annotated[tuple[str, ...], Meta(min_length=2)]

Method = Literal["bb-edge", "bb-edge-x"]
"""The published method, and the one that certifies sooner with the same guarantee."""

EvidenceKind = Literal["bernstein", "hoeffding", "sharp", "betting"]
"""How a block's outcome is turned into evidence."""

PredictionRule = Literal["running-mean", "two-way"]
"""How the next block score is guessed from earlier replicates."""

StakeRule = Literal["fitted", "design", "paper"]
"""Where the stakes come from: the noise that was seen before they enter, the size of the design, or the paper."""

Holm = Literal["direct", "staggered"]
"""How evidence becomes edges: every look by itself, or with stakes that enter one after the other and with memory."""

SpendingRule = Literal["open-ended", "equal"]
"""How an error budget is shared out over the claims of a growing leaderboard."""

FamilyKind = Literal["all", "cross-set"]
"""Which directions are tested."""

Copies = Literal["refuse", "allow"]
"""Whether replicates that repeat earlier ones score by score stop the work, or count."""

Gaps = Literal["refuse", "worst-case"]
"""What a missing score does: it stops the work, or counts against whichever model it could help."""

Trust = Literal["self-reported", "logs-kept", "re-run"]
"""How far scores can be trusted, from least to most: the submitter states them; the logs that they follow from are
kept; the maintainers of the board made the runs again."""
TRUST: tuple[Trust, ...] = get_args(Trust)
"""The same in this order."""

Target = Literal["benchmark", "new-items", "both"]
"""What is claimed: differences on these items, on new items of the same kind, or both, each with half of alpha."""

OfRuns = Annotated[str, Meta(pattern="^(all|any):[1-9][0-9]{0,3}$", max_length=8, examples=["all:3", "any:3"])]
"""How k runs become one score: all of them count (all:k, the smallest), or any (any:k, the largest)."""

HEADLINE = "headline"
"""How the main view is called among shares; no other view may have this name."""
MOST_SHARES = 100_000
"""The most claims that share an error budget equally."""


def option(
    description: str,
    *,
    metavar: str | None = None,
    default: str | bool | None = None,
    names: str | None = None,
    panel: str | None = None,
) -> Meta:
    """What the command line says of a field of a record.

    For instance ``alpha: Annotated[Level, option("Error level.")] = 0.05``. ``default`` is what help shows as the
    default if that is not the field's own, False for nothing; ``names`` are those of the option, such as
    ``"-v --verbose"``, if they do not follow from the field; ``panel`` is the part of help that lists it.
    """
    words = {"metavar": metavar, "default": default, "option": names, "panel": panel}
    return Meta(description=description, extra={key: word for key, word in words.items() if word is not None})


def by_key(name: str, texts: Names, read: Callable[[str], T], expected: str) -> dict[str, T]:
    """What the texts of an option, ``KEY=VALUE`` each, say of every key; ``read`` raises ``ValueError`` if nothing."""
    found: dict[str, T] = {}
    for text in texts:
        key, _, value = text.rpartition("=")
        try:
            if not key or key in found:
                raise ValueError
            found[key] = read(value)
        except ValueError:
            raise DomainError(Argument(name), f" {quoted(text)} is not {expected}") from None
    return found


ScoreRange = Annotated[
    tuple[float, float], option("Lowest and highest possible score, for instance 0 10.", metavar="LO HI")
]
"""The scale that scores are read on."""


class ScaleArgument(TypedDict, total=False):
    """The argument that a design and the reading of scores share."""

    score_range: tuple[float, float]


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of every key, in order.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


class Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object or a TOML table in which every key is known."""

    def __post_init__(self) -> None:
        """Check what types and bounds cannot say; records that have to do so call this one too."""


class Sparse(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """A record that is written without its default values, so that a later version with further keys says the same."""

    def __post_init__(self) -> None:
        # msgspec leaves out what *is* the default, not what equals it.
        names = self.__struct_fields__[-len(self.__struct_defaults__) :]
        for name, default in zip(names, self.__struct_defaults__, strict=True):
            if getattr(self, name) == default:
                structs.force_setattr(self, name, default)


def sum_at_most_one(shares: Sequence[float], beside: float = 0.0) -> tuple[float, ...]:
    """Shares that add up to one but for rounding, lowered until they do not exceed it together with what is beside.

    A sum above 1 by a rounding would be evidence before there are any data.
    """
    lowered = list(shares)
    while sum(map(Fraction, [beside, *lowered])) > 1:
        largest = lowered.index(max(lowered))
        lowered[largest] = math.nextafter(lowered[largest], 0.0)
    return tuple(lowered)


def changed(record: S, **values: Any) -> S:  # noqa: ANN401 - fields of any type
    """A record with other values, checked like a new one, which ``structs.replace`` of older msgspec does not do."""
    return type(record)(**{**structs.asdict(record), **values})


class Record(Struct, frozen=True, eq=False):
    """A JSON object; unknown keys are ignored, so that later versions may add some."""
