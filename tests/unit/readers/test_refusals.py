"""Bad input: every message names the file and the place, what was expected and what to do."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.limits import Limits, limited

GOOD = "model,item,score\na,q1,1\na,q2,0\nb,q1,0\nb,q2,1\n"


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(*sources, error=DataError, **options):
    with pytest.raises(error) as caught:
        read_scores(*sources, **options)
    assert isinstance(caught.value, DataError)
    return str(caught.value)


def csv_refusal(tmp_path, text, *, error=DataError, **options):
    return refusal(write(tmp_path / "a.csv", text), error=error, **options).replace(str(tmp_path), "DIR")


def says(message, *parts):
    for part in parts:
        assert part in message, message


# --- columns ---------------------------------------------------------------------------------------------------------


def test_missing_column(tmp_path):
    message = csv_refusal(tmp_path, "model,thing,score\na,q,1\n", error=FormatError)
    says(message, "DIR/a.csv: no column for the item", "'model', 'thing', 'score'", "item_id", "column={'item': NAME}")


def test_wrong_separator_is_recognised(tmp_path):
    says(csv_refusal(tmp_path, "model|item|score\na|q|1\n"), "no column for the model", "a bar")


def test_two_aliases(tmp_path):
    message = csv_refusal(tmp_path, "model,task,prompt,score\na,q,p,1\n", error=FormatError)
    says(message, "'task', 'prompt' could each be the item", "column={'item': NAME}")


def test_chosen_column_that_does_not_exist(tmp_path):
    message = csv_refusal(tmp_path, GOOD, column={"item": "nope"})
    says(message, "DIR/a.csv: no column 'nope' for the item", "'model', 'item', 'score'", "column={'item': 'nope'}")


def test_block_column_that_does_not_exist(tmp_path):
    message = csv_refusal(tmp_path, GOOD, blocks="topic")
    says(message, "DIR/a.csv: no column 'topic' for the block", "blocks='topic'")


def test_duplicate_column_names(tmp_path):
    message = csv_refusal(tmp_path, "model,item,score,score\na,q,1,0\n", error=FormatError)
    says(message, "column 'score' appears more than once", "rename or remove")
    path = write(tmp_path / "a.jsonl", '{"model": "a", "item": "q", "score": 1, "score": 0}\n')
    says(refusal(path), f"{path}:1: key 'score' appears more than once")


def test_column_in_one_file_only(tmp_path):
    first = write(tmp_path / "a.csv", GOOD.replace("item", "item,run").replace(",q1", ",q1,1").replace(",q2", ",q2,1"))
    second = write(tmp_path / "b.csv", GOOD)
    says(
        refusal(first, second, error=FormatError),
        f"{second}: no replicate column, but {first} has one",
        "column={'replicate': NAME}",
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"column": {"itme": "x"}}, "column 'itme=x' is not ROLE=NAME with ROLE one of model, item"),
        ({"column": {"item": "x", "model": "x"}}, "both item and model"),
        ({"column": {"block": "x"}, "blocks": "y"}, "not both"),
        ({"score_range": (1, 0)}, "score range 1 to 0"),
        ({"score_range": (0, float("inf"))}, "finite"),
        ({"score_range": (float("nan"), 1)}, "finite"),
        ({"incomplete": "mean"}, "drop-models, drop-items, drop-replicates"),
    ],
)
def test_bad_options(tmp_path, options, part):
    with pytest.raises(DomainError, match=part):
        read_scores(write(tmp_path / "a.csv", GOOD), **options)


def test_no_source():
    with pytest.raises(DomainError, match="no table"):
        read_scores()


# --- files -----------------------------------------------------------------------------------------------------------


def test_missing_file(tmp_path):
    says(refusal(tmp_path / "no\x1b[31m.csv", error=FormatError), r"no\x1b[31m.csv: no such file", "check the path")


def test_directory(tmp_path):
    says(refusal(tmp_path, error=FormatError), f"{tmp_path}: no files there", "name hidden files")


def test_permission_denied(tmp_path, monkeypatch):
    path = write(tmp_path / "a.csv", GOOD)

    def denied(self, *arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    says(refusal(path, error=FormatError), f"{path}: permission denied", "readable")


def test_path_with_nul():
    says(refusal("a\0.csv", error=FormatError), r"a\x00.csv", "NUL")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz"])
def test_empty_file(tmp_path, name):
    says(refusal(write(tmp_path / name, ""), error=FormatError), f"{name}: the file is empty (0 bytes)")


def test_unknown_suffix(tmp_path):
    says(refusal(write(tmp_path / "a.doc", "x"), error=FormatError), "a.doc", ".csv, .tsv", ".parquet", "convert")


@pytest.mark.parametrize("name", ["a.xls", "a.ods"])
def test_a_spreadsheet_is_refused_with_the_remedy(tmp_path, name):
    says(refusal(write(tmp_path / name, "PK"), error=FormatError), f"{name}: a spreadsheet", "save the sheet as CSV")


def test_not_a_table():
    says(refusal(3, error=FormatError), "source 1: a 'int' is not a table", "pass a path")


@pytest.mark.parametrize("text", ["model,item,score\n", "model,item,score", "model,item,score\n\n\n"])
def test_header_only(tmp_path, text):
    says(csv_refusal(tmp_path, text, error=FormatError), "DIR/a.csv: a header but no rows")


def test_blank_files(tmp_path):
    says(csv_refusal(tmp_path, "\n\n", error=FormatError), "DIR/a.csv: only blank lines")
    says(refusal(write(tmp_path / "a.jsonl", "\n\n"), error=FormatError), "a.jsonl: no rows")


def test_frame_without_rows():
    frame = pl.DataFrame({"model": [], "item": [], "score": []})
    says(refusal(frame, error=FormatError), "frame: a header but no rows")


def test_one_model(tmp_path):
    says(csv_refusal(tmp_path, "model,item,score\na,q,1\n"), "DIR/a.csv: only one model, 'a'", "add the scores")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_utf16(tmp_path, encoding, name):
    text = ("\ufeff" if encoding == "utf-16-be" else "") + GOOD
    says(refusal(write(tmp_path / name, text.encode(encoding)), error=FormatError), name, "UTF-16", "save it as UTF-8")


def test_not_utf8(tmp_path):
    message = csv_refusal(tmp_path, b"model,item,score\na,q1,1\n\xe9,q1,1\n", error=FormatError)
    says(message, "DIR/a.csv:3: byte 0xe9 is not valid UTF-8", "save the file as UTF-8")
    path = write(tmp_path / "a.jsonl", b'{"model": "a", "item": "q", "score": 1}\n{"model": "\xe9"}\n')
    says(refusal(path, error=FormatError), f"{path}:2: byte 0xe9")


@pytest.mark.parametrize("row", ["b,q1", "b,q1,0,9", "b"])
@pytest.mark.parametrize("before", ["", '"x\n\ny",q1,1\n'])
def test_ragged_rows(tmp_path, row, before):
    message = csv_refusal(tmp_path, f"model,item,score\n{before}a,q1,1\n{row}\na,q2,1\n", error=FormatError)
    line = 3 + before.count("\n")
    says(message, f"DIR/a.csv:{line}: {row.count(',') + 1} fields where the header has 3", "double quotes")


def test_short_and_long_rows_that_cancel(tmp_path):
    message = csv_refusal(tmp_path, "model,item,score\na,q1\nb,q1,0,9\n", error=FormatError)
    says(message, "DIR/a.csv:2: 2 fields")


@pytest.mark.parametrize("row", ['"b,q1,1', '"b"x,q1,1'])
def test_broken_quotes(tmp_path, row):
    message = csv_refusal(tmp_path, f"model,item,score\na,q1,1\n{row}\nc,q1,1\n", error=FormatError)
    says(message, "DIR/a.csv:3: the record that begins here cannot be read", "write a quote inside a field twice")


def test_quote_that_never_ends_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr("bbedge.readers.opening.PIECE", 1000)
    text = GOOD + '"c,q1,1\n' + "c,q2,1\n" * 5000
    with limited(Limits(line_bytes=5000)):
        message = csv_refusal(tmp_path, text, error=FormatError)
    says(
        message,
        "DIR/a.csv:6: from here on a quoted field does not end",
        "close the quote",
        "max_size=SIZE",
    )


def test_lone_carriage_returns(tmp_path):
    message = csv_refusal(tmp_path, GOOD.replace("\n", "\r"), error=FormatError)
    says(message, "DIR/a.csv:1", "line")


def test_broken_gzip(tmp_path):
    path = write(tmp_path / "a.csv.gz", gzip.compress(GOOD.encode() * 100)[:-20])
    says(refusal(path, error=FormatError), f"{path}: not a complete gzip file", "write it again")
    path = write(tmp_path / "b.csv.gz", GOOD)
    says(refusal(path, error=FormatError), f"{path}: not a complete gzip file")


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"model": "a", "item": "q2", "sc', "not valid JSON"),
        ("[1, 2]", "a JSON list"),
        ("3", "a JSON int"),
        ('{"model": "a"} {"model": "b"}', "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_json_line(tmp_path, line, part):
    good = '{"model": "a", "item": "q1", "score": 1}\n'
    for before in (1, 1500):
        path = write(tmp_path / "a.jsonl", good + "\n" * before + line + "\n" + good)
        says(refusal(path, error=FormatError), f"{path}:{before + 2}: ", part, "object per line")


def test_broken_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"model": ["a"] * 1000, "item": ["q"] * 1000, "score": [0.5] * 1000}).write_parquet(path)
    whole = path.read_bytes()
    for broken in (b"PAR1nonsensePAR1", whole[:-30], whole[:100], b"model,item,score\n", b"\0" * 50):
        says(refusal(write(path, broken), error=FormatError), f"{path}: not a readable Parquet file", "write it again")


# --- scores ----------------------------------------------------------------------------------------------------------


def test_score_outside_the_range_names_line_and_scale(tmp_path):
    lines = [json.dumps({"model": m, "item": "q", "score": s}) for m, s in (("a", 1), ("b", 3.0))]
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    expected = f"{path}:2: score 3.0 is outside [0, 1]; pass score_range=(0, 10) if the metric is on that scale"
    assert refusal(path) == expected


@pytest.mark.parametrize(
    ("score", "parts"),
    [
        ("1.5", ["score 1.5 is outside [0, 1]", "score_range=(0, 10)"]),
        ("55", ["score 55.0 is outside [0, 1]", "score_range=(0, 100)"]),
        ("-1", ["score -1.0 is outside [0, 1]", "score_range=(LOW, HIGH)"]),
        ("nan", ["score NaN is not a number", "leave the score empty"]),
        ("inf", ["score inf is infinite", "[0, 1]"]),
        ("1e999", ["score inf is infinite"]),
        ("oops", ["score 'oops' is text", "expected a number"]),
        ("N/A", ["score 'N/A' is text", "leave the score empty"]),
        ('"1,5"', ["score '1,5' is text"]),
        ("true", ["'true' in a score column that held numbers before"]),
    ],
)
def test_bad_score_in_csv(tmp_path, score, parts):
    # The quoted line ends make the line differ from the row.
    message = csv_refusal(tmp_path, f'model,item,score\na,"q\n\n1",1\n\nb,q,{score}\n')
    says(message, "DIR/a.csv:6: ", *parts)


@pytest.mark.parametrize(
    ("score", "parts"),
    [
        ("NaN", ["score NaN is not a number"]),
        ("-Infinity", ["score -inf is infinite"]),
        ("1e999", ["score inf is infinite"]),
        ("1" + "0" * 400, ["score inf is infinite"]),
        ('"0.5"', ["score '0.5' is text"]),
        ("[1]", ["the score is a list: '[1]'", "expected one number"]),
        ('{"value": 1}', ["the score is a dict"]),
        ("true", ["'true' in a score column that held numbers before"]),
    ],
)
def test_bad_score_in_jsonl(tmp_path, score, parts):
    path = write(
        tmp_path / "a.jsonl",
        '{"model": "a", "item": "q", "score": 1}\n\n{"model": "b", "item": "q", "score": ' + score + "}\n",
    )
    says(refusal(path), f"{path}:3: ", *parts)


def test_number_in_a_column_of_truth_values(tmp_path, monkeypatch):
    message = csv_refusal(tmp_path, "model,item,score\na,q,true\nb,q,1\n")
    says(message, "DIR/a.csv:3: '1' in a score column that held true and false before", "whole column")
    # The same where the two kinds fall into different pieces of the file.
    monkeypatch.setattr("bbedge.readers.opening.PIECE", 30)
    text = "model,item,score\n" + "".join(f"a,q{i},true\n" for i in range(20)) + "b" * 80 + ",q1,1\n"
    says(csv_refusal(tmp_path, text), "DIR/a.csv:22: '1.0' in a score column that held true and false before")


def test_truth_values_with_a_scale(tmp_path):
    message = csv_refusal(tmp_path, "model,item,score\na,q,true\nb,q,false\n", score_range=(0, 10))
    says(message, "DIR/a.csv:2: score true", "0 to 10", "leave score_range out")


@pytest.mark.parametrize(
    ("scores", "part"),
    [
        ([1.0, float("nan")], "row 2: score NaN"),
        ([1.0, 7.0], "row 2: score 7.0 is outside [0, 1]; pass score_range=(0, 10)"),
        ([None, "x"], "row 2: score 'x' is text"),
        ([[1.0], [2.0]], "row 1: the score is of type List"),
    ],
)
def test_bad_score_in_parquet_and_frames(tmp_path, scores, part):
    frame = pl.DataFrame({"model": ["a", "b"], "item": ["q", "q"], "score": scores})
    frame.write_parquet(tmp_path / "a.parquet")
    says(refusal(frame), f"frame: {part}")
    says(refusal(tmp_path / "a.parquet"), f"{tmp_path / 'a.parquet'}: {part}")


@pytest.mark.parametrize("name", ['[1, "x"]', '{"a": 1}', r'"\ud800"', r'"\udc00x"'])
def test_names_that_are_not_text(tmp_path, name):
    text = '{"model": "a", "item": "q", "score": 1}\n{"model": ' + name + ', "item": "q", "score": 1}\n'
    path = write(tmp_path / "a.jsonl", text)
    says(refusal(path), f"{path}:2: the model ")


def test_names_that_only_look_nested_are_kept(tmp_path):
    lines = [{"model": model, "item": "q", "score": 1} for model in ("[1]", "{}", "a\0")]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    assert read_scores(path).models == ("[1]", "a\0", "{}")


# --- names, duplicates, blocks, replicates ---------------------------------------------------------------------------

FULL = {"model": "a", "item": "q1", "replicate": "1", "block": "x", "score": "1"}


@pytest.mark.parametrize("role", ["model", "item", "replicate", "block"])
@pytest.mark.parametrize("empty", ["", " ", '""'])
def test_empty_name(tmp_path, role, empty):
    rows = [FULL, FULL | {"model": "b"}, FULL | {"model": "c", role: empty}]
    text = "\n".join([",".join(FULL), *(",".join(row.values()) for row in rows)])
    says(csv_refusal(tmp_path, text), f"DIR/a.csv:4: no {role} in this row", "fill it in")


@pytest.mark.parametrize("role", ["model", "item"])
def test_absent_key_in_jsonl(tmp_path, role):
    row = {"model": "a", "item": "q", "score": 1}
    bad = {key: value for key, value in row.items() if key != role}
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [row, bad])))
    says(refusal(path), f"{path}:2: no {role} in this row")


def test_duplicate_names_both_places(tmp_path):
    message = csv_refusal(tmp_path, GOOD + '\n"b","q2",0\n')
    says(message, "DIR/a.csv:7: a second score for model 'b', item 'q2', replicate '1'", "first given at DIR/a.csv:5")
    says(message, "remove one", "different numbers")


def test_duplicate_across_files_and_with_an_empty_score(tmp_path):
    first = write(tmp_path / "a.csv", GOOD)
    second = write(tmp_path / "b.jsonl", '\n{"model": "a", "item": "q2", "score": null}')
    says(refusal(first, second), f"{second}:2: a second score for model 'a', item 'q2'", f"first given at {first}:3")


def test_duplicate_in_a_sparse_table(tmp_path):
    rows = [f"m{i},q{i},1\n" for i in range(3000)]
    says(csv_refusal(tmp_path, "model,item,score\n" + "".join(rows) + rows[7]), "DIR/a.csv:3002:", "DIR/a.csv:9 ")


def test_item_in_two_blocks(tmp_path):
    text = "model,item,block,score\na,q1,x,1\na,q2,y,1\nb,q1,x,1\nb,q2,x,1\n"
    message = csv_refusal(tmp_path, text)
    says(message, "DIR/a.csv:5: item 'q2' is in block 'x' here and in block 'y' before", "blocks='item'")
    assert read_scores(write(tmp_path / "a.csv", text), blocks="one").blocks == ("one", "one")


def replicated(labels, column="run"):
    return f"model,item,{column},score\n" + "".join(f"{m},q,{label},1\n" for label in labels for m in "ab")


def test_skipped_replicate(tmp_path):
    message = csv_refusal(tmp_path, replicated([1, 2, 4, 7]))
    says(message, "DIR/a.csv: the replicates run from 1 to 7 but 3, 5, 6 are missing", "breaks the guarantee")
    says(message, "add it", "renumber", "name the column seed")


def test_many_skipped_replicates(tmp_path):
    says(csv_refusal(tmp_path, replicated([1, 10**15])), "2, 3, 4, 5, 6 and 999999999999993 more are missing")


def test_a_replicate_number_written_in_two_ways(tmp_path):
    says(csv_refusal(tmp_path, replicated(["1", "01"])), "replicates '01' and '1' are one number", "in one way")


def test_hostile_names_are_escaped_in_messages(tmp_path):
    name = "\x1b[2J\u202e" + "x" * 200
    message = csv_refusal(tmp_path, f"model,item,score\n{name},q,1\n{name},q,1\nb,q,1\n")
    says(message, r"\x1b[2J\u202e", "…")
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert "x" * 60 not in message
