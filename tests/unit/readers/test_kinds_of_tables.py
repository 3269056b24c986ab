"""Tables as people have them: lists of records, nested fields, names of several columns, spreadsheets, summaries."""

import gzip
import json
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import Argument, DataError, DomainError, FormatError
from bbedge.readers import read_scores, tools
from bbedge.readers.choices import OpenChoiceError
from bbedge.readers.convert import convert
from bbedge.readers.survey import survey
from bbedge.readers.tools import readers
from bbedge.records.reading import Reading
from log_makers import LOGS

MODELS, ITEMS, RUNS = ("a", "b"), ("q1", "q2", "q3"), (1, 2)


def score_of(model, item, run):
    return (ord(model) + int(item[1:]) * run) % 3 / 2


RECORDS = [
    {
        "model": model,
        "question_id": item,
        "run": run,
        "evaluation": {"score": score_of(model, item, run)},
        "tags": ["x"],
    }
    for model in MODELS
    for item in ITEMS
    for run in RUNS
]
EXPECTED = np.array([[[score_of(model, item, run) for item in ITEMS] for model in MODELS] for run in RUNS])
NESTED = {"score": "evaluation.score"}


def written(path, content):
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def refusal(*sources, error=FormatError, column=(), score_range=(0, 1), **choices):
    with pytest.raises(error) as caught:
        read_scores(*sources, column=column, score_range=score_range, **choices)
    return caught.value


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", RECORDS),
        ("a.json", json.dumps(RECORDS, indent=2)),
        ("a.json.gz", RECORDS),
        ("a.jsonl", json.dumps(RECORDS, indent=1)),
        ("a.json", "\n".join(map(json.dumps, RECORDS))),
        ("a.json", {"when": "now", "results": RECORDS, "names": ["a", "b"], "empty": []}),
        ("a.json", "\ufeff" + json.dumps({"data": RECORDS})),
    ],
    ids=["list", "indented", "packed", "named jsonl", "lines named json", "inside an object", "byte-order mark"],
)
def test_records(tmp_path, name, content):
    path = written(tmp_path / name, content)
    for source in (path, tmp_path):
        scores = read_scores(source, column=NESTED)
        assert (scores.models, scores.items, scores.replicates) == (MODELS, ITEMS, ("1", "2"))
        assert np.array_equal(scores.values, EXPECTED)


def test_nested_fields_of_typed_tables(tmp_path):
    frame = pl.DataFrame(RECORDS)
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, frame.lazy(), tmp_path / "a.parquet"):
        assert np.array_equal(read_scores(source, column=NESTED).values, EXPECTED)


def test_the_document_may_name_the_model_of_its_records(tmp_path):
    for model in MODELS:
        records = [{"id": item, "reward": score_of(model, item, 1)} for item in ITEMS]
        written(tmp_path / f"{model}.json", {"results": records, "model": model, "reward": 0.25})
    assert np.array_equal(read_scores(tmp_path).values, EXPECTED[:1])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"model": "a", "item": "q", "score": 1}, {"model"', "not a complete JSON document"),
        ('[{"model": "a", "item": "q", "score": 1}] 3', "more after its end"),
        ('[{"model": "a", "item": "q", "score": 1}, 3]', "record 2: a JSON int"),
        ('[{"model": "a", "item": "q", "score": "one"}]', "record 1: score 'one' is text"),
        ('[{"model": "a", "item": "q", "score": NaN}]', "record 1: score NaN is not a number"),
        ('[{"model": "a", "item": ["q"], "score": 1}]', "record 1: the item is a list"),
        ('[{"model": "a", "item": "q", "score": 1, "score": 0}]', "key 'score' appears more than once"),
        ('[{"model": "a", "item": "q", "score": 1}, {"model": "b", "score": 1}]', "record 2: no item in this row"),
        ("[]", "neither its name nor its content is known"),
        ('{"results": [{"model": "a", "item": "q", "score": 1}', "not a complete JSON document"),
    ],
)
def test_broken_records_are_refused_with_their_place(tmp_path, content, said):
    message = str(refusal(written(tmp_path / "a.json", content), error=DataError))
    assert message.startswith(f"{tmp_path}/a.json:")
    assert said in message


