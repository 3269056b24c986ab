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
from bbedge.certificate.parts import PREFIX, Mask, PairParts, Parts, said
from bbedge.certificate.shape import Edge
from bbedge.certificate.standing import Shown, look_of, stood
from bbedge.certificate.values import Matrix
from bbedge.core.closure import closure
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
        for shown in PREFIX:
            check.conclusions(shown)
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
        for shown in PREFIX:
            self.edges(shown)
            self.graph(shown)
        self.standing()
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
        raised = self._pairs.graphs["standing"].edges & (margins <= at_least) & self._document.design.is_joint
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

    def edges(self, shown: Shown) -> None:
        """Every edge says of its pair what the matrices say."""
        key, graph = f"{PREFIX[shown]}edges", self._pairs.graphs[shown]
        step = self._document.design.tau * self._width
        listed: tuple[Edge, ...] = said(self._document, shown, "edges")
        a = np.array([self._place[edge.winner] for edge in listed], dtype=np.intp)
        b = np.array([self._place[edge.loser] for edge in listed], dtype=np.intp)
        expected = {
            "log_e": self._pairs.log_e[a, b],
            "margin": self._pairs.margins[a, b],
            "path_margin": graph.path_lengths[a, b] * step if step else np.zeros(len(listed)),
        }
        for name, values in expected.items():
            given = np.array([getattr(edge, name) for edge in listed], dtype=np.float64)
            wrong = np.flatnonzero(~np.isclose(given, values, rtol=ROUNDING, atol=ROUNDING))
            if len(wrong):
                i = int(wrong[0])
                where = "the length of its path" if name == "path_margin" else "the matrix"
                pair = self.pair(int(a[i]), int(b[i]))
                self.refuse(f"{quoted(key)} gives {pair} a {name} of {given[i]:g}, {where} {values[i]:g}")
        runs = max(self._document.replicates, bool(self._document.parts))
        late = np.argwhere(self._pairs.first[shown] > runs)
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

    def graph(self, shown: Shown) -> None:
        """Ranks, open pairs and Top-k sets follow from the edges."""
        graph, prefix, names = self._pairs.graphs[shown], PREFIX[shown], self._names
        edges = f"'{prefix}edges'"
        ranks = self._parts.ranks[shown].rank_intervals
        for name, given, expected in zip(names, ranks, graph.rank_intervals, strict=True):
            self.same(given, expected, f"{prefix}rank_interval of {name}", edges)
        listed = said(self._document, shown, "unresolved")
        if listed is not None:
            found = sorted(sorted((names[a], names[b])) for a, b in graph.unresolved_pairs.tolist())
            self.same(sorted(sorted(pair) for pair in listed), found, f"{prefix}unresolved", edges)
        sets = said(self._document, shown, "top_k")
        if sets is not None:
            given_sets = {k: members and frozenset(members) for k, members in sets.items()}
            expected_sets = {str(k): self._named(graph.top_k(k)) for k in range(1, len(names))}
            self.same(given_sets, expected_sets, f"{prefix}top_k", edges)

    def standing(self) -> None:
        """What the last look certified stands, since the same replicate; contradictions are those of what stands."""
        current, standing = self._pairs.first["current"], self._pairs.first["standing"]
        other = np.argwhere((current > 0) & (current != standing))
        if len(other):
            a, b = other[0].tolist()
            self.refuse(f"'edges' and 'standing_edges' do not say the same of {self.pair(a, b)}")
        if self._document.design.has_memory and np.any(current != standing):
            self.refuse("'edges' and 'standing_edges' differ, and the method takes nothing back")
        cycles = {self._named(group) for group in self._pairs.graphs["standing"].cycles}
        given = {frozenset(group) for group in self._document.contradictions}
        self.same(given, cycles, "contradictions", "'standing_edges'")

    def certified(self) -> None:
        """The edges of the last look are the directions whose evidence reaches the threshold.

        In a method with memory they have reached it at some look, or follow from others that have.
        """
        log_e, edges = self._pairs.log_e, self._pairs.graphs["current"].edges
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
        first = look_of(self._pairs.first["standing"], [look.replicate for look in looks])
        for look, then in zip(looks, stood(first, len(looks)), strict=True):
            for key, value in (("edges", then.edges), ("resolved_pairs", then.resolved_pairs)):
                where = f"standing_{key} after replicate {look.replicate}"
                self.same(said(look, "standing", key), value, where, "when the edges were certified")

    def history(self) -> None:
        """The evidence of single looks ends with that of the last one, and certified what stands when it did."""
        history, first = self._document.history, self._pairs.first["standing"]
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
                fewest, most = int(reached.sum()), int((self._tested & ~missed).sum())
                if look.replicate == number and not fewest <= look.edges <= most:
                    self.refuse(f"'history' and 'looks' do not agree on the edges after replicate {number}")
            wrong = np.argwhere((reached & ~((first > 0) & (first <= number))) | (missed & (first == number)))
            if len(wrong):
                a, b = wrong[0].tolist()
                self.refuse(f"'history' and 'standing_edges' do not agree when {self.pair(a, b)} was certified")
        last = self._document.log_w if isinstance(self._document.log_w, np.ndarray) else self._pairs.log_e
        if (history.log_w is UNSET) == wealth or np.any(np.abs(values - last)[self._tested] > KEPT):
            self.refuse("the last evidence of 'history' is not 'log_e'")
        if not wealth and abs(threshold - (self._document.log_threshold or np.nan)) > KEPT:
            self.refuse("the last threshold of 'history' is not 'log_threshold'")

    def outlook(self) -> None:
        """What is listed as open is open, with the evidence and bounds of the matrices."""
        current, standing = self._pairs.graphs["current"].above, self._pairs.graphs["standing"].above
        log_e, margins = self._pairs.log_e, self._pairs.margins
        for each in self._document.outlook:
            a, b = self._place[each.ahead], self._place[each.behind]
            if a == b or current[a, b] or current[b, a]:
                self.refuse(f"'outlook' lists {self.pair(a, b)} as open, and the edges of the last look decide it")
            if each.stands != bool(standing[a, b] or standing[b, a]):
                self.refuse(f"'outlook' and 'standing_edges' do not agree on {self.pair(a, b)}")
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
