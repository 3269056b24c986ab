from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bbedge.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def bbedge(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """The command, in this process: arguments in, exit code and output back."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["bbedge", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), captured.out, captured.err)

    return run
