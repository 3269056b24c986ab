"""Claims about new items, and scores that k runs make, against numbers made by another program: see README.md."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge.core.certifier import Certifier

HERE = Path(__file__).parent / "target"
CASES = sorted(path.stem for path in HERE.glob("*.json"))


def test_every_kind_of_case_is_there():
    assert CASES == ["all_of_three", "any_of_two", "blocks_graded_tau", "items_binary", "items_planned"]


def panels_of(case):
    """What is expected, the panels, and the design for one target or for both."""
    want = json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))
    rows = pl.read_parquet(HERE / want["panel"])
    models, items = want["models"], sorted(rows["item"].unique().to_list())
    block_of = dict(zip(rows["item"], rows["block"], strict=True)) if "block" in rows.columns else {}
    replicates = sorted(rows["replicate"].unique().to_list())
    values = np.full((len(replicates), len(models), len(items)), np.nan)
    for row in rows.iter_rows(named=True):
        values[replicates.index(row["replicate"]), models.index(row["model"]), items.index(row["item"])] = row["score"]

    def design(target):
        return bbedge.Design.make(
            models,
            items,
            blocks=[block_of.get(item, item) for item in items],
            alpha=want["alpha"] * (2 if target == "both" else 1),  # of which each target has half
            tau=want["tau"],
            margin_share=want["margin_share"],
            planned=want["planned"],
            of_runs=want["of_runs"] and ":".join(map(str, want["of_runs"])),
            target=target,
        )

    return want, values, design


def matrix(rows):
    return np.array([[np.nan if value is None else value for value in row] for row in rows])


@pytest.mark.parametrize("target", ["new-items", "both"])
@pytest.mark.parametrize("case", CASES)
def test_evidence_edges_and_margins_are_those_of_another_program(case, target):
    want, values, design = panels_of(case)
    certifier = Certifier(design(target))
    looks = 0
    for run, panel in enumerate(values, start=1):
        certifier.update(panel)
        expected = want["log_s"].get(str(run))
        if expected is not None:
            looks += 1
            np.testing.assert_allclose(certifier.views[-1].log_e(), matrix(expected), rtol=1e-8, atol=1e-8)
    assert looks == len(want["log_s"])
    leaderboard = certifier.leaderboard()
    leaderboard = leaderboard.views[-1] if target == "both" else leaderboard
    models = want["models"]
    edges = [[models[a], models[b]] for a, b in np.argwhere(leaderboard.edges).tolist()]
    assert sorted(edges) == sorted(want["standing"])
    np.testing.assert_allclose(leaderboard.lower_bounds, matrix(want["margins"]), rtol=0, atol=1e-8)
    assert [look.replicate for look in leaderboard.looks] == [int(run) for run in want["log_s"]]


@pytest.mark.parametrize("case", CASES)
def test_the_schedule_of_looks_is_that_of_another_program(case):
    want, _, design = panels_of(case)
    k = want["of_runs"][1] if want["of_runs"] else 1
    expected = {run: pytest.approx(weight) for run, weight in want["schedule"] if run >= k}
    assert design("new-items").schedule == expected


@pytest.mark.parametrize("target", ["new-items", "both"])
@pytest.mark.parametrize("case", CASES)
def test_a_saved_state_goes_on_as_if_nothing_had_been(case, target):
    _, values, design = panels_of(case)
    made = design(target)
    whole, resumed = Certifier(made), Certifier(made)
    for panel in values:
        whole.update(panel)
        resumed = Certifier.from_bytes(made, resumed.to_bytes())
        resumed.update(panel)
    assert resumed.to_bytes() == whole.to_bytes()
