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
OPTIONS = (
    *("margin_share", "mean_share", "planned", "score_range", "prediction", "incomplete", "tau"),
    *("of_runs", "look_weights", "equal_within", "less_is_better", "merge_names", "base_url"),
)
"""Options of designs, of reading and of output, for which the others stand; their names mean nothing else."""
MANY = 4
"""A call that hands on so many values under their own names spells out what could be one value."""

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
    """Statements, files, class names that several files use, how options are declared and handed on."""
    statements = files = passing = 0
    declared: dict[str, int] = dict.fromkeys(OPTIONS, 0)
    handed: dict[str, int] = dict.fromkeys(OPTIONS, 0)
    classes: dict[str, set[Path]] = defaultdict(set)
    for path in sorted(ROOT.rglob("*.py")):
        files += 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            statements += isinstance(node, ast.stmt) and not _is_docstring(node)
            name = _declared_name(node)
            if name in declared:
                declared[name] += 1
            own = _handed_on(node)
            passing += len(own) >= MANY
            for name in OPTIONS:
                handed[name] += own.count(name)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(path)
    shared = sum(len(paths) > 1 for paths in classes.values())
    return {
        "statements": statements,
        "files": files,
        "shared_class_names": shared,
        "calls_with_many_own_names": passing,
        "most_handed_on": max(handed.values()),
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


def _handed_on(node: ast.AST) -> list[str]:
    """The arguments of a call whose values have their names."""
    if not isinstance(node, ast.Call):
        return []
    values = [(word.arg, getattr(word.value, "id", getattr(word.value, "attr", None))) for word in node.keywords]
    return [name for name, value in values if name is not None and name == value]


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
