"""Whether a certificate agrees with itself.

A certificate says many things twice: evidence as a matrix, edge by edge and look by look; ranks beside the edges that
they follow from; counts beside lists. Whatever follows from the rest is written again by the code that writes
certificates, and compared; what only bounds something is checked here. A document that was changed by hand, or put
together from two, seldom changes all places alike. What agrees with itself may still be false: only the scores can show
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NoReturn

import numpy as np
from msgspec import UNSET, structs

from bbedge.certificate.derive import PairTable
from bbedge.certificate.document import plain
from bbedge.certificate.parts import WHOLE, Mask, Parts
from bbedge.core.paths import closure
from bbedge.core.views import HEADLINE
from bbedge.errors import FormatError
from bbedge.records.certificate import Document, Matrix
from bbedge.records.notes import files_beside
from bbedge.records.values import grouped
from bbedge.text import quoted, shown
from bbedge.verify.differences import AT_THRESHOLD, KEPT, ROUNDING, compare, score_scale
from bbedge.verify.stakes import stake_contradictions
from bbedge.verify.timeline import Contradictions, history_contradictions


def check_consistency(parts: Parts) -> None:
    """Refuse a certificate that contradicts itself, and say what contradicts what."""
    check_views(parts)
    for each, thresholds in zip((parts, *parts.views), parts.log_thresholds(), strict=True):
        # Wealth is compared with the level alone; evidence with what follows from all evidence of all views.
        exact = parts.is_complete or isinstance(each.document.log_w, np.ndarray)
        _refuse_first(each, chain(_design(each), _models(each), _first_run(each), _looks(each)))
        if each.pairs is not None:
            pairs = replace(each.pairs, log_thresholds=thresholds)
            _refuse_first(each, chain(_margins(each, pairs), _first(each, pairs), _current(each, pairs)))
            _refuse_first(each, chain(_certified(each, pairs, exact=exact), _history(each, pairs)))
        _check_derived(each, thresholds, exact=exact)
    _refuse_first(parts, history_contradictions(parts))


def check_views(parts: Parts) -> None:
    """Refuse views that cannot be of one design: with names twice, other models, or more than all of alpha."""
    _refuse_first(parts, _view_contradictions(parts))


def _view_contradictions(parts: Parts) -> Contradictions:
    names, is_whole = [each.document.view for each in parts.views], parts.document.view is UNSET
    yield len(set(names)) < len(names) or HEADLINE in names, "'views' have a name that is not theirs alone"
    for each in parts.views:
        what = f"the models of view {quoted(str(each.document.view))} are not those of the headline"
        yield set(each.names) != set(parts.names), what
    found = any(each.document.contradictions or each.document.crossed_intervals for each in (parts, *parts.views))
    yield (
        is_whole and bool(parts.document.contradicted) != found,
        "'contradicted' is not what follows from 'contradictions' and 'crossed_intervals'",
    )
    of_targets = grouped((each.is_about_new_items, each.share) for each in (parts, *parts.views))
    together = list(map(sum, of_targets.values()))
    yield max(together) > 1.0 + WHOLE, "the shares of the views are more than all of alpha"
    yield (
        is_whole and (min(together) < 1.0 - WHOLE or len(together) * parts.target_share != 1.0),
        "the shares of the views are less than all of alpha, so that a view is missing",
    )


def _refuse_first(parts: Parts, contradictions: Iterable[tuple[object, str]]) -> None:
    for is_so, what in contradictions:
        if is_so:
            _refuse(parts, what)


def _refuse(parts: Parts, what: str) -> NoReturn:
    raise FormatError(
        f"{parts.source}: the certificate contradicts itself: {what}. Do not rely on it; write it again with "
        "bbedge certify --json or bbedge board show --json"
    )


def _check_derived(parts: Parts, thresholds: Matrix, *, exact: bool) -> None:
    """Refuse what is not as the code that writes certificates would write it, given the rest."""
    try:
        again = parts.again(thresholds, exact=exact)
    except ValueError as error:  # of a record: nothing possible follows
        _refuse(parts, f"nothing follows from it, because {error}")
    found = compare(*_values_to_compare(parts.document, again))
    if found.count:
        first = found.found[0]
        stated, computed = (shown(str(value), 80) for value in (first.stated, first.computed))
        _refuse(parts, f"{first.place} is {stated}, and {computed} follows from the rest of it")


def _values_to_compare(stated: Document, again: Document) -> list[dict[str, Any]]:
    """Plain values of both, without the matrices that the rest is written from.

    Lists of pairs that are the same are left out, too: hundreds of models have many, and each takes its time.
    """
    left_out: dict[str, Any] = {"log_e": None, "log_w": UNSET, "margins": None, "history": None, "views": UNSET}
    edges, edges_again = ([structs.astuple(edge) for edge in each.edges or ()] for each in (stated, again))
    if edges == edges_again:
        left_out["edges"] = None
    pairs, pairs_again = (set(map(frozenset, each.unresolved or ())) for each in (stated, again))
    if pairs == pairs_again and len(stated.unresolved or ()) == len(pairs):
        left_out["unresolved"] = None
    return [plain(structs.replace(each, notes=(), **left_out)) for each in (stated, again)]


def _none_of(pairs: PairTable, wrong: Mask, what: str) -> Contradictions:
    """There is none of these directions; ``what`` has braces for the first of them and for its opposite."""
    for a, b in np.argwhere(wrong)[:1].tolist():
        yield True, what.format(_pair(pairs.names, a, b), _pair(pairs.names, b, a))


def _pair(names: Sequence[str], a: int, b: int) -> str:
    return f"{quoted(names[a])} over {quoted(names[b])}"


def _design(parts: Parts) -> Contradictions:
    """Numbers of the design, the pilot and the board are possible together."""
    document, design = parts.document, parts.document.design
    weights, pilot, board, origin = design.weights, document.pilot, document.board, document.provenance
    yield (
        any(note != files_beside(note.subject) for note in document.notes if note.kind == "beside"),
        "a note about files beside the scores says more than their names",
    )
    yield (
        weights and (weights.items > document.items or weights.largest * weights.items < 1.0 - ROUNDING),
        "'weights' and 'items' do not agree",
    )
    yield from stake_contradictions(document)
    yield (
        any(after >= document.replicates for after in (document.stopped or {}).values()),
        "'stopped' names a model that has all replicates",
    )
    yield (
        document.gaps and (document.gaps.resolved_if_means or 0) > parts.ranks.n_pairs,
        "'gaps.resolved_if_means' is more than there are pairs",
    )
    yield (
        pilot and pilot.k != len(set(pilot.candidate)),
        "the pilot's 'candidate' does not have 'k' models",
    )
    if not board:
        return
    yield (
        origin and (origin.sources or origin.scores or origin.reading),
        "'provenance' names scores beside the board",
    )
    yield (
        board.epoch > board.epochs,
        f"the board has {board.epochs} epochs, and this is of epoch {board.epoch}",
    )
    yield (
        not {claim.newcomer for claim in parts.claims} <= {None, *parts.names},
        "the board's claims name a model that is not there",
    )


def _models(parts: Parts) -> Contradictions:
    """Means lie on the scale and in their intervals, and the models are in the order of tiers and means."""
    document = parts.document
    slack = ROUNDING * score_scale(*document.design.score_range)
    low, high = document.design.score_range[0] - slack, document.design.score_range[1] + slack
    for model in document.models:
        name, mean, ends = quoted(model.name), model.mean, model.mean_interval
        yield (
            (ends is UNSET) != (document.design.mean_share is UNSET or parts.is_about_new_items),
            "'mean_interval' of the models and 'mean_share' of the design do not agree",
        )
        yield (
            ends is not UNSET and not low <= ends[0] <= ends[1] <= high,
            f"the interval for the mean of {name} is not a part of the score range",
        )
        if mean is None:
            continue
        yield not document.replicates, f"{name} has a mean, and there are no replicates"
        yield (
            model.mean_items is not UNSET and not document.design.gaps,
            f"the mean of {name} is over some items, and no score may be missing",
        )
        yield not low <= mean <= high, f"the mean {mean} of {name} is outside the score range"
        yield (
            ends is not UNSET and not ends[0] - slack <= mean <= ends[1] + slack,
            f"the interval for the mean of {name} does not contain its mean",
        )
    keys = [
        (model.tier, model.mean_items is not UNSET, np.inf if model.mean is None else -model.mean)
        for model in document.models
    ]
    yield keys != sorted(keys), "'models' are not in the order of their tiers and means"


def _first_run(parts: Parts) -> Contradictions:
    """Looks inside the first run are of checkpoints of the design, in their order."""
    document, names = parts.document, parts.names
    checkpoints, now, looks = document.design.checkpoints, document.first_pass, document.parts or ()
    if not checkpoints or not now:
        yield checkpoints or now or looks, "'checkpoints' of the design, 'first_pass' and 'parts' do not agree"
        return
    numbers, blocks, models = ([getattr(look, key) for look in looks] for key in ("checkpoint", "blocks", "models"))
    yield (
        numbers != list(range(1, len(looks) + 1)) or len(looks) > now.checkpoints,
        "'parts' are not the first checkpoints of the design, one by one",
    )
    rising = all(earlier < later for earlier, later in pairwise([*blocks, now.of_blocks]))
    yield (
        not rising or models != sorted(models, reverse=True) or any(count > len(names) for count in models),
        "the blocks or models of 'parts' are not possible",
    )
    yield now.checkpoints > len(checkpoints.fractions), "'first_pass' has more checkpoints than the design"
    yield (
        now.position and not (abs(now.position.correlation) <= 1.0 + ROUNDING and now.position.model in (None, *names)),
        "'first_pass.position' is not possible",
    )
    yield (
        looks and not now.complete and looks[-1].resolved_pairs != parts.ranks.n_resolved,
        "the resolved pairs of the last part are not those of the ranks",
    )


def _looks(parts: Parts) -> Contradictions:
    """There is a look after each replicate, and what stands only grows."""
    looks, replicates, counts = parts.document.looks, parts.document.replicates, parts.document.counts
    numbers, design = [look.replicate for look in looks], parts.document.design
    expected = [run for run in range(1, replicates + 1) if run % design.runs_of_score == 0]
    if parts.is_about_new_items:
        earlier = (parts.document.board and parts.document.board.earlier_runs) or ()
        expected = [run for run in range(1, replicates + 1) if design.is_new_items_look(run, earlier)]
    # Of a board, adding a model is a look, too, and a model that joins with the first runs has a schedule of its own.
    each_once = len(parts.claims) > 1 or len(numbers) == len(expected)
    beyond = set(numbers) - set(expected)
    complete = set(numbers) >= set(expected) and not (beyond and (len(parts.claims) <= 1 or max(beyond) > replicates))
    yield (
        numbers != sorted(numbers) or not each_once or not complete,
        f"'looks' are not those after each of {replicates} replicates",
    )
    yield counts.current_edges > counts.edges, "the last look certifies more than stands"
    for before, now in pairwise(looks):
        fewer = now.resolved_pairs < before.resolved_pairs and not parts.document.contradictions
        yield now.edges < before.edges or fewer, f"after replicate {now.replicate} less stands than before"


def _margins(parts: Parts, pairs: PairTable) -> Contradictions:
    """Bounds leave room for a difference, and for that of the means where both are of the same replicates."""
    document, margins, names = parts.document, pairs.margins, parts.names
    yield (
        np.any(np.isnan(margins) == pairs.tested) or pairs.tested.diagonal().any(),
        "'margins' and 'log_e' are not of the same directions",
    )
    low, high = document.design.score_range
    slack = ROUNDING * (high - low)
    # A certified comparison's margin may be tau where its bound is less, whatever the scores have done since.
    at_least = document.design.tau * (high - low) + slack
    raised = pairs.graph.edges & (margins <= at_least) & document.design.is_joint
    # Checkpoints keep the largest bound of any look, whatever the scores have done since.
    # Of new items, all looks together bound a difference, and means are those of all runs.
    # Stakes that were fitted know only what has happened since they entered.
    keeps_largest = bool(document.design.checkpoints) or parts.is_about_new_items or document.design.stakes == "fitted"
    crossed = (margins + margins.T > slack) & ~(raised | raised.T) & (not keeps_largest)
    yield from _none_of(pairs, crossed, "the margins of {} and of {} exclude each other")
    for each in document.crossed_intervals or ():
        ends = [names.index(name) for name in each.names]
        at_least, at_most = (margins[tuple(ends)], -margins[tuple(ends[::-1])]) if len(ends) == 2 else (np.nan,) * 2
        if each.lower < at_least - slack or each.upper > at_most + slack:
            yield True, f"'crossed_intervals' and 'margins' do not agree on {_pair(names, *ends)}"
    means = np.array([np.nan if model.mean is None else model.mean for model in document.models])
    apart: set[str | None] = set(document.stopped or ())
    if document.board:
        apart |= {*document.board.retired, *(claim.newcomer for claim in parts.claims)}
    means[[name in apart for name in names]] = np.nan
    slack += ROUNDING * max(abs(low), abs(high))
    beyond = (margins > means[:, None] - means + slack) & ~raised & (not keeps_largest)
    yield from _none_of(pairs, beyond, "the margin of {} is above the difference of their means")


def _first(parts: Parts, pairs: PairTable) -> Contradictions:
    """Edges were certified at replicates and checkpoints that are there."""
    first, checkpoint = pairs.first_certified, pairs.first_checkpoint
    checkpoints = len(parts.document.parts or ())
    late = first > max(parts.document.replicates, checkpoints > 0)
    yield from _none_of(pairs, late, "{} was certified at a replicate that is not there")
    late = (checkpoint > 0) & ((first != 1) | (checkpoint > checkpoints))
    yield from _none_of(pairs, late, "{} was certified at a checkpoint that was not looked at")


def _current(parts: Parts, pairs: PairTable) -> Contradictions:
    """What the last look certified stands; it is listed only for a method that may take it back."""
    listed, current = parts.document.current_edges, pairs.current
    yield (
        parts.document.design.has_memory != (listed is UNSET),
        "'current_edges' are of a method that takes nothing back, or missing of one that does",
    )
    new = current.edges & ~pairs.graph.edges
    yield from _none_of(pairs, new, "'current_edges' has {}, and 'edges' has not")
    yield (
        listed is not UNSET and len(listed or ()) != current.n_edges,
        "'current_edges' lists an edge twice",
    )


def _certified(parts: Parts, pairs: PairTable, *, exact: bool) -> Contradictions:
    """The edges of the last look are the directions whose evidence reaches the threshold.

    In a method with memory they have reached it at some look, or follow from others that have.
    """
    log_e, edges = pairs.log_e, pairs.current.edges
    thresholds, memory = pairs.log_thresholds, parts.document.design.has_memory
    yield (
        np.any(np.isnan(thresholds) == pairs.tested) or (edges & ~pairs.tested).any(),
        "'edges' or 'log_e' have a direction that is not tested",
    )
    near = np.abs(log_e - thresholds) <= AT_THRESHOLD * (1.0 + np.abs(thresholds))
    reached = log_e >= thresholds
    missing, unfounded = reached & ~edges & exact, edges & ~reached & (not memory)
    for a, b in np.argwhere(pairs.tested & ~near & (missing | unfounded))[:1].tolist():
        beside = "an edge, and its evidence does not reach" if edges[a, b] else "no edge, and its evidence reaches"
        yield True, f"{_pair(parts.names, a, b)} is {beside} the threshold {thresholds[a, b]:.6g}"
    if isinstance(parts.document.log_w, np.ndarray) or parts.is_about_new_items:
        for family, _ in parts.families():
            paths = closure(edges & family) & family & ~edges
            yield from _none_of(pairs, paths, "{} follows from other edges, and is none")
    highest = np.fmax.reduce(thresholds, axis=None) if pairs.tested.any() else -np.inf
    given = -np.inf if parts.document.log_threshold is None else parts.document.log_threshold
    slack = AT_THRESHOLD * (1.0 + abs(highest))
    yield given < highest - slack, "'log_threshold' is below what follows from 'log_e' and the level"
    yield (
        any(each.log_threshold > given + slack for each in parts.document.outlook),
        "'outlook' has a threshold above 'log_threshold'",
    )


def _history(parts: Parts, pairs: PairTable) -> Contradictions:
    """The evidence of single looks ends with that of the last one, and certified what stands when it did."""
    document, first = parts.document, pairs.first_certified
    history, memory = document.history, document.design.has_memory
    if not history or not history.replicates:
        return
    numbers = history.replicates
    yield (
        list(numbers) != sorted(set(numbers)) or numbers[-1] != document.looks[-1].replicate,
        "the replicates of 'history' do not lead to those of the certificate",
    )
    for number, threshold, values in zip(numbers, history.log_thresholds, history.values, strict=True):
        yield np.any(np.isnan(values) == pairs.tested), "'history' and 'log_e' are not of the same directions"
        reached = values > threshold + 2 * KEPT
        missed = (values < threshold - 2 * KEPT) & (not memory)  # what stands may have reached it before
        yield (
            any(look.replicate == number and look.edges < int(reached.sum()) for look in document.looks),
            f"'history' and 'looks' do not agree on the edges after replicate {number}",
        )
        wrong = (reached & ~((first > 0) & (first <= number))) | (missed & (first == number))
        yield from _none_of(pairs, wrong, "'history' and 'edges' do not agree when {} was certified")
    wealth = document.log_w if isinstance(document.log_w, np.ndarray) else None
    last = pairs.log_e if wealth is None else wealth
    yield (
        (history.log_w is UNSET) != (wealth is None) or np.any(np.abs(values - last)[pairs.tested] > KEPT),
        "the last evidence of 'history' is not 'log_e'",
    )
    yield (
        wealth is None and abs(threshold - (document.log_threshold or np.nan)) > KEPT,
        "the last threshold of 'history' is not 'log_threshold'",
    )
