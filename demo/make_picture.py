"""Draw the picture in the README: what ``make demo`` prints, as an SVG without outside fonts.

.venv/bin/python demo/make_picture.py
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

import bbedge
from bbedge.display.terminal import show_leaderboard

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "demo.svg"


def main() -> None:
    """Certify the demo data and save the terminal's picture."""
    leaderboard = bbedge.certify(bbedge.read_scores(HERE / "scores.csv"))
    console = Console(record=True, width=108, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    show_leaderboard(console, leaderboard.certificate())
    svg = console.export_svg(title="bbedge certify demo/scores.csv", theme=MONOKAI, unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no fetch when the picture is shown
    svg = svg.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    PICTURE.write_text(svg, encoding="utf-8")
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
