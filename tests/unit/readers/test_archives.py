"""Zip archives of a folder: read like the folder, and refused where they hold what no folder does."""

import json
import os
import stat
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores
from bbedge.readers.survey import survey
from bbedge.text import shown_path
from log_makers import inspect_log, lm_eval_run
from shape_makers import SHAPES, mmlu_pro_answer

TABLE = "model,item,score\na,q,1\nb,q,0\n"


def packed(path, files, compression=zipfile.ZIP_DEFLATED):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def folder_packed(folder, path):
    files = {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}
    return packed(path, files)


def refusal(path, **choices):
    with pytest.raises(BbedgeError) as caught:
        read_scores(path, **choices)
    return str(caught.value)


@pytest.mark.parametrize("name", ["swe-bench", "bfcl", "livecodebench"])
def test_an_archive_is_read_like_its_folder(tmp_path, name):
    SHAPES[name].files(tmp_path / "runs")
    whole = read_scores(tmp_path / "runs")
    scores = read_scores(folder_packed(tmp_path / "runs", tmp_path / "runs.zip"))
    assert (scores.models, scores.items, scores.notes) == (whole.models, whole.items, whole.notes)
    assert scores.values.tolist() == whole.values.tolist()
    assert {each.sha256 for each in scores.sources} == {each.sha256 for each in whole.sources}


def test_names_from_the_paths_in_an_archive(tmp_path):
    rows = "item,score\nq,1\n"
    path = packed(tmp_path / "all.zip", {"runs/a/scores.csv": rows, "runs/b/scores.csv": rows, "__MACOSX/._x": "x"})
    assert read_scores(path, model_from="folder").models == ("a", "b")
    assert [each.name for each in read_scores(path, model_from="folder").sources] == ["a/scores.csv", "b/scores.csv"]


def test_messages_name_the_archive_and_the_file_in_it(tmp_path):
    path = packed(tmp_path / "all.zip", {"x/a.csv": TABLE, "x/b.csv": "model,item,score\nc,q,7\n"})
    assert refusal(path).startswith("all.zip/x/b.csv:2: score 7.0 is outside")
    assert read_scores(path, skip="all.zip/x/b.csv").models == ("a", "b")


def test_a_survey_names_the_archive(tmp_path):
    path = packed(tmp_path / "all.zip", {"runs/a_result.json": json.dumps([mmlu_pro_answer(1, pred=None)])})
    found = survey([str(path)])
    assert found.samples.first_error.startswith("all.zip/runs/a_result.json: sample 1: no answer was found")


def test_an_inspect_log_with_this_ending_is_a_log(tmp_path):
    log = inspect_log(tmp_path / "a.eval", eval_id="e")
    Path(log).rename(tmp_path / "a.zip")
    assert len(read_scores(tmp_path / "a.zip", least_models=1).models) == 1


def test_logs_in_an_archive_may_be_archives(tmp_path):
    (tmp_path / "runs").mkdir()
    inspect_log(tmp_path / "runs" / "a.eval", eval_id="e")
    path = folder_packed(tmp_path / "runs", tmp_path / "runs.zip")
    assert len(read_scores(path, least_models=1).models) == 1


def link(name, to):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, to


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../a.csv", "paths that lead out of the archive, '../a.csv'"),
        ("x/../../a.csv", "paths that lead out of the archive"),
        ("/etc/a.csv", "paths that lead out of the archive"),
        ("C:/a.csv", "paths that lead out of the archive"),
        ("x\\..\\a.csv", "paths that lead out of the archive"),
        ("x/more.zip", "archives inside the archive, 'x/more.zip'"),
        ("more.tar.gz", "archives inside the archive"),
        (".", "paths that lead out of the archive"),
        ("a.csv/b.csv", "all.zip: cannot be unpacked into"),
    ],
)
def test_what_no_folder_holds_is_refused(tmp_path, name, said):
    path = packed(tmp_path / "all.zip", {"a.csv": TABLE, name: TABLE})
    assert said in refusal(path)
    assert not list(tmp_path.glob("*.csv"))


def test_links_are_refused(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TABLE)
        archive.writestr(*link("b.csv", "/etc/passwd"))
    assert "links, 'b.csv'" in refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TABLE)
        archive.writestr("a.csv", TABLE)
    assert "several files of one name, 'a.csv'" in refusal(path)


def stating(path, size):
    """The archive, with another unpacked size of its last member in the directory."""
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<I", size)
    path.write_bytes(content)
    return path


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "space"))
    (tmp_path / "space").mkdir()
    path = stating(packed(tmp_path / "all.zip", {"a.csv": TABLE * 100}), 3 << 30)
    assert "unpack to more than 1 GiB" in refusal(path)
    many = packed(tmp_path / "many.zip", {f"{number}": "" for number in range(3000)}, zipfile.ZIP_STORED)
    monkeypatch.setattr("bbedge.readers.json_files._LEAST_BYTES", 1 << 20)
    assert "unpack to more than 1 GiB" in refusal(many)
    assert not list((tmp_path / "space").iterdir())


def test_no_more_is_unpacked_than_the_archive_states(tmp_path):
    path = stating(packed(tmp_path / "all.zip", {"a.csv": TABLE * 1000}), 20)
    assert "all.zip: not a complete zip archive (Bad CRC-32" in refusal(path)


def test_a_damaged_or_empty_archive_is_refused(tmp_path):
    path = packed(tmp_path / "all.zip", {"a.csv": TABLE})
    path.write_bytes(path.read_bytes()[:-30])
    assert f"{path}: not a complete zip archive" in refusal(path)
    assert "no files" in refusal(packed(tmp_path / "empty.zip", {}))


def test_an_archive_in_a_folder_is_left_alone_with_a_note(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    packed(tmp_path / "all.zip", {"a.csv": TABLE})
    (note,) = [note for note in read_scores(tmp_path).notes if note.kind == "beside"]
    assert note.subject == ("all.zip",)


@pytest.mark.every_push("starts the program, whose end takes the temporary folder away")
def test_nothing_stays_behind(tmp_path):
    space = tmp_path / "space"
    space.mkdir()
    lm_eval_run(tmp_path / "runs")
    path = folder_packed(tmp_path / "runs", tmp_path / "runs.zip")
    program = f"from bbedge.readers import read_scores; read_scores({str(path)!r}, least_models=1)"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "TMPDIR": str(space)})
    assert not list(space.iterdir())


def test_paths_of_others_are_shown_as_they_are():
    assert shown_path("/var/tmp/other/a.csv") == "/var/tmp/other/a.csv"


def test_archives_that_a_folder_has_and_nothing_else_are_to_be_named(tmp_path):
    packed(tmp_path / "in" / "a.zip", {"a.csv": TABLE})
    with pytest.raises(BbedgeError, match=r"in/a\.zip: an archive, which is read if it is named itself"):
        read_scores(tmp_path / "in")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BbedgeError, match=r"empty: no files there; name hidden files"):
        read_scores(tmp_path / "empty")
