"""The file about models: any columns, and no model that the leaderboard does not have."""

from __future__ import annotations

import pytest

from bbedge.errors import FormatError
from bbedge.readers.lists import MOST_BYTES, MOST_COLUMNS, MOST_LETTERS, read_model_info

MODELS = ("a", "b", "c d")


def written(folder, text: str):
    path = folder / "models.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_column_besides_the_names_is_kept_as_text(tmp_path):
    path = written(tmp_path, '\ufeffprice, Model ,note\n1.50,b,"x, y"\n\n,c d\n')
    table = read_model_info(path, MODELS)
    assert table.columns == ("price", "note")
    assert table.rows == {"b": ("1.50", "x, y"), "c d": ("", "")}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model,price\nB,1\nx,2\n", r"models\.csv: 'B', 'x' are not on .*; .* models are 'a', 'b', 'c d'"),
        ("name,price\na,1\n", "expected one column named model; found 'name', 'price'"),
        ("model,Model\na,b\n", "expected one column named model"),
        ("\n", "expected one column named model; found nothing"),
        ("model,x,X\na,1,2\n", "two columns are named 'x'"),
        ("model,,x\na,1,2\n", "a column has no name"),
        ("model,x\na,1,2\n", r"models\.csv:2: more fields than columns"),
        ("model,x\n,1\n", r"models\.csv:2: the model has no name"),
        ("model,x\na,1\nb,1\na,2\n", r"models\.csv:4: model 'a' comes twice"),
        ("model,x\n", "lists no models"),
        ('model,x\na,"1\n', "not a CSV file in UTF-8"),
        (f"model,x\na,{'1' * (MOST_LETTERS + 1)}\n", f"the value under 'x' has more than {MOST_LETTERS} letters"),
        (f"model,{','.join(f'c{i}' for i in range(MOST_COLUMNS + 1))}\n", f"keep at most {MOST_COLUMNS}"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_place(tmp_path, text, reason):
    with pytest.raises(FormatError, match=reason):
        read_model_info(written(tmp_path, text), MODELS)


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path):
    with pytest.raises(FormatError, match="models"):
        read_model_info(tmp_path / "models.csv", MODELS)
    path = tmp_path / "models.csv"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(FormatError, match="larger than"):
        read_model_info(path, MODELS)
