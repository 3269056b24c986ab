"""Weighted means against numbers made by another program: see README.md beside this file."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge.core.eholm import weighted_e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.graph import Graph
from bbedge.core.stakes import design_stakes, given_stakes, paper_stakes

HERE = Path(__file__).parent / "views"
KINDS = ["bernstein", "hoeffding", "sharp", "betting", "sharp/design", "betting/design"]
VIEWS = [
    (case, view)
    for case in ("suite_macro", "weights_crossing_blocks")
    for view in json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))["views"]
]


@cache
def expected(case):
    return json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))


@cache
def scores(case):
    table = pl.read_parquet(HERE / f"{case}.parquet")
    models, items = expected(case)["models"], table["item"].unique(maintain_order=True).to_list()
    block_of = dict(zip(table["item"], table["block"], strict=True))
    replicates = sorted(table["replicate"].unique().to_list())
    values = np.full((len(replicates), len(models), len(items)), np.nan)
    for row in table.iter_rows(named=True):
        values[replicates.index(row["replicate"]), models.index(row["model"]), items.index(row["item"])] = row["score"]
    return bbedge.Scores.of(values, models=models, items=items, blocks=[block_of[item] for item in items])


def design_of(case, view, kind):
    case_scores = scores(case)
    evidence, _, stakes = kind.partition("/")
    alpha, tau, share = expected(case)["alpha"], expected(case)["tau"], expected(case)["views"][view]["share"]
    weights = [expected(case)["views"][view]["weights"].get(item, 0.0) for item in case_scores.items]
    n_models = len(case_scores.models)
    directions = n_models * (n_models - 1) / share  # a view pays for its share of alpha alone
    blocks = case_scores.design(method="bb-edge", weights=weights).layout.effective_count
    grid = (
        design_stakes(alpha=alpha, tau=tau, n_directions=directions, effective_blocks=blocks)
        if stakes
        else paper_stakes()
    )
    # Margins of the design itself are those at the level of the view.
    return case_scores.design(
        alpha=alpha * share,
        tau=tau,
        evidence=evidence,
        prediction="running-mean",
        stakes=given_stakes(grid.values, grid.weights),
        method="bb-edge",
        weights=weights,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["suite_macro", "weights_crossing_blocks"])
def test_edges_of_all_views_together(case, kind):
    want, models = expected(case)["by_evidence"][kind], expected(case)["models"]
    evidences = {view: Evidence(design_of(case, view, kind)) for view in want}
    # All views have the same directions, so the weight of a direction is the share of its view up to a factor.
    weights = np.array([expected(case)["views"][view]["share"] for view in want])[:, None, None]
    for look, panel in enumerate(scores(case).panels()):
        for evidence in evidences.values():
            evidence.update(panel)
        log_e = np.stack([evidence.log_e() for evidence in evidences.values()])
        edges = weighted_e_holm(log_e, weights, alpha=expected(case)["alpha"])
        for view, found in zip(want, edges, strict=True):
            wanted = {tuple(edge) for edge in want[view]["looks"][look]["edges"]}
            assert {(models[a], models[b]) for a, b in np.argwhere(found)} == wanted
    for view, found in zip(want, edges, strict=True):
        intervals = dict(zip(models, map(list, Graph(found).rank_intervals), strict=True))
        assert intervals == want[view]["rank_intervals"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("case", "view"), VIEWS)
def test_every_view_as_a_weighted_design(case, view, kind):
    want, case_scores, design = expected(case)["by_evidence"][kind][view], scores(case), design_of(case, view, kind)
    found = Evidence(design)
    for panel, look in zip(case_scores.panels(), want["looks"], strict=True):
        found.update(panel)
        np.testing.assert_allclose(found.log_e(), np.array(look["log_e"], dtype=float), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.lower_bounds(), np.array(want["lower_bounds"], dtype=float), rtol=0, atol=1e-8)
    mean = np.average(case_scores.values.mean(axis=0), axis=1, weights=design.weights)
    np.testing.assert_allclose(found.means, mean, rtol=1e-13)
    assert math.isclose(design.layout.weights.sum(), 1.0)
