"""What must hold for every reader: order says nothing, and a file that is left out is missed."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.checking import check_reader
from bbedge.readers.tools import readers
from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run
from older_logs import first_lm_eval, first_openai_evals, first_promptfoo, helm_run, old_lighteval, promptfoo

MODELS = ("a", "b", "c")
SCORES = {"a": (1.0, 0.0, 1.0), "b": (0.0, 0.0, 1.0), "c": (1.0, 1.0, 1.0)}


def _lm_eval(folder):
    for model, scores in SCORES.items():
        rows = [lm_eval_row(n, score=score) for n, score in enumerate(scores)]
        counts = {"n-samples": {"t": {"effective": 3}}}
        lm_eval_run(folder / model, model=model, rows=rows, **counts)


def _first_lm_eval(folder):
    for model, scores in SCORES.items():
        first_lm_eval(folder / model, model=model, scores=scores)


def _inspect(folder):
    for model, scores in SCORES.items():
        samples = [inspect_sample(f"q{n}", value=score, epoch=1) for n, score in enumerate(scores)]
        about = {"version": 2, "status": "success", "eval": {"model": model, "task": "t", "eval_id": model}}
        about |= {"plan": {}, "results": {"total_samples": 3, "completed_samples": 3, "scores": []}}
        folder.mkdir(exist_ok=True)
        (folder / f"{model}.json").write_text(json.dumps(about | {"samples": samples}))


def _archives(folder):
    for model, scores in SCORES.items():
        samples = [inspect_sample(f"q{n}", value=score) for n, score in enumerate(scores)]
        inspect_log(folder / f"{model}.eval", model=model, samples=samples)


def _helm(folder):
    for model, scores in SCORES.items():
        rows = [(f"id{n}", "test", score) for n, score in enumerate(scores)]
        texts = {f"id{n}": f"Question {n}?" for n in range(3)}
        helm_run(folder / model, [*rows, ("id9", "valid", 1.0)], model=model, instances=texts)


def _lighteval(folder):
    for model, scores in SCORES.items():
        old_lighteval(folder, model=model, exact=scores, passed=scores)


def _promptfoo(folder):
    folder.mkdir(exist_ok=True)
    for model, scores in SCORES.items():
        cases = [{"description": f"d{n}", "vars": {"v": 1}} for n in range(3)]
        rows = [(model, case, n, score) for n, (case, score) in enumerate(zip(cases, scores, strict=True))]
        promptfoo(folder / f"{model}.json", rows=rows)


def _first_promptfoo(folder):
    folder.mkdir(exist_ok=True)
    for model, scores in SCORES.items():
        first_promptfoo(folder / f"{model}.json", rows=[(model, "x", {"v": n}, s) for n, s in enumerate(scores)])


def _openai_evals(folder):
    for model, scores in SCORES.items():
        first_openai_evals(folder / f"{model}.jsonl", model=model, scores=[s == 1 for s in scores], run=model)


SHAPES = {
    "lm-eval": _lm_eval,
    "lm-eval 0.4.0": _first_lm_eval,
    "inspect": _inspect,
    "inspect archives": _archives,
    "helm": _helm,
    "lighteval": _lighteval,
    "promptfoo": _promptfoo,
    "promptfoo of old": _first_promptfoo,
    "openai-evals": _openai_evals,
}
CHOICES = {"lighteval": {"metric": ("extractive_match",)}}
# Lists whose order is that of samples; other lists mean what they say in their order.
LISTS = ("samples", "results", "summaries")


def shuffled(value, rng, *, rows=False):
    """JSON with its keys in another order, and its rows where it is a list of rows."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng, rows=key in LISTS) for key in keys}
    if isinstance(value, list):
        parts = [shuffled(part, rng) for part in value]
        if rows:
            rng.shuffle(parts)
        return parts
    return value


def shuffle_file(path, rng):
    if path.suffix == ".parquet":
        table = pl.read_parquet(path)
        columns = rng.sample(table.columns, len(table.columns))
        table.sample(fraction=1, shuffle=True, seed=rng.randrange(99)).select(columns).write_parquet(path)
    elif path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            members = {name: json.loads(archive.read(name)) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w") as archive:
            for name in rng.sample(list(members), len(members)):
                archive.writestr(name, json.dumps(shuffled(members[name], rng, rows=name == "summaries.json")))
    else:
        try:
            content = json.dumps(shuffled(json.loads(path.read_text()), rng, rows=True))
        except json.JSONDecodeError:
            lines = [json.dumps(shuffled(json.loads(line), rng)) for line in path.read_text().splitlines()]
            rng.shuffle(lines)
            content = "\n".join(lines)
        path.write_text(content)


def result(sources, choices):
    scores = read_scores(*sources, **choices)
    return scores.models, scores.items, scores.replicates, scores.values.tolist(), sorted(map(str, scores.notes))


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_the_order_of_files_records_and_keys_says_nothing(shape, seed, tmp_path):
    folder, rng, choices = tmp_path / "logs", random.Random(seed), CHOICES.get(shape, {})
    shutil.rmtree(folder, ignore_errors=True)
    SHAPES[shape](folder)
    before = result([folder], choices)
    assert np.array(before[3]).shape == (1, 3, 3)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in files:
        shuffle_file(path, rng)
    assert result([folder], choices) == before
    logs = [path for path in files if not path.name.startswith(("results", "run_spec", "stats", "instances"))]
    rng.shuffle(logs)
    assert result(logs, choices) == before


def outcome(folder, choices):
    """The result, or the refusal."""
    try:
        return result([folder], choices)
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_that_is_left_out_is_missed(shape, tmp_path):
    choices = CHOICES.get(shape, {})
    SHAPES[shape](tmp_path / "logs")
    before = result([tmp_path / "logs"], choices)
    for path in sorted((tmp_path / "logs").rglob("*")):
        # The statistics of all instances and the texts of the questions are only compared with the samples.
        if not path.is_file() or path.name in ("stats.json", "instances.json"):
            continue
        kept = path.read_bytes()
        path.unlink()
        assert outcome(tmp_path / "logs", choices) != before, path
        path.write_bytes(kept)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_keeps_the_contract(shape, tmp_path):
    SHAPES[shape](tmp_path / "logs")
    files = [path for path in sorted((tmp_path / "logs").rglob("*")) if path.is_file()]
    beside = ("results", "run_spec", "stats", "instances")
    logs = [path for path in files if not path.name.startswith(beside)]
    assert check_reader(readers()[shape.partition(" ")[0]], logs) >= 9


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_to_any_file_is_refused_or_harmless(shape, data, tmp_path):
    folder = tmp_path / "logs"
    shutil.rmtree(folder, ignore_errors=True)
    SHAPES[shape](folder)
    path = data.draw(st.sampled_from([path for path in sorted(folder.rglob("*")) if path.is_file()]))
    content = bytearray(Path(path).read_bytes())
    word = data.draw(st.sampled_from([b"NaN", b'"x"', b"[]", b"{}", b"null", b"-1e999", b"\xff", b"\0"]))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 12))] = word
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    said = outcome(folder, CHOICES.get(shape, {}))
    assert isinstance(said, tuple) or str(folder) in said or "model" in said
