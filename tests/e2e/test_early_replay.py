"""A public table replayed as it would have been run: random orders, checkpoints, models dropped in the first run."""

import os
from pathlib import Path

import numpy as np
import pytest

from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.design import Design
from bbedge.evaluate.question import parse_question
from bbedge.readers import read_scores


@pytest.fixture(scope="module")
def gsm():
    if "BBEDGE_PANELS" not in os.environ:
        pytest.skip("set BBEDGE_PANELS to the folder of public result panels to try them")
    return read_scores(Path(os.environ["BBEDGE_PANELS"]) / "zeroeval_gsm_complete.parquet")


def replay(scores, seed):
    """The part of one run that is run until the Top-5 is known or the run is complete."""
    design = Design.make(scores.models, scores.items, checkpoints=Checkpoints(order_seed=seed))
    question, certifier, panel, n = parse_question("top-5", scores.models), Certifier(design), scores.values[0], 0
    while True:
        rows = [scores.models.index(model) for model in certifier.evidence.active]
        columns = [scores.items.index(item) for item in certifier.next_items]
        n += len(rows) * len(columns)
        if certifier.next_checkpoint is None:
            certifier.update(panel[rows])
            return n / panel.size
        certifier.update(panel[np.ix_(rows, columns)], certifier.next_checkpoint.blocks)
        leaderboard = certifier.leaderboard()
        if question.answer(leaderboard).answered:
            return n / panel.size
        needed = question.needed(leaderboard, drop="unneeded")
        certifier.stop([model for model in certifier.evidence.active if model not in needed])


def test_about_64_percent_of_a_run_is_made_for_the_top_5(gsm):
    assert len(gsm.models) == 43
    assert len(gsm.items) == 1319
    shares = [replay(gsm, seed) for seed in range(6)]
    assert abs(np.mean(shares) - 0.64) <= 0.05


def test_almost_all_pairs_are_still_certified_at_the_end_of_a_complete_run(gsm):
    for seed in range(3):
        certifier = Certifier(Design.make(gsm.models, gsm.items, checkpoints=Checkpoints(order_seed=seed)))
        certifier.update(gsm.values[0])
        assert certifier.leaderboard().graph.n_resolved >= 570
