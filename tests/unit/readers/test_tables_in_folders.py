"""Folders and patterns: every table that looks like scores is read, or refused by its name with its own reason."""

import json

import polars as pl
import pytest

from bbedge.errors import Argument, DataError, DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.choices import OpenChoiceError
from log_makers import inspect_log

ROWS = [("q1", 1), ("q2", 0), ("q3", 1)]


def table(path, model, *, header="model,item,score", rows=ROWS):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + "\n" + "".join(f"{model},{item},{score}\n" for item, score in rows))
    return path


def refusal(*sources, error=FormatError, column=(), **choices):
    with pytest.raises(error) as caught:
        read_scores(*sources, column=column, **choices)
    return str(caught.value)


@pytest.mark.parametrize("where", ["", "*.csv"])
def test_columns_that_were_named_count_while_a_folder_is_searched(tmp_path, where):
    for model in "abc":
        table(tmp_path / f"{model}.csv", model, header="model,item,strict")
    scores = read_scores(tmp_path / where, column={"score": "strict"})
    assert scores.models == ("a", "b", "c")
    assert not scores.notes


def test_a_table_whose_columns_do_not_say_it_is_refused_by_name(tmp_path):
    table(tmp_path / "a.csv", "a")
    table(tmp_path / "b.csv", "b")
    table(tmp_path / "c.csv", "c", header="model,item,strict")
    message = refusal(tmp_path)
    assert f"{tmp_path}/c.csv: no column for the score; the columns are 'model', 'item', 'strict'" in message
    assert f"skip=('{tmp_path}/c.csv',)" in message
    table(tmp_path / "d.csv", "d", header="model,problem,score")
    message = refusal(tmp_path)
    assert "2 files look like scores and cannot be read" in message
    assert f"\n{tmp_path}/d.csv: no column for the item" in message


@pytest.mark.parametrize("content", ["", "model,item,score\n\xff", "model,item,score,score\na,q1,1,1\n"])
def test_a_broken_table_is_not_left_out(tmp_path, content):
    table(tmp_path / "a.csv", "a")
    table(tmp_path / "b.csv", "b")
    (tmp_path / "c.csv").write_bytes(content.encode("latin-1"))
    assert f"{tmp_path}/c.csv" in refusal(tmp_path)


def test_a_document_that_was_cut_off_is_not_left_out(tmp_path):
    table(tmp_path / "a.csv", "a")
    table(tmp_path / "b.csv", "b")
    (tmp_path / "c.json").write_text('{"results": [{"model": "c", "item": "q1", "sco')
    assert f"{tmp_path}/c.json: not a complete JSON document" in refusal(tmp_path)


def test_what_does_not_look_like_scores_is_noted(tmp_path):
    table(tmp_path / "a.csv", "a")
    table(tmp_path / "b.csv", "b")
    (tmp_path / "config.json").write_text(json.dumps({"models": ["a", "b"], "steps": [{"task_id": "x", "weight": 1}]}))
    (tmp_path / "ids.json").write_text('["q1", "q2"]')
    (tmp_path / "samples.jsonl").write_text('{"task_id": "q1", "solution": "pass"}\n')
    (tmp_path / "summary.csv").write_text("model,accuracy\na,0.5\nb,0.6\n")
    (note,) = read_scores(tmp_path).notes
    assert note.kind == "beside"
    assert note.subject == ("config.json", "ids.json", "samples.jsonl", "summary.csv")


def test_files_are_left_out_on_purpose(tmp_path):
    table(tmp_path / "a.csv", "a")
    table(tmp_path / "b.csv", "b")
    table(tmp_path / "old" / "a.csv", "a")
    table(tmp_path / "old" / "deep" / "b.csv", "b")
    table(tmp_path / "broken.csv", "c", header="model,item,strict")
    for patterns in (("old", "broken.csv"), ("old/*", "*/broken*")):
        scores = read_scores(tmp_path, skip=patterns)
        assert scores.models == ("a", "b")
        old, broken = scores.notes if len(scores.notes[0].subject) > 1 else scores.notes[::-1]
        assert (old.kind, old.subject) == ("files", ("a.csv", "b.csv"))
        assert old.text.startswith(f"Left out on purpose, by the pattern '{patterns[0]}': 2 files,")
        assert broken.subject == ("broken.csv",)
    assert "skip=('nothing',): no file fits the pattern" in refusal(tmp_path, error=DomainError, skip=("nothing",))
    assert "no file is left" in refusal(tmp_path, skip=("*",))


