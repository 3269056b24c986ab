"""A gate's policy: the systems, the claims about them, and what an undecided claim means.

Here are its keys, and what a policy must say whatever the scores are. Levels and views are of the room ``gate``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

from msgspec import UNSET, field, structs

from bbedge.errors import Argument, DesignError, DomainError, FormatError
from bbedge.records.codec import convert, parse_toml, plain, to_json
from bbedge.records.options import Options, SharedOptions
from bbedge.records.reading import Reading
from bbedge.records.values import HEADLINE, MOST_SHARES, Name, Number, Sparse, Strict, changed
from bbedge.text import quoted, shown

ClaimKind = Literal["not_worse_by", "better_by", "at_least", "cheaper_by", "equal_within"]
"""What a claim says of the candidate's mean: against the baseline's, a floor, or a part of the baseline's cost."""
Tier = Literal["block", "warn", "info"]
"""What a failed claim does: it stops the release, is a warning, or is only shown."""
WhenOpen = Literal["pass", "fail", "error"]
"""What an undecided blocking claim means for the release: ship all the same, stop, or no verdict."""
Budget = Literal["each-run", "ledger"]
"""Whether every use of the gate has alpha for itself, or all uses recorded in a ledger share it."""

EVERY = "*"
"""Stands for every view, or for every model but the baseline."""
COST = "cost"
"""What logs call what an answer cost."""


class Claim(Sparse, frozen=True, kw_only=True):
    """Something that should be true of the candidate.

    >>> str(Claim(kind="not_worse_by", amount=0.02, view="safety"))
    'not worse by more than 0.02 in safety'
    """

    kind: ClaimKind
    """What it says."""
    amount: float
    """The margin or the floor in score units; of ``cheaper_by`` a part of the baseline's cost."""
    view: Name = HEADLINE
    """The mean that it is about: the headline, a view by name, or every view."""
    tier: Tier = "block"
    """What its failure does."""

    def __post_init__(self) -> None:
        for what, given, allowed in (("kind of claim", self.kind, ClaimKind), ("tier", self.tier, Tier)):
            if given not in get_args(allowed):
                raise DomainError(f"unknown {what} {given!r}; choose one of {', '.join(get_args(allowed))}")
        if isinstance(self.amount, bool) or not (isinstance(self.amount, int | float) and math.isfinite(self.amount)):
            raise DomainError(f"{self.kind} = {self.amount} is not a number")
        if self.kind in ("not_worse_by", "better_by") and self.amount < 0.0:
            other = "better_by" if self.kind == "not_worse_by" else "not_worse_by"
            raise DomainError(f"{self.kind} = {self.amount:g} is below 0; write {other} = {-self.amount:g}")
        if self.kind == "equal_within" and self.amount <= 0.0:
            raise DomainError(
                f"equal_within = {self.amount:g} is not above 0, and no runs show that two means are the same; choose "
                "the largest difference that you would accept, such as 0.02"
            )
        if self.kind == "cheaper_by" and not 0.0 <= self.amount < 1.0:
            raise DomainError(f"cheaper_by = {self.amount:g} is not a part of the baseline's cost; choose 0 to below 1")
        structs.force_setattr(self, "amount", float(self.amount))
        super().__post_init__()

    def __str__(self) -> str:
        """The claim in words."""
        words = {
            "not_worse_by": f"not worse by more than {self.amount:g}" if self.amount else "not worse",
            "better_by": f"better by more than {self.amount:g}" if self.amount else "better",
            "at_least": f"at least {self.amount:g}",
            "cheaper_by": f"cheaper by at least {100 * self.amount:g} %" if self.amount else "not more expensive",
            "equal_within": f"equal within {self.amount:g}",
        }
        where = {HEADLINE: "", EVERY: " in every view"}.get(self.view, f" in {self.view}")
        return words[self.kind] + where


