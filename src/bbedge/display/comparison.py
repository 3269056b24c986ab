"""The claims of several methods, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Control = Literal["all looks", "one look", "none"]

_WARNINGS: dict[Control, tuple[str, str]] = {
    "all looks": ("yes, for all looks", "green"),
    "one look": ("for a single look only", "yellow"),
    "none": ("NOT CONTROLLED", "bold red"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What one method would claim."""

    method: str
    """Its name."""
    control: Control
    """Where its error is controlled."""
    assumes: str
    """What it assumes."""
    edges: int | None
    """Directions claimed at the last look; ``None`` for methods of rank intervals."""
    pairs: int | None
    """Pairs decided by these and the paths they form."""
    withdrawn: int | None
    """Directions claimed at an earlier look and no longer."""
    alone: int | None
    """Directions claimed at the last look that BB-EDGE-X does not claim."""
    width: float | None
    """Mean width of the rank intervals at the last look."""
    standing_edges: int | None = None
    """Directions claimed at any look, of a method whose claims stand: its error is controlled at all looks."""
    standing_pairs: int | None = None
    """Pairs decided by these and the paths they form."""
    standing_alone: int | None = None
    """Directions that it claims, at any look if they stand, else at the last, and BB-EDGE-X at none."""
    standing_width: float | None = None
    """Mean width of the rank intervals that follow from what stands."""
    edition: int | None = None
    """The edition, of the methods that ``bbedge certify`` offers."""
    refused: str | None = None
    """Why the method cannot be used here, if it cannot."""


def show_claims(console: Console, claims: Sequence[Claims], *, title: str, n_pairs: int) -> None:
    """Print the table, with a warning next to every method whose error is not controlled."""
    console.print()
    console.print(Text(title, style="bold"))
    console.print()
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("method", "edges", f"pairs of {n_pairs:,}", "withdrawn", "beyond bb-edge-x", "rank width"):
        table.add_column(column, justify="left" if column == "method" else "right")
    table.add_column("error controlled?", no_wrap=True)
    for each in claims:
        words, style = _WARNINGS[each.control]
        counts: tuple[int | None, ...] = (each.edges, each.pairs, each.withdrawn, each.standing_alone)
        width = each.width
        if each.standing_edges is not None:
            counts = (each.standing_edges, each.standing_pairs, 0, each.standing_alone)
            width = each.standing_width
        table.add_row(
            Text(each.method),
            *(Text("-" if count is None else f"{count:,}") for count in counts),
            Text("-" if width is None else f"{width:.2f}"),
            Text("not usable here", style="dim") if each.refused else Text(words, style=style),
        )
    console.print(Padding(table, (0, 0, 1, 0), expand=False))
    for each in claims:
        if each.refused:
            console.print(Text(f"{each.method}: {each.refused}."), highlight=False)
        elif each.edition is not None and each.edition > 1:
            words = f"{each.method}: edition {each.edition} of the method, as bbedge certify uses it."
            console.print(Text(words, style="dim"), highlight=False)
    console.print(
        Text(
            "A method without error control may claim more because it is wrong more often. Choose the method before "
            "you see the scores: if you choose the one that claims most, no method controls the error.",
            style="dim",
        )
    )


def claims_document(claims: Sequence[Claims]) -> list[dict[str, object]]:
    """The same as plain values."""
    return [asdict(each) for each in claims]
