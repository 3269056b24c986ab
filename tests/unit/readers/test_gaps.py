"""Missing cells: the report, the policies, and very ragged tables."""

import itertools
import json
import resource
import time

import numpy as np
import polars as pl
import pytest

from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.assemble.missing_scores import MissingCells, size


def table(models=3, items=5, replicates=2, without=()):
    """A complete table less the (model, item, replicate) for which ``without`` holds."""
    rows = [
        {"model": f"m{m}", "item": f"q{i}", "replicate": r, "score": ((m + 2 * i + r) % 7) / 8}
        for m, i, r in itertools.product(range(models), range(items), range(replicates))
        if (m, i, r) not in without
    ]
    return pl.DataFrame(rows)


def refusal(frame, **options):
    with pytest.raises(DataError) as caught:
        read_scores(frame, **options)
    return str(caught.value)


def test_report_says_how_many_where_and_what_to_do():
    message = refusal(table(without={(1, 2, 0), (1, 3, 0), (1, 3, 1)}))
    for part in (
        "3 of 30 cells (10%) have no score",
        "3 models x 5 items x 2 replicates must be complete",
        "1 of 3 models, first 'm1' (3 of 10)",
        "2 of 5 items, first 'q3' (2 of 6), 'q2' (1 of 6)",
        "2 of 2 replicates, first '0' (2 of 15), '1' (1 of 15)",
        "model 'm1', item 'q2', replicate '0'",
        "incomplete='drop-models' would keep 2 models x 5 items x 2 replicates (20 cells)",
        "incomplete='drop-items' would keep 3 models x 3 items x 2 replicates (18 cells)",
        "incomplete='drop-replicates' would keep nothing usable",
        "drop-models leaves the largest complete panel found",
        "without looking at the scores",
        "dropping items changes the benchmark",
        "never counted as zero",
    ):
        assert part in message, message


def test_report_names_a_mix_where_it_keeps_more():
    # One bad model on every item, and one bad item for every model: no single policy keeps both parts.
    without = {(0, i, 0) for i in range(1, 10)} | {(m, 0, 0) for m in range(1, 10)}
    message = refusal(table(10, 10, 1, without))
    assert (
        "The largest complete panel found is a mix of these, which keeps 9 models x 9 items x 1 replicates (81 cells)"
        in message
    )
    assert "if you leave out 1 of 10 models ('m0'), 1 of 10 items ('q0')" in message
    assert "incomplete='drop-models' would keep nothing usable" in message


@pytest.mark.parametrize(
    ("policy", "shape", "part"),
    [
        ("drop-models", (2, 2, 5), "1 of 3 models ('m1')"),
        ("drop-items", (2, 3, 3), "2 of 5 items ('q2', 'q3')"),
        ("drop-replicates", (1, 3, 5), "1 of 2 replicates ('1')"),
    ],
)
def test_policies_drop_every_slice_with_a_hole_and_say_so(policy, shape, part):
    frame = table(without={(1, 2, 1), (1, 3, 1)})
    scores = read_scores(frame, incomplete=policy)
    assert scores.values.shape == shape
    assert part in scores.notes[0].text
    assert "2 of 30 cells had no score" in scores.notes[0].text
    assert ("the claims are about the items that stay" in scores.notes[0].text) == (policy == "drop-items")
    for r, m, i in itertools.product(*map(range, shape)):
        row = frame.row(
            by_predicate=(pl.col("model") == scores.models[m])
            & (pl.col("item") == scores.items[i])
            & (pl.col("replicate") == int(scores.replicates[r])),
            named=True,
        )
        assert scores.values[r, m, i] == row["score"]


def test_policy_on_a_complete_table_changes_nothing():
    scores = read_scores(table(), incomplete="drop-items")
    assert scores.values.shape == (2, 3, 5)
    assert not any("Dropped" in note.text for note in scores.notes)


