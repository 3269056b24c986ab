"""JSON documents whose keys are models or items, and objects over several lines in files of JSON lines."""

import json

import pytest

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores

MODELS, ITEMS = ("a", "b"), [f"q{number}" for number in range(1, 10)]
VALUES = [[1, 1, 0, 1, 0, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1, 0, 0, 1]]
OF = {model: dict(zip(ITEMS, row, strict=True)) for model, row in zip(MODELS, VALUES, strict=True)}


def written(path, document, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, **how))
    return path


def refusal(*paths, **choices):
    with pytest.raises(BbedgeError) as caught:
        read_scores(*paths, **choices)
    return str(caught.value)


def by_item(change=lambda value: value, of=OF):
    return {item: {model: change(of[model][item]) for model in MODELS} for item in ITEMS}


SHAPES = {
    "model and item, numbers": (OF, {"model": "key"}),
    "model and item, verdicts": (
        {model: {item: "pass" if value else "fail" for item, value in row.items()} for model, row in OF.items()},
        {"model": "key"},
    ),
    "model and item, records": (
        {model: {item: {"score": value, "cost": 3} for item, value in row.items()} for model, row in OF.items()},
        {"model": "key", "item": "key2"},
    ),
    "item and model, records": (
        by_item(lambda value: {"passed": bool(value), "seconds": 2.5}),
        {"model": "key2", "item": "key"},
    ),
    "model, lists of records": (
        {model: [{"id": item, "correct": bool(value)} for item, value in row.items()] for model, row in OF.items()},
        {"model": "key"},
    ),
    "records with their model": (
        {
            f"{model}-{item}": {"model": model, "task_id": item, "score": value}
            for model, row in OF.items()
            for item, value in row.items()
        },
        {},
    ),
}


