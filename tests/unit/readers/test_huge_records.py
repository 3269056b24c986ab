"""Test runs, tables and judgments of two gigabytes are read in bounded memory."""

import os
import subprocess
import sys

import polars as pl
import pytest

from huge_makers import HUGE

SIZE = int(os.environ.get("BBEDGE_HUGE_LOG", 2 << 30))
SAMPLES = 40_000
TEXT = "All work and no play makes a dull benchmark. " * (SIZE // SAMPLES // 45)
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(done.stderr, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", HUGE)
def test_two_gigabytes_in_bounded_memory(name, tmp_path):
    path = HUGE[name](tmp_path, SAMPLES, TEXT)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) > 0.95 * SIZE
    out = tmp_path / "out.parquet"
    command = [sys.executable, "-m", "bbedge", "convert", str(path), "--to", str(out), "--model-name", "m"]
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=False)
    for file in files:
        file.unlink()
    assert done.returncode == 0, done.stderr
    megabytes = int(done.stdout) / 1024 / (1024 if sys.platform == "darwin" else 1)
    print(f"{name}: {megabytes:.0f} MB at most")  # noqa: T201
    assert pl.read_parquet(out).height == SAMPLES
    assert megabytes < 400
