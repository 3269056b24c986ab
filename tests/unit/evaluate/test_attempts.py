"""Every attempt at a replicate is on the board before its first request: nothing can be drawn again without a trace."""

import ast
import re
import shutil
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.cli.evaluate_screen import line
from bbedge.evaluate import handover
from bbedge.evaluate.events import ReplicateBegun, SampleDone
from bbedge.evaluate.runner import evaluate
from bbedge.records.codec import plain
from bbedge.records.events import AttemptBegun, AttemptEnded, NoteAdded
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

TIED = SyntheticBenchmark(means=(0.6, 0.6, 0.6), n_items=20)


class Killed(BaseException):
    pass


def run(study, *, samples=None, engine=None, **options):
    """Run a study, or only until so many samples of this call are done."""
    seen = []

    def watch(event):
        seen.append(event)
        if sum(isinstance(each, SampleDone) for each in seen) == samples:
            raise Killed

    with suppress(Killed):
        evaluate(study, engine or FakeEngine(TIED), watch=watch, sleep=lambda _: None, **options)
    return seen


def attempts(study):
    """What the board has of attempts, verified: (replicate, attempt, what became of it, why)."""
    with closing(Board.open(study.board)) as board:
        verify(board.store)
        found = [event.content for event in board.events if isinstance(event.content, AttemptBegun | AttemptEnded)]
        open_ = {}
        for each in found:
            key = (each.replicate, each.attempt)
            if isinstance(each, AttemptBegun):
                assert key not in open_
                open_[key] = (None, None)
            else:
                assert open_[key] == (None, None)
                open_[key] = (each.outcome, each.reason)
        return [(*key, *ended) for key, ended in open_.items()]


def certificate(study):
    with closing(Board.open(study.board)) as board:
        return board.certificate().content


def test_an_attempt_is_on_the_board_before_its_first_request_and_ends_with_the_replicate(tmp_path):
    study = fake_study(tmp_path, TIED, budget=2, drop="never", checkpoints=False)
    known = []

    class Asking(FakeEngine):
        def run(self, replicate, *others):
            known.append((replicate, attempts(study)))
            super().run(replicate, *others)

    run(study, engine=Asking(TIED))
    first, second = (1, 1, "finished", None), (2, 1, "finished", None)
    assert known == [(1, [(1, 1, None, None)]), (2, [first, (2, 1, None, None)])]
    assert attempts(study) == [first, second]
    with closing(Board.open(study.board)) as board:
        begun = [event.content for event in board.events if isinstance(event.content, AttemptBegun)]
        (protocol,) = {each.protocol for each in begun}
        assert len(protocol) == 64
        assert len({each.seed for each in begun}) == 1
    content = certificate(study)
    assert plain(content.board.attempts) == {"begun": 2, "runs": 2, "abandoned": 0}
    assert not any(note.kind == "attempts" for note in content.notes)


def test_an_intact_journal_continues_the_same_attempt(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=False)
    for samples in (3, 4, 5):
        run(study, samples=samples)
        assert attempts(study) == [(1, 1, None, None)]
    seen = run(study)
    assert [event.attempt for event in seen if isinstance(event, ReplicateBegun)] == [1]
    assert attempts(study) == [(1, 1, "finished", None)]


def test_ten_draws_leave_ten_traces(tmp_path):
    study = fake_study(tmp_path, TIED, budget=3, drop="never", checkpoints=False)
    run(study, at_most=2)
    for _ in range(9):
        run(study, samples=4)
        shutil.rmtree(study.folder)
    seen = run(study)
    assert [event.attempt for event in seen if isinstance(event, ReplicateBegun)] == [10]
    lost = [(3, number, "abandoned", "journal-missing") for number in range(1, 10)]
    assert attempts(study) == [(1, 1, "finished", None), (2, 1, "finished", None), *lost, (3, 10, "finished", None)]
    content = certificate(study)
    assert plain(content.board.attempts) == {"begun": 12, "runs": 3, "abandoned": 9}
    (note,) = [note for note in content.notes if note.kind == "attempts"]
    assert note.text.startswith("12 attempts for 3 runs: 9 were abandoned")


def test_a_first_run_in_parts_that_is_drawn_again_leaves_a_trace(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=[0.25, 0.5])
    run(study, samples=20)  # the first part is on the board
    with closing(Board.open(study.board)) as board:
        assert board.state.epoch.passed
    shutil.rmtree(study.folder)
    run(study)
    assert attempts(study) == [(1, 1, "abandoned", "journal-missing"), (1, 2, "finished", None)]
    assert "2 attempts for 1 run: 1 was abandoned" in " ".join(map(str, certificate(study).notes))


