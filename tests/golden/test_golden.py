"""The core against numbers made by another program: see README.md beside this file."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in HERE.glob("*.json"))
KINDS = ["bernstein", "hoeffding", "sharp", "betting", "sharp/design", "betting/design"]


@cache
def expected(case: str) -> dict:
    return json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))


@cache
def scores(case: str) -> bbedge.Scores:
    return read(HERE / f"{case}.parquet", expected(case)["models"])


def read(path: Path, models: list[str]) -> bbedge.Scores:
    table = pl.read_parquet(path)
    items = table["item"].unique(maintain_order=True).to_list()
    block_of = dict(zip(table["item"], table["block"], strict=True))
    replicates = sorted(table["replicate"].unique().to_list())
    values = np.full((len(replicates), len(models), len(items)), np.nan)
    for row in table.iter_rows(named=True):
        cell = (replicates.index(row["replicate"]), models.index(row["model"]), items.index(row["item"]))
        values[cell] = row["score"]
    return bbedge.Scores.of(values, models=models, items=items, blocks=[block_of[item] for item in items])


def test_every_case_and_kind_is_here():
    assert CASES == ["all_tied", "one_block", "overflow", "singletons_binary", "uneven_blocks_graded_tau"]
    for case in CASES:
        assert sorted(expected(case)["by_evidence"]) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_golden(case, kind):
    want = expected(case)["by_evidence"][kind]
    evidence, _, stakes = kind.partition("/")
    models = expected(case)["models"]
    design = scores(case).design(
        alpha=expected(case)["alpha"],
        tau=expected(case)["tau"],
        evidence=evidence,
        prediction=expected(case)["prediction"],
        stakes=stakes or "paper",
        method="bb-edge",
    )
    certifier = Certifier(design)

    for panel, look in zip(scores(case).panels(), want["looks"], strict=True):
        got = certifier.update(panel)
        assert got.replicate == look["replicate"]
        wanted = np.array(look["log_e"], dtype=float)
        assert np.array_equal(np.isnan(got.log_e), np.eye(len(models), dtype=bool))
        np.testing.assert_allclose(got.log_e, wanted, rtol=0, atol=1e-8)
        assert {(models[a], models[b]) for a, b in np.argwhere(got.edges)} == {tuple(e) for e in look["edges"]}

    graph = Graph(certifier.leaderboard().current_edges)
    assert dict(zip(models, map(list, graph.rank_intervals), strict=True)) == want["rank_intervals"]
    for k, members in want["top_k"].items():
        found = graph.top_k(int(k))
        assert (found and {models[i] for i in found}) == (members and set(members))
    assert sorted(map(int, want["top_k"])) == list(range(1, len(models)))


@pytest.mark.parametrize("kind", KINDS)
def test_equal_models_earn_no_edge_at_any_look(kind):
    assert all(look["edges"] == [] for look in expected("all_tied")["by_evidence"][kind]["looks"])


ENTRY = HERE / "entry"


@pytest.mark.parametrize("kind", ["sharp/design", "betting/design"])
@pytest.mark.parametrize("case", ["entry_blocks_tau", "entry_five_models"])
def test_staggered_entry(case, kind):
    want = json.loads((ENTRY / f"{case}.json").read_text(encoding="utf-8"))
    panels = read(ENTRY / f"{case}.parquet", want["models"])
    design = panels.design(
        alpha=want["alpha"], tau=want["tau"], evidence=kind.partition("/")[0], margin_share=0.0, stakes="design"
    )
    assert design.holm == "staggered"
    times = {place: group.after for group in design.entry_groups for place in group.stakes}
    assert [times[g] for g in range(12)] == want["entry"]
    certifier = Certifier(design)
    for panel, edges in zip(panels.panels(), want["by_evidence"][kind], strict=True):
        got = certifier.update(panel)
        assert sorted([design.models[a], design.models[b]] for a, b in np.argwhere(got.edges)) == sorted(edges)
    assert len(edges) > 2


STAKES = HERE / "stakes"


@pytest.mark.parametrize("case", ["stakes_binary", "stakes_quiet_planned"])
def test_fitted_stakes(case):
    want = json.loads((STAKES / f"{case}.json").read_text(encoding="utf-8"))
    panels = read(STAKES / want["panel"], want["models"])
    design = panels.design(
        alpha=want["alpha"], tau=want["tau"], margin_share=want["margin_share"], planned=want["planned"]
    )
    assert design.stakes == "fitted"
    certifier = Certifier(design)
    for panel, edges in zip(panels.panels(), want["standing"], strict=True):
        got = certifier.update(panel)
        assert sorted([design.models[a], design.models[b]] for a, b in np.argwhere(got.edges)) == sorted(edges)
    assert len(edges) > 2
    for chosen, wanted in zip(certifier.evidence.fitted_stakes, want["later"], strict=True):
        assert chosen.after == wanted["entry"]
        for name in ("horizon", "noise", "stake"):
            assert getattr(chosen, name) == pytest.approx(wanted[name], rel=1e-9)
