"""The real lm-evaluation-harness as the engine: ``make test-lm-eval`` runs this in an environment that has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from bbedge.evaluate.engine import Job
from bbedge.evaluate.engines import engine_for
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done

pytest.importorskip("lm_eval", reason="lm_eval and what it needs take 760 MB; make test-lm-eval installs them")

SERVERS = Path(__file__).parents[1] / "servers"
TASK = """
task: words
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
fewshot_split: test
output_type: generate_until
doc_to_text: "Say one word. answer: {{{{word}}}}"
doc_to_target: "{{{{word}}}}"
generation_kwargs: {{until: ["\\n"], do_sample: true, temperature: 0.7}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1.0}}
"""


@pytest.fixture
def port():
    server = subprocess.Popen([sys.executable, SERVERS / "scripted_openai.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield int(server.stdout.readline())
    server.kill()
    server.wait()
    server.stdout.close()


@pytest.fixture
def study(tmp_path, port, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    rows = [json.dumps({"word": f"w{place}", "topic": f"t{place // 3}"}) for place in range(12)]
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "words.jsonl").write_text("\n".join(rows))
    (tasks / "words.yaml").write_text(TASK.format(data=tasks / "words.jsonl"))
    models = "".join(
        f'[[models]]\nname = "{name}"\nmodel = "local-chat-completions"\nargs = {{ model = "{name}" }}\n'
        f'base_url = "http://127.0.0.1:{port}/v1/chat/completions"\n'
        for name in ("m95", "m10")
    )
    (tmp_path / "study.toml").write_text(
        f'engine = "lm_eval"\nbudget = 4\n{models}\n[benchmark]\ntask = "words"\ninclude_path = "tasks"\n'
        'block = "doc.topic"\nnum_fewshot = 1\n[run]\nconnections = 4\nworkers = 2\n'
    )
    return tmp_path / "study.toml"


def asked_of(port):
    """Requests for documents that the server has answered, as model, seed and prompt; and how many others."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        asked = [request.split("|", 2) for request in json.load(answer)["answered"]]
    documents = [request for request in asked if "answer:" in request[2]]
    return documents, len(asked) - len(documents)


def test_a_study_is_run_until_it_is_answered(bbedge, study, port):
    ended = bbedge("evaluate", study, "--quiet")
    assert ended.code == 0, ended.err
    asked, questions = asked_of(port)
    replicates = len(list((study.parent / "study.run").glob("replicate-*/model-001")))
    seeds = [seed for _, seed, _ in asked]
    assert (len(seeds), questions) == (24 * replicates, 2)
    assert len(set(seeds)) == len(seeds)  # every request its own; the tool alone sends 1234 with all of them
    prompts = {prompt for _, _, prompt in asked}
    assert len(prompts) == 12  # the same examples in every replicate
    shown = bbedge("board", "show", study.parent / "study.bbedge")
    assert "one seed per run" not in shown.out


def test_a_document_has_its_examples_in_every_part_of_the_first_run(bbedge, study, port):
    """Three of four blocks are in parts; the tool's own option for documents would draw other examples for them."""
    study.write_text(f'checkpoints = [0.25, 0.5]\ndrop = "never"\n{study.read_text()}')
    ended = bbedge("evaluate", study, "--json", "--replicates", "2")
    assert ended.code == 0, ended.err
    looks = [event for event in map(json.loads, ended.out.splitlines()) if event["event"] == "part-looked"]
    assert [look["blocks"] for look in looks] == [1, 2][: len(looks)]
    asked, _ = asked_of(port)
    prompts = {prompt for _, _, prompt in asked}
    runs = list((study.parent / "study.run").glob("replicate-00001/model-001/attempt-*"))
    assert len(runs) == 3
    assert len(list((study.parent / "study.run").glob("replicate-00002/model-001/attempt-*"))) == 1
    assert len(prompts) == 12  # as in the second run, which is a run of all documents
    assert len(asked) == 2 * 24


def test_parts_of_a_group_are_scored_as_a_run_of_all_documents(study):
    """Two tasks with two filters each; one part has documents of one of them only."""
    tasks = study.parent / "tasks"
    filters = """
filter_list:
  - {name: plain, filter: [{function: take_first}]}
  - {name: lower, filter: [{function: lowercase}, {function: take_first}]}
"""
    words = (tasks / "words.yaml").read_text() + filters
    (tasks / "words.yaml").write_text(words)
    (tasks / "more.yaml").write_text(words.replace("task: words", "task: more").replace("Say one", "Write one"))
    means = "aggregate_metric_list: [{metric: exact_match, weight_by_size: true, filter_list: [plain]}]"
    (tasks / "pair.yaml").write_text(f"group: pair\ntask: [words, more]\n{means}\nmetadata: {{version: 1.0}}\n")
    study.write_text(study.read_text().replace('task = "words"', 'task = "pair"\nfilter = "lower"'))
    study.write_text(study.read_text().replace("workers = 2", "workers = 1"))
    spec = EvaluationSpec.read(study)
    engine = engine_for(spec)
    (whole,) = engine.benchmark().samples
    assert len(whole.items) == 24
    assert whole.is_divisible
    parts = [whole.part(whole.items[:3], name="first"), whole.part(whole.items[:2:-1], name="rest")]
    seen = []
    model = spec.models[1]
    engine.run(1, [Job(model=model, sample=sample) for sample in (whole, *parts)], lambda job, call: 7, seen.append)
    complete, first, rest = (each for each in seen if isinstance(each, Done))
    assert {**first.scores, **rest.scores} == complete.scores
    assert len(set(complete.scores.values())) == 2


def test_a_server_that_is_not_there_is_named_before_anything_is_frozen(bbedge, study, port):
    study.write_text(study.read_text().replace(f"127.0.0.1:{port}", "127.0.0.1:9"))
    ended = bbedge("evaluate", study)
    assert ended.code == 2
    assert "m95 at http://127.0.0.1:9/v1/chat/completions: no connection: Connection error" in ended.err
    assert "check the address and the port in base_url" in ended.err
    assert not (study.parent / "study.bbedge").exists()


@pytest.mark.parametrize("connections", [1, 4])
def test_a_server_that_fails_in_the_middle_is_named_with_what_it_said(bbedge, study, port, connections):
    """With several connections the tool uses another HTTP client."""
    faults = urllib.request.Request(f"http://127.0.0.1:{port}/faults", data=b'{"error": 1.0}')
    urllib.request.urlopen(faults).close()
    text = study.read_text().replace("connections = 4", f"connections = {connections}")
    study.write_text(f"{text}retries = 0\nrequest_retries = 1\npreflight = false\n")
    ended = bbedge("evaluate", study, "--quiet")
    assert ended.code == 2
    place = f"m95 at http://127.0.0.1:{port}/v1/chat/completions"
    assert f"'all items' of {place}: server error (HTTP 500): scripted failure" in ended.err
    assert re.search(rf"\d+ x {place}: server error", ended.err)
    assert "program failed" not in ended.err
