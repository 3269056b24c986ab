"""The design of a board: what is frozen when it is made, and the text a team can publish beforehand.

A version of the benchmark may have categories that the one before did not have, so that a design freezes rules and not
views. What the rules give depends on the items and their columns alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from bbedge.core.design import Design
from bbedge.core.family import Spending, check_pilot
from bbedge.core.stakes import BY_SIZE, NARROW
from bbedge.core.views import HEADLINE, SuiteOptions, macro_weights, views_beside, views_by_column, weights_in_column
from bbedge.errors import BoardError, DesignError, DomainError, refuse_unless
from bbedge.records.codec import canonical, convert, parse_toml, to_json
from bbedge.records.design import BoardOptions, Headline, Views
from bbedge.records.events import MOST_PILOTS
from bbedge.records.options import ABOUT_TARGET, declared
from bbedge.records.values import Gaps
from bbedge.text import quoted

Columns = Mapping[str, Sequence[str]]
"""What is known of each item besides its block, by the name of the column."""

_CLOSE = 1e-9  # shares whose sum is this near one are meant to add up to one
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
        if self.family == "pilot-top-k":
            check_pilot(self)
        if (self.first or 0) % self.runs_of_score and self.target != "new-items":
            raise DesignError(
                f"first = {self.first} leaves a rest where {self.runs_of_score} runs make a score; choose a multiple"
            )
        self.level(0)  # refuses a spending rule that is none
        # Frozen as a number: what a later version of bbedge prefers must not change a board.
        if self.has_memory:
            force_setattr(self, "margin_share", self.resolved_margin_share)
        evidence = self.evidence or ("betting" if self.has_memory else "bernstein")
        stakes = self.stakes or ("design" if self.has_memory else "paper")
        if stakes in BY_SIZE and evidence in NARROW:
            raise DesignError(
                f"{stakes} stakes can become too wide for {evidence} evidence as the board grows; "
                "use sharp or betting evidence, or the paper's stakes"
            )
        headline, views = with_all_shares(self.headline or Headline(), self.views or None)
        force_setattr(self, "headline", UNSET if headline == Headline() else headline)
        force_setattr(self, "views", views or UNSET)
        self._check_checkpoints()
        Design.make(["a", "b"], ["q"], **self._core_options(self.alpha))  # the core judges the rest

    def _check_checkpoints(self) -> None:
        if self.checkpoints is UNSET:
            return
        if not self.has_memory:
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
        found = views_of_items(self.headline or Headline(), self.views or None, items, columns or {})
        return Design.make(
            models,
            items,
            blocks=blocks,
            candidate=candidate,
            newcomer=newcomer,
            checkpoints=None if not self.checkpoints or order_seed is None else self.checkpoints.seeded(order_seed),
            **found,
            **self._core_options(level),
        )

    def _core_options(self, level: float) -> dict[str, Any]:
        """What does not depend on models and items, for claims at this level."""
        return {**declared(self), "alpha": level, "gaps": self.gaps}

    @property
    def gaps(self) -> Gaps:
        """How missing scores count in panels, in which those that count as zero are zeros."""
        return "worst-case" if self.incomplete == "worst-case" else "refuse"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the items that the design uses, in order."""
        rules = (rule for rule in (self.headline, self.views) if rule)
        return tuple(sorted({column for rule in rules for column in rule.columns}))

    def checked_columns(self, items: Sequence[str], columns: Columns) -> dict[str, tuple[str, ...]]:
        """The columns of these items, if they are exactly those that the design uses, with a text for each item."""
        needed = self.columns
        for name in needed:
            refuse_unless(
                name in columns,
                f"the items have no column {quoted(name)}, which the design uses; add it to the items",
            )
            refuse_unless(
                len(columns[name]) == len(items),
                f"the column {quoted(name)} has {len(columns[name])} entries for {len(items)} items; give one each",
            )
            empty = next((item for item, text in zip(items, columns[name], strict=True) if not text), None)
            if empty is not None:
                raise BoardError(f"item {quoted(empty)} has nothing in the column {quoted(name)}; fill it in")
        extra = sorted(set(columns) - set(needed))
        if extra:
            raise BoardError(f"the items have a column {quoted(extra[0])}, which the design does not use")
        return {name: tuple(columns[name]) for name in needed}

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


