"""The question of a study: whether it is answered, what stands in the way, and which models it still needs.

Everything is read off the graph, whose certificates hold at all looks at once; so the moment at which a
study stops may depend on the answer. Two exceptions: a "no" to "A > B by tau" may also come from a margin, and the
question of a gate is answered by its own bounds, which hold at all looks at once, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bbedge.core.leaderboard import Leaderboard
from bbedge.core.scores import Scores
from bbedge.errors import DesignError, FormatError
from bbedge.gate.gate import FirstRun, gate_after_runs
from bbedge.gate.verdicts import candidates_of
from bbedge.records.gate import GateReport, Verdict, awaited
from bbedge.records.policy import Policy
from bbedge.records.study import Drop
from bbedge.text import counted, listed, quoted, shown

Kind = Literal["all-pairs", "top-k", "pair", "ranks", "gate"]
"""Which models stop: those with no open pair, those that the question no longer needs, or none."""

MOST_PAIRS = 1000
"""So many open pairs are named; a leaderboard of thousands of models has millions."""

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
    """The answer, or what is missing, in one line."""
    open_pairs: tuple[tuple[str, str], ...] = ()
    """Pairs that stand in the way, nearest to a decision first; at most 1,000 of them. Of a gate: a candidate and a
    claim about it."""
    n_open: int = 0
    """How many pairs stand in the way in all."""
    contradicted: bool = False
    """Of a gate: whether the runs contradict each other, so that there is no answer and further runs give none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a study wants to know. Make one with :func:`parse_question`."""

    kind: Kind
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
    view: str | None = None
    """The view that it is about; ``None`` for the headline."""
    policy: Policy | None = None
    """The policy of ``gate``."""
    systems: tuple[str, ...] = ()
    """The models that the policy names."""
    keep: Callable[[Scores, FirstRun], GateReport] | None = field(default=None, compare=False, repr=False)
    """Of ``gate``: records a look inside the first run in a ledger, and returns what is recorded. It is called before
    the answer is reported, so that the ledger has every look."""

    def seen_in(self, leaderboard: Leaderboard) -> Leaderboard:
        """The part of a leaderboard that the question is about."""
        return leaderboard if self.view is None else leaderboard.view(self.view)

    def answer(
        self,
        leaderboard: Leaderboard,
        scores: Callable[[], Scores] | None = None,
        first_run: Callable[[], FirstRun | None] = lambda: None,
    ) -> Answer:
        """How the question stands; that of a gate needs the scores of its models, and parts of the first run."""
        if self.policy is not None and scores is not None:
            return _gated(self.policy, scores(), first_run(), self.keep)
        leaderboard = self.seen_in(leaderboard)
        if self.kind == "pair":
            return self._pair(leaderboard)
        if self.kind == "top-k":
            return self._top_k(leaderboard)
        graph, pairs = leaderboard.graph, leaderboard.graph.unresolved_pairs
        if self.kind == "ranks":
            wide = self._wide(leaderboard)
            text = f"{int(wide.sum())} of {graph.n_models} models have ranks wider than {self.width}"
            text = text if wide.any() else f"every rank is known within {self.width}"
            return _answer(leaderboard, pairs[wide[pairs].any(axis=1)], text)
        return _answer(leaderboard, pairs, f"{graph.n_resolved} of {graph.n_pairs} pairs certified")

    def needed(self, leaderboard: Leaderboard, *, drop: Drop) -> frozenset[str]:
        """The models that must still be run."""
        names = leaderboard.design.models
        if self.kind == "gate":  # which needs every run of its models, decided or not
            return frozenset(self.systems if drop == "unneeded" and len(self.systems) >= 2 else names)
        if drop == "never":
            return frozenset(names)
        # Settled in every view: what is no longer run stops in all of them.
        every = [leaderboard, *leaderboard.views]
        unsettled = frozenset[str]().union(*(_chosen(names, ~view.graph.settled) for view in every))
        if drop == "settled":
            return unsettled
        leaderboard = self.seen_in(leaderboard)
        graph = leaderboard.graph
        if self.kind == "all-pairs":
            needed = _chosen(names, ~graph.settled)
        elif self.kind == "pair":
            needed = frozenset((self.better, self.worse))
        elif self.kind == "ranks":
            wide = self._wide(leaderboard)
            undecided = ~(graph.above[wide] | graph.above[:, wide].T)  # every model is undecided from itself
            needed = _chosen(names, np.asarray(undecided.any(axis=0)))
        else:
            # A model below k others is outside, one above all but k is inside. A model that must still be separated
            # from it is so by a path through models that are still run (docs/evaluate.md).
            needed = _chosen(names, (graph.n_better < self.k) & (graph.n_worse < len(names) - self.k))
        return needed if len(needed) >= 2 else unsettled

    def _wide(self, leaderboard: Leaderboard) -> NDArray[np.bool_]:
        """The models whose ranks are not known well enough."""
        graph = leaderboard.graph
        wide: NDArray[np.bool_] = graph.n_models - graph.n_worse - (1 + graph.n_better) > self.width
        return wide

    def _top_k(self, leaderboard: Leaderboard) -> Answer:
        graph, names = leaderboard.graph, leaderboard.design.models
        members = graph.top_k(self.k)
        if members is not None:
            place = {model: position for position, model in enumerate(leaderboard.order())}
            chosen = [shown(names[i], 40) for i in sorted(members, key=place.__getitem__)]
            text = f"the best is {chosen[0]}" if self.k == 1 else f"the Top-{self.k} are {', '.join(chosen)}"
            return Answer(answered=True, text=text)
        order = np.argsort(-np.nan_to_num(leaderboard.means, nan=-1.0), kind="stable")
        first, rest = order[: self.k], order[self.k :]
        decided = graph.above[np.ix_(first, rest)] | graph.above[np.ix_(rest, first)].T
        inner, outer = np.nonzero(~decided)
        pairs = np.stack([first[inner], rest[outer]], axis=1)
        inside = int((graph.n_worse >= len(names) - self.k).sum())
        outside = int((graph.n_better >= self.k).sum())
        text = f"{inside} models are certainly in the Top-{self.k}, {outside} certainly not"
        return _answer(leaderboard, pairs, text, answered=False)

    def _pair(self, leaderboard: Leaderboard) -> Answer:
        names, graph = leaderboard.design.models, leaderboard.graph
        a, b = names.index(self.better), names.index(self.worse)
        better, worse = shown(self.better, 40), shown(self.worse, 40)
        margin = f" by more than {leaderboard.design.tau:g}" if leaderboard.design.tau else ""
        if graph.above[a, b]:
            return Answer(answered=True, text=f"yes: {better} > {worse}{margin}")
        if graph.above[b, a]:
            return Answer(answered=True, text=f"no: {worse} > {better}")
        at_most = -float(leaderboard.lower_bounds[b, a])
        has_looked = leaderboard.replicates > 0 or (leaderboard.early is not None and bool(leaderboard.early.looks))
        if has_looked and leaderboard.design.tau > 0.0 and at_most <= leaderboard.design.tau:
            rounded_up = math.ceil(at_most * 1e4) / 1e4
            text = f"no: by its margin, {better} is ahead of {worse} by at most {rounded_up:g}"
            return Answer(answered=True, text=text)
        return _answer(leaderboard, np.array([(a, b)]), f"{better} ? {worse} is open", answered=False)


def parse_question(text: str, models: Sequence[str], *, view: str | None = None, source: str = "question") -> Question:
    """Read a question; the models that it names must be there. ``view`` is the view that it is about."""
    asked, count = " ".join(text.split()), len(models)
    question = Question(kind="all-pairs", text=asked if view is None else f"{asked}, view {view}", view=view)
    if asked == "all-pairs":
        return question
    if asked == "best":
        return replace(question, kind="top-k", k=1)
    if found := _TOP.fullmatch(asked):
        k = int(found[1])
        if not 1 <= k < count:
            raise FormatError(f"{source}: {asked} of {count} models; choose K from 1 to {count - 1}")
        return replace(question, kind="top-k", k=k)
    if found := _RANKS.fullmatch(asked):
        return replace(question, kind="ranks", width=int(found[1]))
    for better, worse, by in _splits(asked):
        if better in models and worse in models and better != worse:
            if by is not None and not (0.0 <= by < 1.0):
                raise FormatError(f"{source}: a margin of {by:g}; give a number from 0 up to 1, as for tau")
            return replace(question, kind="pair", better=better, worse=worse, by=by)
    if " > " in asked:
        raise FormatError(f"{source}: {quoted(asked)} names a model that is not in the study; it has {listed(models)}")
    raise FormatError(f"{source}: {quoted(asked)} is not a question; choose one of {_FORMS}")


def _splits(text: str) -> Iterator[tuple[str, str, float | None]]:
    """Every way to read "A > B" and "A > B by TAU": names may contain anything."""
    pieces = text.split(" > ")
    for cut in range(1, len(pieces)):
        better, worse = " > ".join(pieces[:cut]), " > ".join(pieces[cut:])
        yield better, worse, None
        if found := _BY.fullmatch(worse):
            with suppress(ValueError):
                yield better, found[1], float(found[2])


def gate_question(policy: Policy, models: Sequence[str]) -> Question:
    """Whether every blocking claim of a policy is decided."""
    if policy.spending == "ledger":
        raise DesignError(
            f"{policy.source}: spending = 'ledger' shares alpha among uses; give this use its level first"
        )
    if not any(claim.tier == "block" for claim in policy.claims):
        raise DesignError(
            f"{policy.source}: no claim has the tier block, so there is nothing to decide; give one that tier"
        )
    systems = (*candidates_of(policy, models), *filter(None, [policy.baseline]))
    return Question(kind="gate", text=f"the gate of {policy.source}", policy=policy, systems=systems)


def _gated(
    policy: Policy,
    scores: Scores,
    first_run: FirstRun | None,
    keep: Callable[[Scores, FirstRun], GateReport] | None,
) -> Answer:
    """How the blocking claims stand."""
    gate = gate_after_runs(policy, scores, first_run)
    is_complete = len(scores.values) > 0
    if not is_complete and (first_run is None or not first_run.panels):
        return Answer(answered=False, text="no runs yet")
    if keep is not None and first_run is not None and not is_complete:
        results = keep(scores, first_run).results
    else:
        results = gate.results()
    verdicts = [(each, each.verdict) for each in results if each.claim.tier == "block"]
    counts = [f"{n} {word}" for word in get_args(Verdict) if (n := sum(found == word for _, found in verdicts))]
    contradicted = any(each.verdict == "CONTRADICTION" for each in results)
    waiting = tuple((each.candidate, str(each.claim)) for each in awaited(results))
    text = f"{counted(len(verdicts), 'blocking claim')}: {', '.join(counts)}"
    if not policy.looks_after_every_run and (upcoming := policy.next_look(len(scores.values))):
        text += f"; the next look is after {counted(upcoming, 'run')}"
    return Answer(
        answered=not waiting and not contradicted,
        text=f"CONTRADICTION: the runs contradict each other; {text}" if contradicted else text,
        open_pairs=waiting[:MOST_PAIRS],
        n_open=len(waiting),
        contradicted=contradicted,
    )


def _chosen(names: Sequence[str], mask: NDArray[np.bool_]) -> frozenset[str]:
    return frozenset(names[i] for i in np.flatnonzero(mask).tolist())


def _answer(
    leaderboard: Leaderboard, pairs: NDArray[np.integer[Any]], text: str, *, answered: bool | None = None
) -> Answer:
    names = leaderboard.design.models
    forward, backward = leaderboard.log_e[pairs[:, 0], pairs[:, 1]], leaderboard.log_e[pairs[:, 1], pairs[:, 0]]
    nearest = np.nan_to_num(np.fmax(forward, backward), nan=0.0)  # a pair that is not tested has evidence one
    chosen = pairs[np.argsort(-nearest, kind="stable")[:MOST_PAIRS]]
    return Answer(
        answered=not len(pairs) if answered is None else answered,
        text=text,
        open_pairs=tuple((names[a], names[b]) for a, b in chosen.tolist()),
        n_open=len(pairs),
    )
