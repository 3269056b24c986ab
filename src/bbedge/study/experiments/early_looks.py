"""Looks inside the first pass: queries until a question is answered, against complete passes; and file order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.study.study import Column, Record, RepetitionSeeds, Study

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

EARLY, COMPLETE = "BB-EDGE-X, checkpoints", "BB-EDGE-X, complete passes"
IN_FILE_ORDER, SHUFFLED = "sequential bets, file order", "sequential bets, random order"
_ORDER_SEED = 20_260_716
_STAKES = np.geomspace(0.02, 0.95, 12)


def chances(n_models: int, n_items: int, spread: float) -> Array:
    """Probabilities of right answers: models x items, listed from the easiest item to the hardest.

    Items range from nearly always to nearly never solved; abilities are equally spaced, the best model first.
    """
    difficulty = np.linspace(-4.0, 4.0, n_items)
    ability = np.linspace(spread / 2, -spread / 2, n_models)
    return 1.0 / (1.0 + np.exp(difficulty - ability[:, None]))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionState:
    """Whether a question is answered, and which models it still needs: from what stands."""

    is_answered: bool
    needed: Mask


def ask_top(certifier: Certifier, k: int) -> QuestionState:
    """The set of the ``k`` best models."""
    graph = Graph(certifier.edges())
    ranks = graph.ranks
    needed: Mask = (ranks.n_better < k) & (ranks.n_worse < graph.n_models - k)
    return QuestionState(is_answered=graph.top_k(k) is not None, needed=needed)


def ask_all(certifier: Certifier) -> QuestionState:
    """The order of all models."""
    settled = Graph(certifier.edges()).ranks.settled
    return QuestionState(is_answered=bool(settled.all()), needed=~settled)


def ask_gate(certifier: Certifier, margin: float) -> QuestionState:
    """Whether the first of two models is worse than the second by more than a margin: decided by its bounds."""
    bounds = certifier.evidence.lower_bounds()
    decided = bool(bounds[0, 1] > -margin or bounds[1, 0] > margin)
    return QuestionState(is_answered=decided, needed=np.ones(2, dtype=np.bool_))


@dataclass(frozen=True, kw_only=True)
class FirstRunExperiment:
    """A study that asks one question and drops the models that it no longer needs."""

    name: str
    """What the setting is called."""
    n_models: int
    """Number of models."""
    n_items: int
    """Number of items, each a block of its own."""
    question: Literal["top-k", "all-pairs", "gate"] = "top-k"
    """What is asked."""
    k: int = 1
    """Size of the set of ``top-k``."""
    margin: float = 0.03
    """What the first model may be worse by, of ``gate``."""
    spread: float = 2.0
    """Distance of the best model from the worst in logits; 0 if all are equal."""
    looks: int = 4
    """Passes, at most."""

    @cached_property
    def chances(self) -> Array:
        """Models x items."""
        return chances(self.n_models, self.n_items, self.spread)

    @cached_property
    def designs(self) -> dict[str, Design]:
        """The designs with and without checkpoints, of all repetitions."""
        return {EARLY: self._design(Checkpoints(order_seed=_ORDER_SEED)), COMPLETE: self._design(None)}

    def _design(self, checkpoints: Checkpoints | None) -> Design:
        return Design.make(
            [f"m{i}" for i in range(self.n_models)],
            [f"q{i}" for i in range(self.n_items)],
            evidence="sharp",
            planned=self.looks,
            margin_share=0.0 if self.question == "gate" else None,  # all of alpha goes to the bounds of a gate
            checkpoints=checkpoints,
        )

    def ask(self, certifier: Certifier) -> QuestionState:
        """How the question stands."""
        if self.question == "gate":
            return ask_gate(certifier, self.margin)
        return ask_all(certifier) if self.question == "all-pairs" else ask_top(certifier, self.k)

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Ask once with checkpoints and once without, of the same runs."""
        rng = seeds.rng("panels")
        # The order of names is that of one seed, so every repetition deals the items out to the names at random.
        dealt = self.chances[:, rng.permutation(self.n_items)]
        panels = [(rng.random(dealt.shape) < dealt).astype(np.float64) for _ in range(self.looks)]
        return {
            (name, metric): values
            for name, design in self.designs.items()
            for metric, values in self._run(design, panels).items()
        }

    def _run(self, design: Design, panels: list[Array]) -> dict[str, Array]:
        certifier = Certifier(design)
        means = self.chances.mean(axis=1)
        false = means[:, None] <= means + 1e-12
        n, answered, wrong = 0, np.zeros(self.looks), np.zeros(self.looks)
        for look, panel in enumerate(panels):
            n, done = self._run_pass(certifier, panel, n)
            wrong[look:] = self._is_wrong(certifier, false, means)
            if done:
                answered[look:] = 1.0
                break
        return {"answered": answered, "queries": np.array([n / panels[0].size]), "fwer": wrong}

    def _run_pass(self, certifier: Certifier, panel: Array, n: int) -> tuple[int, bool]:
        """Run a pass until the question is answered, looking at checkpoints where there are any."""
        while (upcoming := certifier.next_checkpoint) is not None:
            rows, columns = self._rows(certifier), [int(item[1:]) for item in certifier.next_items]
            n += len(rows) * len(columns)
            certifier.update(panel[np.ix_(rows, columns)], upcoming.blocks)
            asked = self.ask(certifier)
            if asked.is_answered:
                return n, True
            self._drop(certifier, asked.needed)
        rows = self._rows(certifier)
        # What is left of the first pass, or a whole later one.
        n += len(rows) * (len(certifier.next_items) or panel.shape[1])
        certifier.update(panel[rows])
        asked = self.ask(certifier)
        if not asked.is_answered:
            self._drop(certifier, asked.needed)
        return n, asked.is_answered

    def _rows(self, certifier: Certifier) -> list[int]:
        return [int(model[1:]) for model in certifier.evidence.active]

    def _drop(self, certifier: Certifier, needed: Mask) -> None:
        if needed.sum() >= 2:
            certifier.stop([model for model in certifier.evidence.active if not needed[int(model[1:])]])

    def _is_wrong(self, certifier: Certifier, false: Mask, means: Array) -> float:
        """Whether any edge that stands is false; in a gate, whether a bound is above its difference."""
        if self.question == "gate":
            return float((certifier.evidence.lower_bounds() > means[:, None] - means + 1e-12).any())
        return float((certifier.edges() & false).any())


