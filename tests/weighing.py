"""How heavy the package is: statements and files, how often an option is spelled out, and how far commands walk."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import bbedge

ROOT = Path(bbedge.__file__).parent
OPTIONS = ("margin_share", "mean_share", "planned", "score_range", "prediction", "incomplete", "tau")
"""Options of a design, for which the others stand."""

_PROBE = """
import json, runpy, sys
root, seen = sys.argv.pop(1) + "/", set()
def watch(frame, event, argument):
    code = frame.f_code
    # A function that was called, not a module that was imported or an expression of its own.
    if event == "call" and code.co_filename.startswith(root) and code.co_flags & 1 and not code.co_name.startswith("<"):
        seen.add(code.co_filename)
sys.argv[0] = "bbedge"
sys.setprofile(watch)
try:
    runpy.run_module("bbedge", run_name="__main__")
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    print(json.dumps(len(seen)), file=sys.stderr)
"""


def measure() -> dict[str, int]:
    """Statements, files, declarations of each option, and class names that several files use."""
    statements = files = 0
    declared: dict[str, int] = dict.fromkeys(OPTIONS, 0)
    classes: dict[str, set[Path]] = defaultdict(set)
    for path in sorted(ROOT.rglob("*.py")):
        files += 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            statements += isinstance(node, ast.stmt) and not _is_docstring(node)
            name = _declared_name(node)
            if name in declared:
                declared[name] += 1
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(path)
    shared = sum(len(paths) > 1 for paths in classes.values())
    return {
        "statements": statements,
        "files": files,
        "shared_class_names": shared,
        **{f"declared_{option}": count for option, count in declared.items()},
    }


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _declared_name(node: ast.AST) -> str | None:
    """The name of a parameter or of an annotated field."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def walked_files(folder: Path, *arguments: str) -> int:
    """The files of the package with a function that a command calls."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(ROOT), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT.parent), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(json.loads(done.stderr.splitlines()[-1]))
