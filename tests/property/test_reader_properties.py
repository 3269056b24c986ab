"""What holds for every reader of test runs, tables and judgments: order means nothing, and no file goes unnoticed."""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import DataError
from bbedge.readers import read_scores
from shape_makers import SHAPES


def parsed(shape, path):
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()[shape.header :]] if shape.lines else json.loads(text)


def written(shape, path, content):
    header = "".join(path.read_text().splitlines(keepends=True)[: shape.header])
    text = "".join(json.dumps(row) + "\n" for row in content) if shape.lines else json.dumps(content)
    path.write_text(header + text)


def with_shuffled_keys(value, random):
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: with_shuffled_keys(value[key], random) for key in keys}
    return [with_shuffled_keys(part, random) for part in value] if isinstance(value, list) else value


def read(shape, *sources, **choices):
    return read_scores(*sources, **shape.choices, **choices, **shape.reading)


def same(a, b):
    assert (a.models, a.items, a.replicates) == (b.models, b.items, b.replicates)
    assert a.blocks == b.blocks
    np.testing.assert_array_equal(a.values, b.values)
    assert a.runs == b.runs


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=8)
@given(random=st.randoms(use_true_random=False))
def test_the_order_of_files_records_and_keys_means_nothing(name, random):
    shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        files = shape.files(Path(folder))
        before = read(shape, *files)
        for path in files:
            content = parsed(shape, path)
            for records in shape.records(content):
                if isinstance(records, list) and name != "opencompass":  # there, places are the names of items
                    random.shuffle(records)
            written(shape, path, with_shuffled_keys(content, random))
        random.shuffle(files)
        same(before, read(shape, *files))


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=4)
@given(data=st.data())
def test_a_record_that_is_dropped_is_missed(name, data):
    shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        files = shape.files(Path(folder))
        before = read(shape, *files)
        path = data.draw(st.sampled_from(files))
        content = parsed(shape, path)
        records = max(shape.records(content), key=len)
        places = list(records) if isinstance(records, dict) else range(len(records))
        del records[data.draw(st.sampled_from(places))]
        written(shape, path, content)
        if name == "swe-bench":
            # An instance that leaves the list of resolved ones was not resolved.
            assert read(shape, *files).values.sum() == before.values.sum() - 1
        else:
            with pytest.raises(DataError):
                read(shape, *files)


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_that_is_dropped_takes_its_model_with_it(name, tmp_path):
    shape = SHAPES[name]
    files = shape.files(tmp_path)
    whole = read(shape, tmp_path)
    assert len(whole.models) == 2
    if len(files) == 2:
        chosen = {key: value[1:] if key == "model_name" else value for key, value in shape.choices.items()}
        rest = read_scores(files[1], least_models=1, **chosen, **shape.reading)
        assert rest.models == whole.models[1:]
        np.testing.assert_array_equal(rest.values, whole.values[:, 1:])


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "mlflow"])
def test_a_copy_of_a_run_is_no_replicate(name, tmp_path):
    """The same answers are one run, also when they were judged a second time. MLflow has nothing to go by but bytes."""
    shape = SHAPES[name]
    files = shape.files(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for path in files:
        copy = tmp_path / "b" / path.relative_to(tmp_path / "a")
        copy.write_text(path.read_text() + "\n")
    with pytest.raises(DataError, match="the same run of"):
        read(shape, tmp_path)