def test_many_records(tmp_path):
    rows = [{"model": model, "item": f"q{n}", "score": n % 2} for model in MODELS for n in range(20_000)]
    path = written(tmp_path / "a.json", {"rows": rows})
    scores = read_scores(path)
    assert scores.values.shape == (1, 2, 20_000)
    assert scores.values.sum() == 20_000
    rows[-1]["score"] = "x"
    message = str(refusal(written(path, {"rows": rows}), error=DataError))
    assert message.startswith(f"{path}: record 40000: score 'x' is text")


def test_of_two_lists_none_is_chosen(tmp_path):
    path = written(tmp_path / "a.json", {"first": RECORDS, "second": RECORDS})
    assert "lists of records, such as 'first', and no role for the keys" in str(refusal(path, column=NESTED))


def test_several_columns_make_one_name(tmp_path):
    rows = [
        {"model": model, "question_id": question, "turn": turn, "score": number % 2}
        for model in MODELS
        for number, (question, turn) in enumerate([("81", 1), ("81", 2), ("8", 11), ("8+1", 1), ("8", "+1+1")])
    ]
    path = written(tmp_path / "a.json", rows)
    found = refusal(path, error=DataError)
    assert found.proposal[0].value == {"item": "question_id+turn"}
    assert "column={'replicate': 'turn'}" in str(found)
    for source in (path, written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))):
        scores = read_scores(source, column={"item": "question_id+turn"})
        assert scores.items == ("8+11", "8+\\+1\\+1", "8\\+1+1", "81+1", "81+2")
    message = str(refusal(path, error=DomainError, column={"score": "turn+score"}))
    assert "a score is one column" in message


def mixed_rows(text_at=()):
    """Rows of which only the scores differ; those at some places are texts."""
    rows = [{"model": m, "item": q, "n": n, "tags": []} for m in MODELS for q in "wxyz" for n in range(3)]
    return [{**row, "n": str(row["n"])} if place in text_at else row for place, row in enumerate(rows)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_the_scores_never_tell_repeated_rows_apart(tmp_path, name):
    rows = mixed_rows()
    content = rows if name == "a.json" else "\n".join(map(json.dumps, rows))
    path = written(tmp_path / name, content)
    found = refusal(path, error=DataError, column={"score": "n"}, score_range=(0, 10))
    assert "a second score for model" in str(found)
    assert not found.proposal
    # An item must not be named by its score.
    message = str(refusal(path, error=DomainError, column={"score": "n", "item": "item+n"}, score_range=(0, 10)))
    assert "column 'n'" in message
    assert "holds the scores, so it cannot be a part of the item" in message
    survey(
        [str(path)], Reading.of({"column": {"score": "n"}, "score_range": (0, 10)})
    )  # follows proposals, and ended in a traceback


def test_scores_that_are_numbers_in_some_lines_and_text_in_others_are_refused_with_the_line(tmp_path):
    path = written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, mixed_rows(text_at=(6, 9)))))
    for columns in ({"score": "n"}, {"score": "n", "item": "item+model"}):
        message = str(refusal(path, error=DataError, column=columns, score_range=(0, 10)))
        assert message.startswith(f"{path}:7: score '0' is text; expected a number")


def test_repeated_rows_with_a_number_of_the_run(tmp_path):
    rows = [
        {"model": m, "id": q, "attempt": k, "pred": f"{m}{q}{k}", "passed": True}
        for m in MODELS
        for q in "xy"
        for k in (0, 1)
    ]
    path = written(tmp_path / "a.json", rows)
    found = refusal(path, error=DataError)
    assert found.proposal[0].value == {"replicate": "attempt"}
    assert read_scores(path, column={"replicate": "attempt"}).replicates == ("0", "1")


def test_identifiers_are_items_rather_than_texts(tmp_path):
    rows = [{"model": m, "prompt": "say a", "prompt_id": q, "task": "t", "passed": True} for m in MODELS for q in ITEMS]
    assert read_scores(written(tmp_path / "a.json", rows)).items == ITEMS
    both = [{**row, "task_id": row["prompt_id"]} for row in rows]
    message = str(refusal(written(tmp_path / "b.json", both)))
    assert "columns 'prompt_id', 'task_id' could each be the item; pass column={'item': NAME}" in message


