"""The loop, with an engine in this process."""

import json
from contextlib import closing
from dataclasses import replace

import pytest
from msgspec import structs

from bbedge.board import Board, BoardDesign
from bbedge.cli.evaluate_screen import saving_lines
from bbedge.errors import BbedgeError, EvaluationError
from bbedge.evaluate.events import Dropped, Looked, Noted, ReplicateBegun, SampleDone, SampleFailed, Waiting, plain
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Sent
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

FAR = SyntheticBenchmark(means=(0.85, 0.6, 0.35, 0.12), n_items=24, block_sizes=2, offset=0.0)
TIED = SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=12, offset=0.0)


def contents(study: EvaluationSpec) -> list[tuple[str, dict]]:
    """The board's events without times and hashes."""
    board = Board.open(study.board)
    verify(board.store)
    events = [
        (event.kind, {k: v for k, v in json.loads(event.payload).items() if k != "cache"}) for event in board.events
    ]
    board.close()
    return events


def run(study, engine, **options):
    seen = []
    ended = evaluate(study, engine, watch=seen.append, sleep=lambda _: None, **options)
    return ended, seen


def test_it_certifies_the_truth_stops_early_and_drops_what_is_settled(tmp_path):
    study, engine = fake_study(tmp_path, FAR), FakeEngine(FAR)
    ended, seen = run(study, engine)
    assert ended.reason == "answered"
    assert ended.leaderboard.graph.rank_intervals == ((1, 1), (2, 2), (3, 3), (4, 4))
    assert ended.spent.replicates < study.file.budget
    dropped = [event for event in seen if isinstance(event, Dropped)]
    assert dropped
    assert ended.retired == tuple(model for event in dropped for model in event.models)
    assert len(engine.ran) == len(set(engine.ran)) == ended.spent.used.calls
    assert ended.spent.full.calls == study.file.budget * 4 * 12
    assert 0.5 < ended.spent.saved < 1.0
    for event in seen:
        json.dumps(plain(event), allow_nan=False)
    again, seen = run(study, FakeEngine(FAR))
    assert (again.reason, again.spent) == (ended.reason, ended.spent)
    assert not any(isinstance(event, SampleDone) for event in seen)


def test_settled_models_are_not_run_again_and_no_drop_keeps_them(tmp_path):
    for name, drop in (("a", "settled"), ("b", "never")):
        study, engine = fake_study(tmp_path / name, FAR, drop=drop), FakeEngine(FAR)
        run(study, engine)
        last = max(replicate for replicate, _, _ in engine.ran)
        models = {model for replicate, model, _ in engine.ran if replicate == last}
        assert (len(models) == 4) == (drop == "never")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("best", "the best is m0"),
        ("top-2", "the Top-2 are m0, m1"),
        ("m1 > m3", "yes: m1 > m3"),
        ("m3 > m1", "no: m1 > m3"),
        ("m0 > m3 by 0.1", "yes: m0 > m3 by more than 0.1"),
        ("m0 > m1 by 0.9", "no: by its margin, m0 is ahead of m1 by at most"),
        ("ranks within 1", "every rank is known within 1"),
    ],
)
def test_every_question_is_answered(tmp_path, question, text):
    names = dict(zip((f"m{i}" for i in range(4)), FAR.models, strict=True))
    for short, name in names.items():
        question, text = question.replace(short, name), text.replace(short, name)
    study = fake_study(tmp_path, FAR, question=question, budget=60, drop="unneeded")
    ended, _ = run(study, FakeEngine(FAR))
    assert ended.reason == "answered"
    assert ended.answer.text.startswith(text)


def test_the_budget_ends_what_has_no_answer(tmp_path):
    study = fake_study(tmp_path, TIED, budget=3)
    ended, _ = run(study, FakeEngine(TIED))
    assert (ended.reason, ended.spent.replicates, ended.answer.answered) == ("budget", 3, False)
    more, _ = run(replace(study, file=structs.replace(study.file, budget=5)), FakeEngine(TIED))
    assert more.spent.replicates == 5


