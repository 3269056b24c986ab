"""What a study will cost, from a pilot that is never evidence."""

import json
import sys
from pathlib import Path

import pytest

from bbedge.cli.evaluate import forecast_lines
from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Answered
from bbedge.evaluate.engines.command import CommandEngine
from bbedge.evaluate.events import CheckBegun, PilotBegun, SampleDone
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.preflight import dry_run
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done, Usage
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study

FAR = SyntheticBenchmark(means=(0.85, 0.5, 0.12), n_items=60, offset=0.0)
PRICES = {model: {"input": 1000, "output": 5000} for model in FAR.models}  # 10 in, 2 out: 0.02 for a sample


class Asked(FakeEngine):
    """Answers the short question, and remembers the seeds of its samples."""

    def __init__(self, *args, wrong=None, **options):
        super().__init__(*args, **options)
        self.wrong, self.seeds = wrong, set()

    def check(self, models, seeds, report):
        for model in models:
            report(self.wrong or Answered(model=model.name, usage=Usage(calls=1, tokens={model.model: (9, 1)})))

    def run(self, replicate, jobs, seeds, report):
        self.seeds |= {seeds(job, 0) for job in jobs}
        super().run(replicate, jobs, seeds, report)


def forecast_of(study, engine, pilot=10):
    seen = []
    return dry_run(study, engine, pilot=pilot, watch=seen.append, sleep=lambda _: None), seen


def test_a_pass_and_the_budget_are_projected_from_the_pilot(tmp_path):
    study, engine = fake_study(tmp_path, FAR, prices=PRICES), Asked(FAR)
    forecast, seen = forecast_of(study, engine)
    assert type(seen[0]) is CheckBegun
    assert next(event for event in seen if isinstance(event, PilotBegun)).samples == 10
    assert len(engine.ran) == 30
    assert {replicate for replicate, _, _ in engine.ran} == {0}
    one = forecast.models[FAR.models[0]]
    assert (one.requests, one.tokens, one.tokens_error, one.cost) == (60, 720, 0, pytest.approx(1.2))
    assert (forecast.one_run.requests, forecast.one_run.tokens, forecast.one_run.cost) == (
        180,
        2160,
        pytest.approx(3.6),
    )
    assert (forecast.whole.requests, forecast.whole.cost) == (20 * 180, pytest.approx(72.0))
    assert (forecast.pilot, forecast.samples, forecast.budget) == (10, 60, 20)
    assert (forecast.spent.calls, forecast.spent.total_tokens) == (33, 390)
    json.dumps(forecast.content, allow_nan=False)
    text = " ".join("\n".join(forecast_lines(forecast, study)).split())
    assert "one run of all models 180 2,160 ± 0 $3.60" in text
    assert "at most 20 runs 3,600 43,200 ± 0 $72.00" in text
    assert "never used as evidence" in text


def test_the_pilot_freezes_nothing_and_shares_nothing_with_the_study(tmp_path):
    study, engine = fake_study(tmp_path / "one", FAR), Asked(FAR)
    forecast_of(study, engine)
    assert not Path(study.board).exists()
    pilot_seeds, engine.seeds = engine.seeds, set()
    ended = evaluate(study, engine, sleep=lambda _: None)
    assert ended.reason == "answered"
    assert not pilot_seeds & engine.seeds
    assert (ended.spent.pilot, ended.spent.checks) == (30, 6)
    other = fake_study(tmp_path / "other", FAR)
    plainly = evaluate(other, Asked(FAR), sleep=lambda _: None)
    assert plainly.leaderboard.means.tolist() == ended.leaderboard.means.tolist()
    assert plainly.spent.useful == ended.spent.useful


def test_a_pilot_is_not_run_twice_and_can_grow(tmp_path):
    study, engine = fake_study(tmp_path, FAR), Asked(FAR)
    first, _ = forecast_of(study, engine, 4)
    again, seen = forecast_of(study, engine, 4)
    assert (again.one_run, again.spent.calls) == (first.one_run, 3)
    assert not any(isinstance(event, SampleDone) for event in seen)
    more, _ = forecast_of(study, engine, 6)
    assert (more.pilot, len(engine.ran)) == (6, 18)


