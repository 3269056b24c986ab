"""The short question before the first sample, and the order in which errors show."""

from pathlib import Path

import pytest

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Answered, RequestWaits, StillSilent, Trouble
from bbedge.evaluate.events import Begun, CheckBegun, CheckEnded, Ended, ErrorSeen, SampleFailed, Waiting, plain
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.journal_file import extra_usage
from bbedge.evaluate.preflight import preflight_unwatched
from bbedge.evaluate.runner import evaluate
from bbedge.records.journal import Failed, Usage
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study

FAR = SyntheticBenchmark(means=(0.85, 0.6, 0.12), n_items=12, offset=0.0)
FIRST, SECOND, THIRD = FAR.models


def wrong(kind, model, **given):
    return Problem(
        **{"kind": kind, "model": model, "message": "as told", "endpoint": "http://u:pass123@h:9/v1"} | given
    )


class Asked(FakeEngine):
    """Answers the short question, unless it knows what is wrong with a model."""

    def __init__(self, *args, wrong=None, **options):
        super().__init__(*args, **options)
        self.wrong, self.asked = wrong or {}, []

    def check(self, models, seeds, report):
        self.asked += [(model.name, seeds(model.name)) for model in models]
        for model in models:
            report(
                self.wrong.get(
                    model.name, Answered(model=model.name, usage=Usage(calls=1, tokens={model.model: (9, 1)}))
                )
            )


def run(study, engine, **options):
    seen = []
    options = {"sleep": lambda seconds: seen.append(("slept", seconds))} | options
    return evaluate(study, engine, watch=seen.append, **options), seen


def kinds(seen):
    return [type(event) for event in seen]


def test_every_model_is_asked_once_before_the_first_sample_and_it_is_counted(tmp_path):
    study, engine = fake_study(tmp_path, FAR), Asked(FAR)
    ended, seen = run(study, engine)
    assert [name for name, _ in engine.asked] == list(FAR.models)
    assert len({seed for _, seed in engine.asked}) == 3
    assert kinds(seen)[:3] == [CheckBegun, CheckEnded, Begun]
    assert seen[1].answered == FAR.models
    assert plain(seen[1]) == {
        "event": "check-ended",
        "answered": FAR.models,
        "failed": (),
        "calls": 3,
        "tokens": 30,
    }
    spent = ended.spent
    assert spent.checks == 3
    assert spent.used.calls == spent.useful + 3 == len(engine.ran) + 3
    assert spent.used.total_tokens == 12 * len(engine.ran) + 30
    again, seen = run(study, engine)
    assert again.reason == "answered"
    assert len(engine.asked) == 3, "a study that is answered asks nothing"
    assert again.spent == spent


def test_a_study_that_goes_on_asks_the_models_that_are_left(tmp_path):
    study, engine = fake_study(tmp_path, FAR), Asked(FAR)
    ended, _ = run(study, engine, at_most=1)
    while not ended.retired:
        ended, _ = run(study, engine, at_most=1)
    assert ended.reason == "asked"
    engine.asked = []
    run(study, engine, at_most=1)
    assert {name for name, _ in engine.asked} == set(FAR.models) - set(ended.retired)


def test_it_can_be_switched_off(tmp_path):
    study = fake_study(tmp_path, FAR, run={"pause": 0.0, "preflight": False})
    engine = Asked(FAR, wrong={FIRST: wrong("no-connection", FIRST)})
    ended, seen = run(study, engine)
    assert (ended.reason, engine.asked, ended.spent.checks) == ("answered", [], 0)
    assert CheckBegun not in kinds(seen)


@pytest.mark.parametrize("kind", ["no-connection", "credentials", "not-found", "refused"])
def test_what_needs_a_change_stops_before_anything_is_frozen(tmp_path, kind):
    study, seen = fake_study(tmp_path, FAR), []
    engine = Asked(FAR, wrong={SECOND: wrong(kind, SECOND, status=None)})
    with pytest.raises(
        EvaluationError, match=r"1 model did not answer(.|\n)*as told(.|\n)*preflight = false"
    ) as caught:
        evaluate(study, engine, watch=seen.append, sleep=lambda _: None)
    assert kinds(seen) == [CheckBegun, ErrorSeen]
    assert seen[1].problem.endpoint == "http://u:***@h:9/v1"
    assert "pass123" not in str(caught.value)
    assert not Path(study.board).exists()
    assert engine.ran == []


