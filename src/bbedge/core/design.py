"""The design: everything that must be frozen before the first panel is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints, check_checkpoints
from bbedge.core.family import Family, Levels, check_level_shares
from bbedge.core.panels import BlockLayout, block_members, content_hash
from bbedge.core.stakes import (
    EntryGroup,
    Stakes,
    design_entries,
    design_stakes,
    entry_groups,
    given_stakes,
    paper_stakes,
)
from bbedge.core.views import HEADLINE, View, allot_shares, check_choice, check_names, check_views, check_weights
from bbedge.errors import Argument, DesignError, DomainError
from bbedge.records.values import Copies, EvidenceKind, Gaps, Holm, Method, PredictionRule, StakeRule

BETTING_LIMIT = 2_000_000_000
"""``bb-edge-x`` uses exact logarithms up to this many (direction, block, stake) triples a replicate, else ``sharp``."""

STAGGERED_LIMIT = 250_000
"""``bb-edge-x`` uses staggered e-Holm up to this many directions (500 models), else direct e-Holm."""

MARGIN_SHARE = 0.2
"""The part of alpha that ``bb-edge-x`` spends on margins."""

_CONTENT_VERSION = 1
_PLAIN = (
    "method", "alpha", "tau", "evidence", "prediction", "copies", "margin_share", "mean_share", "holm", "planned",
    "share", "gaps",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A frozen design. Make one with :meth:`Design.make`, which fills in what a method prescribes.

    **Guarantee:** under the assumptions of ``docs/guarantees.md`` every certificate issued from this design is
    simultaneously right with probability at least ``1 - alpha``, over all tested directions and all looks.

    **Needs:** the design is chosen without looking at the panels that are then fed to it.

    >>> design = Design.make(["a", "b"], ["q1", "q2", "q3"], blocks=["d1", "d1", "d2"], tau=0.01)
    >>> design.n_directions, design.layout.count, design.evidence
    (2, 2, 'betting')
    """

    models: tuple[str, ...]
    """Names of the models; the row order of every panel."""
    items: tuple[str, ...]
    """Names of the items; the column order of every panel."""
    blocks: tuple[str, ...]
    """Label of the block of each item."""
    alpha: float
    """Largest allowed probability of any false certificate."""
    tau: float
    """Margin that a certified advantage must exceed, on the [0, 1] scale; below 0 only with one tested direction."""
    method: Method
    """The preset that the design started from."""
    evidence: EvidenceKind
    """How the e-processes are built."""
    prediction: PredictionRule
    """How the next block score is predicted from earlier replicates."""
    stakes: Stakes
    """The stake grid and its mixture weights."""
    family: Family
    """The tested directions."""
    score_range: tuple[float, float]
    """The scale of the raw scores, which panels map to [0, 1]."""
    copies: Copies = "refuse"
    """Whether replicates that repeat earlier ones score by score count."""
    margin_share: float = 0.0
    """The part of ``alpha`` that margins spend; certificates have the rest. With 0, each has ``alpha`` for itself."""
    mean_share: float = 0.0
    """The part of ``alpha`` that the intervals of means spend, out of the certificates' part. With 0 there are none."""
    holm: Holm = "direct"
    """How evidence becomes edges."""
    planned: int | None = None
    """The number of replicates that the stakes were made for, stated beforehand; more or fewer are valid too."""
    weights: tuple[float, ...] | None = None
    """The weight of each item in the means that are compared, on any scale; ``None`` if all weigh the same."""
    share: float = 1.0
    """What these means have of ``alpha``; other views have the rest."""
    views: tuple[View, ...] = ()
    """Other means that are compared under the same ``alpha``. What is said above of means is the headline's."""
    gaps: Gaps = "refuse"
    """What a missing score does."""
    checkpoints: Checkpoints | None = None
    """Looks inside the first pass; ``None`` if only complete passes are looked at."""

    def __post_init__(self) -> None:
        check_names("model", self.models, at_least=2)
        check_names("item", self.items, at_least=1)
        if len(self.blocks) != len(self.items):
            raise DesignError(
                f"{len(self.items)} items but {len(self.blocks)} block labels; give one block label per item"
            )
        if self.weights is not None:
            check_weights(self.weights, self.items)
        check_views(self.views, self.share, self.items)
        if not 0.0 < self.alpha < 1.0:
            raise DomainError(f"alpha = {self.alpha} is not allowed; choose 0 < alpha < 1, for instance 0.05")
        # Below zero an edge proves no order: two models may both exceed each other by more than that.
        if not (0.0 <= self.tau < 1.0 or (-1.0 < self.tau < 0.0 and self.n_directions == 1)):
            raise DomainError(f"tau = {self.tau} is not allowed; choose 0 <= tau < 1 as a fraction of the score range")
        low, high = self.score_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise DomainError(f"score range {low} to {high} is not allowed; give two finite numbers, lower first")
        for what, given, kind in (
            ("method", self.method, Method),
            ("evidence", self.evidence, EvidenceKind),
            ("prediction rule", self.prediction, PredictionRule),
            ("rule for copies", self.copies, Copies),
            ("kind of e-Holm", self.holm, Holm),
            ("rule for missing scores", self.gaps, Gaps),
        ):
            check_choice(what, given, get_args(kind))
        self._check_shares()
        self.family.check(self.models)
        self._check_stakes()
        check_checkpoints(self)

    def _check_shares(self) -> None:
        check_level_shares(self.margin_share, self.mean_share if self.has_memory else 0.0)
        if self.planned is not None and not (type(self.planned) is int and self.planned >= 1):
            raise DomainError(
                f"{self.planned!r} planned replicates are not possible; give a whole number of at least 1"
            )
        if not self.has_memory:
            for name, value, default in (
                ("margin_share", self.margin_share, 0.0),
                ("mean_share", self.mean_share, 0.0),
                ("holm", self.holm, "direct"),
                ("planned", self.planned, None),
            ):
                if value != default:
                    raise DesignError(Argument(name, value), f" is not part of {self.method}; leave it out")
        if self.holm == "staggered" and self.stakes.rule != "design":
            raise DesignError("staggered e-Holm needs the design stakes, whose rule says when each enters")

    def _check_stakes(self) -> None:
        if self.stakes.rule != "given":
            # The hash stands for a rule's values by its name, so the values must be the rule's.
            own = self._stakes_by(self.stakes.rule)
            if len(own.values) != len(self.stakes.values) or not (
                np.allclose(own.values, self.stakes.values, rtol=1e-12, atol=0.0)
                and np.allclose(own.weights, self.stakes.weights, rtol=1e-12, atol=0.0)
            ):
                raise DesignError(f"these are not the {self.stakes.rule} stakes of this design; call other grids given")
        self.stakes.check_width(self.evidence, self.tau)

    @classmethod
    def make(
        cls,
        models: Sequence[str],
        items: Sequence[str],
        *,
        blocks: Sequence[str] | Literal["item", "one"] | None = None,
        alpha: float = 0.05,
        tau: float = 0.0,
        method: Method = "bb-edge-x",
        evidence: EvidenceKind | None = None,
        prediction: PredictionRule | None = None,
        stakes: StakeRule | Stakes | Sequence[float] | None = None,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
        score_range: tuple[float, float] = (0.0, 1.0),
        copies: Copies = "refuse",
        margin_share: float | None = None,
        mean_share: float = 0.0,
        planned: int | None = None,
        holm: Holm | None = None,
        weights: Sequence[float] | None = None,
        views: Mapping[str, Sequence[float]] | None = None,
        shares: Mapping[str, float] | None = None,
        gaps: Gaps = "refuse",
        checkpoints: Checkpoints | None = None,
    ) -> Design:
        """Build a design from a method, overriding the parts that are given.

        ``blocks`` holds one label per item, or is ``"item"`` (every item for itself, the default) or ``"one"`` (the
        complete run is one block: the fallback when independence between blocks cannot be justified). ``candidate``
        restricts the tests to the directions from these models to all others, ``newcomer`` to those that touch it.
        ``copies`` says whether replicates that repeat earlier ones score by score count; if not, they are refused.
        ``weights`` holds one weight per item, at least 0 and on any scale: the means that are compared are weighted; if
        all are the same, that is the design without weights. ``views`` names further means that are compared under the
        same ``alpha``, each with its weights; one without any weight is left out. ``shares`` says what they have of
        ``alpha``, as :func:`~bbedge.core.views.allot_shares` explains; the main view is called ``headline`` there. With
        ``gaps="worst-case"`` a score may be missing (NaN): it then counts against whichever model it could help.
        ``checkpoints`` are looks inside the first pass, whose blocks are then run in an order drawn from a seed.

        For ``bb-edge-x``: ``margin_share`` is the part of ``alpha`` that margins spend, ``mean_share`` that of
        intervals for the models' own means (for instance 0.1), ``planned`` the number of replicates that are planned,
        if that was decided without looking at scores, and ``holm`` overrides what the size of the design chooses.
        """
        check_choice("method", method, get_args(Method))
        models, items = tuple(models), tuple(items)
        if blocks is None or isinstance(blocks, str):
            blocks = blocks or "item"
            check_choice("block rule", blocks, ("item", "one"))
            labels = items if blocks == "item" else ("one",) * len(items)
        else:
            labels = tuple(blocks)
        family = Family(newcomer=newcomer)
        if candidate is not None:
            if isinstance(candidate, str):
                raise DesignError(f"the candidate {candidate!r} is a single text; give a list of model names")
            family = Family(kind="cross-set", candidate=tuple(sorted(set(candidate))), newcomer=newcomer)
        extended = method == "bb-edge-x"
        if margin_share is None:
            margin_share = MARGIN_SHARE if extended else 0.0
        if weights is not None and len(set(weights)) == 1 and weights[0] > 0.0:
            check_weights(weights, items)
            weights = None
        others = {name: tuple(map(float, given)) for name, given in (views or {}).items() if any(given)}
        parts = allot_shares(
            tuple(others), {k: v for k, v in (shares or {}).items() if k not in (views or {}) or k in others}
        )
        # Validates everything the stake rule is about to be computed from.
        draft = cls(
            models=models,
            items=items,
            blocks=labels,
            alpha=float(alpha),
            tau=float(tau),
            method=method,
            evidence="bernstein",
            prediction=prediction or "running-mean",
            stakes=paper_stakes(),
            family=family,
            score_range=(float(score_range[0]), float(score_range[1])),
            copies=copies,
            margin_share=float(margin_share),
            mean_share=float(mean_share),
            planned=planned,
            weights=None if weights is None else tuple(map(float, weights)),
            share=parts[HEADLINE],
            views=tuple(View(name=name, weights=given, share=parts[name]) for name, given in others.items()),
            gaps=gaps,
            checkpoints=checkpoints,
        )
        grid = draft._stakes_by(stakes if stakes is not None else ("design" if extended else "paper"))
        if evidence is None:
            evidence = draft._affordable_evidence(grid) if extended else "bernstein"
        if planned is not None and grid.rule != "design":
            raise DesignError(Argument("planned", planned), f" has no meaning with {grid.rule} stakes; leave it out")
        if holm is None:
            small = draft.n_directions * (1 + len(draft.views)) <= STAGGERED_LIMIT and grid.rule == "design"
            holm = "staggered" if extended and small else "direct"
        return replace(draft, evidence=evidence, stakes=grid, holm=holm)

    def _stakes_by(self, rule: str | Stakes | Sequence[float]) -> Stakes:
        if isinstance(rule, Stakes):
            return rule
        if not isinstance(rule, str):
            return given_stakes(tuple(rule))
        check_choice("stake rule", rule, get_args(StakeRule))
        return paper_stakes() if rule == "paper" else self.rule_stakes(replicates=self.planned)

    def rule_stakes(self, *, replicates: int | None, level: float = 1.0, blocks: float = 1.0) -> Stakes:
        """The stakes of the design rule for planned replicates, a part of the level, and so many times the blocks."""
        return design_stakes(
            alpha=self.certificate_alpha * level,
            tau=self.tau,
            n_directions=self.n_directions / self.share,
            effective_blocks=self.layout.effective_count * blocks,
            planned=replicates,
        )

    def _affordable_evidence(self, stakes: Stakes) -> EvidenceKind:
        weights = (self.weights, *(view.weights for view in self.views))
        blocks = sum(BlockLayout.of(self.blocks, each).count for each in weights)
        triples = self.n_directions * blocks * len(stakes.values)
        return "betting" if triples <= BETTING_LIMIT else "sharp"

    @property
    def parts(self) -> tuple[Design, ...]:
        """A design for each view, the headline's first: what its evidence follows. Only together they keep alpha."""
        others = (self._changed(views=(), weights=view.weights, share=view.share) for view in self.views)
        return (replace(self, views=()) if self.views else self, *others)

    @property
    def shares(self) -> tuple[float, ...]:
        """What each view has of alpha, the headline first."""
        return (self.share, *(view.share for view in self.views))

    def with_planned(self, replicates: int) -> Design:
        """The same design for this number of planned replicates."""
        return self._changed(planned=replicates)

    def with_share(self, share: float) -> Design:
        """The same design as one of several that are tested together, with this part of alpha."""
        return self._changed(share=share)

    def _changed(self, **values: Any) -> Design:  # noqa: ANN401 - fields of any type
        """The design with other values, and with the stakes that follow from them."""
        if self.stakes.rule != "design":
            return replace(self, **values)
        # The paper's stakes stand in while those of the rule are made.
        draft = replace(self, stakes=paper_stakes(), holm="direct", evidence="bernstein", **values)
        return replace(draft, stakes=draft._stakes_by("design"), holm=self.holm, evidence=self.evidence)

    @property
    def certificate_alpha(self) -> float:
        """The level of the certificates: ``alpha`` less what margins and means spend."""
        return self.levels.certificates

    @property
    def margin_alpha(self) -> float:
        """The level of the margins."""
        return self.levels.margins

    @property
    def levels(self) -> Levels:
        """The level of each kind of statement."""
        return Levels.of(self.alpha, margin_share=self.margin_share, mean_share=self.mean_share)

    @property
    def is_joint(self) -> bool:
        """Whether certificates and margins hold together with probability at least ``1 - alpha``."""
        return self.margin_share > 0.0

    @property
    def has_memory(self) -> bool:
        """Whether what stands is the answer of every look: true of methods whose later looks take nothing back."""
        return self.method == "bb-edge-x"

    @property
    def entry_groups(self) -> tuple[EntryGroup, ...]:
        """The stakes by when they enter; of direct e-Holm, one group that enters before the first replicate."""
        staggered = self.holm == "staggered"
        return entry_groups(self.stakes, design_entries(self.planned) if staggered else None)

    @property
    def mu0(self) -> float:
        """The null value of a rescaled block difference: ``(1 + tau) / 2``."""
        return (1.0 + self.tau) / 2.0

    @property
    def layout(self) -> BlockLayout:
        """The partition of the items into blocks, and their weights."""
        return BlockLayout.of(self.blocks, self.weights)

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Mask of the tested directions, row against column."""
        return self.family.mask(self.models)

    @property
    def n_directions(self) -> int:
        """Number of tested directions, ``H``."""
        return self.family.count(len(self.models))

    @property
    def content(self) -> dict[str, object]:
        """The design as plain values, in the one form that is hashed: the same for designs that mean the same.

        Models, items and blocks are sorted and blocks lose their labels, so that the order of rows in a file and the
        spelling of block names make no difference. A stake rule stands for its values: they follow from the rest of
        the design, up to the last bit of a platform's logarithm.
        """
        stakes, family = self.stakes, self.family
        given = {"values": list(stakes.values), "weights": list(stakes.weights)}
        return {name: getattr(self, name) for name in _PLAIN} | {
            "version": _CONTENT_VERSION,
            "models": sorted(self.models),
            "blocks": block_members(self.items, self.blocks),
            "stakes": given if stakes.rule == "given" else stakes.rule,
            "family": {"kind": family.kind, "candidate": sorted(family.candidate), "newcomer": family.newcomer},
            "score_range": list(self.score_range),
            "weights": None if self.weights is None else dict(zip(self.items, self.weights, strict=True)),
            "views": {
                view.name: {
                    "share": view.share,
                    "weights": {i: w for i, w in zip(self.items, view.weights, strict=True) if w},
                }
                for view in self.views
            },
            "checkpoints": None if self.checkpoints is None else self.checkpoints.content,
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the design's content, in hexadecimal: the same on every platform and run."""
        return content_hash(self.content).hexdigest()
