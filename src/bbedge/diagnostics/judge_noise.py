r"""How much of the noise of a judged benchmark comes from the models and how much from the judge, also in words.

An answer that is judged several times has one score per judgement. The score of replicate ``r``, judgement ``j`` is
modelled as

.. math:: Y_{rj} = \mu + A_r + E_{rj}

with independent ``A_r`` (another answer) and ``E_rj`` (another judgement of the same answer). What is reported is the
variance that each adds to the mean of a run over all items, judged once: sums over blocks, because blocks are
independent and the items of a block need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from bbedge.core.arrays import Floats
from bbedge.core.panels import BlockLayout
from bbedge.core.scores import JudgedScores
from bbedge.diagnostics.findings import Finding, finding
from bbedge.errors import DomainError
from bbedge.text import counted, quoted

Worth = Literal["runs", "judgements"]
"""What is worth paying for: more runs, or more judgements of each answer."""

MOST_JUDGEMENTS = 20
"""The most judgements of an answer that are considered."""
WORTHWHILE = 0.05
"""The part of the cost that a change must save; less is within the error of the estimates."""

_NOT_SHOWN = (
    "Whether the judge is right: what it gets wrong in every judgement is no noise, and no number of judgements "
    "removes it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseParts:
    """The two parts of the variance of a run's mean over all items, where each answer is judged once."""

    model: str | None
    """The model; None for the average over models."""
    answers: float
    """The part that comes from the answers. Unbiased, so that it can be negative where it is small."""
    judge: float
    """The part that comes from the judge, for one judgement of every answer; unbiased."""
    answers_error: float | None
    """Standard error of ``answers``, from the differences between blocks; None for a single block."""
    judge_error: float | None
    """Standard error of ``judge``, likewise."""

    @property
    def judge_share(self) -> float:
        """The judge's part of the variance, from 0 to 1; 0 where nothing varies."""
        answers, judge = max(self.answers, 0.0), max(self.judge, 0.0)
        return judge / (answers + judge) if judge else 0.0

    def variance(self, judgements: int) -> float:
        """Variance of a run's mean, where each answer is judged so often."""
        return max(self.answers, 0.0) + max(self.judge, 0.0) / judgements


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """The noise of a judged benchmark, and what is worth paying for."""

    replicates: int
    """Number of replicates."""
    judgements: int
    """How often each answer was judged."""
    cost: float
    """What a judgement costs, in units of an answer."""
    models: tuple[NoiseParts, ...]
    """Every model."""
    together: NoiseParts
    """The average over models."""
    best: int
    """The number of judgements of each answer that needs the least for a given precision."""
    saved: float
    """The part of the cost that this saves, compared with the present number of judgements."""

    @property
    def pays(self) -> bool:
        """Whether another number of judgements saves enough to be worth a change."""
        return self.best != self.judgements and self.saved >= WORTHWHILE

    @property
    def worth(self) -> Worth:
        """More judgements of each answer, or more runs: near the best number of judgements, only runs help."""
        return "judgements" if self.pays and self.best > self.judgements else "runs"


def judge_noise(judged: JudgedScores, *, cost: float = 1.0) -> JudgeNoise | None:
    r"""Split the variance of a run's mean into answers and judge, and find what is worth paying for.

    Per model and block, with ``R`` replicates and ``J`` judgements of the block's sum,

    .. math:: \hat\sigma_E^2 = \frac{1}{R} \sum_r s_j^2(Y_{rj}), \qquad
              \hat\sigma_A^2 = s_r^2(\bar Y_r) - \hat\sigma_E^2 / J

    where ``s^2`` is the sample variance. A run costs one answer and ``J`` judgements per item, and the variance of the
    mean of many runs at a given cost is proportional to

    .. math:: (\sigma_A^2 + \sigma_E^2 / J)(1 + J \cdot cost),

    which is least near ``sqrt(sigma_E^2 / (sigma_A^2 cost))`` judgements.

    **Guarantee:** both parts are unbiased, whatever the distributions and the dependence inside of blocks.

    **Needs:** independent replicates, blocks and judgements; at least two replicates and two judgements, otherwise
    nothing is returned.

    >>> from bbedge.core.scores import Scores
    >>> rng = np.random.default_rng(1)
    >>> answers = rng.normal(0.5, 0.02, (50, 1, 1, 40))
    >>> values = answers + rng.normal(0.0, 0.04, (50, 2, 1, 40))
    >>> scores = Scores.of(values.mean(axis=1), models=["a"], items=[f"q{i}" for i in range(40)])
    >>> found = judge_noise(JudgedScores(scores=scores, judgements=values))
    >>> round(found.together.judge_share, 1), found.best, found.worth
    (0.8, 2, 'runs')
    """
    if not cost > 0.0:
        raise DomainError(f"cost of a judgement {cost:g}; expected a number above 0: its price in units of an answer")
    replicates, judgements = judged.judgements.shape[:2]
    if replicates < 2 or judgements < 2:
        return None
    layout = BlockLayout.of(judged.scores.blocks)
    models = tuple(
        _parts(name, judged.judgements[:, :, place], layout) for place, name in enumerate(judged.scores.models)
    )
    together = _average(models)
    spent = [together.variance(count) * (1.0 + count * cost) for count in range(1, MOST_JUDGEMENTS + 1)]
    best, now = int(np.argmin(spent)) + 1, together.variance(judgements) * (1.0 + judgements * cost)
    if now <= 0.0:
        return JudgeNoise(replicates, judgements, cost, models, together, judgements, 0.0)
    return JudgeNoise(replicates, judgements, cost, models, together, best, 1.0 - min(spent) / now)


