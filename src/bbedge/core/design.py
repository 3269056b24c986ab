"""The design: everything that must be frozen before the first panel is seen."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bbedge.core.blocks import BlockLayout
from bbedge.core.kinds import Copies, EvidenceKind, FamilyKind, Method, PredictionRule, StakeRule
from bbedge.core.stakes import (
    CENTRED_MAX,
    Stakes,
    design_stakes,
    given_stakes,
    paper_stakes,
    wide_max,
)
from bbedge.errors import DesignError, DomainError
from bbedge.text import quoted

BETTING_LIMIT = 2_000_000_000
"""``bb-edge-x`` uses exact logarithms up to this many (direction, block, stake) triples a replicate, else ``sharp``."""

_HASH_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Which directions are tested."""

    kind: FamilyKind = "all"
    """``all`` directions, or only those from a candidate set to the models outside it."""
    candidate: tuple[str, ...] = ()
    """The Top-k candidate of a ``cross-set`` family."""
    newcomer: str | None = None
    """A model that was added later: only the directions of the family that touch it are tested."""

    def mask(self, models: Sequence[str], rows: slice = slice(None), cols: slice = slice(None)) -> NDArray[np.bool_]:
        """Tested directions as a models x models mask, row against column; or some rows and columns of it."""
        names = np.array(models, dtype=object)
        if self.kind == "all":
            places = np.arange(len(models))
            mask: NDArray[np.bool_] = places[rows, None] != places[cols]
        else:
            inside = np.isin(names, np.array(self.candidate, dtype=object))
            mask = inside[rows, None] & ~inside[cols]
        if self.newcomer is not None:
            new = names == self.newcomer
            mask &= new[rows, None] | new[cols]
        return mask

    def count(self, n_models: int) -> int:
        """Number of tested directions among so many models, without making the mask.

        >>> Family().count(50_000)
        2499950000
        """
        if self.kind == "all":
            return n_models * (n_models - 1) if self.newcomer is None else 2 * (n_models - 1)
        inside = len(set(self.candidate))
        return inside * (n_models - inside) if self.newcomer is None else inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A frozen design. Make one with :meth:`Design.make`, which fills in what a method prescribes.

    **Guarantee:** under the assumptions of ``docs/guarantees.md`` every certificate issued from this design is
    simultaneously right with probability at least ``1 - alpha``, over all tested directions and all looks.

    **Needs:** the design is chosen without looking at the panels that are then fed to it.

    >>> design = Design.make(["a", "b"], ["q1", "q2", "q3"], blocks=["d1", "d1", "d2"], tau=0.01)
    >>> design.n_directions, design.layout.count, design.evidence
    (2, 2, 'bernstein')
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
    """Margin that a certified advantage must exceed, on the [0, 1] scale."""
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

    def __post_init__(self) -> None:
        _check_names("model", self.models, at_least=2)
        _check_names("item", self.items, at_least=1)
        if len(self.blocks) != len(self.items):
            raise DesignError(
                f"{len(self.items)} items but {len(self.blocks)} block labels; give one block label per item"
            )
        if not 0.0 < self.alpha < 1.0:
            raise DomainError(f"alpha = {self.alpha} is not allowed; choose 0 < alpha < 1, for instance 0.05")
        if not 0.0 <= self.tau < 1.0:
            raise DomainError(f"tau = {self.tau} is not allowed; choose 0 <= tau < 1 as a fraction of the score range")
        low, high = self.score_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise DomainError(f"score range {low} to {high} is not allowed; give two finite numbers, lower first")
        _check_choice("method", self.method, get_args(Method))
        _check_choice("evidence", self.evidence, get_args(EvidenceKind))
        _check_choice("prediction rule", self.prediction, get_args(PredictionRule))
        _check_choice("rule for copies", self.copies, get_args(Copies))
        self._check_family()
        self._check_stakes()

    def _check_family(self) -> None:
        if self.family.newcomer is not None and self.family.newcomer not in self.models:
            raise DesignError(f"the newcomer {quoted(self.family.newcomer)} is not a model of the design")
        if self.family.kind == "all":
            return
        unknown = sorted(set(self.family.candidate) - set(self.models))
        if unknown:
            raise DesignError(f"the Top-k candidate names {quoted(unknown[0])}, which is not a model of the design")
        size = len(set(self.family.candidate))
        if not 1 <= size < len(self.models):
            raise DesignError(f"a Top-k candidate of {size} of {len(self.models)} models leaves nothing to compare")
        if self.family.newcomer in self.family.candidate:
            raise DesignError(f"the newcomer {self.family.newcomer!r} cannot be in a candidate chosen before it came")

    def _check_stakes(self) -> None:
        if self.stakes.rule != "given":
            # The hash stands for a rule's values by its name, so the values must be the rule's.
            own = self._stakes_by(self.stakes.rule)
            if len(own.values) != len(self.stakes.values) or not (
                np.allclose(own.values, self.stakes.values, rtol=1e-12, atol=0.0)
                and np.allclose(own.weights, self.stakes.weights, rtol=1e-12, atol=0.0)
            ):
                raise DesignError(f"these are not the {self.stakes.rule} stakes of this design; call other grids given")
        largest = max(self.stakes.values)
        if self.evidence in ("bernstein", "hoeffding") and self.stakes.is_wide:
            raise DesignError(
                f"stakes up to {largest:.4g} are too wide for {self.evidence} evidence, which allows at most "
                f"{CENTRED_MAX}; use sharp or betting evidence, or the paper's stakes"
            )
        limit = wide_max(self.tau)
        if largest > limit * (1 + 1e-15):
            raise DesignError(f"stake {largest:.6g} is too wide; at tau = {self.tau} at most {limit:.6g} is allowed")

    @classmethod
    def make(
        cls,
        models: Sequence[str],
        items: Sequence[str],
        *,
        blocks: Sequence[str] | Literal["item", "one"] = "item",
        alpha: float = 0.05,
        tau: float = 0.0,
        method: Method = "bb-edge",
        evidence: EvidenceKind | None = None,
        prediction: PredictionRule | None = None,
        stakes: StakeRule | Stakes | Sequence[float] | None = None,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
        score_range: tuple[float, float] = (0.0, 1.0),
        copies: Copies = "refuse",
    ) -> Design:
        """Build a design from a method, overriding the parts that are given.

        ``blocks`` holds one label per item, or is ``"item"`` (every item for itself) or ``"one"`` (the complete
        run is one block: the fallback when independence between blocks cannot be justified). ``candidate``
        restricts the tests to the directions from these models to all others, ``newcomer`` to those that touch it.
        ``copies`` says whether replicates that repeat earlier ones score by score count; if not, they are refused.
        """
        _check_choice("method", method, get_args(Method))
        models, items = tuple(models), tuple(items)
        if isinstance(blocks, str):
            _check_choice("block rule", blocks, ("item", "one"))
            labels = items if blocks == "item" else ("one",) * len(items)
        else:
            labels = tuple(blocks)
        family = Family(newcomer=newcomer)
        if candidate is not None:
            if isinstance(candidate, str):
                raise DesignError(f"the candidate {candidate!r} is a single text; give a list of model names")
            family = Family(kind="cross-set", candidate=tuple(sorted(set(candidate))), newcomer=newcomer)
        extended = method == "bb-edge-x"
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
        )
        grid = draft._stakes_by(stakes if stakes is not None else ("design" if extended else "paper"))
        if evidence is None:
            evidence = draft._affordable_evidence(grid) if extended else "bernstein"
        return replace(draft, evidence=evidence, stakes=grid)

    def _stakes_by(self, rule: str | Stakes | Sequence[float]) -> Stakes:
        if isinstance(rule, Stakes):
            return rule
        if not isinstance(rule, str):
            return given_stakes(tuple(rule))
        _check_choice("stake rule", rule, get_args(StakeRule))
        if rule == "paper":
            return paper_stakes()
        return design_stakes(
            alpha=self.alpha,
            tau=self.tau,
            n_directions=self.n_directions,
            effective_blocks=self.layout.effective_count,
        )

    def _affordable_evidence(self, stakes: Stakes) -> EvidenceKind:
        triples = self.n_directions * self.layout.count * len(stakes.values)
        return "betting" if triples <= BETTING_LIMIT else "sharp"

    @property
    def mu0(self) -> float:
        """The null value of a rescaled block difference: ``(1 + tau) / 2``."""
        return (1.0 + self.tau) / 2.0

    @property
    def layout(self) -> BlockLayout:
        """The partition of the items into blocks."""
        return BlockLayout.of(self.blocks)

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
        """The design as plain values, in the one form that is hashed.

        Models, items and blocks are sorted and blocks lose their labels, so that the order of rows in a file and
        the spelling of block names make no difference. A stake rule stands for its values: they follow from the
        rest of the design, up to the last bit of a platform's logarithm.
        """
        members: dict[str, list[str]] = {}
        for item, block in zip(self.items, self.blocks, strict=True):
            members.setdefault(block, []).append(item)
        stakes: object = self.stakes.rule
        if self.stakes.rule == "given":
            stakes = {"values": list(self.stakes.values), "weights": list(self.stakes.weights)}
        family: dict[str, object] = {"kind": self.family.kind, "candidate": sorted(self.family.candidate)}
        if self.family.newcomer is not None:
            family["newcomer"] = self.family.newcomer
        # What most designs do not say is left out, so that designs hashed by earlier versions keep their hash.
        said = {} if self.copies == "refuse" else {"copies": self.copies}
        return said | {
            "version": _HASH_VERSION,
            "models": sorted(self.models),
            "blocks": sorted(sorted(block) for block in members.values()),
            "alpha": self.alpha,
            "tau": self.tau,
            "evidence": self.evidence,
            "prediction": self.prediction,
            "stakes": stakes,
            "family": family,
            "score_range": list(self.score_range),
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the design's content, in hexadecimal: the same on every platform and run."""
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_names(what: str, names: Sequence[str], *, at_least: int) -> None:
    if len(names) < at_least:
        raise DesignError(f"{len(names)} {what}s given; at least {at_least} needed")
    if not all(isinstance(name, str) and name for name in names):
        raise DesignError(f"every {what} needs a name: a text that is not empty")
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise DesignError(
                f"{what} {quoted(name)} has an unpaired surrogate in its name; correct the name"
            ) from None
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DesignError(f"{what} {quoted(twice)} is named twice; {what} names must be unique")


def _check_choice(what: str, given: str, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise DomainError(f"unknown {what} {given!r}; choose one of {', '.join(allowed)}")
