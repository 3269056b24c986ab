"""Check a submission in a process of its own: no network, no secrets, no other programs, bounded memory and time."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bbedge.errors import DesignError
from bbedge.records.codec import convert, parse_json, to_json
from bbedge.records.submission import SubmissionCheck, SubmissionVerdict
from bbedge.submit.archive import digest
from bbedge.text import counted, harmless

MEMORY = 8 << 30
"""Bytes of address space that a check may use, unless another limit is given."""
SECONDS = 600
"""Seconds of computing that it may use, likewise."""

_FILE_BYTES, _OPEN_FILES = 4 << 30, 256
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "SYSTEMROOT")
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.startfile")
_MOST_SAID = 16 << 20


def check_confined(
    path: str | os.PathLike[str],
    board: str | os.PathLike[str] | None = None,
    *,
    memory: int = MEMORY,
    seconds: int = SECONDS,
) -> SubmissionVerdict:
    """:func:`~bbedge.submit.check.check` in a process of its own; ``board`` is the archive of a board.

    The process has none of the variables of this one but where programs are, an empty home, and no network where the
    system lets it give that up. It opens no connections and starts no programs. A submission that needs more memory or
    time, or that makes the process fail, is refused.
    """
    if sys.platform == "win32":
        raise DesignError(
            "submissions are checked with limits that Windows does not have; check them on Linux or macOS"
        )
    sha256 = digest(path)
    with TemporaryDirectory(prefix="bbedge-") as home:
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        said = Path(home) / "verdict.json"
        command = [sys.executable, "-m", __name__, str(said), str(Path(path).absolute()), str(memory), str(seconds)]
        command += [] if board is None else [str(Path(board).absolute())]
        environment = kept | {"HOME": home, "TMPDIR": home, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=2 * seconds + 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _refused(sha256, f"checking it takes longer than {counted(seconds, 'second')}")
        if done.returncode == 0 and said.stat().st_size <= _MOST_SAID:
            text = said.read_bytes()
            return convert(
                parse_json(text, source="the check", what="a verdict"), SubmissionVerdict, source="the check"
            )
    last = harmless(done.stderr.decode("utf-8", "replace")).strip().splitlines()[-1:]
    why = (
        "by the system, as a process is that uses too much"
        if done.returncode < 0
        else "".join(last) or "without a word"
    )
    return _refused(sha256, f"checking it ended early: {why}")


def _refused(sha256: str, text: str) -> SubmissionVerdict:
    check = SubmissionCheck(what="limits", status="fails", text=text)
    return SubmissionVerdict(accepted=False, sha256=sha256, checks=(check,))


def confine(memory: int, seconds: int) -> None:
    """Give up what a check does not need; there is no way back in this process."""
    import resource

    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))
    sys.addaudithook(_refuse)


def leave_network() -> None:
    """Give up the network where the system allows it: containers may not, and then :func:`confine` is what remains."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        library.unshare(_NEW_USER | _NEW_NETWORK) == 0 or library.unshare(_NEW_NETWORK)


def _refuse(event: str, _: object) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} is not allowed while a submission is checked")


def _main(said: str, path: str, memory: str, seconds: str, board: str | None = None) -> None:
    leave_network()  # before libraries start threads, with which it cannot be done
    from bbedge.submit.check import check

    confine(int(memory), int(seconds))
    Path(said).write_text(to_json(check(path, board)), encoding="utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:])
