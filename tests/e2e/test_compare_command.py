"""``bbedge compare`` as a user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bbedge.baselines import METHODS

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


@pytest.fixture
def uneven(tmp_path) -> Path:
    """Four models, far apart and near, on blocks of one, two and three items."""
    rng = np.random.default_rng(3)
    blocks = [block for block in range(45) for _ in range(1 + block % 3)]
    rows = ["model,item,block,replicate,score"]
    for model, mean in (("a", 0.9), ("b", 0.6), ("c", 0.55), ("d", 0.2)):
        for replicate in (1, 2, 3):
            rows += [
                f"{model},q{item},b{block},{replicate},{int(rng.random() < mean)}" for item, block in enumerate(blocks)
            ]
    path = tmp_path / "uneven.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def rows(out: str) -> dict[str, str]:
    """The rows of the table by method; sentences below it may begin with the same names."""
    table = re.split(r"\n *\n", out.split("─\n", 1)[1])[0]
    return {line.split()[0]: line.rstrip() for line in table.splitlines() if line.strip()}


def test_every_method_speaks_and_the_uncontrolled_are_marked(bbedge, tmp_path, uneven):
    outcome = bbedge("compare", uneven, "--json", tmp_path / "c.json")
    assert outcome.code == 0, outcome.err
    lines = rows(outcome.out)
    for name, method in METHODS.items():
        warning = {"all looks": "yes, for all looks", "one look": "for one look only", "none": "NOT CONTROLLED"}
        expected = "not applicable" if name == "BEB-Holm" else warning[method.validity]
        assert lines[name].endswith(expected)
    assert "BEB-Holm: not applicable: needs blocks of one size." in outcome.out
    document = json.loads((tmp_path / "c.json").read_text())
    by_name = {each["method"]: each for each in document["methods"]}
    assert by_name["EMR"]["pairs"] == 6
    assert 1 <= by_name["BB-EDGE"]["edges"] <= by_name["BB-EDGE-X"]["edges"] < 6
    assert by_name["BB-EDGE-X"]["alone"] == 0
    assert by_name["TLRCI"]["edges"] is None
    assert by_name["BEB-Holm"]["width"] is None


def test_the_demo_is_compared_with_the_methods_that_certify_it(bbedge, tmp_path):
    outcome = bbedge("compare", DEMO, "--json", tmp_path / "c.json")
    assert outcome.code == 0, outcome.err
    assert "not applicable" not in outcome.out
    by_name = {each["method"]: each for each in json.loads((tmp_path / "c.json").read_text())["methods"]}
    for name, method in (("BB-EDGE", "bb-edge"), ("BB-EDGE-X", "bb-edge-x")):
        assert bbedge("certify", DEMO, "--method", method, "--json", tmp_path / "d.json").code == 0
        assert by_name[name]["edges"] == len(json.loads((tmp_path / "d.json").read_text())["edges"]) > 0


def test_chosen_methods_in_any_case(bbedge):
    outcome = bbedge("compare", DEMO, "--methods", "emr, T-HOLM", "--json", "-")
    assert [each["method"] for each in json.loads(outcome.out)["methods"]] == ["EMR", "t-Holm"]
    assert "CBTL" not in outcome.err


def one_run(folder: Path) -> Path:
    header, *lines = DEMO.read_text(encoding="utf-8").splitlines()
    path = folder / "one.csv"
    path.write_text(
        "\n".join([header, *(line for line in lines if line.split(",")[3] == "1")]) + "\n", encoding="utf-8"
    )
    return path


def test_methods_that_need_a_second_run_say_so_instead_of_claiming_nothing(bbedge, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    outcome = bbedge("compare", one_run(tmp_path), "--json", tmp_path / "c.json")
    silent = ["AsympCS-Bonf", "t-Holm", "CBTL", "TLRCI", "MB-Rank"]
    assert f"{', '.join(silent)}: not applicable: needs at least 2 runs." in outcome.out
    lines = rows(outcome.out)
    for each in json.loads((tmp_path / "c.json").read_text())["methods"]:
        numbers = [each[key] for key in ("edges", "pairs", "withdrawn", "alone", "width", "current_edges")]
        if each["method"] in silent:
            assert each["not_applicable"] == "needs at least 2 runs"
            assert numbers == [None] * 6
            assert lines[each["method"]].split()[1:] == ["-"] * 5 + ["not", "applicable"]
        else:
            assert each["not_applicable"] is None
            assert None not in numbers


def test_the_test_over_items_needs_one_run_and_says_what_it_answers(bbedge, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    outcome = bbedge("compare", one_run(tmp_path), "--methods", "item-t-holm,bb-edge", "--json", tmp_path / "c.json")
    items, ours = json.loads((tmp_path / "c.json").read_text())["methods"]
    assert items["edges"] > 0
    assert (items["target"], ours["target"]) == ("items like these", "these items")
    assert "Item-t-Holm answers another question: would the order hold on other questions like these?" in outcome.out
    assert "another question" not in bbedge("compare", DEMO, "--methods", "bb-edge,t-holm").out


def test_every_claim_has_its_references(bbedge, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "400")
    short = bbedge("compare", DEMO, "--methods", "t-holm,emr,item-t-holm", "--json", tmp_path / "c.json").out
    assert "Sources: t-Holm [1, 2, 3], EMR [3], Item-t-Holm [2, 4, 5]." in short
    assert (
        "[1] Student (1908), [2] Holm (1979), [3] Gao et al. (2026), [4] Miller (2024), [5] Liang and Zeger (1986)."
        in short
    )
    full = bbedge("compare", DEMO, "--methods", "t-holm,emr,item-t-holm", "-v").out
    for each in json.loads((tmp_path / "c.json").read_text())["methods"]:
        for reference in each["references"]:
            assert set(reference) == {"key", "authors", "title", "year", "venue"}
            assert f"{reference['title']}." in full
    assert "[2] Sture Holm (1979). A simple sequentially rejective multiple test procedure." in full


@pytest.mark.parametrize("columns", [80, 120])
def test_no_name_or_heading_is_cut_off(bbedge, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert "…" not in bbedge("compare", DEMO).out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--methods", "magic"], "unknown method 'magic'"),
        (["--alpha", "2"], "--alpha 2"),
        (["--tau", "1"], "--tau 1"),
    ],
)
def test_bad_options(bbedge, options, said):
    outcome = bbedge("compare", DEMO, *options)
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err
