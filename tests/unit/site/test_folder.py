"""A folder that is replaced as a whole: what is written, kept, refused, and repaired."""

import json
import os

import pytest

from bbedge.errors import BbedgeError
from bbedge.site import folder as module
from bbedge.site.folder import MANIFEST, Written, write_folder

FILES = [("index.html", "one"), ("models/a.html", "a"), ("models/b.html", "b"), ("data.jsonl", ["x\n", "y\n"])]


@pytest.fixture(params=[True, False], ids=["exchange", "two renames"])
def target(tmp_path, monkeypatch, request):
    """Where to write, on systems that can exchange folders and on others."""
    if not request.param:
        monkeypatch.setattr(module, "exchange", lambda one, other: False)
    return tmp_path / "place" / "site"


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def without_manifest(folder):
    return {path: text for path, text in contents(folder).items() if path != MANIFEST}


def is_alone(target):
    return list(target.parent.iterdir()) == [target]


def test_a_folder_has_these_files_and_a_list_of_them(target):
    done = write_folder(target, FILES)
    assert done == Written(changed=tuple(path for path, _ in FILES), removed=(), unchanged=0)
    assert without_manifest(target) == {
        "index.html": "one",
        "models/a.html": "a",
        "models/b.html": "b",
        "data.jsonl": "x\ny\n",
    }
    listed = json.loads((target / MANIFEST).read_text())["files"]
    assert sorted(listed) == sorted(path for path, _ in FILES)
    assert is_alone(target)


def test_nothing_is_done_where_nothing_changed(target):
    write_folder(target, FILES)
    before = {path: path.stat() for path in [target, *target.rglob("*")]}
    assert write_folder(target, FILES) == Written(changed=(), removed=(), unchanged=len(FILES))
    assert {path: path.stat() for path in [target, *target.rglob("*")]} == before
    assert is_alone(target)


def test_only_what_changed_is_written_again(target):
    write_folder(target, FILES)
    for path in target.rglob("*"):
        os.utime(path, (1e9, 1e9))
    inode = (target / "models/a.html").stat().st_ino
    done = write_folder(target, [("index.html", "two"), FILES[1], ("models/c.html", "c"), FILES[3]])
    assert done == Written(changed=("index.html", "models/c.html"), removed=("models/b.html",), unchanged=2)
    assert sorted(without_manifest(target)) == ["data.jsonl", "index.html", "models/a.html", "models/c.html"]
    assert (target / "models/a.html").stat().st_ino == inode
    assert (target / "models/a.html").stat().st_mtime == (target / "data.jsonl").stat().st_mtime == 1e9
    assert (target / "index.html").stat().st_mtime > 1e9
    assert is_alone(target)


def test_files_of_others_stay_what_they_are(target):
    write_folder(target, FILES)
    (target / "CNAME").write_text("example.org")
    (target / ".git" / "refs").mkdir(parents=True)
    (target / ".git" / "HEAD").write_text("ref")
    (target / "models" / "mine.txt").write_text("mine")
    (target / "link").symlink_to("nowhere")
    inode = (target / "CNAME").stat().st_ino
    write_folder(target, [("index.html", "two")])
    assert without_manifest(target) == {
        "index.html": "two",
        "CNAME": "example.org",
        ".git/HEAD": "ref",
        "models/mine.txt": "mine",
    }
    assert (target / ".git" / "refs").is_dir()
    assert str((target / "link").readlink()) == "nowhere"
    assert (target / "CNAME").stat().st_ino == inode
    assert is_alone(target)


def test_a_disk_without_links_keeps_files_and_times_all_the_same(target, monkeypatch):
    def no_links(*paths):
        raise OSError(1, "not permitted")

    write_folder(target, FILES)
    (target / "CNAME").write_text("example.org")
    for path in target.rglob("*"):
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(os, "link", no_links)
    write_folder(target, [*FILES, ("more.txt", "more")])
    assert contents(target).keys() >= {"CNAME", "index.html", "more.txt"}
    assert (target / "CNAME").stat().st_mtime == (target / "index.html").stat().st_mtime == 1e9
    assert is_alone(target)


def test_what_others_changed_is_written_again_but_not_removed(target):
    write_folder(target, FILES)
    (target / "index.html").write_text("mine")
    (target / "models/b.html").write_text("mine")
    done = write_folder(target, FILES[:2])
    assert done.changed == ("index.html",)
    assert without_manifest(target) == {"index.html": "one", "models/a.html": "a", "models/b.html": "mine"}
    # From now on it is theirs.
    write_folder(target, FILES[:1])
    assert without_manifest(target) == {"index.html": "one", "models/b.html": "mine"}


