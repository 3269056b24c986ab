"""Whether a certificate agrees with itself.

A certificate says many things twice: evidence as a matrix, edge by edge and look by look; ranks beside the edges that
they follow from; counts beside lists. Whatever follows from the rest is written again by the code that writes
certificates, and compared; what only bounds something is checked here. A document that was changed by hand, or put
together from two, seldom changes all places alike. What agrees with itself may still be false: only the scores can show
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from bbedge.text import quoted, shown
from bbedge.verify.differences import AT_THRESHOLD, KEPT, ROUNDING, compare

Contradictions = Iterator[tuple[object, str]]
"""What must not be so, and what to say if it is. Each may rely on all before it being in order."""


def check_consistency(parts: Parts) -> None:
    """Refuse a certificate that contradicts itself, and say what contradicts what."""
    check_views(parts)
    for each, thresholds in zip((parts, *parts.views), parts.log_thresholds(), strict=True):
        # Wealth is compared with the level alone; evidence with what follows from all evidence of all views.
        exact = parts.is_complete or isinstance(each.document.log_w, np.ndarray)
        _refuse_first(each, _Bounds(each).all())
        if each.pairs is not None:
            _refuse_first(each, _PairBounds(each, each.pairs, thresholds, exact=exact).all())
        _check_derived(each, thresholds, exact=exact)


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
    together = sum(each.share for each in (parts, *parts.views))
    yield together > 1.0 + WHOLE, "the shares of the views are more than all of alpha"
    yield (
        is_whole and together < 1.0 - WHOLE,
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


class _Bounds:
    """What must lie within bounds, in every certificate."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._document, self._names = parts, parts.document, parts.names
        self._low, self._high = self._document.design.score_range
        self._width = self._high - self._low
        self._slack = ROUNDING * max(abs(self._low), abs(self._high), self._width)

    def all(self) -> Contradictions:
        """Every check."""
        return chain(self.design(), self.models(), self.first_run(), self.looks())

    def pair(self, a: int, b: int) -> str:
        """A direction for a message."""
        return f"{quoted(self._names[a])} over {quoted(self._names[b])}"

    def none_of(self, wrong: Mask, what: str) -> Contradictions:
        """There is none of these directions; ``what`` has braces for the first of them and for its opposite."""
        for a, b in np.argwhere(wrong)[:1].tolist():
            yield True, what.format(self.pair(a, b), self.pair(b, a))

    def design(self) -> Contradictions:
        """Numbers of the design, the pilot and the board are possible together."""
        document, design = self._document, self._document.design
        weights, pilot, board, origin = design.weights, document.pilot, document.board, document.provenance
        yield (
            any(note != files_beside(note.subject) for note in document.notes if note.kind == "beside"),
            "a note about files beside the scores says more than their names",
        )
        yield (
            weights and (weights.items > document.items or weights.largest * weights.items < 1.0 - ROUNDING),
            "'weights' and 'items' do not agree",
        )
        yield (
            len(design.stake_weights) != len(design.stake_values),
            "'stake_weights' and 'stake_values' are not of one length",
        )
        yield (
            any(after >= document.replicates for after in (document.stopped or {}).values()),
            "'stopped' names a model that has all replicates",
        )
        yield (
            document.gaps and (document.gaps.resolved_if_means or 0) > self._parts.ranks.n_pairs,
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
            not {claim.newcomer for claim in self._parts.claims} <= {None, *self._names},
            "the board's claims name a model that is not there",
        )

    def models(self) -> Contradictions:
        """Means lie on the scale and in their intervals, and the models are in the order of tiers and means."""
        document, low, high = self._document, self._low - self._slack, self._high + self._slack
        for model in document.models:
            name, mean, ends = quoted(model.name), model.mean, model.mean_interval
            yield (
                (ends is UNSET) != (document.design.mean_share is UNSET),
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
                ends is not UNSET and not ends[0] - self._slack <= mean <= ends[1] + self._slack,
                f"the interval for the mean of {name} does not contain its mean",
            )
        keys = [
            (model.tier, model.mean_items is not UNSET, np.inf if model.mean is None else -model.mean)
            for model in document.models
        ]
        yield keys != sorted(keys), "'models' are not in the order of their tiers and means"

    def first_run(self) -> Contradictions:
        """Looks inside the first run are of checkpoints of the design, in their order."""
        checkpoints, parts = self._document.design.checkpoints, self._document.parts or ()
        now = self._document.first_pass
        if not checkpoints or not now:
            what = "'checkpoints' of the design, 'first_pass' and 'parts' do not agree"
            yield checkpoints or now or parts, what
            return
        numbers, blocks, models = ([getattr(part, key) for part in parts] for key in ("checkpoint", "blocks", "models"))
        yield (
            numbers != list(range(1, len(parts) + 1)) or len(parts) > now.checkpoints,
            "'parts' are not the first checkpoints of the design, one by one",
        )
        rising = all(earlier < later for earlier, later in pairwise([*blocks, now.of_blocks]))
        yield (
            not rising or models != sorted(models, reverse=True) or any(count > len(self._names) for count in models),
            "the blocks or models of 'parts' are not possible",
        )
        yield now.checkpoints > len(checkpoints.fractions), "'first_pass' has more checkpoints than the design"
        yield (
            now.position
            and not (abs(now.position.correlation) <= 1.0 + ROUNDING and now.position.model in (None, *self._names)),
            "'first_pass.position' is not possible",
        )
        yield (
            parts and not now.complete and parts[-1].resolved_pairs != self._parts.ranks.n_resolved,
            "the resolved pairs of the last part are not those of the ranks",
        )

    def looks(self) -> Contradictions:
        """There is a look after each replicate, and what stands only grows."""
        looks, replicates, counts = self._document.looks, self._document.replicates, self._document.counts
        numbers = [look.replicate for look in looks]
        # Of a board, adding a model is a look, too, at a replicate that has had one.
        each_once = bool(self._document.board) or len(numbers) == replicates
        complete = len(set(numbers)) == replicates and all(number <= replicates for number in numbers)
        yield (
            numbers != sorted(numbers) or not each_once or not complete,
            f"'looks' are not those after each of {replicates} replicates",
        )
        yield counts.current_edges > counts.edges, "the last look certifies more than stands"
        for before, now in pairwise(looks):
            fewer = now.resolved_pairs < before.resolved_pairs and not self._document.contradictions
            yield now.edges < before.edges or fewer, f"after replicate {now.replicate} less stands than before"


