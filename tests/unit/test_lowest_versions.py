"""The lower bounds that are declared are the versions that ``make test-lowest`` installs."""

import re
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
    [("numpy", "2.2"), ("rich", "14.3")],
    ids=["vLLM's numba needs NumPy below 2.3 or so", "deepeval needs rich below 15"],
)
def test_versions_that_other_tools_need_are_allowed(package, beside):
    assert bounds()[package] <= release(beside)


def test_ci_runs_the_lowest_versions():
    assert "make test-lowest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
