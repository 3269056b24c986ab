"""Studies about new items: they stop at a look, drop models where that is allowed, and say so beforehand."""

import pytest

from bbedge.board import Board
from bbedge.cli.evaluate import forecast_lines
from bbedge.errors import DesignError
from bbedge.evaluate.preflight import dry_run
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study
from unit.evaluate.test_runner import FAR, run

LATE = {"target": "both", "looks": [4, 8]}


def replicates_of(study) -> int:
    with Board.open(study.board) as board:
        verify(board.store)
        return board.state.epoch.replicates


def test_a_question_that_is_answered_waits_for_the_look_at_new_items(tmp_path):
    asked = {"question": "model-1 > model-4", "budget": 8}
    study = fake_study(tmp_path / "plain", FAR, **asked)
    assert run(study, FakeEngine(FAR))[0].reason == "answered"
    assert replicates_of(study) < 4
    study = fake_study(tmp_path / "both", FAR, **asked, design=LATE)
    ended, _ = run(study, FakeEngine(FAR))
    assert ended.reason == "answered"
    assert replicates_of(study) == 4
    assert [look.replicate for look in ended.leaderboard.view("new items").looks] == [4]


def test_a_study_of_new_items_alone_is_looked_at_by_its_schedule(tmp_path):
    study = fake_study(tmp_path, FAR, budget=8, question="model-1 > model-4", design={"target": "new-items"})
    assert study.design.schedule == pytest.approx({1: 0.2 / 3, 2: 0.2 / 3, 4: 0.2 / 3, 8: 0.8})
    ended, _ = run(study, FakeEngine(FAR))
    assert ended.reason == "answered"
    assert replicates_of(study) in study.design.schedule
    assert not Board.open(study.board).design.checkpoints


def test_a_view_about_new_items_can_be_the_question(tmp_path):
    study = fake_study(tmp_path, FAR, budget=8, question="model-1 > model-4", view="new items", design=LATE)
    ended, _ = run(study, FakeEngine(FAR))
    assert (ended.reason, ended.answer.text) == ("answered", "yes: model-1 > model-4")
    assert replicates_of(study) in (4, 8)


@pytest.mark.parametrize("drop", ["settled", "unneeded"])
def test_models_stop_between_the_scores_that_several_runs_make(tmp_path, drop):
    study = fake_study(tmp_path, FAR, budget=20, drop=drop, design={"of_runs": "any:2"})
    ended, _ = run(study, FakeEngine(FAR))
    assert ended.reason == "answered"
    assert ended.retired
    assert replicates_of(study) % 2 == 0


def test_runs_that_no_look_would_see_are_refused(tmp_path):
    for design in ({"target": "new-items", "looks": [2, 4]}, {"of_runs": "all:2"}):
        with pytest.raises(DesignError, match="there is no look after all 5 runs of the budget"):
            fake_study(tmp_path, FAR, budget=5, design=design)
    fake_study(tmp_path, FAR, budget=7, design={"target": "both", "looks": [2, 4]})


def test_a_dry_run_says_when_the_study_may_stop(tmp_path):
    study = fake_study(tmp_path, FAR, budget=4, design={"target": "both"})
    forecast = dry_run(study, FakeEngine(FAR), pilot=0)
    assert forecast.content["looks"] == [1, 2, 4]
    assert forecast_lines(forecast, study)[-1].startswith("New items are looked at after 1, 2, 4 runs")
    plain = fake_study(tmp_path, FAR, budget=4)
    assert dry_run(plain, FakeEngine(FAR), pilot=0).looks == ()
