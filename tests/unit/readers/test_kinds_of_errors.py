"""Logs tell errors apart: the model refused, the infrastructure or the judge failed, or nothing is known."""

import json
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest

from bbedge.readers import read_scores
from bbedge.readers.assemble.missing_refusal import MissingCellsError
from bbedge.readers.logs.fields import kind_of_error
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_row, lm_eval_run


def kinds(*sources, **options):
    """The missing scores by model and kind, without the kinds of which there are none."""
    with pytest.raises(MissingCellsError) as caught:
        read_scores(*sources, **options)
    return {model: {kind: n for kind, n in kinds.items() if n} for model, kinds in caught.value.missing.items()}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Error code: 400 - {'code': 'content_filter'}", "refusal"),
        ("The response was filtered due to Azure OpenAI's content management policy", "refusal"),
        ("ResponsibleAIPolicyViolation", "refusal"),
        ("content_policy_violation", "refusal"),
        ("Your prompt was blocked", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("Rate limit reached", "infrastructure"),
        ("APITimeoutError: Request timed out.", "infrastructure"),
        ("the tool broke", "infrastructure"),
    ],
)
def test_messages_of_providers(message, kind):
    assert kind_of_error(message) == kind


def filtered(reason):
    return {"choices": [{"message": {"content": ""}, "stop_reason": reason}]}


INSPECT = {
    "q0": {},
    "q1": {"error": "ReadTimeout", "scores": None},
    "q2": {"error": {"message": "content_filter"}, "scores": None},
    "q3": {"limit": "time", "scores": None},
    "q4": {"limit": {"type": "token", "limit": 5}, "scores": None},
    "q5": {"scores": {"match": {"value": float("nan")}}},
    "q6": {"scores": None},
    "q7": {"scores": None, "output": filtered("content_filter")},
    "q8": {"limit": "message"},
}
OF_INSPECT = {"refusal": 2, "infrastructure": 2, "judge": 2, "unknown": 1}


def test_inspect(tmp_path):
    samples = [inspect_sample(name, **more) for name, more in INSPECT.items()]
    inspect_log(tmp_path / "a.eval", model="a", samples=samples)
    inspect_log(tmp_path / "b.eval", model="b", samples=[inspect_sample(name) for name in INSPECT])
    assert kinds(tmp_path) == {"a": OF_INSPECT}


def test_inspect_json(tmp_path):
    for model in "ab":
        samples = [inspect_sample(name, **(more if model == "a" else {})) for name, more in INSPECT.items()]
        about = {"model": model, "task": "t", "created": "2026-01-01T00:00:00", "eval_id": model}
        log = {"version": 2, "status": "success", "eval": about, "plan": {}, "samples": samples}
        (tmp_path / f"{model}.json").write_text(json.dumps(log))
    assert kinds(tmp_path) == {"a": OF_INSPECT}


@pytest.mark.parametrize("sample", ["whole", "broken", "absent"])
def test_inspect_looks_for_a_refusal_in_the_sample_that_has_no_score(tmp_path, sample):
    unscored = inspect_sample("q1", scores=None)
    path = inspect_log(tmp_path / "a.eval", model="a", samples=[inspect_sample("q0"), unscored])
    whole = json.dumps({"id": "q1", "epoch": 1, "messages": [{"content": "x"}], "output": filtered("content_filter")})
    if sample != "absent":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("samples/q1_epoch_1.json", whole if sample == "whole" else whole[:40])
    inspect_log(tmp_path / "b.eval", model="b", samples=[inspect_sample("q0"), inspect_sample("q1")])
    assert kinds(tmp_path) == {"a": {"refusal" if sample == "whole" else "judge": 1}}


def test_the_log_that_inspect_wrote_of_a_broken_tool():
    (of_model,) = kinds(LOGS / "inspect" / "failed").values()
    assert of_model == {"infrastructure": 1}


def test_lm_eval(tmp_path):
    rows = [
        lm_eval_row(0),
        lm_eval_row(1, score=None),
        lm_eval_row(2, score=float("nan")),
        lm_eval_row(3, score=None, resps=[[None]]),
    ]
    lm_eval_run(tmp_path / "a", model="a", rows=rows)
    lm_eval_run(tmp_path / "b", model="b", rows=[lm_eval_row(n) for n in range(5)])
    assert kinds(tmp_path) == {"a": {"judge": 2, "unknown": 2}}


def test_helm(tmp_path):
    shutil.copytree(LOGS / "helm", tmp_path / "helm")
    path = tmp_path / "helm" / "run1" / "aster" / "per_instance_stats.json"
    rows = json.loads(path.read_text())
    (stat,) = (stat for stat in rows[0]["stats"] if stat["name"]["name"] == "exact_match")
    stat |= {"count": 0, "mean": None}
    path.write_text(json.dumps(rows[:-1]))
    found = kinds(tmp_path / "helm", metric=("exact_match",))
    assert found == {"mock/aster": {"judge": 1, "unknown": 1}}


def test_lighteval(tmp_path):
    shutil.copytree(LOGS / "lighteval", tmp_path / "lighteval")
    path = sorted((tmp_path / "lighteval" / "details" / "aster").rglob("*.parquet"))[0]
    rows = pl.read_parquet(path)
    name = rows["metric"].struct.fields[0]
    score = pl.when(pl.int_range(pl.len()) > 0).then(pl.col("metric").struct.field(name)).alias(name)
    rows.with_columns(metric=pl.struct(score)).write_parquet(path)
    assert kinds(tmp_path / "lighteval") == {"aster": {"judge": 1}}


