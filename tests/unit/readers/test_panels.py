"""Complete tables: order, blocks, scales, kinds of file, frames."""

import gzip
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from bbedge.readers import read_scores

LONG = (
    "model,item,replicate,score\n"
    "b,q10,2,1\na,q2,1,0\nb,q2,1,0.25\na,q10,1,1\na,q2,2,0\nb,q10,1,1\nb,q2,2,1\na,q10,2,0\n"
)
VALUES = [[[0, 1], [0.25, 1]], [[0, 0], [1, 1]]]


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check_long(scores):
    assert scores.models == ("a", "b")
    assert scores.items == ("q2", "q10")
    assert scores.blocks == ("q2", "q10")
    assert scores.replicates == ("1", "2")
    assert scores.values.tolist() == VALUES
    assert scores.values.dtype == np.float64
    assert scores.score_range == (0.0, 1.0)


def rows():
    header, *lines = LONG.splitlines()
    return [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]


def typed_rows():
    return [row | {"replicate": int(row["replicate"]), "score": float(row["score"])} for row in rows()]


def test_csv_is_sorted_naturally_whatever_the_order_of_the_rows(tmp_path):
    check_long(read_scores(write(tmp_path / "a.csv", LONG)))
    header, *lines = LONG.splitlines()
    check_long(read_scores(write(tmp_path / "b.csv", "\n".join([header, *reversed(lines)]))))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeff" + LONG, id="utf8-bom"),
        pytest.param(LONG.replace("\n", "\r\n"), id="crlf"),
        pytest.param(LONG.replace("\n", "\n\n"), id="blank-lines"),
        pytest.param(LONG.rstrip("\n"), id="no-last-line-end"),
        pytest.param("\n\n" + LONG + "\n\n", id="blank-ends"),
        pytest.param(LONG.replace("model", "MODEL").replace("item", " Item "), id="case-and-spaces-in-header"),
        pytest.param("".join(f"{line},\n" for line in LONG.splitlines()), id="column-without-values"),
        pytest.param("".join(f'"x ""y""\n,z",{line}\n' for line in LONG.splitlines()), id="quoted-line-ends"),
        pytest.param(LONG.replace(",1\n", ", 1 \n"), id="spaces-around-scores"),
    ],
)
def test_csv_spellings_that_are_accepted(tmp_path, text):
    check_long(read_scores(write(tmp_path / "a.csv", text)))


def test_all_kinds_of_file_give_the_same(tmp_path):
    frame = pl.DataFrame(typed_rows())
    frame.write_parquet(tmp_path / "a.parquet")
    jsonl = "\n".join(json.dumps(row) for row in typed_rows())
    paths = [
        write(tmp_path / "a.tsv", LONG.replace(",", "\t")),
        write(tmp_path / "a.csv.gz", gzip.compress(LONG.encode())),
        write(tmp_path / "a.jsonl", jsonl + "\n"),
        write(tmp_path / "a.NDJSON", jsonl.replace("\n", "\r\n\r\n")),
        write(tmp_path / "a.jsonl.gz", gzip.compress(jsonl.encode())),
        tmp_path / "a.parquet",
    ]
    for path in paths:
        check_long(read_scores(path))
        check_long(read_scores(str(path)))
    check_long(read_scores(frame))
    check_long(read_scores(frame.lazy()))
    check_long(read_scores(frame.with_columns(pl.col("model").cast(pl.Categorical), pl.col("replicate").cast(float))))


def test_parquet_path_is_one_file_and_not_a_pattern(tmp_path):
    folder = tmp_path / "score=1"
    folder.mkdir()
    pl.DataFrame(typed_rows()).write_parquet(folder / "a[1]*.parquet")
    check_long(read_scores(folder / "a[1]*.parquet"))


def test_several_sources_are_joined(tmp_path):
    header, *lines = LONG.splitlines()
    first = write(tmp_path / "a.csv", "\n".join([header, *lines[:3]]))
    second = pl.DataFrame(typed_rows()[3:])
    check_long(read_scores(first, second))


class Column:
    """As much of a pandas column as is used, so that the tests need no pandas."""

    def __init__(self, values):
        self.values = values

    def isna(self):
        return Column([value is None or value != value for value in self.values])

    def to_numpy(self):
        return np.array(self.values)

    def tolist(self):
        return list(self.values)


class PandasLike:
    iloc = None

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return Column(self._columns[name])


def test_pandas_like_frames_are_read_without_pandas(monkeypatch):
    # An import of it would fail, also where another test has loaded it.
    monkeypatch.setitem(sys.modules, "pandas", None)
    columns = {name: [row[name] for row in typed_rows()] for name in ("model", "item", "replicate", "score")}
    check_long(read_scores(PandasLike(columns)))


class ArrowLike:
    """A table that only offers the Arrow stream protocol, as pyarrow does."""

    def __init__(self, frame):
        self._frame = frame
        self.column_names = frame.columns
        self.columns = []

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


def test_arrow_tables_are_read():
    check_long(read_scores(ArrowLike(pl.DataFrame(typed_rows()))))


@pytest.mark.parametrize("name", ["run", "Trial", "EPOCH", "rep", "repeat", "seed", "replicate"])
def test_replicate_aliases(tmp_path, name):
    check_long(read_scores(write(tmp_path / "a.csv", LONG.replace("replicate", name))))