FILLED_IN = ("planned", *ABOUT_TARGET)
"""What a file may leave out and commands fill in."""


def _digest(content: object) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def with_all_shares(headline: Headline, views: Views | None) -> tuple[Headline, Views | None]:
    """The same, with every part of alpha stated.

    Of what the shares of single views leave, the headline has one half and the other views the other half, unless one
    of both is stated: then the other has the rest.
    """
    if not views:
        if headline.share is not None:
            raise DesignError("a share of the headline has no meaning without views; leave it out")
        return headline, None
    rest = 1.0 - math.fsum(views.shares.values())
    share, others = headline.share, views.others
    if share is None:
        share = rest / 2 if others is None else rest - others
    if others is None:
        others = rest - share
    others = 0.0 if abs(others) <= _CLOSE else others
    if not 0.0 < share < 1.0 or not 0.0 <= others < 1.0:
        raise DomainError(
            f"the shares leave {share:g} for the headline and {others:g} for the other views; all shares together are 1"
        )
    if abs(rest - share - others) > _CLOSE:
        raise DomainError(
            f"the shares of the headline, of single views and of the others add up to {1.0 - rest + share + others:g}; "
            "they must add up to 1"
        )
    return replace(headline, share=share), replace(views, others=others)


def views_of_items(headline: Headline, views: Views | None, items: Sequence[str], columns: Columns) -> SuiteOptions:
    """What the rules give for these items; shares are as :func:`with_all_shares` states them.

    A view that compares the same means as the headline is none.
    """
    own = (
        (1.0,) * len(items)
        if headline.weights is None
        else weights_in_column(headline.weights, items, columns[headline.weights])
    )
    means = own if headline.macro is None else macro_weights(columns[headline.macro], own)
    options: SuiteOptions = {"weights": means} if len(set(means)) > 1 else {}
    if not views:
        return options
    found = {} if views.column is None else views_by_column(views.column, columns[views.column], own)
    for name, column in views.weights.items():
        if name in found:
            raise DesignError(
                f"{quoted(name)} is a view by its weights and a value of the column {quoted(str(views.column))}; "
                "rename one of them"
            )
        found[name] = weights_in_column(column, items, columns[column])
    if HEADLINE in found:
        raise DesignError(f"a view cannot be called {HEADLINE}, which is the main view; rename it")
    options["views"] = views_beside(means, found)
    options["shares"] = _shares(headline, views, tuple(options["views"]))
    return options


def _shares(headline: Headline, views: Views, names: Sequence[str]) -> dict[str, float]:
    assert headline.share is not None  # both are stated by with_all_shares
    assert views.others is not None
    unnamed = [name for name in names if name not in views.shares]
    if unnamed and not views.others:
        raise DesignError(
            f"nothing of alpha is left for the view {quoted(unnamed[0])}; give it a share of its own, or others a share"
        )
    shares = {name: views.shares.get(name, views.others / max(1, len(unnamed))) for name in names}
    unused = [share for name, share in views.shares.items() if name not in shares]
    unused += [] if unnamed else [views.others]
    return {HEADLINE: math.fsum([headline.share, *unused])} | shares


def weight_text(text: str) -> str:
    """The one text of a weight; what is not a number stays as it is, for :func:`weights_of` to refuse.

    >>> weight_text("2"), weight_text(" 0.50"), weight_text("much")
    ('2.0', '0.5', 'much')
    """
    try:
        return repr(float(text) + 0.0)  # no negative zero
    except ValueError:
        return text
