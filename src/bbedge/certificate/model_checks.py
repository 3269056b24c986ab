"""Whether what a certificate says of its models and looks agrees with itself: what needs no single pair."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from bbedge.certificate.reading import Parts
from bbedge.certificate.standing import Shown
from bbedge.core.graph import Ranks
from bbedge.errors import FormatError
from bbedge.text import quoted

ROUNDING = 1e-9
"""Relative difference of two numbers that should be the same; other programs may have written the file again."""
PREFIX: dict[Shown, str] = {"current": "", "standing": "standing_"}
"""What the keys of each graph start with."""


class ModelCheck:
    """What every certificate can be checked for."""

    def __init__(self, parts: Parts, source: str) -> None:
        self._parts, self._source = parts, source
        self._document, self._names = parts.document, parts.names
        self._place = {name: i for i, name in enumerate(parts.names)}

    def refuse(self, what: str) -> NoReturn:
        """Refuse the certificate for this contradiction."""
        raise FormatError(
            f"{self._source}: the certificate contradicts itself: {what}. Do not rely on it; write it again with "
            "bbedge certify --json or bbedge board show --json"
        )

    def same(self, given: object, expected: object, key: str, follows_from: str) -> None:
        """Refuse a value that is not what follows from others."""
        if given != expected:
            self.refuse(f"{quoted(key)} is not what follows from {follows_from}")

    def pair(self, a: int, b: int) -> str:
        """A direction for a message."""
        return f"{quoted(self._names[a])} over {quoted(self._names[b])}"

    def design(self) -> None:
        """Numbers of the design, the pilot and the board add up."""
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
        ranks, prefix = self._parts.ranks[shown], PREFIX[shown]
        interval = f"the models' '{prefix}rank_interval'"
        expected = {
            f"{prefix}tier": _tiers(ranks),
            f"{prefix}certified_above": ranks.n_worse.tolist(),
            f"{prefix}certified_below": ranks.n_better.tolist(),
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
        # Of a board, adding a model is a look, too, at a replicate that has had one.
        each_once = "board" in self._document or len(numbers) == replicates
        complete = len(set(numbers)) == replicates and all(1 <= number <= replicates for number in numbers)
        if numbers != sorted(numbers) or not each_once or not complete:
            self.refuse(f"'looks' are not those after each of {replicates} replicates")
        if not looks:
            return
        counts = self._document.get("counts", {})
        contradicted = bool(self._document["contradictions"])
        for shown, prefix in PREFIX.items():
            edges, pairs = self._n_edges(shown), self._parts.ranks[shown].n_resolved
            self.same(counts.get(f"{prefix}edges", edges), edges, f"counts.{prefix}edges", "the edges")
            for key, value in ((f"{prefix}edges", edges), (f"{prefix}resolved_pairs", pairs)):
                self.same(looks[-1].get(key, value), value, f"{key} of the last look", "the edges")
        before = (0, 0)
        for look in looks:
            now = (look.get("standing_edges", before[0]), look.get("standing_resolved_pairs", before[1]))
            if now[0] < before[0] or (now[1] < before[1] and not contradicted):
                self.refuse(f"after replicate {look['replicate']} less stands than before")
            if "standing_edges" in look and now[0] < look["edges"]:
                self.refuse(f"after replicate {look['replicate']} more is certified than stands")
            before = now

    def _n_edges(self, shown: Shown) -> int:
        if self._parts.pairs is not None:
            return self._parts.pairs.graphs[shown].n_edges
        return int(self._document["counts"][f"{PREFIX[shown]}edges"])


def _tiers(ranks: Ranks) -> list[int]:
    tiers = [0] * ranks.n_models
    for tier, members in enumerate(ranks.tiers, start=1):
        for model in members:
            tiers[model] = tier
    return tiers
