"""The one atomic write: whole or not at all, and never something else than what was there."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bbedge.errors import DataError
from bbedge.files import UNFINISHED, replacing, write_whole


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_new_file_gets_the_usual_mode_and_nothing_is_beside_it(tmp_path, umask):
    write_whole(tmp_path / "a.json", ["one\n", "zwei ü\r\n"])
    assert (tmp_path / "a.json").read_bytes() == "one\nzwei ü\r\n".encode()
    assert mode(tmp_path / "a.json") == 0o640
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("before", [0o600, 0o664, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path, before):
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(before)
    write_whole(path, "new")
    assert (path.read_text(), mode(path)) == ("new", before)


def test_while_it_is_written_the_content_is_as_private_as_the_file(tmp_path, umask):
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
        (beside,) = [each for each in tmp_path.iterdir() if each != path]
        assert mode(beside) == 0o600
        assert path.read_text() == "old"
        assert beside.name.startswith(".a.json.")
        assert beside.name.endswith(UNFINISHED)


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "a.json.part").symlink_to(victim)
    write_whole(tmp_path / "a.json", "new")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a.json").is_symlink()


@pytest.mark.parametrize("target_exists", [True, False])
def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path, target_exists):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.json", tmp_path / "link.json"
    if target_exists:
        target.write_text("old")
        target.chmod(0o600)
    link.symlink_to("there/real.json")
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "there") == ["real.json"]
    if target_exists:
        assert mode(target) == 0o600


def test_a_device_is_written_to():
    before = Path(os.devnull).stat()
    write_whole(Path(os.devnull), "gone")
    after = Path(os.devnull).stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)


def test_a_device_that_refuses_is_an_error():
    with pytest.raises(DataError, match=r"/dev/full: cannot be written \(No space left on device\)"):
        write_whole(Path("/dev/full"), "text")


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(30)
    assert found == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_in_a_file_is_written_to_and_not_replaced(tmp_path):
    out = tmp_path / "out.txt"
    script = "from pathlib import Path; from bbedge.files import write_whole; write_whole(Path('/dev/stdout'), 'text')"
    with out.open("wb") as file:
        inode = os.fstat(file.fileno()).st_ino
        subprocess.run([sys.executable, "-c", script], stdout=file, check=True)
    assert (out.read_text(), out.stat().st_ino) == ("text", inode)
    assert Path("/dev/stdout").is_symlink()


class Interruption(BaseException):
    """Not an Exception, as KeyboardInterrupt is not."""


@pytest.mark.parametrize("error", [RuntimeError, Interruption])
def test_after_an_error_all_is_as_before(tmp_path, error):
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as file:  # noqa: PT012 - the block is what is tested
        file.write(b"x" * 100_000)
        raise error
    assert (path.read_text(), names(tmp_path)) == ("old", ["a.json"])


def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    script = (
        "import os, signal, sys; from pathlib import Path; from bbedge.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'new' * 100_000); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert all(name == "a.json" or name.endswith(UNFINISHED) for name in names(tmp_path))


def test_a_name_of_255_bytes_can_be_written(tmp_path):
    for name in ("a" * 255, "ü" * 127):
        write_whole(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"


@pytest.mark.parametrize("name", ["no/x", "x" * 256, "folder", "file/x", "loop", "nul\0"])
def test_what_cannot_be_written_is_refused_by_name(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(DataError, match="cannot be written"):
        write_whole(tmp_path / name, "text")
    assert names(tmp_path) == ["file", "folder", "loop"]


def test_the_file_and_its_folder_are_on_disk_before_it_is_done(tmp_path, monkeypatch):
    synced: list[str] = []
    real = os.fsync

    def fsync(number: int) -> None:
        synced.append(Path(f"/proc/self/fd/{number}").readlink().name)
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "a.json", "new")
    assert synced[0].endswith(UNFINISHED)
    assert synced[1:] == [tmp_path.name]
