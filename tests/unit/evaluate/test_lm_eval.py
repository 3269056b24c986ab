"""lm-evaluation-harness as the engine, with a package in its place that has its modules, options and files."""

import json
from pathlib import Path

import pytest

from bbedge.errors import BbedgeError, EvaluationError
from bbedge.evaluate.engine import Job
from bbedge.evaluate.engines import engine_for
from bbedge.evaluate.events import ErrorSeen
from bbedge.evaluate.preflight import dry_run
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done, Failed

FAKE = Path(__file__).parents[2] / "servers" / "fake_lm_eval"
API = {"model": "local-chat-completions"}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FAKE))


def study(tmp_path, *, models=None, benchmark=None, **more):
    values = {
        "engine": "lm_eval",
        "budget": 3,
        "models": models or [{**API, "name": name, "args": {"model": name}} for name in ("m90", "m20")],
        "benchmark": {"task": "words", **(benchmark or {})},
        "run": {"pause": 0.0, "retries": 0, "preflight": False},
        **more,
    }
    return EvaluationSpec.from_values(values, path=tmp_path / "study.toml")


def run_once(spec, *, replicate=1, seed=7):
    engine = engine_for(spec)
    (sample,) = engine.benchmark().samples
    reports = []
    jobs = [Job(model=model, sample=sample) for model in spec.models]
    engine.run(replicate, jobs, lambda job, call: seed + spec.names.index(job.model.name), reports.append)
    return engine, [each for each in reports if isinstance(each, Done | Failed)]


def order(spec, *, replicate=1, model=1):
    folder = spec.folder / f"replicate-{replicate:05d}" / f"model-{model:03d}" / "attempt-00001"
    return json.loads((folder / "order.json").read_text())


def test_documents_are_items_and_a_field_of_theirs_is_the_block(tmp_path):
    benchmark = engine_for(study(tmp_path, benchmark={"block": "doc.topic"})).benchmark()
    assert len(benchmark.items) == 12
    assert all(item.startswith("words/") for item in benchmark.items)
    assert sorted(set(benchmark.blocks)) == ["words/t0", "words/t1", "words/t2", "words/t3"]


def test_every_document_is_a_block_without_one(tmp_path):
    benchmark = engine_for(study(tmp_path, benchmark={"limit": 5})).benchmark()
    assert len(set(benchmark.blocks)) == 5


def test_what_is_asked_is_part_of_the_fingerprint(tmp_path):
    plain, again, shots, other = (
        engine_for(study(tmp_path, benchmark=more)).benchmark().fingerprint
        for more in ({}, {}, {"num_fewshot": 2}, {"num_fewshot": 2, "fewshot_seed": 5})
    )
    assert plain == again
    assert len({plain, shots, other}) == 3


def test_a_run_scores_every_item_and_counts_what_was_sent(tmp_path):
    _, (good, _) = run_once(study(tmp_path))
    assert isinstance(good, Done)
    assert len(good.scores) == 12
    assert set(good.scores.values()) <= {0.0, 1.0}
    assert good.usage.calls == 12
    assert good.usage.tokens == {"m90": (144, 36)}
    assert good.trace is not None
    assert good.unseeded == ()


def test_requests_have_seeds_that_differ_between_documents_and_runs(tmp_path):
    """One seed for all requests would make the draws of equal prompts equal; scores of runs differ only by seeds."""
    spec = study(tmp_path)
    first, again, other = (run_once(spec, seed=seed)[1][0] for seed in (7, 7, 8))
    assert first.trace == again.trace
    assert first.trace != other.trace


def test_documents_and_few_shot_examples_are_those_of_every_replicate(tmp_path):
    spec = study(tmp_path, benchmark={"num_fewshot": 3, "args": {"gen_kwargs": {"top_p": 0.9}}})
    run_once(spec, replicate=1, seed=7)
    run_once(spec, replicate=2, seed=9)
    words = [order(spec, replicate=replicate)["words"] for replicate in (1, 2)]
    assert [each[each.index("--seed") + 1] for each in words] == ["0,1234,7,1234", "0,1234,9,1234"]
    assert json.loads(words[0][words[0].index("--gen_kwargs") + 1]) == {"top_p": 0.9}
    assert "--apply_chat_template" in words[0]
    assert not any("cache" in word for word in words[0])


