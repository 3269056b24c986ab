"""Every example in a docstring of the package is run and must print what it shows."""

import ast
import doctest
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import bbedge

ROOT = Path(bbedge.__file__).parent
MODULES = sorted(
    ".".join(("bbedge", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


def failures(module):
    """The examples of a module that print something else, with what they print."""
    runner, said = doctest.DocTestRunner(verbose=False), []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test, out=said.append)
    return "".join(said)


def test_examples():
    found = {name: text for name in MODULES if (text := failures(importlib.import_module(name)))}
    assert not found, f"in {', '.join(found)}:\n{''.join(found.values())}"


def test_a_wrong_example_is_found():
    module = ModuleType("planted")
    module.__doc__ = ">>> 1 + 1\n3\n>>> 2 + 2\n4\n>>> 1 / 0\n0"
    found = failures(module)
    assert found.count("Failed example:") == 2
    assert "Expected:\n    3\nGot:\n    2" in found
    assert "ZeroDivisionError" in found


def test_the_core_has_examples_to_run():
    # A finder that finds nothing would pass the test of all examples.
    finder = doctest.DocTestFinder(exclude_empty=True)
    core = [name for name in MODULES if name.startswith("bbedge.core.")]
    found = {
        name: sum(len(test.examples) for test in finder.find(importlib.import_module(name)) if test.examples)
        for name in core
    }
    modules = (
        "panels certifier design difference_sums eholm evidence evidence_set graph leaderboard scores stakes views"
    )
    for module in modules.split():
        assert found[f"bbedge.core.{module}"] > 0


ROOMS = sorted(path.parent for path in ROOT.rglob("__init__.py") if path.parent != ROOT)
NAMES = {
    name
    for path in ROOT.rglob("*.py")
    for name in re.findall(r"^(?:def |class )?(\w+)\b(?=[(:\[]| =)", path.read_text(encoding="utf-8"), re.MULTILINE)
}
"""What modules define."""


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_the_docstring_of_a_room_names_what_is_there(room):
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = set(re.findall(r"`(\w+)`", text))
    assert text
    assert set(re.findall(r":mod:`(\w+)`", text)) <= {path.stem for path in room.iterdir()}
    gone = named - {path.stem for path in ROOT.rglob("*.py")} - {path.name for path in ROOT.rglob("*")} - NAMES
    assert not gone
