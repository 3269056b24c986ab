"""Programs: their files, with hashes, calls in process groups of their own, and logs without credentials.

A program that changes measures something else, so its hash is frozen. A call ends completely: the program and all that
it has started. A runner that is killed cannot end its calls; it has recorded the process group of each, and the next
runner ends what is left. A number is not enough for that, because the system gives it to another process later: the
start time of the process, which the system counts from its boot, distinguishes them.

A server may repeat the key that it was sent, and a program may print its environment. Inspect, lm-evaluation-harness
and programs write their logs themselves, so the files are read when a run has ended, and those that hold a credential
are replaced. Files that a killed run has left are read when the same replicate is run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO

from bbedge.credentials import redacted, redacted_record, secret_values
from bbedge.errors import EvaluationError
from bbedge.files import replacing, system_errors
from bbedge.readers.json_files import zip_library
from bbedge.text import shown_path

_RECORD = "process.json"
_MARK = "BBEDGE_ATTEMPT"
_GRACE = 5.0  # seconds between asking a group to end and ending it
_SLOWEST = 0.05  # seconds between two looks at a process
_PROC = Path("/proc")
_BOOT = _PROC / "sys" / "kernel" / "random" / "boot_id"
Clean = Callable[[str], str]


def program_files(command: Sequence[str], home: Path) -> dict[str, Path]:
    """The program, and every other word that names a file, by word; relative paths start at ``home``."""
    found = {}
    for place, word in enumerate(command):
        path = program_file(word, home) if place == 0 else _file(home / word) if word and "\0" not in word else None
        if path is not None:
            found[word] = path
    return found


def program_file(word: str, home: Path) -> Path | None:
    """The file that a command's first word runs: a path, or the name of an installed program."""
    if "\0" in word or not word:
        return None
    return _file(home / ((None if os.sep in word else shutil.which(word)) or word))


def why_not_startable(word: str, home: Path) -> str | None:
    """Why the program that a command's first word names would not start, as far as that shows without a start."""
    path = program_file(word, home)
    if path is None:
        return "there is no such file"
    if not os.access(path, os.X_OK):
        return "the file is not executable; make it so with chmod +x, or name its interpreter first"
    try:
        with path.open("rb") as file:
            first = file.readline(512)
    except OSError:  # a program that may be run, but not read
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    if words and not Path(os.fsdecode(words[0])).exists():
        return f"its first line names the interpreter {shown_path(os.fsdecode(words[0]))}, which does not exist"
    return None


def file_hashes(files: dict[str, Path]) -> dict[str, str]:
    """SHA-256 of every file, in hexadecimal, by word; a file is read again only if it looks changed."""
    return {word: _hash(path, _stamp(path)) for word, path in files.items()}


def _file(path: Path) -> Path | None:
    try:
        return path.resolve() if path.is_file() else None
    except OSError:  # a word too long to be a name
        return None


