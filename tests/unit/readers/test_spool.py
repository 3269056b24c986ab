"""Tables larger than memory: rows and panels on disk give the same as rows and panels in memory."""

import mmap
import os
import pickle
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from bbedge.cli import make_app
from bbedge.core.leaderboard import certify
from bbedge.core.scores import Scores
from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.assemble import grid
from bbedge.readers.assemble.grid import Spool, one_by_one, spool_folder
from bbedge.readers.convert import convert
from log_makers import inspect_log, inspect_sample

SHAPES = [(1, 2, 1), (1, 7, 40), (3, 5, 11), (6, 4, 30), (13, 3, 9)]
ORDERS = ["sorted", "by item", "shuffled"]


def table_of(shape, order, *, seed=0, scores="binary"):
    replicates, models, items = shape
    rng = np.random.default_rng(seed)
    cells = np.arange(replicates * models * items)
    values = {"binary": cells % 3 % 2, "decimal": rng.integers(0, 11, len(cells)) / 10, "any": rng.random(len(cells))}
    table = pl.DataFrame(
        {
            "model": [f"model {c // items % models}" for c in cells],
            "item": [f"q{c % items}" for c in cells],
            "block": [f"b{c % items // 3}" for c in cells],
            "replicate": [f"{c // (models * items) + 1}" for c in cells],
            "score": values[scores].astype(float),
        }
    )
    if order == "by item":
        return table.sort("item", maintain_order=True)
    return table.sample(fraction=1.0, shuffle=True, seed=seed) if order == "shuffled" else table


@pytest.fixture
def small_memory(monkeypatch):
    """Memory for some rows and hardly any panel; and batches of few rows, so that there are many chunks."""

    def limited(rows=100, panels=1):
        monkeypatch.setattr("bbedge.readers.assemble.grid.ROWS_IN_MEMORY", rows)
        monkeypatch.setattr("bbedge.readers.assemble.grid.PANELS_IN_MEMORY", panels)
        monkeypatch.setattr("bbedge.readers.tables.frames._ROWS", 17)

    return limited


def is_mapped(array):
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def check_same(one, other):
    assert (one.models, one.items, one.blocks) == (other.models, other.items, other.blocks)
    assert (one.replicates, one.numbered, one.notes) == (other.replicates, other.numbered, other.notes)
    assert one.values.dtype == other.values.dtype == np.float64
    assert one.values.tobytes() == other.values.tobytes()
    assert one.values.shape == other.values.shape