@pytest.mark.parametrize("score", ["passed", "success", "reward", "is_resolved", "acc", "pass@1"])
@pytest.mark.parametrize("item", ["id", "index", "problem_id", "test"])
def test_usual_names(tmp_path, score, item):
    rows = [{"provider_id": model, item: name, score: 1} for model in MODELS for name in ITEMS]
    scores = read_scores(written(tmp_path / "a.json", rows))
    assert (scores.models, scores.items) == (MODELS, ITEMS)


def test_names_that_come_later_give_way(tmp_path):
    path = written(tmp_path / "a.csv", "model,question_id,id,correct,reward\na,q1,7,1,0\nb,q1,8,0,1\n")
    scores = read_scores(path)
    assert (scores.items, scores.values.tolist()) == (("q1",), [[[1.0], [0.0]]])


WIDE = {"model": ["a", "b", "c"], **{f"q{n}": [0.5, n / 10, 1.0] for n in range(10)}}


@pytest.mark.parametrize("name", ["overall", "Mean", "average", "total"])
def test_a_summary_column_is_refused_by_its_name(name):
    found = refusal(pl.DataFrame({**WIDE, name: [0.1, 0.2, 0.3]}), error=OpenChoiceError)
    assert found.proposal == (Argument("drop_column", (name,)),)
    scores = read_scores(pl.DataFrame({**WIDE, name: [0.1, 0.2, 0.3]}), drop_column=(name,))
    assert len(scores.items) == 10
    assert any(note.text == f"Dropped from frame on purpose: column '{name}'." for note in scores.notes)


def test_a_wide_table_stays_one_when_its_summary_is_dropped():
    table = {"model": ["a", "b"], **{f"q{n}": [1, 0] for n in range(7)}, "mean": [1, 0]}
    assert refusal(pl.DataFrame(table), error=OpenChoiceError).proposal == (Argument("drop_column", ("mean",)),)
    assert len(read_scores(pl.DataFrame(table), drop_column=("mean",)).items) == 7


def test_a_column_of_means_is_refused_by_its_values(tmp_path):
    rng = np.random.default_rng(1)
    cells = rng.random((5, 12)).round(2)
    table = {"model": list("abcde"), **{f"q{n}": cells[:, n] for n in range(12)}}
    assert len(read_scores(pl.DataFrame(table)).items) == 12
    table["result"] = cells.mean(axis=1).round(3)
    assert refusal(pl.DataFrame(table)).proposal == (Argument("drop_column", ("result",)),)


def test_equal_scores_are_no_means():
    table = {"model": ["a", "b"], **{f"q{n}": [1, 0] for n in range(9)}}
    assert len(read_scores(pl.DataFrame(table)).items) == 9
    assert "no wide table has a column 'mean'" in str(
        refusal(pl.DataFrame(table), error=DomainError, drop_column=("mean",))
    )


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_semicolons_and_decimal_commas(tmp_path, bom):
    path = written(tmp_path / "a.csv", f'{bom}"model";"item";"score"\n"a";"x, y";0,5\n"b";"x, y";1\n')
    assert read_scores(path).values.tolist() == [[[0.5], [1.0]]]
    wide = "model;" + ";".join(f"q{n}" for n in range(9)) + "\na" + ";0,25" * 9 + "\nb" + ";1,0" * 9 + "\n"
    assert read_scores(written(tmp_path / "b.csv", wide)).values[0].tolist() == [[0.25] * 9, [1.0] * 9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model;item;score\na;q;0,5\nb;q;0.5\n", "a.csv:3: score '0.5' in a file with commas and points"),
        ("model;item;score\na;q;1.000,5\nb;q;0\n", "a.csv:2: score '1.000,5' in a file with commas and points"),
        ('model,item,score\na,q,"1,5"\nb,q,1\n', "a.csv:2: score '1,5' is text, because it has a comma"),
        ("model,item,score\na,q,1,5\nb,q,1\n", "a.csv:2: 4 fields where the header has 3"),
        ("model\titem\tscore\na\tq\t1,5\nb\tq\t1\n", "a.csv:2: score '1,5' is text, because it has a comma"),
    ],
)
def test_numbers_that_could_mean_two_things_are_refused(tmp_path, text, said):
    path = written(tmp_path / "a.csv", text)
    with pytest.raises(DataError) as caught:
        read_scores(path, score_range=(0, 100))
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_converted_tables_are_read_back_alike(tmp_path, kind):
    names = ["plain", 'quote " and, comma; semicolon', "line\nend", "\rreturn", " padded ", "1", "1.50", "true", "ü"]
    rows = [
        {"model": model, "item": name, "block": f"b{n % 2}", "run": run, "score": None if n == 3 else (n + run) / 30}
        for model in ("m;1", "m,2")
        for n, name in enumerate(names)
        for run in (1, 2)
    ]
    source = tmp_path / "source.parquet"
    pl.DataFrame(rows).write_parquet(source)
    convert([str(source)], tmp_path / f"out.{kind}")
    before, after = (read_scores(path, incomplete="worst-case") for path in (source, tmp_path / f"out.{kind}"))
    for of in ("models", "items", "blocks", "replicates", "gaps"):
        assert getattr(before, of) == getattr(after, of)
    assert np.array_equal(before.values, after.values, equal_nan=True)


