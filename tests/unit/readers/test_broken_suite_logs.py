"""Broken or hostile logs of agent benchmarks and suites: refused with the file and the place, never a crash."""

import gzip
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import BbedgeError
from bbedge.readers import Choices, read_scores
from bbedge.readers.tools import readers, recognised
from suite_makers import MAKERS, write

EVIL = "<script>alert(1)</script>\x1b[31m[bold]\u202e=cmd()"
# Where each tool writes a score, and what it calls a question.
SCORE = {
    "tau-bench": "reward",
    "tau2-bench": "reward",
    "terminal-bench": "is_resolved",
    "harbor": "reward",
    "nemo-evaluator": "reward",
    "every-eval-ever": "score",
    "evalplus": "base_status",
    "evalscope": "acc",
    "verifiers": "reward",
}
ITEM = {
    "tau-bench": "task_id",
    "tau2-bench": "task_id",
    "terminal-bench": "task_id",
    "harbor": "task_name",
    "nemo-evaluator": "problem_idx",
    "every-eval-ever": "sample_id",
    "evalscope": "group_id",
    "verifiers": "example_id",
}
WORDS = [None, True, 7, -1.5, 10**400, float("nan"), float("inf"), "text", "", [], [1], {}, {"a": {"b": 1}}]


def read(name, *sources):
    choices = Choices(metrics=("plus",) if name == "evalplus" else ())
    return read_scores(*sources, least_models=1, choices=choices)


def refusal(name, *sources):
    with pytest.raises(BbedgeError) as caught:
        read(name, *sources)
    return str(caught.value)


def changed(value, change):
    """JSON in which ``change(key, value)`` gave every value of an object anew."""
    if isinstance(value, dict):
        return {key: change(key, changed(part, change)) for key, part in value.items()}
    return [changed(part, change) for part in value] if isinstance(value, list) else value


def rewrite(path, change):
    if path.suffix == ".jsonl":
        write(path, [changed(json.loads(line), change) for line in path.read_text().splitlines()])
    else:
        write(path, changed(json.loads(path.read_text()), change))


def refused_by_name_or_read(name, folder):
    names = {path.name for path in Path(folder).rglob("*.json*")}
    try:
        read(name, folder)
    except BbedgeError as error:
        said = str(error)
        # A model that misses scores is named without the files that would have them, and a folder without any log by
        # its own name.
        assert any(each in said for each in names) or "missing" in said or str(folder) in said, said


def with_scores(name, folder):
    """The files of a log that hold scores."""
    logs = MAKERS[name](folder)
    return sorted(folder.glob("*/result.json")) if name == "harbor" else logs


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_refused_or_harmless(name, data):
    with tempfile.TemporaryDirectory() as folder:
        MAKERS[name](Path(folder))
        path = data.draw(st.sampled_from(sorted(Path(folder).rglob("*.json*"))))
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
        refused_by_name_or_read(name, folder)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_value_of_another_type_is_refused_or_harmless(name, data):
    with tempfile.TemporaryDirectory() as folder:
        MAKERS[name](Path(folder))
        path = data.draw(st.sampled_from(sorted(Path(folder).rglob("*.json*"))))
        keys = set()
        rewrite(path, lambda key, value: keys.add(key) or value)
        wrong, put = data.draw(st.sampled_from(sorted(keys))), data.draw(st.sampled_from(WORDS))
        rewrite(path, lambda key, value: put if key == wrong else value)
        refused_by_name_or_read(name, folder)


@pytest.mark.parametrize("name", MAKERS)
def test_a_log_that_was_cut_off_names_its_file(name, tmp_path):
    path = with_scores(name, tmp_path)[0]
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 40])
    assert path.name in refusal(name, tmp_path)
    assert "not valid JSON" in refusal(name, tmp_path) or "not a complete JSON" in refusal(name, tmp_path)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "evalplus"])