PROMPTFOO = [
    ({"failureReason": 2, "error": "Request timed out after 30000 ms", "response": {"error": "x"}}, "infrastructure"),
    ({"failureReason": 2, "error": "the provider said no", "response": {"error": "x", "isRefusal": True}}, "refusal"),
    ({"failureReason": 2, "error": "x", "response": {"error": "x", "guardrails": {"flagged": True}}}, "refusal"),
    ({"failureReason": 2, "error": "x", "response": {"error": "x", "finishReason": "content_filter"}}, "refusal"),
    ({"failureReason": 2, "error": "API error: content_filter"}, "refusal"),
    ({"failureReason": 2, "error": "Error: grading failed", "response": {"output": "Paris"}}, "judge"),
    (
        {
            "failureReason": 1,
            "error": "HTTP 503",
            "score": 0,
            "response": {"output": "Paris"},
            "gradingResult": {"componentResults": [{"pass": False, "metadata": {"graderError": True}}]},
        },
        "judge",
    ),
    ({"failureReason": 1, "error": "Expected Paris", "score": 0, "response": {"output": "Rome"}}, None),
]


@pytest.mark.parametrize(("said", "kind"), PROMPTFOO)
def test_promptfoo(tmp_path, said, kind):
    document = json.loads((LOGS / "promptfoo" / "json" / "out.json").read_text())
    row = document["results"]["results"][0]
    row.pop("gradingResult", None)
    row |= {"success": False, "response": {}} | said
    (tmp_path / "out.json").write_text(json.dumps(document))
    if kind is None:
        assert read_scores(tmp_path / "out.json").gaps == "refuse"
    else:
        assert list(kinds(tmp_path / "out.json").values()) == [{kind: 1}]


def test_openai_evals(tmp_path):
    shutil.copytree(LOGS / "openai_evals", tmp_path / "logs")
    path = tmp_path / "logs" / "aster_1.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    matches = [place for place, row in enumerate(rows) if row.get("type") == "match"]
    errors = {matches[0]: "Request timed out", matches[1]: "content_filter"}
    for place, message in errors.items():
        rows[place] |= {"type": "error", "data": {"type": "E", "message": message}}
    rows[matches[2]] |= {"type": "extra", "data": {}}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert kinds(tmp_path / "logs") == {"aster": {"infrastructure": 1, "refusal": 1, "unknown": 1}}


def test_a_policy_treats_kinds_differently(tmp_path):
    samples = [inspect_sample(name, **more) for name, more in INSPECT.items()]
    inspect_log(tmp_path / "a.eval", model="a", samples=samples)
    inspect_log(tmp_path / "b.eval", model="b", samples=[inspect_sample(name) for name in INSPECT])
    with pytest.raises(MissingCellsError) as caught:
        read_scores(tmp_path, incomplete="infrastructure=worst-case,refusal=zero")
    message = str(caught.value)
    assert "does not cover 3 missing scores (1 unknown, 2 judge). incomplete='worst-case,refusal=zero," in message
    assert "\nBy kind of error: 1 unknown, 2 refusal, 2 infrastructure, 2 judge.\n" in message
    scores = read_scores(tmp_path, incomplete="infrastructure=worst-case,refusal=zero,judge=zero,worst-case")
    assert scores.gaps == "worst-case"
    by_item = dict(zip((item.removeprefix("t/") for item in scores.items), scores.values[0, 0], strict=True))
    assert [item for item, score in by_item.items() if np.isnan(score)] == ["q1", "q3", "q4"]
    assert [item for item, score in by_item.items() if score == 0.0] == ["q2", "q5", "q6", "q7"]
    texts = [note.text for note in scores.notes if note.kind == "gaps"]
    assert texts[0] == "Missing scores that count as the worst case, by kind of error: 1 unknown, 2 infrastructure."
    assert texts[1].endswith("'a' (4); 2 refusal, 2 judge.")


def test_kinds_belong_to_cells_whatever_the_order_of_files_and_batches(tmp_path, monkeypatch):
    for run, model in enumerate("aabb"):
        said = INSPECT if run == 1 else {key: {} for key in INSPECT}
        samples = [inspect_sample(name, **more) for name, more in said.items()]
        created = f"2026-01-0{run + 1}T00:00:00"
        inspect_log(tmp_path / f"{run}.eval", model=model, samples=samples, created=created)
    policy = "infrastructure=worst-case,zero"
    files = sorted(tmp_path.glob("*.eval"))
    one = read_scores(*files, incomplete=policy)
    monkeypatch.setattr("bbedge.readers.logs.table._ROWS", 4)
    other = read_scores(*reversed(files), incomplete=policy)
    assert one.values.tobytes() == other.values.tobytes()
    assert np.argwhere(np.isnan(one.values)).tolist() == [[1, 0, 1], [1, 0, 3]]


def test_a_model_with_fewer_logs_was_stopped(tmp_path):
    for run, model in enumerate("aaabb", start=1):
        samples = [inspect_sample(f"q{n}", value="CI"[(n + run) % 2]) for n in range(3)]
        created = f"2026-01-0{run}T00:00:00"
        inspect_log(tmp_path / f"{run}.eval", model=model, samples=samples, created=created)
    assert read_scores(tmp_path, incomplete="stopped").stops == (3, 2)
    # A log whose samples all failed is a run that was made.
    failed = [inspect_sample(f"q{n}", error="ReadTimeout", scores=None) for n in range(3)]
    inspect_log(tmp_path / "6.eval", model="b", samples=failed, created="2026-01-06T00:00:00")
    with pytest.raises(MissingCellsError, match=r"does not cover 3 missing scores \(3 infrastructure\)"):
        read_scores(tmp_path, incomplete="stopped")
    scores = read_scores(tmp_path, incomplete="stopped,worst-case")
    assert (scores.gaps, scores.stops) == ("worst-case", None)
