"""The design and the error budget as plain values, topic by topic."""

from __future__ import annotations

from collections.abc import Iterator

from bbedge.certificate.board_shape import BoardRecord
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.design_shape import DesignRecord
from bbedge.display.scope import is_inside_pass, runs
from bbedge.text import counted, listed, shown

MOST_SHARES = 40
"""The number of views whose shares are listed."""


def design_facts(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What was frozen before the first score was seen."""
    content = certificate.content
    design, pilot, board = content.design, content.pilot, content.board
    low, high = design.score_range
    family = "all ordered pairs of models" if design.family == "all" else "the candidate set against all others"
    yield "Method", f"{design.method}: {design.evidence} evidence, {design.prediction} prediction"
    yield "Stakes", f"{design.stakes}, {len(design.stake_values)} values"
    each = f" in each of {1 + len(certificate.views):,} views" if certificate.views else ""
    yield "Tested", f"{counted(design.directions, 'comparison')}{each}: {family}"
    yield "tau", f"{design.tau:g} on the [0, 1] scale, {design.tau * (high - low):g} in score units"
    yield "Score range", f"{low:g} to {high:g}"
    yield "Items", f"{content.items:,} in {counted(design.blocks.count, 'block')}"
    if design.weights:
        weighed, largest = counted(design.weights.items, "item"), f"{100 * design.weights.largest:.3g} %"
        yield "Weights", f"{weighed} with a weight; the largest share of one item is {largest}"
    if certificate.views:
        yield "Views", f"the headline with {_percent(design)} of alpha, {_shares(certificate)}"
    if design.gaps:
        yield "Missing scores", f"{design.gaps}: each counts against whichever model it could help"
    if design.checkpoints:
        at = ", ".join(f"{100 * fraction:.3g}" for fraction in design.checkpoints.fractions)
        seed = design.checkpoints.order_seed
        yield "Checkpoints", f"at {at} % of the blocks of the first run, whose order has the seed {seed}"
    yield "Runs", runs(certificate) if is_inside_pass(certificate) else f"{content.replicates:,}"
    if pilot:
        chosen = listed(pilot.candidate, limit=20)
        yield "Pilot", f"{counted(pilot.replicates, 'run')}, not part of the evidence; chose {chosen}"
    yield "Design hash", design.hash
    if board:
        yield "Board", f"epoch {board.epoch} of {board.epochs}, {counted(board.events, 'event')}"
        yield "Ledger head", board.head


def _percent(design: DesignRecord) -> str:
    return f"{100 * (design.share or 1.0):.3g} %"


def _shares(certificate: Certificate) -> str:
    """What each of the other views has of alpha, or all of them if that is the same."""
    shares = {shown(str(view.name)): _percent(view.content.design) for view in certificate.views}
    if len(set(shares.values())) == 1 and len(shares) > 1:
        return f"{len(shares):,} other views with {next(iter(shares.values()))} each"
    named = [f"{name} with {share}" for name, share in shares.items()]
    more = [f"{counted(len(named) - MOST_SHARES, 'more view')}"] if len(named) > MOST_SHARES else []
    return ", ".join([*named[:MOST_SHARES], *more])


def claims(board: BoardRecord | None) -> Iterator[tuple[str, ...]]:
    """What each claim of a board spends."""
    for claim in board.claims if board else ():
        about = f"model {shown(claim.newcomer)}" if claim.newcomer else "its first models"
        yield (f"{claim.claim}", f"epoch {claim.epoch}: {about}", f"{claim.level:.3g}", f"{claim.directions:,}")
