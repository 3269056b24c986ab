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
from gallery.boards import Board, every_board  # noqa: E402 - it is found beside this folder

PAGE = ROOT / "docs" / "gallery.md"
_TABLE = re.compile(r"(?<=^\| board \|)[^\n]*\n\|[-:| ]+\|\n(?:\|[^\n]*\n)*", re.MULTILINE)
_HEAD = (
    " models | items | pairs certified | could be first | possible ranks, median "
    "| the published first, on these items | on new items |\n|"
)
_RULE = "---|---:|---:|---:|---:|---:|---|---|\n"


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
    stands = [published_first(board, part, each) if each else "" for each in (these, new)]
    return f"| {' | '.join([name, f'{len(these.names):,}', f'{n_items(these):,}', *counts, *stands])} |"


def _both(these: Certificate, new: Certificate | None, shown: Callable[[Certificate], str]) -> str:
    """What is shown of these items, and of new ones where that differs."""
    first, other = shown(these), shown(new or these)
    return first if first == other else f"{first}; new items {other}"


def _certified(certificate: Certificate) -> str:
    return f"{certificate.ranks.n_resolved:,} of {certificate.n_pairs:,}"


def _possible_firsts(certificate: Certificate) -> str:
    return f"{_n_first(certificate):,}"


def _ranks_each(certificate: Certificate) -> str:
    widths = len(certificate.names) - certificate.ranks.n_better - certificate.ranks.n_worse
    return f"{median(widths.tolist()):g}"


def _n_first(certificate: Certificate) -> int:
    return int((certificate.ranks.n_better == 0).sum())


def published_first(board: Board, part: str, certificate: Certificate) -> str:
    """Whether the model with the highest published score stands first; no claim where that score is not the table's."""
    scores = [row for row in board.published if row.view == part and row.published is not None]
    if not scores:
        return "nothing was published"
    top = max(scores, key=lambda row: row.published or 0.0)
    same = sum(row.published == top.published for row in scores) - 1
    name = f"{top.model} and {same:,} with the same score" if same else top.model
    if top.status == "absent":
        return f"{name} is not in the table"
    if top.status == "other":
        return f"no claim: the score of {name} does not follow from its file"
    place = certificate.names.index(top.model)
    better, worse = int(certificate.ranks.n_better[place]), int(certificate.ranks.n_worse[place])
    if better:
        return f"**falls**: {name}, worse than {better:,}"
    if worse == len(certificate.names) - 1:
        return f"**stands**: {name}"
    return f"open: {name}, 1 of {_n_first(certificate):,}"
