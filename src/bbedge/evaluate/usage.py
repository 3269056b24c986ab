"""What runs cost, what may be spent, and what stopping early saved.

**Guarantee:** a limit on money, tokens or time stops a study by what was spent, never by a score, and what an
incomplete replicate holds is not looked at. Certificates keep their level, and a study that goes on later ends as if it
had not been stopped. Limits are no part of the design.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bbedge.errors import EvaluationError
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import ExtraKind, Replicate, Usage
from bbedge.records.study import Price
from bbedge.text import listed

LimitName = Literal["max_cost", "max_tokens", "max_hours"]


def cost_of(used: Usage, prices: Mapping[str, Price]) -> float | None:
    """The price of it all, or ``None`` if the price of a model is not known."""
    if not used.tokens or not used.tokens.keys() <= prices.keys():
        return None
    return sum(
        (read * prices[model].input + written * prices[model].output) / 1e6
        for model, (read, written) in used.tokens.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saving:
    """What was used, beside what would have been used without stopping early."""

    used: Usage
    full: Usage
    """What all of it would have used without failures."""
    cost: float | None
    """Price of what was used; ``None`` without all prices."""
    full_cost: float | None
    """Price of all of it, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent(_Saving):
    """What a study has used, beside what its whole budget would have used.

    ``used`` are useful, failed and repeated calls, checks and pilots. ``full`` is each model's mean replicate, as often
    as the budget has any; nothing where that is not known of every model.
    """

    replicates: int
    budget: int
    """Replicates that could have been run."""
    samples: int
    """Samples that were run and scored, in replicates whose usage is known."""
    full_samples: int
    """Samples of the full budget: every sample for every model in every replicate."""
    useful: int
    """The part of the calls whose samples were scored."""
    failed: int
    """The part of the calls that was answered for attempts at samples that failed."""
    lost: int
    """The part of the calls that was sent again because an interruption came before their sample was in the journal.
    Whether they were answered is not known, and so their tokens are not."""
    checks: int
    """The part of the calls that asked the short question before a start."""
    pilot: int
    """The part of the calls that was made for dry runs."""
    unknown: int = 0
    """Replicates on the board whose usage was not found; they are in no figure but ``replicates``."""

    @property
    def saved(self) -> float:
        """The part of the full budget's calls that was not needed."""
        return 1.0 - self.used.calls / self.full.calls if self.full.calls else 0.0


def spent(
    study: EvaluationSpec,
    finished: Sequence[Replicate],
    unfinished: Collection[Replicate],
    *,
    replicates: int,
    full_samples: int,
    inside: Replicate | None,
    extras: Mapping[ExtraKind, Usage],
) -> Spent:
    """Add up the usage of every replicate and model.

    What the full budget would use is projected from finished replicates, and from the part of the first one that is
    on the board (``inside``, which is also among the unfinished): from what samples took when they succeeded, because
    an attempt that failed once does not fail in every replicate.
    """
    by_model: dict[str, list[tuple[Usage, float]]] = {}
    every, full = [*finished, *unfinished], Usage()
    for replicate in finished if inside is None else [*finished, inside]:
        for model, usage in replicate.useful.items():
            by_model.setdefault(model, []).append((usage, replicate.shares.get(model, 1.0)))
    if all(model in by_model for model in study.names):
        full = sum((_projected(each, study.file.budget) for each in by_model.values()), full)
    run = sum((each.total for each in every), Usage())
    again, wasted = sum(each.lost for each in every), sum(each.wasted_calls for each in every)
    used = sum(extras.values(), run)
    return Spent(
        replicates=replicates,
        budget=study.file.budget,
        samples=sum(each.samples for each in every),
        full_samples=full_samples,
        useful=run.calls - wasted,
        failed=wasted - again,
        lost=again,
        checks=extras["check"].calls,
        pilot=extras["pilot"].calls,
        **_with_costs(study, used, full),
        unknown=replicates - len(finished),
    )


def _with_costs(study: EvaluationSpec, used: Usage, full: Usage) -> dict[str, Any]:
    return {"used": used, "full": full, "cost": cost_of(used, study.prices), "full_cost": cost_of(full, study.prices)}


def _projected(parts: Sequence[tuple[Usage, float]], runs: int) -> Usage:
    """What so many runs would use, from the usage of some runs and the part of each that was made."""
    return sum((usage for usage, _ in parts), Usage()).scaled(runs / sum(share for _, share in parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRunSaving(_Saving):
    """What looks inside the first run saved, beside the complete run of all models.

    ``used`` is what the item runs used, without failed and repeated attempts; ``full`` is each model's mean item, as
    often as there are items.
    """

    items: int
    """Item runs that were scored, over all models."""
    full_items: int
    """Item runs of the complete run."""


def first_run_saving(study: EvaluationSpec, first: Replicate, *, items: int) -> FirstRunSaving | None:
    """What was saved in a first run that is over; ``None`` if the usage of a model is not known."""
    useful, shares = first.useful, {model: first.shares.get(model, 1.0) for model in study.names}
    if not all(share and model in useful for model, share in shares.items()):
        return None
    used = sum((useful[model] for model in shares), Usage())
    full = sum((_projected([(useful[model], share)], 1) for model, share in shares.items()), Usage())
    return FirstRunSaving(
        items=sum(round(share * items) for share in shares.values()),
        full_items=items * len(shares),
        **_with_costs(study, used, full),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A limit that was reached."""

    limit: LimitName
    """Which one."""
    allowed: float
    """What the study allows."""
    used: float
    """What was used when it was noticed."""


def reached_limit(study: EvaluationSpec, used: Usage, *, hours: float = 0.0) -> Reached | None:
    """The first limit of a study that is reached, if there is one."""
    limits = study.file
    if limits.max_cost is not None:
        unknown = sorted(set(used.tokens) - set(study.prices))
        if unknown:
            raise EvaluationError(
                f"max_cost cannot be checked, because {listed(unknown)} answered and has no price; add it under "
                "[prices], or leave out max_cost. Finished samples are kept: run the same command again to continue"
            )
    found: dict[LimitName, float] = {
        "max_cost": cost_of(used, study.prices) or 0.0,
        "max_tokens": used.total_tokens,
        "max_hours": hours,
    }
    for name, amount in found.items():
        allowed = getattr(limits, name)
        if allowed is not None and amount >= allowed:
            return Reached(limit=name, allowed=allowed, used=amount)
    return None
