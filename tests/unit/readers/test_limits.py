"""What small inputs may turn into: every limit, what stays below it, and the way to raise it."""

import gzip
import json
import zipfile

import numpy as np
import polars as pl
import pytest

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.readers import LimitError, read_scores
from bbedge.readers.json_files import Archive
from bbedge.readers.limits import Limits, limited
from bbedge.readers.opening import _Unpacked, lines
from bbedge.readers.tables import PlainTable
from bbedge.readers.tables.frames import check_expansion
from bbedge.readers.tables.roles import find_roles
from bbedge.readers.tables.shaped import ShapedTable, as_wide
from log_makers import inspect_log

GOOD = "model,item,score\na,q1,1\na,q2,0\nb,q1,0\nb,q2,1\n"
ROWS = [dict(zip(("model", "item", "score"), (m, q, s), strict=True)) for m, q, s in (("a", "q", 1), ("b", "q", 0))]
MEBI = 1 << 20


class Endless:
    """What a gzip file unpacks to that never ends; a reader that goes on and on is stopped."""

    def __init__(self, unit, most):
        self.unit, self.left = unit, most

    def read(self, size):
        self.left -= size
        assert self.left > 0, "read on and on"
        return self.unit * (size // len(self.unit))

    def close(self):
        pass


def read_limited(limits, *sources, **options):
    with limited(limits):
        return read_scores(*sources, **options)


@pytest.fixture
def endless(tmp_path, monkeypatch):
    def make(name, unit, *, most):
        path = tmp_path / name
        with gzip.open(path, "wb") as file:
            file.write(unit * 1000)
        monkeypatch.setattr("bbedge.readers.opening.gzip.open", lambda *_: Endless(unit, most))
        return path

    return make


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.jsonl.gz"])
def test_a_line_without_end_is_refused_after_64_mib(endless, name):
    path = endless(name, b"a", most=150 * MEBI)
    with pytest.raises(LimitError, match=r"gz:1: a line does not end for 64 MiB; .*max_size=SIZE"):
        read_scores(path)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
@pytest.mark.parametrize("unit", [b"\n", b"\r\n"])
def test_blank_lines_without_end_are_refused(endless, name, unit):
    path = endless(name, unit, most=150 * MEBI)
    with pytest.raises(LimitError, match=r"unpack to more than 64 MiB, over 200 times as much; .*max_size=SIZE"):
        read_limited(Limits(unpacked_bytes=64 * MEBI), path)


def test_rows_without_end_are_refused(endless):
    path = endless("a.jsonl.gz", b'{"model": "a", "item": "q", "score": 1}\n', most=100 * MEBI)
    with pytest.raises(LimitError, match="unpack to more than 32 MiB"):
        read_limited(Limits(unpacked_bytes=32 * MEBI), path)


ROW = b'{"model": "a", "item": "q", "score": 1}'


@pytest.mark.parametrize(
    ("name", "head", "unit"),
    [
        ("a.csv.gz", b"model,item,score\n", b"a,q,1\n"),
        ("a.tsv.gz", b"model\titem\tscore\n", b"a\tq\t1\n"),
        ("a.jsonl.gz", b"", ROW + b"\n"),
        ("a.json.gz", b"[" + ROW, b"," + ROW),
        ("b.json.gz", b'{"results": [' + ROW, b"," + ROW),
    ],
)
def test_what_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path, monkeypatch, name, head, unit):
    path, seen = tmp_path / name, []
    path.write_bytes(gzip.compress(head + unit * (24 * MEBI // len(unit))))
    monkeypatch.setattr("bbedge.readers.opening.PIECE", MEBI)
    kept = _Unpacked.read
    monkeypatch.setattr(_Unpacked, "read", lambda self, size: seen.append(kept(self, size)) or seen[-1])
    with pytest.raises(LimitError, match=r"gz: .* bytes that unpack to more than 16 MiB"):
        read_limited(Limits(unpacked_bytes=16 * MEBI), path)
    # The beginning is read several times: to recognise the file, for its columns, for its rows.
    assert sum(map(len, seen)) < 14 * MEBI


def test_blank_lines_are_passed_over_in_bulk(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    content = b"\n \n\r\n" + b"one\n" + b"\n" * 100_000 + b"  two\r\n" + b" \t\n" * 100 + b"\x0cthree"
    path.write_bytes(content)
    expected = [(n, line) for n, line in enumerate(content.splitlines(keepends=True), start=1) if line.strip()]
    expected[-1] = (expected[-2][0] + 101, b"\x0cthree")
    for piece in (1 << 20, 7, 1):
        monkeypatch.setattr("bbedge.readers.opening.PIECE", piece)
        assert list(lines(str(path))) == expected


@pytest.mark.parametrize("piece", [64, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_blank_lines_change_neither_scores_nor_places(tmp_path, monkeypatch, piece, end, quote):
    monkeypatch.setattr("bbedge.readers.opening.PIECE", piece)
    path = tmp_path / "a.csv"
    head, *rows = GOOD.replace("q2", f"{quote}q2{quote}").splitlines()
    blank = end * 1500
    path.write_bytes((blank + head + end + blank + (end + blank).join(rows) + blank).encode())
    (tmp_path / "plain.csv").write_text(GOOD)
    assert np.array_equal(read_scores(path).values, read_scores(tmp_path / "plain.csv").values)
    path.write_bytes(path.read_bytes().replace(b"b,q1,0", b"b,q1,7"))
    with pytest.raises(DataError, match=rf"a\.csv:{1500 + 1 + 1500 + 2 * 1501 + 1}: score 7"):
        read_scores(path)


def test_what_a_file_packs_well_is_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(GOOD + "\n" * 10_000_000)
    assert path.stat().st_size * 200 < 10_000_000
    assert read_scores(path).models == ("a", "b")


def test_a_large_file_that_is_not_packed_has_no_limit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(GOOD + "".join(f"{m},p{i},1\n" for m in "ab" for i in range(2000)))
    assert len(read_limited(Limits(unpacked_bytes=1), path).items) == 2002


def test_limits_are_raised_together():
    raised = Limits.up_to(8 << 30)
    assert raised.line_bytes == raised.name_bytes == raised.unpacked_bytes == 8 << 30
    assert (raised.piped_bytes, raised.pair_bytes) == (Limits().piped_bytes, Limits().pair_bytes)
    with pytest.raises(DomainError, match="at least 1 byte"):
        Limits.up_to(0)


def test_a_long_line_is_read_when_the_limit_is_raised(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row | {"prompt": "x" * 5000}) + "\n" for row in ROWS))
    low = Limits(line_bytes=1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbedge.readers.opening.PIECE", 500)
        with pytest.raises(LimitError, match=r"a\.jsonl:1: a line does not end for 1000 bytes"):
            read_limited(low, path)
        assert read_limited(Limits.up_to(10_000), path).models == ("a", "b")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_very_long_name_is_refused(tmp_path, name):
    path = tmp_path / name
    frame = pl.DataFrame(ROWS).with_columns(pl.col("model").replace("b", "b" * 2000))
    getattr(frame, {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[path.suffix[1:]])(path)
    assert len(read_scores(path).models) == 2
    with pytest.raises(LimitError, match=rf"{name}:.* the name of the model is longer than 1000 bytes"):
        read_limited(Limits(name_bytes=1000), path)


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_a_parquet_file_that_unpacks_to_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    names = [f"{'a' * 50_000}{number}" for number in range(200)]
    pl.DataFrame({"model": names, "item": ["q"] * 200, "score": [1.0] * 200, "other": names}).write_parquet(path)
    assert path.stat().st_size < 50_000
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(LimitError, match=r"bytes that unpack to more than 1 MiB, over 200 times as much"):
        read_limited(Limits(unpacked_bytes=MEBI), path)


def test_a_column_that_is_not_read_does_not_count(tmp_path):
    path = tmp_path / "a.parquet"
    other = [f"{'a' * 500_000}{number}" for number in range(4)]
    rows = {"model": ["a", "a", "b", "b"], "item": ["q", "p"] * 2, "score": [1.0] * 4, "other": other}
    pl.DataFrame(rows).write_parquet(path)
    assert read_limited(Limits(unpacked_bytes=MEBI), path).items == ("p", "q")


def test_a_parquet_file_with_very_many_rows_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    rows = 2_000_000
    one = pl.Series(["a"]).new_from_index(0, rows)
    pl.DataFrame({"model": one, "item": one, "score": np.ones(rows)}).write_parquet(path, row_group_size=rows)
    with pytest.raises(LimitError, match="unpack to more than 1 MiB"):
        read_limited(Limits(unpacked_bytes=MEBI), path)


@pytest.mark.parametrize("compression", ["zstd", "uncompressed", "snappy"])
def test_the_footer_says_what_a_column_unpacks_to(tmp_path, compression):
    path = tmp_path / "a.parquet"
    numbers = np.random.default_rng(1).random(10_000)
    pl.DataFrame({"a": numbers, "b": numbers, "c": [["x"]] * 10_000}).write_parquet(path, compression=compression)
    seen = []

    class Watching(Limits):
        def check_unpacked(self, unpacked, *, packed, name):
            seen.append((unpacked, packed, name))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbedge.readers.tables.frames.limits_in_force", Watching)
        check_expansion(str(path), "a", {"a"})
        check_expansion(str(path), "a", {"a", "b"})
    (one, packed, _), (two, _, _) = seen
    assert packed == path.stat().st_size
    assert 80_000 <= one <= 82_000
    assert two == 2 * one


# --- archives --------------------------------------------------------------------------------------------------------


def test_a_member_of_spaces_is_refused(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", "{}")
    spaces = tmp_path / "b.eval"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(spaces, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, b" " * (32 * MEBI if name == "summaries.json" else 0) + old.read(name))
    with pytest.raises(LimitError, match=r"b\.eval: .* bytes that unpack to more than 16 MiB"):
        read_limited(Limits(unpacked_bytes=16 * MEBI), spaces, least_models=1)
    assert len(read_scores(spaces, least_models=1).items) == 2


def test_samples_that_unpack_to_too_much_together_are_refused_before_the_first(tmp_path, monkeypatch):
    with zipfile.ZipFile(inspect_log(tmp_path / "a.eval")) as old:
        members = {name: old.read(name) for name in old.namelist() if name != "summaries.json"}
    path = tmp_path / "b.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in members.items():
            new.writestr(name, content)
        for number in range(32):
            new.writestr(f"samples/{number}_epoch_1.json", b" " * MEBI + b"{}")
    opened, kept = [], Archive.member
    monkeypatch.setattr(Archive, "member", lambda self, name: opened.append(name) or kept(self, name))
    with pytest.raises(LimitError, match=r"b\.eval: .* bytes that unpack to more than 16 MiB"):
        read_limited(Limits(unpacked_bytes=16 * MEBI), path, least_models=1)
    assert not [name for name in opened if name.startswith("samples/")]


# --- very many columns -----------------------------------------------------------------------------------------------


class Names(tuple):
    """Names of columns that may be gone through, but not once for every one of them."""

    def count(self, _):
        raise AssertionError("counted one by one")

    def index(self, *_):
        raise AssertionError("searched one by one")


class Wide(PlainTable):
    def columns(self):
        return Names(["model", *(f"q{number}" for number in range(1000))])


def test_columns_are_gone_through_a_fixed_number_of_times():
    assert find_roles(Names(["model", "item", "score", "x"]), table="t", chosen={})["item"] == "item"
    assert len(as_wide(ShapedTable(plain=Wide(called="wide")), chosen={}, asked=False).scored) == 1000
    with pytest.raises(FormatError, match="'x' appears more than once"):
        find_roles(Names(["model", "item", "score", "x", "x"]), table="t", chosen={})


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_table_with_very_many_columns(tmp_path, name):
    path = tmp_path / name
    frame = pl.DataFrame({"model": ["a", "b"], **{f"q{number}": [1.0, 0.0] for number in range(3000)}})
    getattr(frame, {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[path.suffix[1:]])(path)
    scores = read_scores(path)
    assert scores.values.shape == (1, 2, 3000)
    assert scores.values[0].sum(axis=1).tolist() == [3000.0, 0.0]
