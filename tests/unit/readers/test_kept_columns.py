"""Item columns in the canonical table, and in what a survey finds."""

import json

import polars as pl
import pytest

from bbedge.errors import DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.convert import METADATA_KEY, convert
from bbedge.readers.survey import survey
from bbedge.records.reading import Reading
from log_makers import LOGS, inspect_log, lm_eval_row, lm_eval_run

ROWS = "model,item,topic,score\na,q1,math,1\na,q2,code,0\nb,q1,math,1\nb,q2,code,\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    return str(tmp_path / "a.csv")


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_columns_are_written(tmp_path, monkeypatch, table, layout):
    if layout == "sparse":
        monkeypatch.setattr("bbedge.readers.assemble.grid.Grid.is_dense", lambda *_: False)
    convert([table], tmp_path / "out.parquet", Reading.of({"item_column": ["topic"]}))
    assert pl.read_parquet(tmp_path / "out.parquet").rows() == [
        ("a", "q1", "math", "1", 1.0),
        ("a", "q2", "code", "1", 0.0),
        ("b", "q1", "math", "1", 1.0),
        ("b", "q2", "code", "1", None),
    ]
    assert json.loads(pl.read_parquet_metadata(tmp_path / "out.parquet")[METADATA_KEY])["item_columns"] == ["topic"]


def test_without_columns_the_table_is_what_it_was(tmp_path, table):
    convert([table], tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").columns == ["model", "item", "replicate", "score"]
    assert "item_columns" not in json.loads(pl.read_parquet_metadata(tmp_path / "out.parquet")[METADATA_KEY])


def test_columns_that_contradict_themselves_are_not_written(tmp_path, table):
    (tmp_path / "a.csv").write_text(ROWS.replace("b,q1,math", "b,q1,law"))
    with pytest.raises(FormatError, match="'law' as 'topic' here and 'math' before"):
        convert([table], tmp_path / "out.parquet", Reading.of({"item_column": ["topic"]}))
    with pytest.raises(DomainError, match="a column item of its own"):
        convert([table], tmp_path / "out.parquet", Reading.of({"item_column": ["item"]}))
    assert not (tmp_path / "out.parquet").exists()


def test_the_list_of_items_gives_columns_and_blocks(tmp_path, table):
    (tmp_path / "items.csv").write_text("item,year,block\nq1,1999,x\nq2,2001,x\n")
    convert([table], tmp_path / "out.parquet", Reading.of({"item_column": ["year"], "items": tmp_path / "items.csv"}))
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written.columns == ["model", "item", "block", "year", "replicate", "score"]
    assert written["block"].to_list() == ["x"] * 4
    assert written["year"].to_list() == ["1999", "2001"] * 2


def test_metrics_are_written_and_read_back(tmp_path):
    for model, right in (("a", 1.0), ("b", 0.0)):
        rows = [lm_eval_row(i) | {"metrics": ["acc", "len"], "acc": right, "len": 20.0} for i in range(2)]
        lm_eval_run(tmp_path / "logs" / model, model=model, rows=rows)
    out = tmp_path / "out.parquet"
    done = convert([str(tmp_path / "logs")], out, Reading.of({"item_column": ["metric"]}))
    assert (done.rows, done.missing) == (8, 0)
    assert pl.read_parquet(out)["item"].n_unique() == 2
    choices = {"metric_range": {"len": (40.0, 0.0)}}
    log = read_scores(tmp_path / "logs", item_column=["metric"], **choices)
    back = read_scores(out, item_column=["metric"], **choices)
    assert (log.items, log.blocks, log.columns) == (back.items, back.blocks, back.columns)
    assert log.values.tolist() == back.values.tolist()
    with pytest.raises(DomainError, match="kept as they are"):
        convert([str(tmp_path / "logs")], out, Reading.of(choices))


def test_a_metric_of_which_less_is_better_is_not_written_as_if_more_were(tmp_path):
    log = lm_eval_run(tmp_path, higher_is_better={"t": {"acc": False}})
    with pytest.raises(FormatError, match="less is better"):
        convert([str(log)], tmp_path / "out.parquet", Reading.of({"item_column": ["metric"]}))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_survey_counts_the_values_of_columns(tmp_path, kind):
    rows = [
        {"model": model, "item": f"q{i}", "topic": f"t{i % 3}", "who": model, "note": None, "score": 1, "tokens": i}
        for model in "ab"
        for i in range(6)
    ]
    path = tmp_path / f"scores.{kind}"
    if kind == "jsonl":
        rows = [{**row, "meta": {"language": "de" if row["item"] == "q1" else "en"}, "tags": ["x"]} for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        pl.DataFrame(rows).with_columns(tags=pl.lit(["x"])).write_parquet(path)
    nested = {"meta.language": 2} if kind == "jsonl" else {}
    assert survey([str(path)]).item_columns == {"topic": 3, "tokens": 6, **nested}


def test_a_survey_of_several_tables_counts_them_together(tmp_path):
    for model, topic in (("a", "math"), ("b", "law")):
        (tmp_path / f"{model}.csv").write_text(f"model,item,topic,year,score\n{model},q,{topic},1999,1\n")
    assert survey([str(tmp_path / "a.csv")]).item_columns == {"topic": 1, "year": 1}
    assert survey([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]).item_columns == {"year": 1}


def test_a_survey_names_the_metrics_of_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,metric,score\na,q,acc,1\na,q,f1,1\n")
    assert survey([str(tmp_path / "a.csv")]).item_columns == {"metric": 2}


def test_a_survey_of_logs_names_tasks_metrics_and_fields_with_few_values():
    found = survey([str(LOGS / "lm_eval" / "run1")]).item_columns
    assert {name: found[name] for name in ("task", "metric", "doc.group")} == {"task": 2, "metric": 3, "doc.group": 4}


def test_a_table_that_cannot_be_read_has_no_columns(tmp_path):
    (tmp_path / "a.csv").write_text("what,ever\n1,2\n")
    found = survey([str(tmp_path / "a.csv")])
    assert found.item_columns == {}
    assert "no column for the model" in found.refused


def test_one_task_and_one_metric_are_no_columns(tmp_path):
    assert survey([str(inspect_log(tmp_path / "a.eval"))]).item_columns == {}
