from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bbedge.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from e2e.browsing import Opened

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # which the tests of other commands do without

    from e2e.browsing import FLAGS, find_chromium

    program = find_chromium()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens a page from disk, in a browser that is offline."""
    from e2e.browsing import Opened

    contexts = []

    def open_page(html: str, **options: object) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(html, encoding="ascii")
        contexts.append(browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options}))
        return Opened(contexts[-1], path)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    """The certificate and the page of the demo data."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "bbedge", "certify", DEMO, "--method", "bb-edge-x"]
    subprocess.run(
        [*command, "--json", folder / "c.json", "--html", folder / "c.html"], check=True, capture_output=True
    )
    return json.loads((folder / "c.json").read_text()), (folder / "c.html").read_text(encoding="ascii")
