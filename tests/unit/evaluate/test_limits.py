"""Limits stop a study by what was spent, where it can be continued, and change nothing else."""

import json

import pytest

from bbedge.board import Board
from bbedge.cli.evaluate_screen import limit_text, line
from bbedge.errors import EvaluationError, FormatError
from bbedge.evaluate.completion import batches
from bbedge.evaluate.engine import Job, Sample
from bbedge.evaluate.events import LimitReached, SampleDone, plain
from bbedge.evaluate.journal_file import add_extra
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.usage import Reached, reached_limit
from bbedge.records.journal import Usage
from bbedge.records.study import StudyModel
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

TIED = SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=120, block_sizes=2, offset=0.0)
PRICES = {model: {"input": 100_000, "output": 0} for model in TIED.models}  # a sample costs 1


def run(study, engine, **options):
    seen = []
    ended = evaluate(study, engine, watch=seen.append, sleep=lambda _: None, **options)
    return ended, seen


def contents(study: EvaluationSpec):
    board = Board.open(study.board)
    verify(board.store)
    events = [
        (event.kind, {k: v for k, v in json.loads(event.payload).items() if k != "cache"}) for event in board.events
    ]
    board.close()
    return events


@pytest.mark.parametrize(
    ("limit", "used"),
    [({"max_cost": 70.5, "prices": PRICES}, 80.0), ({"max_tokens": 70 * 12 + 1}, 80 * 12)],
    ids=["cost", "tokens"],
)
def test_a_limit_stops_inside_a_replicate_and_a_higher_one_goes_on(tmp_path, limit, used):
    whole = fake_study(tmp_path / "whole", TIED, budget=2)
    run(whole, FakeEngine(TIED))
    study, engine = fake_study(tmp_path / "limited", TIED, budget=2, **limit), FakeEngine(TIED)
    ended, seen = run(study, engine)
    (name,) = set(limit) - {"prices"}
    assert ended.reason == "limit"
    assert ended.reached == Reached(limit=name, allowed=limit[name], used=used)
    stop = next(event for event in seen if isinstance(event, LimitReached))
    assert plain(stop) == {
        "event": "limit-reached",
        "limit": name,
        "allowed": limit[name],
        "used": used,
        "replicate": 1,
    }
    assert f"{name} = " in line(stop)
    assert plain(ended)["limit"]["limit"] == name
    assert ended.spent.replicates == 0
    assert len(engine.ran) == 80
    # Equally far with every model, and no sample is run again later.
    assert {sum(model == name for _, model, _ in engine.ran) for name in TIED.models} <= {26, 27}
    again, _ = run(study, engine)
    assert again.reason == "limit"
    assert len(engine.ran) == 80
    free = fake_study(tmp_path / "limited", TIED, budget=2)
    done, _ = run(free, engine)
    assert done.reason == "budget"
    assert len(engine.ran) == len(set(engine.ran)) == 2 * 3 * 60
    assert contents(free) == contents(whole)


def test_hours_are_those_of_one_call(tmp_path):
    study, engine = fake_study(tmp_path, TIED, budget=3, max_hours=2.0), FakeEngine(TIED)
    moments = iter([0.0, 10.0, 20.0, 3600.0, *[7200.0] * 50])
    ended, _ = run(study, engine, clock=lambda: next(moments))
    assert ended.reached == Reached(limit="max_hours", allowed=2.0, used=2.0)
    assert 0 < len(engine.ran) < 180
    again, _ = run(study, engine, clock=lambda: 10_000.0)
    assert again.reason == "budget"


def test_a_limit_at_the_end_of_a_replicate_keeps_the_replicate(tmp_path):
    study, engine = fake_study(tmp_path, TIED, budget=5, max_tokens=12 * 180), FakeEngine(TIED)
    ended, seen = run(study, engine)
    assert (ended.reason, ended.spent.replicates) == ("limit", 1)
    assert next(event for event in seen if isinstance(event, LimitReached)).replicate == 2


def test_without_limits_a_replicate_is_one_batch(tmp_path):
    class Counting(FakeEngine):
        calls = 0

        def run(self, *args):
            self.calls += 1
            super().run(*args)

    engine = Counting(TIED)
    run(fake_study(tmp_path, TIED, budget=2), engine)
    assert engine.calls == 2