@pytest.mark.parametrize("score", [float("nan"), None, "1.0"], ids=str)
def test_a_score_that_is_no_number_is_missing(name, score, tmp_path):
    path = with_scores(name, tmp_path)[0]
    rewrite(path, lambda key, value: score if key == SCORE[name] else value)
    message = refusal(name, tmp_path)
    assert "no score" in message or "missing" in message or "without a score" in message


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "evalplus"])
@pytest.mark.parametrize("score", [2.0, 10**400, -1])
def test_a_score_outside_the_range_is_refused(name, score, tmp_path):
    path = with_scores(name, tmp_path)[0]
    rewrite(path, lambda key, value: score if key == SCORE[name] else value)
    assert "outside" in refusal(name, tmp_path) or "is infinite" in refusal(name, tmp_path)


@pytest.mark.parametrize("name", ITEM)
@pytest.mark.parametrize("item", [None, "", ["q"], {"a": 1}], ids=str)
def test_an_item_without_a_name_is_refused(name, item, tmp_path):
    path = with_scores(name, tmp_path)[0]
    rewrite(path, lambda key, value: item if key == ITEM[name] else value)
    if name == "evalscope":
        # The index of the sample names the question if there is no group.
        rewrite(path, lambda key, value: item if key in ("index", "sample_id") else value)
    assert path.name in refusal(name, tmp_path)


@pytest.mark.parametrize("name", ITEM)
def test_names_with_markup_and_control_characters_stay_text(name, tmp_path):
    for path in with_scores(name, tmp_path):
        rewrite(path, lambda key, value: f"{EVIL}{value}" if key in (ITEM[name], "trial_name") else value)
    scores = read(name, tmp_path)
    assert all(EVIL in item for item in scores.items)


@pytest.mark.parametrize("name", MAKERS)
def test_a_key_that_comes_twice_is_refused(name, tmp_path):
    path = with_scores(name, tmp_path)[0]
    key = SCORE[name]
    path.write_text(path.read_text().replace(f'"{key}": ', f'"{key}": 0, "{key}": ', 1))
    assert f"'{key}' appears more than once" in refusal(name, tmp_path)


@pytest.mark.parametrize("name", MAKERS)
def test_something_deeply_nested_is_refused(name, tmp_path):
    path = with_scores(name, tmp_path)[0]
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(path.read_text().replace(f'"{SCORE[name]}": ', f'"{SCORE[name]}": {deep}, "x": ', 1))
    assert "nested too deeply" in refusal(name, tmp_path)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "harbor"])
def test_packed_logs_are_read(name, tmp_path):
    logs = MAKERS[name](tmp_path)
    whole = read(name, *logs)
    packed = []
    for path in logs:
        packed.append(path.with_name(path.name + ".gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    found = read(name, *packed)
    assert (found.models, found.items) == (whole.models, whole.items)


@pytest.mark.parametrize("name", MAKERS)
def test_a_log_without_samples_is_refused(name, tmp_path):
    path = MAKERS[name](tmp_path)[0]
    if name == "harbor":
        for trial in tmp_path.glob("*/"):
            shutil.rmtree(trial)
    elif path.suffix == ".jsonl":
        path.write_text("\n")
    else:
        empty = {"simulations": [], "results": [], "eval": {}, "tasks": []}
        content = json.loads(path.read_text())
        write(path, [] if isinstance(content, list) else {key: empty.get(key, part) for key, part in content.items()})
    reader = readers()[name]
    with pytest.raises(BbedgeError, match=path.name):
        read_scores(path, least_models=1, choices=Choices(format=name))
    assert recognised(str(path))[0] in (None, reader)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("content", ["[]", "{}", "[7]", '{"a": 1}', "7", '[{"a": [1]}]'])
def test_a_file_of_another_tool_is_refused(name, content, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(content)
    with pytest.raises(BbedgeError, match=r"other\.json"):
        read_scores(other, least_models=1, choices=Choices(format=name, model_names=("m",)))
