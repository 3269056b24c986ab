"""What was sent, what of it was useful, and what is said about it."""

import io

import pytest
from rich.console import Console

from bbedge.cli.evaluate_screen import Screen, line, saving_lines
from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import RequestWaits, StillSilent
from bbedge.evaluate.events import CheckBegun, CheckEnded, ErrorSeen, PilotBegun, RequestsRepeated, SampleDone, plain
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.journal_file import add_extra, extra_usage
from bbedge.evaluate.runner import evaluate
from bbedge.records.journal import Sent, Usage
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study

TIED = SyntheticBenchmark(means=(0.5, 0.5), n_items=10, offset=0.0)


class Killed(BaseException):
    pass


class Dying(FakeEngine):
    """Sends three requests at a time; the first call ends before the answers of the second three are kept."""

    def run(self, replicate, jobs, seeds, report):
        for start in range(0, len(jobs), 3):
            some = jobs[start : start + 3]
            for job in some:
                report(Sent(model=job.model.name, sample=job.sample.name))
            if not self.died and start == 3:
                self.died = True
                raise Killed
            super().run(replicate, some, seeds, report)


def run(study, engine):
    seen = []
    return evaluate(study, engine, watch=seen.append, sleep=lambda _: None), seen


def test_requests_that_are_repeated_after_a_kill_are_said_to_be(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1)
    engine = Dying(TIED, fails=lambda r, model, sample, attempt: attempt == 1 and sample == TIED.blocks[0])
    engine.died = False
    with pytest.raises(Killed):
        run(study, engine)
    ended, seen = run(study, engine)
    (repeated,) = [event for event in seen if isinstance(event, RequestsRepeated)]
    assert plain(repeated) == {"event": "requests-repeated", "requests": 3}
    assert line(repeated).startswith("3 requests had no sample in the journal at the interruption")
    assert seen.index(repeated) < next(place for place, event in enumerate(seen) if isinstance(event, SampleDone))
    spent = ended.spent
    assert (spent.useful, spent.failed, spent.lost, spent.used.calls) == (20, 2, 3, 25)
    assert spent.full.calls == 20
    text = saving_lines(spent, study)
    assert "            20 of these were useful" in text
    assert any("3 of these were in flight at an interruption and ran again, answered or not" in each for each in text)
    assert "            2 of these were for attempts at samples that failed" in text


def test_nothing_is_added_where_everything_was_useful(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1)
    ended, seen = run(study, FakeEngine(TIED))
    assert not any("of these" in each for each in saving_lines(ended.spent, study))
    assert not any(isinstance(event, RequestsRepeated) for event in seen)


def test_extras_add_up_and_damage_is_named(tmp_path):
    folder = tmp_path / "new" / "run"
    add_extra(folder, "check", Usage())
    assert not folder.exists()
    for calls in (1, 2):
        add_extra(folder, "check", Usage(calls=calls, tokens={"m": (10, calls)}))
    add_extra(folder, "pilot", Usage(calls=5))
    assert extra_usage(folder, "check") == Usage(calls=3, tokens={"m": (20, 3)})
    assert extra_usage(folder, "pilot") == Usage(calls=5)
    file = folder / "extras.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])  # a crash has cut off the last line
    assert extra_usage(folder, "pilot") == Usage()
    add_extra(folder, "pilot", Usage(calls=5))
    assert file.read_bytes() == whole
    file.write_bytes(whole.replace(b'"calls":2', b'"calls":9'))
    with pytest.raises(EvaluationError, match=r"extras\.jsonl:2: the checksum does not fit"):
        extra_usage(folder, "check")


def test_lines_say_what_is_asked_and_what_fails():
    problem = Problem(kind="not-found", model="a", message="no model x", endpoint="http://h/v1", status=404)
    assert line(CheckBegun(models=("a", "b"))) == "asking 2 models one short question each"
    silent = StillSilent(model="a", endpoint="http://h/v1", seconds=5.2)
    assert line(silent) == "a at http://h/v1: no answer after 5 s, still waiting"
    error = line(ErrorSeen(problem=problem, count=1))
    assert error.startswith("error: a at http://h/v1: not found (HTTP 404): no model x (check the name of the model")
    assert line(ErrorSeen(problem=problem, count=2)) == ""
    usage = Usage(calls=1, tokens={"m": (10, 1)})
    assert line(CheckEnded(answered=("a",), failed=(), usage=usage)) == "all answered (1 request, 11 tokens)"
    some = line(CheckEnded(answered=("a",), failed=("b",), usage=usage))
    assert some == "1 answered (1 request, 11 tokens); b did not, which may pass: the study goes on"
    assert line(PilotBegun(models=("a", "b"), samples=10)) == "pilot: 10 samples for each of 2 models"


def test_the_screen_counts_errors_and_waiting(tmp_path):
    study = fake_study(tmp_path, TIED)
    console = Console(file=io.StringIO(), width=120)
    screen = Screen(console, study)

    def shown():
        with console.capture() as frame:
            console.print(screen.render())
        return frame.get()

    screen(PilotBegun(models=study.names, samples=5))
    screen(SampleDone(replicate=0, model=study.names[0], sample="s", usage=Usage(calls=1)))
    screen(ErrorSeen(problem=Problem(kind="server", model="a", message="no"), count=1))
    assert "pilot: 1 sample finished, 1 error" in shown()

    screen = Screen(console, study)
    frames = []

    def watch(event):
        screen(event)
        frames.append(shown())

    class Slow(FakeEngine):
        def run(self, replicate, jobs, seeds, report):
            watch(ErrorSeen(problem=Problem(kind="rate-limit", model="a", message="slow down", status=429), count=1))
            watch(RequestWaits(model="a", seconds=7.0))
            super().run(replicate, jobs, seeds, report)

    evaluate(study, Slow(TIED), watch=watch, sleep=lambda _: None, at_most=1)
    assert any("waiting for the first answers · 1 error, 7 s of waiting" in frame for frame in frames)
    assert any("requests/s · 1 error, 7 s of waiting" in frame for frame in frames)
    assert "a: too many requests (HTTP 429): slow down" in console.file.getvalue()