@pytest.mark.parametrize("scores", ["binary", "decimal", "any"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_on_disk_and_in_memory_are_the_same(tmp_path, small_memory, shape, order, scores):
    table = table_of(shape, order, scores=scores)
    path = tmp_path / "a.parquet"
    table.write_parquet(path)
    whole = read_scores(path)
    assert not is_mapped(whole.values)
    # One panel at a time; and two, which does not divide all numbers of replicates.
    for panels in (1, 2):
        small_memory(panels=panels * 8 * shape[1] * shape[2] if panels > 1 else 1)
        spooled = read_scores(path)
        check_same(spooled, whole)
        assert is_mapped(spooled.values) == (shape[0] > panels or panels == 1)
    check_same(read_scores(table), whole)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", ["drop-models", "drop-items", "drop-replicates"])
@pytest.mark.parametrize("absent", ["row", "score"])
def test_what_is_incomplete_is_dropped_alike(small_memory, order, policy, absent):
    table = table_of((5, 4, 12), order, scores="any")
    lacking = (
        (pl.col("model") == "model 1") & pl.col("item").is_in(["q2", "q7"]) & pl.col("replicate").is_in(["2", "5"])
    )
    table = (
        table.filter(~lacking) if absent == "row" else table.with_columns(score=pl.when(~lacking).then(pl.col("score")))
    )
    whole, refusal = read_scores(table, incomplete=policy), refused(table)
    assert "Dropped" in whole.notes[0].text
    small_memory()
    spooled = read_scores(table, incomplete=policy)
    check_same(spooled, whole)
    assert is_mapped(spooled.values)
    assert refused(table) == refusal


def refused(table, **options):
    with pytest.raises(DataError) as caught:
        read_scores(table, **options)
    return str(caught.value)


@pytest.mark.parametrize("order", ORDERS)
def test_duplicates_are_told_alike(small_memory, order):
    table = table_of((4, 3, 10), order, scores="any")
    # Some rows twice and one three times, in other replicates and far from where they come first.
    again = pl.concat([table[70:72], table[[5]], table[:30], table[[5]], table[30:], table[[100]]])
    expected = refused(again)
    assert "(5 such rows in all)" in expected
    small_memory()
    assert refused(again) == expected
    first = again.with_row_index().group_by("model", "item", "replicate").agg(pl.col("index").sort())
    pairs = first.filter(pl.col("index").list.len() > 1)["index"].to_list()
    before, second = min(((rows[0], rows[1]) for rows in pairs), key=lambda pair: pair[1])
    assert expected.startswith(f"frame: row {second + 1}: ")
    assert f"first given at frame: row {before + 1} (" in expected


def test_a_duplicate_without_a_score_is_one(small_memory):
    table = table_of((2, 3, 10), "sorted")
    again = pl.concat([table, table[[3]].with_columns(score=pl.lit(None, pl.Float64))])
    expected = refused(again)
    assert "a second score for model 'model 0', item 'q3'" in expected.replace('"', "'")
    small_memory()
    assert refused(again) == expected


def test_a_change_of_block_is_told_alike(small_memory):
    table = table_of((3, 3, 10), "sorted")
    table = table.with_columns(block=pl.when(pl.int_range(pl.len()) >= 44).then(pl.lit("x")).otherwise(pl.col("block")))
    expected = refused(table)
    assert expected.startswith("frame: row 45: item")
    small_memory()
    assert refused(table) == expected
    # Nobody asked for the column.
    assert read_scores(table, blocks="item").blocks == read_scores(table, blocks="item").items


def test_a_score_out_of_range_is_told_with_its_row(small_memory):
    table = table_of((3, 3, 10), "sorted", scores="decimal")
    table = table.with_columns(score=pl.when(pl.int_range(pl.len()) == 71).then(7.0).otherwise(pl.col("score")))
    expected = refused(table)
    assert expected.startswith("frame: row 72: score 7.0 is outside")
    small_memory()
    assert refused(table) == expected


def test_files_of_replicates_are_joined_on_disk(tmp_path, small_memory):
    table = table_of((4, 3, 10), "shuffled", scores="any")
    whole = read_scores(table)
    paths = []
    for label in "3142":
        paths.append(tmp_path / f"r{label}.parquet")
        table.filter(pl.col("replicate") == label).write_parquet(paths[-1])
    small_memory()
    check_same(read_scores(*paths), whole)


def test_conversion_is_the_same(tmp_path, small_memory):
    table_of((4, 3, 10), "shuffled", scores="any").write_parquet(tmp_path / "a.parquet")
    convert([str(tmp_path / "a.parquet")], tmp_path / "one.parquet")
    small_memory()
    convert([str(tmp_path / "a.parquet")], tmp_path / "two.parquet")
    assert pl.read_parquet(tmp_path / "one.parquet").equals(pl.read_parquet(tmp_path / "two.parquet"))


def test_logs_and_tables_are_numbered_on_disk_too(tmp_path, small_memory):
    rng = np.random.default_rng(1)
    for model in "ab":
        samples = [
            inspect_sample(f"q{k}", value="CI"[int(rng.integers(2))], epoch=epoch)
            for k in range(20)
            for epoch in (1, 2, 3)
        ]
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=samples)
    logs = read_scores(tmp_path)
    table = pl.DataFrame(
        [
            {"model": "c", "item": item, "replicate": label, "score": float(rng.integers(2))}
            for item in logs.items
            for label in logs.replicates
        ]
    )
    whole = read_scores(tmp_path, table)
    assert whole.models == ("a", "b", "c")
    assert whole.replicates == ("1", "2", "3")
    small_memory(rows=1)
    spooled = read_scores(tmp_path, table)
    check_same(spooled, whole)
    assert is_mapped(spooled.values)


def test_a_leaderboard_is_certified_from_disk(small_memory):
    table = table_of((4, 3, 30), "shuffled", scores="any")
    whole = certify(read_scores(table))
    small_memory()
    spooled = certify(read_scores(table))
    assert spooled.design.hash == whole.design.hash
    assert np.array_equal(spooled.log_e, whole.log_e, equal_nan=True)


def test_scores_on_disk_cannot_be_changed_and_can_be_pickled(small_memory):
    small_memory()
    scores = read_scores(table_of((3, 3, 10), "sorted"))
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0, 0] = 0.5
    assert pickle.loads(pickle.dumps(scores)).values.tobytes() == scores.values.tobytes()


def test_panels_one_by_one_are_the_panels(small_memory):
    small_memory()
    scores = read_scores(table_of((5, 3, 10), "shuffled", scores="any"))
    copies = [panel.copy() for panel in one_by_one(scores.values[2:])]
    assert np.array_equal(copies, scores.values[2:])
    assert np.array_equal(list(one_by_one(np.arange(8.0).reshape(2, 2, 2))), np.arange(8.0).reshape(2, 2, 2))


def test_only_arrays_that_can_change_are_copied_to_be_wrapped():
    values = np.zeros((2, 3, 4))
    scores = Scores.of(values, models="abc", items="wxyz")
    values[:] = 1.0
    assert not scores.values.any()
    values.flags.writeable = False
    assert np.shares_memory(Scores.of(values, models="abc", items="wxyz").values, values)
    assert Scores.of([[1, 0]] * 2, models="ab", items="xy").values.tolist() == [[[1.0, 0.0], [1.0, 0.0]]]


