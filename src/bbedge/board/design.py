"""The design of a board: what is frozen when it is made, and the text a team can publish beforehand."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr

from bbedge.board.views import Columns, Compared, compared, shared_out, weight_text
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.design import Design
from bbedge.core.family import Spending
from bbedge.errors import DesignError, DomainError
from bbedge.records.codec import canonical, convert, parse_toml, to_json
from bbedge.records.design import BoardOptions, Headline
from bbedge.records.events import PARTS
from bbedge.records.options import declared

_SEEDS = 2**53
"""Seeds are below this, so that programs that read JSON numbers as floats see them as they are."""


def drawn_seed() -> int:
    """A new seed, from the operating system's source of randomness."""
    return secrets.randbelow(_SEEDS)


class BoardDesign(BoardOptions, frozen=True, kw_only=True):
    """Everything about a board that does not change: not with replicates, nor with new items or models.

    **Needs:** chosen before the first panel is seen.

    >>> BoardDesign(spending="equal", shares=3).level(0) <= 0.05 / 3
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, owner, needed in (
            ("k", "family", self.family == "pilot-top-k"),
            ("pilot", "family", self.family == "pilot-top-k"),
            ("first", "pairing", self.pairing == "first"),
        ):
            value = getattr(self, name)
            if needed and (not isinstance(value, int) or value < 1):
                raise DesignError(f"{owner} = {getattr(self, owner)!r} needs {name}: a whole number of at least 1")
            if not needed and value is not UNSET:
                raise DesignError(
                    f"{name} = {value} has no meaning with {owner} = {getattr(self, owner)!r}; leave it out"
                )
        self.level(0)  # refuses a spending rule that is none
        # Frozen as a number: what a later version of bbedge prefers must not change a board.
        if self.has_memory:
            force_setattr(self, "margin_share", self.resolved_margin_share)
        evidence = self.evidence or ("betting" if self.has_memory else "bernstein")
        stakes = self.stakes or ("design" if self.has_memory else "paper")
        if stakes == "design" and evidence in ("bernstein", "hoeffding"):
            raise DesignError(
                f"design stakes can become too wide for {evidence} evidence as the board grows; "
                "use sharp or betting evidence, or the paper's stakes"
            )
        headline, views = shared_out(self.headline or Headline(), self.views or None)
        force_setattr(self, "headline", UNSET if headline == Headline() else headline)
        force_setattr(self, "views", views or UNSET)
        self._check_checkpoints()
        self._made(["a", "b"], ["q"], ["q"], Compared(), level=self.alpha)  # the core judges the rest

    def _check_checkpoints(self) -> None:
        if self.checkpoints is UNSET:
            return
        if not self.has_memory:
            raise DesignError(f"checkpoints are not part of {self.method}; leave them out")
        if (self.pilot or 0) >= PARTS:
            raise DesignError(f"a pilot of {self.pilot:,} replicates is too long; choose at most {PARTS - 1:,}")

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
        found = compared(self.headline or Headline(), self.views or None, items, columns or {})
        checkpoints = None if not self.checkpoints or order_seed is None else self.checkpoints.seeded(order_seed)
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
        options = declared(self)
        options["alpha"] = level
        return Design.make(
            models,
            items,
            blocks=blocks,
            candidate=candidate,
            newcomer=newcomer,
            weights=found.weights,
            views=found.views,
            shares=found.shares,
            gaps="worst-case" if self.incomplete == "worst-case" else "refuse",
            checkpoints=checkpoints,
            **options,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the items that the design uses, in order."""
        rules = (rule for rule in (self.headline, self.views) if rule)
        return tuple(sorted({column for rule in rules for column in rule.columns}))

    def kept_columns(self, columns: Columns) -> dict[str, tuple[str, ...]]:
        """Those of the columns that the design uses, in the form in which they are frozen.

        Weights are written as Python writes numbers, so that 2 and 2.0 are the same.
        """
        weights = {self.headline.weights} if self.headline else set()
        weights |= set(self.views.weights.values()) if self.views else set()
        return {
            name: tuple(map(weight_text, columns[name])) if name in weights else tuple(columns[name])
            for name in self.columns
            if name in columns
        }

    def level(self, claim: int) -> float:
        """The level of claim 0, 1, 2, ...; 0 when the budget is spent."""
        return Spending(rule=self.spending, shares=self.shares or None).level(claim, alpha=self.alpha)

    @property
    def content(self) -> dict[str, object]:
        """The design as plain values, without what is not set."""
        content: dict[str, object] = json.loads(to_json(self))
        return content

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


def _digest(content: object) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
