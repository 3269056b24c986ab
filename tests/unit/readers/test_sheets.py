"""Spreadsheets: what is read, and what would have to be guessed."""

import datetime
import struct
import sys
import zipfile

import pytest

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores

openpyxl = pytest.importorskip("openpyxl", reason="install openpyxl to try spreadsheets")

RIGHT = {"a": (1, 0, 1), "b": (0, 0, 1)}


def rows(score=float):
    return [[model, f"q{n}", score(right)] for model, known in RIGHT.items() for n, right in enumerate(known)]


def sheet(path, cells, header=("model", "item", "score"), title="scores", **others):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in [header, *cells] if header else cells:
        book.active.append(row)
    for name, content in others.items():
        for row in content:
            (book[name] if name in book.sheetnames else book.create_sheet(name)).append(row)
        if not content:
            book.create_sheet(name)
    book.save(path)
    return path


def refusal(path, **choices):
    with pytest.raises(BbedgeError) as caught:
        read_scores(path, **choices)
    return str(caught.value)


@pytest.mark.parametrize(
    "score",
    [float, int, bool, str, lambda right: "passed" if right else "failed"],
    ids=["1.0", "1", "true", "1", "passed"],
)
@pytest.mark.parametrize("name", ["a.xlsx", "a.XLSX", "a.xlsm"])
def test_a_sheet_is_a_table(tmp_path, name, score):
    scores = read_scores(sheet(tmp_path / name, rows(score), empty=[]))
    assert (scores.models, scores.items) == (("a", "b"), ("q0", "q1", "q2"))
    assert scores.values[0].tolist() == [list(known) for known in RIGHT.values()]


def test_a_sheet_in_a_folder_with_the_model_in_its_name(tmp_path):
    for model in RIGHT:
        sheet(tmp_path / f"{model}.xlsx", [row[1:] for row in rows() if row[0] == model], header=("item", "score"))
    sheet(tmp_path / "notes.xlsx", [["remember", "the milk"]], header=("what", "how"))
    assert read_scores(tmp_path, model_from="file").models == ("a", "b")


def test_blank_rows_and_numbers_as_names(tmp_path):
    cells = [[None], [], *([model, 1 + n, right] for model, known in RIGHT.items() for n, right in enumerate(known))]
    scores = read_scores(sheet(tmp_path / "a.xlsx", [["model", "item", "score"], *cells], header=None))
    assert scores.items == ("1", "2", "3")
    path = sheet(tmp_path / "b.xlsx", [[], ["model", "item", "score"], [], ["a", "q", 1], [], ["b", "q", "half"]], None)
    assert refusal(path).startswith(f"{path}: row 6: score 'half' is text")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([["a", "q0", 2]], "row 2: score 2.0 is outside [0, 1]"),
        ([["a", "q0", "#N/A"]], "row 2: score '#N/A' is text"),
        ([["a", "q0", 1, 7]], "row 2: more values than the header has names"),
        ([["a", "q0", "=1/2"]], "row 2: the formula '=1/2' without a saved value"),
        ([["a", datetime.date(2026, 1, 1), 1]], "row 2: the item is a datetime"),
        ([["a", None, 1]], "row 2: no item in this row"),
        ([["a", "q0", 1], ["b", "q0", True]], "row 3: 'true' in a score column that held numbers before"),
        ([], "a header but no rows"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused_with_its_row(tmp_path, cells, said):
    path = sheet(tmp_path / "a.xlsx", cells)
    assert refusal(path).startswith(f"{path}: {said}")


def test_several_sheets_are_refused(tmp_path):
    path = sheet(tmp_path / "a.xlsx", rows(), more=[["x"]])
    assert f"{path}: the sheets 'scores', 'more' have something in them; save the sheet with the scores" in refusal(
        path
    )
    assert "no sheet has anything in it" in refusal(sheet(tmp_path / "b.xlsx", [], header=None))


def test_rows_beyond_the_size_that_a_sheet_states_are_read(tmp_path):
    path, other = sheet(tmp_path / "a.xlsx", rows()), tmp_path / "b.xlsx"
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(other, "w") as changed:
        for name in whole.namelist():
            content = whole.read(name)
            if name.endswith("sheet1.xml"):
                assert b'<dimension ref="A1:C7"' in content
                content = content.replace(b'<dimension ref="A1:C7"', b'<dimension ref="A1:B2"')
            changed.writestr(name, content)
    assert read_scores(other).values[0].tolist() == [list(known) for known in RIGHT.values()]


def test_a_damaged_file_is_refused(tmp_path):
    path = sheet(tmp_path / "a.xlsx", rows())
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert f"{path}: not a complete zip archive" in refusal(path)
    with zipfile.ZipFile(path, "w") as other:
        other.writestr("a.txt", "x")
    assert f"{path}: not a readable spreadsheet" in refusal(path)


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path):
    path = sheet(tmp_path / "a.xlsx", rows())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/media/x.bin", b"\0" * (1 << 20))
    content = bytearray(path.read_bytes())
    # The size that the directory states of the last member.
    at = content.rfind(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<I", 3 << 30)
    path.write_bytes(content)
    assert "unpack to more than 1 GiB" in refusal(path)


def test_without_the_library_the_message_says_how_to_install_it(tmp_path, monkeypatch):
    path = sheet(tmp_path / "a.xlsx", rows())
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    said = (
        f"{path}: a spreadsheet, which needs openpyxl; install it with: pip install openpyxl; or save the sheet as CSV"
    )
    assert said in refusal(path)
