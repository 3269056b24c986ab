"""Tiled runs in processes of their own: killed at every moment, on several cores, on a real Ray cluster."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from bbedge.scale import TiledLeaderboard
from unit.scale.runs import a_design, contents, panels

TESTS = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path():
    """In memory if possible: every file is flushed to the disk, which costs more than all the rest."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


def python(*arguments):
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return [sys.executable, *map(str, arguments)], {**os.environ, "PYTHONPATH": paths}


@pytest.mark.nightly
def test_a_kill_at_any_moment_costs_nothing(tmp_path):
    command, environment = python(TESTS / "e2e" / "tile_kills.py", tmp_path)
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Two strips with three files each, four tiles with three, the journal at the beginning and the end: twice.
    assert int(done.stdout) == 2 * (2 * 3 + 4 * 3 + 2)


UPDATES = """
import sys
from pathlib import Path
from bbedge.scale import TiledLeaderboard
if __name__ == "__main__":
    board, folder = TiledLeaderboard.open(sys.argv[1]), Path(sys.argv[2])
    if sys.argv[4:]:  # a cluster that is joined once, for all updates
        import ray
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    for number, panel in enumerate(sorted(folder.glob("*.npy")), start=1):
        board.update(panel, replicate=number, backend=sys.argv[3], workers=2)
"""


@pytest.fixture
def given(tmp_path):
    """A run that has not begun, the panels for it as files, and what the run must be in the end."""
    design = a_design(20, 30, method="bb-edge-x", holm="direct", tau=0.01)
    (tmp_path / "panels").mkdir()
    (tmp_path / "updates.py").write_text(UPDATES)
    whole = TiledLeaderboard.create(tmp_path / "whole", design, tile=6)
    for number, panel in enumerate(panels(design, 3), start=1):
        np.save(tmp_path / "panels" / f"{number}.npy", panel)
        whole.update(panel)
    TiledLeaderboard.create(tmp_path / "run", design, tile=6)
    return tmp_path


def updates(folder, *backend):
    return python(folder / "updates.py", folder / "run", folder / "panels", *backend)


@pytest.mark.nightly
def test_ray_gives_the_bytes_that_one_core_gives(given):
    command, environment = updates(given, "ray", "joined")
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(given / "run") == contents(given / "whole")


@pytest.mark.nightly
def test_ray_says_what_is_wrong_as_one_core_does(given):
    command, environment = updates(given, "serial")
    np.save(given / "panels" / "4.npy", np.load(given / "panels" / "1.npy"))
    subprocess.run(command, env=environment, check=True)
    (given / "run" / "tiles" / "0001-0002.state.npz").write_bytes(b"")
    np.save(given / "panels" / "5.npy", np.load(given / "panels" / "2.npy"))
    messages = []
    for backend in ("serial", "ray"):
        command, environment = updates(given, backend)
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 1
        messages.append(done.stderr.strip().splitlines()[-1])
    assert "0001-0002.state.npz: damaged" in messages[0]
    assert messages[0] == messages[1]


@pytest.mark.nightly
def test_a_run_on_cores_that_is_killed_goes_on_where_it_was(given):
    command, environment = updates(given, "joblib")
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL) as run:
        while run.poll() is None and len(list((given / "run" / "tiles").glob("*.state.npz"))) < 5:
            time.sleep(0.005)
        os.killpg(run.pid, signal.SIGKILL)
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(given / "run") == contents(given / "whole")