def test_an_empty_folder_is_taken_with_its_mode(target):
    target.mkdir(parents=True)
    target.chmod(0o750)
    write_folder(target, FILES)
    assert target.stat().st_mode & 0o777 == 0o750
    assert len(contents(target)) == len(FILES) + 1


def test_a_link_to_a_folder_stays_one(target, tmp_path):
    write_folder(target, FILES)
    (tmp_path / "link").symlink_to(target)
    write_folder(tmp_path / "link", [("index.html", "two")])
    assert (tmp_path / "link").is_symlink()
    assert (target / "index.html").read_text() == "two"


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda target: (target / "mine").write_text("x"), "is not empty, and bbedge publish did not write it"),
        (lambda target: (target / MANIFEST).write_text("{"), "publish into a new folder"),
        (lambda target: (target / MANIFEST).write_text('{"version": 2, "files": {}}'), "is of version 2"),
        (lambda target: (target / MANIFEST).write_text('{"version": 1}'), "'files' is missing"),
    ],
)
def test_a_folder_of_others_is_refused_and_stays_what_it_is(target, prepare, words):
    target.mkdir(parents=True)
    prepare(target)
    before = contents(target)
    with pytest.raises(BbedgeError, match=words):
        write_folder(target, FILES)
    assert contents(target) == before
    assert is_alone(target)


def test_a_file_of_others_in_the_place_of_a_new_one_is_refused(target):
    write_folder(target, FILES)
    (target / "new").mkdir()
    (target / "new" / "page.html").write_text("mine")
    (target / "models" / "c").write_text("mine")
    before = contents(target)
    for path in ("new/page.html", "new", "models/c/x.html"):
        with pytest.raises(BbedgeError, match="bbedge publish did not write it, and needs its name"):
            write_folder(target, [*FILES, (path, "ours")])
        assert contents(target) == before
    assert is_alone(target)


def test_places_that_cannot_be_replaced_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(BbedgeError, match="is a file"):
        write_folder(tmp_path / "file", FILES)
    (tmp_path / "here" / "inside").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "inside")
    for place in (tmp_path / "here" / "inside", tmp_path / "here", tmp_path / "here" / "inside" / ".."):
        with pytest.raises(BbedgeError, match="the current folder"):
            write_folder(place, FILES)
    with pytest.raises(BbedgeError, match="where a disk is mounted"):
        write_folder(module.Path("/proc"), FILES)
    assert contents(tmp_path) == {"file": "x"}


def test_an_error_in_the_middle_leaves_the_folder_as_it_was(target):
    def failing():
        yield FILES[0]
        yield "models/a.html", "other"
        raise ValueError("no")

    write_folder(target, FILES)
    (target / "CNAME").write_text("example.org")
    before = contents(target)
    with pytest.raises(ValueError, match="no"):
        write_folder(target, failing())
    assert contents(target) == before
    assert is_alone(target)


def test_a_file_is_written_by_its_own_function(target):
    write_folder(target, [("picture.png", lambda path: path.write_bytes(b"\x89"))])
    assert (target / "picture.png").read_bytes() == b"\x89"


def test_names_of_folders_may_be_long_and_alike(tmp_path):
    names = ["x" * 250, "x" * 249 + "y"]
    for name in names:
        write_folder(tmp_path / name, [("index.html", name)])
    for name in names:
        write_folder(tmp_path / name, [("index.html", f"{name} again")])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert [(tmp_path / name / "index.html").read_text() for name in names] == [f"{name} again" for name in names]


def test_a_file_that_others_made_meanwhile_is_not_lost(target, monkeypatch):
    write_folder(target, FILES)
    switch = module._switch

    def late(there, made):
        (there / "late.txt").write_text("late")
        switch(there, made)

    monkeypatch.setattr(module, "_switch", late)
    with pytest.raises(BbedgeError, match=r"'late.txt' changed while"):
        write_folder(target, [("index.html", "two")])
    (left,) = [path for path in target.parent.iterdir() if path != target]
    assert contents(left)["late.txt"] == "late"
    assert without_manifest(target) == {"index.html": "two"}
    # It stays until it is taken away.
    with pytest.raises(BbedgeError, match=r"'late.txt' changed while"):
        write_folder(target, [("index.html", "two")])
    assert contents(left)["late.txt"] == "late"