def test_logs_are_left_out_on_purpose(tmp_path):
    inspect_log(tmp_path / "one.eval", model="m1")
    inspect_log(tmp_path / "two.eval", model="m2")
    (tmp_path / "three.eval").write_text("PK")
    scores = read_scores(tmp_path, skip=("three.eval",))
    assert scores.models == ("m1", "m2")


def test_the_list_of_items_may_lie_in_the_folder(tmp_path):
    table(tmp_path / "a.csv", "a")
    table(tmp_path / "b.csv", "b")
    (tmp_path / "items.csv").write_text("item,weight\nq1,1\nq2,2\nq3,1\n")
    assert f"{tmp_path}/items.csv: no column for the model" in refusal(tmp_path)
    scores = read_scores(tmp_path, items=tmp_path / "items.csv", item_column=["weight"])
    assert scores.columns["weight"] == ("1", "2", "1")


def test_wide_tables_of_folders_are_read(tmp_path):
    items = {f"q{n}": [n % 2] for n in range(10)}
    for model in "ab":
        pl.DataFrame({"model": [model], **items}).write_csv(tmp_path / f"{model}.csv")
    assert read_scores(tmp_path).models == ("a", "b")


def test_one_file_per_model(tmp_path):
    rows = "".join(f"{item},{score}\n" for item, score in ROWS)
    for model in ("gpt-4.1", "llama"):
        path = tmp_path / "runs" / model / f"{model}.csv"
        path.parent.mkdir(parents=True)
        path.write_text("item,score\n" + rows)
    with pytest.raises(OpenChoiceError, match=r"no column for the model.*model_from='file'") as caught:
        read_scores(tmp_path)
    assert caught.value.proposal == (Argument("model_from", "file"),)
    for where in ("file", "folder", r"path:runs/([^/]+)/"):
        assert read_scores(tmp_path, model_from=where).models == ("gpt-4.1", "llama")
    assert "nothing there for model_from='path:(x)'" in refusal(tmp_path, model_from="path:(x)")
    message = refusal(tmp_path, error=DomainError, column={"model": "item"}, model_from="file")
    assert "both say where the model is" in message
    named = [table(tmp_path / f"{model}.csv", model) for model in "ab"]
    assert "model_from is for logs" in refusal(*named, error=DomainError, model_from="task_args.prompt")


def test_one_file_per_run(tmp_path):
    for run in (1, 2, 10):
        path = tmp_path / f"run{run}.csv"
        path.write_text(
            "model,item,score\n" + "".join(f"{m},{q},{(run + n) % 2}\n" for m in "ab" for n, q in enumerate("xyz"))
        )
    with pytest.raises(OpenChoiceError, match=r"a second score for.*pass .*replicate_from='file' if every file") as it:
        read_scores(tmp_path)
    assert it.value.proposal == (Argument("replicate_from", "file"),)
    scores = read_scores(tmp_path, replicate_from="file")
    assert scores.replicates == ("run1.csv", "run2.csv", "run10.csv")
    # Numbers count the runs, wherever they come from.
    assert "the replicates run from 1 to 10 but" in refusal(
        tmp_path, error=DataError, replicate_from=r"path:run(\d+)\.csv"
    )


def test_one_wide_table_per_run(tmp_path):
    for run in (1, 2):
        items = {f"q{n}": [n % 2, (n + run) % 2] for n in range(10)}
        pl.DataFrame({"model": ["a", "b"], **items}).write_csv(tmp_path / f"run{run}.csv")
    assert read_scores(tmp_path, replicate_from="file").values.shape == (2, 2, 10)


def test_some_files_with_a_replicate_and_some_without_get_one_message(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,run,score\na,q,1,1\nb,q,1,0\n")
    for name in "bc":
        table(tmp_path / f"{name}.csv", "a")
    message = refusal(tmp_path)
    assert f"{tmp_path}/b.csv: no replicate column, but {tmp_path}/a.csv has one (1 files have the column, 2" in message
    assert "replicate_from='file'" in message


def test_a_file_that_repeats_others_is_proposed_to_be_left_out(tmp_path):
    for model in "ab":
        table(tmp_path / f"{model}.csv", model)
    everything = "".join(f"{model},{item},{score}\n" for model in "ab" for item, score in ROWS)
    (tmp_path / "all.csv").write_text("model,item,score\n" + everything)
    with pytest.raises(OpenChoiceError, match="leave the file that repeats the other out") as caught:
        read_scores(tmp_path)
    (skip,) = caught.value.proposal
    assert read_scores(tmp_path, skip=skip.value).models == ("a", "b")