def test_a_table_is_only_converted_to_what_can_be_read(tmp_path):
    path = written(tmp_path / "a.csv", "model,item,score\na,q,1\n")
    with pytest.raises(DomainError, match=r"ends with \.parquet, \.csv, \.jsonl"):
        convert([str(path)], tmp_path / "out.xlsx")


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_order_of_files_rows_and_keys_does_not_matter(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("tables")
    records = data.draw(st.permutations(RECORDS))
    cut = data.draw(st.integers(1, len(records) - 1))
    for name, part in data.draw(st.permutations([("x.json", records[:cut]), ("y.jsonl", records[cut:])])):
        keys = data.draw(st.permutations(list(RECORDS[0])))
        rows = [{key: row[key] for key in keys} for row in part]
        written(folder / name, rows if name.endswith("json") else "\n".join(map(json.dumps, rows)))
    scores = read_scores(folder, column=NESTED)
    assert np.array_equal(scores.values, EXPECTED)
    # A file less is a missing score, or a model, item or replicate less: never the same scores.
    (folder / data.draw(st.sampled_from(["x.json", "y.jsonl"]))).unlink()
    try:
        fewer = read_scores(folder, column=NESTED, least_models=1)
    except DataError:
        return
    assert fewer.values.shape != scores.values.shape


# Which tools are asked whether a file is their log ------------------------------------------------------------------

PLAIN = {"s.csv": "model,item,score\n", "s.tsv": "model\titem\tscore\n", "s.csv.gz": "model,item,score\n"}
LOADED = """
import sys
from bbedge.readers import read_scores
for path in sys.argv[1:]:
    read_scores(path, incomplete="worst-case")
print(*(name for name in sys.modules if name.startswith("bbedge.readers.tools.")))
"""


def plain_tables(folder):
    """Tables that can be nothing else."""
    for name, header in PLAIN.items():
        between = header[5]
        rows = [between.join((model, item, "1")) for model in MODELS for item in ITEMS]
        content = (header + "\n".join(rows) + "\n").encode()
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return [str(folder / name) for name in PLAIN]


def standing_in(monkeypatch, recognises):
    """Put readers that only recognise, as this function does, in the place of all tools."""
    them = {
        name: SimpleNamespace(name=name, title=reader.title, recognises=partial(recognises, name))
        for name, reader in readers().items()
    }
    monkeypatch.setattr(tools, "readers", lambda: them)


def test_no_tool_is_loaded_for_a_plain_table(tmp_path):
    command = [sys.executable, "-c", LOADED, *plain_tables(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_no_tool_is_asked_about_a_plain_table(tmp_path, monkeypatch):
    def asked(name, glimpse):
        raise AssertionError(f"{name} was asked about {glimpse.path}")

    standing_in(monkeypatch, asked)
    for path in plain_tables(tmp_path):
        assert read_scores(path).models == MODELS
    (tmp_path / "s.jsonl").write_text('{"model": "a", "item": "q1", "score": 1}\n')
    with pytest.raises(AssertionError, match="was asked about"):
        read_scores(tmp_path / "s.jsonl")


def test_of_parquet_only_the_tool_that_writes_it_is_asked(tmp_path, monkeypatch):
    asked = []
    standing_in(monkeypatch, lambda name, _: asked.append(name) or "no")
    pl.DataFrame({"model": MODELS, "item": ["q1", "q1"], "score": [1, 0]}).write_parquet(tmp_path / "s.parquet")
    read_scores(tmp_path / "s.parquet")
    assert asked == ["lighteval"]


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.parquet"])
def test_a_log_with_the_name_of_a_table_is_still_a_log(name, tmp_path):
    (sample, *_) = sorted((LOGS / "promptfoo").rglob("out.json"))
    (tmp_path / name).write_bytes(sample.read_bytes())
    assert survey([str(tmp_path / name)]).files[0].kind == "promptfoo"


@pytest.mark.parametrize("better", ["winner", "label", "preference"])
@pytest.mark.parametrize(
    "pair",
    [
        ("model_1", "model_2"),
        ("model_a", "model_b"),
        ("Assistant A", "assistant_b"),
        ("baseline_model", "candidate_model"),
        ("left", "right"),
    ],
)
def test_pairwise_judgements_are_named_as_such(tmp_path, pair, better):
    rows = [{"question_id": q, pair[0]: "a", pair[1]: "b", better: "tie", "score": 1} for q in ITEMS]
    message = str(refusal(written(tmp_path / "a.json", rows)))
    assert "a file of pairwise judgements: every row says which of two is better " in message
    assert f"('{pair[0]}', '{pair[1]}', '{better}')" in message
    assert "wins against one baseline" in message


def test_a_winner_is_enough_for_a_pair(tmp_path):
    rows = [{"question_id": q, "red": "a", "blue": "b", "winner": "a", "score": 1} for q in ITEMS]
    assert "pairwise judgements" in str(refusal(written(tmp_path / "a.json", rows)))


def test_tables_of_promptfoo_are_named_as_such(tmp_path):
    head = "question,[openai:a] p,Status,Score,[openai:b] p,Status,Score\n"
    written(tmp_path / "a.csv", head + "q1,Yes,PASS,1,No,FAIL,0\n")
    message = str(refusal(tmp_path / "a.csv"))
    assert "'Score', 'Status' appears more than once; a table of promptfoo: write its results as JSON" in message
    written(tmp_path / "b.csv", "question,[openai:a] p,[openai:b] p\nq1,[PASS] Yes,[FAIL] No\n")
    assert "a table of promptfoo: write its results as JSON" in str(refusal(tmp_path / "b.csv"))


def test_what_was_seen_is_said_where_nothing_is_known(tmp_path):
    written(tmp_path / "a.json", {"accuracy": 0.5, "model": "a"})
    assert "a.json with the keys 'accuracy', 'model': neither" in str(refusal(tmp_path / "a.json"))
    assert "and found\n" in str(refusal(tmp_path))
    assert "a.json with the keys 'accuracy', 'model'" in str(refusal(tmp_path))
    written(tmp_path / "c.json", "[[1, 2], [3, 4]]")
    assert "c.json: begins with '[[1, 2], [3, 4]]'; neither" in str(refusal(tmp_path / "c.json"))
    written(tmp_path / "b.csv", "gold,pred\n1,2\n")
    assert "b.csv: no column for the model; the columns are 'gold', 'pred'" in str(refusal(tmp_path))


def test_the_search_of_a_folder_reports_every_file(tmp_path):
    for n in range(3):
        written(tmp_path / f"{n}.json", {"results": RECORDS[n : n + 1]})
    said = []
    with pytest.raises(DataError):
        read_scores(tmp_path, progress=said.append)
    assert said[:3] == [f"looking at {tmp_path / f'{n}.json'}" for n in range(3)]
