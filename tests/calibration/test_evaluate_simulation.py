"""Whole studies with adaptive stopping and dropping: the probability of any false claim is at most alpha.

The real loop, the real board and the real journal, with an engine in this process that draws panels of known truth.
A claim is a certified edge, and what the study says at the end. Stopping as soon as the question seems answered is what
would break a method that is valid at one look only; dropping models by what was seen is what would break one that
needs complete data.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from bbedge.evaluate.runner import evaluate
from bbedge.study.synthetic import SyntheticBenchmark
from calibration.binomial_rule import breaks, fewest_that_break
from calibration.repetitions import ALPHA, show
from fake_engine import FakeEngine, fake_study

pytestmark = pytest.mark.nightly

MEMORY = Path("/dev/shm")
FULL_ALPHA = {"alpha": ALPHA, "spending": "equal", "shares": 1}

SETTINGS = {
    # Everything tied: every claim is false, and studies run until their budget is spent.
    "tied": ({"means": (0.5,) * 4, "n_items": 12}, {"question": "best", "drop": "unneeded"}),
    # Two equals between two others, which are settled and dropped while the equals are still compared.
    "equals": (
        {"means": (0.08, 0.5, 0.5, 0.92), "n_items": 20, "block_sizes": 2, "offset": 0.0},
        {"question": "all-pairs"},
    ),
    "heterogeneous": (
        {"means": (0.2, 0.5, 0.5, 0.8), "n_items": 20, "heterogeneity": 0.15, "offset": 0.0},
        {"question": "top-2", "drop": "unneeded"},
    ),
    # One graded answer a replicate uses up as much of alpha as can be.
    "tight": (
        {"means": (0.5,) * 3, "n_items": 1, "offset": 0.0, "scoring": "graded"},
        {"question": "all-pairs", "budget": 40},
    ),
}


@pytest.fixture
def place():
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


def study_of(place, name, seed, **changes):
    """Run a study; whether it made a false claim, how many edges it certified and how many models it dropped."""
    setting, values = SETTINGS[name]
    synthetic = SyntheticBenchmark(**setting)
    folder = place / f"{name}{seed}"
    study = fake_study(folder, synthetic, **({"budget": 10, "design": FULL_ALPHA, "seed": seed} | values | changes))
    ended = evaluate(study, FakeEngine(synthetic, seed=seed))
    shutil.rmtree(folder)
    truth = np.array(synthetic.means)
    false = bool((ended.leaderboard.edges & (truth[:, None] - truth <= 1e-12)).any())
    if ended.answer.answered and study.question.kind == "top-k":
        k = study.question.k
        members = ended.leaderboard.graph.top_k(k)
        false |= members is None or min(truth[list(members)]) <= np.sort(truth)[::-1][k]
    return false, ended.leaderboard.graph.n_edges, len(ended.retired)


def judge(place, n, *, first):
    """Studies of every setting in turn."""
    names = list(SETTINGS)
    made = [study_of(place, names[i % len(names)], first + i) for i in range(n)]
    failures, edges, dropped = (sum(each) for each in zip(*made, strict=True))
    show(f"studies: a false claim in {failures}/{n}, {edges / n:.2f} edges and {dropped / n:.2f} dropped models each")
    assert not breaks(failures, n, alpha=ALPHA)
    assert edges > n  # certifying nothing would be an easy way to be right
    assert dropped > 0.25 * n


def test_false_claims_are_rare_with_stopping_and_dropping(place):
    judge(place, 200, first=1000)


def test_trying_samples_again_because_of_their_scores_would_be_caught(place):
    """Planted: the first model's wrong answers count as failures, and are tried again once."""
    n, failures = 8, 0
    synthetic = SyntheticBenchmark(**SETTINGS["tied"][0])
    for seed in range(n):
        engine = FakeEngine(synthetic, seed=seed)
        honest = engine.run

        def picky(replicate, jobs, seeds, report, honest=honest):
            def second_chance(what):
                wrong = what.model == synthetic.models[0] and sum(what.scores.values()) == 0.0
                if wrong:
                    again = [job for job in jobs if (job.model.name, job.sample.name) == (what.model, what.sample)]
                    honest(1000 + replicate, again, seeds, report)
                else:
                    report(what)

            honest(replicate, jobs, seeds, second_chance)

        engine.run = picky
        study = fake_study(place / str(seed), synthetic, budget=10, design=FULL_ALPHA, question="best")
        failures += evaluate(study, engine).leaderboard.graph.n_edges > 0
    show(
        f"planted retries: a false claim in {failures}/{n} studies, caught from {fewest_that_break(n, alpha=ALPHA)} on"
    )
    assert breaks(failures, n, alpha=ALPHA)
