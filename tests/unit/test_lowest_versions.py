"""The lower bounds that are declared are the versions that ``make test-lowest`` installs."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PIN = re.compile(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.]*)")
BOUND = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)(?:;.*)?")


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def release(version):
    """The numbers of a version, without the zeros at its end."""
    return tuple(int(part) for part in re.sub(r"(\.0)+$", "", version).split("."))


def pins(file):
    """The exact versions of a constraints file; a line of another kind fails."""
    lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
    found = [PIN.fullmatch(line) for line in lines if line and not line.startswith("#")]
    assert all(found)
    return {plain(match[1]): match[2] for match in found if match}


def bounds():
    found = [BOUND.fullmatch(requirement) for requirement in PROJECT["dependencies"]]
    assert all(found)
    return {plain(match[1]): release(match[2]) for match in found if match}


def test_the_lowest_versions_are_the_declared_bounds():
    lowest = pins("constraints-lowest.txt")
    assert {name: release(lowest[name]) for name in bounds()} == bounds()


def test_tools_have_the_versions_of_development():
    lowest, usual = pins("constraints-lowest.txt"), pins("constraints.txt")
    tools = {"array-api-strict", "hypothesis", "psycopg", "pytest", "pytest-xdist"}
    assert {name: lowest[name] for name in tools} == {name: usual[name] for name in tools}


@pytest.mark.parametrize(
    ("package", "beside"),
    [("numpy", "2.3.5"), ("rich", "14.3.4")],
    ids=["vLLM 0.32, whose mistral-common needs NumPy below 2.4", "deepeval 4.3, which needs rich below 15"],
)
def test_versions_that_other_tools_need_are_allowed(package, beside):
    assert bounds()[package] <= release(beside)


def steps(*targets):
    """The commands of a make target in a checkout where nothing is set up yet."""
    command = ["make", "--dry-run", "--always-make", "PYTHON=python3", "LOWEST_PYTHON=python3", *targets]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@needs_make
def test_the_demo_installs_only_what_bbedge_needs_to_run():
    done = steps("demo")
    assert re.findall(r"pip install .*", done) == [
        "pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ."
    ]
    assert "python3 -m venv --clear .venv-demo\n" in done
    assert ".venv/" not in done


@needs_make
def test_the_tests_of_the_lowest_versions_have_an_environment_of_their_own():
    done = steps("test-lowest")
    assert "pip install --quiet --disable-pip-version-check --no-compile -c constraints-lowest.txt -e . " in done
    assert re.search(r"^\.venv-lowest/bin/pytest .*tests/unit/core tests/unit/readers tests/unit/board", done, re.M)
    assert ".venv/" not in done


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="the source archive has no .ci")
@needs_make
def test_ci_runs_the_lowest_versions_in_one_of_seven_runs():
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make nightly-share SHARE=$((turn % 7 + 1))/7" in run
    parts = [re.search(r"for part in (.*?) *;", steps("nightly-share", f"SHARE={k}/7"))[1] for k in range(1, 8)]
    assert sorted(parts) == [*["nightly-tests"] * 6, "nightly-tests test-lowest"]


def test_the_tests_of_the_lowest_versions_are_there():
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (tests,) = re.findall(r"^LOWEST_TESTS := (.*)$", text, flags=re.MULTILINE)
    assert [name for name in tests.split() if not (ROOT / name).exists()] == []
