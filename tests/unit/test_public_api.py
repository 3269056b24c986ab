import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bbedge
from bbedge import errors

ROOT = Path(bbedge.__file__).parent


def test_the_public_names_are_pinned():
    assert bbedge.__all__ == [
        "BbedgeError",
        "Board",
        "BoardDesign",
        "BoardError",
        "Certificate",
        "Certifier",
        "Checkpoints",
        "CopiedReplicateError",
        "DataError",
        "Design",
        "DesignError",
        "DomainError",
        "Evidence",
        "FormatError",
        "Graph",
        "Leaderboard",
        "Scores",
        "Verification",
        "__version__",
        "certify",
        "certify_pilot_top_k",
        "demo_scores",
        "e_holm",
        "read_certificate",
        "read_items",
        "read_scores",
        "suite_options",
        "verify_certificate",
    ]
    assert dir(bbedge) == bbedge.__all__


@pytest.mark.parametrize("name", bbedge.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(bbedge, name)
    assert value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'certifie'"):
        bbedge.certifie  # noqa: B018


def test_every_error_is_a_bbedge_error():
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    raised = [each for each in classes if issubclass(each, BaseException)]
    assert {error.__name__ for error in raised} == {
        "BbedgeError",
        "BoardError",
        "CopiedReplicateError",
        "DataError",
        "DesignError",
        "DomainError",
        "EvaluationError",
        "ForkedError",
        "FormatError",
        "HistoryError",
        "NoBoardError",
        "ReportedError",
        "RewrittenError",
        "RolledBackError",
    }
    assert all(issubclass(error, bbedge.BbedgeError) for error in raised)
    no_values = (
        bbedge.BbedgeError,
        errors.BoardError,
        errors.EvaluationError,
        errors.ForkedError,
        errors.HistoryError,
        errors.NoBoardError,
        errors.ReportedError,
        errors.RewrittenError,
        errors.RolledBackError,
    )
    assert all(issubclass(error, ValueError) for error in raised if error not in no_values)


def in_a_fresh_interpreter(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_works_with_numpy_and_scipy_alone():
    out = in_a_fresh_interpreter(
        "import sys\n"
        "for name in ('polars', 'typer', 'rich', 'click', 'pandas'):\n"
        "    sys.modules[name] = None\n"
        "import bbedge, numpy as np\n"
        "panel = np.array([[1.0] * 8, [0.0] * 8])\n"
        "scores = bbedge.Scores.of([panel] * 4, models=['a', 'b'], items=list('abcdefgh'))\n"
        "board = bbedge.certify(scores, method='bb-edge-x')\n"
        "print(board.graph.rank_intervals)\n"
    )
    assert out.strip() == "((1, 1), (2, 2))"


def test_importing_bbedge_does_not_wait_for_numpy():
    out = in_a_fresh_interpreter("import bbedge, sys; print('numpy' in sys.modules)")
    assert out.strip() == "False"


def test_errors_can_be_caught_without_loading_numpy():
    out = in_a_fresh_interpreter(
        "import bbedge, sys\n"
        "errors = [getattr(bbedge, name) for name in bbedge.__all__ if name.endswith('Error')]\n"
        "print(len(errors), all(issubclass(error, bbedge.BbedgeError) for error in errors), 'numpy' in sys.modules)"
    )
    assert out.strip() == "7 True False"


def test_the_core_loads_nothing_beyond_numpy_and_scipy():
    names = sorted(f"bbedge.core.{path.stem}" for path in (ROOT / "core").glob("*.py") if path.stem != "__init__")
    assert len(names) > 8
    out = in_a_fresh_interpreter(
        f"import sys, importlib\nfor name in {names!r}: importlib.import_module(name)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    assert not {"polars", "typer", "rich", "click", "pandas", "pyarrow", "hypothesis", "torch"} & set(out.split())


@pytest.mark.parametrize("path", sorted((ROOT / "core").glob("*.py")), ids=lambda path: path.stem)
def test_the_core_imports_only_what_it_may(path):
    allowed = {"numpy", "scipy", "array_api_compat", "msgspec", "bbedge", *sys.stdlib_module_names} - {
        "logging",
        "pathlib",
        "random",
        "time",
    }
    if path.stem == "arrays":
        allowed.add("torch")  # where a device is asked for
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            assert node.level == 0
        for name in names:
            assert name.partition(".")[0] in allowed
            assert not name.startswith("bbedge") or name.startswith(
                ("bbedge.core", "bbedge.errors", "bbedge.records", "bbedge.text")
            )
