"""A board with a history and with names that mean harm, published."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.records.design import Views
from e2e.browsing import HOSTILE

NAMES = (*HOSTILE[:7], "../../etc/passwd", "CON", "con.txt", "model", "Model", "=1+1")
ITEMS = tuple(f"q{i}" for i in range(48))
HREF = re.compile(r"""\b(?:href|src|action|srcset|poster|data|cite|formaction)=["']([^"']*)["']""")


def runs(models: tuple[str, ...], first: int, count: int = 1) -> Scores:
    """Runs with numbers, the earlier models the better."""
    rng = np.random.default_rng([first, len(models)])
    chances = [0.95 - 0.07 * (NAMES.index(model) if model in NAMES else 3) for model in models]
    values = (rng.random((count, len(models), len(ITEMS))) < np.clip(chances, 0.05, 1.0)[:, None]).astype(float)
    numbers = tuple(str(first + i) for i in range(count))
    return Scores(models=models, items=ITEMS, blocks=ITEMS, replicates=numbers, values=values)


def board_with_history(path: Path) -> Board:
    """Views, both targets, a model that came later, and one that was retired."""
    design = BoardDesign(target="both", looks=(1, 2, 4), mean_share=0.1, views=Views(column="topic"))
    topics = {"topic": tuple(("law & order", "<math>")[i % 2] for i in range(len(ITEMS)))}
    board = Board.create(path, design, models=NAMES, items=ITEMS, columns=topics)
    board.add(runs(NAMES, 1, 2))
    board.retire("Model")
    left = tuple(name for name in NAMES if name != "Model")
    board.add(runs(left, 3))
    board.add_model("late", runs(("late",), 1, 3))
    board.add(runs((*left, "late"), 4))
    return board


def links_of(file: Path) -> list[str]:
    """Every address that a published file has for a program to follow."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".xml":
        return [link.get("href", "") for link in ElementTree.fromstring(text).iter("{http://www.w3.org/2005/Atom}link")]
    if file.suffix == ".md":
        return re.findall(r"\]\(([^)]*)\)", text)
    without_scripts = re.sub(r"<script.*?</script>|<style.*?</style>|<code.*?</code>", "", text, flags=re.DOTALL)
    return HREF.findall(without_scripts)


def is_state(fragment: str) -> bool:
    """Whether an address names what the script of the page is to show."""
    return fragment == "headline" or fragment.startswith(("view=", "model=", "compare="))


def broken_links(folder: Path) -> list[str]:
    """The links of a folder that lead to no file in it, or to no place in a page; and those that leave it."""
    broken = []
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".html", ".svg", ".xml", ".md"):
            continue
        for link in links_of(file):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme == "data":
                continue
            to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            there = to.is_file() and folder.resolve() in to.parents
            place = "" if is_state(parts.fragment) else unquote(parts.fragment)
            if parts.scheme or parts.netloc or not there or (place and f'id="{place}"' not in to.read_text("utf-8")):
                broken.append(f"{file.relative_to(folder)}: {link}")
    return broken