def test_what_is_written_comes_back(tmp_path):
    spool = Spool(str(tmp_path))
    arrays = [np.arange(5, dtype=np.uint16), np.array([0.1, np.nan]), np.empty(0), np.ones((2, 3), dtype=np.uint8)]
    pieces = [spool.write(array) for array in arrays]
    for array, piece in reversed(list(zip(arrays, pieces, strict=True))):
        assert piece().dtype == array.dtype
        assert np.array_equal(piece(), array, equal_nan=True)


@pytest.mark.skipif(os.name != "posix", reason="an open file keeps its name elsewhere")
def test_the_file_has_no_name(tmp_path, small_memory, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    small_memory()
    scores = read_scores(table_of((4, 3, 10), "shuffled"))
    assert is_mapped(scores.values)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
import numpy as np
from bbedge.readers.assemble.grid import Spool
spool = Spool(sys.argv[1])
spool.write(np.ones(1000))
array = spool.mapped((1000,))
print(array.sum(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="an open file keeps its name elsewhere")
def test_a_killed_program_leaves_nothing_behind(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "1000.0\n"
    assert done.returncode < 0
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_is_told(tmp_path, small_memory, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 100})())
    small_memory()
    message = refused(table_of((4, 3, 10), "sorted"))
    assert str(tmp_path) in message
    assert "0.0 GB are free" in message
    assert "set TMPDIR" in message


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")  # noqa: PTH110
def test_a_disk_that_becomes_full_is_told(tmp_path, small_memory, monkeypatch):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "r+b", buffering=0))  # noqa: PTH123, SIM115
    small_memory()
    message = refused(table_of((4, 3, 10), "sorted"))
    assert "No space left on device" in message
    assert "set TMPDIR" in message


def test_the_folder_is_not_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert spool_folder() == str(tmp_path)
    monkeypatch.delenv("TMPDIR")
    assert os.access(spool_folder(), os.W_OK)
    if os.path.isdir("/var/tmp") and os.access("/var/tmp", os.W_OK):  # noqa: PTH112
        assert spool_folder() == "/var/tmp"


def test_scores_keep_every_bit(small_memory):
    values = [0.1, 1 / 3, np.nextafter(0, 1), 1e-45, 1e-300, 0.5, 1.0, np.nextafter(1, 0), 0.0, float(np.float32(0.1))]
    table = pl.DataFrame(
        {"model": [m for m in "ab" for _ in values], "item": [f"q{i}" for i in range(len(values))] * 2}
    ).with_columns(score=pl.Series(values + [-0.0] * len(values)))
    expected = np.array([values, [0.0] * len(values)])[None]
    for _ in range(2):
        assert read_scores(table).values.tobytes() == expected.tobytes()
        small_memory()
    assert grid.ROWS_IN_MEMORY == 100


@pytest.mark.parametrize("more", [[], ["--top-k", "1", "--pilot", "2"]])
def test_the_command_gives_the_same_certificate_from_disk(tmp_path, small_memory, more):
    path = tmp_path / "a.parquet"
    table_of((5, 3, 30), "shuffled", scores="any").write_parquet(path)
    make_app()(["certify", str(path), "--json", str(tmp_path / "whole.json"), *more], standalone_mode=False)
    small_memory()
    make_app()(["certify", str(path), "--json", str(tmp_path / "spooled.json"), *more], standalone_mode=False)
    assert (tmp_path / "spooled.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


MEASURE = """
import resource, sys
import polars as pl
from bbedge.readers import read_scores
from bbedge.readers.assemble import grid
from bbedge.readers.tables import frames
frames._ROWS, grid.ROWS_IN_MEMORY, grid.PANELS_IN_MEMORY = 100_000, 8 << 20, 16 << 20
read_scores(pl.DataFrame({"model": ["a", "b"], "item": ["x", "x"], "score": [1.0, 0.0]}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scores = read_scores(sys.argv[1])
total = sum(float(panel.sum()) for panel in grid.one_by_one(scores.values))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, *scores.values.shape, total)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit elsewhere")
def test_memory_is_less_than_the_scores_whatever_the_order(tmp_path):
    replicates, models, items = 20, 60, 10_000
    cells = np.random.default_rng(0).permutation(replicates * models * items)
    scores = cells * 7919 % 1_000_003 / 1_000_003
    pl.DataFrame(
        {
            "model": pl.Series([f"m{m}" for m in range(models)]).gather(cells // items % models),
            "item": pl.Series([f"q{i}" for i in range(items)]).gather(cells % items),
            "replicate": cells // (models * items),
            "score": scores,
        }
    ).write_parquet(tmp_path / "a.parquet", row_group_size=100_000)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "a.parquet")], capture_output=True, text=True, check=True
    )
    peak, *shape, total = done.stdout.split()
    assert list(map(int, shape)) == [replicates, models, items]
    assert float(total) == pytest.approx(scores.sum())
    # In memory, rows and panels would take two and a half times the scores.
    assert int(peak) * 1024 < scores.nbytes
