"""Stakes fitted to the noise, over every outcome of a small game: the best rule for stopping gains nothing.

The rule knows everything that was seen, and stops where going on would lose on average. What it has on average when it
stops is at most 1, for the evidence of a true null and for the wealth of staggered e-Holm. That is what the guarantee
needs, and a planted fault that hardly moves a rate of false edges shows here without any doubt.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from bbedge.core.arrays import to_numpy
from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.looks import Look
from calibration import planted_stakes
from calibration.planted_stakes import SMALL, WIDE, Plant, entries_of_other_stakes
from calibration.repetitions import show

ROUNDING = 1e-9

Looks = list[np.ndarray]
"""For each replicate, a number for every outcome of the game."""


@dataclass(frozen=True, kw_only=True)
class Game:
    """Replicates in which one of a few panels comes, with known chances, and others in which nothing happens."""

    panels: tuple
    """What may come: panels of models x items."""
    chances: tuple[float, ...]
    wild: tuple[int, ...]
    """The replicates in which it comes."""
    quiet: float | tuple = 0.5
    """The panel of the others."""
    alpha: float = 0.9
    options: dict = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.panels),) * len(self.wild)

    def design(self) -> Design:
        models, items = ([f"{kind}{i}" for i in range(n)] for kind, n in zip("mq", self._size, strict=True))
        made = Design.make(models, items, **({"alpha": self.alpha, "margin_share": 0.0} | self.options))
        assert made.stakes == "fitted"
        return made

    @property
    def _size(self) -> tuple[int, int]:
        n_models, n_items = np.array(self.panels[0]).shape
        return n_models, n_items

    def looks(self) -> list[np.ndarray]:
        """For each replicate up to the last wild one, the panels of all outcomes of the game."""
        which = np.indices(self.shape).reshape(len(self.wild), -1)
        come, none = np.array(self.panels), np.broadcast_to(self.quiet, (which.shape[1], *self._size))
        return [
            come[which[self.wild.index(look)]] if look in self.wild else none.copy()
            for look in range(1, self.wild[-1] + 1)
        ]

    def best_stop(
        self, values: Looks, ended: Looks | None = None, *, last: np.ndarray | None = None, until: int = 0
    ) -> np.ndarray:
        """What the best rule for stopping has on average, from what it would have if it stopped after each replicate.

        Where the game has ended, it must stop. ``last`` is what it has in the end, if that is something else. The
        result is for what is known after so many replicates.
        """
        value = self._known(values, len(values)) if last is None else last
        for look in range(len(values), until, -1):
            if look in self.wild:
                value = value @ np.array(self.chances)
            if look > 1:
                now = self._known(values, look - 1)
                value = np.maximum(now, value)
                value = value if ended is None else np.where(self._known(ended, look - 1), now, value)
        return value

    def _known(self, of_looks: Looks, look: int) -> np.ndarray:
        """The numbers after a look, by the outcomes so far."""
        after = sum(each > look for each in self.wild)
        return of_looks[look - 1].reshape(self.shape)[(..., *(0,) * after)]


@dataclass(frozen=True, kw_only=True)
class Played:
    """What was seen in all outcomes of a game."""

    own: list[Looks]
    """The evidence of each direction of each view."""
    wealth: Looks
    """The largest wealth of any direction. All must be true nulls."""
    ended: Looks
    """Whether any direction is certified: there the proof has come to its end, and the game with it."""


def play(game: Game, plant: Plant | None = None) -> Played:
    """Play all outcomes of a game together, perhaps with a planted fault."""
    design, panels = game.design(), game.looks()
    size = (len(panels[0]),)
    evidence, procedure = EvidenceSet(design, batch=size), Procedure(design, batch=size)
    step = plant(evidence, design, panels) if plant else lambda look, panel: evidence.update(panel)
    looks = []
    for look, panel in enumerate(panels, start=1):
        step(look, panel)
        looks.append(procedure.looks(evidence.views, run=look))
    return played(design, looks)


def play_with_a_stop(game: Game, model: str, after: int) -> Played:
    """Play the outcomes of a game one by one, because only then models can stop; in all the same one does, or none."""
    design, looks = game.design(), [[] for _ in range(game.wild[-1])]
    for panels in np.stack(game.looks(), axis=1):
        certifier = Certifier(design)
        for look, panel in enumerate(panels, start=1):
            rows = [design.models.index(each) for each in certifier.evidence.active]
            looks[look - 1].append(certifier.update(panel[rows]))
            if look == after and model:
                certifier.stop([model])
    return played(design, [[joined(found)] for found in looks])


def joined(looks: list[Look]) -> SimpleNamespace:
    """The looks of several outcomes as one of a batch."""
    return SimpleNamespace(
        **{name: np.stack([getattr(each, name) for each in looks]) for name in ("log_e", "log_w", "edges")}
    )


def played(design: Design, looks: Sequence) -> Played:
    own, wealth, ended = [], [], []
    for found in looks:
        own.append(np.exp(np.concatenate([to_numpy(each.log_e)[:, design.tested] for each in found], axis=1)))
        wealth.append(np.exp([to_numpy(each.log_w)[:, design.tested].max(axis=1) for each in found]).max(axis=0))
        ended.append(np.any([to_numpy(each.edges).any(axis=(1, 2)) for each in found], axis=0))
    return Played(own=[list(each) for each in np.moveaxis(own, 2, 0)], wealth=wealth, ended=ended)


def best_stops(game: Game, plant: Plant | None = None) -> tuple[float, float]:
    """With the evidence of the direction for which that is most, and with the largest wealth."""
    found = play(game, plant)
    own = max(float(game.best_stop(each)) for each in found.own)
    return own, float(game.best_stop(found.wealth, found.ended))


def models(*scores: float) -> list[list[float]]:
    """A panel of one item."""
    return [[score] for score in scores]


AFTER_ENTRIES, FIRST_EIGHT = (3, 5, 8, 14), (1, 2, 3, 4, 5, 6, 7, 8)
COINS = {"panels": (models(0, 0), models(1, 0), models(0, 1)), "chances": (0.5, 0.25, 0.25)}
# The second model is mostly better by a half, and rarely worse by all.
SKEWED = {"panels": (models(1, 0), models(0.25, 0.75)), "chances": (1 / 3, 2 / 3)}
AT_TAU = {
    "panels": (models(0.5, 0.5), models(1, 0), models(0, 1)),
    "chances": (0.3, 0.4, 0.3),
    "quiet": models(0.55, 0.45),
    "options": {"tau": 0.1},
}
THREE = {"panels": tuple(models(*bits) for bits in itertools.product((0, 1), repeat=3)), "chances": (0.125,) * 8}
ONE_OF_THREE = {"panels": (models(1, 0, 0), models(0, 1, 0), models(0, 0, 1)), "chances": (1 / 3,) * 3}
# The first item is like that, the second one is a coin for the first model.
ITEMS = {
    "panels": tuple([[first, coin], [second, 0.5]] for first, second in ((1, 0), (0.25, 0.75)) for coin in (0, 1)),
    "chances": (1 / 6, 1 / 6, 1 / 3, 1 / 3),
}
HIDDEN = {
    # The first model hides half of its failures, and is right half of the time.
    "panels": (models(1, 1), models(1, 0), models(0, 1), models(0, 0), models(np.nan, 1), models(np.nan, 0)),
    "chances": (0.25, 0.25, 0.125, 0.125, 0.125, 0.125),
    "options": {"gaps": "worst-case"},
}
VIEWS = {"views": {"first": [1.0, 0.0]}, "weights": [1.0, 3.0]}

GAMES = {
    "coins": Game(**COINS, wild=(1, 2, 3, 4, 5, 8)),
    "coins at a small level": Game(**COINS, wild=(1, 2, 3, 4, 5, 8), alpha=0.05),
    "coins after quiet scores": Game(**COINS, wild=AFTER_ENTRIES),
    "coins before quiet scores": Game(**COINS, wild=(1, 2, 14)),
    "skewed": Game(**SKEWED, wild=FIRST_EIGHT),
    "skewed at a small level": Game(**SKEWED, wild=FIRST_EIGHT, alpha=0.05),
    "skewed after every entry": Game(**SKEWED, wild=(1, 2, 3, 4, 5, 7, 8, 13, 14)),
    "a plan of four": Game(**SKEWED, wild=FIRST_EIGHT, options={"planned": 4}),
    "two-way": Game(**SKEWED, wild=FIRST_EIGHT, options={"prediction": "two-way"}),
    "sharp": Game(**SKEWED, wild=FIRST_EIGHT, options={"evidence": "sharp"}),
    "exactly tau": Game(**AT_TAU, wild=(1, 2, 3, 4, 5, 8)),
    "three models": Game(**THREE, wild=(1, 2, 3)),
    "three models, one right": Game(**ONE_OF_THREE, wild=(1, 2, 3, 4, 5, 8)),
    "a newcomer": Game(**ONE_OF_THREE, wild=(1, 2, 3, 4, 5, 8), options={"newcomer": "m2"}),
    "two items": Game(**ITEMS, wild=(1, 2, 3, 5)),
    "views": Game(**ITEMS, wild=(1, 2, 3, 5), options=VIEWS),
    "hidden failures": Game(**HIDDEN, wild=(1, 2, 3, 5)),
}


@pytest.mark.parametrize("name", GAMES)
def test_the_best_stop_gains_nothing(name):
    own, wealth = best_stops(GAMES[name])
    show(f"fitted stakes, best stop, {name}: evidence {own:.9f}, wealth {wealth:.9f}")
    assert own <= 1.0 + ROUNDING
    assert wealth <= 1.0 + ROUNDING


@pytest.mark.nightly
@pytest.mark.parametrize("after", [1, 2, 3])
def test_the_best_model_to_stop_gains_nothing(after):
    """After a replicate the rule may also stop a model, for ever: the one that promises most after what was seen."""
    game = Game(**ONE_OF_THREE, wild=(1, 2, 3, 5))
    found = [play_with_a_stop(game, model, after) for model in ("", *game.design().models)]

    assert np.ptp([each.wealth[-1] for each in found], axis=0).max() > 0.1  # who stops makes a difference

    def best(of_found, ended):
        later = [game.best_stop(values, end, until=after) for values, end in zip(of_found, ended, strict=True)]
        before = ended[0] and ended[0][:after]
        return float(game.best_stop(of_found[0][:after], before, last=np.max(later, axis=0)))

    own = max(best(of_found, [None] * 4) for of_found in zip(*(each.own for each in found), strict=True))
    wealth = best([each.wealth for each in found], [each.ended for each in found])
    show(f"fitted stakes, best model to stop after {after}: evidence {own:.9f}, wealth {wealth:.9f}")
    assert own <= 1.0 + ROUNDING
    assert wealth <= 1.0 + ROUNDING


# Margins ---------------------------------------------------------------------------------------------------------


AHEAD = Game(
    panels=(models(1, 1), models(1, 0), models(0, 1), models(0, 0)),
    chances=(0.35, 0.35, 0.15, 0.15),
    wild=(1, 2, 3, 5, 8),
    quiet=models(0.7, 0.5),
)


@pytest.mark.parametrize("alpha", [0.05, 0.9])
def test_the_best_stop_gains_nothing_above_the_true_difference(alpha):
    """The first model is better by 0.2, and the margin must not be above that."""
    game = replace(AHEAD, alpha=alpha)
    evidence, above = EvidenceSet(game.design(), batch=(int(np.prod(game.shape)),)), []
    for panel in game.looks():
        evidence.update(panel)
        above.append([np.exp(to_numpy(evidence.headline.log_e_above(t))) for t in (0.2, -0.2)])
    better = float(game.best_stop([each[:, 0, 1] for each, _ in above]))
    worse = float(game.best_stop([each[:, 1, 0] for _, each in above]))
    show(f"fitted stakes, best stop above the true difference: {better:.6f}, reversed {worse:.6f}")
    assert 0.5 < better <= 1.0 + ROUNDING
    assert 0.5 < worse <= 1.0 + ROUNDING


# Planted bugs ----------------------------------------------------------------------------------------------------


BUGS = {
    "noise of the next replicate": planted_stakes.noise_of_the_next_replicate,
    "stakes that win the next replicate": planted_stakes.stakes_that_win_the_next_replicate,
    "stakes chosen at every replicate": planted_stakes.stakes_chosen_at_every_replicate,
    "best stakes so far": planted_stakes.best_stakes_so_far,
    "entries of small stakes": entries_of_other_stakes(SMALL),
    "entries of wide stakes": entries_of_other_stakes(WIDE),
    "entries of the reversed direction": planted_stakes.entries_of_the_reversed_direction,
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_fault_of_the_stakes_is_caught(bug):
    """The honest twin is the game without the fault."""
    own, wealth = best_stops(GAMES["skewed"], BUGS[bug])
    show(f"bug {bug}: best stop has evidence {own:.4f}, wealth {wealth:.4f}")
    assert own > 1.01
    # Of two models both directions are in every sum, so that exchanging their entries changes no ratio of sums.
    assert wealth > 1.01 or bug in ("entries of small stakes", "entries of the reversed direction")
