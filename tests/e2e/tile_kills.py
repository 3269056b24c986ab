"""Updates a tiled run in child processes that kill themselves: ``tile_kills.py FOLDER``.

A process of its own, because it forks. Every file that an update puts in place is a moment to die, once just before
and once just after. Then the update is run again, and the folder must be, byte for byte, what it would have been.
Prints the number of kills; anything that is not as promised raises.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

from bbedge.scale import TiledLeaderboard
from unit.scale.runs import a_design, contents, panels


def update_and_die(folder: Path, panel: object, moment: int) -> None:
    """Update in a child; die before (even) or after (odd) the file number ``moment // 2`` is put in place."""
    replace, seen = Path.replace, 0

    def dying(self: Path, target: Path) -> Path:
        nonlocal seen
        seen += 1
        if seen - 1 == moment // 2 and moment % 2 == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        placed = replace(self, target)
        if seen - 1 == moment // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return placed

    Path.replace = dying  # type: ignore[method-assign]
    TiledLeaderboard.open(folder).update(panel, replicate=2)


def killed(folder: Path, panel: object, moment: int) -> bool:
    """Whether the child died before it was done."""
    child = os.fork()
    if child == 0:
        try:
            update_and_die(folder, panel, moment)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0, "the child failed"
        return False
    return True


def main(folder: Path) -> int:
    """Kill at every moment of the second replicate."""
    design = a_design(5, 8, method="bb-edge-x", holm="direct", tau=0.02)
    first, second, third = panels(design, 3)
    TiledLeaderboard.create(folder / "start", design, tile=3).update(first)
    shutil.copytree(folder / "start", folder / "whole")
    TiledLeaderboard.open(folder / "whole").update(second, replicate=2)
    after_two = contents(folder / "whole")
    TiledLeaderboard.open(folder / "whole").update(third, replicate=3)
    after_three = contents(folder / "whole")
    moment = 0
    while True:
        cut = folder / "cut"
        shutil.copytree(folder / "start", cut)
        if not killed(cut, second, moment):
            return moment
        TiledLeaderboard.open(cut).update(second, replicate=2)
        assert contents(cut) == after_two, moment
        TiledLeaderboard.open(cut).update(third, replicate=3)
        assert contents(cut) == after_three, moment
        shutil.rmtree(cut)
        moment += 1


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]))}\n")
