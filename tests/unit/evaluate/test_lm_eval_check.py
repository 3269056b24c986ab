"""The short question to models of lm-evaluation-harness, against servers that fail in every way."""

import threading
from pathlib import Path

import pytest

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Answered, StillSilent
from bbedge.evaluate.engines import engine_for, lm_eval_process
from bbedge.evaluate.engines.lm_eval_process import QuestionBegun, ask_in_threads, problem_of
from bbedge.evaluate.engines.lm_eval_requests import facts
from bbedge.evaluate.events import CheckEnded, ErrorSeen
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from servers.faulty_openai import Faulty, unused_port

FAKE = Path(__file__).parents[2] / "servers" / "fake_lm_eval"
CHAT = "local-chat-completions"


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server():
    with Faulty() as running:
        yield running


def api(name, url, kind=CHAT, **args):
    return {"name": name, "model": kind, "base_url": url, "args": {"model": name, **args}}


def study(folder, models, **more):
    values = {"engine": "lm_eval", "budget": 1, "models": models, "benchmark": {"task": "words"}}
    run = {"pause": 0.0, "retries": 0, **more.pop("run", {})}
    return EvaluationSpec.from_values({**values, "run": run, **more}, path=folder / "study.toml")


def checked(spec):
    """What is reported about the short questions; the last word on each model."""
    seen = []
    engine_for(spec).check(spec.models, len, seen.append)
    return {report.model: report for report in seen}


def test_every_fault_is_reported_with_its_cause_and_others_answer(tmp_path, server):
    wrong = f"http://127.0.0.1:{unused_port()}/v1"
    ways = ("401", "404", "400", "429", "500", "html", "empty", "null", "drop", "fine")
    urls = {f"m{way}": server.url(way) for way in ways}
    urls |= {"mport": wrong, "mscheme": "127.0.0.1:8000/v1"}
    found = checked(study(tmp_path, [api(name, url) for name, url in urls.items()]))
    assert {name: (each.kind, each.status) for name, each in found.items() if isinstance(each, Problem)} == {
        "m401": ("credentials", 401),
        "m404": ("not-found", 404),
        "m400": ("refused", 400),
        "m429": ("rate-limit", 429),
        "m500": ("server", 500),
        "mhtml": ("answer", None),
        "mempty": ("answer", None),
        "mnull": ("empty", None),
        "mdrop": ("connection-lost", None),
        "mport": ("no-connection", None),
        "mscheme": ("no-connection", None),
    }
    assert {name: each.endpoint for name, each in found.items() if isinstance(each, Problem)} == {
        name: url for name, url in urls.items() if name != "mfine"
    }
    assert found["m404"].message == "scripted 404"
    assert found["m401"].variable == "OPENAI_API_KEY"
    assert "Connection refused" in found["mport"].message
    assert "Welcome to the proxy" in found["mhtml"].message
    assert (found["mfine"].usage.calls, found["mfine"].usage.tokens) == (1, {"mfine": (12, 3)})
    # The tool would send each of them several times.
    assert set(server.asked.values()) == {1}


def test_the_question_is_asked_as_the_type_of_model_asks_and_with_its_settings(tmp_path, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "my-key-123")
    models = [
        {**api("m1", server.url("fine")), "config": {"temperature": 0.7}},
        api("m2", server.url("fine"), kind="local-completions"),
    ]
    found = checked(study(tmp_path, models))
    assert isinstance(found["m1"], Answered)
    # The server answers with a chat: the path of the address is that of another type of model.
    assert found["m2"].kind == "answer"
    assert found["m2"].message.startswith("KeyError 'text' in the answer: {")
    bodies = {body["model"]: body for body in server.bodies}
    assert bodies["m1"]["messages"] == [{"role": "user", "content": "Reply with the word ok."}]
    assert bodies["m2"]["prompt"] == "Reply with the word ok."
    assert (bodies["m1"]["temperature"], bodies["m1"]["seed"]) == (0.7, len("m1"))
    assert server.keys == ["Bearer my-key-123"] * 2


