"""The design: everything that must be frozen before the first panel is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints, check_checkpoints
from bbedge.core.family import Family, Levels
from bbedge.core.panels import BlockLayout, block_members, content_hash
from bbedge.core.stakes import (
    BY_SIZE,
    LEAST_PLANNED,
    NARROW,
    EntryGroup,
    Stakes,
    StakeSize,
    check_stakes,
    design_entries,
    design_stakes,
    entry_groups,
    fitted_entries,
    fitted_stakes,
    given_stakes,
    paper_stakes,
    planned_scores,
    wide_max,
)
from bbedge.core.views import (
    HEADLINE,
    View,
    allot_shares,
    check_choice,
    check_names,
    check_views,
    check_weights,
    for_both_targets,
)
from bbedge.errors import Argument, DesignError, DomainError
from bbedge.records.codec import plain, record_from_arguments
from bbedge.records.options import OptionArguments, Options, ResolvedOptions, declared
from bbedge.records.values import EvidenceKind, Gaps, StakeRule, Target, changed

BETTING_LIMIT = 2_000_000_000
"""``bb-edge-x`` uses exact logarithms up to this many (direction, block, stake) triples a replicate, else ``sharp``."""

STAGGERED_LIMIT = 250_000
"""``bb-edge-x`` uses staggered e-Holm up to this many directions (500 models), else direct e-Holm."""

_CONTENT_VERSION = 1


class Design(ResolvedOptions, frozen=True, kw_only=True):
    """A frozen design: options, resolved for models, items and blocks.

    Make one with :meth:`Design.make`, which fills in what a method prescribes.

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
    grid: Stakes
    """The stakes and their mixture weights; those of the rule, if ``stakes`` names one."""
    family: Family
    """The tested directions."""
    weights: tuple[float, ...] | None = None
    """The weight of each item in the means that are compared, on any scale; ``None`` if all weigh the same."""
    share: float = 1.0
    """What these means have of ``alpha``; other views have the rest."""
    views: tuple[View, ...] = ()
    """Other means under the same ``alpha``, and with two targets the same means of new items. What is said above of
    means is the headline's."""
    gaps: Gaps = "refuse"
    """What a missing score does."""
    checkpoints: Checkpoints | None = None
    """Looks inside the first run; ``None`` if only complete runs are looked at."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("model", self.models, at_least=2)
        check_names("item", self.items, at_least=1)
        if len(self.blocks) != len(self.items):
            raise DesignError(
                f"{len(self.items)} items but {len(self.blocks)} block labels; give one block label per item"
            )
        if self.weights is not None:
            check_weights(self.weights, self.items)
        check_views(self.views, self.share, self.items)
        # Below zero an edge proves no order: two models may both exceed each other by more than that.
        if self.tau < 0.0 and self.n_directions > 1:
            raise DomainError(
                Argument("tau", self.tau), " is not allowed; choose 0 <= tau < 1 as a fraction of the score range"
            )
        self.family.check(self.models)
        check_stakes(self)
        check_checkpoints(self)

    @classmethod
    def make(
        cls,
        models: Sequence[str],
        items: Sequence[str],
        *,
        blocks: Sequence[str] | Literal["item", "one"] | None = None,
        grid: Stakes | Sequence[float] | None = None,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
        weights: Sequence[float] | None = None,
        views: Mapping[str, Sequence[float]] | None = None,
        shares: Mapping[str, float] | None = None,
        gaps: Gaps = "refuse",
        checkpoints: Checkpoints | None = None,
        **options: Unpack[OptionArguments],
    ) -> Design:
        """Build a design from options, which are described at :class:`~bbedge.records.options.Options`.

        ``blocks`` holds one label per item, or is ``"item"`` (every item for itself, the default) or ``"one"`` (the
        complete run is one block: the fallback when independence between blocks cannot be justified). ``grid`` has
        stakes of your own instead of those of a rule. ``candidate`` restricts the tests to the directions from these
        models to all others, ``newcomer`` to those that touch it. ``weights`` holds one weight per item, at least 0 and
        on any scale: the means that are compared are weighted; if all are the same, that is the design without weights.
        ``views`` names further means that are compared under the same ``alpha``, each with its weights; one without any
        weight is left out. ``shares`` says what they have of ``alpha``, as
        :func:`~bbedge.core.views.allot_shares` explains; the main view is called ``headline`` there. With
        ``gaps="worst-case"`` a score may be missing (NaN): it then counts against whichever model it could help.
        ``checkpoints`` are looks inside the first run, whose blocks are then run in an order drawn from a seed.
        """
        declared = record_from_arguments(Options, {k: v for k, v in options.items() if v is not None})
        check_choice("rule for missing scores", gaps, ("refuse", "worst-case"))
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
        if weights is not None and len(set(weights)) == 1 and weights[0] > 0.0:
            check_weights(weights, items)
            weights = None
        others = {name: tuple(map(float, given)) for name, given in (views or {}).items() if any(given)}
        parts = allot_shares(
            tuple(others), {k: v for k, v in (shares or {}).items() if k not in (views or {}) or k in others}
        )
        own, share = None if weights is None else tuple(map(float, weights)), parts[HEADLINE]
        compared = tuple(View(name=name, weights=given, share=parts[name]) for name, given in others.items())
        if declared.target == "both":
            compared = for_both_targets(compared, own or (1.0,) * len(items), share)
        # Validates everything the stake rule is about to be computed from.
        draft = cls(
            **structs.asdict(declared)
            | {
                "prediction": declared.prediction or "running-mean",
                "margin_share": declared.resolved_margin_share,
                **_STAND_IN,
            },
            models=models,
            items=items,
            blocks=labels,
            grid=paper_stakes(),
            family=family,
            weights=own,
            share=share,
            views=compared,
            gaps=gaps,
            checkpoints=checkpoints,
        )
        return draft._resolved(declared, grid)

    def _resolved(self, declared: Options, given: Stakes | Sequence[float] | None) -> Design:
        """The design with the stakes, evidence and e-Holm that were declared, or that its size chooses."""
        extended = self.has_memory
        planned = declared.planned or None
        small = self.n_directions * (1 + len(self.views)) <= STAGGERED_LIMIT and self.target != "new-items"
        chosen: StakeRule = declared.stakes or "paper"
        if extended and declared.stakes is UNSET:
            is_fitted = small and declared.holm != "direct" and declared.evidence not in NARROW
            is_fitted = is_fitted and (not planned or planned // self.runs_of_score >= LEAST_PLANNED)
            chosen = "fitted" if is_fitted else "design"
        if given is not None and declared.stakes is not UNSET:
            raise DesignError(Argument("stakes", declared.stakes), " names a rule beside a grid; keep one of them")
        rule: StakeRule | Literal["given"] = chosen if given is None else "given"
        if given is None:
            grid = self.stakes_by(chosen, planned)
        else:
            grid = given if isinstance(given, Stakes) else given_stakes(given)
        evidence = declared.evidence or (self._affordable_evidence(grid) if extended else "bernstein")
        self._check_declared(declared, rule)
        return changed(
            self,
            evidence=evidence,
            stakes=rule,
            grid=grid,
            holm=declared.holm or ("staggered" if extended and small and rule in BY_SIZE else "direct"),
            planned=planned,
        )

    def _check_declared(self, declared: Options, rule: StakeRule | Literal["given"]) -> None:
        """Refuse what evidence about new items does not have."""
        if self.target and rule != "design" and not (self.target == "both" and rule == "fitted"):
            raise DesignError(Argument("target", self.target), f" has stakes of its own; leave out the {rule} stakes")
        if self.target != "new-items":
            return
        without = {"prediction": UNSET, "mean_share": UNSET, "holm": "direct"}
        refused = [name for name, neutral in without.items() if getattr(declared, name) not in (UNSET, neutral)]
        refused += ["evidence"] if declared.evidence in ("bernstein", "hoeffding") else []
        if refused:
            name = refused[0]
            raise DesignError(
                Argument(name, getattr(declared, name)),
                " is about these items alone; leave it out, or choose ",
                Argument("target", "both"),
            )

    def stakes_by(self, rule: StakeRule, runs: int | None) -> Stakes:
        """The stakes of a rule for so many planned runs; each look at new items has those of one."""
        scores = 1 if self.target == "new-items" else runs and runs // self.runs_of_score
        if rule == "fitted":
            return fitted_stakes(self.stake_size(), scores)
        return paper_stakes() if rule == "paper" else self.rule_stakes(replicates=scores)

    def stake_size(self, *, level: float = 1.0, blocks: float = 1.0) -> StakeSize:
        """What decides about the stakes of a part of the level, and for so many times the blocks."""
        return StakeSize(
            alpha=self.certificate_alpha * level,
            cap=wide_max(self.mu0),
            n_directions=self.n_directions / self.share,
            effective_blocks=self.layout.effective_count * blocks,
        )

    def rule_stakes(self, *, replicates: int | None, level: float = 1.0, blocks: float = 1.0) -> Stakes:
        """The stakes of the design rule for planned replicates, a part of the level, and so many times the blocks."""
        return design_stakes(self.stake_size(level=level, blocks=blocks), replicates)

    def _affordable_evidence(self, stakes: Stakes) -> EvidenceKind:
        weights = (self.weights, *(view.weights for view in self.views))
        blocks = sum(BlockLayout.of(self.blocks, each).count for each in weights)
        triples = self.n_directions * blocks * len(stakes.weights)
        return "betting" if triples <= BETTING_LIMIT else "sharp"

    @property
    def parts(self) -> tuple[Design, ...]:
        """A design for each view, the headline's first: what its evidence follows. Only together they keep alpha."""
        if self.target == "both":
            return (*self.of_target("benchmark").parts, *self.of_target("new-items").parts)
        others = (
            self.with_values(views=(), weights=None if len(set(view.weights)) == 1 else view.weights, share=view.share)
            for view in self.views
        )
        return (changed(self, views=()) if self.views else self, *others)

    @property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """The places of the views that are tested together: those of each target have their own part of alpha."""
        is_new = [False, *(view.is_of_new_items for view in self.views)]
        places = (tuple(i for i, its in enumerate(is_new) if its is kind) for kind in (False, True))
        return tuple(family for family in places if family)

    def is_look(self, runs: int, earlier: Sequence[int] = ()) -> tuple[bool, ...]:
        """For each view, the headline first, whether there is a look: see :meth:`next_looks`; always inside the first.

        >>> Design.make(["a", "b"], ["q"], target="both", looks=[2, 4]).is_look(1)
        (True, False)
        """
        of_new = bool(self.target) and self.is_new_items_look(runs, earlier)
        is_new = (False, *(view.is_of_new_items for view in self.views))
        return tuple(of_new if its or self.target == "new-items" else runs % self.runs_of_score == 0 for its in is_new)

    def of_target(self, target: Target) -> Design:
        """The part of the design that is about one target, with what that has of alpha; of one target, all of it."""
        if self.target != "both":
            return self
        own = _OF_NEW_ITEMS if target == "new-items" else _OF_BENCHMARK
        views = tuple(view for view in self.views if not view.is_of_new_items)
        return self.with_values(views=views, alpha=self.target_alpha, **own)

    def with_grid(self, grid: Stakes, **values: Any) -> Design:  # noqa: ANN401 - fields of any type
        """The same design with other stakes, which all enter at the start, and with other values that need them."""
        return changed(self, stakes="given", grid=grid, holm="direct", planned=None, **values)

    def with_values(self, **values: Any) -> Design:  # noqa: ANN401 - fields of any type
        """The same design with other values, such as its share, and with the stakes that follow from them."""
        if self.stakes not in BY_SIZE:
            return changed(self, **values)
        planned, holm, rule = (values.pop(name, getattr(self, name)) for name in ("planned", "holm", "stakes"))
        chosen: StakeRule = "design" if planned and planned // self.runs_of_score < LEAST_PLANNED else rule
        draft = changed(self, **_STAND_IN, grid=paper_stakes(), **values)
        return changed(
            draft,
            stakes=chosen,
            grid=draft.stakes_by(chosen, planned),
            holm=holm,
            evidence=self.evidence,
            planned=planned,
        )

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
        return Levels.of(self)

    @property
    def entry_groups(self) -> tuple[EntryGroup, ...]:
        """The stakes by when they enter; of direct e-Holm, one group that enters before the first replicate."""
        if self.stakes == "fitted":
            return entry_groups(self.grid, fitted_entries(self.grid))
        staggered = self.holm == "staggered"
        return entry_groups(self.grid, design_entries(planned_scores(self)) if staggered else None)

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
        grid, family = self.grid, self.family
        given = {"values": list(grid.values), "weights": list(grid.weights)}
        return {**declared(self)} | {
            "version": _CONTENT_VERSION,
            "mean_share": self.mean_share or 0.0,
            "score_range": list(self.score_range),
            "share": self.share,
            "gaps": self.gaps,
            "models": sorted(self.models),
            "blocks": block_members(self.items, self.blocks),
            "stakes": given if self.stakes == "given" else self.stakes,
            "family": {"kind": family.kind, "candidate": sorted(family.candidate), "newcomer": family.newcomer},
            "weights": None if self.weights is None else dict(zip(self.items, self.weights, strict=True)),
            "views": {
                view.name: {
                    "share": view.share,
                    "weights": {i: w for i, w in zip(self.items, view.weights, strict=True) if w},
                }
                for view in self.views
            },
            "checkpoints": plain(self.checkpoints),
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the design's content, in hexadecimal: the same on every platform and run."""
        return content_hash(self.content).hexdigest()


_OF_BENCHMARK: dict[str, Any] = {"target": UNSET, "looks": UNSET, "look_weights": UNSET}
_OF_NEW_ITEMS: dict[str, Any] = {"target": "new-items", "checkpoints": None, "holm": "direct", "stakes": "design"}
# What a design is made with while the stakes of its rule are computed from the rest of it.
_STAND_IN: dict[str, Any] = {"stakes": "paper", "holm": "direct", "evidence": "bernstein", "planned": None}