def test_dropped_replicate_leaves_a_skip_that_is_allowed_but_an_absent_one_does_not():
    frame = table(replicates=3, without={(1, 2, 1)})
    assert read_scores(frame, incomplete="drop-replicates").replicates == ("0", "2")
    message = refusal(frame.filter(pl.col("replicate") != 1), incomplete="drop-replicates")
    assert "1 is missing" in message


def test_policy_that_leaves_nothing():
    message = refusal(table(2, 2, 1, {(0, 0, 0), (1, 1, 0)}), incomplete="drop-items")
    assert "incomplete='drop-items' would drop 2 of 2 items ('q0', 'q1') and leave no two models" in message
    message = refusal(table(2, 2, 1, {(0, 0, 0)}), incomplete="drop-models")
    assert "would drop 1 of 2 models ('m0')" in message


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "frame"])
def test_empty_score_is_missing_and_never_zero(tmp_path, kind):
    frame = table(2, 2, 1).with_columns(score=pl.when(pl.col("item") == "q0").then(None).otherwise("score"))
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dicts()))
    elif kind == "parquet":
        frame.write_parquet(path)
    source = frame if kind == "frame" else path
    assert "2 of 4 cells (50%) have no score" in refusal(source)
    assert read_scores(source, incomplete="drop-items").items == ("q1",)


def test_no_score_at_all():
    frame = table(2, 2, 1).with_columns(score=pl.lit(None))
    assert "4 of 4 cells (100%) have no score" in refusal(frame)
    assert "No way of dropping" in refusal(frame)


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_the_same_from_missing_and_from_present_cells(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 6, 3))
    hole = rng.random(shape) < rng.choice([0.02, 0.2, 0.8])
    names = tuple(tuple(f"{axis}{k}" for k in range(n)) for axis, n in zip("rmi", shape, strict=True))
    missing = MissingCells(names=names, cells=np.flatnonzero(hole), listing="missing")
    present = MissingCells(names=names, cells=np.flatnonzero(~hole), listing="present")
    for gaps in (missing, present):
        assert gaps.missing == hole.sum()
        for axis, others in enumerate(((1, 2), (0, 2), (0, 1))):
            assert gaps.counts[axis].tolist() == hole.sum(axis=others).tolist()
            kept = gaps.without_holes(axis)
            assert not hole[np.ix_(*kept)].any()
        assert [hole[cell] for cell in gaps.examples()] == [True] * min(3, int(hole.sum()))
        mix = gaps.greedy()
        if mix is not None:
            assert not hole[np.ix_(*mix)].any()
            assert size(mix) > 0
    assert missing.examples() == present.examples()


def test_sparse_and_dense_give_the_same_panels():
    # Many items that only one model has: more than four cells per row, so nothing may be laid out densely.
    dense = table(4, 50, 2)
    extra = pl.DataFrame({"model": "m9", "item": [f"x{i}" for i in range(200_000)], "replicate": 0, "score": 0.5})
    extra = extra.cast(dense.schema)
    alone = pl.concat(
        [dense, dense.filter((pl.col("item") != "q0") & (pl.col("model") == "m0")).with_columns(model=pl.lit("m9"))]
    )
    both = pl.concat([alone, extra.select(alone.columns)])
    kept = read_scores(both, incomplete="drop-items")
    expected = read_scores(alone, incomplete="drop-items")
    assert kept.items == expected.items
    assert kept.models == expected.models
    assert kept.values.tolist() == expected.values.tolist()
    assert "200001 of 200050 items" in kept.notes[0].text


def test_very_ragged_table_is_reported_quickly_and_without_a_dense_array(tmp_path):
    rows = 200_000
    path = tmp_path / "a.csv"
    pl.DataFrame({"model": [f"m{k % 1000}" for k in range(rows)], "item": np.arange(rows), "score": 1}).write_csv(path)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    message = refusal(path)
    assert "199800000 of 200000000 cells (99.9%)" in message
    # The dense panels would take 1.6 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
    assert time.monotonic() - start < 20
