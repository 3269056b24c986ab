"""The demo's tables are what its script makes, and what is certified from them is true."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest

import bbedge

DEMO = Path(__file__).parents[2] / "demo"


def test_the_script_makes_the_same_bytes_again(tmp_path):
    runpy.run_path(str(DEMO / "make_scores.py"))["main"](tmp_path)
    for name in ("scores.csv", "truth.csv"):
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes()


@pytest.mark.parametrize(("method", "pairs"), [("bb-edge", 16), ("bb-edge-x", 23)])
def test_the_demo_certifies_a_good_part_and_nothing_false(method, pairs):
    board = bbedge.certify(bbedge.read_scores(DEMO / "scores.csv"), method=method)
    with (DEMO / "truth.csv").open(encoding="utf-8", newline="") as file:
        truth = {row["model"]: float(row["mean"]) for row in csv.DictReader(file)}
    theta = np.array([truth[name] for name in board.design.models])
    assert not (board.standing.edges & (theta[:, None] <= theta)).any()
    assert board.current.n_resolved == pairs
