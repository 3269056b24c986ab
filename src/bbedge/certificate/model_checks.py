"""Whether what a certificate says of its models and looks agrees with itself: what needs no single pair."""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

import numpy as np
from msgspec import UNSET

from bbedge.certificate.parts import WHOLE, Parts
from bbedge.core.graph import Ranks
from bbedge.core.positions import POSITION_ALARM
from bbedge.core.views import HEADLINE
from bbedge.errors import FormatError
from bbedge.text import quoted

ROUNDING = 1e-9
"""Relative difference of two numbers that should be the same; other programs may have written the file again."""


class ModelCheck:
    """What every certificate can be checked for."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._source = parts, parts.source
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
        design, pilot, board = self._document.design, self._document.pilot, self._document.board
        self.same(design.blocks.count, len(design.blocks.sizes), "blocks.count", "the list of their sizes")
        weighed = design.weights.items if design.weights else self._document.items
        key = "weights.items" if design.weights else "items"
        self.same(weighed, sum(design.blocks.sizes), key, "the sizes of the blocks")
        if weighed > self._document.items or (design.weights and design.weights.largest * weighed < 1.0 - ROUNDING):
            self.refuse("'weights' and 'items' do not agree")
        if len(design.stake_weights) != len(design.stake_values):
            self.refuse("'stake_weights' and 'stake_values' are not of one length")
        if any(after >= self._document.replicates for after in (self._document.stopped or {}).values()):
            self.refuse("'stopped' names a model that has all replicates")
        self._provenance()
        if pilot is not None and pilot.k != len(set(pilot.candidate)):
            self.refuse("the pilot's 'candidate' does not have 'k' models")
        if not board:
            return
        if board.epoch > board.epochs:
            self.refuse(f"the board has {board.epochs} epochs, and this is of epoch {board.epoch}")
        if not np.isclose(sum(claim.level for claim in board.claims), board.alpha_spent, rtol=ROUNDING, atol=0.0):
            self.refuse("'alpha_spent' is not the sum of the claims' levels")
        if not {claim.newcomer for claim in self._parts.claims} <= {None, *self._names}:
            self.refuse("the board's claims name a model that is not there")

    def _provenance(self) -> None:
        """What the provenance repeats is as it is elsewhere."""
        provenance, board = self._document.provenance, self._document.board
        if not provenance:
            return
        self.same(provenance.version, self._document.bbedge, "provenance.version", "'bbedge'")
        self.same(provenance.design, self._document.design.hash, "provenance.design", "'design.hash'")
        self.same(provenance.head or None, board.head if board else None, "provenance.head", "the board")
        if any(place >= len(self._document.notes) for place in provenance.unverified_notes or ()):
            self.refuse("'unverified_notes' names a note that is not there")
        if board and (provenance.sources or provenance.scores):
            self.refuse("'provenance' names scores beside the board")

    def models(self) -> None:
        """Means lie on the scale, and the models are in the order of tiers and means."""
        low, high = self._document.design.score_range
        slack = ROUNDING * max(abs(low), abs(high), high - low)
        for model in self._document.models:
            if model.mean is None:
                continue
            if not self._document.replicates:
                self.refuse(f"{quoted(model.name)} has a mean, and there are no replicates")
            if model.mean_items is not UNSET and not self._document.design.gaps:
                self.refuse(f"the mean of {quoted(model.name)} is over some items, and no score may be missing")
            if not low - slack <= model.mean <= high + slack:
                self.refuse(f"the mean {model.mean} of {quoted(model.name)} is outside the score range")
        means = [-np.inf if model.mean is None else model.mean for model in self._document.models]
        partial = [model.mean_items is not UNSET for model in self._document.models]
        keys = list(zip(_tiers(self._parts.ranks), partial, [-mean for mean in means], strict=True))
        if keys != sorted(keys):
            self.refuse("'models' are not in the order of their tiers and means")

    def mean_intervals(self) -> None:
        """Intervals of means are there if the design has them, lie on the scale, and contain the means seen."""
        low, high = self._document.design.score_range
        slack = ROUNDING * max(abs(low), abs(high), high - low)
        for model in self._document.models:
            ends = model.mean_interval
            if (ends is UNSET) != (self._document.design.mean_share is UNSET):
                self.refuse("'mean_interval' of the models and 'mean_share' of the design do not agree")
            if ends is UNSET:
                continue
            if not low - slack <= ends[0] <= ends[1] <= high + slack:
                self.refuse(f"the interval for the mean of {quoted(model.name)} is not a part of the score range")
            if model.mean is not None and not ends[0] - slack <= model.mean <= ends[1] + slack:
                self.refuse(f"the interval for the mean of {quoted(model.name)} does not contain its mean")

    def conclusions(self) -> None:
        """Tiers, counts and the sizes of certified sets follow from the rank intervals."""
        ranks, interval = self._parts.ranks, "the models' 'rank_interval'"
        above, below = ranks.n_worse.tolist(), ranks.n_better.tolist()
        for key, values in (("tier", _tiers(ranks)), ("certified_above", above), ("certified_below", below)):
            for model, value in zip(self._document.models, values, strict=True):
                self.same(getattr(model, key), value, f"{key} of {model.name}", interval)
        self.same(self._document.certified_k, ranks.cuts, "certified_k", interval)
        counts = self._document.counts
        self.same(counts.pairs, ranks.n_pairs, "counts.pairs", interval)
        self.same(counts.resolved_pairs, ranks.n_resolved, "counts.resolved_pairs", interval)

    def first_pass(self) -> None:
        """Looks inside the first pass are of checkpoints of the design, in their order, and say how far it has come."""
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
        self.same(now.complete, self._document.replicates > 0, "first_pass.complete", "'replicates'")
        self.same(now.checkpoint, len(parts), "first_pass.checkpoint", "'parts'")
        so_far = blocks[-1] if blocks else 0
        self.same(now.blocks, now.of_blocks if now.complete else so_far, "first_pass.blocks", "'parts'")
        if now.checkpoints > len(checkpoints.fractions):
            self.refuse("'first_pass' has more checkpoints than the design")
        if now.position:
            model, p_value = now.position.model, now.position.p_value
            self.same(now.position.alarm, p_value <= POSITION_ALARM, "first_pass.position.alarm", "'p_value'")
            if not abs(now.position.correlation) <= 1.0 + ROUNDING or model not in (None, *self._names):
                self.refuse("'first_pass.position' is not possible")
        if parts and not now.complete:
            ranks = self._parts.ranks
            self.same(parts[-1].resolved_pairs, ranks.n_resolved, "resolved_pairs of the last part", "the ranks")

    def looks(self) -> None:
        """The last look is what is shown as such, and what stands only grows."""
        looks, replicates = self._document.looks, self._document.replicates
        numbers = [look.replicate for look in looks]
        # Of a board, adding a model is a look, too, at a replicate that has had one.
        each_once = bool(self._document.board) or len(numbers) == replicates
        complete = len(set(numbers)) == replicates and all(number <= replicates for number in numbers)
        if numbers != sorted(numbers) or not each_once or not complete:
            self.refuse(f"'looks' are not those after each of {replicates} replicates")
        if not looks:
            return
        counts, contradicted = self._document.counts, bool(self._document.contradictions)
        if self._parts.pairs is not None:
            self.same(counts.edges, self._parts.pairs.graph.n_edges, "counts.edges", "the edges")
        if counts.current_edges > counts.edges:
            self.refuse("the last look certifies more than stands")
        for key, value in (("edges", counts.edges), ("resolved_pairs", self._parts.ranks.n_resolved)):
            self.same(getattr(looks[-1], key), value, f"{key} of the last look", "the edges")
        before = (0, 0)
        for look in looks:
            now = (look.edges, look.resolved_pairs)
            if now[0] < before[0] or (now[1] < before[1] and not contradicted):
                self.refuse(f"after replicate {look.replicate} less stands than before")
            before = now

    def gaps(self) -> None:
        """Missing scores of the models add up, and the hint is about pairs that exist."""
        gaps = self._document.gaps
        if not gaps:
            return
        self.same(gaps.cells, sum(gaps.models.values()), "gaps.cells", "the models' missing scores")
        if (gaps.resolved_if_means or 0) > self._parts.ranks.n_pairs:
            self.refuse("'gaps.resolved_if_means' is more than there are pairs")


def check_views(parts: Parts) -> None:
    """Refuse views that cannot be of one design: with names twice, other models, or more than all of alpha."""
    check = ModelCheck(parts)
    names = [each.document.view for each in parts.views]
    if len(set(names)) < len(names) or HEADLINE in names:
        check.refuse("'views' have a name that is not theirs alone")
    for each in parts.views:
        if set(each.names) != set(parts.names):
            check.refuse(f"the models of view {quoted(str(each.document.view))} are not those of the headline")
    found = any(each.document.contradictions or each.document.crossed_intervals for each in (parts, *parts.views))
    if parts.document.contradicted is not UNSET and parts.document.view is UNSET:
        check.same(parts.document.contradicted, found, "contradicted", "'contradictions' and 'crossed_intervals'")
    together = sum(each.share for each in (parts, *parts.views))
    if together > 1.0 + WHOLE:
        check.refuse("the shares of the views are more than all of alpha")
    if together < 1.0 - WHOLE and parts.document.view is UNSET:
        check.refuse("the shares of the views are less than all of alpha, so that a view is missing")


def _tiers(ranks: Ranks) -> list[int]:
    tiers = [0] * ranks.n_models
    for tier, members in enumerate(ranks.tiers, start=1):
        for model in members:
            tiers[model] = tier
    return tiers
