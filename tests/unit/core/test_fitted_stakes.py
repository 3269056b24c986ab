"""Stakes that are fitted to the noise when they enter, against a second and literal way of finding them."""

import itertools
import math
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

import oracle
from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.leaderboard import Certifier
from bbedge.core.stakes import fitted_entries
from bbedge.errors import DataError, DesignError


def design(n_models=3, n_items=6, **options):
    models, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)]
    return Design.make(models, items, **options)


def steady_panels(rng, looks, means, n_items=6, noise=0.1):
    """Items that differ, and scores that hardly do from run to run."""
    levels = np.array(means)[:, None] + rng.uniform(-0.2, 0.2, n_items)
    return np.round(np.clip(levels + rng.normal(0.0, noise, (looks, len(means), n_items)), 0.0, 1.0), 3)


class Literal:
    """One design and its panels, looked at with plain loops. A panel may leave models out: ``None``."""

    def __init__(self, made, panels):
        self.made, self.panels = made, panels
        labels = list(dict.fromkeys(made.blocks))
        self.setting = oracle.Setting(
            blocks=tuple(labels.index(block) for block in made.blocks),
            tau=made.tau,
            kind=made.evidence,
            prediction=made.prediction,
            stakes=(),
            weights=tuple(oracle.fitted_weights()),
        )
        self.directions = [(int(a), int(b)) for a, b in np.argwhere(made.tested)]
        sizes = self.setting.sizes
        self.size = {
            "alpha": made.certificate_alpha,
            "tau": made.tau,
            "directions": len(self.directions),
            "worth": sum((size / max(sizes)) ** 2 for size in sizes),
        }
        self.means = [
            [None if row is None else oracle.block_means(row, self.setting.blocks) for row in panel] for panel in panels
        ]

    def noise(self, after):
        return oracle.block_noise(self.means[:after], self.setting.sizes, self.directions)

    def stakes(self, runs):
        return oracle.fitted_grid(self.noise, runs, planned=self.made.planned, **self.size)

    def logs(self, runs, a, b, *, upto=None, t=None):
        setting = replace(self.setting, stakes=tuple(self.stakes(upto or runs)))
        return oracle.stake_logs(setting, self.panels[:runs], a, b, t)

    def standing(self):
        looks = [
            {(a, b): self.logs(r, a, b) for a, b in self.directions} for r in range(1, len(self.panels) + 1)
        ]
        entries = oracle.fitted_entry_times(self.made.planned)
        return oracle.staggered(looks, entries, oracle.fitted_weights(), self.made.certificate_alpha)

    def own(self, runs, a, b, t=None):
        at = self.logs(runs, a, b, t=t)
        by_look = [self.logs(r, a, b) for r in range(1, runs + 1)]
        return oracle.own_evidence(
            by_look, at, lambda g, k: self.logs(k, a, b, upto=runs, t=t)[g], self.made.planned
        )


def found(look):
    return {(int(a), int(b)) for a, b in np.argwhere(look.edges)}


# The rule --------------------------------------------------------------------------------------------------------


CASES = [
    (1, (0.7, 0.4), {}),
    (2, (0.8, 0.6, 0.3), {}),
    (3, (0.8, 0.6, 0.3), {"evidence": "sharp", "tau": 0.05}),
    (4, (0.9, 0.5, 0.2), {"planned": 12}),
    (5, (0.9, 0.5, 0.2), {"planned": 4, "evidence": "sharp"}),
    (6, (0.8, 0.5, 0.3), {"margin_share": 0.0, "blocks": ["a", "a", "a", "b", "c", "c"]}),
    (7, (0.8, 0.5, 0.3), {"evidence": "sharp", "blocks": ["a", "a", "a", "b", "c", "c"]}),
    (8, (0.8, 0.5, 0.3), {"prediction": "two-way"}),
    (9, (0.9, 0.6, 0.5), {"candidate": ["m0"]}),
    (10, (0.9, 0.6, 0.5), {"newcomer": "m2", "tau": 0.02}),
]


@pytest.mark.parametrize(("seed", "means", "options"), CASES)
@pytest.mark.parametrize("noise", [0.02, 0.4])
def test_every_look_certifies_what_trying_every_set_does(seed, means, options, noise):
    made = design(len(means), **options)
    assert (made.stakes, made.holm) == ("fitted", "staggered")
    panels = steady_panels(np.random.default_rng(seed), 16, means, noise=noise)
    certifier, literal = Certifier(made), Literal(made, panels.tolist())
    assert [found(certifier.update(panel)) for panel in panels] == literal.standing()
    chosen = certifier.evidence.fitted_stakes
    wanted = oracle.fitted_grid(literal.noise, 16, planned=made.planned, **literal.size)[5:]
    assert [each.stake for each in chosen] == pytest.approx(wanted, rel=1e-12)
    assert [each.noise for each in chosen] == pytest.approx([literal.noise(each.after) for each in chosen], rel=1e-9)
    assert [each.after for each in chosen] == oracle.fitted_entry_times(made.planned)[5:]


@pytest.mark.parametrize(("seed", "means", "options"), CASES)
@pytest.mark.parametrize("runs", [1, 2, 3, 8, 14])
def test_what_a_direction_has_by_itself_and_its_margin_follow_the_definitions(seed, means, options, runs):
    made = design(len(means), **({"margin_share": 0.2} | options))
    panels = steady_panels(np.random.default_rng(seed), runs, means, noise=0.15)
    certifier, literal = Certifier(made), Literal(made, panels.tolist())
    for panel in panels:
        look = certifier.update(panel)
    bounds = certifier.leaderboard().lower_bounds
    above = to_numpy(certifier.evidence.log_e_above(0.1))
    needed = math.log(len(literal.directions) / made.margin_alpha)
    for a, b in literal.directions:
        assert look.log_e[a, b] == pytest.approx(literal.own(runs, a, b), abs=1e-9)
        assert look.log_e[a, b] <= literal.own(runs, a, b)
        assert above[a, b] == pytest.approx(literal.own(runs, a, b, t=0.1), abs=1e-9)
        low = to_numpy(certifier.evidence.lower_bounds())[a, b]
        assert low <= bounds[a, b] or made.is_joint
        if low > -1.0:  # where it is, the evidence has just reached the threshold
            assert literal.own(runs, a, b, t=low) == pytest.approx(needed, abs=1e-6)
        else:
            assert literal.own(runs, a, b, t=-1.0) <= needed + 1e-9
