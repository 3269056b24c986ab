"""A study that is run until a gate is decided, with a ledger that knows of every look inside its first run."""

import random
import shutil
from contextlib import closing

import pytest

from bbedge.board import Board
from bbedge.board.stored_scores import stored_scores
from bbedge.errors import DataError, DesignError
from bbedge.evaluate.events import Looked
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.study_board import first_run_of, open_board, reserved_study, study_hash
from bbedge.gate import Claim, Policy
from bbedge.gate.ledger import read_ledger, record
from bbedge.gate.uses import level_of
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study
from gate_ledgers import Taken

WIDE = SyntheticBenchmark(means=(0.9, 0.3), n_items=240, offset=0.0)
NEAR = SyntheticBenchmark(means=(0.75, 0.55), n_items=240, offset=0.0)
SMALL = SyntheticBenchmark(means=(0.97, 0.1), n_items=60, offset=0.0)
RULES = Policy(
    candidates=(WIDE.models[0],),
    baseline=WIDE.models[1],
    claims=(Claim(kind="better_by", amount=0.05),),
    spending="ledger",
)


@pytest.fixture(autouse=True)
def repeatable(monkeypatch):
    """Every test draws the same orders."""
    numbers = random.Random(20)
    monkeypatch.setattr("bbedge.board.board.drawn_seed", lambda: numbers.getrandbits(53))


def contents(ledger):
    """What a ledger says, without times."""
    taken = Taken.apart(ledger)
    return [(kind, content) for kind, _, content in taken.events], taken.vectors


def run(study, ledger, engine, watch=None, label="merge", **options):
    """What ``bbedge gate --until-decided --ledger`` does."""
    with open_board(study, engine.benchmark()) as board:
        chosen = reserved_study(study, RULES, board, ledger, label=label)
    evaluate(chosen, engine, watch=watch, sleep=lambda _: None, **options)
    with closing(Board.open(chosen.board)) as board:
        systems = chosen.question.systems
        first = first_run_of(board, systems)
        scores = stored_scores(board, systems)
        return record(ledger, RULES, scores, label=label, study=study_hash(board), first_run=first)


def test_every_look_is_in_the_ledger_before_it_is_reported(tmp_path):
    ledger, seen = tmp_path / "gate.bbedge", []

    def watch(event):
        if isinstance(event, Looked) and event.checkpoint:
            (use,) = read_ledger(ledger).uses
            assert use.report is None
            *_, (kind, last) = contents(ledger)[0]
            assert (kind, list(last["parts"])) == ("looked", [str(event.checkpoint.blocks)])
            seen.append(event.checkpoint.fraction)

    found = run(fake_study(tmp_path, WIDE), ledger, FakeEngine(WIDE), watch)
    assert (found.use.number, found.use.level, found.is_known) == (1, level_of(RULES, 1), False)
    result = found.report.results[0]
    assert (result.verdict, result.since_fraction, found.report.replicates) == ("PASS", seen[-1], 0)
    assert 1 < len(seen) < 8
    before = contents(ledger)
    again = run(fake_study(tmp_path, WIDE), ledger, FakeEngine(WIDE, fails=lambda *_: pytest.fail("nothing is run")))
    assert again.is_known
    assert contents(ledger) == before


class CrashError(Exception):
    pass


@pytest.mark.parametrize(("synthetic", "each"), [(WIDE, 13), (NEAR, 199)])
def test_a_study_that_crashes_anywhere_ends_with_the_same_ledger(tmp_path, synthetic, each):
    whole = tmp_path / "whole" / "gate.bbedge"
    whole.parent.mkdir()
    study = fake_study(tmp_path / "whole", synthetic, checkpoints=[0.02, 0.1, 0.3])
    engine = FakeEngine(synthetic)
    with open_board(study, engine.benchmark()):
        pass
    shutil.copytree(tmp_path / "whole", tmp_path / "broken")
    found = run(study, whole, engine)
    assert (found.report.fraction is None) == (synthetic is NEAR), "one study stops inside the first run, one after it"
    calls = 0

    def crash(*_):
        nonlocal calls
        calls += 1
        if calls % each == 0:
            raise CrashError
        return False

    def crash_at_a_look(event):
        if isinstance(event, Looked) and event.answer.text not in reported:
            reported.append(event.answer.text)
            raise CrashError

    reported: list[str] = []
    broken = tmp_path / "broken" / "gate.bbedge"
    study = fake_study(tmp_path / "broken", synthetic, checkpoints=[0.02, 0.1, 0.3])
    for _ in range(100):
        try:
            again = run(study, broken, FakeEngine(synthetic, fails=crash), crash_at_a_look)
            break
        except CrashError:
            assert len(read_ledger(broken).uses) == 1
            continue
    else:
        pytest.fail("it never ended")
    assert reported
    assert calls > each
    assert again.report == found.report
    assert again.use.level == found.use.level
    assert contents(broken) == contents(whole)


def test_a_board_that_is_set_back_cannot_be_run_again_with_other_answers(tmp_path):
    ledger, study = tmp_path / "gate.bbedge", fake_study(tmp_path / "study", NEAR, checkpoints=[0.02, 0.1])
    engine = FakeEngine(NEAR)
    with open_board(study, engine.benchmark()):
        pass
    shutil.copytree(tmp_path / "study", tmp_path / "copy")

    def stop(event):
        if isinstance(event, Looked) and event.checkpoint and event.checkpoint.number == 2:
            raise CrashError

    with pytest.raises(CrashError):
        run(study, ledger, engine, stop)
    shutil.rmtree(tmp_path / "study")
    shutil.copytree(tmp_path / "copy", tmp_path / "study")
    with pytest.raises(DataError, match=r"use 1 .'merge'. has seen other scores"):
        run(study, ledger, FakeEngine(NEAR, seed=1))
    shutil.rmtree(tmp_path / "study")
    shutil.copytree(tmp_path / "copy", tmp_path / "study")
    assert run(study, ledger, FakeEngine(NEAR)).use.number == 1, "the same answers are the same use"


def test_another_label_is_another_use_and_another_board_needs_one(tmp_path):
    ledger = tmp_path / "gate.bbedge"
    found = [run(fake_study(tmp_path / name, WIDE), ledger, FakeEngine(WIDE, seed=3), label=name) for name in "ab"]
    assert [(each.use.number, each.use.level) for each in found] == [(1, level_of(RULES, 1)), (2, level_of(RULES, 2))]
    with pytest.raises(DesignError, match=r"use 1 .'a'. is of another study; choose another label"):
        run(fake_study(tmp_path / "c", WIDE), ledger, FakeEngine(WIDE, seed=3), label="a")


@pytest.mark.parametrize(("synthetic", "values"), [(SMALL, {}), (WIDE, {"checkpoints": False})])
def test_without_looks_inside_the_run_the_ledger_has_none(tmp_path, synthetic, values):
    ledger = tmp_path / "gate.bbedge"
    found = run(fake_study(tmp_path, synthetic, **values), ledger, FakeEngine(synthetic))
    assert found.report.replicates >= 1
    events, _ = contents(ledger)
    assert [kind for kind, _ in events] == ["policy", "begun", "looked", "decided"]
    assert events[1][1]["checkpoints"] is None
    assert events[2][1]["parts"] == {}
