"""Content that was made to break a reader, or broken by accident: a message or scores, and never a traceback."""

import json
import random
import re
import shutil
from functools import partial

import polars as pl
import pytest

from bbedge.board import BoardDesign
from bbedge.errors import BbedgeError, FormatError
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.readers import read_items, read_scores
from bbedge.readers.survey import survey
from bbedge.records.reading import Reading
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_row, lm_eval_run

GOOD = "model,item,block,replicate,score\n" + "".join(
    f"{model},q{item},b{item // 2},{replicate},{(item + replicate) % 2}\n"
    for model in "ab"
    for item in range(6)
    for replicate in (1, 2)
)
METRICS = {"metric": ("acc", "exact_match", "match", "score", "quasi_exact_match")}


def refusal(read):
    """The message of an error that is raised on purpose; None if there is none. Any other error ends the test."""
    try:
        read()
    except BbedgeError as error:
        return str(error)
    return None


def nested(depth, *, key="a"):
    return f'{{"{key}":' * depth + "1" + "}" * depth


# --- nesting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [50, 300, 900, 980, 1100, 5000, 100_000])
def test_deep_json_in_a_log_of_lines(tmp_path, depth):
    path = lm_eval_run(tmp_path)
    row = json.dumps({**lm_eval_row(2), "doc": "HERE"}).replace('"HERE"', nested(depth))
    row = re.sub(r', "doc_hash": "[0-9a-f]+"', "", row)
    path.write_text(path.read_text() + row + "\n")
    _read_or_refuse(path, refused=depth > 1000)


@pytest.mark.parametrize("depth", [50, 300, 900, 980, 1100, 5000, 100_000])
def test_deep_json_in_a_document(tmp_path, depth):
    path = tmp_path / "log.json"
    sample = json.dumps({**inspect_sample("q1"), "input": "HERE", "metadata": "THERE"})
    sample = sample.replace('"HERE"', "[" * depth + "]" * depth).replace('"THERE"', nested(depth))
    about = '"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}'
    path.write_text(f'{{{about}, "samples": [{sample}]}}')
    _read_or_refuse(path, refused=depth > 1000)


def _read_or_refuse(path, *, refused):
    for read in (lambda: read_scores(path, least_models=1), lambda: survey([str(path)])):
        message = refusal(read)
        assert message is not None or not refused
        assert message is None or (path.name in message and "nested too deeply" in message)


def test_nesting_that_is_read_but_cannot_be_written_again(tmp_path):
    """Settings are compared as text: what is nested so that it can just be read may be too deep for that."""
    path = tmp_path / "log.json"
    messages = []
    for depth in range(800, 1000, 2):
        about = f'"version": 2, "status": "success", "eval": {{"model": "m", "task_args": {nested(depth)}}}'
        path.write_text(f'{{{about}, "samples": [{json.dumps(inspect_sample("q1"))}]}}')
        messages.append(refusal(partial(read_scores, path, least_models=1)))
    assert messages[0] is None
    assert all(message is None or ("log.json: " in message and "nested too deeply" in message) for message in messages)


def test_deep_json_in_a_table(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"model": "a", "item": "q", "score": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(FormatError, match=r"a\.jsonl:1: JSON nested too deeply"):
        read_scores(path)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000])
def test_deep_or_huge_toml(tmp_path, text):
    with pytest.raises(FormatError, match="design: not a TOML file"):
        BoardDesign.from_toml(text)
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(FormatError, match=r"study\.toml: not a TOML file"):
        EvaluationSpec.read(tmp_path / "study.toml")


# --- numbers ---------------------------------------------------------------------------------------------------------

HUGE = ["1e400", "-1e400", "9" * 5000, "9" * 400, "1e-400", "-0.0", "NaN", "Infinity", "0." + "1" * 5000]


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize("place", ["score", "item", "other"])
def test_huge_numbers_in_tables(tmp_path, number, name, place):
    path = tmp_path / name
    row = {"model": '"b"', "item": '"q"', "score": "1", "other": "1"} | {place: number}
    if name.endswith("csv"):
        path.write_text("model,item,score,other\na,q,1,1\n" + ",".join(row.values()).replace('"', "") + "\n")
    else:
        said = ", ".join(f'"{key}": {value}' for key, value in row.items())
        path.write_text('{"model": "a", "item": "q", "score": 1, "other": 1}\n{' + said + "}\n")
    _names_the_file(path)


