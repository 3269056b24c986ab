"""What scores say of the files that they came from."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import polars as pl
import pytest

from bbedge.core.scores import scores_hash
from bbedge.readers import read_scores
from bbedge.readers.read_scores import harmless_names

ROWS = [(m, f"q{i}", r, (i * 7 + r * 3 + len(m)) % 5 / 4) for m in ("a", "bb") for i in range(6) for r in (1, 2)]
FRAME = pl.DataFrame(ROWS, schema=["model", "item", "replicate", "score"], orient="row")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for model in ("a", "bb"):
        FRAME.filter(pl.col("model") == model).write_csv(f"runs/{model}.csv")
    return tmp_path


def test_files_have_names_sizes_and_hashes(folder):
    scores = read_scores("runs/bb.csv", "runs/a.csv")
    assert [each.name for each in scores.sources] == ["runs/a.csv", "runs/bb.csv"]
    for each in scores.sources:
        content = Path(each.name).read_bytes()
        assert (each.bytes, each.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert scores.files == ()


def test_the_names_reveal_no_folders_of_this_machine(folder):
    names = [each.name for each in read_scores(folder / "runs").sources]
    assert names == ["a.csv", "bb.csv"]
    assert [each.name for each in read_scores(f"{folder}/runs/../runs/a.csv", "./runs/bb.csv").sources] == [
        "a.csv",
        "runs/bb.csv",
    ]
    assert harmless_names(["a\x1b[31m.csv", "../../x/b.csv", "x/../c.csv"]) == ["a\\x1b[31m.csv", "x/b.csv", "c.csv"]


def test_a_list_of_items_is_a_source(folder):
    Path("items.csv").write_text("item,topic\n" + "".join(f"q{i},t{i % 2}\n" for i in range(6)))
    scores = read_scores("runs", items="items.csv", item_column=["topic"], identify=True)
    assert [each.name for each in scores.sources] == ["items.csv", "runs/a.csv", "runs/bb.csv"]
    assert scores.files == tuple(sorted(each.sha256 for each in scores.sources if each.name != "items.csv"))


def test_frames_and_what_is_not_asked_for_have_none(folder):
    assert read_scores(FRAME).sources is None
    assert read_scores("runs/a.csv", FRAME.filter(pl.col("model") == "bb")).sources is None
    assert read_scores("runs", provenance=False).sources is None
    identified = read_scores("runs", provenance=False, identify=True)
    assert (identified.sources, len(identified.files)) == (None, 2)


def test_the_same_scores_in_any_file_have_one_hash(folder):
    FRAME.sample(fraction=1.0, shuffle=True, seed=3).write_parquet("t.parquet")
    FRAME.reverse().write_ndjson("t.jsonl")
    FRAME.select("score", "replicate", "item", "model").write_csv("t.tsv", separator="\t")
    text = io.BytesIO()
    FRAME.write_csv(text)
    Path("t.csv.gz").write_bytes(gzip.compress(text.getvalue()))
    hashes = {scores_hash(read_scores(each)) for each in ("runs", "t.parquet", "t.jsonl", "t.tsv", "t.csv.gz", FRAME)}
    assert len(hashes) == 1
    Path("runs/a.csv").write_text(Path("runs/a.csv").read_text().replace("0.25", "0.5", 1))
    assert scores_hash(read_scores("runs")) not in hashes