@pytest.mark.parametrize(("document", "column"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_documents_by_key_are_read_once_the_keys_are_said_to_be_models_or_items(tmp_path, document, column, name):
    scores = read_scores(written(tmp_path / name, document, indent=2), column=column)
    assert scores.models == MODELS
    assert scores.items == tuple(ITEMS)
    assert scores.values[0].tolist() == VALUES


def test_a_wide_document_by_item(tmp_path):
    path = written(tmp_path / "a.json", by_item())
    scores = read_scores(path, column={"item": "key"}, format="wide")
    assert scores.values[0].tolist() == VALUES


@pytest.mark.parametrize("change", [bool, lambda value: "yes" if value else "no", str, lambda value: {"acc": value}])
def test_files_of_one_model_with_a_value_for_each_item(tmp_path, change):
    for model in MODELS:
        written(tmp_path / f"{model}.json", {item: change(value) for item, value in OF[model].items()})
    message = refusal(tmp_path, model_from="file")
    assert f"{tmp_path}/a.json: no column for the item; the columns are 'key'" in message
    assert "column={'item': 'key'} if the keys of the document are items" in message
    scores = read_scores(tmp_path, model_from="file", column={"item": "key"})
    assert scores.values[0].tolist() == VALUES


@pytest.mark.parametrize(
    "document",
    [
        # Settings, a summary, columns of a table, and values that are not alike.
        {"learning_rate": 0.1, "name": "x"},
        {"accuracy": 0.5, "f1": 0.25},
        {"item": {"0": "q1"}, "score": {"0": 1}},
        {"q1": {"score": 1}, "q2": 0.5},
        {"q1": [{"score": 1}], "q2": [{"score": 0}], "n": 2},
        {"a": [1, 0, 1], "b": [1, 1, 1]},
        {},
    ],
)
def test_documents_whose_keys_are_no_names_are_refused(tmp_path, document):
    path = written(tmp_path / "a.json", document)
    assert "neither its name nor its content is known" in refusal(path, column={"item": "key"}, model_from="file")


@pytest.mark.parametrize("name", ["task_results", "per_instance", "Questions"])
def test_records_by_key_beside_means_and_settings(tmp_path, name):
    for model, row in OF.items():
        records = {item: {"score": value, "cost": 0.5, "attempts": 2} for item, value in row.items()}
        document = {"score": 5.0, "total_cost": 4.5, "settings": {"temperature": 0}, name: records, "by": [1, 2]}
        written(tmp_path / model / "results.json", document)
    assert "column={'item': 'key'} if the keys of the document are items" in refusal(tmp_path, model_from="folder")
    scores = read_scores(tmp_path, model_from="folder", column={"item": "key"})
    assert (scores.models, scores.items) == (MODELS, tuple(ITEMS))
    assert scores.values[0].tolist() == VALUES


@pytest.mark.parametrize(
    "document",
    [
        {"score": 0.5, "benchmarks": {"mmlu": {"score": 0.5}, "gsm8k": {"score": 1.0}}},
        {"n": 2, "items": {"q1": {"score": 1}}, "questions": {"q1": {"score": 0}}},
        {"n": 2, "items": {"q1": {"score": 1}, "q2": 0}},
    ],
)
def test_other_objects_of_records_are_not_taken_for_items(tmp_path, document):
    path = written(tmp_path / "a.json", document)
    assert "neither its name nor its content is known" in refusal(path, column={"item": "key"}, model_from="file")


def test_settings_in_a_folder_are_passed_over_and_scores_by_key_are_not(tmp_path):
    rows = [{"model": m, "item": i, "score": v} for m, row in OF.items() for i, v in row.items()]
    written(tmp_path / "scores.json", rows)
    written(tmp_path / "config.json", {"temperature": 0.5, "seed": 3})
    written(tmp_path / "vocabulary.json", {item: number for number, item in enumerate(ITEMS)})
    assert read_scores(tmp_path).values[0].tolist() == VALUES
    written(tmp_path / "more.json", OF["a"])
    assert "more.json: no column for the model" in refusal(tmp_path)


def test_indented_objects_one_after_the_other_are_rows(tmp_path):
    rows = [{"model": m, "item": i, "score": v} for m, row in OF.items() for i, v in row.items()]
    for name in ("a.jsonl", "b.json"):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
        assert read_scores(path).values[0].tolist() == VALUES
        path.write_text(path.read_text()[:-9])
        assert f"{path}: not a complete JSON document" in refusal(path)


@pytest.mark.parametrize("first", ['{"model": "a", "item": "q1",', '{"model": "a", "item": "q1', '{"model"'])
def test_a_broken_first_line_is_a_broken_line(tmp_path, first):
    path = tmp_path / "a.jsonl"
    path.write_text(first + '\n{"model": "b", "item": "q1", "score": 1}\n')
    assert refusal(path).startswith(f"{path}:1: not valid JSON")


def test_a_key_that_comes_twice_is_refused(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"q1": 1, "q2": 0,\n"q1": 0}')
    assert f"{path}:2: key 'q1' appears more than once" in refusal(path, model_from="file", column={"item": "key"})


def test_what_a_long_file_is_shows_in_its_beginning(tmp_path, monkeypatch):
    rows = [{"model": m, "item": i, "score": v} for m, row in OF.items() for i, v in row.items()]
    path = tmp_path / "a.jsonl"
    for size in range(60, 400, 37):
        monkeypatch.setattr("bbedge.readers.tables.json_rows._HEAD", size)
        path.write_text(json.dumps({"results": rows}, indent=2))
        assert read_scores(path).values[0].tolist() == VALUES
        # A broken line is named, however much of the file is looked at.
        path.write_text('{"model": "a", "item": "q1",\n' + "\n".join(map(json.dumps, rows)))
        assert refusal(path).startswith(f"{path}:1: not valid JSON")


def test_a_file_for_every_record_is_refused_with_what_to_write(tmp_path):
    for item in ITEMS:
        written(tmp_path / "a" / f"{item}.json", {"task_id": item, "model": "a", "success": True})
    assert "'task_id', 'model', 'success': a single record; write the records of all files into one list" in refusal(
        tmp_path
    )