def by_category(n_items: int) -> Array:
    """Two models that are equal in the mean: the first solves more of the first category, the second of the other."""
    first = np.where(np.arange(n_items) < n_items // 2, 0.7, 0.3)
    return np.stack([first, 1.0 - first])


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Two equal models on items that are listed by category: any certificate is false."""

    name: str
    """What the setting is called."""
    n_items: int
    """Number of items, half of them of each category."""
    alpha: float = 0.05
    """Error level."""
    looks: int = 2
    """Passes."""

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Some passes, with looks inside the first one, or after every item."""
        both, rng = by_category(self.n_items), seeds.rng("panels")
        panels = (rng.random((self.looks, *both.shape)) < both).astype(np.float64)
        shuffled = panels[:, :, rng.permutation(self.n_items)]
        design = Design.make(
            ["m0", "m1"],
            [f"q{i}" for i in range(self.n_items)],
            alpha=self.alpha,
            planned=self.looks,
            checkpoints=Checkpoints(order_seed=_ORDER_SEED),
        )
        certifier, ours = Certifier(design), []
        while (upcoming := certifier.next_checkpoint) is not None:
            panel = shuffled[0][:, [int(item[1:]) for item in certifier.next_items]]
            certifier.update(panel, upcoming.blocks)
        for panel in shuffled:
            certifier.update(panel)
            ours.append(float(certifier.edges().any()))
        return {
            (EARLY, "fwer"): np.array(ours),
            (IN_FILE_ORDER, "fwer"): sequential_bets(panels, self.alpha),
            (SHUFFLED, "fwer"): sequential_bets(shuffled, self.alpha),
        }


def sequential_bets(panels: Array, alpha: float) -> Array:
    """Whether a test that looks after every item, as if items were a random sample, has preferred one of two models.

    ``panels`` are passes x two models x items; the result is 1 from the pass on in which it did. It has bets of twelve
    sizes on each direction, mixed, and certifies as soon as either reaches ``2 / alpha``.
    """
    half = (panels[:, 0] - panels[:, 1]) / 2.0
    reached = np.zeros(len(panels), dtype=np.bool_)
    for sign in (1.0, -1.0):
        logs = np.cumsum(np.log1p(sign * np.outer(_STAKES, half.ravel())), axis=1)
        evidence = np.exp(np.clip(logs, None, 600.0)).mean(axis=0).reshape(half.shape)
        reached |= (evidence >= 2.0 / alpha).any(axis=1)
    return np.logical_or.accumulate(reached).astype(np.float64)


STUDY = Study(
    name="early-looks",
    title="Looks inside the first pass",
    question="How many queries do looks inside the first pass save until a question is answered, do they keep alpha, "
    "and what happens to a test that takes items in the order of a file?",
    source="ours",
    setup="Items range from nearly always to nearly never solved (difficulties equally spaced over 8 logits), "
    "abilities are equally spaced over the stated number of logits, and each item is a block. A run asks one question, "
    "drops the models that it no longer needs, and stops when it is answered or the budget of passes is used. "
    "**Checkpoints**: looks also after 1, 2, 4, 7, 12, 20, 35 and 60 % of the first pass, whose items come in a "
    "random order, with weight 1/2 for complete passes. **Complete passes**: the same runs, looked at after "
    "complete passes only. Both use sharp evidence, and plan for the budget. The gate asks whether a model is "
    "worse by more than 0.03 than another that is equal to it; all of alpha goes to its bounds, and a bound above "
    "the truth is a false claim. **Listed by category**: two models that are equal in the mean, one better on the "
    "first half of the file and the other on the second. A rival bets on each item in turn and stops when its "
    "evidence reaches 2 / alpha, in the order of the file or in a random order.",
    settings=(
        FirstRunExperiment(name="200 items, 2 models over 2 logits, best", n_models=2, n_items=200),
        FirstRunExperiment(
            name="200 items, 10 models over 6 logits, best", n_models=10, n_items=200, spread=6.0, looks=6
        ),
        FirstRunExperiment(name="1,300 items, 2 models over 1 logit, best", n_models=2, n_items=1300, spread=1.0),
        FirstRunExperiment(
            name="1,300 items, gate of 2 equal models",
            n_models=2,
            n_items=1300,
            question="gate",
            spread=0.0,
            looks=6,
        ),
        FirstRunExperiment(name="1,300 items, 10 models over 6 logits, best", n_models=10, n_items=1300, spread=6.0),
        FirstRunExperiment(
            name="1,300 items, 10 models over 6 logits, all pairs",
            n_models=10,
            n_items=1300,
            question="all-pairs",
            spread=6.0,
        ),
        FirstRunExperiment(
            name="12,000 items, gate of 2 equal models",
            n_models=2,
            n_items=12_000,
            question="gate",
            spread=0.0,
            looks=3,
        ),
        FirstRunExperiment(
            name="12,000 items, 50 models over 6 logits, Top-5", n_models=50, n_items=12_000, k=5, spread=6.0, looks=3
        ),
        Listed(name="two equal models, 1,000 items listed by category", n_items=1000),
    ),
    figure=("fwer", "answered"),
    table=(
        Column(metric="queries"),
        Column(metric="answered", at=1),
        Column(metric="answered"),
        Column(metric="fwer"),
    ),
    notes=(
        "Queries are counted in complete passes of all models: 0.5 is half of all items with all models, or all items "
        "with half of the models. Runs that were not answered count with what they used.",
        "Checkpoints save most where a question is decided within the first pass. Where it needs several passes, they "
        "save what the models cost that are dropped early, and the evidence of complete passes counts one half, so "
        "that the answer may come later.",
        "The differences between models and the budgets were chosen after pilots of 3 and 10 repetitions, so that most "
        "questions are answered within their budget; two settings were left out because they take too long, and Top-5 "
        "of 50 models on 1,300 items because it was not answered. Do not read these numbers as typical savings.",
    ),
)