def _parts(model: str, values: Floats, layout: BlockLayout) -> NoiseParts:
    """The parts of one model: replicates x judgements x items."""
    # Differences from one judgement are exactly zero where nothing varies.
    sums = np.add.reduceat((values - values[0, 0])[..., layout.order], layout.starts, axis=-1) / values.shape[-1]
    judge = sums.var(axis=1, ddof=1).mean(axis=0)
    answers = sums.mean(axis=1).var(axis=0, ddof=1) - judge / values.shape[1]
    return NoiseParts(
        model=model,
        answers=float(answers.sum()),
        judge=float(judge.sum()),
        answers_error=_error(answers),
        judge_error=_error(judge),
    )


def _error(of_blocks: Floats) -> float | None:
    """Standard error of a sum of independent terms. Terms of different means make it larger, never smaller."""
    count = len(of_blocks)
    return float(np.sqrt(count * of_blocks.var(ddof=1))) if count > 1 else None


def _average(models: Sequence[NoiseParts]) -> NoiseParts:
    def error(errors: Sequence[float | None]) -> float | None:
        known = [each for each in errors if each is not None]
        return float(np.sqrt(np.square(known).sum())) / len(models) if len(known) == len(models) else None

    return NoiseParts(
        model=None,
        answers=float(np.mean([each.answers for each in models])),
        judge=float(np.mean([each.judge for each in models])),
        answers_error=error([each.answers_error for each in models]),
        judge_error=error([each.judge_error for each in models]),
    )


def judge_finding(noise: JudgeNoise | None, judged: JudgedScores) -> Finding:
    """The finding about a benchmark whose answers were judged several times."""
    if noise is None:
        replicates, judgements = judged.judgements.shape[:2]
        return finding(
            "judge-noise",
            verdict="not possible",
            found=f"{counted(replicates, 'replicate')} and {counted(judgements, 'judgement')} of each answer: at least "
            "2 and 2 are needed.",
            not_shown="How much of the noise comes from the judge.",
        )
    if noise.together.judge == 0.0:
        return finding(
            "judge-noise",
            verdict="look",
            found=f"All {noise.judgements} judgements of every answer are equal.",
            not_shown="Whether the judge repeats itself by nature. A judge at temperature 0, a cache, or a server that "
            "ignores seeds gives the same picture.",
            to_do="Judge each answer once: further judgements cost requests and say nothing. To see the judge's noise, "
            "run it at the temperature at which it is meant to judge.",
        )
    return finding(
        "judge-noise",
        verdict="look" if noise.pays else "no alarm",
        found=f"{_parts_in_words(noise)} {_worth(noise)}",
        not_shown=_NOT_SHOWN,
        to_do=f"In the next study, set judge_repeats = {noise.best} under [benchmark]. It is part of the protocol: do "
        "not change it in a study that has begun.",
    )


def _parts_in_words(noise: JudgeNoise) -> str:
    together = noise.together
    text = (
        f"Of the variance of a run's mean, with every answer judged once, {together.judge_share:.0%} comes from the "
        f"judge and {1.0 - together.judge_share:.0%} from the answers (standard deviations "
        f"{sqrt(max(together.judge, 0.0)):.4f} and {sqrt(max(together.answers, 0.0)):.4f} on the [0, 1] scale)."
    )
    if together.answers_error is not None and together.judge_error is not None:
        if max(together.answers, 0.0) < 2.0 * together.answers_error:
            text += " The part of the answers cannot be distinguished from zero with these runs."
        elif together.judge < 2.0 * together.judge_error:
            text += " The part of the judge cannot be distinguished from zero with these runs."
    if len(noise.models) > 1:
        most = max(noise.models, key=lambda each: each.judge_share)
        text += f" The judge's part is largest for {quoted(most.model or '')}, {most.judge_share:.0%}."
    return text


def _worth(noise: JudgeNoise) -> str:
    price = "as much as" if noise.cost == 1.0 else f"{noise.cost:g} times as much as"
    if not noise.pays:
        return (
            f"Pay for more runs: where a judgement costs {price} an answer, "
            f"{counted(noise.judgements, 'judgement')} of each answer are about the best number."
        )
    best = (
        f"{MOST_JUDGEMENTS} or more judgements" if noise.best == MOST_JUDGEMENTS else counted(noise.best, "judgement")
    )
    what = "more judgements of each answer" if noise.worth == "judgements" else "more runs with fewer judgements"
    return (
        f"Pay for {what}: where a judgement costs {price} an answer, {best} of each answer in place of "
        f"{noise.judgements} give the same precision for {noise.saved:.0%} less."
    )