def test_questions_before_the_start_and_pilots_count_against_a_limit(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, max_tokens=1000)
    add_extra(study.folder, "pilot", Usage(calls=1, tokens={"m": (900, 0)}))
    add_extra(study.folder, "check", Usage(calls=1, tokens={"m": (100, 0)}))
    ended, seen = run(study, FakeEngine(TIED))
    assert ended.reason == "limit"
    assert not any(isinstance(event, SampleDone) for event in seen)
    assert (ended.spent.pilot, ended.spent.checks, ended.spent.used.calls) == (1, 1, 2)


def test_a_price_that_is_not_known_is_not_a_price_of_nothing(tmp_path):
    study = fake_study(tmp_path, TIED, max_cost=1.0, prices=PRICES)
    with pytest.raises(EvaluationError, match="'judge' answered and has no price"):
        reached_limit(study, Usage(tokens={"judge": (1, 1)}))
    assert reached_limit(study, Usage()) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_cost": 5}, "there is no price for 'model-1'"),
        ({"max_cost": 0, "prices": PRICES}, "'max_cost' = 0 is not a number above 0"),
        ({"max_cost": float("inf"), "prices": PRICES}, "'max_cost' = inf is not a finite number"),
        ({"max_tokens": 0}, "whole number of at least 1"),
        ({"max_tokens": 1.5}, "whole number"),
        ({"max_hours": "2"}, "'max_hours' = '2' is not a number above 0"),
        ({"run": {"preflight": "no"}}, "'preflight' = 'no' is not true or false"),
        (
            {"max_cost": 5, "prices": PRICES, "benchmark": {"task": "t", "roles": {"grader": "judge"}}},
            "there is no price for 'judge'",
        ),
    ],
)
def test_limits_that_make_no_sense_are_refused(tmp_path, values, message):
    with pytest.raises(FormatError, match=message):
        fake_study(tmp_path, TIED, **values)


def test_a_command_has_no_tokens_to_limit(tmp_path):
    values = {"engine": "command", "budget": 1, "models": ["a", "b"], "command": ["./x", "{seed}", "{out}"]}
    values |= {"benchmark": {"items": "items.csv"}}
    with pytest.raises(FormatError, match="a command reports no tokens"):
        EvaluationSpec.from_values(values | {"max_tokens": 5}, path=tmp_path / "study.toml")
    assert EvaluationSpec.from_values(values | {"max_hours": 5}, path=tmp_path / "study.toml").file.max_hours == 5.0


def test_limits_are_not_part_of_what_is_frozen(tmp_path):
    limited = fake_study(tmp_path, TIED, max_cost=3, max_hours=1, prices=PRICES)
    assert limited.protocol_hash == fake_study(tmp_path, TIED).protocol_hash
    assert limited.design.hash == fake_study(tmp_path, TIED).design.hash


def job(model, sample, block):
    return Job(model=StudyModel(name=model, model=model), sample=Sample(name=sample, items=(sample,), blocks=(block,)))


def test_batches_take_turns_and_keep_blocks_together():
    jobs = [job(model, f"{block}{n}", block) for model in "ab" for block in "xyz" for n in (1, 2)]
    made = batches(jobs, size=4)
    assert [[(each.model.name, each.sample.name) for each in batch] for batch in made] == [
        [("a", "x1"), ("a", "x2"), ("b", "x1"), ("b", "x2")],
        [("a", "y1"), ("a", "y2"), ("b", "y1"), ("b", "y2")],
        [("a", "z1"), ("a", "z2"), ("b", "z1"), ("b", "z2")],
    ]
    assert [len(batch) for batch in batches(jobs, size=3)] == [4, 4, 4]
    assert [len(batch) for batch in batches(jobs, size=1)] == [2] * 6
    assert batches([], size=3) == [[]]


def test_limits_are_shown_with_their_units():
    assert limit_text(Reached(limit="max_cost", allowed=5, used=5.125), "$") == "max_cost = 5 is reached: $5.12 spent"
    assert limit_text(Reached(limit="max_tokens", allowed=2e6, used=2_000_001)).endswith("2,000,001 tokens used")
    assert limit_text(Reached(limit="max_hours", allowed=1.5, used=1.5)).endswith("1.50 hours in this command")
