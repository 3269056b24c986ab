"""Gates against numbers made by another program: see README.md beside this file."""

import json
from pathlib import Path

import numpy as np
import pytest

from bbedge.gate import Claim, Gate, Policy
from golden.test_golden import read

HERE = Path(__file__).parent / "gate"
CASES = ["gate_equal", "gate_three", "gate_worse"]


@pytest.mark.parametrize("case", CASES)
def test_evidence_and_verdicts_at_every_look(case):
    want = json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))
    (baseline,) = {baseline for _, baseline, _ in want["claims"]}
    (bar,) = {bar for _, _, bar in want["claims"]}
    candidates = tuple(candidate for candidate, _, _ in want["claims"])
    scores = read(HERE / f"{case}.parquet", [*candidates, baseline])
    claim = Claim(kind="not_worse_by", amount=-bar)
    gate = Gate(Policy(candidates=candidates, baseline=baseline, claims=(claim,), alpha=want["alpha"]), scores)
    assert len(scores.values) == len(want["log_e"])
    for panel, log_e, verdicts in zip(scores.values, want["log_e"], want["verdicts"], strict=True):
        gate.update(panel)
        results = gate.results()
        np.testing.assert_allclose([(each.log_e, each.log_e_against) for each in results], log_e, atol=1e-8)
        assert [each.verdict for each in results] == verdicts
