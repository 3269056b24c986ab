"""The question of a study: whether it is answered, what stands in the way, and which models it still needs.

Everything is read off the standing graph, whose certificates hold at all looks at once; so the moment at which a
study stops may depend on the answer. The one exception is told where it is made: a "no" to "A > B by tau" may also
come from a margin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.errors import FormatError
from bbedge.naming import listed, quoted, shown

Kind = Literal["all-pairs", "top-k", "pair", "ranks"]
Drop = Literal["settled", "unneeded", "never"]
"""Which models stop: those with no open pair, those that the question no longer needs, or none."""

_TOP = re.compile(r"top-([1-9][0-9]*)")
_RANKS = re.compile(r"ranks within ([0-9]+)")
_BY = re.compile(r"(.+) by ([0-9.eE+-]+)")
_FORMS = "all-pairs, best, top-K, 'A > B', 'A > B by TAU', 'ranks within W'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a question stands at a look."""

    answered: bool
    """Whether the study may stop."""
    text: str
    """The answer, or what is missing, in a line."""
    open_pairs: tuple[tuple[str, str], ...]
    """Pairs that stand in the way, nearest to a decision first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a study wants to know. Make one with :func:`parse_question`."""

    kind: Kind
    """The form of the question."""
    text: str
    """The question as it was asked."""
    k: int = 0
    """Size of the set of ``top-k``."""
    width: int = 0
    """Largest allowed distance from the best to the worst possible rank of a model, of ``ranks``."""
    better: str = ""
    """The model of ``pair`` that may be better."""
    worse: str = ""
    """The model that it is compared with."""
    by: float | None = None
    """The margin of ``pair``, on the [0, 1] scale; ``None`` if none was named."""

    def answer(self, leaderboard: Leaderboard) -> Answer:
        """How the question stands."""
        if self.kind == "pair":
            return self._pair(leaderboard)
        if self.kind == "top-k":
            return self._top_k(leaderboard)
        graph = leaderboard.standing
        if self.kind == "ranks":
            wide = {i for i, (best, worst) in enumerate(graph.rank_intervals) if worst - best > self.width}
            text = f"{len(wide)} of {graph.n_models} models have ranks wider than {self.width}"
            pairs = [pair for pair in graph.unresolved if wide.intersection(pair)]
            return _answer(leaderboard, pairs, text if wide else f"every rank is known within {self.width}")
        pairs = list(graph.unresolved)
        total = graph.n_models * (graph.n_models - 1) // 2
        return _answer(leaderboard, pairs, f"{total - len(pairs)} of {total} pairs certified")

    def needed(self, leaderboard: Leaderboard, *, drop: Drop) -> frozenset[str]:
        """The models that must go on being run."""
        names, graph = leaderboard.design.models, leaderboard.standing
        everybody = frozenset(names)
        if drop == "never":
            return everybody
        settled = frozenset(names[i] for pair in graph.unresolved for i in pair)
        if drop == "settled" or self.kind == "all-pairs":
            return settled
        if self.kind == "pair":
            needed = frozenset((self.better, self.worse))
        elif self.kind == "ranks":
            needed = frozenset(name for pair in self.answer(leaderboard).open_pairs for name in pair)
        else:
            # A model below k others is outside, one above all but k is inside. Whoever must still be told apart from
            # it is so by a path through models that are still run (docs/evaluate.md).
            above, below = graph.above.sum(axis=0), graph.above.sum(axis=1)
            undecided = (above < self.k) & (below < len(names) - self.k)
            needed = frozenset(name for name, is_needed in zip(names, undecided, strict=True) if is_needed)
        return needed if len(needed) >= 2 else settled

    def _top_k(self, leaderboard: Leaderboard) -> Answer:
        graph, names = leaderboard.standing, leaderboard.design.models
        members = graph.top_k(self.k)
        if members is not None:
            place = {model: position for position, model in enumerate(leaderboard.order())}
            chosen = [shown(names[i], 40) for i in sorted(members, key=place.__getitem__)]
            text = f"the best is {chosen[0]}" if self.k == 1 else f"the Top-{self.k} are {', '.join(chosen)}"
            return Answer(answered=True, text=text, open_pairs=())
        order = sorted(range(len(names)), key=lambda i: -_mean(leaderboard, i))
        pairs = [(a, b) for a in order[: self.k] for b in order[self.k :] if not _decided(graph, a, b)]
        inside = sum(bool(graph.above[i].sum() >= len(names) - self.k) for i in range(len(names)))
        outside = sum(bool(graph.above[:, i].sum() >= self.k) for i in range(len(names)))
        text = f"{inside} models are certainly in the Top-{self.k}, {outside} certainly not"
        return _answer(leaderboard, pairs, text, answered=False)

    def _pair(self, leaderboard: Leaderboard) -> Answer:
        names, graph = leaderboard.design.models, leaderboard.standing
        a, b = names.index(self.better), names.index(self.worse)
        better, worse = shown(self.better, 40), shown(self.worse, 40)
        margin = f" by more than {leaderboard.design.tau:g}" if leaderboard.design.tau else ""
        if graph.above[a, b]:
            return Answer(answered=True, text=f"yes: {better} > {worse}{margin}", open_pairs=())
        if graph.above[b, a]:
            return Answer(answered=True, text=f"no: {worse} > {better}", open_pairs=())
        at_most = -float(leaderboard.lower_bounds[b, a])
        if leaderboard.replicates and leaderboard.design.tau > 0.0 and at_most <= leaderboard.design.tau:
            text = f"no: by its margin, {better} is ahead of {worse} by at most {_round_up(at_most):g}"
            return Answer(answered=True, text=text, open_pairs=())
        return _answer(leaderboard, [(a, b)], f"{better} ? {worse} is open", answered=False)