@cache
def _hash(path: Path, stamp: tuple[int, int, int] | None) -> str:
    advice = "; the hash of every file in the command is frozen with the study, so make the file readable"
    with system_errors(path, "read", advice, kind=EvaluationError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What shows without reading a file that it was not changed: its inode, size and modification time."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None


class TimeUp(Exception):  # noqa: N818 - an outcome
    """The program ran longer than it may."""


class Stopped(Exception):  # noqa: N818 - an outcome
    """The user interrupted the study."""


def call(
    words: Sequence[str],
    *,
    home: Path,
    folder: Path,
    log: BinaryIO,
    timeout: float | None,
    stop: threading.Event,
    look: Callable[[], None] = lambda: None,
) -> int:
    """Run a program to its end and return its exit code; unless it succeeds, its whole group is ended.

    ``folder`` belongs to this call alone. While the program runs, it holds a record of the process group. ``look`` is
    called now and then meanwhile.
    """
    mark = str(folder)
    child = subprocess.Popen(
        words,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, _MARK: mark},
    )
    record, succeeded = folder / _RECORD, False
    try:
        # No flush to the disk: what ends the machine ends the program, too.
        known = {"pid": child.pid, "start": _start(child.pid), "boot": _boot(), "mark": mark}
        record.write_text(json.dumps(known), encoding="utf-8")
        succeeded = _wait(child, timeout, stop, look)
    finally:
        if not succeeded and child.returncode is None:
            _signal_group(child, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        child.wait()
        record.unlink(missing_ok=True)
    return child.returncode


def end_leftovers(folder: Path) -> list[Path]:
    """End the process groups that a killed runner has left in any attempt folder below; these folders."""
    records = [*folder.glob(f"replicate-*/model-*/attempt-*/{_RECORD}")]
    for record in records:
        try:
            known = json.loads(record.read_text(encoding="utf-8"))
            pid, start, boot, mark = known["pid"], known["start"], known["boot"], known["mark"]
        except (OSError, ValueError, LookupError, TypeError):  # torn by the kill: its process is not known
            continue
        if isinstance(pid, int) and pid > 1 and start is not None and boot == _boot():
            _end_group(pid, start, str(mark))
        record.unlink(missing_ok=True)
    return [record.parent for record in records]


def _wait(
    child: subprocess.Popen[bytes], timeout: float | None, stop: threading.Event, look: Callable[[], None]
) -> bool:
    """Wait until the program has ended and say whether it succeeded.

    It stays a zombie until the caller has signalled its group, so that its number names no other one.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = 0.001
    while (code := _code(child)) is None:
        if stop.wait(pause):
            _ask_to_end(child)
            raise Stopped
        if deadline is not None and time.monotonic() > deadline:
            raise TimeUp
        look()
        pause = min(2 * pause, _SLOWEST)
    return code == 0


def _code(child: subprocess.Popen[bytes]) -> int | None:
    """The program's exit code, or the signal that ended it; nothing while it runs."""
    if not hasattr(os, "waitid"):
        return child.poll()
    ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    return None if ended is None else ended.si_status


def _ask_to_end(child: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM to the group and give the program a moment."""
    _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    while _code(child) is None and time.monotonic() < deadline:
        time.sleep(_SLOWEST)


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS refuses to signal a group of zombies
        if hasattr(os, "killpg"):
            os.killpg(child.pid, number)
        else:
            child.send_signal(number)


def _read(path: Path) -> bytes | None:
    """What the system says in a file, if it has one and may be asked."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _boot() -> str | None:
    found = _read(_BOOT)
    return None if found is None else found.decode("ascii").strip()


def _fields(pid: int) -> list[str] | None:
    """The fields of ``/proc/PID/stat`` from the third on; the second, a name in brackets, may hold anything."""
    found = _read(_PROC / str(pid) / "stat")
    return None if found is None else found.decode("utf-8", "replace").rpartition(")")[2].split()


def _start(pid: int) -> int | None:
    fields = _fields(pid)
    return None if fields is None else int(fields[19])


def _end_group(group: int, start: int, mark: str) -> None:
    """Kill a group, if it is still the one that was written down."""
    if _start(group) == start:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
            return
    # The program itself has ended, and the number may have gone to another; what it has started carries its mark.
    carried = f"{_MARK}={mark}".encode()
    for place in _PROC.glob("[0-9]*"):
        is_of_group = (_fields(int(place.name)) or [])[3:4] == [str(group)]
        if is_of_group and carried in (_read(place / "environ") or b"").split(b"\0"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(place.name), signal.SIGKILL)


def redact_files(*places: Path) -> None:
    """Remove credentials from files, and from all files in folders that are logs by the ending of their name."""
    known = secret_values(os.environ)
    for path in (path for each in places for path in ([each] if each.is_file() else sorted(each.rglob("*")))):
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix == ".eval":
            _redact_archive(path, known)
        elif path.suffix in (".json", ".jsonl"):
            _redact_text(path, lambda text: _redacted_json(text, known), whole=path.suffix == ".json")
        elif path.suffix in (".txt", ".log"):
            _redact_text(path, lambda text: redacted(text, known))


def _redacted_json(text: str, known: Sequence[str]) -> str:
    """A document without credentials; exactly as it was if it has none."""
    try:
        document = json.loads(text)
        clean = redacted_record(document, known)
    except (ValueError, RecursionError):
        return redacted(text, known)
    return text if clean == document else json.dumps(clean) + text[len(text.rstrip()) :]


def _redact_text(path: Path, clean: Clean, *, whole: bool = False) -> None:
    """Replace a file of text if a line of it, or the whole of it, is not clean."""
    if any(clean(piece) != piece for piece in _pieces(path, whole=whole)):
        with replacing(path) as file:
            file.writelines(clean(piece).encode("utf-8", "surrogateescape") for piece in _pieces(path, whole=whole))


def _pieces(path: Path, *, whole: bool) -> Iterator[str]:
    with path.open("rb") as file:
        for piece in [file.read()] if whole else file:
            yield piece.decode("utf-8", "surrogateescape")


def _redact_archive(path: Path, known: Sequence[str]) -> None:
    """Replace a log of Inspect, a zip archive of JSON documents, if one of them is not clean.

    A file that cannot be read is left unchanged.
    """
    zipfile, broken = zip_library()
    with contextlib.suppress(*broken), zipfile.ZipFile(path) as old:
        members = [old.getinfo(name) for name in dict.fromkeys(old.namelist())]

        def clean(name: str) -> bytes:
            text: str = old.read(name).decode("utf-8", "surrogateescape")
            cleaned = _redacted_json(text, known) if name.endswith(".json") else redacted(text, known)
            return cleaned.encode("utf-8", "surrogateescape")

        if all(clean(each.filename) == old.read(each) for each in members):
            return
        with replacing(path) as file, zipfile.ZipFile(file, "w") as new:
            for each in members:
                info = zipfile.ZipInfo(each.filename, each.date_time)
                new.writestr(info, clean(each.filename), compress_type=each.compress_type)
