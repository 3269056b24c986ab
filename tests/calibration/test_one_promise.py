"""The promise of bb-edge-x: any false edge or any false margin, at any look, has probability at most alpha."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence import Evidence
from bbedge.core.leaderboard import Certifier
from bbedge.core.staggered import Wealth
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

pytestmark = pytest.mark.nightly

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""Panels of so many repetitions: repetitions x models x items."""

BATCH = 250


@dataclass(frozen=True, kw_only=True)
class Null:
    """Scores whose true means are known."""

    means: tuple[float, ...]
    n_items: int
    draw: Draw
    looks: int
    n: int
    options: dict = field(default_factory=dict)

    def design(self, **options) -> Design:
        models, items = [f"m{i}" for i in range(len(self.means))], [f"q{i}" for i in range(self.n_items)]
        return Design.make(models, items, **({"alpha": ALPHA} | self.options | options))

    @property
    def differences(self) -> np.ndarray:
        return np.subtract.outer(np.array(self.means), np.array(self.means))


def uniform(models: int, items: int) -> Draw:
    return lambda rng, size: rng.random((size, models, items))


def answers(chances: np.ndarray) -> Draw:
    """Right or wrong answers: models x items."""
    return lambda rng, size: (rng.random((size, *chances.shape)) < chances).astype(float)


def rare(rng, size):
    """One model always scores the same, the other nearly always a little more and rarely nothing."""
    failed = rng.random((size, 1, 4)) < 0.05
    return np.concatenate([np.full((size, 1, 4), 0.5 * 0.95), np.where(failed, 0.0, 0.5)], axis=1)


def large_block(rng, size):
    """Five hundred items that rise and fall together, and a hundred single ones."""
    together = (rng.random((size, 2, 1)) < 0.5).astype(float) * np.ones(500)
    return np.concatenate([together, (rng.random((size, 2, 100)) < 0.5).astype(float)], axis=2)


# On half of the items the first model is far ahead, on the others far behind.
OPPOSING = np.array([[0.9] * 6 + [0.1] * 6, [0.1] * 6 + [0.9] * 6])

NULLS = {
    "one uniform item": Null(means=(0.5, 0.5), n_items=1, draw=uniform(2, 1), looks=300, n=2000),
    "rare events": Null(means=(0.475, 0.475), n_items=4, draw=rare, looks=60, n=2000),
    "opposing items": Null(means=(0.5, 0.5), n_items=12, draw=answers(OPPOSING), looks=40, n=2000),
    "a block of 500 and 100 single items": Null(
        means=(0.5, 0.5),
        n_items=600,
        draw=large_block,
        looks=25,
        n=500,
        options={"blocks": ["large"] * 500 + [f"b{i}" for i in range(100)]},
    ),
    "exactly tau": Null(
        means=(0.6, 0.5),
        n_items=2,
        draw=answers(np.array([[0.6] * 2, [0.5] * 2])),
        looks=60,
        n=2000,
        options={"tau": 0.1},
    ),
    "30 tied models": Null(means=(0.5,) * 30, n_items=5, draw=answers(np.full((30, 5), 0.5)), looks=15, n=500),
    "two tied, one better": Null(
        means=(0.5, 0.5, 0.9), n_items=1, draw=answers(np.array([[0.5], [0.5], [0.9]])), looks=80, n=1500
    ),
}


def false_runs(null: Null, design: Design, *, n: int, seed: int, margins: bool = True) -> int:
    """In how many repetitions an edge or a margin was false at some look."""
    rng = np.random.default_rng(seed)
    false = (null.differences <= design.tau) & ~np.eye(len(null.means), dtype=bool)
    failed = 0
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        evidence, procedure = Evidence(design, batch=(size,)), Procedure(design, batch=(size,))
        bad = np.zeros(size, dtype=bool)
        for _ in range(null.looks):
            evidence.update(null.draw(rng, size))
            bad |= (procedure.look(evidence).edges & false).any(axis=(1, 2))
            if margins:
                bounds = np.nan_to_num(to_numpy(evidence.lower_bounds()), nan=-1.0)
                bad |= (bounds > null.differences + 1e-12).any(axis=(1, 2))
        failed += int(bad.sum())
    return failed


def judge(name: str, failed: int, n: int, *, alpha: float = ALPHA) -> None:
    show(f"any false edge or margin, {name}: {failed}/{n}")
    assert not breaks(failed, n, alpha=alpha)


