"""Scores that depend on the place in the first run: sound runs rarely raise the alarm, a server that degrades does."""

import numpy as np
import pytest
from scipy.special import expit

from bbedge.board import Board, BoardDesign
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import (
    POSITION_ALARM,
    Checkpoints,
    first_run_outcomes,
    first_run_plan,
    position_trends,
    strongest,
)
from bbedge.core.design import Design
from bbedge.core.scores import Scores
from bbedge.records.design import CheckpointRule
from calibration.binomial_rule import breaks
from calibration.repetitions import show

pytestmark = pytest.mark.nightly


def answers(rng, n_models, n_blocks):
    """Right and wrong answers to items that are listed by difficulty, and the order in which they are run."""
    chances = expit(np.sort(rng.normal(0.8, 1.5, n_blocks)) + rng.normal(0.0, 0.5, (n_models, 1)))
    return (rng.random((n_models, n_blocks)) < chances).astype(float), rng.permutation(n_blocks)


def alarm(in_order, seed):
    models = [f"m{i}" for i in range(len(in_order))]
    trends = position_trends(first_run_outcomes(in_order, range(in_order.shape[1] + 1)), models, seed=seed)
    return strongest(trends).adjusted <= POSITION_ALARM


def check_sound(n_models, n_blocks, *, n):
    raised = naive = 0
    for seed, rng in enumerate(np.random.default_rng([n_models, n_blocks]).spawn(n)):
        scores, order = answers(rng, n_models, n_blocks)
        raised += alarm(scores[:, order], seed)
        naive += alarm(scores, seed)  # in the order of the file
    show(f"positions sound {n_models}x{n_blocks} {raised}/{n}; file order {naive}/{n}")
    assert not breaks(raised, n, alpha=POSITION_ALARM)
    assert breaks(naive, n, alpha=POSITION_ALARM)


def test_sound_runs_rarely_raise_the_alarm():
    check_sound(2, 60, n=40)


@pytest.mark.parametrize(("n_models", "n_blocks"), [(2, 60), (2, 200), (6, 200), (20, 1300)])
def test_sound_runs_rarely_raise_the_alarm_in_the_long_run(n_models, n_blocks):
    check_sound(n_models, n_blocks, n=3000)


def check_power(n_models, n_blocks, *, failing, share, n, least):
    raised = 0
    for seed, rng in enumerate(np.random.default_rng([n_models, n_blocks, 1]).spawn(n)):
        scores, order = answers(rng, n_models, n_blocks)
        in_order = scores[:, order]
        late = np.arange(n_blocks) >= 0.6 * n_blocks
        lost = late & (rng.random(in_order.shape) < share) & (np.arange(n_models) < failing)[:, None]
        raised += alarm(np.where(lost, 0.0, in_order), seed)
    show(f"positions power {n_models}x{n_blocks}, {failing} fail {share:.0%} after 60 %: {raised}/{n}")
    assert raised >= least * n


@pytest.mark.parametrize(("failing", "share", "least"), [(1, 0.9, 0.95), (1, 0.5, 0.7), (2, 0.5, 0.9)])
def test_a_server_that_degrades_after_most_of_the_run_raises_it(failing, share, least):
    check_power(2, 200, failing=failing, share=share, n=40, least=least)


def stopped_alarm(rng, seed):
    """Whether a certifier that stops settled models at its checkpoints sees a trend at its end."""
    n_models, items = 6, [f"q{i}" for i in range(200)]
    design = Design.make([f"m{i}" for i in range(n_models)], items, checkpoints=Checkpoints(order_seed=seed))
    scores, _ = answers(rng, n_models, len(items))
    certifier, order, start = Certifier(design), first_run_plan(design).order, 0
    while certifier.next_checkpoint is not None and len(certifier.evidence.active) > 1:
        rows = [design.models.index(model) for model in certifier.evidence.active]
        end = certifier.next_checkpoint.items
        certifier.update(scores[np.ix_(rows, order[start:end])], certifier.next_checkpoint.blocks)
        start = end
        behind = certifier.edges().any(axis=0)
        certifier.stop([model for model in certifier.evidence.active if behind[design.models.index(model)]])
    position = certifier.leaderboard().early.position
    return position is not None and position.is_alarm


def test_stopping_models_inside_the_run_raises_hardly_more_alarms():
    n = 1000
    raised = sum(stopped_alarm(rng, seed) for seed, rng in enumerate(np.random.default_rng(7).spawn(n)))
    show(f"positions with stopped models {raised}/{n}")
    assert not breaks(raised, n, alpha=POSITION_ALARM)


def newcomer_is_certified(folder, rng):
    """Whether a model that was made for the first blocks of the order is certified above others with its mean."""
    items = [f"q{i}" for i in range(200)]
    design = BoardDesign(checkpoints=CheckpointRule(), spending="equal", shares=2)
    models = ["a", "b"]
    board = Board.create(folder, design, models=models, items=items, order_seed=int(rng.integers(2**53)))
    order = board.state.epoch.plan.order

    def run(models, chances):
        return Scores.of((rng.random((len(models), 200)) < chances).astype(float), models=models, items=items)

    board.add(run(models, np.full(200, 0.5)))
    chances = np.empty(200)
    chances[order[:120]], chances[order[120:]] = 0.8, 0.05  # a mean of 0.5
    board.add_model("new", run(["new"], chances))
    return bool(board.leaderboard().edges[2].any())


@pytest.mark.parametrize("n", [200])
def test_a_newcomer_that_knows_the_order_gains_nothing(tmp_path, n):
    false = sum(
        newcomer_is_certified(tmp_path / f"{place}.db", rng)
        for place, rng in enumerate(np.random.default_rng(5).spawn(n))
    )
    show(f"newcomer that knows the order {false}/{n}")
    assert not breaks(false, n, alpha=0.025)