def test_no_pilot_gives_requests_only_and_asks_nothing(tmp_path):
    study, engine = fake_study(tmp_path, FAR, prices=PRICES), Asked(FAR)
    forecast, seen = forecast_of(study, engine, 0)
    assert (seen, engine.ran) == ([], [])
    assert (forecast.one_run.requests, forecast.one_run.tokens, forecast.one_run.cost) == (180, None, None)
    assert forecast.whole.requests == 3600
    assert not study.folder.exists()
    assert "at least one request for each sample" in "\n".join(forecast_lines(forecast, study))


def test_samples_that_differ_have_an_error(tmp_path):
    class Uneven(Asked):
        def run(self, replicate, jobs, seeds, report):
            def uneven(what):
                if isinstance(what, Done):
                    tokens = {what.model: (100 if int(what.sample[-1]) % 2 else 300, 0)}
                    what = Done(
                        model=what.model, sample=what.sample, scores=what.scores, usage=Usage(calls=2, tokens=tokens)
                    )
                report(what)

            super().run(replicate, jobs, seeds, uneven)

    study = fake_study(tmp_path, FAR)
    forecast, _ = forecast_of(study, Uneven(FAR), 20)
    one = forecast.models[FAR.models[0]]
    assert one.requests == 120
    assert abs(one.tokens - 60 * 200) <= one.tokens_error
    assert forecast.one_run.tokens_error == pytest.approx(3 * one.tokens_error, abs=3)
    assert one.cost is None
    assert "add the price of every model" in "\n".join(forecast_lines(forecast, study))
    assert forecast_of(study, Uneven(FAR), 1)[0].one_run.tokens_error is None


def test_a_wrong_address_shows_in_a_dry_run(tmp_path):
    wrong = Problem(kind="no-connection", model="a", message="refused", endpoint="http://h:9")
    engine = Asked(FAR, wrong=wrong)
    with pytest.raises(EvaluationError, match="did not answer a short question"):
        forecast_of(fake_study(tmp_path, FAR), engine)
    assert engine.ran == []


def test_a_pilot_that_fails_says_so(tmp_path):
    with pytest.raises(EvaluationError, match="the pilot is not complete: 30 samples failed 4 times"):
        forecast_of(fake_study(tmp_path, FAR), Asked(FAR, fails=lambda *_: True))


def test_a_limit_ends_the_pilot(tmp_path):
    study = fake_study(tmp_path, FAR, max_tokens=30 + 12 * 60)
    forecast, _ = forecast_of(study, Asked(FAR), 60)
    assert forecast.reached is not None
    assert 0 < forecast.pilot < 60
    assert forecast.one_run.tokens == 2160


WRITE = """
import sys
items = open(sys.argv[1]).read().split()
open(sys.argv[2], "w").write("model,item,score\\n" + "".join(f"a,{item},1\\n" for item in items))
"""


def command_study(folder, placeholder):
    (folder / "items.csv").write_text("item\n" + "".join(f"q{n}\n" for n in range(40)))
    values = {"engine": "command", "budget": 5, "models": ["a", "b"], "benchmark": {"items": "items.csv"}}
    command = [sys.executable, "-c", WRITE, placeholder, "{out}", "{seed}"]
    return EvaluationSpec.from_values(values | {"command": command}, path=folder / "study.toml")


def test_a_command_gets_a_part_of_its_items(tmp_path):
    study = command_study(tmp_path, "{items}")
    for pilot in (10, 12):
        forecast, _ = forecast_of(study, CommandEngine(study), pilot)
        assert (forecast.pilot, forecast.samples, forecast.one_run.requests, forecast.whole.requests) == (
            pilot,
            40,
            80,
            400,
        )
        assert forecast.one_run.tokens is None
        assert forecast.spent.calls == 2 * pilot


def test_a_command_that_takes_no_items_has_no_pilot(tmp_path):
    study = command_study(tmp_path, "all")
    forecast, _ = forecast_of(study, CommandEngine(study))
    assert (forecast.pilot, forecast.one_run.requests) == (0, 80)
