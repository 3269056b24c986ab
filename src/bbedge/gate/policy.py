"""The policy of a gate: the systems, the claims about them, and what an undecided claim means."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from bbedge.core.family import Spending
from bbedge.core.views import HEADLINE, METRIC, check_choice
from bbedge.errors import DesignError, DomainError, FormatError
from bbedge.records.values import Copies, EvidenceKind
from bbedge.text import did_you_mean, listed, quoted

ClaimKind = Literal["not_worse_by", "better_by", "at_least", "cheaper_by"]
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
_KINDS = get_args(ClaimKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that should be true of the candidate.

    >>> str(Claim(kind="not_worse_by", amount=0.02, view="safety"))
    'not worse by more than 0.02 in safety'
    """

    kind: ClaimKind
    """What it says."""
    amount: float
    """The margin or the floor in score units; of ``cheaper_by`` a part of the baseline's cost."""
    view: str = HEADLINE
    """The mean that it is about: the headline, a view by name, or every view."""
    tier: Tier = "block"
    """What its failure does."""

    def __post_init__(self) -> None:
        check_choice("kind of claim", self.kind, _KINDS)
        check_choice("tier", self.tier, get_args(Tier))
        if isinstance(self.amount, bool) or not (isinstance(self.amount, int | float) and math.isfinite(self.amount)):
            raise DomainError(f"{self.kind} = {self.amount} is not a number")
        if self.kind in ("not_worse_by", "better_by") and self.amount < 0.0:
            other = "better_by" if self.kind == "not_worse_by" else "not_worse_by"
            raise DomainError(f"{self.kind} = {self.amount:g} is below 0; write {other} = {-self.amount:g}")
        if self.kind == "cheaper_by" and not 0.0 <= self.amount < 1.0:
            raise DomainError(f"cheaper_by = {self.amount:g} is not a part of the baseline's cost; choose 0 to below 1")

    def __str__(self) -> str:
        """The claim in words."""
        words = {
            "not_worse_by": f"not worse by more than {self.amount:g}" if self.amount else "not worse",
            "better_by": f"better by more than {self.amount:g}" if self.amount else "better",
            "at_least": f"at least {self.amount:g}",
            "cheaper_by": f"cheaper by at least {100 * self.amount:g} %" if self.amount else "not more expensive",
        }
        where = {HEADLINE: "", EVERY: " in every view"}.get(self.view, f" in {self.view}")
        return words[self.kind] + where


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    r"""What a gate decides, fixed before the scores are seen.

    **Needs:** the policy is chosen without looking at the scores that it is applied to.

    >>> policy = Policy.from_toml('candidate = "new"\nbaseline = "old"\n[[claims]]\nnot_worse_by = 0.02')
    >>> policy.candidates, policy.claims[0].amount
    (('new',), 0.02)
    """

    candidates: tuple[str, ...]
    """The systems that want to ship; ``*`` for every model but the baseline."""
    baseline: str | None
    """The system that they are compared with; ``None`` if every claim is about a floor."""
    claims: tuple[Claim, ...]
    """What should be true of each candidate."""
    alpha: float = 0.05
    """Largest allowed probability that any verdict of the policy is wrong, at any look."""
    when_open: WhenOpen = "error"
    """What a blocking claim that is not decided means."""
    budget: int | None = None
    """The number of runs that are planned for each system."""
    spending: Budget = "each-run"
    """Whether alpha is for each use of the gate or for all uses of a ledger."""
    shares: int | None = None
    """Of a ledger: how many uses have equal parts of alpha; ``None`` for any number, later ones with less."""
    evidence: EvidenceKind | None = None
    """Overrides the evidence of bb-edge-x."""
    macro: str | None = None
    """The item column of the categories whose means the headline averages."""
    weights: str | None = None
    """The item column of the weights of items."""
    views: str | None = None
    """The item column whose values are the views that claims may name."""
    metric: str | tuple[str, ...] | None = None
    """Where each metric of an item is an item of its own: the metric that the headline is about."""
    metric_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)
    """The worst and the best possible value of metrics that are not on the common scale."""
    copies: Copies = "refuse"
    """Whether runs that repeat earlier ones score by score count."""
    source: str = field(default="the policy", compare=False)
    """Where it comes from, for messages."""

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise DomainError(f"{self.source}: alpha = {self.alpha} is not allowed; choose 0 < alpha < 1")
        if not self.candidates or not all(self.candidates):
            raise DesignError(f"{self.source}: no candidate; name one, several, or {EVERY!r}")
        if self.baseline in self.candidates:
            raise DesignError(
                f"{self.source}: {quoted(str(self.baseline))} is candidate and baseline; name two systems"
            )
        if not self.claims:
            raise DesignError(f"{self.source}: no claims; add for instance [[claims]] with not_worse_by = 0.02")
        if self.baseline is None and any(claim.kind != "at_least" for claim in self.claims):
            raise DesignError(f"{self.source}: no baseline, but a claim compares with one; name it")
        if self.budget is not None and self.budget < 1:
            raise DomainError(f"{self.source}: a budget of {self.budget} runs is not possible")
        if self.shares is not None and self.spending != "ledger":
            raise DesignError(f"{self.source}: shares divide the alpha of a ledger; add spending = 'ledger'")
        if self.spending == "ledger":
            _ = self._spending
        if self.views is None and any(claim.view != HEADLINE for claim in self.claims):
            raise DesignError(
                f"{self.source}: a claim names a view; say which item column has them: views = 'category'"
            )
        self._check_contradictions()

    def check_costs(
        self, metrics: Sequence[str], ranges: Mapping[str, tuple[float, float]], *, views: Sequence[str]
    ) -> None:
        """Refuse ``cheaper_by`` for a mean whose best value is not 0: only then is it a part of the baseline's cost.

        ``metrics`` are those of the headline, ``ranges`` the declared ones; a view that is not among ``views`` does not
        exist, which the gate says.
        """
        for claim in self.claims:
            if claim.kind == "cheaper_by":
                is_metric = self.views == METRIC and claim.view != HEADLINE
                if is_metric and claim.view not in (EVERY, *views):
                    continue
                name = claim.view if is_metric else metrics[0] if len(metrics) == 1 else None
                if name is None or ranges.get(name, (0.0, 1.0))[1] != 0.0:
                    raise DesignError(
                        f"{self.source}: cheaper_by needs a metric whose best value is 0; declare the most that is "
                        f"possible and 0, for instance [metric_ranges] {name or 'cost'} = [1.0, 0.0]"
                        + ("" if name else f', and name the metric: metric = "{COST}"')
                    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The item columns that it needs."""
        return tuple(dict.fromkeys(name for name in (self.macro, self.weights, self.views) if name is not None))

    def _check_contradictions(self) -> None:
        """Refuse claims that are there twice, that differ in what they ask of one mean, or that have no effect."""
        seen: dict[tuple[object, ...], Claim] = {}
        for claim in self.claims:
            key = (claim.kind, claim.view, claim.tier)
            if key in seen:
                raise DesignError(
                    f"{self.source}: two {claim.tier} claims {claim.kind} about one mean "
                    f"({seen[key].amount:g} and {claim.amount:g}); keep one"
                )
            seen[key] = claim
        for claim in self.claims:
            general = seen.get((claim.kind, EVERY, claim.tier))
            if general is None or claim.view in (EVERY, HEADLINE):
                continue
            stricter = claim.amount < general.amount if claim.kind == "not_worse_by" else claim.amount > general.amount
            if not stricter:
                raise DesignError(
                    f"{self.source}: {claim.kind} = {claim.amount:g} in {quoted(claim.view)} has no effect, because "
                    f"{claim.kind} = {general.amount:g} in every view asks for as much; remove one of them"
                )

    @property
    def _spending(self) -> Spending:
        return Spending() if self.shares is None else Spending(rule="equal", shares=self.shares)

    def level(self, use: int) -> float:
        """The level of use 0, 1, 2, ... of the gate; 0 when nothing is left.

        **Guarantee:** with ``spending = "ledger"`` the levels of any number of uses sum to at most ``alpha``.
        """
        return self.alpha if self.spending == "each-run" else self._spending.level(use, alpha=self.alpha)

    def at_level(self, level: float) -> Policy:
        """The same claims for one use alone, with all of a level for itself."""
        return replace(self, alpha=level, spending="each-run", shares=None)

    @classmethod
    def from_toml(cls, text: str, *, source: str = "the policy") -> Policy:
        """Read a policy file; unknown keys are refused with the nearest known one."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise FormatError(f"{source}: not valid TOML ({error})") from error
        return cls.from_values(values, source=source)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], *, source: str = "the policy") -> Policy:
        """Make a policy from the values of its file."""
        values = dict(values)
        _known(values, _KEYS, source)
        claims = values.pop("claims", [])
        if not isinstance(claims, list) or not all(isinstance(claim, dict) for claim in claims):
            raise FormatError(f"{source}: claims are not tables; write [[claims]]")
        if "candidate" in values and "candidates" in values:
            raise FormatError(f"{source}: candidate and candidates; keep one of them")
        candidates = values.pop("candidates", values.pop("candidate", ()))
        if isinstance(candidates, str):
            candidates = [candidates]
        _texts(candidates, "candidates", source)
        given = {_KEYS[key]: _typed(key, value, source) for key, value in values.items()}
        return cls(
            candidates=tuple(candidates),
            claims=tuple(_claim(claim, f"{source}, claim {place}") for place, claim in enumerate(claims, 1)),
            **({"baseline": None} | given),
            source=source,
        )