class _ClaimTable(Strict, frozen=True, kw_only=True):
    """A claim as a policy file writes it: its kind is the key of its amount."""

    not_worse_by: float | None = None
    better_by: float | None = None
    at_least: float | None = None
    cheaper_by: float | None = None
    equal_within: float | None = None
    view: Name = HEADLINE
    tier: Tier = "block"

    def __post_init__(self) -> None:
        _ = self.claim

    @property
    def claim(self) -> Claim:
        """The claim; a table with no amount, or with two, is refused."""
        kinds: list[ClaimKind] = [kind for kind in get_args(ClaimKind) if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise FormatError(f"give exactly one of {', '.join(get_args(ClaimKind))}")
        return Claim(kind=kinds[0], amount=getattr(self, kinds[0]), view=self.view, tier=self.tier)


_Range = tuple[Number, Number]


class Policy(SharedOptions, Sparse, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    r"""What a gate decides, fixed before the scores are seen.

    **Needs:** the policy is chosen without looking at the scores that it is applied to.

    >>> policy = Policy.from_toml('candidate = "new"\nbaseline = "old"\n[[claims]]\nnot_worse_by = 0.02')
    >>> policy.candidates, policy.claims[0].amount
    (('new',), 0.02)
    """

    candidates: tuple[Name, ...]
    """The systems that want to ship; ``*`` for every model but the baseline."""
    baseline: Name | None
    """The system that they are compared with; ``None`` if every claim is about a floor."""
    claims: tuple[Claim, ...]
    """What should be true of each candidate."""
    when_open: WhenOpen = field(default="error", name="open")
    """What a blocking claim that is not decided means."""
    budget: int | None = None
    """The number of runs that are planned for each system."""
    spending: Budget = "each-run"
    """Whether alpha is for each use of the gate or for all uses of a ledger."""
    shares: int | None = None
    """Of a ledger: how many uses have equal parts of alpha; ``None`` for any number, later ones with less."""
    macro: Name | None = None
    """The item column of the categories whose means the headline averages."""
    weights: Name | None = None
    """The item column of the weights of items."""
    views: Name | None = None
    """The item column whose values are the views that claims may name."""
    metric: tuple[Name, ...] | None = None
    """Where each metric of an item is an item of its own: the metrics that the headline is about."""
    metric_ranges: dict[Name, _Range] = field(default_factory=dict)
    """The worst and the best possible value of metrics that are not on the common scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.candidates or not all(self.candidates):
            raise DesignError(f"no candidate; name one, several, or {EVERY!r}")
        if len(set(self.candidates)) < len(self.candidates):
            raise FormatError("a name is twice in candidates; keep one of them")
        if self.baseline in self.candidates:
            raise DesignError(f"{quoted(str(self.baseline))} is candidate and baseline; name two systems")
        if not self.claims:
            raise DesignError("no claims; add for instance [[claims]] with not_worse_by = 0.02")
        if self.baseline is None and any(claim.kind != "at_least" for claim in self.claims):
            raise DesignError("no baseline, but a claim compares with one; name it")
        if self.budget is not None and self.budget < 1:
            raise DomainError(f"a budget of {self.budget} runs is not possible; choose 1 or more, or leave it out")
        if self.shares is not None and self.spending != "ledger":
            raise DesignError("shares divide the alpha of a ledger; add spending = 'ledger'")
        if self.shares is not None and not 1 <= self.shares <= MOST_SHARES:
            raise DesignError(f"{self.shares} is not a number of shares; choose from 1 to {MOST_SHARES:,}")
        if self.views is None and any(claim.view != HEADLINE for claim in self.claims):
            raise DesignError("a claim names a view; say which item column has them: views = 'category'")
        for name, (worst, best) in self.metric_ranges.items():
            if worst == best or not math.isfinite(best - worst):
                raise DomainError(f"the range of {quoted(name)} is {worst:g} to {best:g}; give two different values")
        self._check_contradictions()
        self._check_looks()

    def _check_looks(self) -> None:
        """Refuse what the designs of its claims would refuse, in the words of a policy."""
        if self.target == "both":
            raise DesignError(
                "target = 'both' asks two questions, and a gate answers one; choose 'benchmark' or 'new-items', or "
                "write a policy for each"
            )
        if self.target and self.evidence in ("bernstein", "hoeffding"):
            raise DesignError(f"evidence = {self.evidence!r} is about these items alone; leave it out")
        if self.budget is not None and self.budget < self.runs_of_score:
            raise DesignError(
                f"a budget of {self.budget} runs makes no score of {self.runs_of_score} runs; plan more, or change "
                f"of_runs = {self.of_runs!r}"
            )
        _ = self.options  # which check the looks

    def _check_contradictions(self) -> None:
        """Refuse claims that are there twice, that differ in what they ask of one mean, or that have no effect."""
        seen: dict[tuple[object, ...], Claim] = {}
        for claim in self.claims:
            key = (claim.kind, claim.view, claim.tier)
            if key in seen:
                raise DesignError(
                    f"two {claim.tier} claims {claim.kind} about one mean ({seen[key].amount:g} and "
                    f"{claim.amount:g}); keep one"
                )
            seen[key] = claim
        for claim in self.claims:
            general = seen.get((claim.kind, EVERY, claim.tier))
            if general is None or claim.view in (EVERY, HEADLINE):
                continue
            smaller = claim.kind in ("not_worse_by", "equal_within")
            stricter = claim.amount < general.amount if smaller else claim.amount > general.amount
            if not stricter:
                raise DesignError(
                    f"{claim.kind} = {claim.amount:g} in {quoted(claim.view)} has no effect, because "
                    f"{claim.kind} = {general.amount:g} in every view asks for as much; remove one of them"
                )

    @property
    def source(self) -> str:
        """Where it comes from, for messages; not a part of what it says."""
        return str(self.__dict__.get("source", "the policy"))

    def changed(self, **changes: Any) -> Self:  # noqa: ANN401 - any of its fields
        """The same policy with other values, for messages from the same source."""
        found = changed(self, **changes)
        found.__dict__["source"] = self.source
        return found

    def at_level(self, level: float) -> Policy:
        """The same claims for one use alone, with all of a level for itself."""
        return self.changed(alpha=level, spending="each-run", shares=None)

    @property
    def options(self) -> Options:
        """The options of the designs that its claims are tested by; its budget is what is planned."""
        shared = {name: getattr(self, name) for name in SharedOptions.__struct_fields__}
        return Options(**shared, planned=UNSET if self.budget is None else self.budget)

    @property
    def question(self) -> dict[str, Any]:
        """What its claims are about, and what counts as a score, as plain values."""
        return {"target": self.target or "benchmark", "of_runs": self.of_runs or None}

    @property
    def looks_after_every_run(self) -> bool:
        """Whether every run is looked at, and parts of the first one may be."""
        return not self.target and not self.of_runs

    def next_look(self, runs: int) -> int | None:
        """After how many runs the next look is, if there are so many; ``None`` if no look is left.

        >>> claims = (Claim(kind="at_least", amount=0.5),)
        >>> policy = Policy(candidates=("new",), baseline=None, claims=claims, target="new-items", budget=5)
        >>> policy.next_look(2), policy.next_look(5)
        (4, None)
        """
        k = self.runs_of_score
        return (
            next((look for look in self.options.schedule if look > runs), None) if self.target else runs + k - runs % k
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The item columns that it needs."""
        return tuple(dict.fromkeys(name for name in (self.macro, self.weights, self.views) if name is not None))

    @property
    def suite(self) -> dict[str, Any]:
        """The means that its views are about, as arguments of :func:`~bbedge.suite_options`."""
        return {"macro": self.macro, "weights": self.weights, "views": self.views, "metric": self.metric}

    def with_metrics(self, reading: Reading) -> tuple[Self, Reading]:
        """The same, and how its scores are read, with the metrics and ranges that either of them names."""
        named, given = self.metric or (), reading.metric
        if named and given and named != given:
            raise DomainError(
                f"{self.source}: metric = {quoted(named[0])} is not ", Argument("metric", shown(given[0])), "; drop one"
            )
        chosen = named or given
        reading = structs.replace(reading, metric=chosen)
        if self.metric_ranges:
            if reading.metric_range:
                raise DomainError(f"{self.source} declares the ranges of metrics; leave out ", Argument("metric_range"))
            reading = reading.with_argument(Argument("metric_range", self.metric_ranges))
        return self.changed(metric=chosen if chosen and "metric" in self.columns else None), reading

    @property
    def content(self) -> dict[str, Any]:
        """What it says, as plain values without what is as by default.

        >>> claim = Claim(kind="not_worse_by", amount=0.02)
        >>> Policy(candidates=("new",), baseline="old", claims=(claim,)).content
        {'candidates': ('new',), 'baseline': 'old', 'claims': ({'kind': 'not_worse_by', 'amount': 0.02},)}
        """
        return dict(plain(self))

    @property
    def hash(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()

    @classmethod
    def from_toml(cls, text: str, *, source: str = "the policy") -> Policy:
        """Read a policy file; unknown keys are refused with the nearest known one."""
        return cls.from_values(parse_toml(text, source=source), source=source)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], *, source: str = "the policy") -> Policy:
        """Make a policy from the values of its file."""
        given = {"candidates": [], "baseline": None, "claims": [], **values}
        if "candidate" in given:
            if "candidates" in values:
                raise FormatError(f"{source}: candidate and candidates; keep one of them")
            given["candidates"] = given.pop("candidate")
        for key in ("candidates", "metric"):  # one name, or a list of them
            if isinstance(given.get(key), str):
                given[key] = [given[key]]
        if isinstance(given["claims"], list):
            given["claims"] = [
                plain(convert(claim, _ClaimTable, source=f"{source}, claim {place}").claim)
                for place, claim in enumerate(given["claims"], start=1)
            ]
        ranges = given.get("metric_ranges")
        for name, ends in ranges.items() if isinstance(ranges, Mapping) else ():
            place = f"{source}, metric_ranges, worst and best value of {quoted(name)}"
            convert(ends, _Range, source=place)  # type: ignore[arg-type]  # not a class, and msgspec knows it
        policy = convert(given, cls, source=source)
        policy.__dict__["source"] = source
        return policy
