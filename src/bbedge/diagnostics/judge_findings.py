"""The noise of answers and judge in plain words: what was found, what it does not show, what to pay for."""

from __future__ import annotations

from math import sqrt

from bbedge.core.scores import JudgedScores
from bbedge.diagnostics.findings import Finding, finding
from bbedge.diagnostics.judge_noise import MOST_JUDGEMENTS, JudgeNoise
from bbedge.text import counted, quoted

_NOT_SHOWN = (
    "Whether the judge is right: what it gets wrong in every judgement is no noise, and no number of judgements "
    "removes it."
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
        found=f"{_parts(noise)} {_worth(noise)}",
        not_shown=_NOT_SHOWN,
        to_do=_to_do(noise),
    )


def _parts(noise: JudgeNoise) -> str:
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
    now = counted(noise.judgements, "judgement")
    if not noise.pays:
        return (
            f"Pay for more runs: where a judgement costs {price} an answer, {now} of each answer are about the best "
            "number."
        )
    best = (
        f"{MOST_JUDGEMENTS} or more judgements" if noise.best == MOST_JUDGEMENTS else counted(noise.best, "judgement")
    )
    what = "more judgements of each answer" if noise.worth == "judgements" else "more runs with fewer judgements"
    return (
        f"Pay for {what}: where a judgement costs {price} an answer, {best} of each answer in place of "
        f"{noise.judgements} give the same precision for {noise.saved:.0%} less."
    )


def _to_do(noise: JudgeNoise) -> str:
    return (
        f"In the next study, set judge_repeats = {noise.best} under [benchmark]. It is part of the protocol: do not "
        "change it in a study that has begun."
    )