def test_a_key_that_is_missing_and_a_model_that_cannot_be_made_are_named(tmp_path, server):
    models = [
        api("m1", server.url("fine"), kind="openai-chat-completions"),
        api("m2", server.url("fine"), tokenizer_backend="huggingface"),
        # A wrong address must not show as a tokenizer that is missing.
        api("m3", f"http://127.0.0.1:{unused_port()}/v1", tokenizer_backend="huggingface"),
        {"name": "m4", "model": "hf", "args": {"pretrained": "m0"}},
        {"name": "m5", "model": "hf", "args": {"pretrained": "m5"}},
    ]
    found = checked(study(tmp_path, models))
    kinds = {name: each.kind for name, each in found.items() if isinstance(each, Problem)}
    assert kinds == {"m1": "credentials", "m2": "program", "m3": "no-connection", "m4": "program"}
    assert "OPENAI_API_KEY" in found["m1"].message
    assert found["m2"].message == "lm_eval cannot make the model: m2 is no tokenizer"
    assert "m0 is not a local folder" in found["m4"].message
    assert any("m0 is not a local folder" in line for line in found["m4"].output)
    assert (found["m5"].model, found["m5"].usage.calls) == ("m5", 1)


def test_a_model_inside_of_an_older_tool_answers_one_document_of_each_task(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_LM_EVAL_IS_OLD", "1")
    models = [{"name": name, "model": "hf", "args": {"pretrained": name}} for name in ("m5", "m6")]
    assert {type(each) for each in checked(study(tmp_path, models)).values()} == {Answered}


def test_a_study_with_a_wrong_port_stops_before_anything_is_frozen_and_can_be_corrected(tmp_path, server):
    wrong, seen = f"http://127.0.0.1:{unused_port()}/v1", []
    spec = study(tmp_path, [api("m90", wrong), api("m20", server.url("fine"))])
    with pytest.raises(EvaluationError, match=rf"m90 at {wrong}: no connection: Connection error(.|\n)*the port"):
        evaluate(spec, engine_for(spec), watch=seen.append)
    assert [event.problem.model for event in seen if isinstance(event, ErrorSeen)] == ["m90"]
    assert not Path(spec.board).exists()
    spec = study(tmp_path, [api("m90", server.url("fine")), api("m20", server.url("fine"))])
    ended = evaluate(spec, engine_for(spec), watch=seen.append)
    assert (ended.spent.checks, ended.spent.used.calls) == (2, 2 + 24)
    (event,) = (event for event in seen if isinstance(event, CheckEnded))
    assert (event.usage.calls, event.usage.total_tokens) == (2, 30)


def test_silence_is_mentioned_before_it_is_an_error(tmp_path, server, monkeypatch):
    monkeypatch.setattr(lm_eval_process, "_PATIENCE", 0.05)
    spec, seen = study(tmp_path, [api("m1", server.url("hang")), api("m2", server.url("fine"))], run={"timeout": 1}), []
    engine_for(spec).check(spec.models, len, seen.append)
    about = [each for each in seen if each.model == "m1"]
    assert [type(each) for each in about] == [StillSilent, Problem]
    assert (about[0].endpoint, about[1].kind) == (server.url("hang"), "timeout")


def test_a_process_that_ends_early_is_a_problem_of_every_model_that_it_has_not_asked(tmp_path, server, monkeypatch):
    spec = study(tmp_path, [api("m1", server.url("fine")), api("m2", server.url("fine"))])
    engine = engine_for(spec)
    engine.benchmark()
    (tmp_path / "lm_eval.py").write_text("raise SystemExit('as told')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    seen = []
    engine.check(spec.models, len, seen.append)
    assert [(each.model, each.kind, each.output) for each in seen] == [
        ("m1", "program", ("as told",)),
        ("m2", "program", ("as told",)),
    ]


def test_an_error_in_a_report_ends_what_is_asked(tmp_path):
    stop = threading.Event()

    def question(tell):
        tell(QuestionBegun(model="m", endpoint=None))
        tell(Problem(kind="other", model="m", message="as told"))
        assert stop.wait(30)

    def report(what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_in_threads([question], report, workers=1, stop=stop)
    assert stop.is_set()


class ClientResponseError(Exception):
    """As aiohttp has it."""

    def __init__(self, status, message):
        super().__init__(f"{status}, message={message!r}")
        self.status, self.message = status, message


def test_failures_of_the_tool_itself_are_understood(tmp_path):
    found = problem_of(facts(ClientResponseError(503, "Service Unavailable"), "http://h/v1"), model="m")
    assert (found.kind, found.status, found.message) == ("server", 503, "Service Unavailable")
    assert problem_of(facts(ValueError("odd"), None), model="m").kind == "other"