def test_a_first_run_in_parts_can_be_interrupted_after_its_journal_was_lost(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=[0.25, 0.5, 0.75])
    run(study, samples=20)
    shutil.rmtree(study.folder)
    run(study, samples=20)  # the second part is on the board
    run(study)
    assert attempts(study) == [(1, 1, "abandoned", "journal-missing"), (1, 2, "finished", None)]


def test_a_pilot_that_is_drawn_again_leaves_a_trace(tmp_path):
    design = {"family": "pilot-top-k", "k": 1, "pilot": 1}
    study = fake_study(tmp_path, TIED, budget=2, question="best", drop="never", design=design)
    run(study, samples=4)
    shutil.rmtree(study.folder)
    run(study)
    assert attempts(study)[:2] == [(1, 1, "abandoned", "journal-missing"), (1, 2, "finished", None)]


def test_the_journal_of_an_abandoned_attempt_cannot_come_back(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=False)
    run(study, samples=5)
    shutil.copytree(study.folder, tmp_path / "kept")
    shutil.rmtree(study.folder)
    run(study, samples=5)
    shutil.rmtree(study.folder)
    shutil.copytree(tmp_path / "kept", study.folder)
    run(study, samples=5)
    assert attempts(study) == [
        (1, 1, "abandoned", "journal-missing"),
        (1, 2, "abandoned", "journal-replaced"),
        (1, 3, None, None),
    ]
    (aside,) = study.folder.glob("set-aside-*")  # nothing that was asked for is deleted
    assert aside.read_bytes() == (tmp_path / "kept" / "replicate-00001.jsonl").read_bytes()
    run(study)
    assert attempts(study)[-1] == (1, 3, "finished", None)


@pytest.mark.parametrize("moment", ["begin_attempt", "end_attempt", "add"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_crash_beside_the_board_is_no_attempt(tmp_path, monkeypatch, moment, side):
    study = fake_study(tmp_path, TIED, budget=3, drop="never", checkpoints=False)
    honest, dead = getattr(Board, moment), set()

    def dying(self, *args, **options):
        head = len(self.events)
        if side == "before" and head not in dead:
            dead.add(head)
            raise Killed
        result = honest(self, *args, **options)
        if side == "after" and head not in dead:
            dead.add(head)
            raise Killed
        return result

    monkeypatch.setattr(Board, moment, dying)
    for _ in range(20):
        run(study)
    assert dead
    assert attempts(study) == [(number, 1, "finished", None) for number in (1, 2, 3)]


def test_a_crash_while_an_attempt_is_given_up_is_one_attempt(tmp_path, monkeypatch):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=False)
    run(study, samples=5)
    shutil.rmtree(study.folder)
    for moment in ("end_attempt", "begin_attempt"):
        with monkeypatch.context() as patch:
            patch.setattr(Board, moment, lambda *args, **options: (_ for _ in ()).throw(Killed))
            run(study)
    run(study)
    assert attempts(study) == [(1, 1, "abandoned", "journal-missing"), (1, 2, "finished", None)]


def test_the_terminal_says_which_attempt_begins(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=False)
    first = run(study, samples=5)
    shutil.rmtree(study.folder)
    second = run(study)
    said = [[line(event) for event in seen if isinstance(event, ReplicateBegun)] for seen in (first, second)]
    assert said == [[""], ["replicate 1: attempt 2, because no journal continues the one before"]]


def test_no_message_advises_to_delete_what_was_run():
    advice = re.compile(r"\b(delete|remove|erase|rm)\b[^.;]{0,20}\b(it|files?|folders?|journal|page)\b", re.IGNORECASE)
    found = []
    for path in Path(handover.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        found += [(path.name, node.value) for node in texts if id(node) not in prose and advice.search(node.value)]
    # A setting of the study that looks like a password is no result.
    assert [each for each in found if "environment variable" not in each[1]] == []


def test_notes_about_attempts_are_of_their_epoch_and_no_event_is_a_note(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=False)
    run(study, samples=5)
    shutil.rmtree(study.folder)
    run(study)
    with closing(Board.open(study.board)) as board:
        assert not any("attempt" in each.text for each in board.noted if isinstance(each, NoteAdded))
        board.add_items(["new"], ["new"])
        assert not board.certificate(2).content.board.attempts
        assert board.certificate(1).content.board.attempts
