"""Whether a certificate agrees with itself.

A certificate says many things twice: evidence as a matrix, edge by edge and look by look; ranks beside the edges that
they follow from; counts beside lists. Whatever follows from the rest is written again by the code that writes
certificates, and compared; what only bounds something is checked here. A document that was changed by hand, or put
together from two, seldom changes all places alike. What agrees with itself may still be false: only the scores can show
that.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

import numpy as np
from msgspec import UNSET, structs

from bbedge.certificate.document import plain
from bbedge.certificate.parts import WHOLE, Mask, PairParts, Parts
from bbedge.core.paths import closure
from bbedge.core.views import HEADLINE
from bbedge.errors import FormatError
from bbedge.records.certificate import Document, Matrix
from bbedge.records.notes import files_beside
from bbedge.text import quoted, shown
from bbedge.verify.differences import AT_THRESHOLD, KEPT, ROUNDING, compare


def check_consistency(parts: Parts) -> None:
    """Refuse a certificate that contradicts itself, and say what contradicts what."""
    check_views(parts)
    for each, thresholds in zip((parts, *parts.views), parts.log_thresholds(), strict=True):
        # Wealth is compared with the level alone; evidence with what follows from all evidence of all views.
        exact = parts.is_complete or isinstance(each.document.log_w, np.ndarray)
        _Bounds(each).all()
        if each.pairs is not None:
            _PairBounds(each, each.pairs, thresholds, exact=exact).all()
        _check_derived(each, thresholds, exact=exact)


def check_views(parts: Parts) -> None:
    """Refuse views that cannot be of one design: with names twice, other models, or more than all of alpha."""
    names = [each.document.view for each in parts.views]
    if len(set(names)) < len(names) or HEADLINE in names:
        _refuse(parts, "'views' have a name that is not theirs alone")
    for each in parts.views:
        if set(each.names) != set(parts.names):
            _refuse(parts, f"the models of view {quoted(str(each.document.view))} are not those of the headline")
    found = any(each.document.contradictions or each.document.crossed_intervals for each in (parts, *parts.views))
    if bool(parts.document.contradicted) != found and parts.document.view is UNSET:
        _refuse(parts, "'contradicted' is not what follows from 'contradictions' and 'crossed_intervals'")
    together = sum(each.share for each in (parts, *parts.views))
    if together > 1.0 + WHOLE:
        _refuse(parts, "the shares of the views are more than all of alpha")
    if together < 1.0 - WHOLE and parts.document.view is UNSET:
        _refuse(parts, "the shares of the views are less than all of alpha, so that a view is missing")


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
    found = compare(*map(_without_evidence, _without_same_pairs(parts.document, again)))
    if found.count:
        first = found.found[0]
        stated, computed = (shown(str(value), 80) for value in (first.stated, first.computed))
        _refuse(parts, f"{first.place} is {stated}, and {computed} follows from the rest of it")


def _without_same_pairs(stated: Document, again: Document) -> tuple[Document, Document]:
    """Both without lists of pairs that are the same: hundreds of models have many, and each takes its time."""
    edges = [[structs.astuple(edge) for edge in each.edges or ()] for each in (stated, again)]
    open_ = [set(map(frozenset, each.unresolved or ())) for each in (stated, again)]
    same: dict[str, None] = {}
    if edges[0] == edges[1]:
        same["edges"] = None
    if open_[0] == open_[1] and len(stated.unresolved or ()) == len(open_[0]):
        same["unresolved"] = None
    return structs.replace(stated, **same), structs.replace(again, **same)


def _without_evidence(document: Document) -> dict[str, object]:
    """Plain values of what is written again; matrices are what it is written from."""
    rest = structs.replace(document, log_e=None, log_w=UNSET, margins=None, history=None, views=UNSET, notes=())
    found: dict[str, object] = plain(rest)
    return found


class _Bounds:
    """What must lie within bounds, in every certificate."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._document, self._names = parts, parts.document, parts.names
        self._place = {name: i for i, name in enumerate(parts.names)}
        self._low, self._high = self._document.design.score_range
        self._width = self._high - self._low
        self._slack = ROUNDING * max(abs(self._low), abs(self._high), self._width)

    def all(self) -> None:
        """Every check."""
        self.design()
        self.models()
        self.first_pass()
        self.looks()

    def refuse(self, what: str) -> NoReturn:
        """Refuse the certificate for this contradiction."""
        _refuse(self._parts, what)

    def pair(self, a: int, b: int) -> str:
        """A direction for a message."""
        return f"{quoted(self._names[a])} over {quoted(self._names[b])}"

    def design(self) -> None:
        """Numbers of the design, the pilot and the board are possible together."""
        document, design = self._document, self._document.design
        weights, pilot, board = design.weights, document.pilot, document.board
        if any(note != files_beside(note.subject) for note in document.notes if note.kind == "beside"):
            self.refuse("a note about files beside the scores says more than their names")
        if weights and (weights.items > document.items or weights.largest * weights.items < 1.0 - ROUNDING):
            self.refuse("'weights' and 'items' do not agree")
        if len(design.stake_weights) != len(design.stake_values):
            self.refuse("'stake_weights' and 'stake_values' are not of one length")
        if any(after >= document.replicates for after in (document.stopped or {}).values()):
            self.refuse("'stopped' names a model that has all replicates")
        if document.gaps and (document.gaps.resolved_if_means or 0) > self._parts.ranks.n_pairs:
            self.refuse("'gaps.resolved_if_means' is more than there are pairs")
        if pilot is not None and pilot.k != len(set(pilot.candidate)):
            self.refuse("the pilot's 'candidate' does not have 'k' models")
        if not board:
            return
        origin = document.provenance
        if origin and (origin.sources or origin.scores or origin.reading):
            self.refuse("'provenance' names scores beside the board")
        if board.epoch > board.epochs:
            self.refuse(f"the board has {board.epochs} epochs, and this is of epoch {board.epoch}")
        if not {claim.newcomer for claim in self._parts.claims} <= {None, *self._names}:
            self.refuse("the board's claims name a model that is not there")

    def models(self) -> None:
        """Means lie on the scale and in their intervals, and the models are in the order of tiers and means."""
        document, low, high = self._document, self._low - self._slack, self._high + self._slack
        for model in document.models:
            name, mean, ends = quoted(model.name), model.mean, model.mean_interval
            if (ends is UNSET) != (document.design.mean_share is UNSET):
                self.refuse("'mean_interval' of the models and 'mean_share' of the design do not agree")
            if ends is not UNSET and not low <= ends[0] <= ends[1] <= high:
                self.refuse(f"the interval for the mean of {name} is not a part of the score range")
            if mean is None:
                continue
            if not document.replicates:
                self.refuse(f"{name} has a mean, and there are no replicates")
            if model.mean_items is not UNSET and not document.design.gaps:
                self.refuse(f"the mean of {name} is over some items, and no score may be missing")
            if not low <= mean <= high:
                self.refuse(f"the mean {mean} of {name} is outside the score range")
            if ends is not UNSET and not ends[0] - self._slack <= mean <= ends[1] + self._slack:
                self.refuse(f"the interval for the mean of {name} does not contain its mean")
        keys = [
            (model.tier, model.mean_items is not UNSET, np.inf if model.mean is None else -model.mean)
            for model in document.models
        ]
        if keys != sorted(keys):
            self.refuse("'models' are not in the order of their tiers and means")

    def first_pass(self) -> None:
        """Looks inside the first pass are of checkpoints of the design, in their order."""
        checkpoints, parts = self._document.design.checkpoints, self._document.parts or ()
        now = self._document.first_pass
        if not checkpoints or not now:
            if checkpoints or now or parts:
                self.refuse("'checkpoints' of the design, 'first_pass' and 'parts' do not agree")
            return
        numbers, blocks, models = ([getattr(part, key) for part in parts] for key in ("checkpoint", "blocks", "models"))
        if numbers != list(range(1, len(parts) + 1)) or len(parts) > now.checkpoints:
            self.refuse("'parts' are not the first checkpoints of the design, one by one")
        rising = all(earlier < later for earlier, later in pairwise([*blocks, now.of_blocks]))
        if not rising or models != sorted(models, reverse=True) or any(count > len(self._names) for count in models):
            self.refuse("the blocks or models of 'parts' are not possible")
        if now.checkpoints > len(checkpoints.fractions):
            self.refuse("'first_pass' has more checkpoints than the design")
        if now.position and not (
            abs(now.position.correlation) <= 1.0 + ROUNDING and now.position.model in (None, *self._names)
        ):
            self.refuse("'first_pass.position' is not possible")
        if parts and not now.complete and parts[-1].resolved_pairs != self._parts.ranks.n_resolved:
            self.refuse("the resolved pairs of the last part are not those of the ranks")

    def looks(self) -> None:
        """There is a look after each replicate, and what stands only grows."""
        looks, replicates = self._document.looks, self._document.replicates
        numbers = [look.replicate for look in looks]
        # Of a board, adding a model is a look, too, at a replicate that has had one.
        each_once = bool(self._document.board) or len(numbers) == replicates
        complete = len(set(numbers)) == replicates and all(number <= replicates for number in numbers)
        if numbers != sorted(numbers) or not each_once or not complete:
            self.refuse(f"'looks' are not those after each of {replicates} replicates")
        if self._document.counts.current_edges > self._document.counts.edges:
            self.refuse("the last look certifies more than stands")
        for before, now in pairwise(looks):
            fewer = now.resolved_pairs < before.resolved_pairs and not self._document.contradictions
            if now.edges < before.edges or fewer:
                self.refuse(f"after replicate {now.replicate} less stands than before")


