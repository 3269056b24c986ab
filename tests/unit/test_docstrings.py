"""Every example in a docstring of the package is run and must print what it shows."""

import doctest
import importlib
from pathlib import Path

import pytest

import bbedge

ROOT = Path(bbedge.__file__).parent
MODULES = sorted(
    ".".join(("bbedge", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if path.name != "__main__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), report=False)
    assert result.failed == 0


def test_the_core_has_examples_to_run():
    # A finder that finds nothing would pass the test above.
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