@pytest.mark.parametrize("number", HUGE)
def test_huge_numbers_in_logs(tmp_path, number):
    path = lm_eval_run(tmp_path / "lm", rows=[lm_eval_row(0), lm_eval_row(1, score=12345.0)])
    path.write_text(path.read_text().replace("12345.0", number))
    _names_the_file(path)
    path = inspect_log(tmp_path / "a.eval", samples=[inspect_sample("q1"), inspect_sample("q2", value=number)])
    _names_the_file(path)
    path = tmp_path / "log.json"
    sample = json.dumps(inspect_sample("q1", value=12345)).replace("12345", number)
    path.write_text(
        f'{{"version": {number}, "status": "success", "eval": {{"model": "m", "task": "t"}}, "samples": [{sample}]}}'
    )
    _names_the_file(path)


def _names_the_file(path):
    for read in (lambda: read_scores(path, least_models=1), lambda: survey([str(path)])):
        message = refusal(read)
        assert message is None or path.name in message


def test_a_huge_number_in_a_frame():
    with pytest.raises(BbedgeError, match="frame: row 1: the item is a number of very many digits"):
        read_scores(pl.DataFrame({"model": ["a"], "item": pl.Series([10**5000], dtype=pl.Object), "score": [1.0]}))


# --- Parquet ---------------------------------------------------------------------------------------------------------


def parquet(path):
    pl.DataFrame({"model": ["a", "b"], "item": ["q", "q"], "score": [1.0, 0.0]}).write_parquet(path)
    return path


def test_a_panic_of_polars_is_a_message(tmp_path, monkeypatch):
    path = parquet(tmp_path / "a.parquet")

    def panic(*_, **__):
        raise pl.exceptions.PanicException("assertion failed\nsecond line")

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    with pytest.raises(FormatError, match=r"a\.parquet: not a readable Parquet file \(assertion failed\); write it"):
        read_scores(path)


def test_damaged_footers_are_messages(tmp_path):
    content = parquet(tmp_path / "a.parquet").read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    path = tmp_path / "b.parquet"
    for position in range(len(content) - 8 - length, len(content)):
        value = (0x00, 0xFF, content[position] ^ 0x10)[position % 3]
        path.write_bytes(content[:position] + bytes([value]) + content[position + 1 :])
        message = refusal(partial(read_scores, path))
        assert message is None or "b.parquet" in message


# --- anything --------------------------------------------------------------------------------------------------------

TOKENS = [b"NaN", b"1e400", b"1" * 5000, b"null", b"[]", b"{}", b'"\\ud800"', b"[" * 3000, b'{"a":' * 3000, b"\0"]
TOKENS += [b"\xff", b'"', b",", b"\n", b"-0", b"true", b"\\u0000", b"\r", b"9" * 400, b'"x"', b"-Infinity", b"PK\3\4"]
VALUE = re.compile(rb'-?\d+(\.\d+)?|"[^"]*"|true|false|null')


def mutated(content, rng):
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + rng.randrange(40)] = b""
            case 2:
                data[at:at] = rng.choice(TOKENS)
            case 3:
                data[at:at] = data[rng.randrange(at + 1) : at][:2000]
            case 4:
                del data[at:]
            case _:
                values = list(VALUE.finditer(bytes(data)))
                if values:
                    value = rng.choice(values)
                    data[value.start() : value.end()] = rng.choice(TOKENS)
    return bytes(data)


def originals(folder):
    (folder / "t.csv").write_text(GOOD)
    frame = pl.read_csv(folder / "t.csv", schema_overrides={"score": pl.Float64})
    frame.write_parquet(folder / "t.parquet")
    frame.write_ndjson(folder / "t.jsonl")
    logs = [path for path in sorted(LOGS.rglob("*.*")) if path.suffix in (".json", ".jsonl", ".eval", ".parquet")]
    return [*(folder / f"t{suffix}" for suffix in (".csv", ".jsonl", ".parquet") for _ in range(5)), *logs]


@pytest.mark.parametrize("seed", range(6))
def test_mutated_files_are_read_or_refused_by_name(tmp_path, seed):
    rng = random.Random(seed)
    sources = originals(tmp_path)
    for number in range(50):
        source = rng.choice(sources)
        folder = tmp_path / str(number)
        folder.mkdir()
        if source.parent != tmp_path:
            for beside in source.parent.glob("*.*"):
                shutil.copy(beside, folder)
        path = folder / source.name
        path.write_bytes(mutated(source.read_bytes(), rng))
        choices = rng.choice([{}, METRICS])
        for read in (
            partial(read_scores, path, **choices),
            partial(read_scores, folder, **choices),
            partial(survey, [str(folder)], Reading(**choices)),
            partial(read_items, path),
        ):
            message = refusal(read)
            assert message is None or str(folder) in message or "--" in message
