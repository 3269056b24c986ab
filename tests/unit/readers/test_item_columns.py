"""Item columns: categories and weights from score tables, lists of items and logs."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbedge.errors import BbedgeError, DataError, DomainError, FormatError
from bbedge.readers import read_items, read_scores
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_row, lm_eval_run

ROWS = [
    {"model": model, "item": item, "topic": topic, "weight": weight, "score": score}
    for model, scores in (("a", (1, 0, 1)), ("b", (0, 0, 1)))
    for (item, topic, weight), score in zip(
        (("q1", "math", 1.0), ("q2", "code", 0.5), ("q10", "math", 2.0)), scores, strict=True
    )
]


def written(tmp_path, kind, rows=ROWS):
    path = tmp_path / f"scores.{kind}"
    table = pl.DataFrame(rows)
    if kind == "csv":
        table.write_csv(path)
    elif kind == "tsv":
        table.write_csv(path, separator="\t")
    elif kind == "parquet":
        table.write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def refusal(*sources, error=BbedgeError, **options):
    with pytest.raises(error) as caught:
        read_scores(*sources, **options)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_columns_of_a_table(tmp_path, kind):
    scores = read_scores(written(tmp_path, kind), item_column=["topic", "weight"])
    assert scores.items == ("q1", "q2", "q10")
    assert scores.columns["topic"] == ("math", "code", "math")
    assert [float(weight) for weight in scores.columns["weight"]] == [1.0, 0.5, 2.0]


def test_columns_of_a_frame():
    for frame in (pl.DataFrame(ROWS), pl.DataFrame(ROWS).lazy()):
        assert read_scores(frame, item_column=["topic"]).columns == {"topic": ("math", "code", "math")}


def test_without_item_columns_there_are_none(tmp_path):
    assert read_scores(written(tmp_path, "csv")).columns == {}


@given(st.permutations(ROWS))
def test_the_order_of_rows_does_not_matter(rows):
    scores = read_scores(pl.DataFrame(rows), item_column=["topic"])
    assert dict(zip(scores.items, scores.columns["topic"], strict=True)) == {"q1": "math", "q2": "code", "q10": "math"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_two_values_for_an_item_are_refused(tmp_path, kind):
    rows = [*ROWS[:-1], {**ROWS[-1], "topic": "law"}]
    path = written(tmp_path, kind, rows)
    message = refusal(path, item_column=["topic"], error=FormatError)
    assert str(path) in message
    for part in ("item 'q10'", "'law'", "'math'", "'topic'"):
        assert part in message
    assert read_scores(path, item_column=["weight"]).columns.keys() == {"weight"}


def test_a_missing_column_is_refused_with_those_that_there_are(tmp_path):
    message = refusal(written(tmp_path, "csv"), item_column=["topik"], error=FormatError)
    assert "no column 'topik'" in message
    assert "'model', 'item', 'topic', 'weight', 'score'" in message
    assert "items=FILE" in message


def test_an_item_without_a_value_is_refused(tmp_path):
    rows = [{**row, "topic": "" if row["item"] == "q2" else row["topic"]} for row in ROWS]
    assert "scores.csv:3: no value for 'topic'" in refusal(written(tmp_path, "csv", rows), item_column=["topic"])


def test_the_score_does_not_describe_the_item(tmp_path):
    assert "holds the scores" in refusal(written(tmp_path, "csv"), item_column=["score"], error=DomainError)


def test_one_text_is_one_column(tmp_path):
    assert read_scores(written(tmp_path, "csv"), item_column="topic").columns["topic"] == ("math", "code", "math")


def test_a_column_may_also_be_the_block(tmp_path):
    rows = [{**row, "block": row["topic"]} for row in ROWS]
    for kind in ("csv", "jsonl", "parquet"):
        scores = read_scores(written(tmp_path, kind, rows), item_column=["block"])
        assert scores.blocks == scores.columns["block"] == ("math", "code", "math")


def test_a_described_task_is_not_the_item(tmp_path):
    rows = [
        {"model": row["model"], "task": row["topic"], "question": row["item"], "score": row["score"]} for row in ROWS
    ]
    path = written(tmp_path, "csv", rows)
    assert "could each be the item" in refusal(path)
    scores = read_scores(path, item_column=["task"])
    assert (scores.items, scores.columns["task"]) == (("q1", "q2", "q10"), ("math", "code", "math"))


@pytest.mark.parametrize("others", [[], [{"model": "c", "item": "q1", "score": "x"}]], ids=["plain", "refused later"])
def test_nested_json(tmp_path, others):
    rows = [{**row, "metadata": {"topic": row["topic"]}} for row in ROWS]
    path = written(tmp_path, "jsonl", [*rows, *others])
    if others:
        assert "scores.jsonl:7" in refusal(path, item_column=["metadata.topic"])
        return
    scores = read_scores(path, item_column=["metadata.topic"])
    assert scores.columns == {"metadata.topic": ("math", "code", "math")}
    assert "no column 'metadata.year'" in refusal(path, item_column=["metadata.year"])


def test_several_files_may_share_the_work(tmp_path):
    """One file has the column, the other has scores of the same items."""
    first = written(tmp_path, "csv", ROWS[:3])
    second = tmp_path / "more.csv"
    pl.DataFrame(ROWS[3:]).drop("topic").write_csv(second)
    assert read_scores(first, second, item_column=["topic"]).columns["topic"] == ("math", "code", "math")
    pl.DataFrame([*ROWS[3:], {**ROWS[3], "item": "q11"}]).drop("topic").write_csv(second)
    message = refusal(first, second, item_column=["topic"], incomplete="refuse")
    assert "q11" in message


LISTED = "item,topic,weight,block\nq1,math,1,x\nq2,code,.5,x\nq10,math,2,y\n"


def item_list(tmp_path, text=LISTED, name="items.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def bare(tmp_path):
    path = tmp_path / "bare.csv"
    pl.DataFrame(ROWS).drop("topic", "weight").write_csv(path)
    return path


def test_columns_of_a_list_of_items(tmp_path):
    scores = read_scores(bare(tmp_path), item_column=["topic", "weight"], items=item_list(tmp_path))
    assert scores.columns == {"topic": ("math", "code", "math"), "weight": ("1", ".5", "2")}


def test_the_list_names_blocks_where_the_scores_name_none(tmp_path):
    items = item_list(tmp_path)
    scores = read_scores(bare(tmp_path), items=items)
    assert (scores.blocks, scores.blocked) == (("x", "x", "y"), True)
    assert read_scores(bare(tmp_path), items=items, blocks="item").blocks == ("q1", "q2", "q10")
    assert set(read_scores(bare(tmp_path), items=items, blocks="one").blocks) == {"one"}
    own = [{**row, "block": row["topic"]} for row in ROWS]
    assert read_scores(written(tmp_path, "csv", own), items=items).blocks == ("math", "code", "math")


def test_the_scores_come_before_the_list(tmp_path):
    items = item_list(tmp_path, "item,topic\nq1,z\nq2,z\nq10,z\n")
    assert read_scores(written(tmp_path, "csv"), items=items, item_column=["topic"]).columns["topic"][0] == "math"


def test_a_list_without_some_items_is_refused(tmp_path):
    items = item_list(tmp_path, "item,topic\nq1,math\n")
    message = refusal(bare(tmp_path), items=items, item_column=["topic"], error=FormatError)
    assert "items.csv: 2 items of the scores are not in the list: 'q2', 'q10'" in message
    items = item_list(tmp_path, "item,topic\nq1,math\nq2,\nq10,math\n")
    assert "item 'q2' has no value for 'topic'" in refusal(bare(tmp_path), items=items, item_column=["topic"])
    message = refusal(bare(tmp_path), items=items, item_column=["year"])
    assert "those of" in message
    assert "'topic'" in message


def test_items_of_the_list_without_scores_are_noted(tmp_path):
    scores = read_scores(bare(tmp_path), items=item_list(tmp_path, LISTED + "q99,math,1,z\n"))
    assert any("'q99'" in note.text and note.subject == ("q99",) for note in scores.notes)


def test_lists_of_items_in_other_formats(tmp_path):
    rows = [{"item": "q1", "block": "x", "about": {"topic": "math"}, "tags": ["a"]}, {"item": "q2", "block": "y"}]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_items(path)
    assert (read.items, read.blocks, read.columns["about.topic"]) == (("q1", "q2"), ("x", "y"), ("math", ""))
    table = pl.DataFrame({"item": ["q1", "q2"], "year": [1999, 2001], "tags": [["a"], ["b"]]})
    table.write_parquet(tmp_path / "items.parquet")
    read = read_items(tmp_path / "items.parquet")
    assert (read.items, read.blocked, read.columns) == (("q1", "q2"), False, {"year": ("1999", "2001")})
    (tmp_path / "items.tsv").write_text("item\tblock\nq1\tx\nq1\ty\n")
    with pytest.raises(FormatError, match=r"items\.tsv: row 2: item 'q1' comes twice"):
        read_items(tmp_path / "items.tsv")
    with pytest.raises(FormatError, match="no column named item"):
        read_items(item_list(tmp_path, '{"id": "q1"}\n', "other.jsonl"))


def test_other_columns_of_a_csv_list_are_kept(tmp_path):
    read = read_items(item_list(tmp_path, "note,item,note,Topic\n1,q1,2,math\n"))
    assert read.columns == {"Topic": ("math",)}


def wide(tmp_path):
    path = tmp_path / "wide.csv"
    models = [f"m{i}" for i in range(8)]
    lines = [",".join(["item", "topic", *models])]
    lines += [",".join([item, topic, *"01010101"]) for item, topic in (("q1", "math"), ("q2", "code"))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_wide_tables_with_a_row_per_item(tmp_path):
    scores = read_scores(wide(tmp_path), item_column=["topic"])
    assert (len(scores.models), scores.columns) == (8, {"topic": ("math", "code")})
    assert "score 'math' is text" in refusal(wide(tmp_path))


def test_wide_tables_with_a_row_per_model(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("model,q1,q2,q10\na,1,0,1\nb,0,0,1\n")
    options = {"item_column": ["topic"], "format": "wide"}
    assert "no column 'topic'" in refusal(path, **options)
    scores = read_scores(path, items=item_list(tmp_path), **options)
    assert scores.columns["topic"] == ("math", "code", "math")


def test_fields_of_samples_and_headers_of_logs(tmp_path):
    for model in "ab":
        for task, topic in (("t1", "math"), ("t2", "code")):
            rows = [lm_eval_row(i, doc={"question": f"{task} {i}", "about": {"year": 2000 + i}}) for i in range(2)]
            said = {"configs": {task: {"dataset_name": topic}}}
            lm_eval_run(tmp_path / model / task, model=model, task=task, rows=rows, **said)
    scores = read_scores(tmp_path, item_column=["task", "doc.about.year", "config.dataset_name"])
    assert len(set(scores.items)) == 4
    by_task = dict.fromkeys(zip(scores.columns["task"], scores.columns["config.dataset_name"], strict=True))
    assert sorted(by_task) == [("t1", "math"), ("t2", "code")]
    assert sorted(scores.columns["doc.about.year"]) == ["2000", "2000", "2001", "2001"]
    message = refusal(tmp_path, item_column=["doc.topic"])
    for field in ("'doc.about.year'", "'task'", "'config.dataset_name'"):
        assert field in message


@pytest.mark.parametrize(
    ("folder", "field", "choices"),
    [
        ("inspect/epochs", "metadata.dialogue_id", {}),
        ("inspect/epochs", "eval.task", {}),
        ("lm_eval/run1", "doc.group", {"metric": ("acc", "exact_match"), "filter": ("none", "strict")}),
        ("lighteval", "doc.task_name", {}),
        ("helm", "run_spec.adapter_spec.method", {"metric": ("exact_match",)}),
        ("openai_evals", "spec.base_eval", {}),
        ("openai_evals", "task", {}),
        ("promptfoo/json", "vars.country", {}),
    ],
)
def test_every_tool_has_fields(folder, field, choices):
    scores = read_scores(LOGS / folder, item_column=[field], **choices)
    assert len(scores.columns[field]) == len(scores.items)


def test_a_suite_of_tasks_has_unique_items_and_blocks_per_task(tmp_path):
    """The same sample names in two tasks of one folder are different items."""
    for model in "ab":
        for task in ("t1", "t2"):
            samples = [inspect_sample(f"q{i}", metadata={"d": "same"}) for i in (1, 2)]
            inspect_log(tmp_path / f"{model}{task}.eval", model=model, task=task, samples=samples)
    scores = read_scores(tmp_path, item_column=["task"], blocks="metadata.d")
    assert scores.items == ("t1/q1", "t1/q2", "t2/q1", "t2/q2")
    assert scores.columns["task"] == ("t1", "t1", "t2", "t2")
    assert len(set(scores.blocks)) == 2


def test_a_sample_without_the_field_is_refused(tmp_path):
    samples = [inspect_sample("q1", metadata={"topic": "math"}), inspect_sample("q2")]
    for model in "ab":
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=samples)
    message = refusal(tmp_path, item_column=["metadata.topic"], error=DataError)
    assert "sample 2: no field 'metadata.topic'" in message


def test_fields_that_differ_between_models_are_refused(tmp_path):
    for model in "ab":
        inspect_log(tmp_path / f"{model}.eval", model=model)
    message = refusal(tmp_path, item_column=["eval.model"], error=FormatError)
    assert "'a'" in message
    assert "'b'" in message


def test_logs_with_a_list_of_items(tmp_path):
    for model in "ab":
        inspect_log(tmp_path / "logs" / f"{model}.eval", model=model)
    items = item_list(tmp_path, "item,topic\nt/q1,math\nt/q2,code\n")
    assert read_scores(tmp_path / "logs", items=items, item_column=["topic"]).columns["topic"] == ("math", "code")


def test_the_columns_of_a_wide_table_are_named_where_its_path_gives_the_replicate(tmp_path):
    path = tmp_path / "1.csv"
    path.write_text("item," + ",".join(f"m{number}" for number in range(8)) + "\n" + "q1" + ",1" * 8 + "\n")
    message = refusal(path, item_column=["topic"], replicate_from=r"path:(\d+)\.csv")
    assert "the columns are 'item', 'm0', 'm1'" in message
