"""The servers of a study are frozen with it: another one is refused, or recorded with a reason."""

import os
import sys
from pathlib import Path

import pytest
from msgspec import structs

from bbedge.board import Board
from bbedge.errors import DesignError, DomainError
from bbedge.evaluate.engine import Answered
from bbedge.evaluate.engines import engine_for
from bbedge.evaluate.events import Noted
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.servers import recorded_servers
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done, Usage
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study

NEAR = SyntheticBenchmark(means=(0.52, 0.5), n_items=12, offset=0.0)
FIRST, SECOND = NEAR.models
OLD = {FIRST: "http://old/v1", SECOND: "https://api.example.org/v1"}
FAKE = Path(__file__).parents[2] / "servers" / "fake_lm_eval"


@pytest.fixture(autouse=True)
def _no_addresses(monkeypatch):
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)


class Served(FakeEngine):
    """Has addresses, and servers that say what they serve."""

    def __init__(self, addresses=OLD, served="x-1", answers=None):
        super().__init__(NEAR)
        self.at, self.served, self.answers = addresses, served, answers or served

    def addresses(self):
        return self.at

    def check(self, models, seeds, report):
        for model in models:
            report(Answered(model=model.name, usage=Usage(calls=1), served=self.served))

    def run(self, replicate, jobs, seeds, report):
        def tell(what):
            report(structs.replace(what, served=(self.answers,)) if isinstance(what, Done) else what)

        super().run(replicate, jobs, seeds, tell)


def run(study, engine, **options):
    """One replicate; the notes that were reported."""
    seen = []
    evaluate(study, engine, watch=seen.append, at_most=1, **options)
    return [event.text for event in seen if isinstance(event, Noted)]


def notes(study):
    with Board.open(study.board) as board:
        return [note for note in board.noted if note.about == "server"], recorded_servers(board), board.certificate()


def test_addresses_and_names_are_frozen_with_the_protocol(tmp_path):
    study = fake_study(tmp_path, NEAR)
    assert run(study, Served()) == []
    changes, servers, certificate = notes(study)
    assert changes == []
    assert (servers.addresses, servers.served) == (OLD, {FIRST: ("x-1",), SECOND: ("x-1",)})
    assert "http://old" not in certificate.to_json()
    assert run(study, Served()) == []


def test_another_address_is_refused_before_anything_is_asked(tmp_path):
    study, other = fake_study(tmp_path, NEAR), Served({**OLD, FIRST: "http://new/v1"})
    run(study, Served())
    other.check = None
    with pytest.raises(
        DesignError, match=rf"server of '{FIRST}' is http://new/v1 and no longer http://old/v1"
    ) as caught:
        run(study, other)
    assert "server_changed=REASON" in str(caught.value)
    assert other.ran == []
    del other.at[FIRST]
    with pytest.raises(DesignError, match="is the default and no longer http://old/v1"):
        run(study, other)
    assert notes(study)[0] == []


def test_with_a_reason_it_is_recorded_once_and_certificates_state_it(tmp_path):
    study, other = fake_study(tmp_path, NEAR), Served({**OLD, FIRST: "http://new/v1"})
    run(study, Served())
    (text,) = run(study, other, server_changed="moved to\nanother rack")
    assert text == (
        f"The server of '{FIRST}' is http://new/v1 and no longer http://old/v1, since before replicate 2 was complete. "
        "The reason given: moved to another rack"
    )
    assert run(study, other, server_changed="again") == []
    assert run(study, other) == []
    (note,), servers, certificate = notes(study)
    assert (note.text, note.particulars["reason"]) == (text, "moved to another rack")
    assert servers.addresses[FIRST] == "http://new/v1"
    assert text in certificate.to_json()
    with pytest.raises(DesignError, match="is http://old/v1 and no longer http://new/v1"):
        run(study, Served())


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_reason_is_not_empty(tmp_path, reason):
    with pytest.raises(DomainError, match="server_changed is empty"):
        run(fake_study(tmp_path, NEAR), Served(), server_changed=reason)


def test_another_model_at_the_same_address_is_refused_before_a_sample(tmp_path):
    study, other = fake_study(tmp_path, NEAR), Served(served="x-2")
    run(study, Served())
    with pytest.raises(DesignError, match=rf"server of '{FIRST}' calls its model 'x-2' and no longer 'x-1'"):
        run(study, other)
    assert other.ran == []
    (text,) = run(study, other, server_changed="the provider has replaced it")
    assert text.endswith("The reason given: the provider has replaced it")
    assert notes(study)[1].served == {FIRST: ("x-1", "x-2"), SECOND: ("x-1", "x-2")}
    # Both are recorded by now.
    assert run(study, Served()) == []


def test_a_model_that_changes_while_samples_run_does_not_reach_the_board_without_a_reason(tmp_path):
    study, other = fake_study(tmp_path, NEAR), Served(answers="x-2")
    run(study, Served())
    with pytest.raises(
        DesignError, match=r"calls its model 'x-2' and no longer 'x-1'.*move .*replicate-00002\.jsonl to another folder"
    ):
        run(study, other)
    with Board.open(study.board) as board:
        assert board.state.epoch.replicates == 1
    ran = len(other.ran)
    (text,) = run(study, other, server_changed="seen")
    assert "calls its model 'x-2'" in text
    assert len(other.ran) == ran, "the samples were in the journal"
    with Board.open(study.board) as board:
        assert board.state.epoch.replicates == 2


