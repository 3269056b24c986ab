"""A study that is run until a gate is decided, with a ledger that knows of every look inside its first pass."""

import random
import shutil
from contextlib import closing

import pytest

from bbedge.board import Board
from bbedge.board.stored_scores import stored_scores
from bbedge.errors import DataError
from bbedge.evaluate.events import Looked, PartLooked
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.study_board import first_run_of, open_board, reserved_study
from bbedge.gate import Claim, Policy
from bbedge.gate import ledger as ledgers
from bbedge.gate.ledger import read_ledger, record
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study

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
    """Every test draws the same orders, and ledgers have the same time."""
    numbers = random.Random(20)
    monkeypatch.setattr("bbedge.board.board.drawn_seed", lambda: numbers.getrandbits(53))
    monkeypatch.setattr(ledgers, "_now", lambda: "2026-01-02T03:04:05+00:00")


def run(study, ledger, engine, watch=None, **options):
    """What ``bbedge gate --until-decided --ledger`` does."""
    with open_board(study, engine.benchmark()) as board:
        chosen, use = reserved_study(study, RULES, board, ledger, label="merge")
    evaluate(chosen, engine, watch=watch, sleep=lambda _: None, **options)
    with closing(Board.open(chosen.board)) as board:
        systems = chosen.question.systems
        return record(ledger, RULES, stored_scores(board, systems), use=use, first_run=first_run_of(board, systems))


def test_every_look_is_in_the_ledger_before_it_is_reported(tmp_path):
    ledger, seen = tmp_path / "gate.bbedge", []

    def watch(event):
        if isinstance(event, PartLooked):
            (use,) = read_ledger(ledger).uses
            assert use.looked.report.part == event.checkpoint.fraction
            assert event.answer.answered == (use.looked.report.results[0].verdict != "OPEN")
            seen.append(event.checkpoint.fraction)

    found = run(fake_study(tmp_path, WIDE), ledger, FakeEngine(WIDE), watch)
    assert (found.use.number, found.use.level, found.is_known) == (1, RULES.level(0), False)
    result = found.report.results[0]
    assert (result.verdict, result.since_part, found.report.replicates) == ("PASS", seen[-1], 0)
    assert 1 < len(seen) < 8
    before = ledger.read_bytes()
    again = run(fake_study(tmp_path, WIDE), ledger, FakeEngine(WIDE, fails=lambda *_: pytest.fail("nothing is run")))
    assert again.is_known
    assert ledger.read_bytes() == before


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
    assert (found.report.part is None) == (synthetic is NEAR), "one study stops inside the first pass, one after it"
    calls = 0

    def crash(*_):
        nonlocal calls
        calls += 1
        if calls % each == 0:
            raise CrashError
        return False

    def crash_at_a_look(event):
        if isinstance(event, PartLooked | Looked) and event.answer.text not in reported:
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
    assert broken.read_bytes() == whole.read_bytes()


def test_a_board_that_is_set_back_cannot_be_run_again_with_other_answers(tmp_path):
    ledger, study = tmp_path / "gate.bbedge", fake_study(tmp_path / "study", NEAR, checkpoints=[0.02, 0.1])
    engine = FakeEngine(NEAR)
    with open_board(study, engine.benchmark()):
        pass
    shutil.copytree(tmp_path / "study", tmp_path / "copy")

    def stop(event):
        if isinstance(event, PartLooked) and event.checkpoint.number == 2:
            raise CrashError

    with pytest.raises(CrashError):
        run(study, ledger, engine, stop)
    shutil.rmtree(tmp_path / "study")
    shutil.copytree(tmp_path / "copy", tmp_path / "study")
    with pytest.raises(DataError, match="use 1 has seen other scores"):
        run(study, ledger, FakeEngine(NEAR, seed=1))
    shutil.rmtree(tmp_path / "study")
    shutil.copytree(tmp_path / "copy", tmp_path / "study")
    assert run(study, ledger, FakeEngine(NEAR)).use.number == 1, "the same answers are the same use"


def test_another_board_is_another_use(tmp_path):
    ledger = tmp_path / "gate.bbedge"
    found = [run(fake_study(tmp_path / name, WIDE), ledger, FakeEngine(WIDE, seed=3)) for name in "ab"]
    assert [(each.use.number, each.use.level) for each in found] == [(1, RULES.level(0)), (2, RULES.level(1))]


@pytest.mark.parametrize(("synthetic", "values"), [(SMALL, {}), (WIDE, {"checkpoints": False})])
def test_without_looks_inside_the_pass_the_ledger_has_none(tmp_path, synthetic, values):
    ledger = tmp_path / "gate.bbedge"
    found = run(fake_study(tmp_path, synthetic, **values), ledger, FakeEngine(synthetic))
    assert found.report.replicates >= 1
    text = ledger.read_text()
    assert [f'"kind":"{kind}"' in text for kind in ("begun", "gated")] == [True, True]
    assert '"checkpoints":null' in text
    assert "part" not in text