def test_aliases_and_chosen_columns(tmp_path):
    text = LONG.replace("model", "llm").replace("item", "question_id").replace("score", "is_correct")
    check_long(read_scores(write(tmp_path / "a.csv", text)))
    text = LONG.replace("model", "who").replace("item,", "what,")
    check_long(read_scores(write(tmp_path / "b.csv", text), column={"model": "who", "item": "what"}))
    # The canonical name wins over an alias.
    with_both = LONG.replace("score\n", "score,accuracy,task\n", 1).replace("1\n", "1,x,y\n")
    with_both = "\n".join(line if line.count(",") == 5 else line + ",x,y" for line in with_both.splitlines())
    check_long(read_scores(write(tmp_path / "c.csv", with_both)))


def test_without_a_replicate_column_there_is_one_replicate(tmp_path):
    scores = read_scores(write(tmp_path / "a.csv", "model,item,score\na,q1,1\nb,q1,0\n"))
    assert scores.replicates == ("1",)
    assert scores.values.tolist() == [[[1.0], [0.0]]]


BLOCKS = "model,item,group,topic,score\na,q1,g1,t,1\na,q2,g1,u,0\na,q3,g2,u,0\nb,q1,g1,t,1\nb,q2,g1,u,0\nb,q3,g2,u,0\n"


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (None, ("g1", "g1", "g2")),
        ("item", ("q1", "q2", "q3")),
        ("one", ("one", "one", "one")),
        ("topic", ("t", "u", "u")),
    ],
)
def test_blocks(tmp_path, blocks, expected):
    assert read_scores(write(tmp_path / "a.csv", BLOCKS), blocks=blocks).blocks == expected


def test_blocks_by_column_option(tmp_path):
    assert read_scores(write(tmp_path / "a.csv", BLOCKS), column={"block": "topic"}).blocks == ("t", "u", "u")


def test_score_range_maps_the_ends_exactly(tmp_path):
    path = write(tmp_path / "a.csv", "model,item,score\na,q1,-0.3\na,q2,0.9\nb,q1,0.3\nb,q2,-0.3\n")
    scores = read_scores(path, score_range=(-0.3, 0.9))
    assert scores.values[0, 0].tolist() == [0.0, 1.0]
    assert scores.values[0, 1, 0] == pytest.approx(0.5)
    assert scores.score_range == (-0.3, 0.9)


def test_truth_values(tmp_path):
    csv = write(tmp_path / "a.csv", "model,item,correct\na,q1,True\na,q2,FALSE\nb,q1,true\nb,q2,false\n")
    lines = [{"model": m, "item": i, "correct": i == "q1"} for m in "ab" for i in ("q1", "q2")]
    jsonl = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    for source in (csv, jsonl, pl.DataFrame(lines), PandasLike(pl.DataFrame(lines).to_dict(as_series=False))):
        assert read_scores(source).values.tolist() == [[[1.0, 0.0], [1.0, 0.0]]]


def test_number_names_are_text_and_the_same_in_every_format(tmp_path):
    lines = [{"model": m, "item": i, "score": 1} for m in "ab" for i in (10, 9)]
    jsonl = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    floats = pl.DataFrame(lines).with_columns(pl.col("item").cast(pl.Float64))
    for source in (jsonl, pl.DataFrame(lines), floats):
        assert read_scores(source).items == ("9", "10")


def test_replicates_are_sorted_as_numbers_or_naturally(tmp_path):
    for labels, expected in (
        (["10", "9", "11"], ("9", "10", "11")),
        (["r10", "r9"], ("r9", "r10")),
        (["-1", "1", "0"], ("-1", "0", "1")),
    ):
        text = "model,item,run,score\n" + "".join(f"{m},q,{label},1\n" for label in labels for m in "ab")
        assert read_scores(write(tmp_path / "a.csv", text)).replicates == expected


def test_seeds_need_not_be_consecutive(tmp_path):
    text = "model,item,seed,score\n" + "".join(f"{m},q,{seed},1\n" for seed in (1234, 42) for m in "ab")
    assert read_scores(write(tmp_path / "a.csv", text)).replicates == ("42", "1234")
    text = text.replace("seed", "run")
    assert read_scores(write(tmp_path / "b.csv", text.replace("run", "my_seed")), column={"replicate": "my_seed"})


def test_progress_names_the_file(tmp_path):
    told = []
    read_scores(write(tmp_path / "a.csv", LONG), progress=told.append)
    assert told[:2] == [f"looking at {tmp_path / 'a.csv'}", f"reading {tmp_path / 'a.csv'}"]


def test_importing_the_package_does_not_import_polars():
    code = "import sys, bbedge.readers; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scores_know_whether_the_files_name_the_blocks(tmp_path):
    plain, blocked = tmp_path / "plain.csv", tmp_path / "blocked.csv"
    plain.write_text("model,item,score\na,q1,1\na,q2,0\nb,q1,0\nb,q2,1\n")
    blocked.write_text("model,item,group,score\na,q1,g,1\na,q2,g,0\nb,q1,g,0\nb,q2,g,1\n")
    assert not read_scores(plain).blocked
    assert read_scores(blocked).blocked
    assert read_scores(blocked).blocks == ("g", "g")
    assert not read_scores(blocked, blocks="item").blocked
    assert not read_scores(blocked, blocks="one").blocked
    assert read_scores(plain, blocks="item").blocks == ("q1", "q2")
