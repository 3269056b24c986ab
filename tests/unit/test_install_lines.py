"""Every line that says what to install is one that works."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbedge.errors import BbedgeError, BoardError
from bbedge.ledger.store import Store
from bbedge.workers import Crew

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / folder / "README.md" for folder in ("demo", "benchmarks", "studies")),
    ]
)
COMMAND = re.compile(r"pip install ([^`;|\n]+)")


def package(requirement: str) -> str:
    """The name of a requirement, with its own extras and without its version."""
    return re.split(r"[<>=!~;\s]", requirement, maxsplit=1)[0].lower().replace("_", "-")


PACKAGES = {
    package(requirement)
    for requirements in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in requirements
}


def is_checkout(word: str) -> bool:
    """Whether the word installs a checkout, with extras that exist."""
    found = re.fullmatch(r"\.(?:\[([\w,-]+)\])?", word)
    return found is not None and set((found[1] or "").split(",")) - {""} <= EXTRAS


def wrong_words(command: str, *, checkout: bool) -> list[str]:
    """What cannot be installed as the command says."""
    return [
        word
        for word in shlex.split(command, comments=True)
        if package(word) not in PACKAGES and not (checkout and is_checkout(word))
    ]


def strings(path: Path) -> Iterator[str]:
    """The string constants of a module, joined where they are written side by side."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        (".", []),
        ("'.[figures,study]'", []),
        ("matplotlib", []),
        ("inspect_ai openai", []),
        ("'psycopg[binary]'", []),
        ("'.[evaluate]'    # in a checkout", []),
        ("bbedge", ["bbedge"]),
        ("'bbedge[figures]'", ["bbedge[figures]"]),
        ("'.[figure]'", [".[figure]"]),
        ("no-such-thing", ["no-such-thing"]),
    ],
)
def test_the_rule(command, wrong):
    assert wrong_words(command, checkout=True) == wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_install_a_checkout_or_another_package(path):
    text = path.read_text(encoding="utf-8")
    assert {command: wrong for command in COMMAND.findall(text) if (wrong := wrong_words(command, checkout=True))} == {}
    assert "bbedge[" not in text  # bbedge with an extra is not on a registry


def test_messages_install_other_packages():
    # Who reads a message may have no checkout.
    commands = {
        (str(path.relative_to(ROOT)), command)
        for path in sorted((ROOT / "src").rglob("*.py"))
        for text in strings(path)
        for command in COMMAND.findall(text)
    }
    assert len(commands) >= 6
    assert [each for each in commands if wrong_words(each[1], checkout=False)] == []


@pytest.mark.parametrize(
    ("backend", "missing", "command"),
    [
        ("joblib", "joblib", "pip install joblib threadpoolctl"),
        ("joblib", "threadpoolctl", "pip install joblib threadpoolctl"),
        ("ray", "ray", "pip install ray"),
    ],
)
def test_missing_packages_of_a_backend_are_named(monkeypatch, backend, missing, command):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BbedgeError, match=command), Crew(backend, workers=1) as crew:
        list(crew.map_unordered(abs, [1, 2]))


def test_a_missing_driver_of_postgresql_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BoardError, match=r"pip install 'psycopg\[binary\]'"):
        Store("postgresql://localhost/none")
