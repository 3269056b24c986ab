"""The design of a board: what is frozen when it is made, and the text a team can publish beforehand."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec import field
from msgspec.structs import force_setattr

from bbedge.board.views import Columns, Compared, Headline, Views, compared, shared_out, weight_text
from bbedge.core.checkpoints import COMPLETE, FRACTIONS, Checkpoints
from bbedge.core.design import MARGIN_SHARE, Design
from bbedge.core.family import Spending
from bbedge.errors import DesignError, DomainError
from bbedge.records.codec import canonical, convert, parse_toml, plain
from bbedge.records.events import MOST_PILOTS
from bbedge.records.values import Copies, EvidenceKind, Method, PredictionRule, SpendingRule, StakeRule, Strict

BoardFamily = Literal["all", "pilot-top-k"]
Pairing = Literal["all", "first"]
IncompleteRule = Literal["refuse", "worst-case", "zero"]
"""What a missing score does: it stops the command, counts against whichever model it could help, or is a failure."""


_SEEDS = 2**53
"""Seeds are below this, so that programs that read JSON numbers as floats see them as they are."""


class CheckpointRule(Strict, frozen=True, kw_only=True):
    """The looks inside the first pass of every version of the benchmark.

    They are valid because the order of the blocks is drawn at random once the items are known. So a design has no seed:
    the board draws one whenever a version of the benchmark begins, and an event states it.

    >>> CheckpointRule(fractions=(0.1, 0.5), complete=0.6).weights
    (0.2, 0.2)
    """

    fractions: tuple[float, ...] = FRACTIONS
    """The part of all blocks that is complete at each checkpoint, rising."""
    weights: tuple[float, ...] = ()
    """The weight of each checkpoint in the evidence; equal parts of what complete passes leave, if none are given."""
    complete: float = COMPLETE
    """The weight of complete passes. With those of the checkpoints it adds up to 1."""

    def __post_init__(self) -> None:
        # Frozen as numbers: what a later version of bbedge prefers must not change a board.
        stated = self.seeded(0)
        force_setattr(self, "fractions", stated.fractions)
        force_setattr(self, "weights", stated.weights)

    def seeded(self, order_seed: int) -> Checkpoints:
        """The checkpoints of a version whose order has this seed."""
        return Checkpoints(
            order_seed=order_seed, fractions=self.fractions, weights=self.weights, complete=self.complete
        )


def drawn_seed() -> int:
    """A new seed, from the operating system's source of randomness."""
    return secrets.randbelow(_SEEDS)