def test_it_stops_when_asked_and_goes_on(tmp_path):
    study = fake_study(tmp_path, TIED, budget=4)
    ended, _ = run(study, FakeEngine(TIED), at_most=0)
    assert (ended.reason, ended.spent.replicates) == ("asked", 0)
    assert run(study, FakeEngine(TIED), at_most=1)[0].spent.replicates == 1
    assert run(study, FakeEngine(TIED))[0].reason == "budget"


def test_an_interrupt_that_the_engine_swallowed_still_stops_the_study(tmp_path):
    study, done = fake_study(tmp_path, FAR), []
    with pytest.raises(KeyboardInterrupt):
        evaluate(study, FakeEngine(FAR), watch=done.append, interrupted=lambda: bool(done), sleep=lambda _: None)
    finished = [event for event in done if isinstance(event, SampleDone)]
    assert {event.replicate for event in finished} == {1}
    again, seen = run(study, FakeEngine(FAR))
    assert again.reason == "answered"
    assert not any(isinstance(event, SampleDone) and event.replicate == 1 for event in seen)


def test_a_crash_anywhere_changes_nothing(tmp_path):
    """The engine dies after every third sample of a replicate; what was done is never done again."""
    whole = fake_study(tmp_path / "whole", FAR)
    run(whole, FakeEngine(FAR))
    study, engine = fake_study(tmp_path / "crashed", FAR), FakeEngine(FAR)

    class Crash(BaseException):
        pass

    def crash_later(event):
        crash_later.count += isinstance(event, SampleDone)
        if crash_later.count == crash_later.at:
            raise Crash

    crashes = 0
    for at in range(1, 400):
        crash_later.count, crash_later.at = 0, 1 + at % 41
        try:
            evaluate(study, engine, watch=crash_later, sleep=lambda _: None)
            break
        except Crash:
            crashes += 1
    assert crashes > 5
    assert len(engine.ran) == len(set(engine.ran))
    assert contents(study) == contents(whole)


@pytest.mark.parametrize("moment", ["add", "retire", "finish"])
def test_a_crash_between_the_board_and_the_journal_changes_nothing(tmp_path, monkeypatch, moment):
    whole = fake_study(tmp_path / "whole", FAR)
    expected, _ = run(whole, FakeEngine(FAR))
    study = fake_study(tmp_path / "crashed", FAR)
    owner, name = {
        "add": (Board, "add"),
        "retire": (Board, "retire"),
        "finish": (__import__("bbedge.evaluate.journal", fromlist=["Journal"]).Journal, "finish"),
    }[moment]
    honest = getattr(owner, name)
    count = 0

    def dying(self, *args, **options):
        nonlocal count
        count += 1
        if moment == "finish" and count % 2:
            raise InterruptedError
        result = honest(self, *args, **options)
        if count % 2:
            raise InterruptedError
        return result

    monkeypatch.setattr(owner, name, dying)
    for _ in range(100):
        try:
            ended, _ = run(study, FakeEngine(FAR))
            break
        except InterruptedError:
            continue
    assert ended.spent == expected.spent
    assert contents(study) == contents(whole)


def test_failed_samples_are_tried_again_and_cost_what_they_cost(tmp_path):
    whole = fake_study(tmp_path / "whole", FAR)
    expected, _ = run(whole, FakeEngine(FAR))
    study = fake_study(tmp_path / "failing", FAR)
    flaky = FakeEngine(FAR, fails=lambda r, model, sample, attempt: attempt == 1 and (r + len(sample)) % 3 == 0)
    ended, seen = run(study, flaky)
    assert contents(study) == contents(whole)
    assert any(isinstance(event, SampleFailed) for event in seen)
    assert any(isinstance(event, Waiting) for event in seen)
    assert ended.spent.used.calls > expected.spent.used.calls


