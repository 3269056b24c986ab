"""Evidence that a difference exceeds a number other than tau, which may be below zero."""

from itertools import pairwise

import numpy as np
import pytest

import oracle
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.errors import DesignError

MODELS = ["a", "b", "c"]
BLOCKS = (0, 0, 1, 2, 2, 2)


def evidence_of(panels, **options):
    labels = [f"b{k}" for k in BLOCKS]
    design = Design.make(MODELS, [f"q{i}" for i in range(6)], blocks=labels, **options)
    made = Evidence(design)
    for panel in panels:
        made.update(panel)
    return made


@pytest.mark.parametrize("kind", ["bernstein", "hoeffding", "sharp", "betting"])
@pytest.mark.parametrize("tau", [0.0, 0.05])
@pytest.mark.parametrize("at", [-1.0, -0.3, -0.02, 0.0, 0.02, 0.4])
def test_only_the_null_of_the_linear_term_moves(kind, tau, at):
    panels = np.random.default_rng(1).random((4, 3, 6))
    stakes = "design" if kind in ("sharp", "betting") else "paper"
    made = evidence_of(panels, evidence=kind, stakes=stakes, tau=tau, margin_share=0.0)
    design = made.design
    setting = oracle.Setting(
        blocks=BLOCKS,
        tau=tau,
        kind=kind,
        prediction="running-mean",
        stakes=design.grid.values,
        weights=design.grid.weights,
    )
    rows = [[list(row) for row in panel] for panel in panels.tolist()]
    found = made.log_e_above(at)
    for a in range(3):
        for b in range(3):
            if a != b:
                expected = oracle.log_evidence(setting, rows, a, b, t=at)
                assert found[a, b] == pytest.approx(expected, abs=1e-9)
                assert found[a, b] <= expected + 1e-12  # rounding only ever lowers evidence
    assert np.isnan(np.diag(found)).all()


def test_it_falls_with_the_difference_and_is_the_evidence_at_tau():
    panels = np.random.default_rng(2).random((3, 3, 6))
    made = evidence_of(panels, method="bb-edge", tau=0.03)
    off = ~np.eye(3, dtype=bool)
    assert np.allclose(made.log_e_above(0.03)[off], made.log_e()[off], rtol=0, atol=1e-12)
    steps = [made.log_e_above(at)[off] for at in (-0.5, -0.1, 0.0, 0.1, 0.5)]
    assert all((one > two).all() for one, two in pairwise(steps))


def test_without_runs_there_is_no_evidence():
    found = evidence_of([]).log_e_above(-0.1)
    assert np.nanmax(found) <= 1e-12


def test_it_is_not_kept_of_stopped_models():
    made = evidence_of(np.random.default_rng(3).random((2, 3, 6)))
    made.stop(["c"])
    with pytest.raises(DesignError, match="stopped models"):
        made.log_e_above(-0.1)
