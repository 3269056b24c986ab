"""Whether a certificate agrees with itself.

A certificate says many things twice: evidence as a matrix, edge by edge and look by look; ranks beside the edges that
they follow from; counts beside lists. A document that was changed by hand, or put together from two, seldom changes all
places alike. What agrees with itself may still be false: only the scores can show that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bbedge.core.eholm import log_threshold
from bbedge.core.graph import Ranks
from bbedge.errors import FormatError
from bbedge.naming import quoted
from bbedge.report.reading import PairParts, Parts
from bbedge.report.standing import Shown

Mask = NDArray[np.bool_]

ROUNDING = 1e-9
"""Relative difference of two numbers that should be the same; other programs may have written the file again."""
AT_THRESHOLD = 1e-6
"""Evidence this near the threshold may be on either side of it: another machine may have computed it."""
KEPT = 1e-4
"""The evidence of single looks is kept with four decimals."""

_PREFIX: dict[Shown, str] = {"current": "", "standing": "standing_"}


def check_consistency(parts: Parts, *, source: str) -> None:
    """Refuse a certificate that contradicts itself, and say what contradicts what."""
    check = _Check(parts, source)
    check.design()
    check.models()
    for shown in _PREFIX:
        check.conclusions(shown)
    check.looks()
    if parts.pairs is not None:
        _PairCheck(parts, parts.pairs, source).all()


class _Check:
    """What every certificate can be checked for."""

    def __init__(self, parts: Parts, source: str) -> None:
        self._parts, self._source = parts, source
        self._document, self._names = parts.document, parts.names
        self._place = {name: i for i, name in enumerate(parts.names)}

    def refuse(self, what: str) -> NoReturn:
        raise FormatError(
            f"{self._source}: the certificate contradicts itself: {what}. Do not rely on it; write it again with "
            "bbedge certify --json or bbedge board show --json"
        )

    def same(self, given: object, expected: object, key: str, follows_from: str) -> None:
        """Refuse a value that is not what follows from others."""
        if given != expected:
            self.refuse(f"{quoted(key)} is not what follows from {follows_from}")

    def pair(self, a: int, b: int) -> str:
        return f"{quoted(self._names[a])} over {quoted(self._names[b])}"

    def design(self) -> None:
        design, items = self._document["design"], self._document["items"]
        sizes = design["blocks"]["sizes"]
        self.same(design["blocks"]["count"], len(sizes), "blocks.count", "the list of their sizes")
        self.same(items, sum(sizes), "items", "the sizes of the blocks")
        weights = design.get("stake_weights", design["stake_values"])
        if not isinstance(weights, list) or len(weights) != len(design["stake_values"]):
            self.refuse("'stake_weights' and 'stake_values' are not of one length")
        pilot = self._document.get("pilot")
        if pilot is not None and pilot.get("k", len(pilot["candidate"])) != len(set(pilot["candidate"])):
            self.refuse("the pilot's 'candidate' does not have 'k' models")
        board = self._document.get("board")
        if board is not None:
            if not 1 <= board["epoch"] <= board["epochs"]:
                self.refuse(f"the board has {board['epochs']} epochs, and this is of epoch {board['epoch']}")
            spent = sum(claim["level"] for claim in board["claims"])
            if not np.isclose(spent, board["alpha_spent"], rtol=ROUNDING, atol=0.0):
                self.refuse("'alpha_spent' is not the sum of the claims' levels")

    def models(self) -> None:
        """Means lie on the scale, and the models are in the order of tiers and means."""
        low, high = self._document["design"]["score_range"]
        slack = ROUNDING * max(abs(low), abs(high), high - low)
        for name, mean in zip(self._names, self._parts.means, strict=True):
            if mean is None:
                continue
            if not self._document["replicates"]:
                self.refuse(f"{quoted(name)} has a mean, and there are no replicates")
            if not low - slack <= mean <= high + slack:
                self.refuse(f"the mean {mean} of {quoted(name)} is outside the score range")
        tiers = {shown: _tiers(ranks) for shown, ranks in self._parts.ranks.items()}
        means = [-np.inf if mean is None else mean for mean in self._parts.means]
        # Earlier versions sorted by the tiers of the last look.
        by_both = [(s, c, -mean) for s, c, mean in zip(tiers["standing"], tiers["current"], means, strict=True)]
        by_last = [(c, -mean) for c, mean in zip(tiers["current"], means, strict=True)]
        if by_both != sorted(by_both) and by_last != sorted(by_last):
            self.refuse("'models' are not in the order of their tiers and means")

    def conclusions(self, shown: Shown) -> None:
        """Tiers, counts and the sizes of certified sets follow from the rank intervals."""
        ranks, prefix = self._parts.ranks[shown], _PREFIX[shown]
        interval = f"the models' '{prefix}rank_interval'"
        expected = {
            f"{prefix}tier": _tiers(ranks),
            f"{prefix}certified_above": ranks.below.tolist(),
            f"{prefix}certified_below": ranks.above.tolist(),
        }
        for key, values in expected.items():
            for name, model, value in zip(self._names, self._document["models"], values, strict=True):
                if shown == "current" or key in model:
                    self.same(model.get(key), value, f"{key} of {name}", interval)
        if f"{prefix}certified_k" in self._document:
            self.same(self._document[f"{prefix}certified_k"], list(ranks.cuts), f"{prefix}certified_k", interval)
        counts = self._document.get("counts", {})
        for key, value in (("pairs", ranks.n_pairs), (f"{prefix}resolved_pairs", ranks.n_resolved)):
            self.same(counts.get(key, value), value, f"counts.{key}", interval)

    def looks(self) -> None:
        """The last look is what is shown as such, and what stands only grows."""
        looks, replicates = self._document["looks"], self._document["replicates"]
        numbers = [look["replicate"] for look in looks]
        if numbers != sorted(numbers) or (numbers and numbers[0] < 1) or (numbers[-1] if looks else 0) != replicates:
            self.refuse(f"the replicates of 'looks' do not lead to the {replicates} of the certificate")
        if not looks:
            return
        counts = self._document.get("counts", {})
        contradicted = bool(self._document["contradictions"])
        for shown, prefix in _PREFIX.items():
            edges = self._n_edges(shown)
            pairs = self._parts.ranks[shown].n_resolved
            last = looks[-1]
            self.same(last.get(f"{prefix}edges", edges), edges, f"{prefix}edges of the last look", "the edges")
            self.same(
                last.get(f"{prefix}resolved_pairs", pairs),
                pairs,
                f"{prefix}resolved_pairs of the last look",
                "the ranks",
            )
            self.same(counts.get(f"{prefix}edges", edges), edges, f"counts.{prefix}edges", "the edges")
        before = (0, 0)
        for look in looks:
            now = (look.get("standing_edges", before[0]), look.get("standing_resolved_pairs", before[1]))
            if now[0] < before[0] or (now[1] < before[1] and not contradicted):
                self.refuse(f"after replicate {look['replicate']} less stands than before")
            if "standing_edges" in look and now[0] < look["edges"]:
                self.refuse(f"after replicate {look['replicate']} more is certified than stands")
            before = now

    def _n_resolved(self, shown: Shown) -> int:
        return self._parts.ranks[shown].n_resolved

    def _n_edges(self, shown: Shown) -> int:
        if self._parts.pairs is not None:
            return self._parts.pairs.graphs[shown].n_edges
        return int(self._document["counts"][f"{_PREFIX[shown]}edges"])


class _PairCheck(_Check):
    """What a certificate that lists its pairs can be checked for besides."""

    def __init__(self, parts: Parts, pairs: PairParts, source: str) -> None:
        super().__init__(parts, source)
        self._pairs = pairs
        self._tested: Mask = ~np.isnan(pairs.log_e)
        low, high = self._document["design"]["score_range"]
        self._width = high - low

    def all(self) -> None:
        self.margins()
        for shown in _PREFIX:
            self.edges(shown)
            self.graph(shown)
        self.standing()
        self.certified()
        self.history()
        self.outlook()

    def margins(self) -> None:
        """Bounds leave room for a difference, and for that of the means where both are of the same replicates."""
        margins, names = self._pairs.margins, self._names
        if np.any(np.isnan(margins) != np.isnan(self._pairs.log_e)) or self._tested.diagonal().any():
            self.refuse("'margins' and 'log_e' are not of the same directions")
        slack = ROUNDING * self._width
        crossed = np.argwhere(margins + margins.T > slack)
        if len(crossed):
            a, b = crossed[0].tolist()
            self.refuse(f"the margins of {self.pair(a, b)} and of {self.pair(b, a)} exclude each other")
        means = np.array([np.nan if mean is None else mean for mean in self._parts.means])
        board = self._document.get("board")
        if board is not None:
            apart = {*board["retired"], *(claim["newcomer"] for claim in self._claims(board))}
            means[[name in apart for name in names]] = np.nan
        slack += ROUNDING * max(abs(end) for end in self._document["design"]["score_range"])
        beyond = np.argwhere(margins > means[:, None] - means + slack)
        if len(beyond):
            a, b = beyond[0].tolist()
            self.refuse(f"the margin of {self.pair(a, b)} is above the difference of their means")

    def edges(self, shown: Shown) -> None:
        """Every edge says of its pair what the matrices say."""
        key, graph = f"{_PREFIX[shown]}edges", self._pairs.graphs[shown]
        step = float(self._document["design"]["tau"]) * self._width
        listed = self._document[key]
        a = np.array([self._place[edge["winner"]] for edge in listed], dtype=np.intp)
        b = np.array([self._place[edge["loser"]] for edge in listed], dtype=np.intp)
        expected = {
            "log_e": self._pairs.log_e[a, b],
            "margin": self._pairs.margins[a, b],
            "path_margin": graph.path_lengths[a, b] * step if step else np.zeros(len(listed)),
        }
        for name, values in expected.items():
            given = np.array([edge[name] for edge in listed], dtype=np.float64)
            wrong = np.flatnonzero(~np.isclose(given, values, rtol=ROUNDING, atol=ROUNDING))
            if len(wrong):
                i = int(wrong[0])
                where = "the length of its path" if name == "path_margin" else "the matrix"
                pair = self.pair(int(a[i]), int(b[i]))
                self.refuse(f"{quoted(key)} gives {pair} a {name} of {given[i]:g}, {where} {values[i]:g}")
        late = np.argwhere(self._pairs.first[shown] > self._document["replicates"])
        if len(late):
            self.refuse(f"{self.pair(*late[0].tolist())} was certified at a replicate that is not there")

    def graph(self, shown: Shown) -> None:
        """Ranks, open pairs and Top-k sets follow from the edges."""
        graph, prefix, names = self._pairs.graphs[shown], _PREFIX[shown], self._names
        edges = f"'{prefix}edges'"
        ranks = self._parts.ranks[shown].rank_intervals
        for name, given, expected in zip(names, ranks, graph.rank_intervals, strict=True):
            self.same(given, expected, f"{prefix}rank_interval of {name}", edges)
        listed = self._document.get(f"{prefix}unresolved")
        if listed is not None:
            found = {frozenset((names[a], names[b])) for a, b in graph.unresolved_pairs.tolist()}
            self.same({frozenset(pair) for pair in listed}, found, f"{prefix}unresolved", edges)
            self.same(len(listed), len(found), f"{prefix}unresolved", edges)
        sets = self._document.get(f"{prefix}top_k")
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
        cycles = {self._named(group) for group in self._pairs.graphs["standing"].cycles}
        given = {frozenset(group) for group in self._document["contradictions"]}
        self.same(given, cycles, "contradictions", "'standing_edges'")

    def certified(self) -> None:
        """The edges of the last look are the directions whose evidence reaches the threshold."""
        log_e, edges = self._pairs.log_e, self._pairs.graphs["current"].edges
        left, highest = self._tested.copy(), -np.inf
        for family, level in self._families():
            left &= ~family
            if not family.any():
                continue
            threshold = log_threshold(np.where(family, log_e, np.nan), level)
            highest = max(highest, threshold)
            near = np.abs(log_e - threshold) <= AT_THRESHOLD * (1.0 + abs(threshold))
            wrong = np.argwhere(family & ~near & (edges != (log_e >= threshold)))
            if len(wrong):
                a, b = wrong[0].tolist()
                beside = (
                    "an edge, and its evidence does not reach" if edges[a, b] else "no edge, and its evidence reaches"
                )
                self.refuse(f"{self.pair(a, b)} is {beside} the threshold {threshold:.6g}")
        if left.any() or (edges & ~self._tested).any():
            self.refuse("'edges' or 'log_e' have a direction that is not tested")
        given = self._document["log_threshold"]
        none = highest == -np.inf
        if none != (given is None) or not (none or abs(given - highest) <= AT_THRESHOLD * (1.0 + abs(highest))):
            self.refuse("'log_threshold' is not what follows from 'log_e' and the level")

    def _families(self) -> Iterator[tuple[Mask, float]]:
        """The directions that are tested together, and at what level: of a board, those of each claim."""
        board = self._document.get("board")
        if board is None:
            yield self._tested, float(self._document["design"]["alpha"])
            return
        claims = self._claims(board)
        later = {claim["newcomer"] for claim in claims} - {None}
        if not later <= set(self._names):
            self.refuse("the board's claims name a model that is not there")
        for claim in claims:
            newcomer = claim["newcomer"]
            later.discard(newcomer)
            there = np.array([name not in later for name in self._names])
            family = self._tested & there[:, None] & there
            if newcomer is not None:
                touches = np.arange(len(self._names)) == self._place[newcomer]
                family &= touches[:, None] | touches
            yield family, float(claim["level"])

    def _claims(self, board: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [claim for claim in board["claims"] if claim["epoch"] == board["epoch"]]

    def history(self) -> None:
        """The evidence of single looks ends with that of the last one, and certified what stands when it did."""
        history, first = self._document.get("history"), self._pairs.first["standing"]
        if not history or not history["replicates"]:
            return
        numbers = history["replicates"]
        if numbers != sorted(set(numbers)) or numbers[0] < 1 or numbers[-1] != self._document["replicates"]:
            self.refuse("the replicates of 'history' do not lead to those of the certificate")
        for number, threshold, rows in zip(numbers, history["log_thresholds"], history["log_e"], strict=True):
            log_e = np.array(rows, dtype=np.float64)
            if np.any(np.isnan(log_e) == self._tested):
                self.refuse("'history' and 'log_e' are not of the same directions")
            reached, missed = log_e > threshold + 2 * KEPT, log_e < threshold - 2 * KEPT
            wrong = np.argwhere((reached & ~((first > 0) & (first <= number))) | (missed & (first == number)))
            if len(wrong):
                a, b = wrong[0].tolist()
                self.refuse(f"'history' and 'standing_edges' do not agree when {self.pair(a, b)} was certified")
        if np.any(np.abs(log_e - self._pairs.log_e)[self._tested] > KEPT):
            self.refuse("the last evidence of 'history' is not 'log_e'")
        if abs(threshold - (self._document["log_threshold"] or np.nan)) > KEPT:
            self.refuse("the last threshold of 'history' is not 'log_threshold'")

    def outlook(self) -> None:
        """What is listed as open is open, with the evidence and bounds of the matrices."""
        current, standing = self._pairs.graphs["current"].above, self._pairs.graphs["standing"].above
        log_e, margins = self._pairs.log_e, self._pairs.margins
        for each in self._document.get("outlook", []):
            a, b = self._place[each["ahead"]], self._place[each["behind"]]
            if a == b or current[a, b] or current[b, a]:
                self.refuse(f"'outlook' lists {self.pair(a, b)} as open, and the edges of the last look decide it")
            if "stands" in each and each["stands"] != bool(standing[a, b] or standing[b, a]):
                self.refuse(f"'outlook' and 'standing_edges' do not agree on {self.pair(a, b)}")
            within = each.get("within", [None, None])
            for given, expected in ((within[0], margins[a, b]), (within[1], -margins[b, a])):
                if "within" in each and not _close(np.nan if given is None else given, float(expected)):
                    self.refuse(f"'outlook' and 'margins' do not agree on {self.pair(a, b)}")
            if not _close(each["log_e"], float(log_e[a, b])) or log_e[b, a] > log_e[a, b]:
                self.refuse(f"'outlook' and 'log_e' do not agree on {self.pair(a, b)}")
            if each["log_threshold"] > (self._document["log_threshold"] or 0.0) * (1.0 + AT_THRESHOLD):
                self.refuse(f"'outlook' gives {self.pair(a, b)} a threshold above 'log_threshold'")

    def _named(self, members: tuple[int, ...] | None) -> frozenset[str] | None:
        return None if members is None else frozenset(self._names[i] for i in members)


def _tiers(ranks: Ranks) -> list[int]:
    tiers = [0] * ranks.n_models
    for tier, members in enumerate(ranks.tiers, start=1):
        for model in members:
            tiers[model] = tier
    return tiers


def _close(given: float, expected: float) -> bool:
    """Whether two numbers are the same but for rounding; NaN is the same as NaN."""
    if np.isnan(given) or np.isnan(expected):
        return bool(np.isnan(given) and np.isnan(expected))
    return abs(given - expected) <= ROUNDING * max(1.0, abs(expected))
