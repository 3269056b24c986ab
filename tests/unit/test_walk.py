"""The page that walks through the code names files and functions that exist, in an order that the imports allow."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| [^|]+ \| `([\w/]+)\.py` `(\w+)` \|", (ROOT / "docs" / "walk.md").read_text("utf-8"), re.MULTILINE
)


def test_the_walk_has_all_its_steps():
    assert len(ROWS) > 20
    rooms = [path.split("/")[0] for path, _ in ROWS if "/" in path]
    assert list(dict.fromkeys(rooms)) == ["cli", "readers", "core", "certificate", "display"]


@pytest.mark.parametrize(("path", "name"), ROWS)
def test_every_step_is_there(path, name):
    assert (ROOT / "src" / "bbedge" / f"{path}.py").is_file()
    module = import_module("bbedge." + path.replace("/", ".").removesuffix(".__init__"))
    assert getattr(module, name).__module__ == module.__name__
