"""The probability of any alarm of a diagnosis is at most 1 % on sound runs; faults of the runs do raise one."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit, logit

from bbedge.core.scores import Scores
from bbedge.diagnostics.assumptions import ALARM_LEVEL, LOOK_LEVEL, Diagnosis, diagnose
from bbedge.diagnostics.findings import findings_of
from calibration.binomial_rule import breaks
from calibration.clean_scores import clean_scores
from calibration.repetitions import show


def alarms(scores: Scores, diagnosis: Diagnosis) -> set[str]:
    """The kinds of findings that are an alarm."""
    return {finding.kind for finding in findings_of(diagnosis, scores) if finding.verdict == "alarm"}


def naive_alarm(diagnosis: Diagnosis) -> bool:
    """What an alarm would be with 5 % for the dependence and any certificate of a model above itself."""
    return any(each.certified for each in diagnosis.halves) or any(
        each.adjusted <= LOOK_LEVEL for each in diagnosis.dependence
    )


def check_clean(*, n: int, seed: int, models: int, items: int, replicates: int, permutations: int) -> None:
    raised, naive = [], 0
    for rng in np.random.default_rng(seed).spawn(n):
        scores = clean_scores(rng, models=models, items=items, replicates=replicates)
        order_seed = int(rng.integers(2**53))  # drawn, as a board does, so that places say nothing of the items
        diagnosis = diagnose(scores, rng=rng, permutations=permutations, order_seed=order_seed)
        raised.append(alarms(scores, diagnosis))
        naive += naive_alarm(diagnosis)
    failures = sum(bool(kinds) for kinds in raised)
    show(
        f"diagnose-alarms up to {models}x{items}x{replicates} {failures}/{n} {sorted(set().union(*raised))}; "
        f"naive {naive}/{n}"
    )
    assert not breaks(failures, n, alpha=ALARM_LEVEL)
    # The check is worth something only if a rule without calibration fails it.
    assert breaks(naive, n, alpha=ALARM_LEVEL)


@pytest.mark.nightly
def test_sound_runs_rarely_raise_an_alarm():
    check_clean(n=200, seed=1, models=10, items=100, replicates=12, permutations=249)


@pytest.mark.nightly
def test_sound_runs_rarely_raise_an_alarm_in_small_tables():
    check_clean(n=5000, seed=2, models=6, items=50, replicates=10, permutations=999)


@pytest.mark.nightly
def test_sound_runs_rarely_raise_an_alarm_in_large_tables():
    check_clean(n=1000, seed=3, models=50, items=500, replicates=30, permutations=1999)


Fault = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""From the probabilities of right answers, replicates x models x items, to faulty scores."""


def answers(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(p.shape) < p).astype(float)


def copied_run(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    x = answers(p, rng)
    x[5, 1] = x[2, 1]
    return x


def copied_replicate(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    x = answers(p, rng)
    x[5] = x[2]
    return x


def copied_run_with_a_changed_score(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    x = copied_run(p, rng)
    x[5, 1, 7] = 1.0 - x[5, 1, 7]
    return x


def cached_replicate(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    x = answers(p, rng)
    return np.where((np.arange(len(x)) == 5)[:, None, None] & (rng.random(x.shape) < 0.9), x[2], x)


def changed_half_way(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    p = p.copy()
    p[4:, 1] = expit(logit(p[4:, 1]) + 1.5)
    return answers(p, rng)


def blocks_that_share_noise(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return answers(expit(logit(p) + 1.2 * rng.standard_normal((*p.shape[:2], 1))), rng)


def judge_of_a_replicate(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return answers(expit(logit(p) + 0.8 * rng.standard_normal((len(p), 1, 1))), rng)


FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "copied-run": (copied_run, {"copies"}),
    "copied-replicate": (copied_replicate, {"copies"}),
    "one-score-changed": (copied_run_with_a_changed_score, {"near-copies"}),
    "cached-replicate": (cached_replicate, {"near-copies"}),
    "changed-half-way": (changed_half_way, {"same-model", "block-dependence"}),
    "blocks-share-noise": (blocks_that_share_noise, {"block-dependence"}),
    "judge-of-a-replicate": (judge_of_a_replicate, {"block-dependence"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_raise_an_alarm(fault):
    make, kinds = FAULTS[fault]
    noticed, n = 0, 12
    for rng in np.random.default_rng(5).spawn(n):
        values = make(np.broadcast_to(rng.uniform(0.2, 0.8, size=(5, 80)), (8, 5, 80)), rng)
        scores = Scores.of(values, models=list("abcde"), items=[f"q{i}" for i in range(80)])
        noticed += bool(alarms(scores, diagnose(scores, rng=rng, permutations=249)) & kinds)
    show(f"diagnose-power {fault} {noticed}/{n}")
    assert noticed >= 0.9 * n
