"""The table of real boards in ``docs/gallery.md``, from their certificates and published scores."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bbedge import Certificate
from bbedge.display.scope import n_items

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))
from gallery.boards import Board, PublishedScore, every_board  # noqa: E402 - it is found beside this folder

PAGE = ROOT / "docs" / "gallery.md"
READMES = {board.folder / "README.md": board.readme for board in every_board()}
"""What makes the README of each board again."""
_TABLE = re.compile(r"(?<=^\| board \|)[^\n]*\n\|[-:| ]+\|\n(?:\|[^\n]*\n)*", re.MULTILINE)
_HEAD = (
    " models | items | pairs certified | could be first | ranks each | published first | these items | new items |\n|"
)
_RULE = "---|---:|---:|---:|---:|---:|---|---|---|\n"


def page() -> str:
    """The page with its table made again."""
    rows = "".join(f"{row}\n" for board in every_board() for row in _rows(board))
    text, found = _TABLE.subn(lambda _: f"{_HEAD}{_RULE}{rows}", PAGE.read_text(encoding="utf-8"))
    if found != 1:
        raise ValueError(f"{PAGE} has {found} tables of boards, not one")
    return text


def _rows(board: Board) -> Iterator[str]:
    link = f"[{board.title.split(':')[0]}](../gallery/{board.name}/README.md)"
    yield _row(link, board, "", board.certificate)
    for part in board.parts:
        yield _row(f"* {part}", board, part, board.certificate.view(part))


def _row(name: str, board: Board, part: str, these: Certificate) -> str:
    new = these.on_new_items
    counts = [_both(these, new, each) for each in (_certified, _possible_firsts, _ranks_each)]
    first = published_first(board, part)
    verdicts = [verdict(first, each) if each else "" for each in (these, new)]
    cells = [name, f"{len(these.names):,}", f"{n_items(these):,}", *counts, _named(first), *verdicts]
    return f"| {' | '.join(cells)} |"


def _both(these: Certificate, new: Certificate | None, shown: Callable[[Certificate], str]) -> str:
    """What is shown of these items, and of new ones where that differs."""
    first, other = shown(these), shown(new or these)
    return first if first == other else f"{first}; new items {other}"


def _certified(certificate: Certificate) -> str:
    return f"{certificate.ranks.n_resolved:,}\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}{certificate.n_pairs:,}"


def _possible_firsts(certificate: Certificate) -> str:
    return f"{int((certificate.ranks.n_better == 0).sum()):,}"


def _ranks_each(certificate: Certificate) -> str:
    widths = len(certificate.names) - certificate.ranks.n_better - certificate.ranks.n_worse
    return f"{median(widths.tolist()):g}"


def published_first(board: Board, part: str) -> list[PublishedScore]:
    """The rows with the highest published score; empty if no score was published."""
    scores = [row for row in board.published if row.view == part and row.published is not None]
    return [row for row in scores if row.published == max(each.published or 0.0 for each in scores)]


def _named(first: list[PublishedScore]) -> str:
    names = [row.model for row in first]
    return f"{names[0]} and {len(names) - 1:,} more" if len(names) > 1 else (names or ["none"])[0]


def verdict(first: list[PublishedScore], certificate: Certificate) -> str:
    """Whether the model that was published as first stands there; no claim where its score is not that of the table."""
    if not first:
        return ""
    if any(row.status == "absent" for row in first):
        return "not here"
    if any(row.status == "other" for row in first):
        return "no claim"
    places = [certificate.names.index(row.model) for row in first]
    if certificate.ranks.n_better[places].any():
        return "**falls**"
    if len(places) == 1 and certificate.ranks.n_worse[places[0]] == len(certificate.names) - 1:
        return "**stands**"
    return "open"
