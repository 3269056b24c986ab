"""Whether a certificate agrees with itself.

A certificate says many things twice: evidence as a matrix, edge by edge and look by look; ranks beside the edges that
they follow from; counts beside lists. A document that was changed by hand, or put together from two, seldom changes all
places alike. What agrees with itself may still be false: only the scores can show that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import UNSET

from bbedge.certificate.model_checks import ROUNDING, ModelCheck, check_views
from bbedge.certificate.parts import Mask, PairParts, Parts
from bbedge.core.closure import closure
from bbedge.core.graph import Graph
from bbedge.records.certificate import Edge, Matrix
from bbedge.text import quoted

AT_THRESHOLD = 1e-6
"""Evidence this near the threshold may be on either side of it: another machine may have computed it."""
KEPT = 1e-4
"""The evidence of single looks is kept with four decimals."""


def check_consistency(parts: Parts) -> None:
    """Refuse a certificate that contradicts itself, and say what contradicts what."""
    check_views(parts)
    for each, thresholds in zip((parts, *parts.views), parts.log_thresholds(), strict=True):
        check = ModelCheck(each)
        check.design()
        check.models()
        check.mean_intervals()
        check.conclusions()
        check.looks()
        check.first_pass()
        check.gaps()
        if each.pairs is not None:
            _PairCheck(each, each.pairs, thresholds, exact=parts.is_complete).all()


class _PairCheck(ModelCheck):
    """What a certificate that lists its pairs can be checked for besides."""

    def __init__(self, parts: Parts, pairs: PairParts, thresholds: Matrix, *, exact: bool) -> None:
        super().__init__(parts)
        self._pairs, self._thresholds = pairs, thresholds
        # Wealth is compared with the level alone; evidence with what follows from all evidence of all views.
        self._exact = exact or isinstance(self._document.log_w, np.ndarray)
        self._tested: Mask = ~np.isnan(pairs.log_e)
        self._ends = self._document.design.score_range
        self._width = self._ends[1] - self._ends[0]

    def all(self) -> None:
        self.margins()
        self.edges()
        self.graph()
        self.current()
        self.certified()
        self.stood()
        self.history()
        self.outlook()

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
        slack += ROUNDING * max(abs(end) for end in self._ends)
        beyond = np.argwhere((margins > means[:, None] - means + slack) & ~raised)
        if len(beyond) and not self._document.design.checkpoints:
            a, b = beyond[0].tolist()
            self.refuse(f"the margin of {self.pair(a, b)} is above the difference of their means")

    def edges(self) -> None:
        """Every edge says of its pair what the matrices say."""
        step = self._document.design.tau * self._width
        listed = self._document.edges or ()
        a = np.array([self._place[edge.winner] for edge in listed], dtype=np.intp)
        b = np.array([self._place[edge.loser] for edge in listed], dtype=np.intp)
        expected = {
            "log_e": self._pairs.log_e[a, b],
            "margin": self._pairs.margins[a, b],
            "path_margin": self._pairs.graph.path_lengths[a, b] * step if step else np.zeros(len(listed)),
        }
        for name, values in expected.items():
            given = np.array([getattr(edge, name) for edge in listed], dtype=np.float64)
            wrong = np.flatnonzero(~np.isclose(given, values, rtol=ROUNDING, atol=ROUNDING))
            if len(wrong):
                i = int(wrong[0])
                where = "the length of its path" if name == "path_margin" else "the matrix"
                pair = self.pair(int(a[i]), int(b[i]))
                self.refuse(f"'edges' gives {pair} a {name} of {given[i]:g}, {where} {values[i]:g}")
        runs = max(self._document.replicates, bool(self._document.parts))
        late = np.argwhere(self._pairs.first > runs)
        if len(late):
            self.refuse(f"{self.pair(*late[0].tolist())} was certified at a replicate that is not there")
        self.first_parts(listed)

    def first_parts(self, edges: Sequence[Edge]) -> None:
        """What was certified at a checkpoint was so at one that was looked at, and is counted there."""
        parts = {part.checkpoint: part for part in self._document.parts or ()}
        for edge in edges:
            if edge.first_part and (edge.first_certified != 1 or edge.first_part not in parts):
                self.refuse(
                    f"{quoted(edge.winner)} over {quoted(edge.loser)} was certified at a checkpoint that was not "
                    "looked at"
                )
        if len(self._parts.claims) > 1:
            return  # the first run of a new model goes through checkpoints of looks before it came
        for number, part in parts.items():
            found = sum(edge.first_part is not UNSET and edge.first_part <= number for edge in edges)
            self.same(part.edges, found, f"edges at checkpoint {number}", "when the edges were certified")

    def graph(self) -> None:
        """Ranks, open pairs, Top-k sets and contradictions follow from the edges."""
        graph, names = self._pairs.graph, self._names
        for name, given, expected in zip(names, self._parts.ranks.rank_intervals, graph.rank_intervals, strict=True):
            self.same(given, expected, f"rank_interval of {name}", "'edges'")
        found = sorted(sorted((names[a], names[b])) for a, b in graph.unresolved_pairs.tolist())
        self.same(sorted(sorted(pair) for pair in self._document.unresolved or ()), found, "unresolved", "'edges'")
        given_sets = {k: members and frozenset(members) for k, members in (self._document.top_k or {}).items()}
        expected_sets = {str(k): self._named(graph.top_k(k)) for k in range(1, len(names))}
        self.same(given_sets, expected_sets, "top_k", "'edges'")
        cycles = {self._named(group) for group in graph.cycles}
        self.same({frozenset(group) for group in self._document.contradictions}, cycles, "contradictions", "'edges'")

    def current(self) -> None:
        """What the last look certified stands; it is listed only for a method that may take it back."""
        if self._document.design.has_memory != (self._document.current_edges is UNSET):
            self.refuse("'current_edges' are of a method that takes nothing back, or missing of one that does")
        new = np.argwhere(self._pairs.current.edges & ~self._pairs.graph.edges)
        if len(new):
            a, b = new[0].tolist()
            self.refuse(f"'current_edges' has {self.pair(a, b)}, and 'edges' has not")
        found, listed = self._pairs.current.n_edges, self._document.current_edges
        if listed is not UNSET and len(listed or ()) != found:
            self.refuse("'current_edges' lists an edge twice")
        self.same(self._document.counts.current_edges, found, "counts.current_edges", "the edges of the last look")

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
                    a, b = np.argwhere(paths)[0].tolist()
                    self.refuse(f"{self.pair(a, b)} follows from other edges, and is none")
        highest = np.fmax.reduce(thresholds, axis=None) if self._tested.any() else -np.inf
        given = -np.inf if self._document.log_threshold is None else self._document.log_threshold
        apart = given - highest if given != highest else 0.0
        at_least = -AT_THRESHOLD * (1.0 + abs(highest))
        if not at_least <= apart or (self._exact and not apart <= -at_least):
            self.refuse("'log_threshold' is not what follows from 'log_e' and the level")

    def stood(self) -> None:
        """What stood after each look follows from when the edges were certified."""
        looks = self._document.looks
        if len(self._parts.claims) > 1:
            return  # a new model's runs are paired with replicates of looks before it came
        graph = Graph(np.zeros_like(self._pairs.graph.edges))
        for look in looks:
            edges = (self._pairs.first > 0) & (self._pairs.first <= look.replicate)
            # A closure takes seconds with hundreds of models, and most looks add nothing.
            graph = graph if np.array_equal(edges, graph.edges) else Graph(edges)
            for key, given, found in (
                ("edges", look.edges, graph.n_edges),
                ("resolved_pairs", look.resolved_pairs, graph.n_resolved),
            ):
                self.same(given, found, f"{key} after replicate {look.replicate}", "when the edges were certified")

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
                a, b = wrong[0].tolist()
                self.refuse(f"'history' and 'edges' do not agree when {self.pair(a, b)} was certified")
        last = self._document.log_w if isinstance(self._document.log_w, np.ndarray) else self._pairs.log_e
        if (history.log_w is UNSET) == wealth or np.any(np.abs(values - last)[self._tested] > KEPT):
            self.refuse("the last evidence of 'history' is not 'log_e'")
        if not wealth and abs(threshold - (self._document.log_threshold or np.nan)) > KEPT:
            self.refuse("the last threshold of 'history' is not 'log_threshold'")

    def outlook(self) -> None:
        """What is listed as open is open, with the evidence and bounds of the matrices."""
        above, log_e, margins = self._pairs.graph.above, self._pairs.log_e, self._pairs.margins
        for each in self._document.outlook:
            a, b = self._place[each.ahead], self._place[each.behind]
            if a == b or above[a, b] or above[b, a]:
                self.refuse(f"'outlook' lists {self.pair(a, b)} as open, and the edges decide it")
            for given, expected in zip(each.within, (margins[a, b], -margins[b, a]), strict=True):
                if not _close(np.nan if given is None else given, float(expected)):
                    self.refuse(f"'outlook' and 'margins' do not agree on {self.pair(a, b)}")
            if not _close(each.log_e, float(log_e[a, b])) or log_e[b, a] > log_e[a, b]:
                self.refuse(f"'outlook' and 'log_e' do not agree on {self.pair(a, b)}")
            highest = self._document.log_threshold or 0.0
            if each.log_threshold > highest + AT_THRESHOLD * abs(highest):
                self.refuse(f"'outlook' gives {self.pair(a, b)} a threshold above 'log_threshold'")

    def _named(self, members: tuple[int, ...] | None) -> frozenset[str] | None:
        return None if members is None else frozenset(self._names[i] for i in members)


def _close(given: float, expected: float) -> bool:
    """Whether two numbers are the same but for rounding; NaN is the same as NaN."""
    if np.isnan(given) or np.isnan(expected):
        return bool(np.isnan(given) and np.isnan(expected))
    return abs(given - expected) <= ROUNDING * max(1.0, abs(expected))
