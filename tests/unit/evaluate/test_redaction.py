"""Credentials in the files that engines and their programs write."""

import gc
import json
import os
import sys
import warnings
from pathlib import Path

import pytest

from bbedge.errors import EvaluationError
from bbedge.evaluate.engines import engine_for
from bbedge.evaluate.engines.process import redact_files
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.readers.json_files import zip_library
from servers.faulty_openai import Faulty

KEY = "geheimes-Wort/77+x"  # of no known shape
SERVERS = Path(__file__).parents[2] / "servers"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    for name in ("LOCAL_API_KEY", "OPENAI_API_KEY", "JUDGE_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def server():
    with Faulty() as running:
        yield running


def contents(folder):
    """Everything in a folder, archives unpacked."""
    zipfile, _ = zip_library()
    found = {}
    for path in folder.rglob("*"):
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                found |= {f"{path}/{name}": archive.read(name).decode() for name in archive.namelist()}
        elif path.is_file():
            found[str(path)] = path.read_text(encoding="utf-8", errors="replace")
    return found


def leaks(folder):
    forms = (KEY, json.dumps(KEY)[1:-1], KEY.replace("/", "%2F"))
    return sorted(name for name, text in contents(folder).items() if any(form in text for form in forms))


def inspect_study(folder, *urls, benchmark=None, **more):
    models = [{"name": f"m{n}", "model": f"openai-api/local/m{n}", "base_url": url} for n, url in enumerate(urls)]
    task = benchmark or {"task": f"{SERVERS / 'quiz.py'}@quiz", "args": {"n": 2}}
    run = {"preflight": False, "retries": 0, "request_retries": 0}
    return EvaluationSpec.from_values(
        {"budget": 1, "models": models, "benchmark": task, "run": run, **more}, path=folder / "study.toml"
    )


@pytest.fixture
def _left_open():
    """Collect what an evaluation leaves open before the next test is blamed for it."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.usefixtures("_left_open")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")
class TestInspect:
    def test_a_server_that_repeats_the_key_puts_it_into_no_log(self, tmp_path, server):
        pytest.importorskip("inspect_ai")
        from inspect_ai.log import list_eval_logs, read_eval_log

        study = inspect_study(tmp_path, server.url("echo"), server.url("echo-400"), on_error="wait")
        with pytest.raises(EvaluationError) as caught:
            evaluate(study, engine_for(study))
        assert KEY not in str(caught.value)
        assert set(server.keys) == {f"Bearer {KEY}"}
        assert leaks(tmp_path) == []
        # The logs are still logs: complete, and readable by Inspect.
        logs = [read_eval_log(each) for each in list_eval_logs(str(study.folder / "logs"))]
        said = {sample.output.completion for log in logs for sample in log.samples or []}
        assert "you sent Bearer ***" in said
        errors = [sample.error.message for log in logs for sample in log.samples or [] if sample.error]
        assert len(errors) == 2
        assert all("bad Bearer ***" in error for error in errors), errors

    def test_a_log_that_a_killed_run_has_left_is_cleaned_by_the_next_one(self, tmp_path, server):
        pytest.importorskip("inspect_ai")
        study = inspect_study(tmp_path, server.url("fine"), server.url("fine"))
        left = study.folder / "logs" / "replicate-00001" / "left.eval"
        left.parent.mkdir(parents=True)
        zipfile, _ = zip_library()
        with zipfile.ZipFile(left, "w") as archive:
            archive.writestr("samples/q0.json", json.dumps({"output": KEY}))
        evaluate(study, engine_for(study))
        assert leaks(tmp_path) == []

    def test_what_a_judge_repeats_is_not_in_the_journal(self, tmp_path, server, monkeypatch):
        pytest.importorskip("inspect_ai")
        monkeypatch.setenv("JUDGE_BASE_URL", server.url("echo"))
        benchmark = {
            "task": f"{SERVERS / 'quiz.py'}@dialogues",
            "args": {"n": 1},
            "roles": {"grader": "openai-api/judge/j"},
        }
        study = inspect_study(tmp_path, server.url("fine"), server.url("fine"), benchmark=benchmark)
        seen = []

        def watch(_event):
            journal = study.folder / "replicate-00001.jsonl"
            seen.append(journal.read_text(encoding="utf-8") if journal.exists() else "")

        evaluate(study, engine_for(study), watch=watch)
        assert any("you sent Bearer ***" in text for text in seen)
        assert not any(KEY in text for text in seen)
        assert leaks(tmp_path) == []


@pytest.mark.parametrize("code", [0, 7])
def test_what_a_program_prints_loses_the_key(tmp_path, code):
    (tmp_path / "items.csv").write_text("item\nq1\nq2\n", encoding="utf-8")
    (tmp_path / "harness.py").write_text(
        "import os, sys, json, pathlib\n"
        "key = os.environ['OPENAI_API_KEY']\n"
        "print('sent', key); print('password=hunter2')\n"
        "place = pathlib.Path(sys.argv[2])\n"
        "(place.parent / 'raw.json').write_text(json.dumps({'headers': {'Authorization': key}, 'n': [1.5, None]}))\n"
        "(place.parent / 'raw.jsonl').write_text(json.dumps({'said': key}) + '\\n{\"token\": \"dog\"}\\n')\n"
        "score = int(sys.argv[1]) % 2\n"
        "place.write_text(f'model,item,replicate,score\\nm,q1,1,{score}\\nm,q2,1,{score}\\n')\n"
        f"sys.exit({code})\n",
        encoding="utf-8",
    )
    values = {
        "engine": "command",
        "budget": 1,
        "models": ["a", "b"],
        "command": [sys.executable, "harness.py", "{seed}", "{out}"],
        "benchmark": {"items": "items.csv"},
        "run": {"retries": 0},
    }
    study = EvaluationSpec.from_values(values, path=tmp_path / "study.toml")
    if code:
        with pytest.raises(EvaluationError) as caught:
            evaluate(study, engine_for(study))
        assert KEY not in str(caught.value)
    else:
        evaluate(study, engine_for(study))
    assert leaks(study.folder) == []
    (attempt,) = study.folder.glob("replicate-00001/model-001/attempt-00001")
    assert (attempt / "log.txt").read_text(encoding="utf-8") == "sent ***\npassword=***\n"
    assert json.loads((attempt / "raw.json").read_text()) == {"headers": {"Authorization": "***"}, "n": [1.5, None]}
    assert (attempt / "raw.jsonl").read_text(encoding="utf-8") == '{"said": "***"}\n{"token": "dog"}\n'


def test_lm_eval_leaves_no_key_in_its_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SERVERS / "fake_lm_eval"))
    monkeypatch.setenv("FAKE_LM_EVAL_ECHO", KEY)
    models = [
        {"name": name, "model": "local-chat-completions", "base_url": "http://echo", "args": {"model": name}}
        for name in ("m90", "m20")
    ]
    values = {
        "engine": "lm_eval",
        "budget": 1,
        "models": models,
        "benchmark": {"task": "words"},
        "run": {"retries": 0, "preflight": False},
    }
    study = EvaluationSpec.from_values(values, path=tmp_path / "study.toml")
    evaluate(study, engine_for(study))
    assert any("echo ***" in text for text in contents(study.folder).values())
    assert leaks(tmp_path) == []


def test_files_without_credentials_are_not_touched(tmp_path):
    texts = {
        "a.json": '{"b":1,\n"a": "x"}',
        "b.jsonl": '{"a":1}\r\n\n{"a": 2}',
        "c.txt": "max_tokens=5\n",
        "d.log": "é",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe \x80")
    (tmp_path / "scores.csv").write_text(f"item\n{KEY}\n")
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in tmp_path.iterdir()}
    redact_files(tmp_path)
    assert {path: (path.read_bytes(), path.stat().st_ino) for path in tmp_path.iterdir()} == before


def test_a_link_is_not_followed_and_a_damaged_archive_left_alone(tmp_path):
    outside, inside = tmp_path / "outside.txt", tmp_path / "run"
    outside.write_text(KEY, encoding="utf-8")
    inside.mkdir()
    (inside / "log.txt").symlink_to(outside)
    (inside / "torn.eval").write_bytes(b"PK\x03\x04 torn")
    (inside / "torn.json").write_text(f'{{"said": "{KEY}', encoding="utf-8")
    redact_files(inside)
    assert outside.read_text(encoding="utf-8") == KEY
    assert (inside / "torn.json").read_text(encoding="utf-8") == '{"said": "***'