@pytest.mark.parametrize("kind", ["rate-limit", "server", "timeout", "connection-lost", "answer", "other"])
def test_what_may_pass_is_shown_and_the_study_goes_on(tmp_path, kind):
    study = fake_study(tmp_path, FAR)
    ended, seen = run(study, Asked(FAR, wrong={SECOND: wrong(kind, SECOND)}))
    assert kinds(seen)[:4] == [CheckBegun, ErrorSeen, CheckEnded, Begun]
    assert seen[2].failed == (SECOND,)
    assert ended.reason == "answered"
    assert [(each.first.kind, each.count) for each in ended.problems] == [(kind, 1)]
    assert plain(ended)["errors"][0]["message"] == "as told"


@pytest.mark.parametrize(
    ("kind", "stops"), [("timeout", True), ("answer", True), ("rate-limit", False), ("server", False)]
)
def test_if_no_model_answers_only_a_server_that_says_so_is_waited_for(tmp_path, kind, stops):
    study = fake_study(tmp_path, FAR)
    engine = Asked(FAR, wrong={model: wrong(kind, model) for model in FAR.models})
    if stops:
        with pytest.raises(EvaluationError, match="3 models did not answer"):
            run(study, engine)
    else:
        assert run(study, engine)[0].reason == "answered"


def test_silence_is_mentioned(tmp_path):
    class Slow(Asked):
        def check(self, models, seeds, report):
            report(StillSilent(model=FIRST, endpoint="http://u:pass123@h:9/v1", seconds=10.0))
            super().check(models, seeds, report)

    _, seen = run(fake_study(tmp_path, FAR), Slow(FAR))
    assert kinds(seen)[:3] == [CheckBegun, StillSilent, CheckEnded]
    assert seen[1].endpoint == "http://u:***@h:9/v1"


class Failing(FakeEngine):
    """Every request fails and is sent again by the engine, which gives up the first samples of all."""

    def __init__(self, *args, reports_causes=True, **options):
        super().__init__(*args, **options)
        self.reports_causes = reports_causes

    def run(self, replicate, jobs, seeds, report):
        def with_trouble(what):
            if isinstance(what, Failed) and self.reports_causes:
                for status in (429, 500):
                    report(
                        Trouble(
                            model=what.model, sample=what.sample, problem=wrong("server", what.model, status=status)
                        )
                    )
                    report(RequestWaits(model=what.model, seconds=3.0))
            report(what)

        super().run(replicate, jobs, seeds, with_trouble)


def test_the_first_error_shows_before_any_pause(tmp_path):
    study = fake_study(tmp_path, FAR, run={"pause": 5.0})
    engine = Failing(FAR, fails=lambda r, model, sample, attempt: attempt == 1 and r == 1)
    ended, seen = run(study, engine)
    order = kinds(seen)
    assert order.index(ErrorSeen) < order.index(RequestWaits) < order.index(SampleFailed) < order.index(Waiting)
    assert order.index(Waiting) < seen.index(("slept", 5.0))
    first = [event for event in seen if isinstance(event, ErrorSeen) and event.count == 1]
    assert [(event.problem.model, event.problem.status) for event in first] == [
        (model, status) for model in FAR.models for status in (429, 500)
    ]
    counts = {(each.first.model, each.first.status): each.count for each in ended.problems}
    assert counts == {(model, status): 12 for model in FAR.models for status in (429, 500)}
    assert isinstance(seen[-1], Ended)
    assert all("pass123" not in str(plain(event)) for event in seen if not isinstance(event, tuple))


def test_a_sample_that_fails_without_a_cause_is_counted_by_itself(tmp_path):
    engine = Failing(FAR, reports_causes=False, fails=lambda r, model, sample, attempt: attempt == 1 and r == 1)
    ended, seen = run(fake_study(tmp_path, FAR), engine)
    assert {(each.first.kind, each.first.message, each.count) for each in ended.problems} == {("other", "as told", 12)}
    assert kinds(seen).index(ErrorSeen) < kinds(seen).index(Waiting)


def test_the_summary_of_a_study_that_gives_up_repeats_the_errors(tmp_path):
    study = fake_study(tmp_path, FAR, run={"pause": 0.0, "retries": 1})
    with pytest.raises(EvaluationError, match=r"Errors of this command:\n  24 x (.|\n)*HTTP 429"):
        run(study, Failing(FAR, fails=lambda *_: True))


def test_a_gate_with_a_ledger_checks_before_it_freezes(tmp_path):
    study = fake_study(tmp_path, FAR)
    with pytest.raises(EvaluationError, match="1 model did not answer"):
        preflight_unwatched(study, Asked(FAR, wrong={SECOND: wrong("not-found", SECOND, status=404)}))
    preflight_unwatched(study, Asked(FAR))
    assert extra_usage(study.folder, "check").calls == 3
