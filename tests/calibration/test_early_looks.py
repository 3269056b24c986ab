"""Looks inside the first run: any false edge or margin at any checkpoint or run, and bugs that must be found."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest

from bbedge.core.arrays import to_numpy
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoint_evidence import EarlyEvidence, plan_of
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

pytestmark = pytest.mark.nightly

BATCH = 50


@dataclass(frozen=True, kw_only=True)
class Null:
    """Right and wrong answers with known chances; items differ widely and are listed by category."""

    chances: np.ndarray
    """Models x items."""
    weights: tuple[float, ...] | None = None
    looks: int = 3
    options: dict = field(default_factory=dict)

    def design(self, seed, **options):
        models, items = [f"m{i}" for i in range(len(self.chances))], [f"q{i}" for i in range(self.chances.shape[1])]
        early = Checkpoints(order_seed=seed)
        return Design.make(
            models,
            items,
            **({"alpha": ALPHA, "weights": self.weights, "checkpoints": early} | self.options | options),
        )

    def differences(self, weights):
        means = np.average(self.chances, axis=1, weights=weights)
        return means[:, None] - means

    def panels(self, rng, *batch):
        return (rng.random((self.looks, *batch, *self.chances.shape)) < self.chances).astype(float)


def by_category(n_models, per_category):
    """Every model solves its own category and no other: equal in the mean, far apart on every item."""
    own = np.repeat(np.eye(n_models), per_category, axis=1)
    return own * 0.96 + 0.02


LIGHT, HEAVY = 48, 3
NULLS = {
    "two by category": Null(chances=by_category(2, 30)),
    "four by category": Null(chances=by_category(4, 15)),
    "two coins": Null(chances=np.full((2, 40), 0.5), looks=4),
    "two always the same": Null(chances=np.round(by_category(2, 20))),
    # Many light items favour the first model, a few heavy ones the second.
    "weights": Null(
        chances=np.array([[0.9] * LIGHT + [0.1] * HEAVY, [0.1] * LIGHT + [0.9] * HEAVY]),
        weights=(1.0,) * LIGHT + (LIGHT / HEAVY,) * HEAVY,
        options={"views": {"light": (1.0,) * 20 + (0.0,) * (LIGHT - 20) + (20 / HEAVY,) * HEAVY}},
    ),
    "one better": Null(chances=np.concatenate([by_category(2, 30), np.full((1, 60), 0.97)])),
    "sharp": Null(chances=by_category(3, 20), options={"evidence": "sharp", "holm": "direct"}),
}


def false_runs(null, *, n, first_seed):
    """Repetitions with any false edge, and with any false margin, in any view at any checkpoint or run.

    Every batch has an order of its own. Margins take longer, so that they are read in the first four batches.
    """
    rng = np.random.default_rng(first_seed)
    found = [false_in_batch(null, rng, with_margins=number < 4) for number in range(n // BATCH)]
    return tuple(int(total) for total in np.sum(found, axis=0))


def false_in_batch(null, rng, *, with_margins):
    design = null.design(int(rng.integers(2**63)))
    evidence, procedure = EvidenceSet(design, batch=(BATCH,)), Procedure(design, batch=(BATCH,))
    wrong, exceeded = np.zeros(BATCH, dtype=bool), np.zeros(BATCH, dtype=bool)
    for _ in taken_in(evidence, plan_of(design), null.panels(rng, BATCH)):
        looks = procedure.looks(evidence.views, run=evidence.run)
        for look, view, part in zip(looks, evidence.views, design.parts, strict=True):
            true = null.differences(part.weights)
            wrong |= (look.edges & (true <= 1e-12)).any(axis=(-1, -2))
            if with_margins:
                exceeded |= (to_numpy(view.lower_bounds()) > true + 1e-12).any(axis=(-1, -2))
    return int(wrong.sum()), int(exceeded.sum())


def taken_in(evidence, plan, panels):
    """Take in checkpoint after checkpoint and then run after run; a look may follow each."""
    for number in numbers(plan):
        yield evidence.update(panels[0][..., plan.new_places(number)], plan.checkpoints[number - 1].blocks)
    for panel in panels:
        yield evidence.update(panel)


def numbers(plan):
    return range(1, len(plan.checkpoints) + 1)


@pytest.mark.parametrize("name", NULLS)
def test_false_edges_over_all_checkpoints_and_runs(name):
    n = 400
    edges, margins = false_runs(NULLS[name], n=n, first_seed=1)
    show(f"early looks, {name}: {edges}/{n} false edges, {margins}/{4 * BATCH} false margins")
    assert not breaks(edges, n, alpha=ALPHA)
    assert not breaks(margins, 4 * BATCH, alpha=ALPHA)


@pytest.mark.parametrize("name", NULLS)
def test_false_edges_over_all_checkpoints_and_runs_ten_thousand_times(name):
    n = 10_000
    edges, margins = false_runs(NULLS[name], n=n, first_seed=2)
    show(f"early looks, {name}: {edges}/{n} false edges, {margins}/{4 * BATCH} false margins")
    assert not breaks(edges, n, alpha=ALPHA)
    assert not breaks(margins, 4 * BATCH, alpha=ALPHA)


# Dropping in the middle ------------------------------------------------------------------------------------------


def dropping_run(null, rng):
    """Whether a run that drops models between checkpoints certifies anything false.

    Whoever is behind is dropped with probability one half after every checkpoint and run, for as long as two are left.
    """
    design = null.design(int(rng.integers(2**63)), margin_share=0.0)
    certifier, panels, true = Certifier(design), null.panels(rng), null.differences(design.weights)
    place = {item: i for i, item in enumerate(design.items)}

    def rows():
        return [design.models.index(model) for model in certifier.evidence.active]

    def drop():
        active = certifier.evidence.active
        if len(active) > 2 and rng.random() < 0.5:
            last = min(active, key=lambda model: certifier.evidence.means[design.models.index(model)])
            certifier.stop([last])

    while (upcoming := certifier.next_checkpoint) is not None:
        columns = [place[item] for item in certifier.next_items]
        certifier.update(panels[0][np.ix_(rows(), columns)], upcoming.blocks)
        drop()
    for panel in panels:
        certifier.update(panel[rows()])
        drop()
    return bool((certifier.edges() & (true <= 1e-12)).any())


DROPPING = {name: NULLS[name] for name in ("four by category", "one better")}


@pytest.mark.parametrize("name", DROPPING)
def test_false_edges_with_models_dropped_in_the_middle(name):
    n = 3_000
    wrong = sum(dropping_run(DROPPING[name], rng) for rng in np.random.default_rng(3).spawn(n))
    show(f"early looks, {name}, dropping: {wrong}/{n} false edges")
    assert not breaks(wrong, n, alpha=ALPHA)


# Planted bugs ----------------------------------------------------------------------------------------------------


def test_file_order_is_caught(monkeypatch):
    """Items listed by category: the first 60 % of the file favour the first model."""
    null = Null(chances=by_category(2, 100))
    honest, _ = false_runs(null, n=100, first_seed=4)

    def as_listed(items, blocks, seed):
        return np.arange(len(items)), np.arange(len(items) + 1)

    monkeypatch.setattr("bbedge.core.checkpoints.item_order", as_listed)
    planted, _ = false_runs(null, n=100, first_seed=4)
    show(f"bug file-order: honest {honest}/100, planted {planted}/100")
    assert not breaks(honest, 100, alpha=ALPHA)
    assert planted == 100


def test_checkpoints_and_order_chosen_after_looking_are_caught():
    """The order and the checkpoint at which the evidence is largest, as if the design had named them beforehand."""
    n_items, alpha, n, tries = 120, 0.1, 60, 40
    null = Null(chances=np.full((2, n_items), 0.5), looks=1, options={"alpha": alpha, "margin_share": 0.0})
    rng = np.random.default_rng(5)
    scores = null.panels(rng, n)[0]
    # Columns in another order are another order of the blocks: all items have the same chances.
    columns = [rng.permutation(n_items) for _ in range(tries)]
    panels = np.concatenate([scores[..., order] for order in columns])

    def certified(early):
        design = null.design(1, checkpoints=early)
        plan, batch = plan_of(design), (len(panels),)
        evidence, procedure = EvidenceSet(design, batch=batch), Procedure(design, batch=batch)
        for number in numbers(plan):
            evidence.update(panels[..., plan.new_places(number)], plan.checkpoints[number - 1].blocks)
            looks = procedure.looks(evidence.views, run=evidence.run)
        return looks[0].edges.any(axis=(-1, -2)).reshape(tries, n)

    every = tuple((np.unique(np.geomspace(3, n_items - 1, 12).astype(int)) / n_items).tolist())
    honest = int(certified(Checkpoints(order_seed=1, fractions=every, complete=0.02))[0].sum())
    alone = [certified(Checkpoints(order_seed=1, fractions=(each,), complete=0.02)) for each in every]
    planted = int(np.logical_or.reduce(alone).any(axis=0).sum())
    show(f"bug chosen-after-looking: honest {honest}/{n}, planted {planted}/{n}")
    assert not breaks(honest, n, alpha=alpha)
    assert breaks(planted, n, alpha=alpha)


CHANCES = np.array([[0.9, 0.2, 0.4], [0.1, 0.6, 0.8]])
ANSWERS = [np.array(bits, dtype=float).reshape(2, 3) for bits in itertools.product((0, 1), repeat=6)]


def all_first_runs():
    """Two models on three items, equal in the mean: every order and every answer, with its probability."""
    for order in itertools.permutations(range(3)):
        chances = CHANCES[:, list(order)]
        for panel in ANSWERS:
            yield order, panel, float(np.prod(np.where(panel > 0, chances, 1 - chances))) / 6


def in_run_order(design, panel):
    """The panel whose columns are in the order in which they are run, as the design lists its items."""
    placed = np.empty_like(panel)
    placed[:, plan_of(design).order] = panel
    return placed


def small(*fractions, **options):
    early = Checkpoints(order_seed=1, fractions=fractions)
    return Design.make(["a", "b"], ["q1", "q2", "q3"], checkpoints=early, holm="direct", grid=[1.5], **options)


def test_a_checkpoint_chosen_after_looking_has_more_than_one_on_average():
    """Exactly: each of two checkpoints by itself has at most its weight, the better of the two has more."""
    designs, sums = [small(0.3), small(0.6)], np.zeros(3)
    for _, panel, p in all_first_runs():
        found = []
        for design in designs:
            certifier, placed = Certifier(design), in_run_order(design, panel)
            columns = plan_of(design).new_places(1)
            look = certifier.update(placed[:, columns], certifier.next_checkpoint.blocks)
            found.append(np.exp(look.log_e[0, 1]))
        sums += p * np.array([*found, max(found)])
    assert (sums[:2] <= 0.5 + 1e-12).all()
    assert (sums[:2] > 0.4).all()
    assert sums[2] > 0.51


def best_stop(design):
    """The mean evidence of a true null under the best rule for stopping, exactly.

    The rule knows everything that was seen at the checkpoint, and stops there if what it would have at the end of the
    run is less on average.
    """
    seen: dict[tuple, list] = {}
    for order, panel, p in all_first_runs():
        certifier, placed = Certifier(design), in_run_order(design, panel)
        columns = plan_of(design).new_places(1)
        early = np.exp(certifier.update(placed[:, columns], certifier.next_checkpoint.blocks).log_e[0, 1])
        late = np.exp(certifier.update(placed).log_e[0, 1])
        seen.setdefault((order[0], *panel[:, 0]), []).append((p, early, late))
    found = (np.array(outcomes).T for outcomes in seen.values())
    return sum(max(p @ early, p @ late) for p, early, late in found)


def test_the_weight_of_complete_runs_inside_the_run_is_caught(monkeypatch):
    """Counted before the run is complete, it can be kept where its evidence is going to fall: more than 1 on average.

    Stopping models when their prospects are bad is what a runner does. Rates of false edges would hardly show it.
    """
    design = small(0.3)
    assert best_stop(design) <= 1.0 + 1e-9
    honest = EarlyEvidence.joined

    def with_it(self, log_groups, bound, *, is_complete):
        found = honest(self, log_groups, bound, is_complete=is_complete)
        inside = self.passed and not is_complete
        return np.logaddexp(found, np.log(self.plan.complete)) if inside else found

    monkeypatch.setattr(EarlyEvidence, "joined", with_it)
    assert best_stop(design) > 1.01