class BoardDesign(Strict, frozen=True, kw_only=True):
    """Everything about a board that does not change: not with replicates, nor with new items or models.

    **Needs:** chosen before the first panel is seen.

    >>> BoardDesign(spending="equal", shares=3).level(0) <= 0.05 / 3
    True
    """

    alpha: float = 0.05
    """Largest allowed probability of any false certificate in the whole life of the board."""
    tau: float = 0.0
    """Margin that a certified advantage must exceed, on the [0, 1] scale."""
    method: Method = "bb-edge-x"
    """The preset."""
    evidence: EvidenceKind | None = None
    """Overrides the method's evidence."""
    prediction: PredictionRule | None = None
    """Overrides the method's prediction rule."""
    stakes: StakeRule | None = None
    """Overrides the method's stakes."""
    score_range: tuple[float, float] = (0.0, 1.0)
    """The scale of the scores."""
    family: BoardFamily = "all"
    """All directions, or only those from a Top-k candidate that a pilot chooses."""
    k: int | None = None
    """Size of the candidate of ``pilot-top-k``."""
    pilot: int | None = None
    """Number of pilot replicates of ``pilot-top-k``; they choose the candidate and never become evidence."""
    spending: SpendingRule = "open-ended"
    """How ``alpha`` is shared out over epochs and added models."""
    shares: int | None = None
    """Number of claims that ``equal`` spending pays for."""
    pairing: Pairing = "all"
    """With which stored replicates a new model's runs are joined, in order: all of them, or the first few."""
    first: int | None = None
    """How many, for pairing ``first``."""
    copies: Copies = "refuse"
    """Whether replicates that repeat earlier ones score by score count; if not, they stop the command."""
    margin_share: float | None = None
    """The part of every level that margins spend; the method's own, if not given."""
    mean_share: float | None = None
    """The part of every level that intervals for the models' own means spend; ``None`` if there are none."""
    planned: int | None = None
    """The number of replicates that are planned for a version of the benchmark, stated beforehand."""
    headline: Headline = field(default_factory=Headline)
    """The means that the main leaderboard compares."""
    views: Views | None = None
    """Other means that are compared under the same ``alpha``."""
    incomplete: IncompleteRule = "refuse"
    """What a missing score does. With ``zero`` a score that is missing is defined as the lowest one."""
    checkpoints: CheckpointRule | None = None
    """Looks inside the first pass of every version; ``None`` if only complete passes are looked at."""

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed and not (value is None and name in _OPTIONAL):
                raise DesignError(f"{name} = {value!r} is not allowed; choose one of {', '.join(allowed)}")
        for name, owner, needed in (
            ("k", "family", self.family == "pilot-top-k"),
            ("pilot", "family", self.family == "pilot-top-k"),
            ("first", "pairing", self.pairing == "first"),
        ):
            value = getattr(self, name)
            if needed and (not isinstance(value, int) or value < 1):
                raise DesignError(f"{owner} = {getattr(self, owner)!r} needs {name}: a whole number of at least 1")
            if not needed and value is not None:
                raise DesignError(
                    f"{name} = {value} has no meaning with {owner} = {getattr(self, owner)!r}; leave it out"
                )
        Spending(rule=self.spending, shares=self.shares)
        # Frozen as a number: what a later version of bbedge prefers must not change a board.
        if self.margin_share is None and self.method == "bb-edge-x":
            force_setattr(self, "margin_share", MARGIN_SHARE)
        if self.mean_share == 0.0:
            force_setattr(self, "mean_share", None)  # one design, one hash
        evidence = self.evidence or ("bernstein" if self.method == "bb-edge" else "betting")
        stakes = self.stakes or ("paper" if self.method == "bb-edge" else "design")
        if stakes == "design" and evidence in ("bernstein", "hoeffding"):
            raise DesignError(
                f"design stakes can become too wide for {evidence} evidence as the board grows; "
                "use sharp or betting evidence, or the paper's stakes"
            )
        headline, views = shared_out(self.headline, self.views)
        force_setattr(self, "headline", headline)
        force_setattr(self, "views", views)
        self._check_checkpoints()
        self._made(["a", "b"], ["q"], ["q"], Compared(), level=self.alpha)  # the core judges the rest

    def _check_checkpoints(self) -> None:
        if self.checkpoints is None:
            return
        if self.method == "bb-edge":
            raise DesignError(f"checkpoints are not part of {self.method}; leave them out")
        if (self.pilot or 0) > MOST_PILOTS:
            raise DesignError(f"a pilot of {self.pilot:,} replicates is too long; choose at most {MOST_PILOTS:,}")

    @classmethod
    def from_toml(cls, text: str, *, source: str = "design", otherwise: Mapping[str, Any] | None = None) -> BoardDesign:
        """Read a design file; unknown keys and values of the wrong type are refused.

        ``otherwise`` has values for keys that the file leaves out.
        """
        return cls.from_values({**(otherwise or {}), **parse_toml(text, source=source)}, source=source)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], *, source: str = "design") -> BoardDesign:
        """A design from plain values, such as those of a file or its :attr:`content`; the rest has its default."""
        try:
            return convert(values, cls, source=source)
        except DomainError as error:
            raise DesignError(str(error)) from error

    def core_design(
        self,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str],
        *,
        level: float,
        columns: Columns | None = None,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
        order_seed: int | None = None,
    ) -> Design:
        """The statistical design of one stage; ``columns`` has the :attr:`columns` of the items.

        ``order_seed`` is that of the version of the benchmark, if the design has checkpoints.
        """
        found = compared(self.headline, self.views, items, columns or {})
        checkpoints = None if self.checkpoints is None or order_seed is None else self.checkpoints.seeded(order_seed)
        return self._made(
            models,
            items,
            blocks,
            found,
            level=level,
            candidate=candidate,
            newcomer=newcomer,
            checkpoints=checkpoints,
        )

    def _made(
        self,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str],
        found: Compared,
        *,
        level: float,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> Design:
        return Design.make(
            models,
            items,
            blocks=blocks,
            alpha=level,
            tau=self.tau,
            method=self.method,
            evidence=self.evidence,
            prediction=self.prediction,
            stakes=self.stakes,
            score_range=self.score_range,
            candidate=candidate,
            newcomer=newcomer,
            copies=self.copies,
            margin_share=self.margin_share,
            mean_share=self.mean_share or 0.0,
            planned=self.planned,
            weights=found.weights,
            views=found.views,
            shares=found.shares,
            gaps="worst-case" if self.incomplete == "worst-case" else "refuse",
            checkpoints=checkpoints,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the items that the design uses, in order."""
        views = () if self.views is None else self.views.columns
        return tuple(sorted({*self.headline.columns, *views}))

    def kept_columns(self, columns: Columns) -> dict[str, tuple[str, ...]]:
        """Those of the columns that the design uses, in the form in which they are frozen.

        Weights are written as Python writes numbers, so that 2 and 2.0 are the same.
        """
        weights = {self.headline.weights, *(() if self.views is None else self.views.weights.values())}
        return {
            name: tuple(map(weight_text, columns[name])) if name in weights else tuple(columns[name])
            for name in self.columns
            if name in columns
        }

    def level(self, claim: int) -> float:
        """The level of claim 0, 1, 2, ...; 0 when the budget is spent."""
        return Spending(rule=self.spending, shares=self.shares).level(claim, alpha=self.alpha)

    @property
    def content(self) -> dict[str, object]:
        """The design as plain values, without what is not set."""
        values = {name: value for name, value in plain(self).items() if value is not None}
        for name in ("headline", "views"):
            if name in values:
                values[name] = {key: value for key, value in values[name].items() if value not in (None, {})}
        if not values["headline"]:
            del values["headline"]
        values["score_range"] = list(self.score_range)
        if self.checkpoints is not None:
            values["checkpoints"] = {
                **values["checkpoints"],
                **{key: list(getattr(self.checkpoints, key)) for key in ("fractions", "weights")},
            }
        return values

    @property
    def hash(self) -> str:
        """SHA-256 of the design's content, in hexadecimal."""
        return _digest(self.content)

    @property
    def filled_in(self) -> dict[str, object]:
        """What this design has for the keys that a file may leave out and commands fill in."""
        return {key: self.content[key] for key in FILLED_IN if key in self.content}

    def registration(
        self,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str],
        columns: Columns | None = None,
        *,
        order_seed: int | None = None,
    ) -> str:
        """SHA-256 of everything that is frozen when a board is made: the design, models, items, blocks and columns.

        With checkpoints also the seed of the order in which blocks are run.
        """
        content: dict[str, object] = {"design": self.content, "models": [*models], "items": [*items]}
        content["blocks"] = [*blocks]
        if columns:
            content["columns"] = {name: [*texts] for name, texts in columns.items()}
        if order_seed is not None:
            content["order_seed"] = order_seed
        return _digest(content)


FILLED_IN = ("planned",)
"""What a file may leave out and commands fill in."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(Method),
    "evidence": get_args(EvidenceKind),
    "prediction": get_args(PredictionRule),
    "stakes": get_args(StakeRule),
    "family": get_args(BoardFamily),
    "spending": get_args(SpendingRule),
    "pairing": get_args(Pairing),
    "copies": get_args(Copies),
    "incomplete": get_args(IncompleteRule),
}
_OPTIONAL = ("evidence", "prediction", "stakes")


def _digest(content: object) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
