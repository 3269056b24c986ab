"""What the page says besides its table and drawings: sentences, design, Top-k sets and open pairs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product
from typing import NamedTuple

import numpy as np
from msgspec import UNSET

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.derive import ended_models, provenance
from bbedge.certificate.numbers import MOST_PAIRS, outlook_on
from bbedge.display.scope import (
    announced_runs,
    error_level,
    is_inside_first_run,
    item_count,
    ledger_head,
    run_count,
    score_of_runs,
    view_share,
)
from bbedge.records.certificate import Prospect
from bbedge.text import counted, listed, shown


def page_summary(certificate: Certificate) -> str:
    """What was compared."""
    about = [f"View {shown(certificate.name)}"] if certificate.name else []
    about += ["On new items"] if certificate.is_about_new_items and not certificate.headline else []
    models = counted(len(certificate.names), "model")
    head = [f"ledger {ledger_head(certificate)}"] if ledger_head(certificate) else []
    return " · ".join([*about, *_dated(certificate), models, item_count(certificate), run_count(certificate), *head])


def _dated(certificate: Certificate) -> list[str]:
    """When a board was looked at last, or when another certificate was written; of a view about new items neither."""
    time, board = provenance(certificate.content).time, (certificate.headline or certificate).content.board
    if not board:
        return [f"written {time[:10]}"] if time else []
    looks = [step.time for step in board.timeline if step.has_look and step.epoch == board.epoch]
    return (
        [f"last look {looks[-1][:10]}"]
        if looks and not (certificate.headline and certificate.is_about_new_items)
        else []
    )


def budget_words(certificate: Certificate) -> str:
    """The state of the error budget."""
    board, whole = certificate.content.board, f"{error_level(certificate):g}"
    if not board:
        each = "" if certificate.content.design.is_joint else " for comparisons, and again for margins"
        return f"alpha is {whole}{each}, over all pairs and looks."
    claims = [claim for claim in board.claims if claim.continues is UNSET]
    spent = f"{board.alpha_spent:.4g} of {whole} is spent on {counted(len(claims), 'claim')}"
    return f"{spent}; the next claim gets {board.next_level:.3g}." if board.next_level else f"{spent}."


def shown_looks(certificate: Certificate) -> str:
    """Which looks the page shows; may be empty."""
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


def when_to_look(certificate: Certificate) -> str:
    """After which runs looks count, and that all of them are covered."""
    k = certificate.content.design.runs_of_score
    when = "after every run" if k == 1 else f"after every {k} runs, which make a score"
    if certificate.is_about_new_items:
        return "New items are looked at only after the runs that the design names: the guarantee covers these looks."
    return f"You may look at the results {when}: the guarantee covers all looks together."


def pilot_result(certificate: Certificate) -> str:
    """The result of a pilot-targeted Top-k; may be empty."""
    pilot = certificate.content.pilot
    if not pilot:
        return ""
    inside = [certificate.names.index(name) for name in pilot.candidate]
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


def block_assumption(certificate: Certificate) -> str:
    """What is assumed of the items."""
    blocks = certificate.content.design.blocks
    if blocks.count == 1:
        return "Items may depend on each other in any way: a whole run is one block."
    smallest, largest = min(blocks.sizes, default=1), max(blocks.sizes, default=1)
    if largest == 1:
        return "Within a run, items are independent of each other."
    span = f"{smallest} to {largest}" if smallest < largest else f"{largest}"
    return (
        f"Within a run, blocks of {span} items are independent of each other; inside a block, items may depend on each "
        "other in any way."
    )


_MOST_LISTED = 12

MOST_SHARES = 40
"""The number of views whose shares are listed."""


def design_facts(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What was frozen before the first score was seen."""
    content = certificate.content
    design, pilot, board = content.design, content.pilot, content.board
    low, high = design.score_range
    family = "all ordered pairs of models" if design.family == "all" else "the candidate set against all others"
    yield "Method", f"{design.method}: {design.evidence} evidence, {design.prediction} prediction"
    late = len(design.stake_weights) - len(design.stake_values)
    fitted = f" from the start, {late} fitted to the noise when they enter" if late else ""
    yield "Stakes", f"{design.stakes}, {len(design.stake_values)} values{fitted}"
    each = f" in each of {1 + len(certificate.views):,} views" if certificate.views else ""
    yield "Tested", f"{counted(design.directions, 'comparison')}{each}: {family}"
    yield "tau", f"{design.tau:g} on the [0, 1] scale, {design.tau * (high - low):g} in score units"
    yield "Score range", f"{low:g} to {high:g}"
    yield "Items", f"{content.items:,} in {counted(design.blocks.count, 'block')}"
    if design.weights:
        weighed, largest = counted(design.weights.items, "item"), f"{100 * design.weights.largest:.3g} %"
        yield "Weights", f"{weighed} with a weight; the largest share of one item is {largest}"
    if certificate.views:
        name = "these items" if certificate.on_new_items else "the headline"
        yield "Views", f"{name} with {view_share(certificate)} of alpha, {_shares_of_views(certificate)}"
    if announced := announced_runs(certificate):
        yield "Announced runs", announced
    if design.gaps:
        yield "Missing scores", f"{design.gaps}: each counts against whichever model it could help"
    if design.checkpoints:
        at = ", ".join(f"{100 * fraction:.3g}" for fraction in design.checkpoints.fractions)
        seed = design.checkpoints.order_seed
        yield "Checkpoints", f"at {at} % of the blocks of the first run, whose order has the seed {seed}"
    if schedule := (certificate.on_new_items or certificate).content.design.schedule:
        yield "Looks at new items", "after " + ", ".join(f"{run:,}" for run in schedule) + " runs"
    if design.of_runs:
        yield "A score", f"{design.of_runs}: {score_of_runs(certificate)}"
    if design.equal_limit is not None:
        yield "Equal", f"within {design.equal_limit:.4g} either way, in score units"
    yield "Runs", run_count(certificate) if is_inside_first_run(certificate) else f"{content.replicates:,}"
    if pilot:
        chosen = listed(pilot.candidate, limit=20)
        yield "Pilot", f"{counted(pilot.replicates, 'run')}, not part of the evidence; chose {chosen}"
    yield "Design hash", design.hash
    if board:
        yield "Board", f"epoch {board.epoch} of {board.epochs}, {counted(board.events, 'event')}"
        yield "Ledger head", board.head


