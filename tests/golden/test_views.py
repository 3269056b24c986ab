"""Views, item weights and gaps against numbers made by another program: see README.md beside this file."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge.core.certifier import Certifier
from bbedge.core.graph import Graph

HERE = Path(__file__).parent / "views"
KINDS = ["bernstein", "hoeffding", "sharp", "betting", "sharp/design", "betting/design"]
CASES = ["suite_macro", "weights_crossing_blocks", "gaps"]
HEADLINE = "overall"


@cache
def expected(case):
    return json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))


@cache
def table(case):
    """The panels, and the names and blocks of their items."""
    rows = pl.read_parquet(HERE / f"{case}.parquet")
    models, items = expected(case)["models"], sorted(rows["item"].unique().to_list())
    block_of = dict(zip(rows["item"], rows["block"], strict=True))
    replicates = sorted(rows["replicate"].unique().to_list())
    values = np.full((len(replicates), len(models), len(items)), np.nan)
    for row in rows.iter_rows(named=True):
        values[replicates.index(row["replicate"]), models.index(row["model"]), items.index(row["item"])] = row["score"]
    return values, items, [block_of[item] for item in items]


def design_of(case, kind):
    (_, items, blocks), want = table(case), expected(case)
    evidence, _, stakes = kind.partition("/")
    weights = {name: [view["weights"].get(item, 0.0) for item in items] for name, view in want["views"].items()}
    headline = weights.pop(HEADLINE)
    return bbedge.Design.make(
        want["models"],
        items,
        blocks=blocks,
        alpha=want["alpha"],
        tau=want["tau"],
        method="bb-edge",
        evidence=evidence,
        stakes="design" if stakes else "paper",
        weights=headline,
        views=weights,
        shares={name: view["share"] for name, view in want["views"].items() if name != HEADLINE},
        gaps="worst-case" if want["gaps"] else "refuse",
    )


def of_view(certifier, name, design):
    return 0 if name == HEADLINE else 1 + [view.name for view in design.views].index(name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_every_view_at_every_look(case, kind):
    values, items, _ = table(case)
    want, design = expected(case), design_of(case, kind)
    assert tuple(part.share for part in design.parts) == pytest.approx(
        [want["views"][n]["share"] for n in (HEADLINE, *(v.name for v in design.views))]
    )
    assert int(np.isnan(values).sum()) == want["gaps"]
    certifier = Certifier(design)
    models = want["models"]
    for number, panel in enumerate(values):
        certifier.update(panel)
        for name, found in want["by_evidence"][kind].items():
            look, golden = certifier.last_looks[of_view(certifier, name, design)], found["looks"][number]
            np.testing.assert_allclose(look.log_e, np.array(golden["log_e"], dtype=float), rtol=0, atol=1e-8)
            certified = {(models[a], models[b]) for a, b in np.argwhere(look.edges)}
            assert certified == {tuple(edge) for edge in golden["edges"]}
    leaderboard = certifier.leaderboard()
    for name, found in want["by_evidence"][kind].items():
        view = leaderboard if name == HEADLINE else leaderboard.view(name)
        intervals = dict(zip(models, map(list, Graph(view.current_edges).rank_intervals), strict=True))
        assert intervals == found["rank_intervals"]
        bounds = np.array(found["lower_bounds"], dtype=float)
        np.testing.assert_allclose(view.lower_bounds, bounds, rtol=0, atol=1e-8)
        weights = np.array([want["views"][name]["weights"].get(item, 0.0) for item in items])
        present = np.where(np.isnan(values), 0.0, weights)
        means = (np.nan_to_num(values) * present).sum(axis=(0, 2)) / present.sum(axis=(0, 2))
        np.testing.assert_allclose(view.means, means, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_saved_state_has_all_views(case):
    values, _, _ = table(case)
    design = design_of(case, "betting/design")
    straight, paused = Certifier(design), Certifier(design)
    for number, panel in enumerate(values):
        straight.update(panel)
        paused.update(panel)
        if number == 3:
            paused = Certifier.from_bytes(design, paused.to_bytes())
    assert straight.to_bytes() == paused.to_bytes()
    for one, other in zip(straight.views, paused.views, strict=True):
        np.testing.assert_array_equal(one.log_e(), other.log_e())
