"""Paths of all kinds: links, pipes, devices, names that no file can have. None is left out without a word."""

import os
import socket

import polars as pl
import pytest

from bbedge.errors import FormatError
from bbedge.readers import read_items, read_scores
from bbedge.readers.assemble.duplicates import RepeatedScoreError
from bbedge.readers.opening import files_matching, files_of
from bbedge.readers.survey import survey

A = "model,item,score\na,q1,1\na,q2,0\n"
B = "model,item,score\nb,q1,0\nb,q2,1\n"


def refusal(path, read=read_scores):
    with pytest.raises(FormatError) as caught:
        read(path)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    """A folder with one model's scores, and another's in a folder elsewhere."""
    (tmp_path / "here" / "run").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "run" / "a.csv").write_text(A)
    (tmp_path / "there" / "b.csv").write_text(B)
    return tmp_path / "here"


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_linked_folder_is_read(folder):
    (folder / "linked").symlink_to(folder.parent / "there")
    assert read_scores(folder).models == ("a", "b")
    assert read_scores(f"{folder}/*").models == ("a", "b")
    assert read_scores(f"{folder}/**/*.csv").models == ("a", "b")


def test_links_in_a_circle_come_to_an_end(folder):
    (folder / "linked").symlink_to(folder.parent / "there")
    for name in ("run", "there"):
        for number in range(6):
            place = folder / "run" if name == "run" else folder.parent / "there"
            (place / f"up{number}").symlink_to(folder)
    assert read_scores(folder).models == ("a", "b")
    assert read_scores(f"{folder}/**").models == ("a", "b")
    assert read_scores(f"{folder}/**/*.csv").models == ("a", "b")
    assert read_scores(f"{folder}/**/**/[ab].csv").models == ("a", "b")


def test_a_folder_is_entered_by_its_own_path_and_not_by_a_link_to_it(folder):
    (folder / "latest").symlink_to("run")
    assert files_of(str(folder))[0] == [str(folder / "run" / "a.csv")]
    assert files_matching(f"{folder}/**/latest/*") == [str(folder / "latest" / "a.csv")]


def test_a_link_to_itself(tmp_path):
    (tmp_path / "a.csv").symlink_to("a.csv")
    assert "a.csv: cannot be read" in refusal(tmp_path / "a.csv")
    assert "a.csv: cannot be read" in refusal(tmp_path)


@pytest.mark.parametrize("given", ["lost.csv", "", "*.csv", "**/*.csv"])
def test_a_link_to_nothing_is_refused_by_name(tmp_path, given):
    (tmp_path / "b.csv").write_text(A + B.partition("\n")[2])
    (tmp_path / "lost.csv").symlink_to("nowhere.csv")
    message = refusal(os.path.join(tmp_path, given))  # noqa: PTH118 - patterns
    assert f"{tmp_path}/lost.csv: a link to a file that does not exist; restore the file or remove" in message
    with pytest.raises(FormatError, match="a link to a file that does not exist"):
        survey([os.path.join(tmp_path, given)])  # noqa: PTH118


# --- patterns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["x/1.csv", "x/y/2.csv", "3.csv"]),
        ("*.csv", ["3.csv"]),
        ("**", ["x/1.csv", "x/y/2.csv", "3.csv"]),
        ("**/*.csv", ["x/1.csv", "x/y/2.csv", "3.csv"]),
        ("**/y", ["x/y/2.csv"]),
        ("x/*", ["x/1.csv", "x/y/2.csv"]),
        ("x/[0-9].csv", ["x/1.csv"]),
        ("./x/../?.csv", ["x/../3.csv"]),
        (".hidden/*", [".hidden/4.csv"]),
        (".*/*", [".hidden/4.csv"]),
        ("no/**", []),
        ("3.csv/*", []),
    ],
)
def test_patterns(tmp_path, monkeypatch, pattern, found):
    for name in ("x/1.csv", "x/y/2.csv", "3.csv", ".hidden/4.csv", "x/.5.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(A)
    monkeypatch.chdir(tmp_path)
    assert files_matching(pattern) == sorted(found)
    assert files_matching(f"{tmp_path}/{pattern}") == sorted(f"{tmp_path}/{name}" for name in found)


def test_a_folder_that_may_not_be_looked_into_is_refused(folder, monkeypatch):
    listdir = os.listdir

    def denied(path):
        if str(path).endswith("run"):
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", denied)
    assert "run: permission denied" in refusal(folder)


# --- pipes, sockets, devices -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [read_scores, read_items, lambda path: survey([str(path)])])
def test_a_named_pipe_is_refused(tmp_path, read, monkeypatch):
    os.mkfifo(tmp_path / "a.csv")
    # Opening it would wait for a writer that never comes.
    monkeypatch.setattr("pathlib.Path.open", lambda *_: pytest.fail("it was opened"))
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("it was opened"))
    assert "a.csv: a named pipe, not a regular file; write its content to a file" in refusal(tmp_path / "a.csv", read)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
