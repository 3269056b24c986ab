"""What always holds for logs of agent benchmarks and suites: order means nothing, and nothing goes missing silently."""

import json
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores
from suite_makers import MAKERS, write

# Lists whose order means nothing; that of the solutions of a task of EvalPlus does.
RECORDS = ("results", "simulations", "tasks", "evaluation_results")


def read(name, *sources):
    choices = {"metric": ("plus",) if name == "evalplus" else ()}
    return read_scores(*sources, least_models=1, **choices)


def facts(scores):
    """What was read, and what was said about it."""
    said = sorted(note.text for note in scores.notes)
    return scores.models, scores.items, scores.replicates, scores.blocks, scores.values.tolist(), said


def shuffled(value, rng, *, records=False):
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {key: shuffled(value[key], rng, records=key in RECORDS) for key in keys}
    if isinstance(value, list):
        parts = [shuffled(part, rng) for part in value]
        return rng.sample(parts, len(parts)) if records else parts
    return value


def shuffle_file(path, rng):
    if path.suffix == ".jsonl":
        rows = [shuffled(json.loads(line), rng) for line in path.read_text().splitlines()]
        write(path, rng.sample(rows, len(rows)))
    else:
        write(path, shuffled(json.loads(path.read_text()), rng, records=True))


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_order_of_files_records_and_keys_changes_nothing(name, seed):
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        logs = MAKERS[name](Path(folder))
        before = facts(read(name, *logs))
        for path in Path(folder).rglob("*.json*"):
            shuffle_file(path, rng)
        assert facts(read(name, *rng.sample(logs, len(logs)))) == before
        assert facts(read(name, folder)) == before


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_that_is_dropped_changes_the_result_or_is_reported(name, tmp_path):
    MAKERS[name](tmp_path / "whole")
    whole = facts(read(name, tmp_path / "whole"))
    for number, path in enumerate(sorted((tmp_path / "whole").rglob("*.json*"))):
        part = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", part)
        (part / path.relative_to(tmp_path / "whole")).unlink()
        try:
            found = facts(read(name, part))
        except BbedgeError:
            continue
        assert found != whole, path


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_a_record_that_is_dropped_is_missed(name, data):
    with tempfile.TemporaryDirectory() as folder:
        path = data.draw(st.sampled_from(MAKERS[name](Path(folder))))
        if path.suffix == ".jsonl":
            lines = path.read_text().splitlines(keepends=True)
            del lines[data.draw(st.integers(0, len(lines) - 1))]
            path.write_text("".join(lines))
        elif name == "harbor":
            shutil.rmtree(data.draw(st.sampled_from(sorted(each for each in path.parent.iterdir() if each.is_dir()))))
        else:
            content = json.loads(path.read_text())
            records = content if name == "tau-bench" else _records(name, content, data)
            del records[data.draw(st.integers(0, len(records) - 1))]
            write(path, content)
        with pytest.raises(BbedgeError):
            read(name, folder)


def _records(name, content, data):
    if name == "evalplus":
        return content["eval"][data.draw(st.sampled_from(sorted(content["eval"])))]
    return content["simulations" if name == "tau2-bench" else "results"]


@pytest.mark.parametrize("name", MAKERS)
def test_models_are_read_apart_as_together(name, tmp_path):
    both = read(name, *MAKERS[name](tmp_path / "both"))
    for index, model in enumerate(("aster", "birch")):
        alone = read(name, *MAKERS[name](tmp_path / model, (model,)))
        assert alone.models == (both.models[index],)
        np.testing.assert_array_equal(alone.values[:, 0], both.values[:, index])