_KEYS = {
    "candidate": "candidates",
    "candidates": "candidates",
    "baseline": "baseline",
    "claims": "claims",
    "alpha": "alpha",
    "open": "when_open",
    "budget": "budget",
    "spending": "spending",
    "shares": "shares",
    "evidence": "evidence",
    "macro": "macro",
    "weights": "weights",
    "views": "views",
    "metric": "metric",
    "metric_ranges": "metric_ranges",
    "copies": "copies",
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "open": get_args(WhenOpen),
    "spending": get_args(Budget),
    "evidence": get_args(EvidenceKind),
    "tier": get_args(Tier),
    "copies": get_args(Copies),
}


def _claim(values: Mapping[str, Any], source: str) -> Claim:
    _known(
        values, dict.fromkeys((*_KINDS, *(f.name for f in fields(Claim) if f.name not in ("kind", "amount")))), source
    )
    kinds = [kind for kind in _KINDS if kind in values]
    if len(kinds) != 1:
        raise FormatError(f"{source}: give exactly one of {', '.join(_KINDS)}")
    amount = values[kinds[0]]
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise FormatError(f"{source}: {kinds[0]} = {amount!r} is not a number")
    rest = {key: _typed(key, values[key], source) for key in ("view", "tier") if key in values}
    try:
        return Claim(kind=kinds[0], amount=float(amount), **rest)
    except DomainError as error:
        raise DomainError(f"{source}: {error}") from None


