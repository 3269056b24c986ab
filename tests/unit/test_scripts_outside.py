"""Scripts that no other test runs: everything that they import from the package exists."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "demo", "docs", "examples")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> set[tuple[str, str]]:
    """Modules of the package, and the names that are imported from them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {(node.module, name.name) for node in nodes if node.module.split(".")[0] == "bbedge" for name in node.names}


def test_every_name_that_scripts_import_is_there():
    wanted = {pair: path for path in SCRIPTS for pair in imported(path)}
    assert len(wanted) > 30
    missing = []
    for (module, name), path in sorted(wanted.items()):
        if find_spec(module) is None:
            missing.append(f"{path}: {module}")
        elif not hasattr(import_module(module), name) and find_spec(f"{module}.{name}") is None:
            missing.append(f"{path}: {module}.{name}")
    assert not missing
