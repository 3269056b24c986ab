"""Files that are one run of one model each: what their paths show."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbedge.readers.assemble.pairing import path_pattern
from bbedge.readers.choices import name_in_path, replicates_are_seeds
from bbedge.records.reading import Reading

RUNS = (1, 2, 3)
SHAPES = {
    "{m}_run{r}.jsonl": ("path:(old|new)_run", r"path:run(\d+)"),
    "runs/{m}_run_{r}.csv.gz": (r"path:(old|new)_run_\d", r"path:run_(\d+)"),
    "run{r}_{m}.jsonl": (r"path:run\d+_(old|new)", r"path:run(\d+)"),
    "run{r}/{m}.jsonl": ("file", r"path:run(\d+)"),
    "{m}/run{r}.jsonl": ("folder", r"path:run(\d+)"),
    "x/{m}/run{r}/results.json": ("path:([^/]+)/[^/]+/[^/]+$", r"path:run(\d+)"),
    "x/{m}_run{r}/results.json": ("path:(old|new)_run", r"path:run(\d+)"),
    "{m}_run{r}_scores.json": ("path:(old|new)_run", r"path:run(\d+)"),
    "rerun7/{m}_run{r}.json": ("path:(old|new)_run", r"path:run(\d+)[^/]*$"),
    "{m}-{r}.csv": (r"path:(old|new)-\d", r"path:-(\d+)\.csv$"),
    "{m}.{r}.parquet": (r"path:(old|new)\.\d", r"path:\.(\d+)\.parquet$"),
    "{m}/{r}.csv": ("folder", r"path:(\d+)\.csv$"),
    "{r}/{m}.csv": ("file", r"path:(\d+)/[^/]*$"),
    "{m} seed={r}.jsonl": (r"path:(old|new) seed=\d", r"path:seed=(\d+)"),
}


@pytest.mark.parametrize(("shape", "choices"), SHAPES.items())
def test_the_shape_of_names_is_found(shape, choices):
    paths = [shape.format(m=model, r=run) for model in ("old", "new") for run in RUNS]
    found = path_pattern(paths)
    assert found is not None
    assert (found.model_from, found.replicate_from) == choices
    assert_reads(found, paths, [(model, str(run)) for model in ("old", "new") for run in RUNS])


def assert_reads(found, paths, expected):
    """The choices as a user makes them."""
    reading = Reading(model_from=found.model_from, replicate_from=found.replicate_from)
    assert [names_in_path(reading, path) for path in paths] == expected


def names_in_path(reading, path):
    return name_in_path(reading, path, "model"), name_in_path(reading, path, "replicate")


@pytest.mark.parametrize(
    "paths",
    [
        ["gpt-3.csv", "gpt-4.csv", "claude-3.csv", "claude-4.csv"],  # versions, not runs
        ["old.csv", "new.csv"],
        ["old_run1.csv", "old_run2.csv", "old_run3.csv"],
        ["old_run1.csv", "new_run2.csv", "newer_run3.csv"],
        [f"{day}/{model}.csv" for day in ("mon", "tue") for model in ("old", "new")],  # either could be the model
        [f"{task}/{model}_run{run}.csv" for task in ("math", "code") for model in ("old", "new") for run in RUNS],
        [],
    ],
)
def test_nothing_is_guessed(paths):
    assert path_pattern(paths) is None


@pytest.mark.parametrize(
    ("shape", "label"),
    [("{d}/{m}.csv", "folder"), ("{m}/{d}.csv", "file"), ("{m}_{d}.csv", None), ("{d}-{m}.csv", None)],
)
def test_models_that_files_name_leave_only_the_run_to_find(shape, label):
    pairs = [(model, day) for model in ("old", "new.1") for day in ("mon", "tue")]
    paths, models = [shape.format(m=m, d=d) for m, d in pairs], [model for model, _ in pairs]
    found = path_pattern(paths, models)
    assert found is not None
    assert found.model_from is None
    if label is not None:
        assert found.replicate_from == label
    else:
        reading = Reading(replicate_from=found.replicate_from)
        assert [name_in_path(reading, path, "replicate") for path in paths] == [day for _, day in pairs]


def test_many_models_are_not_listed():
    pairs = [(f"model-{letter}", str(run)) for letter in "abcdefghij" for run in RUNS]
    for shape in ("{}_run{}.csv", "run{1}_{0}.csv"):
        paths = [shape.format(*pair) for pair in pairs]
        found = path_pattern(paths)
        assert len(found.model_from) < 50
        assert_reads(found, paths, pairs)


def test_a_run_that_is_missing_does_not_hide_the_pattern():
    paths = [f"{model}_run{run}.csv" for model in ("old", "new") for run in RUNS][:-1]
    assert path_pattern(paths).replicate_from == r"path:run(\d+)"


@given(
    st.lists(st.text("ab.-_(+", min_size=1, max_size=6), min_size=2, max_size=8, unique=True),
    st.sampled_from(list(SHAPES)),
    st.integers(2, 4),
)
def test_whatever_is_found_pairs_runs_of_all_models(names, shape, runs):
    paths = [shape.format(m=name, r=run) for name in names for run in range(runs)]
    found = path_pattern(paths)
    if found is not None:
        reading = Reading(model_from=found.model_from, replicate_from=found.replicate_from)
        pairs = {names_in_path(reading, path) for path in paths}
        assert len(pairs) == len(paths) > len({label for _, label in pairs})
        assert all(
            re.compile(each[5:]) for each in (found.replicate_from, found.model_from) if each.startswith("path:")
        )


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        ("seed", True),
        (r"path:seed(\d+)", True),
        (r"path:_seed=(\d+)\.csv", True),
        ("metadata.seed", True),
        (r"path:run(\d+)", False),
        ("file", False),
        (None, False),
    ],
)
def test_seeds_are_labels_that_count_nothing(given, seeds):
    assert replicates_are_seeds(Reading(replicate_from=given)) is seeds