def test_the_settings_of_the_run_reach_models_of_apis_and_no_others(tmp_path):
    spec = study(
        tmp_path,
        models=[
            {**API, "name": "m90", "args": {"model": "m90"}},
            {"name": "m20", "model": "hf", "args": {"pretrained": "m20"}},
        ],
        run={"connections": 8, "timeout": 30, "request_retries": 1},
    )
    _, (api, local) = run_once(spec)
    assert order(spec)["requests"] == {"max_retries": 2, "num_concurrent": 8, "timeout": 30}
    assert isinstance(api, Done)
    assert isinstance(local, Done)  # which would have refused arguments that it does not know


def test_a_model_inside_of_the_tool_has_the_seed_of_its_run(tmp_path):
    models = [{"name": name, "model": "hf", "args": {"pretrained": name}} for name in ("m50", "m40")]
    first, again, other = (run_once(study(tmp_path, models=models), seed=seed)[1][0].trace for seed in (7, 7, 8))
    assert first == again != other


def test_one_seed_per_run_is_noted_and_a_seed_per_request_is_not(tmp_path):
    spec = study(
        tmp_path,
        models=[
            {**API, "name": "m90", "args": {"model": "m90"}},
            {"name": "m20", "model": "hf", "args": {"pretrained": "m20"}},
        ],
    )
    engine, _ = run_once(spec)
    (note,) = engine.caveats()
    assert note.startswith("lm_eval gives m20 one seed per run and none to its requests")


def test_several_items_in_one_request_are_noted(tmp_path):
    engine = engine_for(study(tmp_path, benchmark={"args": {"batch_size": 4}}))
    engine.benchmark()
    assert [note[:41] for note in engine.caveats()] == [
        "lm_eval sends several items to m90 in one",
        "lm_eval sends several items to m20 in one",
    ]


def test_a_provider_that_takes_no_seed_is_noticed(tmp_path):
    models = [{"name": name, "model": "seedless", "args": {"model": name}} for name in ("m90", "m20")]
    _, (first, second) = run_once(study(tmp_path, models=models))
    assert (first.unseeded, second.unseeded) == (("m90",), ("m20",))


@pytest.mark.parametrize(
    ("url", "cause"),
    [("http://down", "ConnectionError: Cannot connect to http://down"), ("http://error", "out of credit")],
)
def test_a_server_that_fails_is_an_error_and_no_score(tmp_path, url, cause):
    models = [{**API, "name": name, "base_url": url, "args": {"model": name}} for name in ("m90", "m20")]
    _, (first, _) = run_once(study(tmp_path, models=models))
    assert isinstance(first, Failed)
    assert cause in first.error
    assert "log.txt" in first.error
    assert "0123456789abcdef" not in first.error


def failing(tmp_path, url):
    models = [{**API, "name": name, "base_url": url, "args": {"model": name}} for name in ("m90", "m20")]
    run = {"pause": 0.0, "retries": 0, "preflight": False, "request_retries": 2}
    return study(tmp_path, models=models, run=run, budget=1)


def test_a_failed_request_is_shown_at_once_although_the_tool_sends_it_again(tmp_path, monkeypatch):
    """The second attempt waits until the failure of the first was seen."""
    noticed, spec = tmp_path / "noticed", failing(tmp_path, "http://moody")
    monkeypatch.setenv("FAKE_LM_EVAL_NOTICED", str(noticed))
    ended = evaluate(
        spec, engine_for(spec), watch=lambda event: noticed.touch() if isinstance(event, ErrorSeen) else None
    )
    assert ended.leaderboard.replicates == 1
    counts = {(each.first.model, each.first.kind, each.first.message): each.count for each in ended.problems}
    assert counts == {(name, "connection-lost", "Connection reset by peer"): 12 for name in ("m90", "m20")}


def test_a_run_that_ends_with_a_failed_request_has_its_cause_and_no_other(tmp_path):
    spec = failing(tmp_path, "http://down")
    with pytest.raises(EvaluationError, match=r"x m90 at http://down: connection lost: Cannot connect") as caught:
        evaluate(spec, engine_for(spec))
    assert "3 x m90 at http://down: connection lost" in str(caught.value)
    assert "program failed" not in str(caught.value)
    assert "0123456789abcdef" not in str(caught.value)


def test_an_answer_without_content_fails_the_run_and_is_not_scored(tmp_path):
    spec = failing(tmp_path, "http://null")
    with pytest.raises(EvaluationError, match=r"m90 at http://null: no answer: the content of the message is null"):
        evaluate(spec, engine_for(spec))
    assert '"scores"' not in (spec.folder / "replicate-00001.jsonl").read_text(encoding="utf-8")


def test_a_task_that_cannot_be_loaded_is_found_before_anything_is_frozen(tmp_path):
    with pytest.raises(EvaluationError, match=r"cannot list the tasks.*ValueError: Tasks not found: broken"):
        evaluate(
            study(tmp_path, benchmark={"task": "broken"}), engine_for(study(tmp_path, benchmark={"task": "broken"}))
        )
    assert not (tmp_path / "study.bbedge").exists()