class _PairBounds(_Bounds):
    """What a certificate that lists its pairs can be checked for besides."""

    def __init__(self, parts: Parts, pairs: PairParts, thresholds: Matrix, *, exact: bool) -> None:
        super().__init__(parts)
        self._pairs, self._thresholds, self._exact = pairs, thresholds, exact
        self._tested: Mask = ~np.isnan(pairs.log_e)

    def all(self) -> None:
        """Every check."""
        self.margins()
        self.first()
        self.current()
        self.certified()
        self.history()

    def margins(self) -> None:
        """Bounds leave room for a difference, and for that of the means where both are of the same replicates."""
        margins, names = self._pairs.margins, self._names
        if np.any(np.isnan(margins) != np.isnan(self._pairs.log_e)) or self._tested.diagonal().any():
            self.refuse("'margins' and 'log_e' are not of the same directions")
        slack = ROUNDING * self._width
        # A certified comparison's margin may be tau where its bound is less, whatever the scores have done since.
        at_least = self._document.design.tau * self._width + slack
        raised = self._pairs.graph.edges & (margins <= at_least) & self._document.design.is_joint
        crossed = np.argwhere((margins + margins.T > slack) & ~(raised | raised.T))
        # Checkpoints keep the largest bound of any look, whatever the scores have done since.
        if len(crossed) and not self._document.design.checkpoints:
            a, b = crossed[0].tolist()
            self.refuse(f"the margins of {self.pair(a, b)} and of {self.pair(b, a)} exclude each other")
        for each in self._document.crossed_intervals or ():
            ends = [self._place[name] for name in each.names]
            at_least, at_most = (margins[tuple(ends)], -margins[tuple(ends[::-1])]) if len(ends) == 2 else (np.nan,) * 2
            if each.lower < at_least - slack or each.upper > at_most + slack:
                self.refuse(f"'crossed_intervals' and 'margins' do not agree on {self.pair(*ends)}")
        means = np.array([np.nan if model.mean is None else model.mean for model in self._document.models])
        apart: set[str | None] = set(self._document.stopped or ())
        if self._document.board:
            apart |= {*self._document.board.retired, *(claim.newcomer for claim in self._parts.claims)}
        means[[name in apart for name in names]] = np.nan
        slack += ROUNDING * max(abs(self._low), abs(self._high))
        beyond = np.argwhere((margins > means[:, None] - means + slack) & ~raised)
        if len(beyond) and not self._document.design.checkpoints:
            a, b = beyond[0].tolist()
            self.refuse(f"the margin of {self.pair(a, b)} is above the difference of their means")

    def first(self) -> None:
        """Edges were certified at replicates and checkpoints that are there."""
        first, first_part = self._pairs.first, self._pairs.first_part
        parts = len(self._document.parts or ())
        late = np.argwhere(first > max(self._document.replicates, parts > 0))
        if len(late):
            self.refuse(f"{self.pair(*late[0].tolist())} was certified at a replicate that is not there")
        late = np.argwhere((first_part > 0) & ((first != 1) | (first_part > parts)))
        if len(late):
            self.refuse(f"{self.pair(*late[0].tolist())} was certified at a checkpoint that was not looked at")

    def current(self) -> None:
        """What the last look certified stands; it is listed only for a method that may take it back."""
        listed = self._document.current_edges
        if self._document.design.has_memory != (listed is UNSET):
            self.refuse("'current_edges' are of a method that takes nothing back, or missing of one that does")
        new = np.argwhere(self._pairs.current.edges & ~self._pairs.graph.edges)
        if len(new):
            self.refuse(f"'current_edges' has {self.pair(*new[0].tolist())}, and 'edges' has not")
        if listed is not UNSET and len(listed or ()) != self._pairs.current.n_edges:
            self.refuse("'current_edges' lists an edge twice")

    def certified(self) -> None:
        """The edges of the last look are the directions whose evidence reaches the threshold.

        In a method with memory they have reached it at some look, or follow from others that have.
        """
        log_e, edges = self._pairs.log_e, self._pairs.current.edges
        thresholds, memory = self._thresholds, self._document.design.has_memory
        if np.any(np.isnan(thresholds) == self._tested) or (edges & ~self._tested).any():
            self.refuse("'edges' or 'log_e' have a direction that is not tested")
        near = np.abs(log_e - thresholds) <= AT_THRESHOLD * (1.0 + np.abs(thresholds))
        reached = log_e >= thresholds
        missing, unfounded = reached & ~edges & self._exact, edges & ~reached & (not memory)
        wrong = np.argwhere(self._tested & ~near & (missing | unfounded))
        if len(wrong):
            a, b = wrong[0].tolist()
            beside = "an edge, and its evidence does not reach" if edges[a, b] else "no edge, and its evidence reaches"
            self.refuse(f"{self.pair(a, b)} is {beside} the threshold {thresholds[a, b]:.6g}")
        if isinstance(self._document.log_w, np.ndarray):
            for family, _ in self._parts.families():
                paths = closure(edges & family) & family & ~edges
                if paths.any():
                    self.refuse(f"{self.pair(*np.argwhere(paths)[0].tolist())} follows from other edges, and is none")
        highest = np.fmax.reduce(thresholds, axis=None) if self._tested.any() else -np.inf
        given = -np.inf if self._document.log_threshold is None else self._document.log_threshold
        slack = AT_THRESHOLD * (1.0 + abs(highest))
        if given < highest - slack:
            self.refuse("'log_threshold' is below what follows from 'log_e' and the level")
        if any(each.log_threshold > given + slack for each in self._document.outlook):
            self.refuse("'outlook' has a threshold above 'log_threshold'")

    def history(self) -> None:
        """The evidence of single looks ends with that of the last one, and certified what stands when it did."""
        history, first = self._document.history, self._pairs.first
        if not history or not history.replicates:
            return
        numbers = history.replicates
        if list(numbers) != sorted(set(numbers)) or numbers[-1] != self._document.replicates:
            self.refuse("the replicates of 'history' do not lead to those of the certificate")
        memory, wealth = self._document.design.has_memory, isinstance(self._document.log_w, np.ndarray)
        for number, threshold, values in zip(numbers, history.log_thresholds, history.values, strict=True):
            if np.any(np.isnan(values) == self._tested):
                self.refuse("'history' and 'log_e' are not of the same directions")
            reached = values > threshold + 2 * KEPT
            missed = (values < threshold - 2 * KEPT) & (not memory)  # what stands may have reached it before
            for look in self._document.looks:
                if look.replicate == number and look.edges < int(reached.sum()):
                    self.refuse(f"'history' and 'looks' do not agree on the edges after replicate {number}")
            wrong = np.argwhere((reached & ~((first > 0) & (first <= number))) | (missed & (first == number)))
            if len(wrong):
                self.refuse(f"'history' and 'edges' do not agree when {self.pair(*wrong[0].tolist())} was certified")
        last = self._document.log_w if isinstance(self._document.log_w, np.ndarray) else self._pairs.log_e
        if (history.log_w is UNSET) == wealth or np.any(np.abs(values - last)[self._tested] > KEPT):
            self.refuse("the last evidence of 'history' is not 'log_e'")
        if not wealth and abs(threshold - (self._document.log_threshold or np.nan)) > KEPT:
            self.refuse("the last threshold of 'history' is not 'log_threshold'")