class _PairBounds(_Bounds):
    """What a certificate that lists its pairs can be checked for besides."""

    def __init__(self, parts: Parts, pairs: PairTable, thresholds: Matrix, *, exact: bool) -> None:
        super().__init__(parts)
        self._pairs, self._thresholds, self._exact = pairs, thresholds, exact
        self._tested: Mask = ~np.isnan(pairs.log_e)

    def all(self) -> Contradictions:
        """Every check."""
        return chain(self.margins(), self.first(), self.current(), self.certified(), self.history())

    def margins(self) -> Contradictions:
        """Bounds leave room for a difference, and for that of the means where both are of the same replicates."""
        document, margins, names = self._document, self._pairs.margins, self._names
        yield (
            np.any(np.isnan(margins) == self._tested) or self._tested.diagonal().any(),
            "'margins' and 'log_e' are not of the same directions",
        )
        slack = ROUNDING * self._width
        # A certified comparison's margin may be tau where its bound is less, whatever the scores have done since.
        at_least = document.design.tau * self._width + slack
        raised = self._pairs.graph.edges & (margins <= at_least) & document.design.is_joint
        # Checkpoints keep the largest bound of any look, whatever the scores have done since.
        keeps_largest = bool(document.design.checkpoints)
        crossed = (margins + margins.T > slack) & ~(raised | raised.T) & (not keeps_largest)
        yield from self.none_of(crossed, "the margins of {} and of {} exclude each other")
        for each in document.crossed_intervals or ():
            ends = [names.index(name) for name in each.names]
            at_least, at_most = (margins[tuple(ends)], -margins[tuple(ends[::-1])]) if len(ends) == 2 else (np.nan,) * 2
            if each.lower < at_least - slack or each.upper > at_most + slack:
                yield True, f"'crossed_intervals' and 'margins' do not agree on {self.pair(*ends)}"
        means = np.array([np.nan if model.mean is None else model.mean for model in document.models])
        apart: set[str | None] = set(document.stopped or ())
        if document.board:
            apart |= {*document.board.retired, *(claim.newcomer for claim in self._parts.claims)}
        means[[name in apart for name in names]] = np.nan
        slack += ROUNDING * max(abs(self._low), abs(self._high))
        beyond = (margins > means[:, None] - means + slack) & ~raised & (not keeps_largest)
        yield from self.none_of(beyond, "the margin of {} is above the difference of their means")

    def first(self) -> Contradictions:
        """Edges were certified at replicates and checkpoints that are there."""
        first, checkpoint = self._pairs.first_certified, self._pairs.first_checkpoint
        parts = len(self._document.parts or ())
        late = first > max(self._document.replicates, parts > 0)
        yield from self.none_of(late, "{} was certified at a replicate that is not there")
        late = (checkpoint > 0) & ((first != 1) | (checkpoint > parts))
        yield from self.none_of(late, "{} was certified at a checkpoint that was not looked at")

    def current(self) -> Contradictions:
        """What the last look certified stands; it is listed only for a method that may take it back."""
        listed, current = self._document.current_edges, self._pairs.current
        yield (
            self._document.design.has_memory != (listed is UNSET),
            "'current_edges' are of a method that takes nothing back, or missing of one that does",
        )
        new = current.edges & ~self._pairs.graph.edges
        yield from self.none_of(new, "'current_edges' has {}, and 'edges' has not")
        yield (
            listed is not UNSET and len(listed or ()) != current.n_edges,
            "'current_edges' lists an edge twice",
        )

    def certified(self) -> Contradictions:
        """The edges of the last look are the directions whose evidence reaches the threshold.

        In a method with memory they have reached it at some look, or follow from others that have.
        """
        log_e, edges = self._pairs.log_e, self._pairs.current.edges
        thresholds, memory = self._thresholds, self._document.design.has_memory
        yield (
            np.any(np.isnan(thresholds) == self._tested) or (edges & ~self._tested).any(),
            "'edges' or 'log_e' have a direction that is not tested",
        )
        near = np.abs(log_e - thresholds) <= AT_THRESHOLD * (1.0 + np.abs(thresholds))
        reached = log_e >= thresholds
        missing, unfounded = reached & ~edges & self._exact, edges & ~reached & (not memory)
        for a, b in np.argwhere(self._tested & ~near & (missing | unfounded))[:1].tolist():
            beside = "an edge, and its evidence does not reach" if edges[a, b] else "no edge, and its evidence reaches"
            yield True, f"{self.pair(a, b)} is {beside} the threshold {thresholds[a, b]:.6g}"
        if isinstance(self._document.log_w, np.ndarray):
            for family, _ in self._parts.families():
                paths = closure(edges & family) & family & ~edges
                yield from self.none_of(paths, "{} follows from other edges, and is none")
        highest = np.fmax.reduce(thresholds, axis=None) if self._tested.any() else -np.inf
        given = -np.inf if self._document.log_threshold is None else self._document.log_threshold
        slack = AT_THRESHOLD * (1.0 + abs(highest))
        yield given < highest - slack, "'log_threshold' is below what follows from 'log_e' and the level"
        yield (
            any(each.log_threshold > given + slack for each in self._document.outlook),
            "'outlook' has a threshold above 'log_threshold'",
        )

    def history(self) -> Contradictions:
        """The evidence of single looks ends with that of the last one, and certified what stands when it did."""
        document, first = self._document, self._pairs.first_certified
        history, memory = document.history, document.design.has_memory
        if not history or not history.replicates:
            return
        numbers = history.replicates
        yield (
            list(numbers) != sorted(set(numbers)) or numbers[-1] != document.replicates,
            "the replicates of 'history' do not lead to those of the certificate",
        )
        for number, threshold, values in zip(numbers, history.log_thresholds, history.values, strict=True):
            yield np.any(np.isnan(values) == self._tested), "'history' and 'log_e' are not of the same directions"
            reached = values > threshold + 2 * KEPT
            missed = (values < threshold - 2 * KEPT) & (not memory)  # what stands may have reached it before
            yield (
                any(look.replicate == number and look.edges < int(reached.sum()) for look in document.looks),
                f"'history' and 'looks' do not agree on the edges after replicate {number}",
            )
            wrong = (reached & ~((first > 0) & (first <= number))) | (missed & (first == number))
            yield from self.none_of(wrong, "'history' and 'edges' do not agree when {} was certified")
        wealth = document.log_w if isinstance(document.log_w, np.ndarray) else None
        last = self._pairs.log_e if wealth is None else wealth
        yield (
            (history.log_w is UNSET) != (wealth is None) or np.any(np.abs(values - last)[self._tested] > KEPT),
            "the last evidence of 'history' is not 'log_e'",
        )
        yield (
            wealth is None and abs(threshold - (document.log_threshold or np.nan)) > KEPT,
            "the last threshold of 'history' is not 'log_threshold'",
        )
