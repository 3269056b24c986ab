"""A table on standard input: recognised by its content, read once, bounded, and named in messages."""

import gzip
import io
import sys

import numpy as np
import polars as pl
import pytest

from bbedge.errors import FormatError
from bbedge.readers import LimitError, read_scores
from bbedge.readers.convert import METADATA_KEY, convert
from bbedge.readers.limits import Limits, limited
from bbedge.readers.survey import survey
from log_makers import LOGS

GOOD = "model,item,score\na,q1,1\na,q2,0\nb,q1,0\nb,q2,1\n"
FRAME = pl.read_csv(io.StringIO(GOOD), schema_overrides={"score": pl.Float64})


def read_limited(limits, *sources, **options):
    with limited(limits):
        return read_scores(*sources, **options)


def parquet():
    file = io.BytesIO()
    FRAME.write_parquet(file)
    return file.getvalue()


TABLES = {
    "csv": GOOD.encode(),
    "csv with a mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "csv.gz": gzip.compress(GOOD.encode()),
    "tsv": GOOD.replace(",", "\t").encode(),
    "jsonl": FRAME.write_ndjson().encode(),
    "jsonl.gz": gzip.compress(FRAME.write_ndjson().encode()),
    "parquet": parquet(),
}


@pytest.fixture
def piped(monkeypatch):
    def pipe(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return pipe


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("given", ["-", "/dev/stdin"])
def test_a_table_of_any_kind(piped, kind, given):
    piped(TABLES[kind])
    scores = read_scores(given)
    expected = read_scores(FRAME)
    assert (scores.models, scores.items) == (expected.models, expected.items)
    assert np.array_equal(scores.values, expected.values)


def test_a_wide_table(piped):
    piped(b"model,q1,q2\na,1,0\nb,0,1\n")
    assert read_scores("-", format="wide").items == ("q1", "q2")


def test_it_joins_other_files(piped, tmp_path):
    (tmp_path / "b.csv").write_text("model,item,score\nc,q1,1\nc,q2,0\n")
    piped(GOOD.encode())
    assert read_scores("-", tmp_path / "b.csv").models == ("a", "b", "c")


def test_messages_name_it(piped):
    for kind in ("csv", "jsonl", "parquet"):
        piped(TABLES[kind])
        with pytest.raises(FormatError, match=r"^standard input: no column 'x'"):
            read_scores("-", column={"item": "x"})
    piped(GOOD.replace("b,q1,0", "b,q1,7").encode())
    with pytest.raises(FormatError.__base__, match=r"^standard input:4: score 7"):
        read_scores("-")
    piped(GOOD.encode("utf-16"))
    with pytest.raises(FormatError, match=r"^standard input: the text is UTF-16"):
        read_scores("-")


def test_what_is_no_table_is_refused(piped):
    for content, problem in (
        (b"", "empty"),
        (b"PK\x03\x04", "an archive"),
        (b"\x1f\x8b\x08", "not a complete gzip file"),
        (next((LOGS / "lm_eval").rglob("samples_*.jsonl")).read_bytes(), "a log of lm-evaluation-harness"),
    ):
        piped(content)
        with pytest.raises(FormatError, match=f"^standard input: {problem}"):
            read_scores("-")
    piped(GOOD.encode())
    with pytest.raises(FormatError, match="takes a table"):
        read_scores("-", format="lm-eval")


def test_it_is_bounded(piped):
    class Endless(io.RawIOBase):
        left = 100

        def readable(self):
            return True

        def readinto(self, buffer):
            self.left -= 1
            assert self.left, "read on and on"
            buffer[:] = b"a" * len(buffer)
            return len(buffer)

    stream = io.BufferedReader(Endless(), buffer_size=1 << 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        with pytest.raises(LimitError, match=r"standard input: more than 4 MiB; write it to a file, .*max_size=SIZE"):
            read_limited(Limits(piped_bytes=4 << 20), "-")


def test_a_closed_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match="standard input: closed"):
        read_scores("-")


def test_surveys_and_conversions_take_it(piped, tmp_path):
    piped(TABLES["jsonl"])
    found = survey(["-"])
    assert found.scores is not None
    assert found.files[0].path == "standard input"
    piped(TABLES["csv"])
    assert convert(["-"], tmp_path / "out.parquet").rows == 4
    assert '"path": "standard input"' in pl.read_parquet_metadata(tmp_path / "out.parquet")[METADATA_KEY]
