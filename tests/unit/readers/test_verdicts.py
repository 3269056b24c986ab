"""Scores that are words for right and wrong, and numbers that are written as text."""

import json

import polars as pl
import pytest

from bbedge.errors import BbedgeError, DataError
from bbedge.readers import read_scores

RIGHT = {"a": (True, True, False, True), "b": (False, True, False, False)}


def rows(right, wrong):
    return [
        {"model": model, "item": f"q{number}", "score": right if correct else wrong}
        for model, known in RIGHT.items()
        for number, correct in enumerate(known)
    ]


def written(path, found):
    if path.suffix == ".csv":
        pl.DataFrame(found).write_csv(path)
    elif path.suffix == ".parquet":
        pl.DataFrame(found).write_parquet(path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(found))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


def refusal(path):
    with pytest.raises(BbedgeError) as caught:
        read_scores(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("passed", "failed"),
        ("PASS", "FAIL"),
        ("success", "failure"),
        ("success", "failed"),
        ("Correct", "Wrong"),
        ("correct", "incorrect"),
        ("yes", " no "),
        ("resolved", "unresolved"),
        ("Solved", "Unsolved"),
        ("C", "I"),
        ("True", "FALSE"),
        ("1", "0"),
        ("1.0", "0"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_words_and_numbers_as_text_are_scores(tmp_path, right, wrong, ending):
    scores = read_scores(written(tmp_path / f"a.{ending}", rows(right, wrong)))
    assert scores.models == ("a", "b")
    assert scores.values[0].tolist() == [[1, 1, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_an_empty_text_among_words_is_a_missing_score(tmp_path, ending):
    found = rows("passed", "failed")
    found[2]["score"] = ""
    assert "2 of 8" not in refusal(written(tmp_path / f"a.{ending}", found))
    scores = read_scores(tmp_path / f"a.{ending}", incomplete="drop-items")
    assert scores.values[0].tolist() == [[1, 1, 1], [0, 1, 0]]


PLACES = {"csv": "a.csv:9: ", "jsonl": "a.jsonl:8: ", "json": "a.json: record 8: ", "parquet": "a.parquet: row 8: "}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("timeout", "score 'timeout' is text; expected a number"),
        ("no", "'no' in a score column that held passed and failed before"),
        ("0", "'0' in a score column that held passed and failed before"),
        ("false", "'false' in a score column that held passed and failed before"),
    ],
)
@pytest.mark.parametrize("ending", PLACES)
def test_a_word_that_does_not_belong_to_the_others_is_refused_with_its_place(tmp_path, word, said, ending):
    found = rows("passed", "failed")
    found[-1]["score"] = word
    assert refusal(written(tmp_path / f"a.{ending}", found)).startswith(f"{tmp_path}/{PLACES[ending]}{said}")


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_texts_and_numbers_in_one_column_are_refused(tmp_path, ending):
    found = rows(1, 0)
    found[-1]["score"] = "0"
    assert refusal(written(tmp_path / f"a.{ending}", found)).startswith(
        f"{tmp_path}/{PLACES[ending]}score '0' is text; expected a number"
    )


def test_texts_in_one_piece_of_a_file_and_numbers_in_another_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bbedge.readers.tables.json_rows._ROWS", 4)
    found = [*rows("1", "0")[:4], *rows(1, 0)[4:]]
    message = refusal(written(tmp_path / "a.json", found))
    assert message.startswith(f"{tmp_path}/a.json: record 5: '0.0' in a score column that held texts before")


def test_words_fit_no_other_range(tmp_path):
    path = written(tmp_path / "a.csv", rows("passed", "failed"))
    with pytest.raises(DataError, match=r"a\.csv:2: score true is not a number in the range 0 to 10"):
        read_scores(path, score_range=(0, 10))


def test_a_wide_table_of_words(tmp_path):
    names = [f"q{number}" for number in range(8)]
    lines = [",".join(["model", *names]), ",".join(["a", *["pass"] * 8]), ",".join(["b", *["fail"] * 8])]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert read_scores(tmp_path / "a.csv").values[0].tolist() == [[1] * 8, [0] * 8]


def answered(path, right, *, column="correct"):
    """Answers of yes or no beside a column that is the same for both models, or not."""
    pairs = [(model, number) for model in "ab" for number in range(6)]
    found = [
        {"model": model, "item": f"q{number}", "answer": "no" if model == "a" else "yes", column: right(model, number)}
        for model, number in pairs
    ]
    return written(path, found)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_right_answers_in_a_column_called_correct_are_asked_about(tmp_path, ending):
    path = answered(tmp_path / f"a.{ending}", lambda _, number: "yes" if number % 2 else "no")
    said = refusal(path)
    assert "'correct' is the same for every model on each item, and has the words of 'answer'" in said
    assert "pass column={'score': 'correct'}" in said
    assert read_scores(path, column={"score": "correct"}).values[0, 0].tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "right",
    [
        lambda model, number: "yes" if (number % 2) == (model == "a") else "no",  # differs between models
        lambda model, number: number % 2,  # other words than the answers
        lambda model, number: "yes",  # every answer is right
    ],
)
def test_a_column_called_correct_is_a_score_otherwise(tmp_path, right):
    scores = read_scores(answered(tmp_path / "a.csv", right))
    assert scores.values.shape == (1, 2, 6)


def test_a_column_called_score_is_one(tmp_path):
    path = answered(tmp_path / "a.csv", lambda _, number: "yes" if number % 2 else "no", column="score")
    assert read_scores(path).values[0, 0].tolist() == [0, 1, 0, 1, 0, 1]