def parse_question(text: str, models: Sequence[str], *, source: str = "question") -> Question:
    """Read a question; the models that it names must be there."""
    text = " ".join(text.split())
    count = len(models)
    if text == "all-pairs":
        return Question(kind="all-pairs", text=text)
    if text == "best":
        return Question(kind="top-k", text=text, k=1)
    if found := _TOP.fullmatch(text):
        k = int(found[1])
        if not 1 <= k < count:
            raise FormatError(f"{source}: {text} of {count} models; choose K from 1 to {count - 1}")
        return Question(kind="top-k", text=text, k=k)
    if found := _RANKS.fullmatch(text):
        return Question(kind="ranks", text=text, width=int(found[1]))
    for better, worse, by in _splits(text):
        if better in models and worse in models and better != worse:
            if by is not None and not (0.0 <= by < 1.0):
                raise FormatError(f"{source}: a margin of {by:g}; give a number from 0 up to 1, as for tau")
            return Question(kind="pair", text=text, better=better, worse=worse, by=by)
    if " > " in text:
        raise FormatError(f"{source}: {quoted(text)} names a model that is not in the study; it has {listed(models)}")
    raise FormatError(f"{source}: {quoted(text)} is not a question; choose one of {_FORMS}")


def _splits(text: str) -> list[tuple[str, str, float | None]]:
    """Every way to read "A > B" and "A > B by TAU": names may contain anything."""
    pieces = text.split(" > ")
    ways: list[tuple[str, str, float | None]] = []
    for cut in range(1, len(pieces)):
        better, worse = " > ".join(pieces[:cut]), " > ".join(pieces[cut:])
        ways.append((better, worse, None))
        if found := _BY.fullmatch(worse):
            try:
                ways.append((better, found[1], float(found[2])))
            except ValueError:
                continue
    return ways


def _decided(graph: Graph, a: int, b: int) -> bool:
    return bool(graph.above[a, b] or graph.above[b, a])


def _mean(leaderboard: Leaderboard, model: int) -> float:
    mean = float(leaderboard.means[model])
    return -1.0 if math.isnan(mean) else mean


def _round_up(value: float) -> float:
    return math.ceil(value * 1e4) / 1e4


def _answer(
    leaderboard: Leaderboard, pairs: Sequence[tuple[int, int]], text: str, *, answered: bool | None = None
) -> Answer:
    names = leaderboard.design.models

    def distance(pair: tuple[int, int]) -> float:
        a, b = pair
        tested = [value for value in (leaderboard.log_e[a, b], leaderboard.log_e[b, a]) if not math.isnan(value)]
        return -float(max(tested, default=0.0))

    ordered = sorted(pairs, key=distance)
    return Answer(
        answered=not pairs if answered is None else answered,
        text=text,
        open_pairs=tuple((names[a], names[b]) for a, b in ordered),
    )
