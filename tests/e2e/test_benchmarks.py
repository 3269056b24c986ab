"""The benchmarks still run, and the numbers they time are right; how fast anything is, is not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHEAP = ("look", "views", "naive", "betting", "baselines", "scale", "boards")

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks are not part of the archive"),
]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", CHEAP)
def test_a_part_of_the_table_is_measured(name, tmp_path):
    readme = (ROOT / "benchmarks" / "README.md").read_bytes()
    out = tmp_path / "rows.json"
    done = run("benchmarks", "--quick", "--in-process", "--only", name, "--json", str(out))
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert {"date", "processor", "memory", "load before", "BLAS"} <= found["machine"].keys()
    rows = found["parts"][name]
    assert rows
    assert all(row["measured"] > 0 and row["verdict"] == "told" for row in rows)
    assert all(row["target"] in done.stdout for row in rows)
    assert (ROOT / "benchmarks" / "README.md").read_bytes() == readme


def test_a_part_that_breaks_fails_the_run_and_leaves_the_others(tmp_path):
    broken = tmp_path / "benchmarks"
    broken.mkdir()
    for path in (ROOT / "benchmarks").glob("*.py"):
        (broken / path.name).write_bytes(path.read_bytes())
    (broken / "betting.py").write_text("raise RuntimeError('broken')\n")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--only", "betting", "--only", "baselines"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "RuntimeError: broken" in done.stderr
    assert "1 not measured" in done.stdout
    assert "SERPANT" in done.stdout


def test_sampled_directions_of_600_models_equal_the_definition():
    done = run("benchmarks.scale", "--models", "600", "--items", "200", "--directions", "300")
    assert done.returncode == 0, done.stdout + done.stderr


def test_sampled_directions_of_5041_models_equal_the_definition():
    done = run("benchmarks.scale", "--models", "5041", "--items", "600", "--directions", "1000")
    assert done.returncode == 0, done.stdout + done.stderr