def test_a_python_without_the_tool_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "lm_eval.py").write_text("raise ModuleNotFoundError(name='lm_eval')")
    with pytest.raises(EvaluationError, match=r"has no lm_eval; install it there with pip install 'lm_eval\[api\]'"):
        engine_for(study(tmp_path)).benchmark()


def test_a_whole_study_runs_and_continues(tmp_path):
    spec = study(tmp_path, benchmark={"block": "doc.topic"})
    assert evaluate(spec, engine_for(spec), at_most=1).spent.replicates == 1
    ended = evaluate(spec, engine_for(spec))
    assert ended.answer.answered
    assert ended.spent.used.calls == 24 * ended.spent.replicates > 24


def test_a_finished_run_is_not_repeated(tmp_path):
    """A model whose run is in the journal keeps it; one that was interrupted starts again, in a folder of its own."""
    broken = [
        {**API, "name": "m90", "args": {"model": "m90"}},
        {**API, "name": "m20", "base_url": "http://down", "args": {"model": "m20"}},
    ]
    whole = [{key: value for key, value in model.items() if key != "base_url"} for model in broken]
    spec = study(tmp_path, models=broken, budget=1)
    with pytest.raises(EvaluationError, match="replicate 1 is not complete"):
        evaluate(spec, engine_for(spec))
    spec = study(tmp_path, models=whole, budget=1)
    evaluate(spec, engine_for(spec), server_changed="the first server is down")
    attempts = sorted(path.parts[-2] for path in (spec.folder / "replicate-00001").glob("model-*/attempt-*"))
    assert attempts == ["model-001", "model-002", "model-002"]


@pytest.mark.parametrize(
    ("benchmark", "problem"),
    [
        ({"args": {"use_cache": "x"}}, "use_cache may not be set; caches are off"),
        ({"args": {"seed": 1}}, "seed may not be set"),
        ({"args": {"gen_kwargs": {"seed": 1}}}, "seed may not be set"),
        ({"args": {"num_fewshots": 1}}, "unknown key 'num_fewshots'"),
        ({"args": {"apply_chat_template": 3}}, "'apply_chat_template' = 3 is not true or false or a text"),
        ({"args": {"batch_size": 1.5}}, "'batch_size' = 1.5 is not a whole number or a text"),
        ({"args": {"trust_remote_code": "yes"}}, "'trust_remote_code' = 'yes' is not true or false"),
        ({"task": []}, "'task' is not a text with a character or a list of texts"),
        ({"scorer": "match"}, "unknown key 'scorer'"),
    ],
)
def test_settings_that_would_be_wrong_are_refused(tmp_path, benchmark, problem):
    with pytest.raises(BbedgeError, match=problem):
        study(tmp_path, benchmark=benchmark)


@pytest.mark.parametrize("key", ["args", "config"])
def test_a_model_may_not_bring_its_seed(tmp_path, key):
    models = [{**API, "name": "m90", key: {"seed": 1}}, {**API, "name": "m20"}]
    with pytest.raises(EvaluationError, match=f"{key} may not set seed"):
        engine_for(study(tmp_path, models=models))


def test_a_python_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(EvaluationError, match="there is no program"):
        engine_for(study(tmp_path, benchmark={"python": "./venv/bin/python"}))


def test_the_benchmark_is_frozen_but_where_the_tool_is_installed_is_not(tmp_path):
    plain = study(tmp_path)
    assert study(tmp_path, benchmark={"python": "/other/python"}).protocol_hash == plain.protocol_hash
    assert study(tmp_path, benchmark={"num_fewshot": 1}).protocol_hash != plain.protocol_hash


def test_prices_are_those_of_what_the_server_calls_the_models(tmp_path):
    prices = {"m90": {"input": 1, "output": 1}, "m20": {"input": 1, "output": 1}}
    spec = study(tmp_path, prices=prices, max_cost=100)
    ended = evaluate(spec, engine_for(spec), at_most=1)
    assert ended.spent.cost == pytest.approx(2 * (144 + 36) / 1e6)


def test_the_pilot_of_a_dry_run_has_some_documents(tmp_path):
    spec = study(tmp_path)
    forecast = dry_run(spec, engine_for(spec), pilot=5)
    assert (forecast.samples, forecast.one_run.requests, forecast.pilot) == (12, 24, 5)
    assert (forecast.spent.calls, forecast.one_run.tokens) == (10, 24 * 15)
