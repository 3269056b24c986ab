"""What the page says in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbedge.certificate.certificate import Certificate
from bbedge.text import counted, listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The sentences of a page."""

    summary: str
    """What was compared."""
    decided: str
    """How many pairs are decided."""
    standing: str
    """What stands besides what is shown; may be empty."""
    pilot: str
    """What a pilot-targeted Top-k has come to; may be empty."""
    level: str
    """The probability that everything is right."""
    risk: str
    """The probability that anything is wrong."""
    promise: str
    """What is guaranteed."""
    blocks: str
    """What is assumed of the items."""
    budget: str
    """How the error budget stands."""

    @classmethod
    def of(cls, certificate: Certificate) -> Words:
        """The sentences of a certificate."""
        document = certificate.document
        design = document["design"]
        items = counted(document["items"], "item")
        if design["blocks"]["count"] < document["items"]:
            items += f" in {counted(design['blocks']['count'], 'block')}"
        size, resolved = len(certificate.names), certificate.ranks.n_resolved
        alpha = float(design["alpha"])
        board = document.get("board")
        if board:
            alpha = float(board["design"]["alpha"])
        level = f"{100 * (1 - alpha):.6g}\N{NO-BREAK SPACE}%"
        by_more = f" by more than {certificate.step:.4g}" if certificate.step else ""
        return cls(
            summary=f"{counted(size, 'model')} · {items} · {counted(certificate.replicates, 'replicate')}",
            decided=f"{resolved:,} of {counted(certificate.n_pairs, 'pair')}",
            standing=_standing(certificate),
            pilot=_pilot(certificate),
            level=level,
            risk=f"{100 * alpha:.6g}\N{NO-BREAK SPACE}%",
            promise=f"With probability at least {level}, every comparison certified here is true of the models' mean "
            f"scores on this benchmark{by_more}: all pairs and all looks together.",
            blocks=_blocks(design["blocks"]["count"], [int(size) for size in design["blocks"]["sizes"]]),
            budget=_budget(alpha, board),
        )


def _budget(alpha: float, board: Mapping[str, Any] | None) -> str:
    if board is None:
        return f"alpha is {alpha:g}: the largest allowed probability that anything certified, at any look, is false."
    claims = counted(len(board["claims"]), "claim")
    spent = f"{board['alpha_spent']:.4g} of {alpha:g} is spent on {claims}"
    return f"{spent}; the next claim gets {board['next_level']:.3g}." if board["next_level"] else f"{spent}."


def _standing(certificate: Certificate) -> str:
    current, standing = certificate.n_edges
    earlier = standing - current
    if certificate.shown == "standing":
        words = "Shown is everything certified at any look so far; a certificate, once issued, stands."
        return f"{words} The last look alone would not certify {counted(earlier, 'edge')} of it." if earlier else words
    if not earlier:
        return "Shown is the last look, which certifies everything that stands."
    where = "they are in the JSON" if certificate.pairs else "the JSON has the ranks that follow from them"
    return f"Shown is the last look alone. {counted(earlier, 'edge')} certified at earlier looks also stand; {where}."


def _pilot(certificate: Certificate) -> str:
    pilot = certificate.document.get("pilot")
    if not pilot:
        return ""
    place = {name: i for i, name in enumerate(certificate.names)}
    inside = [place[name] for name in pilot["candidate"]]
    total = len(inside) * (len(certificate.names) - len(inside))
    # Only directions from the candidate to the others are tested, so that whoever is below it is outside.
    done = int(certificate.ranks.n_worse[inside].sum())
    chosen = (
        f"A pilot, not part of the evidence, chose {listed(pilot['candidate'], limit=20)}. Only this set is tested. "
    )
    if done == total:
        return f"{chosen}It is certified as the Top-{len(inside)} set."
    return f"{chosen}It is not certified as the Top-{len(inside)} set yet: {done} of {total} comparisons are."


def _blocks(blocks: int, sizes: list[int]) -> str:
    if blocks == 1:
        return "Nothing is assumed about how items depend on each other: the whole run is one block."
    if max(sizes, default=1) == 1:
        return "Within a replicate, items are independent of each other."
    return (
        f"Within a replicate, blocks of {min(sizes)} to {max(sizes)} items are independent of each other; inside a "
        "block, items may depend on each other in any way."
        if min(sizes) < max(sizes)
        else f"Within a replicate, blocks of {sizes[0]} items are independent of each other; inside a block, items may "
        "depend on each other in any way."
    )