@pytest.mark.parametrize("name", NULLS)
def test_everything_shown_is_true(name):
    null = NULLS[name]
    n = max(50, null.n // 20)
    judge(name, false_runs(null, null.design(), n=n, seed=1), n)


@pytest.mark.parametrize("name", NULLS)
def test_everything_shown_is_true_in_many_repetitions(name):
    null = NULLS[name]
    judge(name, false_runs(null, null.design(), n=null.n, seed=2), null.n)


# Decisions that depend on the data -------------------------------------------------------------------------------


def stopped_by_scores(design: Design, rng: np.random.Generator, looks: int) -> bool:
    """Stop whoever is behind once somebody is well ahead, and everything once an edge is certified."""
    certifier = Certifier(design)
    for _ in range(looks):
        size = len(certifier.evidence.active)
        look = certifier.update((rng.random((size, len(design.items))) < 0.5).astype(float))
        if look.edges.any() or (np.nan_to_num(certifier.leaderboard().lower_bounds, nan=-1.0) > 1e-12).any():
            return True
        means = certifier.evidence.means
        active = certifier.evidence.active
        places = [design.models.index(model) for model in active]
        if len(active) > 2 and means[places].max() - means[places].min() > 0.25:
            certifier.stop([active[int(np.argmin(means[places]))]])
    return False


def staged(rng: np.random.Generator, looks: int) -> bool:
    """Two models at half of the level; a third joins at a quarter, and the worst of the first two retires."""
    items = ["q1", "q2"]
    first = Certifier(Design.make(["a", "b"], items, alpha=ALPHA / 2))
    second = Certifier(Design.make(["a", "b", "c"], items, alpha=ALPHA / 4, newcomer="c"))
    for replicate in range(looks):
        panel = (rng.random((3, 2)) < 0.5).astype(float)
        for certifier in (first, second):
            places = ["abc".index(model) for model in certifier.evidence.active]
            if places:
                certifier.update(panel[places])
            if certifier.edges().any():
                return True
            if (np.nan_to_num(certifier.leaderboard().lower_bounds, nan=-1.0) > 1e-12).any():
                return True
        if replicate == looks // 2:
            worst = "ab"[int(np.argmin(first.evidence.means))]
            first.stop([worst])
            second.stop([worst])
    return False


@pytest.mark.parametrize("n", [700])
def test_models_stopped_because_of_their_scores(n):
    design = Design.make(["a", "b", "c", "d"], ["q1", "q2"], alpha=ALPHA)
    failed = sum(stopped_by_scores(design, rng, 30) for rng in np.random.default_rng(3).spawn(n))
    judge("stopping by scores", failed, n)


@pytest.mark.parametrize("n", [700])
def test_stages_with_a_retirement(n):
    failed = sum(staged(rng, 30) for rng in np.random.default_rng(4).spawn(n))
    judge("stages", failed, n)


# Planted bugs ------------------------------------------------------------------------------------------------------

UNIFORM = Null(means=(0.5, 0.5), n_items=1, draw=uniform(2, 1), looks=100, n=1000)


def test_entry_values_rounded_down_are_caught(monkeypatch):
    design = UNIFORM.design(margin_share=0.0)
    honest = false_runs(UNIFORM, design, n=500, seed=5, margins=False)
    exact = Evidence.at_entry

    def rounded(self, count):
        values = exact(self, count)
        values[1:] = np.floor(values[1:] / 6) * 6
        return values

    monkeypatch.setattr(Evidence, "at_entry", rounded)
    planted = false_runs(UNIFORM, design, n=500, seed=5, margins=False)
    show(f"bug entry rounded down: honest {honest}/500, planted {planted}/500")
    assert not breaks(honest, 500, alpha=ALPHA)
    assert breaks(planted, 500, alpha=ALPHA)


def test_entry_values_of_a_later_look_are_caught(monkeypatch):
    """A group that enters when it suits it: its evidence at entry is the least that it has had since."""
    design = UNIFORM.design(margin_share=0.0)
    exact, seen = Evidence.at_entry, {}

    def least(self, count):
        if self.replicates == 1:
            seen.clear()
        for place, now in enumerate(self.log_groups()[:count]):
            seen[place] = np.minimum(seen.get(place, np.inf), now)
        return np.minimum(exact(self, count), np.stack([seen[place] for place in range(count)]))

    monkeypatch.setattr(Evidence, "at_entry", least)
    planted = false_runs(UNIFORM, design, n=300, seed=6, margins=False)
    show(f"bug entry read later: planted {planted}/300")
    assert breaks(planted, 300, alpha=ALPHA)


@pytest.mark.parametrize("bug", ["never spent", None])
def test_cash_that_is_counted_twice_is_caught(monkeypatch, bug):
    """A group that has entered still counted as cash; seen at a level at which five twelfths matter."""
    alpha = 0.9
    design = UNIFORM.design(margin_share=0.0, alpha=alpha)
    if bug:
        begin = Wealth.__init__

        def twice(self, views, log_groups):
            begin(self, views, log_groups)
            self._cash = sum(group.weight for group in views[0].groups if group.after > 0)

        monkeypatch.setattr(Wealth, "__init__", twice)
    failed = false_runs(UNIFORM, design, n=500, seed=7, margins=False)
    show(f"bug cash {bug}: {failed}/500")
    assert breaks(failed, 500, alpha=alpha) == bool(bug)


def test_margins_at_the_whole_level_are_caught():
    """Margins and edges at alpha each, counted as if they were one promise: seen where nearly all of alpha is used."""
    alpha = 0.45
    split, each = UNIFORM.design(alpha=alpha), UNIFORM.design(alpha=alpha, margin_share=0.0)
    honest, both = (false_runs(UNIFORM, design, n=500, seed=8) for design in (split, each))
    show(f"alpha {alpha}: split {honest}/500, each for itself {both}/500")
    assert honest < both
    assert not breaks(honest, 500, alpha=alpha)


def test_reading_certificates_from_a_later_look_costs_no_level():
    """Leaving out what only a later look certifies is harmless: if that is true, it is no null; if false, it counts.

    So this bug cannot be caught by an error rate. It would show beside the literal implementation, which is compared
    look by look.
    """
    null = NULLS["two tied, one better"]
    design = null.design(margin_share=0.0)
    false = (null.differences <= 0.0) & ~np.eye(3, dtype=bool)
    n, failed = 250, 0
    panels = [null.draw(np.random.default_rng([9, look]), n) for look in range(null.looks)]
    later = np.zeros((n, 3, 3), dtype=np.int64)
    for _ in range(2):
        evidence, procedure = Evidence(design, batch=(n,)), Procedure(design, batch=(n,))
        procedure.first = [later]
        for panel in panels:
            evidence.update(panel)
            procedure.look(evidence)
        later = to_numpy(procedure.first[0])
        failed = int(((later > 0) & false).any(axis=(1, 2)).sum())
    judge("certificates of a later look", failed, n)