def test_names_that_are_known_later_are_recorded(tmp_path):
    study = fake_study(tmp_path, NEAR, run={"pause": 0.0, "preflight": False})
    (text,) = run(study, Served())
    assert text.startswith("What servers call their models is recorded since before replicate 1 was complete")
    with pytest.raises(DesignError, match="calls its model 'x-2'"):
        run(study, Served(answers="x-2"))


def test_a_board_of_an_earlier_version_records_addresses_from_now_on(tmp_path, monkeypatch):
    study = fake_study(tmp_path, NEAR)
    monkeypatch.setattr(
        Board,
        "note",
        lambda self, about, text, *, servers=None, _note=Board.note, **more: _note(self, about, text, **more),
    )
    run(study, FakeEngine(NEAR))
    monkeypatch.undo()
    assert notes(study)[1] is None
    first, second = run(study, Served())
    assert first.startswith("The addresses of servers are recorded since before replicate 2 was complete: ")
    assert "http://old/v1" in first
    assert second.startswith("What servers call their models is recorded")
    with pytest.raises(DesignError, match="no longer http://old/v1"):
        run(study, Served({}))


def test_what_is_recorded_has_no_credentials(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "plainwordkey")
    secret = {FIRST: "https://ann:hunter2@host/plainwordkey/v1?api-key=hunter2", SECOND: "https://hunter2@host/v1/"}
    study = fake_study(tmp_path, NEAR)
    run(study, Served(secret, served="plainwordkey"))
    run(
        study,
        Served({FIRST: "http://new/v1", SECOND: "http://new/v1"}),
        server_changed="key plainwordkey token=hunter2",
    )
    with Board.open(study.board) as board:
        text = "".join(map(repr, board.noted))
    assert "https://host/***/v1?api-key=***" in text
    for each in ("hunter2", "plainwordkey"):
        assert each not in text


def command_study(folder):
    (folder / "items.csv").write_text("item\nq1\nq2\n", encoding="utf-8")
    (folder / "harness.py").write_text(
        "import sys\nscore = int(sys.argv[1]) % 2\nwith open(sys.argv[2], 'w') as file:\n"
        "    file.write(f'model,item,replicate,score\\nm,q1,1,{score}\\nm,q2,1,{1 - score}\\n')\n",
        encoding="utf-8",
    )
    values = {
        "engine": "command",
        "budget": 3,
        "models": ["a", "b"],
        "command": [sys.executable, "harness.py", "{seed}", "{out}"],
        "benchmark": {"items": "items.csv"},
        "run": {"retries": 0, "copies": "allow"},
    }
    return EvaluationSpec.from_values(values, path=folder / "study.toml")


def test_the_environment_of_a_command_is_part_of_it(tmp_path, monkeypatch):
    study = command_study(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://ann:hunter2@one/v1")
    monkeypatch.setenv("HOME_BASE", "http://elsewhere")
    run(study, engine_for(study))
    assert notes(study)[1].addresses == {"OPENAI_BASE_URL": "http://one/v1"}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://two/v1")
    with pytest.raises(DesignError, match="'OPENAI_BASE_URL' is http://two/v1 and no longer http://one/v1"):
        run(study, engine_for(study))


def test_models_of_lm_eval_have_the_address_of_the_study_or_of_their_type(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    models = [
        {"name": "m1", "model": "local-chat-completions", "base_url": "http://one/v1", "args": {"model": "m1"}},
        {"name": "m2", "model": "local-chat-completions", "args": {"model": "m2", "base_url": "http://two/v1"}},
        {"name": "m3", "model": "openai-chat-completions", "args": {"model": "m3"}},
    ]
    values = {"engine": "lm_eval", "budget": 1, "models": models, "benchmark": {"task": "words"}}
    engine = engine_for(EvaluationSpec.from_values(values, path=tmp_path / "study.toml"))
    engine.benchmark()
    assert engine.addresses() == {"m1": "http://one/v1", "m2": "http://two/v1", "m3": "https://api.openai.com/v1"}


def test_models_of_inspect_have_the_address_that_their_provider_found(tmp_path, monkeypatch):
    pytest.importorskip("inspect_ai")
    monkeypatch.setenv("OPENAI_API_KEY", "none-of-yours")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://openai/v1")
    monkeypatch.setenv("LOCAL_BASE_URL", "http://local/v1")
    monkeypatch.setenv("JUDGE_BASE_URL", "http://judge/v1")
    values = {
        "budget": 1,
        "models": [
            {"name": "a", "model": "openai/gpt-4o"},
            {"name": "b", "model": "openai-api/local/b"},
            {"name": "c", "model": "openai-api/local/c", "base_url": "http://own/v1"},
        ],
        "benchmark": {
            "task": f"{FAKE.parent / 'quiz.py'}@graded",
            "args": {"judge": "openai-api/judge/j"},
            "roles": {"grader": "openai-api/judge/j"},
        },
    }
    engine = engine_for(EvaluationSpec.from_values(values, path=tmp_path / "study.toml"))
    assert {name: address.rstrip("/") for name, address in engine.addresses().items()} == {
        "a": "http://openai/v1",
        "b": "http://local/v1",
        "c": "http://own/v1",
        "role grader": "http://judge/v1",
        "JUDGE_BASE_URL": "http://judge/v1",
    }
