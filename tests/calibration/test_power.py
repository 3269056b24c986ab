"""Validity is easy to have by certifying nothing; these floors say that something is certified, and when.

The stated synthetic setting: ten models in five tied pairs, 100 singleton blocks, heterogeneity 0.2. Power is the
share of the true edges that a look certifies, averaged over repetitions.
"""

import numpy as np
import pytest

from bbedge.core.leaderboard import Certifier
from bbedge.study.synthetic import SyntheticBenchmark
from calibration.repetitions import ALPHA, METHODS, show

# The published figure for the published method is 56; the others were measured here.
FLOORS = [
    ("published", METHODS["bernstein-running-mean-paper"], 56, 2),
    ("sharp", METHODS["sharp-running-mean-paper"], 50, 3),
    ("betting, design stakes", {"method": "bb-edge", "evidence": "betting", "stakes": "design"}, 49, 3),
    ("bb-edge-x, whole alpha", {"method": "bb-edge-x", "margin_share": 0.0}, 42, 3),
    ("bb-edge-x", {"method": "bb-edge-x"}, 43, 3),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "options", "expected", "allowed"), FLOORS, ids=[floor[0] for floor in FLOORS])
def test_ninety_percent_power_comes_when_it_should(name, options, expected, allowed):
    benchmark = SyntheticBenchmark(heterogeneity=0.2)
    design = benchmark.design(alpha=ALPHA, **options)
    true = ~benchmark.null()
    n, looks = 100, expected + allowed
    power, false_edges = np.zeros(looks), 0
    for rng in np.random.default_rng(9).spawn(n):
        certifier = Certifier(design)
        for look, panel in enumerate(benchmark.panels(rng, looks)):
            edges = certifier.update(panel).edges
            power[look] += edges[true].mean() / n
            false_edges += int((edges & ~true).sum())
    reached = 1 + int(np.argmax(power >= 0.9))
    half = 1 + int(np.argmax(power >= 0.5))
    show(f"power {name}: 50 % at {half}, 90 % at {reached}; {power[reached - 2 :].round(4)}")
    assert power[-1] >= 0.9
    assert abs(reached - expected) <= allowed
    assert false_edges == 0