def _typed(key: str, value: Any, source: str) -> Any:  # noqa: ANN401 - values of a file
    if key == "alpha":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FormatError(f"{source}: alpha = {value!r} is not a number")
        return float(value)
    if key == "metric_ranges":
        return _ranges(value, source)
    if key in ("budget", "shares"):
        if type(value) is not int:
            what = "runs" if key == "budget" else "uses"
            raise FormatError(f"{source}: {key} = {value!r} is not a whole number of {what}")
        return value
    if not isinstance(value, str) or not value:
        raise FormatError(f"{source}: {key} = {value!r} is not a text")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise FormatError(f"{source}: {key} = {value!r} is not known; choose one of {', '.join(_CHOICES[key])}")
    return value


def _ranges(value: object, source: str) -> dict[str, tuple[float, float]]:
    ranges: dict[str, tuple[float, float]] = {}
    for name, ends in (value if isinstance(value, dict) else {"": value}).items():
        pair = ends if isinstance(ends, list) else []
        numbers = [float(end) for end in pair if isinstance(end, int | float) and not isinstance(end, bool)]
        if not name or len(pair) != 2 or len(numbers) != 2 or not math.isfinite(numbers[1] - numbers[0]):
            raise FormatError(
                f"{source}: metric_ranges are not pairs of a worst and a best value; write for instance "
                "[metric_ranges] and cost = [1.0, 0.0]"
            )
        if numbers[0] == numbers[1]:
            raise DomainError(f"{source}: the range of {quoted(name)} has one value; give the worst and the best one")
        ranges[name] = (numbers[0], numbers[1])
    return ranges


def _texts(values: object, key: str, source: str) -> None:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) and value for value in values):
        raise FormatError(f"{source}: {key} = {values!r} is not a name or a list of names")
    if len(set(values)) < len(values):
        raise FormatError(f"{source}: a name is twice in {key}")


def _known(values: Mapping[str, Any], known: Mapping[str, Any], source: str) -> None:
    for key in values:
        if key not in known:
            raise FormatError(f"{source}: unknown key {quoted(key)}{nearest(key, tuple(known))}")


def nearest(name: str, names: Sequence[str]) -> str:
    """A clause that proposes the nearest name there is.

    >>> nearest("not_worse", ["not_worse_by", "alpha"])
    "; did you mean 'not_worse_by'?"
    """
    return did_you_mean(name, names) or f"; there are {listed(names, limit=12)}"
