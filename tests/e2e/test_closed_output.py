"""Whoever reads the output may go away: what was asked for as a file is there, and nothing is complained about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


def with_closed_output(*args: object) -> tuple[int, str]:
    """Run ``bbedge`` with a standard output that no one reads: exit code and standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bbedge", *map(str, args)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.nightly
def test_certify_writes_every_file_before_it_prints(tmp_path):
    page, certificate, arrays = tmp_path / "p.html", tmp_path / "c.json", tmp_path / "a.npz"
    asked = ("--html", page, "--json", certificate, "--arrays", arrays, "--all")
    assert with_closed_output("certify", DEMO, *asked) == (141, "")
    assert all(file.stat().st_size > 1000 for file in (page, certificate, arrays))


@pytest.mark.nightly
def test_certify_with_json_on_a_closed_output_still_writes_the_page(tmp_path):
    code, error = with_closed_output("certify", DEMO, "--html", tmp_path / "p.html", "--json", "-")
    assert (code, "Traceback" in error) == (141, False)
    assert (tmp_path / "p.html").stat().st_size > 1000


@pytest.mark.nightly
def test_board_show_writes_every_file_before_it_prints(tmp_path, bbedge):
    (tmp_path / "design.toml").write_text("alpha = 0.05\n")
    (tmp_path / "items.csv").write_text("item\nq1\nq2\n")
    board = tmp_path / "board.db"
    files = ("--design", tmp_path / "design.toml", "--items", tmp_path / "items.csv")
    assert bbedge("board", "init", board, *files, "--models", "a,b").code == 0
    page = tmp_path / "p.html"
    assert with_closed_output("board", "show", board, "--html", page, "--json", tmp_path / "b.json") == (141, "")
    assert page.stat().st_size > 1000
    page.unlink()
    code, error = with_closed_output("board", "show", board, "--html", page, "--json", "-")
    assert (code, "Traceback" in error) == (141, False)
    assert page.stat().st_size > 1000


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("certify", DEMO, "--json", "-")])
def test_a_closed_output_ends_quietly(args):
    code, error = with_closed_output(*args)
    assert code == 141
    assert "Traceback" not in error
    assert "Exception ignored" not in error


def test_a_refusal_is_still_a_refusal(tmp_path):
    code, error = with_closed_output("certify", tmp_path / "no.csv")
    assert code == 2
    assert "no such file" in error
