"""One contract for broken logs of every tool: refused with the file and the house's message, never a crash or a guess.

The list of breakages is the same for all tools; where a tool's log says more, or a breakage has another effect, its
case in ``broken_log_cases`` says which.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores
from bbedge.readers.tools import readers, recognised
from broken_log_cases import CASES, OTHER_FORMS, UNNAMED, change_last, put, rewrite, with_records
from log_makers import LOGS

EVIL = "<script>alert(1)</script>\x1b[31m[bold]\u202e=cmd()"
WORDS = [None, True, 7, -1.5, 10**400, -1e999, float("nan"), "text", "", [], [1], [[1, 2]], {}, {"a": {"b": 1}}]
KEYED = [name for name in CASES if name != "mlflow"]


def cut(_, path):
    path.write_bytes(path.read_bytes()[:-40])


def doubled(case, path):
    path.write_text(path.read_text().replace(f'"{case.score}": ', f'"{case.score}": 0, "{case.score}": ', 1))


def nested(case, path):
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(path.read_text().replace(f'"{case.score}": ', f'"{case.score}": {deep}, "x": ', 1))


def scored_as(word):
    return lambda case, path: rewrite(path, put(word, case.score))


def named_as(word):
    return lambda case, path: rewrite(path, put(word, *case.item))


NAN = float("nan")
BREAKAGES = {
    "cut off": (KEYED, cut, lambda _: "not valid JSON|not a complete JSON document"),
    "a key twice": (KEYED, doubled, lambda case: rf"'{re.escape(case.score)}' appears more than once; remove one"),
    "nested too deeply": (KEYED, nested, lambda _: "nested too deeply"),
    "the model is not named": (CASES, lambda *_: None, lambda case: case.unnamed),
    "a record that is no object": (
        [name for name in CASES if name not in ("harbor", "evalplus", "swe-bench reports")],
        lambda _, path: with_records(path, lambda records: records.append(7)),
        lambda _: "",
    ),
    "a record twice": (
        [name for name, case in CASES.items() if case.twice and name != "harbor"],
        lambda _, path: with_records(path, lambda records: records.append(records[-1])),
        lambda case: case.twice,
    ),
    "no item": (
        [name for name, case in CASES.items() if case.item],
        lambda case, path: change_last(path, put(..., *case.item)),
        lambda case: case.no_item,
    ),
    **{
        f"a score that is {word!r}": (
            [name for name in KEYED if word not in CASES[name].harmless],
            scored_as(word),
            lambda case: case.no_number,
        )
        for word in (None, NAN, "1.0", [1], {})
    },
    **{
        f"a score of {title}": (KEYED, scored_as(word), lambda case: case.outside)
        for title, word in {"-1": -1, "200": 200.0, "10 to the 400": 10**400}.items()
    },
    **{
        f"an item that is {word!r}": (
            [name for name, case in CASES.items() if case.item and case.by_name],
            named_as(word),
            # An empty name is refused, or is one item for all.
            lambda _: "no .*; expected|a second |has no samples",
        )
        for word in (None, "", ["q"], {"a": 1})
    },
}


@pytest.mark.parametrize(
    ("name", "breakage"), [(name, breakage) for breakage, (names, _, _) in BREAKAGES.items() for name in names]
)
def test_what_is_broken_is_refused_with_its_file_and_why(name, breakage, tmp_path):
    case = CASES[name]
    _, change, said = BREAKAGES[breakage]
    path = case.path(tmp_path)
    if breakage == "the model is not named":
        case.nameless(tmp_path)
        case = replace(case, choices={key: case.choices[key] for key in case.choices if key == "metric"})
    change(case, path)
    message = case.refusal(tmp_path)
    assert re.search(said(case), message), message
    # A model that misses scores is named without the files that would have them.
    named = any(each.name in message for each in tmp_path.rglob("*.json*"))
    assert named or "missing" in message, message
    if breakage.startswith("a score of") and "outside" in message:
        assert re.search(r"(:\d+|: sample \d+): score", message), message
    if path.suffix == ".jsonl" and breakage == "cut off":
        assert re.search(r"\.jsonl:\d+: not valid JSON", message), message


@pytest.mark.parametrize("name", CASES)
def test_a_metric_that_is_not_there_is_refused_with_those_that_are(name, tmp_path):
    case = CASES[name]
    path = case.path(tmp_path)
    message = case.refusal(tmp_path, metric=("no such metric",))
    assert re.search(r"(:\d+|: sample \d+): .*no such metric in it; it has '", message), message
    assert path.name in message or name == "harbor"


@pytest.mark.parametrize("name", CASES)
def test_a_log_without_samples_is_refused(name, tmp_path):
    case = CASES[name]
    path = case.path(tmp_path)
    if name == "harbor":
        shutil.rmtree(path.parent)
        path = tmp_path / "result.json"
    elif name == "evalplus":
        rewrite(path, put({}, "eval"))
    elif path.suffix == ".jsonl":
        path.write_text("\n")
    else:
        with_records(path, lambda records: records.clear())
    if not name.startswith("swe-bench"):
        assert path.name in case.refusal(path, format=name.split()[0])
    assert recognised(str(path))[0] in (None, readers()[name.split()[0]])


@pytest.mark.parametrize("name", sorted({name.split()[0] for name in CASES} | {"lighteval"}))
@pytest.mark.parametrize("content", ["[]", "{}", "[7]", '{"a": 1}', "7", '[{"a": [1]}]'])
def test_a_file_of_another_tool_is_refused(name, content, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(content)
    with pytest.raises(BbedgeError, match=r"other\.json"):
        read_scores(other, least_models=1, format=name, model_name=("m",))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.item and case.by_name])
def test_names_with_markup_and_control_characters_stay_text(name, tmp_path):
    case = CASES[name]
    case.make(tmp_path)
    whole = case.read(tmp_path)
    for path in sorted(tmp_path.rglob(case.scored)):
        rewrite(path, lambda key, value: f"{EVIL}{value}" if key in (case.item[0], "trial_name") else value)
    scores = case.read(tmp_path)
    assert len(scores.items) == len(whole.items)
    assert all(EVIL in item for item in scores.items)
    assert "\x1b" not in case.refusal(tmp_path, metric=("no such metric",))


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("harbor", "swe-bench")])
def test_packed_logs_are_read(name, tmp_path):
    case = CASES[name]
    case.make(tmp_path)
    logs = sorted(tmp_path.rglob(case.scored))
    whole = case.read(*logs)
    for path in logs:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    found = case.read(*(path.with_name(path.name + ".gz") for path in logs))
    assert (found.models, found.items) == (whole.models, whole.items)
    assert (found.values == whole.values).all()


def refused_by_name_or_read(read, folder, names):
    try:
        read(folder)
    except BbedgeError as error:
        said = str(error)
        # A folder without any log is named itself.
        assert any(each in said for each in names) or "missing" in said or str(folder) in said, said


@pytest.mark.parametrize("name", [*CASES, *OTHER_FORMS])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_refused_or_harmless(name, data):
    make, read = (CASES[name].make, CASES[name].read) if name in CASES else (OTHER_FORMS[name], read_scores)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        path = data.draw(st.sampled_from(files))
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
        refused_by_name_or_read(read, folder, {each.name for each in files})


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_value_of_another_type_is_refused_or_harmless(name, data):
    with tempfile.TemporaryDirectory() as folder:
        CASES[name].make(Path(folder))
        files = sorted(Path(folder).rglob("*.json*"))
        path = data.draw(st.sampled_from(files))
        keys = set()
        rewrite(path, lambda key, value: keys.add(key) or value)
        wrong, word = data.draw(st.sampled_from(sorted(keys))), data.draw(st.sampled_from(WORDS))
        data.draw(st.sampled_from([rewrite, change_last]))(path, put(word, wrong))
        refused_by_name_or_read(CASES[name].read, folder, {each.name for each in files})


def test_every_tool_has_a_case():
    assert {name.split()[0] for name in CASES} | {"lighteval"} == set(readers())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_table_of_lighteval_that_was_cut_off_is_refused(share, tmp_path):
    shutil.copytree(LOGS / "lighteval", tmp_path, dirs_exist_ok=True)
    path = sorted(tmp_path.rglob("*.parquet"))[0]
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(BbedgeError, match=re.escape(path.name)):
        read_scores(path, least_models=1, format="lighteval", model_name=("m",))


def test_a_document_of_lighteval_without_a_name_is_refused(tmp_path):
    path = tmp_path / "details_t_2026-01-01T00-00-00.parquet"
    rows = [{"doc": {"id": name, "query": "q"}, "metric": {"acc": 1.0}, "model_response": "a"} for name in ("1", None)]
    pl.DataFrame(rows).write_parquet(path)
    with pytest.raises(BbedgeError, match=rf"{path.name}: sample 2: no doc.id; expected details of lighteval"):
        read_scores(path, least_models=1, model_name=("m",))
    with pytest.raises(BbedgeError, match=UNNAMED):
        read_scores(path, least_models=1)


@pytest.mark.parametrize("word", WORDS, ids=repr)
def test_results_of_lighteval_with_metrics_of_another_type_are_harmless(word, tmp_path):
    shutil.copytree(LOGS / "lighteval", tmp_path, dirs_exist_ok=True)
    for path in tmp_path.rglob("results_*.json"):
        rewrite(path, put(word, "metric_name"))
    assert read_scores(tmp_path).models == ("aster", "birch")