def _shares_of_views(certificate: Certificate) -> str:
    """What each of the other views has of alpha, or all of them if that is the same."""
    shares = {shown(str(view.name)): view_share(view) for view in certificate.views}
    if len(set(shares.values())) == 1 and len(shares) > 1:
        return f"{len(shares):,} other views with {next(iter(shares.values()))} each"
    named = [f"{name} with {its_share}" for name, its_share in shares.items()]
    more = [f"{counted(len(named) - MOST_SHARES, 'more view')}"] if len(named) > MOST_SHARES else []
    return ", ".join([*named[:MOST_SHARES], *more])


def badge_data(certificate: Certificate) -> str:
    """The badge of the first model, in letters that are safe in an address."""
    from bbedge.display.compact import badge  # which draws with the templates of pages

    return base64.b64encode(badge(certificate, certificate.names[0]).encode("ascii")).decode("ascii")


class TopSet(NamedTuple):
    """A certified set of the first models."""

    size: int
    """How many they are."""
    words: str
    """What comes before the names; may be empty."""
    labels: Sequence[str]
    """The models in it that are in no smaller set, or where they are fewer, those outside."""


def top_sets(certificate: Certificate) -> list[TopSet]:
    """Every certified Top-k set, smallest first."""
    labels, sets = certificate.labels, [] if certificate.is_contradicted else pairwise((0, *certificate.ranks.cuts))
    return [
        TopSet(k, f"Top-{before} and" if before else "", labels[before:k])
        if k - before <= max(_MOST_LISTED, len(labels) - k)
        else TopSet(k, "all but", labels[k:])
        for before, k in sets
    ]


class OpenPairs(NamedTuple):
    """The open pairs that are listed."""

    deciding: Sequence[Prospect]
    """The first model and every other one that could be best, those with most evidence first; none if not all known."""
    others: Sequence[Prospect]
    """The others: those of two models that could be best, then those that may be certified soonest."""


def open_pairs(certificate: Certificate) -> OpenPairs:
    """The tested open pairs that the certificate lists, and all of the first model with others that could be best.

    Where few models could be best, all of their pairs are there.
    """
    names = certificate.names
    could = np.flatnonzero(certificate.ranks.n_better == 0).tolist()
    found = {frozenset((each.ahead, each.behind)): each for each in certificate.content.outlook}
    # A set that a pilot chose is not tested inside, and a cycle is not open.
    known = None if certificate.candidate or certificate.is_contradicted else certificate.all_pairs
    if found and known is not None:
        wanted = combinations(could, 2) if len(could) ** 2 <= 2 * MOST_PAIRS else product(could[:1], could[1:])
        left = np.array([pair for pair in wanted if frozenset(names[i] for i in pair) not in found], dtype=np.intp)
        found |= {
            frozenset((each.ahead, each.behind)): each
            for each in outlook_on(
                left.reshape(-1, 2),
                known,
                replicates=certificate.replicates,
                stopped=ended_models(certificate.content),
            )
        }
    best = {names[i] for i in could}
    of_best = [pair for pair in found if pair <= best]
    deciding = [] if known is None else [pair for pair in of_best if names[0] in pair]
    return OpenPairs(
        sorted((found[pair] for pair in deciding), key=lambda each: each.log_threshold - each.log_e),
        [found[pair] for pair in dict.fromkeys((*of_best, *found)) if pair not in deciding],
    )


def more_runs(interval: tuple[int, int] | None) -> str:
    """A forecast as text.

    >>> more_runs((3, 20)), more_runs((4000, 20000)), more_runs(None)
    ('3 to 20', 'thousands', 'no trend yet')
    """
    if interval is None:
        return "no trend yet"
    low, high = interval
    if low >= 1000:
        return "thousands"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
