"""What the page says besides its table and drawings: sentences, design, Top-k sets and open pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import Units
from bbedge.certificate.provenance import provenance
from bbedge.display.ranking import CONTRADICTION, observed
from bbedge.display.scope import is_inside_first_run, items, level, measure, missing, promise, runs, shares
from bbedge.records.design import BoardRecord, DesignRecord
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
            missing=missing(certificate),
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
    yield "Runs", runs(certificate) if is_inside_first_run(certificate) else f"{content.replicates:,}"
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


MOST_SETS = 30
"""The number of Top-k sets that are listed; there is one for every certified cut."""
MOST_MEMBERS = 40
"""The number of members of a Top-k set that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopSet:
    """A certified Top-k set."""

    k: int
    """Its size."""
    before: int
    """The size of the next smaller one, all of whose members it has; 0 if there is none."""
    members: tuple[str, ...]
    """Those that it has beyond that one, as far as they are named."""
    more: int
    """How many are not named."""


def top_sets(certificate: Certificate) -> Iterator[TopSet]:
    """Every certified set, smallest first."""
    done = 0
    for tier in certificate.ranks.tiers[:-1]:
        names = [certificate.labels[i] for i in sorted(tier)]
        yield TopSet(
            k=done + len(names),
            before=done,
            members=tuple(names[:MOST_MEMBERS]),
            more=len(names[MOST_MEMBERS:]),
        )
        done += len(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPair:
    """A pair that is not decided."""

    ahead: str
    """The model with more evidence so far."""
    behind: str
    """The other one."""
    difference: str
    """Of the means."""
    within: str
    """The interval of the true difference."""
    share: int
    """Evidence as a share of the threshold, in percent."""
    more: str
    """About how many more replicates."""


def open_pairs(certificate: Certificate) -> Iterator[OpenPair]:
    """The pairs that nothing decides, soonest decided first."""
    place = {name: i for i, name in enumerate(certificate.names)}
    units = certificate.units
    for each in certificate.content.outlook:
        a, b = place[each.ahead], place[each.behind]
        low, high = each.within
        yield OpenPair(
            ahead=certificate.labels[a],
            behind=certificate.labels[b],
            difference=observed(certificate, a, b),
            within=_within(units, _known(low), _known(high)),
            share=share(each.log_e, each.log_threshold),
            more=more_replicates(each.more_replicates),
        )


def _within(units: Units, low: float, high: float) -> str:
    return CONTRADICTION if low > high else f"{units.at_least(low, '+')} to {units.at_most(high, '+')}"


def _known(end: float | None) -> float:
    return math.nan if end is None else float(end)


def share(log_e: float, log_threshold: float) -> int:
    """Evidence as a share of the threshold, in percent: 0 to 99, because the pair is open.

    >>> share(2.0, 4.0), share(-5.0, -1.0)
    (50, 0)
    """
    return min(99, round(100 * log_e / log_threshold)) if log_e > 0.0 else 0


def more_replicates(interval: tuple[int, int] | None) -> str:
    """A forecast as text.

    >>> more_replicates((3, 20)), more_replicates((4000, 20000)), more_replicates(None)
    ('3 to 20', 'thousands', 'no trend yet')
    """
    if interval is None:
        return "no trend yet"
    low, high = interval
    if low >= 1000:
        return "thousands"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
