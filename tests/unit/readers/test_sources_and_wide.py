"""Folders, patterns and wide tables."""

import numpy as np
import polars as pl
import pytest

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.readers import read_scores
from log_makers import inspect_log

ITEMS = [f"q{n}" for n in range(1, 11)]


@pytest.fixture
def wide():
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {"model": ["a", "b", "a", "b"], "run": [1, 1, 2, 2], **{item: rng.integers(0, 2, 4) for item in ITEMS}}
    )


def long(frame):
    return frame.unpivot(ITEMS, index=["model", "run"], variable_name="item", value_name="score")


def test_a_wide_table_is_the_long_one(wide, tmp_path):
    expected = read_scores(long(wide))
    wide.write_csv(tmp_path / "a.csv")
    wide.write_parquet(tmp_path / "a.parquet")
    wide.write_ndjson(tmp_path / "a.jsonl")
    for source in (
        wide,
        tmp_path / "a.csv",
        tmp_path / "a.parquet",
        tmp_path / "a.jsonl",
    ):
        scores = read_scores(source)
        assert np.array_equal(scores.values, expected.values)
        assert (scores.models, scores.items, scores.replicates) == (
            expected.models,
            expected.items,
            expected.replicates,
        )
        assert any(
            "was read as a wide table: each of its 10 other columns is one item" in note.text for note in scores.notes
        )


def test_items_may_be_rows_and_models_columns(wide):
    rng = np.random.default_rng(2)
    models = {f"m{n}": rng.random(6) for n in range(8)}
    turned = pl.DataFrame({"item": [f"q{n}" for n in range(6)], "block": list("aabbcc"), **models})
    scores = read_scores(turned)
    assert scores.models == tuple(models)
    assert scores.blocks == tuple("aabbcc")
    assert np.array_equal(scores.values[0], np.array(list(models.values())))


def test_few_columns_may_be_a_summary_and_must_be_asked_for(wide):
    summary = wide.select("model", "run", "q1", "q2")
    with pytest.raises(FormatError, match=r"no column for the item.*format='wide'"):
        read_scores(summary)
    assert read_scores(summary, format="wide").items == ("q1", "q2")


def test_a_long_table_is_not_taken_for_a_wide_one(wide):
    table = long(wide).with_columns(*(pl.lit(0.5).alias(f"other{n}") for n in range(12)))
    assert read_scores(table).items == tuple(ITEMS)
    with pytest.raises(FormatError, match="a wide table has a column named model"):
        read_scores(table, format="wide")


def test_a_wide_table_may_be_declared_long(wide):
    with pytest.raises(FormatError, match="no column for the item"):
        read_scores(wide, format="table")


def test_cells_of_a_wide_table_are_named(wide, tmp_path):
    wide.with_columns(q3=pl.Series([1, 0, 7, 1])).write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"a\.csv:4, column 'q3': score 7\.0 is outside \[0, 1\]"):
        read_scores(tmp_path / "a.csv")
    gap = wide.with_columns(q3=pl.Series([1, None, 0, 1]))
    with pytest.raises(DataError, match=r"1 of 40 cells .* have no score"):
        read_scores(gap)
    with pytest.raises(DataError, match="a second score for model 'a', item 'q1', replicate '1'"):
        read_scores(pl.concat([wide, wide]))


def test_a_folder_is_read_with_all_below_it(wide, tmp_path):
    inspect_log(tmp_path / "a" / "one.eval", model="m1")
    inspect_log(tmp_path / "b" / "c" / "two.eval", model="m2")
    (tmp_path / "notes.txt").write_text("remember the milk")
    (tmp_path / "summary.csv").write_text("model,mean\nm1,0.5\n")
    (tmp_path / "empty.json").write_text("")
    (tmp_path / ".hidden.eval").write_text("not to be read")
    scores = read_scores(tmp_path)
    assert scores.models == ("m1", "m2")
    (note,) = (note for note in scores.notes if "were not read" in note.text)
    assert note.text.startswith("3 files of the folders were not read")
    assert "'empty.json', 'notes.txt', 'summary.csv'" in note.text


def test_a_broken_log_in_a_folder_is_not_passed_over(tmp_path):
    inspect_log(tmp_path / "one.eval", model="m1")
    broken = inspect_log(tmp_path / "two.eval", model="m2")
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(FormatError, match=r"two\.eval: not a complete zip archive"):
        read_scores(tmp_path)


def test_patterns(tmp_path):
    for n in (1, 2):
        inspect_log(tmp_path / f"run{n}" / "a.eval", model=f"m{n}")
    inspect_log(tmp_path / "other" / "a.eval", model="m3")
    assert read_scores(tmp_path / "run*" / "*.eval").models == ("m1", "m2")
    assert read_scores(tmp_path / "run?").models == ("m1", "m2")
    assert read_scores(tmp_path / "**" / "*.eval").models == ("m1", "m2", "m3")
    with pytest.raises(FormatError, match="none that fits it as a pattern"):
        read_scores(tmp_path / "walk*")


def test_a_name_that_looks_like_a_pattern_is_a_name_if_there_is_such_a_file(tmp_path):
    assert read_scores(inspect_log(tmp_path / "a[1].eval"), least_models=1).models == ("m",)


def test_a_file_of_no_known_kind_is_refused_with_the_known_ones(tmp_path):
    (tmp_path / "a.json").write_text('{"some": "thing"}')
    with pytest.raises(
        FormatError, match=r"a\.json with the keys 'some': neither its name nor its content is known.* Inspect AI"
    ):
        read_scores(tmp_path / "a.json")
    with pytest.raises(FormatError, match="none of the 1 files there holds scores"):
        read_scores(tmp_path)


def test_a_folder_can_be_read_as_one_kind(tmp_path):
    inspect_log(tmp_path / "one.eval")
    (tmp_path / "a.csv").write_text("model,item,score\na,q,1\nb,q,0\n")
    assert read_scores(tmp_path, format="table").models == ("a", "b")
    assert read_scores(tmp_path, format="inspect", least_models=1).models == ("m",)
    with pytest.raises(DomainError, match="column="):
        read_scores(tmp_path, format="inspect", column={"score": "x"})
