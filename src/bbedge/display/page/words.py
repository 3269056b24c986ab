"""The sentences of the page."""

from __future__ import annotations

from dataclasses import dataclass

from bbedge.certificate.board_shape import BoardRecord
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.provenance import provenance
from bbedge.display.promise import level, measure, promise, shares
from bbedge.display.scope import items, missing, runs
from bbedge.text import counted, listed, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The sentences of a page."""

    summary: str
    """What was compared."""
    decided: str
    """How many pairs are decided."""
    looks: str
    """Which looks the page shows; may be empty."""
    pilot: str
    """The result of a pilot-targeted Top-k; may be empty."""
    step: str
    """What a certified difference exceeds, in score units; empty if that is zero."""
    level: str
    """The probability that every certificate is true."""
    promise: str
    """What is guaranteed."""
    joint: bool
    """Whether margins and comparisons hold together."""
    measure: str
    """What the evidence chart shows."""
    blocks: str
    """The assumption about the items."""
    budget: str
    """The state of the error budget."""
    missing: str
    """How many scores are missing; may be empty."""

    @classmethod
    def of(cls, certificate: Certificate) -> Words:
        """The sentences of a certificate."""
        content, design = certificate.content, certificate.content.design
        size, resolved = len(certificate.names), certificate.ranks.n_resolved
        about = [f"View {shown(certificate.name)}"] if certificate.name else []
        replicates = runs(certificate)
        time = provenance(content).time
        written = [time[:10]] if time else []
        board = content.board or None
        alpha = board.design.alpha if board else design.alpha
        return cls(
            summary=" · ".join([*about, *written, counted(size, "model"), items(certificate), replicates]),
            decided=f"{resolved:,} of {counted(certificate.n_pairs, 'pair')} certified",
            looks=_looks(certificate),
            pilot=_pilot(certificate),
            step=f"{certificate.step:.4g}" if certificate.step else "",
            level=level(certificate).replace(" %", "\N{NO-BREAK SPACE}%"),
            promise=f"{promise(certificate)} This covers all pairs and all looks together. {shares(certificate)}",
            joint=design.is_joint,
            measure=measure(certificate).capitalize(),
            blocks=_blocks(design.blocks.count, design.blocks.sizes),
            budget=_budget(alpha, board),
            missing=missing(certificate) or "",
        )


def _budget(alpha: float, board: BoardRecord | None) -> str:
    if board is None:
        return f"alpha is {alpha:g}: the largest probability of an error, over all pairs and looks."
    claims = counted(len(board.claims), "claim")
    spent = f"{board.alpha_spent:.4g} of {alpha:g} is spent on {claims}"
    return f"{spent}; the next claim gets {board.next_level:.3g}." if board.next_level else f"{spent}."


def _looks(certificate: Certificate) -> str:
    if certificate.is_contradicted:  # no word about validity beside the alarm
        return ""
    if certificate.content.design.has_memory:
        return "This page shows everything certified so far; a certificate, once issued, remains valid."
    earlier = certificate.n_earlier
    if certificate.shown == "all":
        words = "This page shows everything certified at any look so far; a certificate, once issued, remains valid."
        return f"{words} The last look alone certifies {counted(earlier, 'comparison')} fewer." if earlier else words
    if not earlier:
        return "This page shows the last look, which certifies everything that earlier looks certified."
    where = "the JSON lists them" if certificate.pairs else "the JSON has the ranks that follow from them"
    also = f"Earlier looks certified {counted(earlier, 'more comparison')}, still valid; {where}."
    return f"This page shows the last look alone. {also}"


def _pilot(certificate: Certificate) -> str:
    pilot = certificate.content.pilot
    if not pilot:
        return ""
    place = {name: i for i, name in enumerate(certificate.names)}
    inside = [place[name] for name in pilot.candidate]
    total = len(inside) * (len(certificate.names) - len(inside))
    # Only comparisons of the candidate with the others are tested, so that every worse model is outside.
    done = int(certificate.ranks.n_worse[inside].sum())
    chosen = (
        f"The pilot, which is not part of the evidence, chose {listed(pilot.candidate, limit=20)}. Only this set is "
        "tested. "
    )
    if done == total:
        return f"{chosen}It is certified as the Top-{len(inside)} set."
    return f"{chosen}It is not certified as the Top-{len(inside)} set yet: {done} of {total} comparisons are certified."


def _blocks(blocks: int, sizes: tuple[int, ...]) -> str:
    if blocks == 1:
        return "Items may depend on each other in any way: a whole run is one block."
    if max(sizes, default=1) == 1:
        return "Within a run, items are independent of each other."
    return (
        f"Within a run, blocks of {min(sizes)} to {max(sizes)} items are independent of each other; inside a "
        "block, items may depend on each other in any way."
        if min(sizes) < max(sizes)
        else f"Within a run, blocks of {sizes[0]} items are independent of each other; inside a block, items may "
        "depend on each other in any way."
    )
