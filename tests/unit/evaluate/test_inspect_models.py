"""Models of the Inspect engine against servers that fail in every way, with the order of what is reported."""

import gc
import warnings
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai")

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Answered, RequestWaits, StillSilent
from bbedge.evaluate.engines import inspect_models
from bbedge.evaluate.engines.inspect import InspectEngine
from bbedge.evaluate.events import ErrorSeen, SampleDone, SampleFailed, SampleMissing, Waiting
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from servers.faulty_openai import Faulty, unused_port

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Inspect leaves connections to the garbage collector
]

QUIZ = Path(__file__).parents[2] / "servers" / "quiz.py"


@pytest.fixture
def server():
    with Faulty() as running:
        yield running


@pytest.fixture(autouse=True)
def _without_keys(monkeypatch):
    for name in ("LOCAL_API_KEY", "LOCAL_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def _left_open():
    """Collect what an evaluation leaves open before the next test is blamed for it."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def study_of(home, *urls, **more):
    values = {
        "budget": 1,
        "models": [
            {"name": f"m{place}", "model": f"openai-api/local/m{place}", **({"base_url": url} if url else {})}
            for place, url in enumerate(urls, start=1)
        ],
        "benchmark": {"task": f"{QUIZ}@quiz", "args": {"n": 2}},
    }
    return EvaluationSpec.from_values(values | more, path=home / "study.toml")


def checked(study):
    """What is reported about the short questions."""
    seen = []
    InspectEngine(study).check(study.models, len, seen.append)
    return seen


@pytest.mark.parametrize(
    ("way", "kind", "status", "message"),
    [
        ("401", "credentials", 401, "scripted 401"),
        ("403", "credentials", 403, "scripted 403"),
        ("404", "not-found", 404, "scripted 404"),
        ("400", "refused", 400, "scripted 400"),
        ("429", "rate-limit", 429, "scripted 429"),
        ("500", "server", 500, "scripted 500"),
        ("html", "answer", None, "Welcome to the proxy"),
        ("garbage", "answer", None, "Expecting value"),
        ("empty", "answer", None, "NoneType"),
        ("null", "empty", None, "content of the message is null"),
        ("drop", "connection-lost", None, "Connection error"),
    ],
)
def test_a_fault_is_reported_with_its_cause_and_the_others_answer(server, tmp_path, way, kind, status, message):
    study = study_of(tmp_path, server.url(way), server.url("fine"))
    reports = {report.model: report for report in checked(study)}
    assert reports["m2"] == Answered(model="m2", usage=reports["m2"].usage, served="m")
    assert (reports["m2"].usage.calls, reports["m2"].usage.tokens) == (1, {"openai-api/local/m2": (12, 3)})
    problem = reports["m1"]
    assert isinstance(problem, Problem)
    assert (problem.kind, problem.status, problem.endpoint) == (kind, status, server.url(way))
    assert message in problem.message
    assert "\n" not in problem.message
    assert problem.variable == "LOCAL_API_KEY"


def test_a_wrong_port_is_no_connection(server, tmp_path):
    wrong = f"http://127.0.0.1:{unused_port()}/v1"
    reports = {report.model: report for report in checked(study_of(tmp_path, wrong, server.url("fine")))}
    assert (reports["m1"].kind, reports["m1"].endpoint) == ("no-connection", wrong)
    assert "All connection attempts failed" in reports["m1"].message
    assert isinstance(reports["m2"], Answered)


def test_a_server_that_is_busy_at_first_has_answered(server, tmp_path):
    reports = checked(study_of(tmp_path, server.url("busy"), server.url("fine")))
    assert {type(report) for report in reports} == {Answered}
    assert server.asked["busy"] == 2


def test_silence_is_mentioned_before_it_is_an_error(server, tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_models, "_PATIENCE", 0.05)
    reports = checked(study_of(tmp_path, server.url("hang"), server.url("fine"), run={"timeout": 1}))
    about = [report for report in reports if report.model == "m1"]
    assert [type(report) for report in about] == [StillSilent, Problem]
    assert about[0].endpoint == server.url("hang")
    assert about[1].kind == "timeout"
    assert "timeout '1' exceeded" in about[1].message


def test_a_slow_server_is_mentioned_and_has_answered(server, tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_models, "_PATIENCE", 0.05)
    study, seen = study_of(tmp_path, server.url("slow"), server.url("fine")), []

    def report(what):
        seen.append(what)
        if isinstance(what, StillSilent) and what.model == "m1":
            server.release()

    InspectEngine(study).check(study.models, len, report)
    assert [type(what) for what in seen if what.model == "m1"] == [StillSilent, Answered]


def test_base_url_alone_is_enough(server, tmp_path):
    assert {type(report) for report in checked(study_of(tmp_path, server.url("fine"), server.url("fine")))} == {
        Answered
    }
    assert server.keys == [f"Bearer {inspect_models.NO_KEY}"] * 2


def test_a_key_that_is_set_is_used(server, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", "my-key")
    checked(study_of(tmp_path, server.url("fine"), server.url("fine")))
    assert server.keys == ["Bearer my-key"] * 2


def test_the_address_of_a_service_may_be_in_the_environment(server, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_BASE_URL", server.url("fine"))
    assert {type(report) for report in checked(study_of(tmp_path, None, None))} == {Answered}


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("openai/gpt-4o", None),
        ("openai/gpt-4o", "https://api.openai.com/v1"),
        ("openai-api/local/x", "https://api.openai.com/v1"),
        ("openai-api/local/x", "https://eu.api.mistral.ai/v1"),
        ("openai-api/local/x", None),
    ],
)
def test_a_provider_gets_no_dummy_key(tmp_path, model, url):
    study = study_of(tmp_path, "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1")
    values = {"name": "m1", "model": model} | ({"base_url": url} if url else {})
    study = EvaluationSpec.from_values(
        {"budget": 1, "models": [values, "openai-api/local/y"], "benchmark": {"task": study.benchmark.task}},
        path=study.path,
    )
    with pytest.raises(EvaluationError, match=r"_API_KEY\b.* defined in the environment"):
        InspectEngine(study).benchmark()


def run(study):
    seen, pauses = [], []
    try:
        evaluate(study, InspectEngine(study), watch=seen.append, sleep=lambda seconds: pauses.append(len(seen)))
    except EvaluationError as error:
        return seen, pauses, str(error)
    return seen, pauses, ""


def no_backoff(monkeypatch):
    """Requests are sent again at once; the wait that Inspect chose is still reported."""
    from inspect_ai.model import _retry

    async def no_sleep(_seconds):
        return None

    monkeypatch.setattr(_retry, "_sleep", no_sleep)


@pytest.mark.nightly
@pytest.mark.usefixtures("_left_open")
@pytest.mark.parametrize(("way", "status"), [("500", 500), ("html", None)])
def test_inside_a_run_the_first_error_comes_before_any_wait(server, tmp_path, monkeypatch, way, status):
    no_backoff(monkeypatch)
    running = {"preflight": False, "retries": 1, "request_retries": 1}
    study = study_of(tmp_path, server.url(way), server.url("fine"), run=running)
    seen, pauses, error = run(study)
    kinds = [type(event) for event in seen]
    assert kinds.index(ErrorSeen) < kinds.index(RequestWaits)
    assert kinds.index(RequestWaits) < kinds.index(SampleFailed) < kinds.index(Waiting) < pauses[0]
    first = seen[kinds.index(ErrorSeen)]
    assert (first.problem.model, first.problem.endpoint, first.problem.status) == ("m1", server.url(way), status)
    # Two samples, each tried twice with two requests; all are counted, and the other model has answered.
    assert [event.count for event in seen if isinstance(event, ErrorSeen)] == list(range(1, 9))
    assert "8 x m1 at" in error
    assert {event.model for event in seen if isinstance(event, SampleDone)} == {"m2"}


@pytest.mark.usefixtures("_left_open")
@pytest.mark.parametrize(("way", "status"), [("401", 401), ("404", 404), ("garbage", None)])
def test_what_is_not_sent_again_shows_as_well(server, tmp_path, way, status):
    study = study_of(tmp_path, server.url(way), server.url("fine"), run={"preflight": False, "retries": 0})
    seen, _, error = run(study)
    errors = [event for event in seen if isinstance(event, ErrorSeen)]
    assert [event.count for event in errors] == [1, 2]
    assert errors[0].problem.status == status
    assert "2 x m1 at" in error


@pytest.mark.usefixtures("_left_open")
def test_a_judge_that_fails_is_named(server, tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_BASE_URL", server.url("404"))
    benchmark = {"task": f"{QUIZ}@dialogues", "args": {"n": 1}, "roles": {"grader": "openai-api/judge/j"}}
    fine = server.url("fine")
    study = study_of(tmp_path, fine, fine, benchmark=benchmark, run={"preflight": False, "retries": 0})
    seen, _, _ = run(study)
    first = next(event for event in seen if isinstance(event, ErrorSeen))
    assert (first.problem.model, first.problem.status) == ("openai-api/judge/j", 404)
    (tmp_path / "new").mkdir()
    seen, _, error = run(study_of(tmp_path / "new", fine, fine, benchmark=benchmark))
    assert "openai-api/judge/j at" in error
    assert not any(isinstance(event, SampleDone) for event in seen)


@pytest.mark.usefixtures("_left_open")
@pytest.mark.parametrize("rule", ["wait", "zero", "worst-case"])
def test_an_answer_without_content_is_treated_as_a_failure(server, tmp_path, rule):
    """Of one of two samples: where no sample of a model has ended, its run is missing."""
    study = study_of(
        tmp_path, server.url("null-once"), server.url("fine"), on_error=rule, run={"preflight": False, "retries": 0}
    )
    seen, _, error = run(study)
    failed = [event for event in seen if isinstance(event, SampleFailed)]
    assert [event.model for event in failed] == ["m1"]
    assert {event.problem.kind for event in seen if isinstance(event, ErrorSeen)} == {"empty"}
    missing = [event.model for event in seen if isinstance(event, SampleMissing)]
    assert (missing, "is not complete" in error) == (["m1"] if rule == "worst-case" else [], rule == "wait")


@pytest.mark.usefixtures("_left_open")
@pytest.mark.parametrize("made_by", ["roles", "task"])
def test_a_judge_without_content_has_not_judged(server, tmp_path, monkeypatch, made_by):
    monkeypatch.setenv("JUDGE_BASE_URL", server.url("null"))
    monkeypatch.setenv("JUDGE_API_KEY", "none")
    judge = "openai-api/judge/j"
    task = {"args": {"n": 1}, "roles": {"grader": judge}} if made_by == "roles" else {"args": {"n": 1, "judge": judge}}
    fine = server.url("fine")
    benchmark = {"task": f"{QUIZ}@{'dialogues' if made_by == 'roles' else 'graded'}"} | task
    seen, _, error = run(study_of(tmp_path, fine, fine, benchmark=benchmark, run={"preflight": False, "retries": 0}))
    assert "content of the message is null" in error
    assert not any(isinstance(event, SampleDone) for event in seen)