def test_counts_stay_true_over_crashes_and_failures(tmp_path):
    """What was asked for is compared with what the engine saw, and the full budget with what it is."""

    class Crash(BaseException):
        pass

    class Dying(FakeEngine):
        """Every request is answered; a call dies before the answer of its 20th reaches the journal."""

        def run(self, replicate, jobs, seeds, report):
            asked = 0

            def count(what):
                nonlocal asked
                asked += isinstance(what, Sent)
                self.asked += isinstance(what, Sent)
                if asked == 20 and not isinstance(what, Sent):
                    raise Crash
                report(what)

            super().run(replicate, jobs, seeds, count)

    study = fake_study(tmp_path, TIED, budget=5)
    engine = Dying(TIED, announces=True, fails=lambda r, model, sample, attempt: attempt == 1 and r == 2)
    engine.asked, crashes = 0, 0
    for _ in range(100):
        try:
            ended, _ = run(study, engine, at_most=1)
        except Crash:
            crashes += 1
        else:
            if ended.spent.replicates == 3:
                break
    assert crashes >= 3
    spent, samples = ended.spent, 3 * 12  # models x samples
    assert spent.used.calls == engine.asked > 3 * samples
    assert spent.lost == crashes
    assert (spent.samples, spent.full_samples) == (3 * samples, 5 * samples)
    assert spent.full.calls == 5 * samples
    assert spent.full.total_tokens == 5 * samples * 12
    lines = "\n".join(saving_lines(spent, study))
    assert "Samples     108 of at most 180 (40% saved)" in lines
    assert f"{crashes} of these were in flight at an interruption and ran again" in lines
    assert plain(ended)["spent"]["lost_queries"] == crashes


def test_an_error_is_not_a_zero_and_the_replicate_waits(tmp_path):
    study = fake_study(tmp_path, FAR, run={"pause": 0.0, "retries": 2})
    block = FAR.blocks[3]
    broken = FakeEngine(FAR, fails=lambda r, model, sample, attempt: sample == block and r == 2)
    with pytest.raises(EvaluationError, match=r"replicate 2 is not complete: 4 samples failed 3 times(.|\n)*as told"):
        run(study, broken)
    assert Board.open(study.board).state.epoch.replicates == 1
    assert broken.tries[2, FAR.models[0], block] == 3
    mended = FakeEngine(FAR)
    ended, seen = run(study, mended)
    assert ended.reason == "answered"
    first = next(event for event in seen if isinstance(event, ReplicateBegun))
    assert (first.replicate, dict(first.done)[FAR.models[0]]) == (2, 11)
    assert sum(replicate == 2 for replicate, _, _ in mended.ran) == 4


def test_credentials_in_an_error_reach_no_file_event_or_message(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIPTED_API_KEY", "plainwordkey")
    secrets = ("plainwordkey", "hunter2Correct")
    text = "401 from http://ann:hunter2Correct@host/v1 {'Authorization': 'Bearer hunter2Correct'}: bad plainwordkey"

    class Leaking(FakeEngine):
        def run(self, replicate, jobs, seeds, report):
            super().run(replicate, jobs, seeds, lambda what: report(structs.replace(what, error=text)))

    study = fake_study(tmp_path, FAR, run={"pause": 0.0, "retries": 0})
    seen = []
    with pytest.raises(EvaluationError, match="401 from") as caught:
        evaluate(study, Leaking(FAR, fails=lambda *_: True), watch=seen.append, sleep=lambda _: None)
    written = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file())
    shown = str(caught.value) + json.dumps([plain(event) for event in seen])
    assert "401 from" in written
    assert not any(secret in shown or secret in written for secret in secrets)


