"""Publishes in child processes that kill themselves: ``site_kills.py exchange|renames FOLDER [STEP]``.

A process of its own, because it forks. Every call that changes the disk is a moment to die: just before each file is
opened for writing, linked, renamed or removed, and before and after the folders change their names. What is in the
place of the folder is then the old one or the new one, byte for byte; without an exchange of folders in one step it may
be missing, and then the old one lies beside it. The next call has to put everything right.
Prints the number of kills; anything that is not as promised raises.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.site import folder as module
from bbedge.site.publish import Site

CHANGES = ("open", "os.link", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "ctypes.dlsym")
USERS = {"CNAME": b"example.org", ".git/HEAD": b"ref: main", "models/note.txt": b"mine"}


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder; none if it is not there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def dying(work: Callable[[], None], moment: int) -> bool:
    """Whether the child died, before its change number ``moment``."""
    child = os.fork()
    if child == 0:
        seen = 0

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            if event not in CHANGES or (event == "open" and not changes_a_file(arguments)):
                return
            if seen == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

        try:
            sys.addaudithook(watch)
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0, "the child failed"
    return os.WIFSIGNALED(status)


def changes_a_file(arguments: tuple[object, ...]) -> bool:
    """Whether a file is opened for writing, or a folder to have its names on the disk."""
    flags = arguments[2]
    return not isinstance(flags, int) or bool(flags & (os.O_WRONLY | os.O_RDWR)) or Path(str(arguments[0])).is_dir()


def boards(folder: Path) -> tuple[Board, Board]:
    """A board, and the same one a run, a model and a retired model later."""
    rng = np.random.default_rng(3)
    items = tuple(f"q{i}" for i in range(12))

    def runs(models: tuple[str, ...], first: int, count: int = 1) -> Scores:
        values = (rng.random((count, len(models), 12)) < 0.6).astype(float)
        numbers = tuple(str(first + i) for i in range(count))
        return Scores(models=models, items=items, blocks=items, replicates=numbers, values=values)

    board = Board.create(folder / "old.db", BoardDesign(), models=("a", "b", "c"), items=items)
    board.add(runs(("a", "b", "c"), 1, 2))
    board.close()
    shutil.copy(folder / "old.db", folder / "new.db")
    later = Board.open(folder / "new.db")
    later.retire("b")
    later.add_model("d", runs(("d",), 1, 2))
    later.add(runs(("a", "c", "d"), 3))
    return Board.open(folder / "old.db"), later


def publish(board: Board, folder: Path) -> None:
    """Publish under the same title."""
    Site(board=board, title="Kills").publish(folder)


def main(kind: str, folder: Path, step: int) -> Counter[str]:
    """Kill at every moment of an update, and at every moment of the repair of some of them."""
    if kind == "renames":
        module.exchange = lambda one, other: False
    old_board, new_board = boards(folder)
    publish(old_board, folder / "start")
    for path, text in USERS.items():
        (folder / "start" / path).parent.mkdir(exist_ok=True)
        (folder / "start" / path).write_bytes(text)
    shutil.copytree(folder / "start", folder / "whole")
    old = contents(folder / "whole")
    publish(new_board, folder / "whole")
    new = contents(folder / "whole")
    assert old != new
    assert USERS.items() <= new.items()
    found: Counter[str] = Counter()
    place = folder / "cut" / "site"
    for moment in range(0, 10_000, step):
        shutil.rmtree(folder / "cut", ignore_errors=True)
        place.parent.mkdir()
        shutil.copytree(folder / "start", place)
        if not dying(lambda: publish(new_board, place), moment):
            assert contents(place) == new
            break
        found[state(place, old, new, kind)] += 1
        # The one that puts it right is killed as well, once, somewhere.
        if dying(lambda: publish(new_board, place), 3 * moment % 41):
            found[f"then {state(place, old, new, kind)}"] += 1
        publish(new_board, place)
        assert contents(place) == new, moment
        assert [each.name for each in place.parent.iterdir()] == ["site"], moment
    else:
        raise AssertionError("it never ended")
    return found


def state(place: Path, old: dict[str, bytes], new: dict[str, bytes], kind: str) -> str:
    """Which of the two a reader sees, or that there is nothing, which must then be found beside it."""
    seen = contents(place)
    if not seen:
        assert kind == "renames", "the folder is gone"
        assert any(contents(each) == old for each in place.parent.iterdir()), "the old folder is lost"
        return "none"
    assert seen in (old, new), "the folder is mixed"
    return "old" if seen == old else "new"


if __name__ == "__main__":
    done = main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else 1)
    sys.stdout.write("".join(f"{what} {count}\n" for what, count in sorted(done.items())))
