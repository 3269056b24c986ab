"""Any panel written in any format and any order of rows comes back; memory stays a small multiple of the file."""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.assemble.grid import natural_key

NAMES = st.one_of(
    st.sampled_from(
        ['"', '""', ",", "a,b", "x\ny", "x\r\ny", "'", "=1+1", "é", "e\u0301", "日本", "\u202eevil", "<b>"]
    ),
    st.from_regex(r"q[0-9]{1,3}", fullmatch=True),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=8),
).filter(lambda name: name.strip() != "")


@st.composite
def panels(draw):
    models = sorted(draw(st.lists(NAMES, min_size=2, max_size=4, unique=True)))
    items = sorted(draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)), key=natural_key)
    first, count = draw(st.integers(-2, 9)), draw(st.integers(1, 3))
    replicates = [str(first + k) for k in range(count)]
    blocks = [draw(st.sampled_from(["x", "y,z", "'"])) for _ in items]
    cells = count * len(models) * len(items)
    scores = st.one_of(st.sampled_from([0.0, 1.0, 0.1]), st.floats(0, 1))
    values = np.array(draw(st.lists(scores, min_size=cells, max_size=cells)))
    shuffled = draw(st.permutations(range(cells)))
    return models, items, replicates, blocks, values.reshape(count, len(models), len(items)), shuffled


def rows_of(models, items, replicates, blocks, values, shuffled):
    rows = [
        {"model": model, "item": item, "replicate": replicate, "block": block, "score": float(values[r, m, i])}
        for r, replicate in enumerate(replicates)
        for m, model in enumerate(models)
        for i, (item, block) in enumerate(zip(items, blocks, strict=True))
    ]
    return [rows[k] for k in shuffled]


def written(folder, rows, kind):
    path = Path(folder) / f"scores.{kind}"
    if kind == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=len(rows) % 2 == 0) + "\n" for row in rows), "utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            quoting = csv.QUOTE_ALL if len(rows) % 2 else csv.QUOTE_MINIMAL
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if kind == "tsv" else ",", quoting=quoting)
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
@given(panel=panels())
@settings(max_examples=60, deadline=None)
def test_round_trip(kind, panel):
    models, items, replicates, blocks, values, _ = panel
    with tempfile.TemporaryDirectory() as folder:
        scores = read_scores(written(folder, rows_of(*panel), kind))
    assert scores.models == tuple(models)
    assert scores.items == tuple(items)
    assert scores.replicates == tuple(replicates)
    assert scores.blocks == tuple(blocks)
    assert np.array_equal(scores.values, values)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("piece", [7, 64, 1000])
def test_cuts_between_pieces_change_nothing(tmp_path, monkeypatch, kind, piece):
    names = ["a\nb", 'x"y', "p,q", "é日本"]
    rows = [
        {"model": m, "item": f"{i}\n{n}", "replicate": "1", "block": "x", "score": k / 16}
        for k, m in enumerate(names)
        for i, n in enumerate(names)
    ]
    path = written(tmp_path, rows, kind)
    whole = read_scores(path)
    path_with_bad = written(tmp_path, [*rows, rows[5] | {"model": "last", "score": 9.0}], kind)
    with pytest.raises(DataError) as caught:
        read_scores(path_with_bad)
    monkeypatch.setattr("bbedge.readers.opening.PIECE", piece)
    with pytest.raises(DataError) as again:
        read_scores(path_with_bad)
    assert str(again.value) == str(caught.value)
    lines = path_with_bad.read_text("utf-8").split("\n")
    line = int(str(caught.value).partition(": ")[0].rpartition(":")[2])
    assert "last" in lines[line - 1]
    pieces = read_scores(written(tmp_path, rows, kind))
    assert pieces.items == whole.items
    assert np.array_equal(pieces.values, whole.values)


MEASURE = """
import resource, sys
import bbedge.readers.tables.frames, bbedge.readers.assemble.pivot, bbedge.readers.assemble.pivot
from bbedge.readers import read_scores
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scores = read_scores(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, *scores.values.shape)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit elsewhere")
def test_memory_is_a_small_multiple_of_the_file(tmp_path):
    models, items, replicates = 20, 5000, 15
    path = tmp_path / "large.csv"
    cells = np.random.default_rng(0).permutation(models * items * replicates)
    pl.DataFrame(
        {
            "model": np.array([f"model-{m:02d}" for m in range(models)])[cells % models],
            "item": np.array([f"question_{i:06d}" for i in range(items)])[cells // models % items],
            "replicate": cells // (models * items) + 1,
            "score": cells % 997 / 1000,
        }
    ).write_csv(path)
    size = path.stat().st_size
    assert size > 40e6
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    peak, *shape = map(int, done.stdout.split())
    assert shape == [replicates, models, items]
    # Most of it is pieces in flight, which do not grow with the file: a file of 1 GB takes as much as itself.
    assert peak * 1024 < 4 * size
