"""Whole lives of boards on synthetic data: the probability of any false certificate, ever, is at most alpha.

Everything goes through the real board: its file, its ledger, its epochs, stages and budget.
"""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.board.state import BoardState
from bbedge.core.leaderboard import Certifier
from bbedge.core.scores import Scores
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs
from calibration.binomial_rule import breaks, fewest_that_break
from calibration.repetitions import ALPHA, show

MEMORY = Path("/dev/shm")
SIZES = (40, 70, 100)
LOOKS = 10


@pytest.fixture
def place():
    """Where boards are made: in memory if possible, a file system call costs more than the statistics."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


class Life:
    """A board, a count of its replicates, and what is false on it."""

    def __init__(self, place, design, *, models, items, blocks):
        self.file = place / "board.db"
        self.board = Board.create(self.file, design, models=models, items=items, blocks=blocks)
        self.count = 0

    def add(self, panels, models, items):
        """Replicates with their numbers: a coincidence would be an error, not a silence."""
        labels = tuple(str(self.count + r + 1) for r in range(len(panels)))
        scores = Scores.of(panels, models=models, items=items)
        self.board.add(replace(scores, numbered=True, replicates=labels))
        self.count += len(panels)

    def add_items(self, items, blocks):
        self.board.add_items(items, blocks)
        self.count = 0

    def end(self, theta):
        """Whether any edge of any epoch, stage or look is false, and how many edges there were."""
        false = edges = 0
        for epoch in self.board.state.epochs:
            shown = self.board.leaderboard(epoch.number)
            truth = np.array([theta[epoch.number - 1][model] for model in shown.design.models])
            false += int((shown.edges & (truth[:, None] - truth <= 1e-12)).sum())
            edges += shown.graph.n_edges
        assert self.board.state.spent <= self.board.design.alpha
        self.board.close()
        for file in self.file.parent.iterdir():
            file.unlink()
        return false > 0, edges


def growing(place, rng, *, means, block, heterogeneity, method, looks=LOOKS):
    """40 -> 70 -> 100 items, equal shares of alpha, ten replicates each."""
    versions = [
        SyntheticBenchmark(means=means, n_items=n, block_sizes=block, heterogeneity=heterogeneity) for n in SIZES
    ]
    whole = versions[-1]
    design = BoardDesign(alpha=ALPHA, method=method, copies="allow", spending="equal", shares=3)
    life = Life(place, design, models=whole.models, items=whole.items[:40], blocks=whole.blocks[:40])
    for version, (old, new) in zip(versions, ((0, 40), (40, 70), (70, 100)), strict=True):
        if old:
            life.add_items(whole.items[old:new], whole.blocks[old:new])
        life.add(version.panels(rng, looks), whole.models, whole.items[:new])
    theta = dict(zip(whole.models, means, strict=True))
    return life.end([theta] * 3)


def joining(place, rng, *, means, n_items, block, method, pairing, looks=LOOKS, **options):
    """Three models come later, one after another, and the first of all retires."""
    benchmark = SyntheticBenchmark(means=means, n_items=n_items, block_sizes=block, **options)
    names = benchmark.models
    panels = benchmark.panels(rng, 4 * looks)
    design = BoardDesign(alpha=ALPHA, method=method, copies="allow", **pairing)
    founders = len(names) - 3
    life = Life(place, design, models=names[:founders], items=benchmark.items, blocks=benchmark.blocks)
    for part in range(4):
        here = list(range(founders + part))
        if part:
            needed = life.board.state.runs_needed()
            new = names[here[-1]]
            life.board.add_model(new, Scores.of(panels[:needed, here[-1:]], models=[new], items=benchmark.items))
        if part == 3:
            life.board.retire(names[0])
            here = here[1:]
        life.add(panels[part * looks : (part + 1) * looks, here], [names[i] for i in here], benchmark.items)
    return life.end([dict(zip(names, means, strict=True))])


GROWING = {
    "tied": {"means": (0.5,) * 4, "block": 1, "heterogeneity": 0.0},
    "pairs": {"means": tied_pairs(0.45, 0.55, n_pairs=2), "block": 5, "heterogeneity": 0.0},
    "pairs-heterogeneous": {"means": tied_pairs(0.41, 0.59, n_pairs=3), "block": 5, "heterogeneity": 0.2},
}
JOINING = {
    "tied": {"means": (0.5,) * 5, "n_items": 20, "block": 5, "pairing": {}},
    "pairs": {"means": (0.3, 0.7, 0.3, 0.7, 0.3), "n_items": 20, "block": 5, "heterogeneity": 0.2, "pairing": {}},
    "first-five": {"means": (0.5,) * 5, "n_items": 20, "block": 5, "pairing": {"pairing": "first", "first": 5}},
    # One graded answer a replicate: nothing is averaged, and as much of alpha is used as can be.
    "tight": {"means": (0.5,) * 5, "n_items": 1, "block": 1, "offset": 0.0, "scoring": "graded", "pairing": {}},
}


def judge(name, life, place, *, n, seed, **setting):
    ends = [life(place, rng, **setting) for rng in np.random.default_rng(seed).spawn(n)]
    failures, edges = sum(bad for bad, _ in ends), sum(count for _, count in ends) / n
    show(f"board {name}: a false certificate in {failures}/{n} lives, {edges:.2f} edges each")
    assert not breaks(failures, n, alpha=ALPHA)
    return edges


# bb-edge-x bets where bb-edge does not, so it is the one to fail first.
LIVES = {"bb-edge": 50, "bb-edge-x": 200}


@pytest.mark.nightly
@pytest.mark.parametrize("method", LIVES)
@pytest.mark.parametrize("setting", GROWING)
def test_false_edges_are_rare_while_the_benchmark_grows(place, setting, method):
    options = GROWING[setting] | {"method": method}
    edges = judge(f"growing {setting} {method}", growing, place, n=LIVES[method], seed=3, **options)
    if setting == "pairs-heterogeneous" and method == "bb-edge-x":
        assert edges > 5  # certifying nothing would be an easy way to be right


@pytest.mark.nightly
@pytest.mark.parametrize("method", LIVES)
@pytest.mark.parametrize("setting", JOINING)
def test_false_edges_are_rare_while_models_join(place, setting, method):
    options = JOINING[setting] | {"method": method}
    edges = judge(f"joining {setting} {method}", joining, place, n=LIVES[method], seed=4, **options)
    if setting == "pairs" and method == "bb-edge-x":
        assert edges > 1


@pytest.mark.nightly
@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("heterogeneity", [0.0, 0.2])
def test_false_edges_are_rare_in_the_stated_update_experiment(place, block, heterogeneity):
    """Ten models in five pairs, as published."""
    setting = {"means": tied_pairs(0.41, 0.59), "block": block, "heterogeneity": heterogeneity}
    for method in ("bb-edge", "bb-edge-x"):
        judge(f"update b{block} h{heterogeneity} {method}", growing, place, n=100, seed=5, method=method, **setting)


# Planted bugs --------------------------------------------------------------------------------------------------------


def reversing(place, rng):
    """The new items favour the model that the old ones did not, so that over all items the two are equal.

    Stakes are known from the start, because those that are fitted could not be replayed on other items.
    """
    models, old, new = ("a", "b"), [f"old{i}" for i in range(10)], [f"new{i}" for i in range(10)]
    probability = np.array([[0.8] * 10 + [0.2] * 10, [0.2] * 10 + [0.8] * 10])
    life = Life(
        place,
        BoardDesign(alpha=ALPHA, method="bb-edge-x", stakes="design", copies="allow", spending="equal", shares=2),
        models=models,
        items=old,
        blocks=old,
    )
    life.add((rng.random((6, 2, 10)) < probability[:, :10]).astype(float), models, old)
    assert life.board.leaderboard().edges[0, 1]
    life.add_items(new, new)
    life.add((rng.random((4, 2, 20)) < probability).astype(float), models, [*old, *new])
    return life.end([{"a": 0.8, "b": 0.2}, {"a": 0.5, "b": 0.5}])


def carry_over(monkeypatch):
    """Plant it: an epoch begins with the evidence and the certificates of the one before."""
    honest = BoardState._open_epoch

    def planted(self, *version):
        honest(self, *version)
        if len(self.epochs) < 2:
            return
        before, now = (epoch.stages[0].certifier.evidence for epoch in self.epochs[-2:])
        now._runs, now.replicates = before._runs.copy(), before.replicates
        now._mixture.totals, now._mixture.count = before._mixture.totals.copy(), before._mixture.count
        self.epochs[-1].stages[0].places.extend(self.epochs[-2].stages[0].places)

    monkeypatch.setattr(BoardState, "_open_epoch", planted)


@pytest.mark.nightly
def test_evidence_that_survives_new_items_is_caught(place, monkeypatch):
    n = 12
    generators = np.random.default_rng(6).spawn(n)
    honest = sum(reversing(place, rng)[0] for rng in generators)
    carry_over(monkeypatch)
    planted = sum(reversing(place, rng)[0] for rng in np.random.default_rng(6).spawn(n))
    needed = fewest_that_break(n, alpha=ALPHA)
    show(f"bug carried-evidence: honest {honest}/{n}, planted {planted}/{n}, caught from {needed} on")
    assert not breaks(honest, n, alpha=ALPHA)
    assert breaks(planted, n, alpha=ALPHA)


def lucky(place, rng, *, choose):
    """Somebody runs the new model often and joins the runs that look best, or simply the first ones."""
    models, items = ("a", "b"), [f"q{i}" for i in range(4)]
    life = Life(
        place, BoardDesign(alpha=ALPHA, method="bb-edge-x", copies="allow"), models=models, items=items, blocks=items
    )
    life.add(np.round(rng.random((10, 2, 4)), 6), models, items)
    runs = np.round(rng.random((300, 1, 4)), 6)
    life.board.add_model("new", Scores.of(choose(runs), models=["new"], items=items))
    return life.end([dict.fromkeys((*models, "new"), 0.5)])


@pytest.mark.nightly
def test_a_choice_among_the_runs_of_a_new_model_would_be_caught(place):
    """The pairing rule joins the runs in order; a board cannot see who picks, but this check can."""
    n = 15
    picked = {
        "first": lambda runs: runs[:10],
        "best": lambda runs: runs[np.argsort(-runs.mean(axis=(1, 2)))[:10]],
    }
    bad = {
        name: sum(lucky(place, rng, choose=choose)[0] for rng in np.random.default_rng(7).spawn(n))
        for name, choose in picked.items()
    }
    show(f"bug picked-runs: honest {bad['first']}/{n}, planted {bad['best']}/{n}")
    assert not breaks(bad["first"], n, alpha=ALPHA)
    assert breaks(bad["best"], n, alpha=ALPHA)


def test_the_simulation_counts_what_certifiers_certify(place):
    """One growing life, and the same panels fed to certifiers by hand."""
    means = tied_pairs(0.41, 0.59, n_pairs=2)
    bad, edges = growing(place, np.random.default_rng(8), means=means, block=1, heterogeneity=0.0, method="bb-edge-x")
    rng, by_hand = np.random.default_rng(8), 0
    level = BoardDesign(alpha=ALPHA, spending="equal", shares=3).level(0)
    for n in SIZES:
        benchmark = SyntheticBenchmark(means=means, n_items=n)
        certifier = Certifier(benchmark.design(alpha=level, method="bb-edge-x"))
        for panel in benchmark.panels(rng, LOOKS):
            certifier.update(panel)
        by_hand += int(certifier.edges().sum())
    assert edges == by_hand > 0
    assert not bad