def test_an_error_is_a_zero_if_the_design_says_so(tmp_path):
    study = fake_study(tmp_path, FAR, on_error="zero", budget=1, run={"pause": 0.0, "retries": 1})
    block = FAR.blocks[3]
    run(study, FakeEngine(FAR, fails=lambda r, model, sample, attempt: sample == block))
    board = Board.open(study.board)
    assert "scores zero, as decided before the first run" in board.noted[0].text
    with board.store.read() as session:
        from bbedge.board.stored_scores import StoredScores

        panel = StoredScores(session).panel(board.state.epoch, 1)
    places = [place for place, each in enumerate(FAR.blocks) if each == block]
    assert all(panel[model][places].sum() == 0.0 for model in FAR.models)


def test_what_cannot_be_guaranteed_is_written_on_the_board_once(tmp_path):
    study = fake_study(tmp_path, TIED, budget=3)
    engine = FakeEngine(TIED, caveats=["no promise"], unseeded=("vendor/model",))
    _, seen = run(study, engine)
    run(replace(study, file=structs.replace(study.file, budget=4)), engine)
    noted = [note.text for note in Board.open(study.board).noted if note.about == "independence"]
    assert noted[0] == "no promise"
    assert "vendor/model carry no seed" in noted[1]
    assert len(noted) == 2
    assert [event.text for event in seen if isinstance(event, Noted)] == noted


def test_equal_scores_are_a_coincidence_if_the_answers_differ(tmp_path):
    """Few items that are nearly always solved: honest replicates coincide, and must not be refused."""
    easy = SyntheticBenchmark(means=(0.92, 0.92), n_items=8, offset=0.0)
    ended, _ = run(fake_study(tmp_path / "traced", easy, budget=30), FakeEngine(easy, seed=3))
    assert ended.spent.replicates == 30
    blind = FakeEngine(easy, seed=3, traced=False)
    study = fake_study(tmp_path / "blind", easy, budget=30)
    with pytest.raises(EvaluationError, match="repeats an earlier one"):
        run(study, blind)
    allowed, _ = run(
        replace(study, file=structs.replace(study.file, run=structs.replace(study.file.run, copies="allow"))), blind
    )
    assert allowed.spent.replicates == 30


def test_copies_are_refused_and_a_model_that_repeats_itself_is_noted(tmp_path):
    class Greedy(FakeEngine):
        def run(self, replicate, jobs, seeds, report):
            def same(what):
                first = what.model == TIED.models[0] or self.all
                report(structs.replace(what, trace="same" if first else what.trace, length=self.length))

            super().run(1 if self.all else replicate, jobs, seeds, same)

    for length in (3, 100):  # the same letter twice is a coincidence, the same paragraph is not
        engine = Greedy(TIED)
        engine.all, engine.length = False, length
        study = fake_study(tmp_path / str(length), TIED, budget=3)
        ended, _ = run(study, engine)
        assert ended.spent.replicates == 3
        noted = [note.text for note in Board.open(study.board).noted]
        assert any("replicate 2 word for word as in replicate 1" in text for text in noted) == (length == 100)
    engine = Greedy(TIED)
    engine.all, engine.length = True, 3
    with pytest.raises(EvaluationError, match="replicate 2 repeats an earlier one"):
        run(fake_study(tmp_path / "all", TIED, budget=3), engine)


def test_blocks_stay_together_and_change_their_order(tmp_path):
    engine = FakeEngine(TIED)
    run(fake_study(tmp_path, TIED, budget=2), engine)
    orders = {
        (replicate, model): [sample for r, m, sample in engine.ran if (r, m) == (replicate, model)]
        for replicate in (1, 2)
        for model in TIED.models
    }
    assert len({tuple(order) for order in orders.values()}) == 6
    assert len({frozenset(order) for order in orders.values()}) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"design": {"alpha": 0.1}}, "its frozen design.*'alpha' differ"),
        ({"design": {"planned": 2}}, "its frozen design.*'planned' differ"),
        ({"design": {"margin_share": 0.0}}, "its frozen design.*'margin_share' differ"),
        ({"design": {"method": "bb-edge"}}, "its frozen design.*'method', 'margin_share' differ"),
        ({"models": ["x", "y", "z"]}, "its models are not those of the study"),
        ({"seed": 9}, "'seed' changed after the study had begun"),
        ({"on_error": "zero"}, "'on_error' changed"),
    ],
)
def test_what_was_frozen_cannot_be_changed(tmp_path, change, message):
    run(fake_study(tmp_path, TIED, budget=1), FakeEngine(TIED))
    with pytest.raises(BbedgeError, match=message):
        run(fake_study(tmp_path, TIED, budget=2, **change), FakeEngine(TIED))


