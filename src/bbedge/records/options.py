"""The options of a design: what people declare before they see scores, each option one field.

From a field follow the argument of Python functions, the key of TOML files, the option of the command line, the key of
certificates and ledgers, the hash of the design, the JSON Schema and the reference pages. What an option does is in
:mod:`bbedge.core`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Literal, cast

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import fields, force_setattr

from bbedge.errors import Argument, DesignError, DomainError
from bbedge.records.codec import record_from_arguments
from bbedge.records.values import (
    Copies,
    EvidenceKind,
    Holm,
    Level,
    Method,
    OfRuns,
    Part,
    Positive,
    PredictionRule,
    ScaleArgument,
    ScoreRange,
    Share,
    StakeRule,
    Strict,
    Target,
    option,
    sum_at_most_one,
)

MARGIN_SHARE = 0.2
"""The part of alpha that ``bb-edge-x`` spends on margins."""
ABOUT_TARGET = ("target", "looks", "look_weights", "of_runs", "equal_within")
"""The options that say what is claimed, and when it is looked at."""
_LAST_LOOK = 0.8  # what the last of the planned runs has of the evidence of new items
_CLOSE = 1e-9  # weights whose sum is this near one are meant to add up to one


COPIES_HELP = (
    "Replicates with the same scores as another one: stop (refuse) or count them (allow). Decide before the runs; the "
    "certificate records it."
)


class SharedOptions(Strict, frozen=True, kw_only=True):
    """What leaderboards, boards and gates declare alike."""

    alpha: Annotated[
        Level,
        option(
            "Error level: the largest probability that anything shown is ever wrong, over all pairs and all looks; "
            "with bb-edge, comparisons and margins have one each."
        ),
    ] = 0.05
    evidence: Annotated[
        EvidenceKind | UnsetType, option("How outcomes become evidence; overrides the method's choice.", default=False)
    ] = UNSET
    target: Annotated[
        Target | UnsetType,
        option(
            "What is claimed: benchmark, of these items; new-items, of new items of the same kind, of which these are "
            "independent draws; both, with half of alpha each. For new items nothing may pass between blocks, and no "
            "model may have been chosen or tuned on these items.",
            default="benchmark",
        ),
    ] = UNSET
    looks: Annotated[
        tuple[Positive, ...] | UnsetType,
        option(
            "After how many runs new items are looked at, for instance 5,10; no other look counts. Without it, after "
            "1, 2, 4, 8, 16 and 32 runs, or up to those planned.",
            metavar="R,R,...",
            default=False,
        ),
    ] = UNSET
    look_weights: Annotated[
        tuple[Share, ...] | UnsetType,
        option(
            "What part of the evidence each of the looks has, for instance 0.3,0.7.", metavar="W,W,...", default=False
        ),
    ] = UNSET
    of_runs: Annotated[
        OfRuns | UnsetType,
        option(
            "What counts as one score: all:k, where all of k runs must succeed (pass^k), or any:k, where one is enough "
            "(pass@k). Without it every run is a score.",
            metavar="all:K|any:K",
            default=False,
        ),
    ] = UNSET
    copies: Annotated[
        Copies,
        option(COPIES_HELP),
    ] = "refuse"

    def __post_init__(self) -> None:
        # msgspec checks types and bounds of what comes from files; here those of what comes from Python.
        unchecked = _unchecked(type(self))
        given = {name: getattr(self, name) for name in unchecked.__struct_fields__}
        checked = record_from_arguments(unchecked, {k: v for k, v in given.items() if v is not None and v is not UNSET})
        for name in given:
            force_setattr(self, name, getattr(checked, name))  # whole numbers as floats, None as not set
        # One design, one hash: what is the default is not stated.
        if self.target == "benchmark":
            force_setattr(self, "target", UNSET)
        if self.of_runs and self.runs_of_score == 1:
            force_setattr(self, "of_runs", UNSET)
        super().__post_init__()

    @property
    def repeats_are_harmless(self) -> bool:
        """Whether runs that repeat each other break nothing: of new items, unless several runs make one score."""
        return self.target == "new-items" and not self.of_runs

    @property
    def runs_of_score(self) -> int:
        """How many runs make up a score."""
        return int(self.of_runs.split(":")[1]) if self.of_runs else 1


@cache
def _unchecked(kind: type[Struct]) -> type[Struct]:
    """The options of a record, as a record without checks of its own."""
    options = next(base for base in kind.__mro__ if base.__module__ == __name__)
    defaults = {field.name: None if field.required else field.default for field in fields(options)}
    return defstruct(options.__name__, [(f.name, f.type, defaults[f.name]) for f in fields(options)], kw_only=True)


class Options(SharedOptions, frozen=True, kw_only=True):
    """What people declare about a leaderboard, at which level and by which method.

    >>> Options(margin_share=0.1).certificate_share
    0.9
    """

    tau: Annotated[
        Annotated[float, Meta(gt=-1, lt=1)],
        option(
            "Certify only differences above this margin, a fraction of the score range (0.02 is two points of 100)."
        ),
    ] = 0.0
    method: Annotated[
        Method,
        option(
            "bb-edge-x certifies sooner, and its comparisons and margins hold together; bb-edge is the published "
            "method. Choose before you see results."
        ),
    ] = "bb-edge-x"
    prediction: Annotated[
        PredictionRule | UnsetType,
        option("How the next score is predicted; overrides the method's choice.", default=False),
    ] = UNSET
    stakes: Annotated[
        StakeRule | UnsetType, option("The rule of the stakes; overrides the method's choice.", default=False)
    ] = UNSET
    score_range: ScoreRange = (0.0, 1.0)
    margin_share: Annotated[
        Part | UnsetType,
        option(
            "The part of alpha that the margins of bb-edge-x use. With 0, comparisons and margins use alpha each.",
            metavar="SHARE",
            default=f"{MARGIN_SHARE}",
        ),
    ] = UNSET
    mean_share: Annotated[
        Part | UnsetType,
        option(
            "The part of alpha that intervals for the models' own mean scores use, out of that of the comparisons; 0.1 "
            "is usual. Without it there are no such intervals.",
            metavar="SHARE",
            default="0",
        ),
    ] = UNSET
    holm: Annotated[
        Holm | UnsetType,
        option(
            "How evidence becomes edges: at every look by itself (direct), or with stakes that enter one after another "
            "(staggered). Overrides what the size of the design chooses.",
            default=False,
        ),
    ] = UNSET
    planned: Annotated[
        Positive | UnsetType,
        option(
            "Number of runs that were planned before the first one; bb-edge-x then bets for that many. Never count the "
            "runs that there are: how many may depend on their results, which voids the guarantee.",
            metavar="R",
            default=False,
        ),
    ] = UNSET
    equal_within: Annotated[
        Level | UnsetType,
        option(
            "Show two models as about equal where their difference is within this margin either way, a fraction of the "
            "score range.",
            metavar="MARGIN",
            default=False,
        ),
    ] = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        # One design, one hash: what is the default is not stated.
        if self.mean_share == 0.0:
            force_setattr(self, "mean_share", UNSET)
        low, high = self.score_range
        if not (math.isfinite(high - low) and low < high):
            raise DomainError(
                Argument("score_range", self.score_range), " is not allowed; give two finite numbers, lower first"
            )
        self._check_method()
        margins, means = self.resolved_margin_share, self.mean_share or 0.0
        if means and not margins:
            raise DesignError(
                Argument("mean_share", means),
                " needs a share for margins above 0, so that everything shown holds together",
            )
        if margins + means >= 1.0:
            raise DomainError(
                f"margins and means with {margins} and {means} of alpha leave nothing for certificates; choose shares "
                "whose sum is below 1"
            )
        self._check_looks()

    def _check_method(self) -> None:
        if self.has_memory:
            return
        without = {"margin_share": 0.0, "mean_share": 0.0, "holm": "direct", "planned": None, "target": UNSET}
        for name, neutral in without.items():
            value = getattr(self, name)
            if value not in (UNSET, neutral):
                raise DesignError(Argument(name, value), f" is not part of {self.method}; leave it out")

    def _check_looks(self) -> None:
        """The looks at new items are possible, and the sum of their weights is at most one."""
        looks, weights, k = self.looks, self.look_weights, self.runs_of_score
        if self.planned and self.planned < k:
            raise DesignError(
                Argument("planned", self.planned), f" leaves no score of {k} runs; plan at least {k}, or change ",
                Argument("of_runs", self.of_runs),
            )  # fmt: skip
        for name, given in (("looks", looks), ("look_weights", weights)):
            if given is not UNSET and not self.target:
                raise DesignError(
                    Argument(name, given), " is about new items; choose ", Argument("target", "new-items")
                )
        if weights is not UNSET and (looks is UNSET or len(weights) != len(looks)):
            raise DesignError(Argument("look_weights", weights), " needs one weight for each of the looks; state both")
        if looks is not UNSET:
            if not looks or any(later <= earlier for earlier, later in pairwise(looks)):
                raise DomainError(Argument("looks", looks), " are not in rising order, each once; sort them")
            if self.planned and looks[-1] > self.planned:
                raise DesignError(
                    Argument("looks", looks), f" go on after the {self.planned} planned runs; leave them out"
                )
            if math.fsum(weights or ()) > 1.0 + _CLOSE:
                raise DomainError(Argument("look_weights", weights), " add up to more than 1; lower them")
        if self.target and not self.schedule:
            raise DesignError(Argument("looks", looks), f" leave no look at a score of {k} runs; state later ones")

    @property
    def target_alpha(self) -> float:
        """The part of alpha that each target has: half of it, if there are two."""
        return self.alpha / 2 if self.target == "both" else self.alpha

    @property
    def schedule(self) -> dict[int, float]:
        """After how many runs new items are looked at, and what part of the evidence each look has.

        Looks before there is a score do not happen, and their part is lost.

        >>> Options(target="new-items", looks=(2, 4)).schedule
        {2: 0.5, 4: 0.5}
        """
        last, doubled = self.planned or 0, [2**power for power in range(6)]
        if self.looks:
            weights = self.look_weights or (1.0 / len(self.looks),) * len(self.looks)
            looks = list(self.looks)
        elif last:
            looks = [*(look for look in doubled if look < last), last]
            earlier = len(looks) - 1
            weights = (*((1.0 - _LAST_LOOK) / earlier for _ in range(earlier)), _LAST_LOOK) if earlier else (1.0,)
        else:
            looks, weights = doubled, (1.0 / len(doubled),) * len(doubled)
        planned = dict(zip(looks, sum_at_most_one(weights), strict=True))
        return {look: weight for look, weight in planned.items() if look >= self.runs_of_score} if self.target else {}

    def next_looks(self, runs: int, earlier: Sequence[int] = ()) -> dict[Target, int]:
        """For each target, after how many runs the next look is; new items are missing after the last of theirs.

        Where items were added, ``runs`` are those since then, and ``earlier`` are those that each earlier batch of
        items had had before.

        >>> Options(target="both", looks=(2, 4), of_runs="any:2").next_looks(2), Options().next_looks(2)
        ({'benchmark': 4, 'new-items': 4}, {'benchmark': 3})
        """
        k, found = self.runs_of_score, dict[Target, int]()
        if self.target != "new-items":
            found["benchmark"] = (runs // k + 1) * k
        candidates = sorted({look - before for before in (0, *earlier) for look in self.schedule})
        if upcoming := [each for each in candidates if each > runs and self.is_new_items_look(each, earlier)]:
            found["new-items"] = upcoming[0]
        return found

    def is_new_items_look(self, runs: int, earlier: Sequence[int] = ()) -> bool:
        """Whether new items are looked at after so many runs; ``earlier`` is as in :meth:`next_looks`.

        Every batch of items must have come to its first look, and one of them to any.
        >>> options = Options(target="new-items", looks=(2, 4))
        >>> [runs for runs in range(1, 5) if options.is_new_items_look(runs, earlier=(1,))]
        [2, 3, 4]
        """
        return runs >= min(self.schedule) and any(runs + before in self.schedule for before in (0, *earlier))

    @property
    def has_memory(self) -> bool:
        """Whether what stands is the answer of every look: true of methods whose later looks take nothing back."""
        return self.method == "bb-edge-x"

    @property
    def is_joint(self) -> bool:
        """Whether certificates and margins hold together with probability at least ``1 - alpha``."""
        return self.resolved_margin_share > 0.0

    @property
    def resolved_margin_share(self) -> float:
        """The part of alpha that margins spend: the one declared, or that of the method."""
        if self.margin_share is UNSET:
            return MARGIN_SHARE if self.has_memory else 0.0
        return self.margin_share

    @property
    def score_width(self) -> float:
        """The width of the score range: a difference of 1 on the [0, 1] scale, in score units."""
        low, high = self.score_range
        return high - low

    @property
    def equal_limit(self) -> float | None:
        """How much two models may differ that are shown as equal, in score units; ``None`` if that is not stated."""
        return None if self.equal_within is UNSET else self.equal_within * self.score_width

    @property
    def certificate_share(self) -> float:
        """The part of alpha that certificates spend."""
        return 1.0 - self.resolved_margin_share - (self.mean_share or 0.0)


class ResolvedOptions(Options, frozen=True, kw_only=True):
    """Options with what the method and the size of the design chose where nothing was declared."""

    evidence: EvidenceKind
    """How outcomes become evidence."""
    prediction: PredictionRule
    """How the next score is predicted."""
    stakes: StakeRule | Literal["given"]  # type: ignore[assignment]  # people declare a grid instead
    """The rule of the stakes; given, if they are the user's own."""
    margin_share: Part
    """The part of alpha that margins spend. With 0, certificates and margins have alpha each."""
    holm: Holm
    """How evidence becomes edges."""
    planned: Positive | None  # type: ignore[assignment]  # stated also where there is none
    """The number of replicates that the stakes were made for; null if none was stated."""


class OptionArguments(ScaleArgument, total=False):
    """The options as arguments of Python functions; a test compares them with :class:`Options`."""

    alpha: float
    evidence: EvidenceKind | None
    target: Target | None
    looks: tuple[int, ...] | None
    look_weights: tuple[float, ...] | None
    of_runs: str | None
    copies: Copies
    tau: float
    method: Method
    prediction: PredictionRule | None
    stakes: StakeRule | None
    margin_share: float | None
    mean_share: float | None
    holm: Holm | None
    planned: int | None
    equal_within: float | None


def declared(options: Options) -> OptionArguments:
    """The options that say something, as arguments; what is not set is left to the method."""
    given = {name: getattr(options, name) for name in Options.__struct_fields__}
    return cast("OptionArguments", {name: value for name, value in given.items() if value is not UNSET})
