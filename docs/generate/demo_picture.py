"""The picture of ``bbedge certify demo/scores.csv`` in a terminal, for the gallery."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

import bbedge
from bbedge.display.terminal import show_leaderboard

ROOT = Path(__file__).parents[2]
WIDTH = 108
FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"


def picture() -> str:
    """The picture as SVG; it takes its fonts from the reader's machine."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    certificate = bbedge.certify(bbedge.read_scores(ROOT / "demo" / "scores.csv")).certificate()
    show_leaderboard(console, certificate)
    local = re.sub(r"@font-face \{\{.*?\}\}\n?", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    drawn = console.export_svg(title="bbedge certify demo/scores.csv", unique_id="demo", code_format=local)
    return drawn.replace("Fira Code, monospace", FONTS)
