"""Parts of the first run with lm-evaluation-harness: a document is asked and scored as in a run of all documents."""

import hashlib
import json
from contextlib import closing
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.errors import BbedgeError
from bbedge.evaluate.engine import Job
from bbedge.evaluate.engines import engine_for
from bbedge.evaluate.events import Looked
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done
from bbedge.verify.ledger import verify

FAKE = Path(__file__).parents[2] / "servers" / "fake_lm_eval"
API = {"model": "local-chat-completions"}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FAKE))


def study(folder, *, benchmark=None, models=None, **more):
    values = {
        "engine": "lm_eval",
        "budget": 2,
        "models": models or [{**API, "name": name, "args": {"model": name}} for name in ("m60", "m40")],
        "benchmark": {"task": "words", **(benchmark or {})},
        "run": {"pause": 0.0, "retries": 0, "preflight": False},
        **more,
    }
    return EvaluationSpec.from_values(values, path=folder / "study.toml")


def seed_of(job, call):
    """Another one for every model and sample, as in a study."""
    return int(hashlib.sha256(f"{job.model.name} {job.sample.name}".encode()).hexdigest()[:7], 16)


def ran(engine, spec, samples, *, replicate=1):
    reports = []
    jobs = [Job(model=spec.models[0], sample=sample) for sample in samples]
    engine.run(replicate, jobs, seed_of, reports.append)
    return [each for each in reports if isinstance(each, Done)]


def order(spec, attempt):
    folder = spec.folder / "replicate-00001" / "model-001" / f"attempt-{attempt:05d}"
    return json.loads((folder / "order.json").read_text())


@pytest.mark.parametrize(
    "benchmark",
    [
        {"task": "both", "num_fewshot": 3, "block": "doc.topic"},
        {"task": ["colours", "words"]},
        {"task": "gsm8k", "filter": "flexible-extract", "num_fewshot": 2},
        {"task": "words", "limit": 7, "num_fewshot": 1},
        {"task": "twins"},
    ],
    ids=["group", "tasks", "filters", "limit", "equal documents"],
)
def test_a_document_is_asked_and_scored_as_in_a_run_of_all(tmp_path, benchmark):
    spec = study(tmp_path, benchmark=benchmark)
    engine = engine_for(spec)
    (whole,) = engine.benchmark().samples
    assert whole.is_divisible
    # Every other document, from the last: the parts have no order of the tool's, and one has no document of a task.
    back = whole.items[::-1]
    parts = [whole.part(items, name=f"part {n}") for n, items in enumerate((back[:2], back[2::2], back[3::2]))]
    (complete,), found = ran(engine, spec, [whole]), ran(engine, spec, parts, replicate=2)
    assert [list(done.scores) for done in found] == [list(part.items) for part in parts]
    together = {item: score for done in found for item, score in done.scores.items()}
    assert together == complete.scores
    assert 0 < sum(together.values()) < len(together)
    assert sum(done.usage.calls for done in found) == complete.usage.calls
    assert complete.trace is not None
    assert {done.trace for done in found} == {None}


def test_requests_have_the_seed_of_the_whole_and_a_model_inside_of_the_tool_one_per_part(tmp_path):
    local = [{"name": name, "model": "hf", "args": {"pretrained": name}} for name in ("m60", "m40")]
    seeds = {}
    for kind, models in (("api", None), ("local", local)):
        spec = study(tmp_path / kind, models=models)
        engine = engine_for(spec)
        (whole,) = engine.benchmark().samples
        ran(engine, spec, [whole.part(whole.items[:2], name="a"), whole.part(whole.items[2:5], name="b")])
        seeds[kind] = {order(spec, attempt)["seed"] for attempt in (1, 2)}
        seeds["whole"] = seed_of(Job(model=spec.models[0], sample=whole), 0)
    assert seeds["api"] == {seeds["whole"]}
    assert len(seeds["local"] | {seeds["whole"]}) == 3


def test_a_study_looks_inside_its_first_run(tmp_path):
    spec = study(tmp_path, checkpoints=[0.25, 0.5], drop="never", benchmark={"num_fewshot": 2})
    seen = []
    ended = evaluate(spec, engine_for(spec), watch=seen.append)
    assert [event.checkpoint.blocks for event in seen if isinstance(event, Looked) and event.checkpoint] == [3, 6]
    assert ended.leaderboard.replicates == 2
    attempts = [len(list(spec.folder.glob(f"replicate-0000{number}/model-*/attempt-*"))) for number in (1, 2)]
    assert attempts == [2 * 3, 2]
    assert ended.spent.used.calls == 2 * 2 * 12
    documents = [order(spec, attempt)["documents"]["words"] for attempt in (1, 2, 3)]
    assert sorted(number for part in documents for number in part) == list(range(12))
    assert list(map(len, documents)) == [3, 3, 6]
    with closing(Board.open(spec.board)) as board:
        verify(board.store)


def test_a_version_that_cannot_choose_documents_runs_complete_runs_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_LM_EVAL_IS_OLD", "1")
    monkeypatch.setattr("bbedge.evaluate.study_board.LEAST_BLOCKS", 12)
    spec = study(tmp_path)
    ended = evaluate(spec, engine_for(spec), at_most=1)
    assert ended.leaderboard.replicates == 1
    with closing(Board.open(spec.board)) as board:
        assert not board.design.checkpoints
        assert any("no looks inside the first run" in note.text for note in board.noted)
    spec = study(tmp_path / "stated", checkpoints=True)
    with pytest.raises(BbedgeError, match=r"checkpoints: .*lm_eval runs the whole benchmark.*newer version of lm_eval"):
        evaluate(spec, engine_for(spec))