@pytest.mark.parametrize("read", [read_scores, read_items])
def test_a_device_is_refused(path, read):
    assert f"{path}: a device, not a regular file" in refusal(path, read)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("a.csv")
        assert "a.csv: a socket" in refusal("a.csv")


def test_what_is_no_file_in_a_folder_is_noted(folder):
    os.mkfifo(folder / "pipe.csv")
    (folder / "b.csv").write_text(B)
    assert any("pipe.csv" in str(note) for note in read_scores(folder).notes)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [read_scores, read_items])
@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x" * 300, "x" * 5000])
def test_a_name_that_is_too_long(tmp_path, name, read):
    message = refusal(tmp_path / name, read)
    assert "File name too long" in message
    assert name in message


def test_a_pattern_that_is_too_long(tmp_path):
    assert "none that fits it as a pattern" in refusal(f"{tmp_path}/{'x' * 300}*.csv")


@pytest.mark.parametrize("given", ["a\0.csv", "a\0*.csv", "**/\0", "\0"])
@pytest.mark.parametrize("read", [read_scores, read_items])
def test_nul_in_a_path(given, read):
    assert "a path cannot hold a NUL character" in refusal(given, read)


@pytest.mark.parametrize("read", [read_scores, read_items])
def test_a_path_that_is_not_unicode(read):
    assert "an unpaired surrogate in the path" in refusal("a\ud800.csv", read)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_name_that_is_not_utf8(tmp_path, suffix):
    import polars as pl

    frame = pl.DataFrame({"model": ["a", "b"], "item": ["q", "q"], "score": [1.0, 0.0]})
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff" + suffix.encode())
    with open(path, "wb") as file:  # noqa: PTH123
        getattr(frame, {".csv": "write_csv", ".jsonl": "write_ndjson", ".parquet": "write_parquet"}[suffix])(file)
    if suffix == ".parquet":
        assert r"\udcff.parquet: the path is not valid Unicode" in refusal(path)
    else:
        assert read_scores(path).models == ("a", "b")


# --- names in paths ---------------------------------------------------------------------------------------------------


def subjects(folder, ending, extra=()):
    """A file for every subject of every model, each of which numbers its own questions."""
    for model, right in (("a", 1), ("b", 0)):
        for subject, change in (("law", 0), ("maths", 1)):
            rows = [{"id": number, "correct": (number + change * right) % 2, **dict(extra)} for number in range(4)]
            write_table(folder / model / f"{subject}.{ending}", rows)


def write_table(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows)
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[path.suffix](path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_file_may_be_a_part_of_the_item(tmp_path, ending):
    subjects(tmp_path, ending)
    with pytest.raises(RepeatedScoreError, match=r"column=\{'item': 'file\+id'\} if each has questions of its own"):
        read_scores(tmp_path, model_from="folder")
    scores = read_scores(tmp_path, model_from="folder", column={"item": "file+id"})
    assert scores.items == tuple(f"{subject}+{number}" for subject in ("law", "maths") for number in range(4))
    assert scores.values[0].tolist() == [[0, 1, 0, 1, 1, 0, 1, 0], [0, 1, 0, 1] * 2]


def test_the_folder_may_be_a_part_of_the_item_and_a_column_of_that_name_comes_first(tmp_path):
    for model in "ab":
        for subject in ("law", "maths"):
            write_table(tmp_path / subject / f"{model}.csv", [{"id": n, "score": n % 2, "file": "f"} for n in range(3)])
    scores = read_scores(tmp_path, model_from="file", column={"item": "folder+id"})
    assert scores.items == tuple(f"{subject}+{number}" for subject in ("law", "maths") for number in range(3))
    with pytest.raises(RepeatedScoreError):
        read_scores(tmp_path, model_from="file", column={"item": "file+id"})


def test_a_frame_has_no_file(tmp_path):
    frame = pl.DataFrame({"model": ["a", "b"], "id": [1, 1], "score": [1, 0]})
    with pytest.raises(FormatError, match=r"no column 'file\+id' for the item"):
        read_scores(frame, column={"item": "file+id"})
