"""The page in a real browser that can reach nothing: what the tests of pages share."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from bbedge.certificate.certificate import Certificate
from bbedge.core.leaderboard import certify
from bbedge.core.scores import Scores

ROOT = Path(__file__).parents[2]
NAMED = "BBEDGE_CHROMIUM"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = [
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "</script><!--",
    "\u202egnp.exe\u202c",
    "\u05de\u05d5\u05d3\u05dc v2",
    "\U0001f916 bot",
    "x" * 300,
    "{{ 7 * 7 }}",
    "a & b \u2028 c",
]


def find_chromium() -> str:
    """The browser that the environment names, or that is installed; without one, the test is skipped."""
    program = os.environ.get(NAMED) or shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        # A browser that was promised and is not there is a failure, not a reason to skip.
        assert "CI" not in os.environ, "no Chromium; .ci/chromium installs one"
        pytest.skip(f"{NAMED} is not set and no chromium is on the PATH")
    return program


class Opened:
    """A page, what it asked the network for, and what it complained about."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.goto(path.as_uri())

    def scripted(self) -> Page:
        self.page.wait_for_selector("html.scripted", timeout=20_000)
        return self.page

    def cells(self, kind: str) -> list[str]:
        return self.page.locator(f".ranking tbody .{kind}").all_inner_texts()


def document_of(scores: Scores, **options: object) -> dict:
    return json.loads(certify(scores, method="bb-edge-x", **options).to_json())


def drawn(means: list[float], names: list[str], *, items: int = 120, replicates: int = 3) -> Scores:
    rng = np.random.default_rng(11)
    values = (rng.random((replicates, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    return Scores.of(values, models=names, items=[f"q{i}" for i in range(items)])


def rank(interval: list[int]) -> str:
    return str(interval[0]) if interval[0] == interval[1] else f"{interval[0]}-{interval[1]}"


def in_order(document: dict) -> list[dict]:
    """The models in the order shown: by best possible rank."""
    return sorted(document["models"], key=lambda model: model["rank_interval"][0])


def shows(it: Opened, view: Certificate) -> None:
    """Wait for the ranks of a view: the browser reports a new address to the page a little later."""
    ranks = [rank(list(interval)) for interval in view.ranks.rank_intervals]
    expect(it.page.locator(".ranking tbody .rank")).to_have_text(ranks)