def frozen(study: EvaluationSpec) -> BoardDesign:
    with closing(Board.open(study.board)) as board:
        return board.design


def test_the_budget_is_the_planned_number_and_stays_it_when_the_budget_grows(tmp_path):
    """The board of a study whose budget was raised is that of a study that stated the first number from the start."""
    run(fake_study(tmp_path / "raised", FAR, question="ranks within 0", budget=2), FakeEngine(FAR))
    raised = fake_study(tmp_path / "raised", FAR, question="ranks within 0", budget=20)
    assert raised.design.planned == 20
    ended, _ = run(raised, FakeEngine(FAR))
    assert frozen(raised).planned == ended.design.planned == 2
    assert ended.spent.replicates > 2
    stated = fake_study(tmp_path / "stated", FAR, question="ranks within 0", budget=20, design={"planned": 2})
    run(stated, FakeEngine(FAR))
    assert contents(raised) == contents(stated)
    assert traces(raised) == traces(stated)


def traces(study: EvaluationSpec) -> list[dict]:
    """The traces of the replicates; those of the engine of these tests are its seeds."""
    return [json.loads(line)["traces"] for line in (study.folder / "usage.jsonl").read_text().splitlines()]


def test_a_benchmark_that_changed_is_refused(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1)
    run(study, FakeEngine(TIED))
    other = SyntheticBenchmark(means=TIED.means, n_items=13, offset=0.0)
    with pytest.raises(BbedgeError, match="its items and blocks are not those"):
        run(study, FakeEngine(other))
    engine = FakeEngine(TIED)
    honest = engine.benchmark()
    engine.benchmark = lambda: replace(honest, fingerprint="asks something else")
    with pytest.raises(BbedgeError, match="asks other questions than when the study began"):
        run(study, engine)


def test_a_board_that_somebody_else_filled_is_refused(tmp_path):
    study = fake_study(tmp_path, TIED, budget=2)
    board = Board.create(study.board, study.design, models=study.names, items=TIED.items, blocks=TIED.blocks)
    import numpy as np

    from bbedge.core.scores import Scores

    board.add(Scores.of(TIED.panel(np.random.default_rng(0)), models=TIED.models, items=TIED.items))
    with pytest.raises(BbedgeError, match="holds replicates that no study has run"):
        run(study, FakeEngine(TIED))


def test_a_pilot_chooses_and_is_not_evidence(tmp_path):
    study = fake_study(tmp_path, FAR, question="top-2", design={"family": "pilot-top-k", "k": 2, "pilot": 2}, budget=20)
    ended, seen = run(study, FakeEngine(FAR))
    assert ended.reason == "answered"
    begun = [event for event in seen if isinstance(event, ReplicateBegun)]
    assert [event.pilot for event in begun[:3]] == [True, True, False]
    assert ended.spent.replicates == len(begun) == ended.leaderboard.replicates + 2


def test_models_certified_above_each_other_stop_the_study(tmp_path, monkeypatch):
    study = fake_study(tmp_path, FAR)
    from bbedge.core.leaderboard import Leaderboard

    monkeypatch.setattr(Leaderboard, "contradictions", property(lambda self: (("a", "b"),) if self.replicates else ()))
    ended, seen = run(study, FakeEngine(FAR))
    assert ended.reason == "contradiction"
    assert sum(isinstance(event, Looked) for event in seen) == 1
